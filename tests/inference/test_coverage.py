"""Intervals by the public path cover the population's minimizer about as often as they say.

The whole study is ``reproduce/wang2018.py``; this is its smallest piece, through real fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import ZCDP, LinearSVC, LogisticRegression, PureDP, fit_with_intervals
from privet.minimize import minimize
from privet.risk import RegularizedRisk
from privet.rows import checked_rows
from tests.inference.tables import Array, table

LAM, N, REPEATS = 0.02, 3000, 80
POPULATION = 40_000


@pytest.mark.parametrize(
    ("model", "budget"),
    [
        (LogisticRegression(regularization=LAM), ZCDP(0.2)),
        (LinearSVC(h=1.0, regularization=LAM, mechanism="output"), PureDP(2.0)),
    ],
    ids=["zCDP objective logistic", "pure output Huber"],
)
def test_coverage(model: Any, budget: Any) -> None:
    x, y = table(POPULATION, d=2)
    loss = model._loss(2)
    risk = RegularizedRisk(loss, LAM, np.sqrt(1.25))
    everyone = checked_rows(x, loss.targets(y), norm_bound=1.0, constant=0.5)
    truth = minimize(risk, everyone, tolerance=1e-9).certified()
    rng = np.random.default_rng()
    covered, tight = [], []
    for _ in range(REPEATS):
        sample = rng.integers(0, POPULATION, N)
        _, found = fit_with_intervals(model, x[sample], y[sample], budget=budget, share=0.8)
        covered.append((found.lower <= truth) & (truth <= found.upper))
        half = found.at(0.5)
        tight.append((half.lower <= truth) & (truth <= half.upper))
    # three coefficients, hardly correlated: five standard errors and some
    assert np.mean(covered) > 0.95 - 5.5 * np.sqrt(0.95 * 0.05 / (2 * REPEATS)) - 0.01
    assert abs(np.mean(tight) - 0.5) < 5.5 * np.sqrt(0.25 / (2 * REPEATS))


def scaled_numbers(n: int) -> tuple[Array, Any]:
    """Four columns by declared bounds that fill little of their range, as ages and hours do."""
    rng = np.random.default_rng(4)
    age, school, hours = rng.beta(2, 4, n), rng.beta(8, 5, n), rng.beta(12, 18, n)
    sex = rng.random(n) < 0.67
    x = np.column_stack([2.0 * part - 1.0 for part in (age, school, hours, sex)]) / 2.0
    score = x @ np.array([4.0, 6.0, 3.0, 1.0]) - 1.5 + rng.logistic(size=n)
    return x, (score > 0.0).astype(int)


def test_columns_that_fill_little_of_their_range() -> None:
    """The smallest curvature is 0.03 of the mean that the bounds allow.

    A length that takes the noisy matrices for exact, with nine tenths for the fit, covers 0.8.
    """
    x, y = scaled_numbers(POPULATION)
    model, rng, covered = LogisticRegression(), np.random.default_rng(), []
    truth = None
    for _ in range(70):
        sample = rng.integers(0, POPULATION, 2000)
        _, found = fit_with_intervals(model, x[sample], y[sample], budget=PureDP(8.0))
        if truth is None:
            loss, lam = model._loss(2), found.uncertainty.regularization
            everyone = checked_rows(x, loss.targets(y), norm_bound=1.0, constant=0.5)
            risk = RegularizedRisk(loss, lam, np.sqrt(1.25))
            truth = found.named.directions @ minimize(risk, everyone, tolerance=1e-9).certified()
        covered.append(np.mean((found.lower <= truth) & (truth <= found.upper)))
    # a replicate's share of five coefficients has a standard deviation of 0.12 or so
    assert np.mean(covered) > 0.95 - 5.0 * 0.12 / np.sqrt(len(covered))
