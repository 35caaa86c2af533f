"""The certificate's closed lists are the library's registries: what is new is recomputed too."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from privet.answers import semi_interactive, sessions
from privet.certificate import (
    curve_costs,
    declared_rows,
    event_shapes,
    kernel_numbers,
    known_keys,
    loss_bounds,
    model_contents,
    noise_laws,
    other_contents,
    pair_bounds,
    recompute,
    search_numbers,
)
from privet.features.named import KERNELS
from privet.losses import LOSSES
from privet.mechanisms import RELEASES
from privet.models.model_file import HOMES, STEPS
from privet.noise import NOISES
from privet.privacy import BUDGETS
from privet.privacy.jacobian_cost import FAMILIES
from privet.privacy.kinds import CURVES, EVENTS

#: Thresholds are chosen and shown, and no file holds them.
UNWRITTEN = {"selection"}
RECOMPUTED = {*recompute.RELEASES, *search_numbers.SEARCHES, *kernel_numbers.KERNEL_RELEASES}
KNOWN_LOSSES = {*loss_bounds.ONE_SCORE, "softmax", "joint_huber"} - {"own"}
#: what the certificate knows, and what the library has
LISTS: dict[str, tuple[Collection[str], Collection[str]]] = {
    "mechanisms": (RECOMPUTED | UNWRITTEN, RELEASES),
    "mechanisms' curves": ({*event_shapes.CURVES_OF} | UNWRITTEN, RELEASES),
    "events": (RECOMPUTED | UNWRITTEN, EVENTS),
    "losses": (KNOWN_LOSSES, LOSSES),
    "losses of matrices": (pair_bounds.BOUNDS, LOSSES),
    "losses of matrices, by traces": (pair_bounds.TRACES, LOSSES),
    "curves": (curve_costs.CURVES, CURVES),
    "models": (declared_rows.MODELS, HOMES),
    "models' mechanisms": (model_contents.MECHANISMS, HOMES),
    "models' parameters": (known_keys.PARAMETERS, HOMES),
    "steps": ({*known_keys.STEPS} - {"numpy"}, STEPS),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_the_certificate_is_that_of_the_library(name: str) -> None:
    known, registered = LISTS[name]
    assert set(known) == set(registered)


def test_every_registered_noise_has_a_law() -> None:
    assert set(NOISES) <= set(noise_laws.LAWS)


@pytest.mark.parametrize("kind", BUDGETS)
def test_every_budget_is_a_claim_that_is_known(kind: str) -> None:
    assert set(known_keys.BUDGET({"kind": kind})) > {"kind"}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_losses_has_a_theorem(family: str) -> None:
    record = {"kind": "objective_gaussian", "family": family, "classes": 2, "shift": 1.0, "k": 0.1}
    assert curve_costs.curve_cost(record).rho() > 0.5


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_has_a_bound(name: str) -> None:
    record = {"name": name, "norm_bound": 1.0, "gamma": 1.0, "coef0": 1.0, "degree": 2}
    assert declared_rows.kernel_bound(record) > 0


def test_every_way_of_answering_is_known() -> None:
    ways = other_contents.ANSWERED
    assert set(ways["SemiInteractiveClassifier"]) == set(semi_interactive.MECHANISMS)
    assert set(ways["InteractivePredictor"]) == set(sessions.MECHANISMS) - {"auto"}
