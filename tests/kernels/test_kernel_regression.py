"""A regression on the features of a kernel: a curve is learned, kept, told and verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_regressor

from privet import (
    GDP,
    ZCDP,
    ApproxDP,
    HuberRegressor,
    Ledger,
    PureDP,
    evaluate,
    fit_with_intervals,
    load,
    plan,
)
from privet.certificate.recompute import recompute
from privet.errors import BudgetExceeded, DeclarationError
from privet.kernels import KernelHuberRegressor, RandomFourierFeatures
from privet.privacy import Budget
from tests.certificate.released import failed
from tests.strategies import Array

BOUNDS = (0, 40)


def bowl(n: int = 6_000, seed: int = 0) -> tuple[Array, Array]:
    """A target that no line can follow: the same at either end of the first column."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, 10.0 * x[:, 0] ** 2 + rng.normal(size=n)


@pytest.mark.parametrize("budget", [PureDP(8.0), ZCDP(2.0), ApproxDP(4.0, 1e-6), GDP(3.0)], ids=str)
def test_it_bends_keeps_its_promise_and_is_verified(budget: Budget, tmp_path: Path) -> None:
    x, y = bowl()
    model = KernelHuberRegressor(budget, target_bounds=BOUNDS).fit(x, y)
    assert budget.keeps(model.guarantee_.event)
    assert is_regressor(model)
    assert model.score(x, y) > 0.3  # a line has none of it
    assert model.predict(x).min() >= 0.0
    model.save(tmp_path / "bowl.privet")
    assert np.array_equal(load(tmp_path / "bowl.privet").predict(x[:50]), model.predict(x[:50]))
    assert failed(recompute(tmp_path / "bowl.privet")) == []
    assert model.to_sklearn().predict(x[:50]) == pytest.approx(model.predict(x[:50]), abs=1e-9)


def test_it_is_the_linear_regression_of_its_features() -> None:
    x, y = bowl(2_000)
    features = RandomFourierFeatures(10, gamma=0.5, insecure_seed=0).fit(np.zeros((1, 2)))
    common: dict[str, Any] = {"target_bounds": BOUNDS, "insecure_seed": 4, "fit_intercept": True}
    bent = KernelHuberRegressor(1.0, features=features, **common).fit(x, y)
    line = HuberRegressor(1.0, features=features, **common).fit(x, y)
    assert np.array_equal(bent.coef_, line.coef_)
    assert bent.guarantee_.event == line.guarantee_.event


def test_public_points_and_released_scales() -> None:
    x, y = bowl()
    points = np.random.default_rng(1).normal(size=(30, 2))
    scaled: dict[str, Any] = {"standardize": "private", "column_bounds": (-5.0, 5.0)}
    for declared in ({"public_points": points}, scaled):
        model = KernelHuberRegressor(ZCDP(2.0), target_bounds=BOUNDS, **declared).fit(x, y)
        assert model.score(x, y) > 0.3


def test_a_ledger_a_plan_and_errors(tmp_path: Path) -> None:
    x, y = bowl()
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open("rows", cap=ZCDP(0.6))
    declared: dict[str, Any] = {"target_bounds": BOUNDS, "ledger": ledger, "dataset": "rows"}
    model = KernelHuberRegressor(ZCDP(0.5), **declared).fit(x, y)
    assert model.guarantee_.receipt is not None
    with pytest.raises(BudgetExceeded):
        KernelHuberRegressor(ZCDP(0.5), **declared).fit(x, y)
    expected = plan(KernelHuberRegressor(ZCDP(0.5), target_bounds=BOUNDS), n=6_000, d=2)
    assert expected.regularization == pytest.approx(model.regularization_)
    free = KernelHuberRegressor(ZCDP(0.5), target_bounds=BOUNDS).fit(x, y)
    told = evaluate(free, *bowl(2_000, 1), budget=ZCDP(0.5)).get("mean absolute error").estimate
    assert told is not None
    assert 0.0 < told < 15.0


def test_what_it_cannot_do_says_so() -> None:
    x, y = bowl(500)
    with pytest.raises(DeclarationError, match="no coefficient that is the effect of a column"):
        fit_with_intervals(KernelHuberRegressor(target_bounds=BOUNDS), x, y, budget=1.0)
    with pytest.raises(DeclarationError, match="target_bounds"):
        KernelHuberRegressor().fit(x, y)
    with pytest.raises(DeclarationError, match="mechanism must be one of"):
        KernelHuberRegressor(ZCDP(1.0), target_bounds=BOUNDS, mechanism="gradient").fit(x, y)
