"""The page about a regression: the target's units, its noise, and what was released beside it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privet import (
    ZCDP,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    confidence_intervals,
    evaluate,
    fit_table,
)
from privet.models import Released
from privet.randomness import InsecureSeed
from privet.report.page import render
from privet.report.released_numbers import ReportedModel
from privet.schema import Schema

SCHEMA = """
[label]
name = "stay"
low = 0
high = 60

[columns.age]
low = 0
high = 110

[columns.ward]
categories = ["north", "south"]
"""


@cache
def people(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    found = pd.DataFrame({"age": rng.uniform(0, 110, n), "ward": rng.choice(["north", "south"], n)})
    stay = 5.0 + 0.2 * found.age + 4.0 * (found.ward == "south") + 3.0 * rng.normal(size=n)
    return found.assign(stay=stay.clip(0.0, 60.0))


def test_the_page_has_the_units_the_forest_and_the_residuals() -> None:
    schema = Schema.from_text(SCHEMA)
    model = fit_table(HuberRegressor(ZCDP(1.0)), schema, people(8_000, 0))
    intervals = confidence_intervals(model, people(8_000, 0), budget=ZCDP(1.0))
    told = evaluate(model, people(3_000, 1), budget=1.0, measures=["residuals"])
    page = render(model, intervals=intervals, evaluation=told)
    assert "Target: stay, declared from 0 to 60. Coefficients are changes of the prediction" in page
    assert "change of the prediction" in page
    assert "Classes:" not in page
    assert "Histogram of the residuals" in page
    assert "Released counts of 3,000 rows" in page
    assert "Estimates with their confidence intervals" in page
    plain = render(model, evaluation=evaluate(model, people(3_000, 1), budget=1.0))
    assert "Histogram of the residuals" not in plain
    assert "RMSE" in plain
    # a year of age, in days of stay, as a table of the page says it
    year = schema.explain(model.coef_)[1]
    assert f"{year.changes[0]:+.3g} {year.unit}" in page
    assert year.changes[0] == pytest.approx(0.2, abs=0.1)


@pytest.mark.parametrize(
    "model",
    [
        HuberRegressor(2.0, target_bounds=(0, 60), mechanism="output"),
        PoissonRegressor(ZCDP(1.0), target_bounds=(0, 60), mechanism="output"),
    ],
    ids=["huber", "poisson"],
)
def test_the_band_is_the_noise_in_the_targets_units(model: Any) -> None:
    """Output perturbation adds its noise as it is: the band is its 95 % reach."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.7, 0.7, (2_000, 2))
    model.fit(x, rng.uniform(0.0, 60.0, 2_000))
    design = Released.of(model).design
    drawn = design.main.sample(InsecureSeed(1), 40_000)[:, 0]
    unit = 1.0 if isinstance(model, PoissonRegressor) else 30.0  # half the interval
    band = ReportedModel(model).band
    assert band is not None
    assert float((np.abs(drawn) * unit > band).mean()) == pytest.approx(0.05, abs=0.006)


def test_noisy_statistics_have_a_page_without_a_law_of_the_noise() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.7, 0.7, (2_000, 2))
    model = LinearRegression(1.0, target_bounds=(0, 60), mechanism="statistics")
    page = render(model.fit(x, rng.uniform(0.0, 60.0, 2_000)))
    assert "has no known law here" in page
    assert "Sizes and noise" not in page
