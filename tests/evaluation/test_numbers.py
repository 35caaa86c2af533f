"""Evaluating a regression: the released means, their sensitivity, and intervals that cover."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from privet import GDP, ZCDP, ApproxDP, Ledger, LinearRegression, PureDP, evaluate
from privet.certificate.recompute import recompute
from privet.errors import BudgetExceeded, DataError, DeclarationError
from privet.evaluation.evaluation_files import evaluation_from_json, read_evaluation
from privet.evaluation.number_evaluation import COLUMNS, Residuals, measures_of, mechanism_of
from privet.evaluation.released_evaluation import Measure
from privet.evaluation.residual_counts import counted_residuals, residual_edges
from privet.privacy import Budget
from tests.certificate.released import failed
from tests.strategies import Array, seeds

BOUNDS = (-20.0, 30.0)


@pytest.fixture(scope="module")
def model() -> LinearRegression:
    x, y = table(20_000, 0)
    return LinearRegression(ZCDP(2.0), target_bounds=BOUNDS).fit(x, y)


def table(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.7, 0.7, (n, 2))
    return x, 5.0 + 12.0 * x[:, 0] + 3.0 * rng.normal(size=n)


@given(seed=seeds())
def test_two_rows_are_no_further_apart_than_the_diameter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.choice([-1e9, -20.0, 0.0, 5.0, 30.0, 1e9, *rng.uniform(-20, 30, 4)], size=(2, 2))
    one, two = Residuals(*BOUNDS)(pairs)
    assert np.abs(np.stack([one, two])[:, :COLUMNS]).max() <= 1.0
    query = mechanism_of(PureDP(1.0), None).query
    assert np.linalg.norm(one - two) <= query.diameter
    assert max(np.linalg.norm(one), np.linalg.norm(two)) <= query.norm * (1.0 + 1e-12)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6), GDP(1.0)], ids=str)
def test_the_measures_are_near_the_exact_ones(model: LinearRegression, budget: Budget) -> None:
    x, y = table(15_000, 1)
    found = evaluate(model, x, y, budget=budget)
    assert budget.keeps(found.guarantee.event)
    residual = np.clip(y, *BOUNDS) - model.predict(x)
    exact = {
        "mean absolute error": float(np.abs(residual).mean()),
        "RMSE": math.sqrt(float(np.square(residual).mean())),
        "R^2": model.score(x, np.clip(y, *BOUNDS)),
    }
    for name, value in exact.items():
        told = found.get(name)
        assert told.estimate is not None
        assert told.lower <= told.estimate <= told.upper
        # the noise alone passes this reach with a chance below 1e-6
        assert abs(told.estimate - value) <= 3.0 * (told.upper - told.lower)


def test_intervals_cover_the_population() -> None:
    """95 % intervals from 300 noisy means of normal residuals: fewer than 24 misses of each."""
    rng, n, level = np.random.default_rng(3), 800, 0.95
    mechanism = mechanism_of(ZCDP(0.5), None)
    noise, misses = mechanism.design(n).noise, {"mean absolute error": 0, "RMSE": 0, "R^2": 0}
    truth = {"mean absolute error": 3.0 * math.sqrt(2.0 / math.pi), "RMSE": 3.0, "R^2": 1 - 9 / 25}
    for _ in range(300):
        score = 4.0 * rng.normal(size=n)
        pairs = np.column_stack([5.0 + score, 5.0 + score + 3.0 * rng.normal(size=n)])
        exact = Residuals(*BOUNDS)(pairs).mean(axis=0) + noise.scale * rng.normal(size=2 * COLUMNS)
        means, squares = exact.reshape(2, COLUMNS)
        for told in measures_of(means, squares / math.sqrt(2.0), noise, n, BOUNDS, level):
            misses[told.measure] += not told.lower <= truth[told.measure] <= told.upper
    # 15 are allowed on average; 40 have a chance below 1e-7 even if the intervals were exact
    assert max(misses.values()) <= 40, misses


def test_what_is_refused(model: LinearRegression) -> None:
    x, y = table(100, 2)
    gaps = y.copy()
    gaps[0] = np.nan
    with pytest.raises(DataError, match="finite numbers"):
        evaluate(model, x, gaps, budget=1.0)
    with pytest.raises(DeclarationError, match="measures of a regression"):
        evaluate(model, x, y, budget=1.0, measures=["accuracy"])


@pytest.mark.parametrize("rho", [1e-5, 2.0])
def test_a_paid_evaluation_is_read_back_from_its_file(
    model: LinearRegression, rho: float, tmp_path: Path
) -> None:
    """Errors are in the target's units and R^2 may be negative; no error is beyond the width."""
    x, y = table(3_000, 5)
    paid = evaluate(model, x, y[::-1], budget=ZCDP(rho))
    path = tmp_path / "e.json"
    path.write_text(paid.dumps())
    assert evaluation_from_json(read_evaluation(path)).measures == paid.measures
    width = BOUNDS[1] - BOUNDS[0]
    mae, rmse = paid.get("mean absolute error"), paid.get("RMSE")
    assert mae.estimate is not None
    assert rmse.estimate is not None
    assert mae.estimate <= rmse.estimate
    for told in (mae, rmse):
        assert told.estimate is not None
        assert 0.0 <= told.lower <= told.estimate <= told.upper <= width
    assert ("R^2 is left out" in str(paid)) == (rho < 1.0)
    if rho > 1.0:
        assert paid.get("R^2").lower < 0.0  # targets of other rows


