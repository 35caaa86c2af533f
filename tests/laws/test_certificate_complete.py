"""The certificate's closed lists are the library's registries: what is new is recomputed too."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Any

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
from privet.certificate.balls import ball, precision
from privet.features.named import KERNELS
from privet.losses import LOSSES, Loss, PoissonRate
from privet.losses.second_moments import joint_bound, trace_bound
from privet.mechanisms import RELEASES
from privet.models.model_file import HOMES, STEPS
from privet.noise import NOISES
from privet.privacy import BUDGETS
from privet.privacy.jacobian_cost import FAMILIES
from privet.privacy.kinds import CURVES, EVENTS
from tests.laws.listed import names_the_same
from tests.strategies import LOSS_CASES, name_of

#: No file holds an event of these: they are a part of others, or only shown.
UNWRITTEN = {"selection"}
RECOMPUTED = {*recompute.RELEASES, *search_numbers.SEARCHES, *kernel_numbers.KERNEL_RELEASES}
KNOWN_LOSSES = {*loss_bounds.ONE_SCORE, *loss_bounds.OF_CLASSES} - {"own"}
#: what the certificate knows, by the place where it says so, and what the library has
LISTS: dict[str, tuple[Collection[str], Collection[str]]] = {
    "RELEASES, recompute.py (or UNWRITTEN here)": (RECOMPUTED | UNWRITTEN, RELEASES),
    "CURVES_OF, event_shapes.py (or UNWRITTEN here)": (
        {*event_shapes.CURVES_OF} | UNWRITTEN,
        RELEASES,
    ),
    "RELEASES, recompute.py, by its events' name": (RECOMPUTED | UNWRITTEN, EVENTS),
    "MARGINS, RESIDUALS or OF_CLASSES, loss_bounds.py": (KNOWN_LOSSES, LOSSES),
    "BOUNDS, pair_bounds.py": (pair_bounds.BOUNDS, LOSSES),
    "TRACES, pair_bounds.py": (pair_bounds.TRACES, LOSSES),
    "CURVES, curve_costs.py": (curve_costs.CURVES, CURVES),
    "MODELS, declared_rows.py": (declared_rows.MODELS, HOMES),
    "MECHANISMS, model_contents.py": (model_contents.MECHANISMS, HOMES),
    "PARAMETERS, known_keys.py": (known_keys.PARAMETERS, HOMES),
    "STEPS, known_keys.py": ({*known_keys.STEPS} - {"numpy"}, STEPS),
}


@pytest.mark.parametrize("where", LISTS)
def test_a_list_of_the_certificate_is_that_of_the_library(where: str) -> None:
    known, registered = LISTS[where]
    names_the_same(known, registered, f"{where} (privet/certificate), from the proof")


def declared(loss: Loss) -> loss_bounds.RowLoss:
    """The loss as the certificate reads it from a file."""
    told = loss.declared()
    apart = "lifted" if told.get("lifted") else ""
    known = {name: told[name] for name in ("h", "margin") if name in told}
    return loss_bounds.RowLoss(loss.name, loss.classes, apart=apart, **known)


#: Losses as files have them: of the library, without a share of a constant column or another start.
FILED = [
    loss
    for loss in LOSS_CASES
    if loss.name in LOSSES
    and type(loss) is LOSSES[loss.name]
    and loss.declared().get("opposite", 1.0) == 1.0
    and loss != PoissonRate(0.01)
]


def told_twice(loss: Loss) -> Iterator[tuple[str, Any, float]]:
    """Each fact of a loss by the certificate and by the library."""
    own = declared(loss)
    yield "slope", own.slope, loss.row_gradient_bound
    yield "difference", own.difference, loss.difference_bound
    yield "curvature", own.curvature, loss.curvature_bound
    yield "at_zero", own.at_zero, loss.largest_at_zero
    yield "offset", own.offset, loss.offset
    for q, a, reach in itertools.product((0.01, 1.0, 30.0), (0.05, 20.0), (0.3, 3.0)):
        b, r = ball(q), ball(reach)
        yield f"log_determinant({q})", own.log_determinant(b), loss.log_determinant_bound(q)
        yield f"privacy_loss({a}, {q})", own.privacy_loss(ball(a), b), loss.privacy_loss_bound(a, q)
        joint, trace = pair_bounds.joint_bound, pair_bounds.trace_bound
        yield f"joint_bound({q}, {reach})", joint(own, b, r), joint_bound(loss, q, reach)
        yield f"trace_bound({q}, {reach})", trace(own, b, r), trace_bound(loss, q, reach)


@pytest.mark.parametrize("loss", FILED, ids=name_of)
def test_the_facts_of_a_loss_are_the_librarys(loss: Loss) -> None:
    """A name alone would be taken for another loss, with the bounds of that one."""
    apart = {}
    with precision():
        for name, one, two in told_twice(loss):
            found = float(one.mid())
            # pairs are bounded in cells, of which the two have different numbers
            if found != pytest.approx(two, rel=1e-3 if "bound" in name else 1e-7):
                apart[name] = (found, two)
    assert apart == {}, "write these in privet/certificate/loss_bounds.py and pair_bounds.py"


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
