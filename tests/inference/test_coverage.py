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
from tests.inference.tables import table

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
