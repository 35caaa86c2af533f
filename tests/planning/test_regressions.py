"""Plans of regressions against fits: what noise really adds to a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import ZCDP, HuberRegressor, LinearRegression, PoissonRegressor, plan
from privet.errors import DeclarationError, quietly

N, D, FITS = 4_000, 6, 40
CASES: dict[str, tuple[Any, float]] = {
    "huber": (HuberRegressor(ZCDP(0.05), target_bounds=(0, 60)), 1.3),
    "huber output": (HuberRegressor(2.0, target_bounds=(0, 60), mechanism="output"), 1.3),
    "objective": (LinearRegression(2.0, target_bounds=(0, 60), mechanism="objective"), 1.3),
    "statistics": (LinearRegression(ZCDP(0.5), target_bounds=(0, 60), mechanism="statistics"), 2.0),
    "poisson": (PoissonRegressor(ZCDP(0.5), target_bounds=(0, 40)), 1.5),
}


@pytest.mark.parametrize("name", CASES)
def test_noise_adds_what_the_plan_says_of_an_even_table(name: str) -> None:
    """40 fits of 6 parameters: the measured size has a relative error of about 5 %."""
    model, factor = CASES[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, D)) * np.sqrt(0.1 / D)
    y = 30.0 + 40.0 * x[:, 0] + rng.normal(size=N)
    if name == "poisson":
        y = rng.poisson(10.0, N).astype(float)
    found = []
    with quietly():
        made = model.set_params(fit_intercept=False)
        for _ in range(FITS):
            predicted = made.fit(x, y).predict(x)
            found.append(np.log(predicted) if name == "poisson" else predicted)
    measured = float(np.sqrt(np.var(found, axis=0, ddof=1).mean()))
    told = plan(made, n=N, d=D)
    assert told.mechanism == made.guarantee_.event.mechanism
    assert told.regularization == made.regularization_
    assert told.added_error / factor < measured < told.added_error * factor


def test_rows_and_budgets_that_are_enough_are_enough_and_less_is_not() -> None:
    told = plan(HuberRegressor(1.0, target_bounds=(0, 60)), n=2_000, d=5)
    rows, budget = told.rows_needed(0.5), told.budget_needed(0.5)
    assert rows is not None
    assert budget is not None
    for n, epsilon, enough in ((rows, 1.0, True), (int(0.9 * rows), 1.0, False),
                               (2_000, budget, True), (2_000, 0.8 * budget, False)):  # fmt: skip
        made = plan(HuberRegressor(epsilon, target_bounds=(0, 60)), n=n, d=5)
        assert (made.unshrunk_error <= 0.5) == enough
    assert told.rows_needed(1e-12) is None


def test_the_units_are_the_targets() -> None:
    one, ten = (
        plan(HuberRegressor(1.0, target_bounds=(0, high)), n=2_000, d=5) for high in (6, 60)
    )
    assert ten.added_error == pytest.approx(10.0 * one.added_error)
    assert ten.verdict == one.verdict
    assert ten.excess_risk_mean == one.excess_risk_mean
    assert "a target from 0 to 60" in str(ten)
    assert ten.to_dict()["declared"]["target_bounds"] == [0.0, 60.0]


def test_statistics_have_no_bound_on_the_risk_and_a_target_needs_bounds() -> None:
    model = LinearRegression(1.0, target_bounds=(0, 60), mechanism="statistics")
    told = plan(model, n=2_000, d=5)
    assert told.excess_risk_mean is None
    assert "not bounded" in str(told)
    with pytest.raises(DeclarationError, match="target_bounds"):
        plan(LinearRegression(1.0), n=2_000, d=5)
