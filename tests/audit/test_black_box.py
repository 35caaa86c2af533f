"""Lower bounds on epsilon from draws alone, with a false-alarm rate of 1e-6."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from privet.audit.black_box import epsilon_lower_bound, likelihood_ratio, table_releases
from privet.audit.exact import worst_loss
from privet.losses import HuberHinge, Logistic
from privet.mechanisms import Design, ObjectivePerturbation
from privet.privacy import PureDP
from privet.randomness import InsecureSeed
from privet.rows import checked_rows

DRAWS = 200_000
CROWD = 10**16


def thinner(design: Design, factor: float) -> Design:
    return replace(design, main=replace(design.main, scale=factor * design.main.scale))


def huber_bound(factor: float) -> float:
    """One row among nine zeros, and its opposite: both stay on the steep side of the knee."""
    n, mechanism = 10, ObjectivePerturbation(HuberHinge(), PureDP(1.0), regularization=10.0)
    design = thinner(mechanism.design(n, 1), factor)
    sides = []
    for sign, seed in ((1.0, 11), (-1.0, 12)):
        x = np.zeros((n, 1))
        x[0] = sign
        rows = checked_rows(x, np.ones(n), norm_bound=1.0)
        sides.append(mechanism.perturb_many(rows, design, InsecureSeed(seed), DRAWS)[:, 0])
    return epsilon_lower_bound(*sides)


def logistic_bound(factor: float) -> float:
    """Two columns and a crowd: one column would show no more than half of epsilon."""
    mechanism = ObjectivePerturbation(Logistic(), PureDP(1.0), regularization=30.0 / CROWD)
    design = mechanism.design(CROWD, 2)
    pair = worst_loss(design).pair
    thin = thinner(design, factor)
    sides = []
    for table, seed in ((pair.first, 21), (pair.second, 22)):
        outputs = table_releases(thin, table, DRAWS, InsecureSeed(seed))
        sides.append(likelihood_ratio(thin, pair, outputs))
    return epsilon_lower_bound(*sides)


def test_huber_in_one_dimension() -> None:
    assert 0.9 <= huber_bound(1.0) <= 1.0


def test_huber_with_a_fifth_less_noise() -> None:
    assert huber_bound(0.8) > 1.1


def test_logistic_in_two_dimensions() -> None:
    assert 0.8 <= logistic_bound(1.0) <= 1.0


def test_logistic_with_a_fifth_less_noise() -> None:
    assert logistic_bound(0.8) > 1.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomized_response_from_both_sides(epsilon: float) -> None:
    """A mechanism whose epsilon is known exactly, with the event in either tail."""
    rng = np.random.default_rng(7)
    keep = 1.0 / (1.0 + math.exp(-epsilon))
    first = np.where(rng.random(DRAWS) < keep, 1.0, 0.0) + 1e-3 * rng.random(DRAWS)
    second = np.where(rng.random(DRAWS) < keep, 0.0, 1.0) + 1e-3 * rng.random(DRAWS)
    for bound in (epsilon_lower_bound(first, second), epsilon_lower_bound(second, first)):
        assert 0.85 * epsilon <= bound <= epsilon


def test_identical_laws_have_no_bound_above_zero() -> None:
    rng = np.random.default_rng(8)
    assert epsilon_lower_bound(rng.normal(size=20_000), rng.normal(size=20_000)) <= 0.0
