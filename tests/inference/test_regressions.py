"""Intervals of regressions: in the units of the target, for their own population values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import (
    ZCDP,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    PrivateERM,
    PureDP,
    confidence_intervals,
    fit_with_intervals,
)
from privet.certificate.recompute import recompute
from privet.errors import DataError, DeclarationError, quietly
from privet.inference import load_intervals
from privet.privacy import Budget
from tests.certificate.released import failed
from tests.losses.own import Array, huber

MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "huber": (HuberRegressor, {"target_bounds": (-20, 120)}),
    "linear": (LinearRegression, {"target_bounds": (-20, 120), "mechanism": "objective"}),
    "poisson": (PoissonRegressor, {"target_bounds": (0, 20)}),
}


def rows(kind: str, n: int = 20_000, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (n, 2))
    if kind == "poisson":
        return x, rng.poisson(np.exp(1.0 + 1.5 * x[:, 0])).astype(float)
    return x, 50.0 + 40.0 * x[:, 0] + 5.0 * rng.normal(size=n)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("budget", [ZCDP(1.0), PureDP(2.0)], ids=str)
def test_numbers_are_those_of_the_coefficients(kind: str, budget: Budget, tmp_path: Path) -> None:
    model, declared = MODELS[kind]
    x, y = rows(kind)
    with quietly():
        made = model(budget, **declared).fit(x, y)
        found = confidence_intervals(made, x, y, budget=budget)
    start = {"poisson": np.log(5.0)}.get(kind, 50.0)
    assert found.estimate[:2] == pytest.approx(made.coef_[0], rel=1e-9)
    assert found.estimate[2] == pytest.approx(made.intercept_[0] - start, rel=1e-6, abs=1e-9)
    at = found.decision([[0.2, 0.1]])
    shown = float(made.predict([[0.2, 0.1]])[0])
    assert at.estimate[0] == pytest.approx(
        (np.log(shown) if kind == "poisson" else shown) - start, rel=1e-6
    )
    told = "logarithm of the rate over 5" if kind == "poisson" else "prediction, counted from 50"
    assert found.named.target.startswith(told)
    found.save(tmp_path / "i")
    assert failed(recompute(tmp_path / "i")) == []
    assert load_intervals(tmp_path / "i").lower == pytest.approx(found.lower)


def test_they_cover_what_many_rows_tend_to() -> None:
    """The slope of a symmetric model is exact without a ridge; 40 fits, at most 12 misses of it.

    A 95 % interval misses more than 12 of 40 with a chance below 1e-7.
    """
    misses = 0
    for turn in range(40):
        x, y = rows("huber", 4_000, seed=turn + 1)
        with quietly():
            model = HuberRegressor(ZCDP(2.0), target_bounds=(-20, 120)).fit(x, y)
            found = confidence_intervals(model, x, y, budget=ZCDP(2.0))
        misses += not found.lower[1] <= 0.0 <= found.upper[1]
    assert misses <= 12
    assert found.upper[1] - found.lower[1] < 20.0


def test_a_fit_with_intervals_is_one_release() -> None:
    x, y = rows("huber")
    with quietly():
        model, found = fit_with_intervals(
            HuberRegressor(target_bounds=(-20, 120)), x, y, budget=ZCDP(1.0)
        )
    assert found.estimate[:2] == pytest.approx(model.coef_[0], rel=1e-9)


@pytest.mark.parametrize("mechanism", ["statistics", "auto"])
def test_noisy_statistics_have_none(mechanism: str) -> None:
    x, y = rows("linear")
    declared: dict[str, Any] = {"target_bounds": (-20, 120), "mechanism": mechanism}
    with quietly():
        model = LinearRegression(ZCDP(5.0), **declared).fit(x, y)
        assert model.guarantee_.event.mechanism == "statistics"
        with pytest.raises(DeclarationError, match="mechanism='objective'"):
            confidence_intervals(model, x, y, budget=1.0)
        with pytest.raises(DeclarationError, match="mechanism='objective'"):
            fit_with_intervals(LinearRegression(**declared), x, y, budget=ZCDP(5.0))


def test_what_has_no_intervals_is_refused() -> None:
    x, y = rows("huber", 500)
    own = PrivateERM(loss=huber(0.5), target_bounds=(-20, 120))
    with pytest.raises(DeclarationError, match="no intervals for PrivateERM"):
        fit_with_intervals(own, x, y, budget=1.0)
    with quietly():
        model = HuberRegressor(5.0, target_bounds=(-20, 120)).fit(x, y)
    y[3] = np.nan
    with pytest.raises((DataError, DeclarationError)):
        confidence_intervals(model, x, y, budget=ZCDP(50.0))