def test_an_error_beyond_the_width_is_refused(model: LinearRegression) -> None:
    x, y = table(3_000, 6)
    record = evaluate(model, x, y, budget=1.0).to_json()
    record["measures"][0]["upper"] = BOUNDS[1] - BOUNDS[0] + 1.0
    with pytest.raises(DataError, match="not an evaluation"):
        evaluation_from_json(record)


def test_rows_of_another_shape_are_refused_before_the_charge(
    model: LinearRegression, tmp_path: Path
) -> None:
    x, y = table(100, 7)
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("held out", PureDP(1.0))
    account: Any = {"ledger": ledger, "dataset": "held out"}
    gaps = x.astype(object)
    gaps[0, 0] = None
    for rows in (x[:, :1], np.hstack([x, x]), gaps):
        with pytest.raises(DataError):
            evaluate(model, rows, y, budget=0.5, **account)
    assert [entry.kind for entry in ledger.entries("held out")] == ["open"]


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6), GDP(1.0)], ids=str)
def test_the_histogram_is_that_of_the_residuals(
    model: LinearRegression, budget: Budget, tmp_path: Path
) -> None:
    """In bins by the released RMSE; each count is off by its noise alone, which verify knows."""
    x, y = table(15_000, 5)
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("table", budget)  # one charge fits, and no more
    declared: Any = {"budget": budget, "measures": ["residuals"], "ledger": ledger}
    found = evaluate(model, x, y, dataset="table", **declared)
    with pytest.raises(BudgetExceeded):
        evaluate(model, x, y, dataset="table", **declared)
    event = found.guarantee.event
    assert event.claim == budget
    assert budget.keeps(event)
    edges = residual_edges(found.measures, BOUNDS)
    assert np.diff(edges[1:-1]) == pytest.approx(8.0 * found.get("RMSE").estimate / 20)
    exact = np.histogram(np.clip(y, *BOUNDS) - model.predict(x), edges)[0]
    scale = event.parts[1].scale  # of twenty cells; beyond 20 of it with a chance below 1e-7
    assert np.abs(np.array(found.counts["residuals"]) - exact).max() < 20.0 * scale
    assert exact.max() > 40.0 * scale
    path = tmp_path / "found.json"
    path.write_text(found.dumps())
    assert not failed(recompute(path))
    assert evaluation_from_json(read_evaluation(path)) == found


def test_every_row_is_in_one_bin() -> None:
    """One replaced row moves two cells by one each, whatever it holds."""
    ends = np.array([-1e300, -20.0, -1.0, 0.0, 30.0, 1e300])
    pairs = np.array([(a, b) for a in ends for b in ends])
    measures = (Measure("RMSE", "all rows", 0.0, 0.0, 1.0),)  # noise has hidden it
    counts = counted_residuals(pairs, residual_edges(measures, BOUNDS), BOUNDS)
    assert counts.sum() == len(pairs)
    assert len(counts) == 20


def test_other_measures_of_a_regression_are_refused(model: LinearRegression) -> None:
    x, y = table(500, 6)
    for wrong in (["accuracy"], "residuals", ["auc", "residuals"]):
        with pytest.raises(DeclarationError, match="measures of a regression"):
            evaluate(model, x, y, budget=1.0, measures=wrong)
