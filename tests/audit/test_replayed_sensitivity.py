"""Replaying neighbors with the same random words: distances, gaps and their price."""

from __future__ import annotations

import numpy as np
import pytest

from privet.audit.attacks import WeightedTable
from privet.audit.replay import (
    gap_bound,
    gap_price,
    measured_gap,
    random_table,
    worst_replay,
)
from privet.losses import (
    HuberHinge,
    HuberResidual,
    JointHuber,
    Logistic,
    Loss,
    PoissonRate,
    SmoothHinge,
    Softmax,
)
from privet.mechanisms import MECHANISMS
from privet.privacy import ZCDP, ApproxDP, Budget, PureDP
from tests.planted.bugs import PLANTED, HalfSensitivity, UnchargedGap
from tests.strategies import name_of

LOSSES = (
    Logistic(),
    HuberHinge(),
    SmoothHinge(),
    Softmax(3),
    JointHuber(3),
    HuberResidual(),
    PoissonRate(),
)
BUDGETS = (PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6))


@pytest.mark.parametrize("budget", BUDGETS, ids=name_of)
@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_releases_differ_by_no_more_than_declared(name: str, loss: Loss, budget: Budget) -> None:
    for bound, lam in ((1.0, 1.0), (3.0, "auto")):
        mechanism = MECHANISMS[name](loss, budget, norm_bound=bound, regularization=lam)
        measured, declared = worst_replay(mechanism, 100, 2, seed=1)
        assert 0.01 * declared < measured <= declared


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_the_declared_distance_is_reached(name: str) -> None:
    mechanism = MECHANISMS[name](HuberHinge(), PureDP(1.0), regularization=1.0)
    measured, declared = worst_replay(mechanism, 100, 2)
    assert measured >= 0.9999 * declared


def test_lifted_features_reach_their_smaller_bound() -> None:
    loss = JointHuber(3, lifted=True)
    mechanism = MECHANISMS["output"](loss, PureDP(1.0), regularization=1.0)
    measured, declared = worst_replay(mechanism, 100, 2)
    assert 0.9999 * declared <= measured <= declared


@pytest.mark.parametrize("budget", BUDGETS, ids=name_of)
@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_the_gap_is_reached_and_paid_for(name: str, loss: Loss, budget: Budget) -> None:
    n, m = 200, 3
    for lam in (0.5, "auto"):
        design = MECHANISMS[name](loss, budget, regularization=lam).design(n, m)
        cost, charged = gap_price(design)
        assert cost <= charged * (1.0 + 1e-9)
        rng = np.random.default_rng(5)
        x, y = random_table(rng, loss, 1.0, n, m)
        table = WeightedTable(x / 1.5, y, np.ones(n))
        assert measured_gap(design, table, seed=2) <= gap_bound(design)


def test_replay_finds_half_the_sensitivity_and_the_free_gap() -> None:
    measured, declared = worst_replay(
        HalfSensitivity(HuberHinge(), PureDP(1.0), regularization=1.0), 100, 2
    )
    assert measured > 1.5 * declared
    cost, charged = gap_price(UnchargedGap(Logistic(), PureDP(1.0)).design(100, 2))
    assert cost > charged


def test_replay_finds_a_forgotten_clip() -> None:
    bug = PLANTED["forgotten clip"]
    mechanism = MECHANISMS["output"](HuberHinge(), PureDP(1.0), regularization=20.0)
    measured, declared = worst_replay(mechanism, 10, 2, make_rows=bug.make_rows)
    assert measured > declared
    measured, declared = worst_replay(mechanism, 10, 2)
    assert measured <= declared
