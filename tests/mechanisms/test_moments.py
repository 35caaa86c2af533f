"""Column moments: the sensitivity is a bound and is attained; the noise has the stated law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kstest

from privet.mechanisms.moments import (
    LEAST_SHARE,
    MOST_SHARE,
    SQUARE_WEIGHT,
    WANTED,
    MeanDesign,
    PrivateMean,
    cell_means,
    column_moments,
    moments_share,
    variance_floor,
)
from privet.models.standardize import MomentColumns, declared_ranges
from privet.privacy import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.compose import Composition
from privet.rows.mapped import MappedRows
from tests.strategies import Array

BUDGETS = (PureDP(0.3), ZCDP(0.02))


def design_of(budget: Budget, n: int, d: int, seed: int | None = None) -> MeanDesign:
    return PrivateMean(column_moments(d), budget, insecure_seed=seed).design(n)


def pair_distance(corner: Array) -> float:
    """Distance between what two rows add to the moments; ``corner`` holds both rows."""
    u, v = np.clip(corner, -1.0, 1.0).reshape(2, -1)
    squares = SQUARE_WEIGHT * (u**2 - v**2)
    return float(np.linalg.norm(np.concatenate([u - v, squares])))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_no_two_rows_are_further_apart_than_declared(d: int) -> None:
    rng = np.random.default_rng()
    starts = rng.uniform(-1.0, 1.0, size=(10, 2 * d))
    found = [
        pair_distance(minimize(lambda z: -pair_distance(z), z, method="Nelder-Mead").x)
        for z in starts
    ]
    assert max(found) <= 2.0 * math.sqrt(d) * (1.0 + 1e-12)
    corners = np.concatenate([np.ones(d), -np.ones(d)])
    assert pair_distance(corners) == pytest.approx(2.0 * math.sqrt(d))


def test_a_larger_weight_on_the_squares_would_cost_more() -> None:
    """At twice the weight the same search finds a worse pair."""
    grid = np.linspace(-1.0, 1.0, 401)
    u, v = np.meshgrid(grid, grid)
    heavy = (u - v) ** 2 + (2.0 * SQUARE_WEIGHT) ** 2 * (u**2 - v**2) ** 2
    light = (u - v) ** 2 + SQUARE_WEIGHT**2 * (u**2 - v**2) ** 2
    assert light.max() <= 4.0 + 1e-12
    assert heavy.max() > 4.5


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_neighbors_computed_moments_stay_within_the_sensitivity(budget: Budget) -> None:
    """Replayed on the real path: opposite corners reach it."""
    n, d = 50, 3
    ranges = declared_ranges((-2.0, 6.0), d)
    x = np.random.default_rng().uniform(-4.0, 8.0, size=(n, d))
    x[0] = 6.0
    other = x.copy()
    other[0] = -2.0
    means = [
        MappedRows(t, np.zeros(n), MomentColumns(ranges)).sum(
            lambda block, y: (block.pull(np.ones((len(y), 1)))[0],)
        )[0]
        / n
        for t in (x, other)
    ]
    moved = float(np.linalg.norm(means[0] - means[1]))
    event = design_of(budget, n, d).event
    assert 0.999 * event.sensitivity <= moved <= event.sensitivity


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_noise_has_the_stated_law(budget: Budget, seeded: bool) -> None:
    """Norms of the recovered noise against their law; two thirds of it would be rejected."""
    n, d, draws = 200, 2, 400
    norms = []
    for k in range(draws):
        mechanism = PrivateMean(column_moments(d), budget, insecure_seed=k if seeded else None)
        design = mechanism.design(n)
        norms.append(np.linalg.norm(mechanism.noisy(np.zeros(2 * d), design)))
    values = np.array(norms) / design.noise.scale
    unit = 1.0 / 0.3 if isinstance(budget, PureDP) else 1.0 / math.sqrt(2.0 * 0.02)
    assert design.noise.scale == pytest.approx(unit * design.event.sensitivity)
    law = ("gamma", (2 * d,)) if design.noise.kind == "laplace" else ("chi", (2 * d,))
    assert kstest(values, *law).pvalue > 1e-7
    assert kstest(values / 1.5, *law).pvalue < 1e-7


def test_the_release_is_on_the_grid() -> None:
    for budget in BUDGETS:
        mechanism = PrivateMean(column_moments(2), budget)
        design = mechanism.design(9)
        steps = np.ldexp(mechanism.noisy(np.full(4, math.pi / 7.0), design), -design.exponent)
        assert np.array_equal(steps, np.rint(steps))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_rounds_share_the_budget_and_draw_apart(budget: Budget) -> None:
    query = cell_means(3, 4)
    mechanism = PrivateMean(query, budget, rounds=3, insecure_seed=1)
    design = mechanism.design(500)
    assert len(design.event.curves) == 3
    assert budget.keeps(Composition((design.event,)))
    once = PrivateMean(query, budget).design(500)
    ratio = design.noise.scale / once.noise.scale
    assert ratio == pytest.approx(3.0 if isinstance(budget, PureDP) else math.sqrt(3.0), rel=1e-3)
    zero = np.zeros(query.dimension)
    draws = [mechanism.noisy(zero, design, turn) for turn in range(3)]
    assert not np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[1], draws[2])


def test_cells_are_two_apart_at_most() -> None:
    """Opposite rows of one cell, and any two rows of different cells: both reach 2."""
    one, other = np.zeros((2, 3)), np.zeros((2, 3))
    one[0] = [1.0, 0.0, 1.0]
    other[0] = [-1.0, 0.0, 1.0]
    assert np.linalg.norm(one - other) == cell_means(2, 2).diameter
    other[0] = 0.0
    other[1] = [0.6, 0.8, 1.0]
    assert np.linalg.norm(one - other) == pytest.approx(cell_means(2, 2).diameter)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.02), ApproxDP(1.0, 1e-6)], ids=str)
def test_the_share_is_the_smallest_that_is_precise_enough(budget: Budget) -> None:
    assert moments_share(budget, 10**7, 10) == LEAST_SHARE
    assert moments_share(budget, 100, 10) == MOST_SHARE
    between = {moments_share(budget, n, 10) for n in np.geomspace(100, 1e7, 40).astype(int)}
    assert len(between) > 3
    for n in (1000, 5000, 20_000):
        share = moments_share(budget, n, 10)
        if LEAST_SHARE < share < MOST_SHARE:
            part = budget.split((1.0 - share, share))[1]
            noise = design_of(part, n, 10).noise
            assert noise.coordinate_sd == pytest.approx(WANTED, rel=1e-3)


def test_the_event_costs_no_more_than_its_budget() -> None:
    for budget in BUDGETS:
        event = design_of(budget, 1000, 7).event
        assert budget.keeps(Composition((event,)))
        assert event.private
        assert not design_of(budget, 1000, 7, seed=3).event.private


def test_a_variance_below_its_noise_is_not_believed() -> None:
    coarse = design_of(PureDP(0.01), 100, 5)
    fine = design_of(PureDP(1.0), 10**7, 5)
    assert variance_floor(coarse) == 2.0 * coarse.noise.coordinate_sd
    assert variance_floor(fine) < 1e-4
