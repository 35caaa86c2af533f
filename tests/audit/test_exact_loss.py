"""The exact privacy loss never exceeds the main budget, and reaches it where a bound is tight."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from privet.audit.attacks import Pair, WeightedTable, allows_opposite_rows
from privet.audit.battery import shift_claim
from privet.audit.exact import climb, objective_loss, worst_loss
from privet.errors import InfeasibleBudget, RegularizationRaised
from privet.losses import (
    HuberHinge,
    HuberResidual,
    JointHuber,
    Logistic,
    Loss,
    OwnLoss,
    PoissonRate,
    SmoothHinge,
    Softmax,
)
from privet.mechanisms import Design, ObjectivePerturbation, OutputPerturbation
from privet.privacy import ZCDP, ApproxDP, Budget, PureDP
from reproduce.chaudhuri2008 import ChaudhuriMonteleoni2008
from tests.losses.own import huber
from tests.planted.bugs import NormForSquare
from tests.strategies import name_of

CROWD = 10**16
BOUNDS = (0.1, 1.0, 12.0)
EPSILONS = (0.05, 0.5, 2.0)
MARGIN_LOSSES = (Logistic(), HuberHinge(), HuberHinge(0.1), SmoothHinge())
NUMBER_LOSSES: tuple[Loss, ...] = (
    HuberResidual(0.25),
    HuberResidual(2.0),
    PoissonRate(),
    OwnLoss(huber(0.5), -1.0, 1.0),
)
CLASS_LOSSES = (
    *(Softmax(classes) for classes in (2, 3, 5)),
    *(JointHuber(classes) for classes in (2, 3, 5)),
    *(JointHuber(classes, lifted=True) for classes in (2, 3, 5)),
)


def design_of(mechanism: ObjectivePerturbation | OutputPerturbation, n: int, m: int) -> Design:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegularizationRaised)
        return mechanism.design(n, m)


def designs(
    loss: Loss,
    calibration: str | None,
    ridges: int,
    kind: type[ObjectivePerturbation] = ObjectivePerturbation,
) -> Iterator[Design]:
    """Every design of the grid that the calibration accepts."""
    for bound in BOUNDS:
        for epsilon in EPSILONS:
            for ridge in np.geomspace(0.05, 1e3, ridges):
                mechanism = kind(
                    loss,
                    PureDP(epsilon),
                    norm_bound=bound,
                    regularization=ridge / CROWD,
                    calibration=calibration,
                )
                try:
                    yield design_of(mechanism, CROWD, 2)
                except InfeasibleBudget:
                    assert calibration in ("exact", "wang2018")


def relative_loss(design: Design) -> float:
    worst = worst_loss(design, signed=allows_opposite_rows(design.risk.loss))
    return worst.loss / (design.event.share * design.event.claim.facts()["epsilon"])


@pytest.mark.parametrize("calibration", [None, "exact", "wang2018", "chaudhuri2011"])
@pytest.mark.parametrize("loss", MARGIN_LOSSES, ids=name_of)
def test_margin_losses_keep_the_main_budget(loss: Loss, calibration: str | None) -> None:
    ratios = [relative_loss(design) for design in designs(loss, calibration, 7)]
    assert max(ratios) <= 1.0
    assert max(ratios) >= 0.99  # the attack is a real one


@pytest.mark.parametrize("calibration", [None, "exact", "wang2018"])
@pytest.mark.parametrize("loss", CLASS_LOSSES, ids=name_of)
def test_class_losses_keep_the_main_budget(loss: Loss, calibration: str | None) -> None:
    ridges = 2 if loss.classes > 3 else 4
    ratios = [relative_loss(design) for design in designs(loss, calibration, ridges)]
    assert max(ratios) <= 1.0
    assert max(ratios) >= 0.99


@pytest.mark.parametrize("loss", NUMBER_LOSSES, ids=name_of)
def test_losses_of_a_number_keep_the_main_budget(loss: Loss) -> None:
    """Rows under the two ends of the target's interval, at the knee or at the largest rate."""
    ratios = [relative_loss(design) for design in designs(loss, None, 4)]
    assert 0.99 <= max(ratios) <= 1.0
    mechanism = ObjectivePerturbation(loss, PureDP(1.0), regularization=50.0 / CROWD)
    design = design_of(mechanism, CROWD, 2)
    thin = replace(design, main=replace(design.main, scale=0.95 * design.main.scale))
    assert worst_loss(design).loss <= 0.99 < worst_loss(thin).loss


def test_huber_calibration_is_tight_on_the_whole_grid() -> None:
    assert min(relative_loss(design) for design in designs(HuberHinge(), None, 4)) >= 0.99


