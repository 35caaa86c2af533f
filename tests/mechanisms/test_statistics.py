"""Noisy second moments of rows and targets: the diameter, the law of the noise, what is solved."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import GDP, ZCDP, ApproxDP, PureDP
from privet.errors import DeclarationError
from privet.losses import HuberResidual, Logistic
from privet.mechanisms import RidgeStatistics
from privet.mechanisms.moments import ROUNDING
from privet.privacy import Budget
from privet.rows import Rows, checked_rows
from tests.strategies import Array, seeds

BUDGETS: tuple[Budget, ...] = (PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6), GDP(1.0))
R = 1.5


PURE = PureDP(1.0)


def made(budget: Budget = PURE, seed: int | None = 0) -> RidgeStatistics:
    return RidgeStatistics(HuberResidual(), budget, R, insecure_seed=seed)


def query(x: Array, t: Array) -> Array:
    """What the noise is added to, for a table of these rows."""
    rows: Rows = checked_rows(x, t, norm_bound=R)
    return made().query(rows)


@given(seed=seeds(), n=st.integers(1, 4))
def test_no_two_neighbors_are_further_apart_than_the_sensitivity(seed: int, n: int) -> None:
    """Random, opposite, orthogonal and overlong rows; targets at the ends and between."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-2, 2)
    other = x.copy()
    other[0] = rng.choice([1.0, -1.0, 0.0]) * x[0] if rng.random() < 0.5 else rng.normal(size=3)
    t, changed = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    t[0], changed[1:] = rng.choice([-1.0, 1.0]), t[1:]
    changed[0] = rng.choice([-t[0], t[0], 0.0])
    moved = np.linalg.norm(query(x, t) - query(other, changed))
    assert moved <= (math.sqrt(2.0) / n + 2.0 * ROUNDING) * (1.0 + 1e-12)
    for budget in BUDGETS:
        assert moved <= made(budget).design(n, 3).event.sensitivity


def test_the_diameter_is_reached() -> None:
    """Two rows ``u`` of norm 1 at a right angle: ``<x, x'>/R^2 = w^2`` with opposite targets."""
    cosine = 0.25
    x = R * np.array([[1.0, 0.0, 0.0]])
    other = R * np.array([[cosine, math.sqrt(1.0 - cosine**2), 0.0]])
    moved = np.linalg.norm(query(x, np.ones(1)) - query(other, -np.ones(1)))
    assert moved == pytest.approx(math.sqrt(2.0), rel=1e-9)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_scale_is_the_sensitivity_over_the_budget(budget: Budget) -> None:
    """By hand; half a per cent less noise would break the promise."""
    design = made(budget).design(400, 3)
    s, scale = design.event.sensitivity, design.event.scale
    assert math.sqrt(2.0) / 400 <= s <= 1.0001 * math.sqrt(2.0) / 400
    if design.event.noise == "laplace":
        assert s / scale == pytest.approx(budget.laplace_epsilon, rel=1e-9)
    elif isinstance(budget, GDP):
        assert s / scale == pytest.approx(budget.mu, rel=1e-6)
    elif isinstance(budget, ZCDP):
        assert (s / scale) ** 2 / 2.0 == pytest.approx(budget.rho, rel=1e-9)
    assert budget.keeps(design.event)


def test_the_solution_is_least_squares_where_the_noise_is_small() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-0.6, 0.6, (40_000, 3))
    t = np.clip(x @ np.array([0.5, -0.3, 0.1]) + 0.1 * rng.normal(size=len(x)), -1, 1)
    exact = np.linalg.lstsq(x, t, rcond=None)[0]
    mechanism = made(ZCDP(50.0))
    found = mechanism.run(checked_rows(x, t, norm_bound=R)).value
    assert found == pytest.approx(exact, abs=0.01)


def test_the_solution_moves_with_the_noise() -> None:
    """Twice the noise, twice the standard deviation of the solution: the noise is in it."""
    rng = np.random.default_rng(2)
    x, t = rng.uniform(-0.6, 0.6, (2_000, 2)), rng.uniform(-1, 1, 2_000)
    rows = checked_rows(x, t, norm_bound=R)
    small, large = (
        replace(made(ZCDP(rho)), regularization=0.05).sample(rows, 400).std(axis=0)
        for rho in (8.0, 2.0)
    )
    # relative errors of both spreads are about 1/28; eight standard deviations of the ratio
    assert large / small == pytest.approx(2.0 * np.ones(2), rel=0.4)


def test_a_singular_table_has_a_solution() -> None:
    rows = checked_rows(np.zeros((5, 3)), np.ones(5), norm_bound=R)
    assert np.isfinite(made(PureDP(0.01)).run(rows).value).all()


def test_other_losses_are_refused() -> None:
    with pytest.raises(DeclarationError, match="least squares"):
        RidgeStatistics(Logistic(), PureDP(1.0))
    with pytest.raises(DeclarationError, match="one calibration"):
        RidgeStatistics(HuberResidual(), PureDP(1.0), calibration="exact")
