"""Searches among regressions: a score that one row changes by one, and models that are better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.base import is_regressor

from privet import (
    GDP,
    ZCDP,
    ApproxDP,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    PrivateERM,
    PureDP,
    evaluate,
    fit_table,
    load,
    stream,
)
from privet.certificate.recompute import recompute
from privet.errors import DeclarationError, quietly
from privet.schema import Schema
from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch
from privet.tuning.candidates import STEPS, clipped_error, error_steps
from tests.certificate.released import failed
from tests.losses.own import pseudo_huber, two_scores
from tests.strategies import Array, seeds

BOUNDS = (-20.0, 60.0)
# the second cannot learn anything
CANDIDATES: list[dict[str, Any]] = [
    {"regularization": 0.001},
    {"regularization": 100.0, "constant": 0.4},
]


def table(n: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.7, 0.7, (n, 2))
    return x, 30.0 + 40.0 * x[:, 0] + 3.0 * rng.normal(size=n)


class Told(HuberRegressor):
    """Predicts the first column, whatever it holds."""

    def predict(self, X: Any) -> Array:
        return np.asarray(X)[:, 0]


@given(seed=seeds())
def test_one_row_changes_the_score_by_at_most_one(seed: int) -> None:
    """Also rows at the ends, beyond them and without a number, and sums at a whole number."""
    rng = np.random.default_rng(seed)
    hard = [-1e300, -20.0, 0.0, 20.0, 60.0, 1e300, np.inf, -np.inf, np.nan]
    model, n = Told(target_bounds=BOUNDS), 40
    x = rng.choice([*hard, *rng.uniform(-20, 60, 9)], size=(n, 1))
    y = rng.choice([*hard[:-3], *rng.uniform(-20, 60, 9)], size=n)
    other_x, other_y = x.copy(), y.copy()
    other_x[3], other_y[3] = rng.choice(hard), rng.choice(hard[:-3])
    one, two = error_steps(model, x, y), error_steps(model, other_x, other_y)
    assert abs(one - two) <= STEPS
    assert 0 <= one <= n * STEPS
    assert abs(clipped_error(model, x, y) - clipped_error(model, other_x, other_y)) <= 1


def test_the_score_is_the_mean_error_in_quarters_of_the_interval() -> None:
    y = np.random.default_rng(1).uniform(-20, 60, 1_000)
    x = np.clip(y + np.random.default_rng(2).normal(size=1_000) * 9.0, -20, 60)[:, None]
    exact = np.minimum(np.abs(x[:, 0] - y) / 20.0, 1.0).sum()
    found = clipped_error(Told(target_bounds=BOUNDS), x, y)
    assert exact - 1.01 < found <= exact + 1e-3


@pytest.mark.parametrize("budget", [PureDP(3.0), ZCDP(1.0), ApproxDP(3.0, 1e-6), GDP(2.0)], ids=str)
@pytest.mark.parametrize("kind", [PartitionSearch, RandomStoppingSearch, PublicSearch])
def test_the_better_candidate_is_chosen_and_verified(
    kind: Any, budget: Any, tmp_path: Path
) -> None:
    x, y = table(12_000)
    more: dict[str, Any] = {"validation": table(1_000, 1)} if kind is PublicSearch else {}
    if kind is RandomStoppingSearch:
        more["runs"] = 60.0  # so that both candidates are tried, but for a chance of 1e-7
    with quietly():
        found = kind(HuberRegressor(target_bounds=BOUNDS), CANDIDATES, budget, **more).fit(x, y)
    if kind is not RandomStoppingSearch:  # whose number of runs may be one
        assert found.best_index_ == 0
        assert found.score(x, y) > 0.7
    assert found.guarantee_.budget == budget
    assert is_regressor(found)
    path = tmp_path / "chosen.privet"
    found.best_estimator_.save(path)
    assert not failed(recompute(path))
    np.testing.assert_array_equal(load(path).predict(x), found.predict(x))


@pytest.mark.parametrize(
    ("estimator", "candidates"),
    [
        (LinearRegression(target_bounds=BOUNDS), [{"mechanism": "statistics"}, CANDIDATES[1]]),
        (PoissonRegressor(target_bounds=(0, 60)), CANDIDATES),
        (PrivateERM(loss=pseudo_huber(), target_bounds=BOUNDS), CANDIDATES),
    ],
    ids=["linear", "poisson", "own loss"],
)
def test_every_regression_can_be_searched(estimator: Any, candidates: Any) -> None:
    x, y = table(6_000)
    with quietly():
        found = PartitionSearch(estimator, candidates, ZCDP(1.0)).fit(x, np.maximum(y, 0.0))
        told = evaluate(found, *table(2_000, 3), budget=1.0)
    assert type(found.best_estimator_) is type(estimator)
    assert told.get("RMSE").estimate is not None


def test_what_cannot_be_searched_is_refused() -> None:
    x, y = table(2_000)
    with pytest.raises(DeclarationError, match="target_bounds belongs to the search"):
        PartitionSearch(HuberRegressor(target_bounds=BOUNDS), [{"target_bounds": (0, 1)}, {}]).fit(
            x, y
        )
    with quietly(), pytest.raises(DeclarationError, match="several scores"):
        PartitionSearch(PrivateERM(loss=two_scores(), target_bounds=(0, 2)), CANDIDATES).fit(x, y)


def test_a_raw_table_and_one_that_is_read_in_parts_give_the_same(tmp_path: Path) -> None:
    x, y = table(3_000)
    frame = pd.DataFrame({"one": x[:, 0], "two": x[:, 1], "stay": y})
    columns = "".join(f"[columns.{name}]\nlow = -1\nhigh = 1\n" for name in ("one", "two"))
    schema = Schema.from_text(f'[label]\nname = "stay"\nlow = -20\nhigh = 60\n{columns}')
    frame.to_parquet(tmp_path / "people.parquet")
    search = PartitionSearch(HuberRegressor(), CANDIDATES, PureDP(3.0), insecure_seed=3)
    with quietly():
        whole = fit_table(search, schema, frame)
        parts = fit_table(search, schema, stream(tmp_path / "people.parquet"))
    assert whole.best_index_ == parts.best_index_
    np.testing.assert_allclose(
        parts.best_estimator_.coef_, whole.best_estimator_.coef_, rtol=1e-4, atol=1e-6
    )
