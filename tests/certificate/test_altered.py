"""One fact of a file changed to what would protect less: convicted, for every release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privet.certificate.recompute import recompute
from privet.errors import PrivetError
from tests.certificate.released import WRITTEN, Opened, failed, files

Place = tuple[Any, ...]
#: Numbers of an event, and factors that make the promise weaker than it says; n either way.
EVENT = {
    "scale": (0.5, 0.9),
    "sensitivity": (0.5, 0.99),
    "regularization": (0.5, 0.9),
    "n": (0.5, 2),
    "m": (0.5, 2),
    "share": (0.5, 1.001),
}
AMOUNTS = ("epsilon", "rho", "mu", "delta", "loss", "shift", "k", "slack")


def events(opened: Opened) -> Iterator[Place]:
    """The places of the event and of its parts."""
    yield ("guarantee", "event")
    for place in range(len(opened.at(("guarantee", "event", "parts")) or ())):
        yield ("guarantee", "event", "parts", place)
    if opened.at(("guarantee", "constants", "fit")):
        yield ("guarantee", "constants", "fit")


def weaker(opened: Opened) -> Iterator[tuple[Place, Any]]:
    """Every fact of the events, changed so that what is claimed does not follow from it."""
    for event in events(opened):
        for name, factors in EVENT.items():
            value = opened.at((*event, name))
            for factor in factors:
                if value:
                    yield (*event, name), type(value)(value * factor)
        for inner in ("claim", *(("curves", i) for i in range(len(opened.at((*event, "curves")))))):
            place = (*event, inner) if isinstance(inner, str) else (*event, *inner)
            for name in AMOUNTS:
                if opened.at((*place, name)):
                    yield (*place, name), opened.at((*place, name)) * 0.9


def harmless(opened: Opened, place: Place) -> bool:
    """Facts on which no number of the promise depends."""
    event = opened.at(("guarantee", "event"))
    chosen, name = "constants" in place, place[-1]
    if name == "regularization" and opened.at((*place[:-1], "mechanism")) == "gradient":
        return True  # a descent needs none
    if name == "delta":  # of a claim that pure losses alone keep
        return all("loss" in curve for curve in event["curves"])
    if "search" in event["mechanism"] and not chosen:
        # its rows and those that validate are told beside the fit that was chosen
        return name in ("n", "m") or (name == "scale" and not event["scale"])
    if name == "regularization" and event["mechanism"] == "statistics":
        return True  # what is solved from noisy moments is post-processing
    # a projection's numbers are bounded by its public points, and pure noise is one vector
    return name == "m" and event["mechanism"] == "projection"


@pytest.mark.parametrize("name", WRITTEN)
def test_each_fact_that_weakens_the_promise_is_convicted(name: str, tmp_path: Path) -> None:
    for path in files(name):
        opened, tried = Opened(path), 0
        for place, value in weaker(opened):
            if harmless(opened, place):
                continue
            tried += 1
            assert convicted(opened.changed(tmp_path / "altered", place, value)), (place, value)
        assert tried >= 5


def convicted(path: Path) -> bool:
    try:
        return bool(failed(recompute(path)))
    except PrivetError:
        return True  # no longer a file of its kind


DECLARED: list[tuple[str, Place, Any]] = [
    ("huber objective zcdp", ("parameters", "knee"), 0.2),
    ("huber objective approx", ("guarantee", "event", "curves", 0, "family"), "margin"),
    ("poisson objective pure", ("parameters", "norm_bound"), 1.01),
    ("poisson objective approx", ("model",), "LinearSVC"),
    ("linear statistics zcdp", ("parameters", "fit_intercept"), False),
    ("logistic objective pure", ("parameters", "norm_bound"), 1.01),
    ("logistic objective pure", ("parameters", "constant"), 0.51),
    ("logistic objective pure", ("parameters", "fit_intercept"), False),
    ("logistic objective pure", ("parameters", "class_weight"), [[0, 1.0], [1, 1.1]]),
    ("logistic objective pure", ("parameters", "budget", "epsilon"), 1.4),
    ("logistic objective pure", ("parameters", "budget", "kind"), "zcdp"),
    ("logistic objective pure", ("guarantee", "constants", "gap_scale"), 1e-12),
    ("logistic objective pure", ("guarantee", "constants", "tolerance"), 1e-3),
    ("logistic objective pure", ("guarantee", "group"), 2),
    ("logistic objective gaussian approx", ("model",), "LinearSVC"),
    ("logistic output pure", ("parameters", "norm_bound"), 1.05),
    ("logistic output pure", ("guarantee", "constants", "tolerance"), 1e-2),
    ("logistic gradient", ("parameters", "norm_bound"), 1.01),
    ("logistic centered objective", ("parameters", "center", 0, 0, 1), -2.1),
    ("logistic centered output", ("parameters", "center"), None),
    ("logistic centered gradient", ("guarantee", "constants", "center_norm"), 0.1),
    ("logistic gradient", ("guarantee", "constants", "steps"), 1000),
    ("logistic gradient", ("guarantee", "constants", "steps"), 63),
    ("logistic gradient", ("guarantee", "constants", "steps"), 65),
    ("logistic gradient", ("guarantee", "constants", "clip"), 0.9),
    ("logistic gradient", ("guarantee", "constants", "radius"), 1e12),
    ("svc objective pure", ("parameters", "h"), 0.45),
    ("svc objective gaussian zcdp", ("parameters", "h"), 0.45),
    ("svc smooth hinge", ("parameters", "h"), 0.45),
    ("svc smooth hinge", ("parameters", "loss"), "huber"),
    ("logistic objective classes", ("guarantee", "event", "curves", 0, "family"), "margin"),
    ("logistic objective classes", ("guarantee", "event", "curves", 0, "classes"), 2),
    ("logistic weighted", ("parameters", "class_weight", 1, 1), 3.1),
    ("gaussian huber", ("parameters", "covariance"), "diagonal"),
    ("gaussian huber", ("parameters", "constant"), 0.6),
    ("gaussian mixture zcdp", ("parameters", "components"), 3),
    ("logistic standardized zcdp", ("parameters", "standardize"), "whiten"),
    ("logistic whitened zcdp", ("n_features",), 4),
    ("svc product pure", ("parameters", "domain", "blocks", 0, "size"), 0.7),
    ("svc hull pure", ("parameters", "fit_intercept"), False),
    ("logistic hull pure", ("parameters", "class_weight"), [[0, 1.0], [1, 1.1]]),
    ("svc classes pure", ("parameters", "h"), 0.45),
    ("svc classes pure", ("parameters", "norm_bound"), 1.01),
    ("svc class product pure", ("classes", "values"), [0, 1, 2, 3]),
    ("kernel svc", ("parameters", "h"), 0.9),
    ("kernel svc points", ("parameters", "kernel"), {"name": "linear", "norm_bound": 2.0}),
    ("evaluate pure", ("counts", "confusion"), [[10.0, 0.0], [0.0, 10.0]]),
    ("evaluate pure", ("n",), 401),
    ("intervals pure", ("matrices", "noise", "scale"), 0.005),
    ("intervals beside a fit", ("guarantee", "event", "curves", 0, "loss"), 7.0),
    ("intervals beside a fit", ("guarantee", "event", "parts", 0, "scale"), 0.9),
    ("intervals beside a fit", ("fit_noise", "main", "scale"), 0.9),
    ("intervals beside a fit", ("fit_noise", "gap_sd"), 0.1),
    ("intervals beside a fit", ("matrices", "eta"), 2.0),
    ("function zcdp", ("declarations", "kernel"), {"name": "linear", "norm_bound": 2.0}),
    ("sparse pure", ("guarantee", "constants", "epochs"), 10_000),
    ("sparse zcdp", ("guarantee", "constants", "answer_scale"), 1e-3),
    ("ball pure", ("guarantee", "constants", "rounds"), 5),
    ("net zcdp", ("guarantee", "constants", "point_epsilon"), 100.0),
    ("semi tddl pure", ("kernel", "gamma"), 1e-6),
    ("partition zcdp", ("parameters", "budget", "rho"), 0.5),
    ("stopping zcdp", ("parameters", "budget"), {"kind": "pure", "epsilon": 2.0}),
    ("public zcdp", ("parameters", "budget", "rho"), 0.3),
]


@pytest.mark.parametrize(("name", "place", "value"), DECLARED)
def test_another_declaration_is_convicted(
    name: str, place: Place, value: Any, tmp_path: Path
) -> None:
    path = files(name)[-1]
    assert Opened(path).at(place) != value
    assert convicted(Opened(path).changed(tmp_path / "altered", place, value))


BESIDE = "intervals beside a fit"


@pytest.mark.parametrize("factor", [0.98, 1.02, 2.0])
@pytest.mark.parametrize("name", ["intervals pure", BESIDE])
def test_the_matrices_unit_is_convicted(name: str, factor: float, tmp_path: Path) -> None:
    opened = Opened(files(name)[1])
    place = ("matrices", "sensitivity")
    altered = opened.changed(tmp_path / "x", place, opened.at(place) * factor)
    assert convicted(altered)


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize(
    "name", ["logistic objective pure", "logistic output gaussian zcdp", "logistic gradient"]
)
def test_another_grid_is_convicted(name: str, step: int, tmp_path: Path) -> None:
    opened = Opened(files(name)[0])
    told = opened.at(("guarantee", "numerics"))
    other = re.sub(r"2\^(-?\d+)", lambda found: f"2^{int(found[1]) + step}", told)
    assert convicted(opened.changed(tmp_path / "x", ("guarantee", "numerics"), other))


def test_a_curve_left_out_is_convicted(tmp_path: Path) -> None:
    opened = Opened(files("logistic standardized zcdp")[0])
    curves = opened.at(("guarantee", "event", "curves"))
    place = ("guarantee", "event", "curves")
    assert convicted(opened.changed(tmp_path / "x", place, curves[:-1]))
    assert convicted(opened.changed(tmp_path / "x", place, []))


@pytest.mark.parametrize(
    "name", ["linear statistics pure", "logistic standardized pure", "evaluate pure"]
)
def test_noise_for_matrices_is_convicted_elsewhere(name: str, tmp_path: Path) -> None:
    """Its norm is no length: with the sensitivity of lengths it would protect less."""
    opened, lengths = Opened(files(name)[0]), ("statistics", "moments", "histogram")
    whole, *parts = events(opened)
    found = [each for each in parts or [whole] if opened.at((*each, "mechanism")) in lengths]
    assert found
    for event in found:
        altered = opened.changed(tmp_path / "altered", (*event, "noise"), "cone laplace")
        assert any("noise scale" in each for each in failed(recompute(altered)))


@pytest.mark.parametrize(("fact", "value"), [("kind", "laplace"), ("side", 1), ("scale", 1.0)])
def test_the_noise_of_the_matrices_is_the_charged_one(
    fact: str, value: Any, tmp_path: Path
) -> None:
    opened = Opened(files("intervals pure")[1])
    assert opened.at(("guarantee", "event", "noise")) == "cone laplace"
    altered = opened.changed(tmp_path / "altered", ("matrices", "noise", fact), value)
    assert any("noise of the matrices" in each for each in failed(recompute(altered)))


def test_a_curve_that_claims_one_number_and_uses_another_does_not_hold(tmp_path: Path) -> None:
    """Laplace noise of its pure loss, under a curve whose rho is tied to nothing."""
    opened = Opened(files("logistic output laplace zcdp")[0])
    (curve,) = opened.at(("guarantee", "event", "curves"))
    other = [{"kind": "concentrated", "rho": 1e-4, "loss": curve["loss"]}]
    path = opened.changed(tmp_path / "x", ("guarantee", "event", "curves"), other)
    assert {number.verdict for number in recompute(path)} - {
        number.verdict for number in recompute(files("logistic output laplace zcdp")[0])
    }


def test_a_negative_tolerance_earns_nothing(tmp_path: Path) -> None:
    opened = Opened(files("logistic output pure")[0])
    event = opened.at(("guarantee", "event"))
    less = event["sensitivity"] * 0.9
    place = ("guarantee", "constants", "tolerance")
    gained = (event["sensitivity"] - less) * event["regularization"] / 2.0
    path = opened.changed(tmp_path / "x", place, opened.at(place) - gained)
    path = Opened(path).changed(tmp_path / "y", ("guarantee", "event", "sensitivity"), less)
    assert convicted(path)