@pytest.mark.parametrize("loss", [*MARGIN_LOSSES, *CLASS_LOSSES[::2]], ids=name_of)
def test_blind_search_finds_no_more(loss: Loss) -> None:
    for epsilon, ridge in ((0.5, 0.5), (2.0, 5.0)):
        mechanism = ObjectivePerturbation(loss, PureDP(epsilon), regularization=ridge / CROWD)
        design = design_of(mechanism, CROWD, 2)
        found = climb(design, seed=3, signed=allows_opposite_rows(loss), rounds=20).loss
        assert 0.75 <= found / (design.event.share * epsilon) <= 1.0


@pytest.mark.parametrize("loss", MARGIN_LOSSES, ids=name_of)
def test_two_per_cent_less_noise_is_found(loss: Loss) -> None:
    mechanism = ObjectivePerturbation(loss, PureDP(1.0), regularization=50.0 / CROWD)
    design = design_of(mechanism, CROWD, 2)
    thin = replace(design, main=replace(design.main, scale=0.98 * design.main.scale))
    assert worst_loss(design).loss <= 0.99 < worst_loss(thin).loss


def test_the_2008_calibration_leaks() -> None:
    """Chaudhuri and Monteleoni 2008, Theorem 2: n Lam = 0.1, eps = 0.1, loss 1.2278 at output 0."""
    mechanism = ChaudhuriMonteleoni2008(Logistic(), PureDP(0.1 / 0.99), regularization=0.1)
    design = mechanism.design(1, 1)
    first = WeightedTable(np.array([[1.0]]), np.array([1]), np.ones(1))
    second = WeightedTable(np.array([[0.0]]), np.array([1]), np.ones(1))
    loss = float(objective_loss(design, Pair(first, second, np.zeros((1, 1)))))
    assert loss == pytest.approx(np.log(3.5) - 0.025, abs=1e-12)
    assert round(loss, 4) == 1.2278
    assert not design.event.private


def test_the_2008_calibration_is_stamped_wherever_it_leaks() -> None:
    for loss in MARGIN_LOSSES:
        ratios = []
        for design in designs(loss, None, 5, ChaudhuriMonteleoni2008):
            ratio = relative_loss(design)
            assert ratio <= 1.0 or not design.event.private
            ratios.append(ratio)
        assert max(ratios) > 100.0


def test_norm_for_its_square_leaks_at_norm_bound_twelve() -> None:
    """One row of norm 12 at the edge of the knee, against its opposite, in one column."""
    wrong = NormForSquare(
        HuberHinge(), PureDP(1.0), norm_bound=12.0, regularization=300.0, calibration="exact"
    )
    right = ObjectivePerturbation(HuberHinge(), PureDP(1.0), norm_bound=12.0, regularization=300.0)
    first = WeightedTable(np.array([[12.0]]), np.array([1]), np.ones(1))
    second = WeightedTable(np.array([[-12.0]]), np.array([1]), np.ones(1))
    pair = Pair(first, second, np.array([[(0.5 + 1e-9) / 12.0]]))
    assert float(objective_loss(wrong.design(1, 1), pair)) > 1.3
    assert float(objective_loss(design_of(right, 1, 1), pair)) <= 0.99


@pytest.mark.parametrize("budget", [PureDP(0.5), ZCDP(0.1), ApproxDP(1.0, 1e-6)], ids=name_of)
@pytest.mark.parametrize(
    "loss", [*MARGIN_LOSSES, Softmax(3), JointHuber(3), JointHuber(3, lifted=True)], ids=name_of
)
def test_output_perturbation_keeps_its_claim(loss: Loss, budget: Budget) -> None:
    """Minimizers of neighbors, in units of the noise: below epsilon, or below the shift."""
    n, kind = 10**7, "laplace" if isinstance(budget, PureDP) else "gaussian"
    ratios = []
    for bound in BOUNDS:
        for ridge in (0.05, 1.0, 30.0):
            mechanism = OutputPerturbation(
                loss, budget, norm_bound=bound, regularization=ridge * bound**2 / n, noise=kind
            )
            design = mechanism.design(n, 2)
            worst = worst_loss(design, signed=allows_opposite_rows(loss)).loss
            ratios.append(worst / shift_claim(design.event.curves[0]))
    assert max(ratios) <= 1.0
    assert max(ratios) >= 0.97


def test_tables_hold_exactly_n_rows_and_differ_in_one() -> None:
    mechanism = ObjectivePerturbation(Logistic(), PureDP(1.0), regularization=50.0 / CROWD)
    pair = worst_loss(design_of(mechanism, CROWD, 2)).pair
    for table in (pair.first, pair.second):
        assert table.times.sum() == CROWD
        assert (table.times == np.rint(table.times)).all()
        assert (np.linalg.norm(table.x, axis=1) <= 1.0 + 1e-12).all()
    same = (pair.first.x == pair.second.x).all(axis=1) & (pair.first.y == pair.second.y)
    assert pair.first.times[~same].tolist() == pair.second.times[~same].tolist() == [1.0]
