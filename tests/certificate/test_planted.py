"""Planted bugs that alter a public fact: each leaves a file that the recomputation convicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privet import ZCDP, Box, LinearRegression, LinearSVC, LogisticRegression, OneHot, PureDP
from privet.mechanisms import Design, ObjectivePerturbation, OutputPerturbation
from privet.models import linear_model
from tests.certificate.released import failed, save_and_recompute
from tests.laws.releases.registry import people, quiet
from tests.planted.bugs import PLANTED, BinarySoftmax, HalfSensitivity, NormForSquare, UnchargedGap
from tests.planted.descent_bugs import UncountedStep
from tests.planted.means_bugs import OneClassMoves
from tests.planted.statistics_bugs import OneMoment


class Tampered(ObjectivePerturbation):
    """Numbers of the design changed before they are used and charged."""

    change: Callable[[Design], Design] = staticmethod(lambda design: design)

    def design_with(self, kind: str, n: int, m: int) -> Design:
        return type(self).change(super().design_with(kind, n, m))


class TamperedOutput(OutputPerturbation):
    change: Callable[[Design], Design] = staticmethod(lambda design: design)

    def design_with(self, kind: str, n: int, m: int) -> Design:
        return type(self).change(super().design_with(kind, n, m))


def scaled(**factors: float) -> Callable[[Design], Design]:
    """Numbers of the event times a factor, and the noise with them."""

    def change(design: Design) -> Design:
        event = design.event
        numbers = {
            name: type(getattr(event, name))(getattr(event, name) * factor)
            for name, factor in factors.items()
        }
        main = replace(design.main, scale=numbers.get("scale", design.main.scale))
        return replace(design, main=main, event=replace(event, **numbers))

    return change


def cheaper(design: Design) -> Design:
    """A claim of less than what the noise costs."""
    return replace(design, event=replace(design.event, claim=design.event.claim.scaled(0.9)))


def one_curve(design: Design) -> Design:
    """The last curve is forgotten where curves are added up."""
    return replace(design, event=replace(design.event, curves=design.event.curves[:1]))


def planted(monkeypatch: Any, mechanism: str, bug: type) -> None:
    monkeypatch.setitem(linear_model.TRAINERS, mechanism, bug)


def numbers_of(model: Any, path: Path, classes: int = 2) -> list[str]:
    with quiet():
        model.set_params(classes=list(range(classes))).fit(*people(classes))
    return failed(save_and_recompute(model, path))


def test_the_files_without_a_bug_are_accepted(tmp_path: Path) -> None:
    models = (LinearSVC(1.0), LinearSVC(1.0, mechanism="output"), LogisticRegression(1.0))
    for place, model in enumerate(models):
        assert numbers_of(model, tmp_path / f"{place}") == []


def test_half_the_sensitivity(monkeypatch: Any, tmp_path: Path) -> None:
    planted(monkeypatch, "output", HalfSensitivity)
    found = numbers_of(LinearSVC(1.0, mechanism="output", regularization=0.5), tmp_path / "m")
    assert "output: sensitivity" in found


def test_the_norm_where_its_square_belongs(monkeypatch: Any, tmp_path: Path) -> None:
    planted(monkeypatch, "objective", NormForSquare)
    model = LinearSVC(1.0, norm_bound=12.0, calibration="exact", noise="laplace")
    assert "objective: loss of the noise" in numbers_of(model, tmp_path / "m")


def test_a_gap_that_nothing_pays_for(monkeypatch: Any, tmp_path: Path) -> None:
    planted(monkeypatch, "objective", UnchargedGap)
    assert "objective: price of the gap" in numbers_of(LogisticRegression(1.0), tmp_path / "m")


def test_a_step_that_nothing_pays_for(monkeypatch: Any, tmp_path: Path) -> None:
    planted(monkeypatch, "gradient", UncountedStep)
    model = LogisticRegression(ZCDP(0.5), mechanism="gradient")
    assert numbers_of(model, tmp_path / "m") == [
        "gradient: noise scale",
        "gradient: slack of discrete noise",
    ]


def test_sums_that_one_row_moves_for_those_that_two_move(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(linear_model, "ClassMeans", OneClassMoves)
    model = LogisticRegression(1.0, mechanism="means")
    assert numbers_of(model, tmp_path / "m", classes=3) == ["means: sensitivity"]


def test_the_moments_of_one_row_for_those_of_two(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(linear_model, "RidgeStatistics", OneMoment)
    model = LinearRegression(1.0, target_bounds=(0.0, 1.0), mechanism="statistics")
    with quiet():
        model.fit(*people(2))
    assert "statistics: sensitivity" in failed(save_and_recompute(model, tmp_path / "m"))


def test_softmax_without_the_root_of_two(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(LogisticRegression, "_loss", lambda self, n: BinarySoftmax(n))
    model = LogisticRegression(1.0, noise="laplace")
    found = numbers_of(model, tmp_path / "m", classes=3)
    assert "objective: sensitivity" in found


BUGS: dict[str, tuple[type, Callable[[Design], Design]]] = {
    "scale": (Tampered, scaled(scale=0.97)),
    "sensitivity": (Tampered, scaled(sensitivity=0.97)),
    "regularization": (Tampered, scaled(regularization=1.5)),
    "budget": (Tampered, cheaper),
    "composition": (Tampered, one_curve),
    "n": (Tampered, scaled(n=2.0)),
    "output scale": (TamperedOutput, scaled(scale=0.97)),
    "output sensitivity": (TamperedOutput, scaled(sensitivity=0.97)),
    "output regularization": (TamperedOutput, scaled(regularization=1.5)),
    "output budget": (TamperedOutput, cheaper),
    "output n": (TamperedOutput, scaled(n=2.0)),
}


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5)], ids=["pure", "zcdp"])
@pytest.mark.parametrize("name", BUGS)
def test_a_public_fact_that_a_bug_alters(
    name: str, budget: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    base, change = BUGS[name]
    bug = type("Bug", (base,), {"change": staticmethod(change)})
    mechanism = "output" if base is TamperedOutput else "objective"
    planted(monkeypatch, mechanism, bug)
    assert numbers_of(LogisticRegression(budget, mechanism=mechanism), tmp_path / "m")


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("noise", ["product", "hull", "grouped", "matrix laplace", "class product"])
def test_shaped_noise_that_is_a_little_too_small(
    noise: str, kind: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    bug = type("Bug", (Tampered,), {"change": staticmethod(scaled(scale=0.999))})
    planted(monkeypatch, "objective", bug)
    domain = [OneHot(2, 0.05 if noise == "grouped" else 0.5), Box(1, 0.6)]
    classes = 3 if noise in ("matrix laplace", "class product") else 2
    model = kind(1.0, noise=noise, domain=domain)
    assert numbers_of(model, tmp_path / "m", classes) == ["objective: loss of the noise"]


def test_which_planted_bugs_leave_the_file_as_it_is() -> None:
    """They are in what is drawn or computed, not in what is stated: audits find them."""
    seen_here = {"sensitivity / 2", "R for R^2", "uncharged gap", "softmax without sqrt 2"}
    seen_here |= {"a step uncounted", "one row's moments", "one class moves"}
    elsewhere = {
        "noise x 0.9",
        "forgotten clip",
        "re-used noise",
        "free intercept",
        "center of the rows",
        "seed in production",
        "wrong Gamma shape",
        "half the box",
        "wrong radius",
        "row outside the domain",
        "shares forgotten",
        "gradients not clipped",
        "noise of gradients x 0.9",
        "clip without the intercept",
        "one noise for all classes",
        "narrow blocks",
        "class row outside the domain",
        "seed of class means",
    }
    assert seen_here | elsewhere == set(PLANTED)
