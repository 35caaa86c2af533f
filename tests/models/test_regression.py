"""Regression with a declared interval: units, clipping, mechanisms, files, schemas, ledger."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

import privet
from privet import (
    GDP,
    ZCDP,
    ApproxDP,
    HuberRegressor,
    Ledger,
    LinearRegression,
    LogisticRegression,
    Numeric,
    PoissonRegressor,
    PureDP,
    Schema,
    Target,
    fit_table,
)
from privet.errors import BudgetExceeded, DataError, DeclarationError, quietly
from privet.features import RandomFourierFeatures
from privet.models import REGRESSORS
from privet.models.regression import KNEE
from privet.privacy import Budget
from tests.strategies import Array

FOURIER = RandomFourierFeatures(8, gamma=1.0, insecure_seed=0).fit(np.zeros((1, 2)))
BUDGETS: tuple[Budget, ...] = (PureDP(2.0), ZCDP(1.0), ApproxDP(2.0, 1e-6), GDP(1.5))
every = pytest.mark.parametrize("kind", REGRESSORS.values(), ids=lambda kind: kind.__name__)


def people(n: int = 4_000, seed: int = 0) -> tuple[Array, Array]:
    """Two columns and a target between 0 and 200 with slope 120 in the first."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.7, 0.7, (n, 2))
    return x, np.clip(80.0 + 60.0 * x[:, 0] + 5.0 * rng.normal(size=n), 0.0, 200.0)


@every
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_fit_learns_and_keeps_its_promise(kind: Any, budget: Budget) -> None:
    x, y = people(20_000)
    model = kind(budget, target_bounds=(0, 200)).fit(x, y)
    assert budget.keeps(model.guarantee_.event)
    assert model.guarantee_.private
    assert model.coef_.shape == (1, 2)
    # far above what noise does here; a model of the mean alone has R^2 = 0
    assert model.score(x, y) > 0.5
    assert is_regressor(model)
    assert not is_classifier(model)


@every
@pytest.mark.parametrize("mechanism", ["objective", "output", "gradient"])
def test_every_mechanism_of_a_linear_model(kind: Any, mechanism: str) -> None:
    x, y = people()
    model = kind(ZCDP(2.0), target_bounds=(0, 200), mechanism=mechanism).fit(x, y)
    assert model.guarantee_.event.mechanism == mechanism


@every
def test_a_descent_settles_where_all_rows_bend_the_loss_the_same_way(kind: Any) -> None:
    """Mean curvature is that of one row here: steps as long as a classifier's would run away."""
    x = np.full((50_000, 1), 1.0)
    y = np.random.default_rng(1).choice([140.0, 160.0], len(x))
    model = kind(ZCDP(2.0), target_bounds=(0, 200), mechanism="gradient").fit(x, y)
    assert model.predict([[1.0]]) == pytest.approx(150.0, abs=2.0)


def test_a_descent_needs_gaussian_noise() -> None:
    with pytest.raises(DeclarationError, match="has no pure epsilon"):
        HuberRegressor(1.0, target_bounds=(0, 200), mechanism="gradient").fit(*people())


def test_the_choice_is_public_and_least_squares_where_noise_is_negligible() -> None:
    x, y = people()
    few, many = (
        LinearRegression(ZCDP(0.5), target_bounds=(0, 200)).planned(n, 2).event
        for n in (500, 500_000)
    )
    assert few.mechanism == "objective"
    assert many.mechanism == "statistics"
    fitted = LinearRegression(ZCDP(0.5), target_bounds=(0, 200)).fit(x, y)
    planned = LinearRegression(ZCDP(0.5), target_bounds=(0, 200)).planned(*x.shape).event
    assert fitted.guarantee_.event == planned


@pytest.mark.parametrize("mechanism", ["objective", "statistics"])
def test_other_units_of_the_target_give_the_same_model(mechanism: str) -> None:
    """Thousands instead of ones, and another zero: coefficients follow, predictions too."""
    x, y = people()
    declared: dict[str, Any] = {"mechanism": mechanism, "insecure_seed": 3}
    here = LinearRegression(1.0, target_bounds=(0, 200), **declared).fit(x, y)
    there = LinearRegression(1.0, target_bounds=(-7e3, 193e3), **declared).fit(x, 1e3 * y - 7e3)
    assert there.coef_ == pytest.approx(1e3 * here.coef_, rel=1e-6)
    assert there.predict(x) == pytest.approx(1e3 * here.predict(x) - 7e3, rel=1e-6)


def test_the_knee_is_in_the_units_of_the_target() -> None:
    x, y = people()
    usual = HuberRegressor(1.0, target_bounds=(0, 200), insecure_seed=1).fit(x, y)
    told = HuberRegressor(1.0, target_bounds=(0, 200), knee=100 * KNEE, insecure_seed=1).fit(x, y)
    assert np.array_equal(usual.coef_, told.coef_)
    wide = HuberRegressor(1.0, target_bounds=(0, 200), knee=100.0)
    assert wide.planned(4_000, 2).event.scale == pytest.approx(
        usual.guarantee_.event.scale / KNEE, rel=0.2
    )


@every
def test_targets_outside_are_clipped_and_told_to_the_terminal_alone(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    x, y = people()
    beyond, clipped = y.copy(), y.copy()
    beyond[:7], clipped[:7] = 1e9, 200.0
    declared: dict[str, Any] = {"target_bounds": (0, 200), "insecure_seed": 1}
    with caplog.at_level(logging.WARNING, logger="privet"):
        inside = kind(1.0, **declared).fit(x, clipped)
        assert "outside target_bounds" not in caplog.text
        outside = kind(1.0, **declared).fit(x, beyond)
    assert "7 of 4000 targets are outside target_bounds" in caplog.text
    assert np.array_equal(outside.coef_, inside.coef_)
    assert np.array_equal(outside.intercept_, inside.intercept_)
    assert "7" not in "".join(outside.guarantee_.assumptions)


@every
def test_predictions_stay_within_the_bounds(kind: Any) -> None:
    x, y = people(300)
    model = kind(PureDP(0.01), target_bounds=(0, 200)).fit(x, y)  # almost nothing but noise
    found = model.predict(np.random.default_rng(0).uniform(-1, 1, (500, 2)))
    assert found.min() >= 0.0
    assert found.max() <= 200.0


def test_a_poisson_rate_is_the_exponential_of_its_score() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.7, 0.7, (60_000, 2))
    y = rng.poisson(np.exp(1.0 + 1.5 * x[:, 0]))
    model = PoissonRegressor(ZCDP(2.0), target_bounds=(0, 20)).fit(x, y)
    assert model.coef_[0] == pytest.approx([1.5, 0.0], abs=0.15)
    assert model.intercept_[0] == pytest.approx(1.0, abs=0.15)
    expected = np.exp(x[:5] @ model.coef_[0] + model.intercept_)
    assert model.predict(x[:5]) == pytest.approx(expected)
    with pytest.raises(DeclarationError, match="begin at zero"):
        PoissonRegressor(1.0, target_bounds=(1, 20)).fit(x, y)


@every
def test_files_keep_the_model(kind: Any, tmp_path: Path) -> None:
    x, y = people()
    model = kind(1.0, target_bounds=(0, 200)).fit(x, y)
    model.save(tmp_path / "model.privet")
    loaded = privet.load(tmp_path / "model.privet")
    assert type(loaded) is kind
    assert np.array_equal(loaded.predict(x), model.predict(x))
    assert loaded.statement() == model.statement()
    assert "a number from 0 to 200" in model.statement()


@every
def test_a_schema_with_a_number_for_a_label(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, 3_000)
    cost = np.clip(age + rng.normal(size=3_000), 0, 100)
    table = {"age": age, "cost": cost}
    table["cost"][:3] = np.nan
    schema = Schema({"age": Numeric(20, 80)}, Target("cost", 0, 100))
    assert Schema.from_toml(schema.to_toml()) == schema
    model = fit_table(kind(2.0), schema, table)
    young, old = model.predict({"age": [25.0, 75.0]})
    assert young < old
    assert model.target_bounds == (0, 100)
    encoded = schema.encode(table)
    assert (encoded.x[:3] == 0.0).all()  # rows without a number are constant
    assert (encoded.y[:3] == 50.0).all()
    model.save(tmp_path / "model.privet")
    assert np.array_equal(
        privet.load(tmp_path / "model.privet").predict(table), model.predict(table)
    )
    with pytest.raises(DeclarationError, match="label is a number"):
        fit_table(LogisticRegression(1.0), schema, table)
    with pytest.raises(DeclarationError, match="not the schema's"):
        fit_table(kind(1.0, target_bounds=(0, 50)), schema, table)


def test_a_look_counts_numbers_outside_their_bounds() -> None:
    schema = Schema({"age": Numeric(20, 80)}, Target("cost", 0, 100))
    look = schema.compare({"age": [30.0, 40.0, 50.0], "cost": [1.0, 500.0, np.nan]})
    assert look.columns[0].name == "cost"
    assert sum(look.columns[0].misses.values()) == 1
    assert look.columns[0].missing == 1


def test_a_ledger_is_charged_once_and_refuses_beyond_its_cap(tmp_path: Path) -> None:
    x, y = people()
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open("people", cap=PureDP(1.5))
    declared: dict[str, Any] = {"target_bounds": (0, 200), "ledger": ledger, "dataset": "people"}
    model = LinearRegression(PureDP(1.0), **declared).fit(x, y)
    assert model.guarantee_.receipt is not None
    with pytest.raises(BudgetExceeded):
        LinearRegression(PureDP(1.0), **declared).fit(x, y)


@every
def test_standardized_sparse_and_in_a_pipeline(kind: Any) -> None:
    x, y = people()
    raw = 50.0 + 40.0 * x
    declared: dict[str, Any] = {"standardize": "private", "column_bounds": (0, 100)}
    model = kind(ZCDP(2.0), target_bounds=(0, 200), norm_bound=3.0, **declared).fit(raw, y)
    assert model.score(raw, y) > 0.3
    sparse = kind(1.0, target_bounds=(0, 200), insecure_seed=1).fit(csr_array(x), y)
    dense = kind(1.0, target_bounds=(0, 200), insecure_seed=1).fit(x, y)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-4)
    steps = Pipeline([("rows", Normalizer()), ("model", clone(dense))])
    assert steps.fit(x, y).predict(x).shape == (len(x),)


@every
@pytest.mark.parametrize(
    "bounds",
    [
        *(None, (0,), (1, 1), (2, 1), (0, np.nan), ("0", "1"), (0, np.inf), 5, (False, True)),
        *((0, 10**400), (-(10**400), 0), b"ab", {0: 1, 1: 2}, {0, 1}),
    ],
)
def test_bounds_must_be_an_interval(kind: Any, bounds: Any) -> None:
    x, y = people(50)
    with pytest.raises(DeclarationError, match=r"target_bounds must be \(low, high\)"):
        kind(1.0, target_bounds=bounds).fit(x, y)


@every
def test_what_is_refused(kind: Any) -> None:
    x, y = people(50)
    gaps = y.copy()
    gaps[0] = np.nan
    with pytest.raises(DataError, match="finite numbers"):
        kind(1.0, target_bounds=(0, 200)).fit(x, gaps)
    with pytest.raises(DataError, match="finite numbers"):
        kind(1.0, target_bounds=(0, 200)).fit(x, np.array(["a"] * 50))
    with pytest.raises(DeclarationError, match="a row's length"):
        kind(ZCDP(1.0), target_bounds=(0, 200), standardize="whiten").fit(x, y)
    with pytest.raises(DeclarationError, match="mechanism must be"):
        kind(1.0, target_bounds=(0, 200), mechanism="gradient descent").fit(x, y)


@pytest.mark.parametrize("bounds", [(0.0, 5e-324), (0.0, 1e-308), (-1e-310, 1e-310)])
def test_bounds_whose_half_is_no_normal_number_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(DeclarationError, match="too close together"):
        HuberRegressor(1.0, target_bounds=bounds).fit(np.zeros((50, 1)), np.zeros(50))


def test_a_regularization_that_leaves_noise_alone_is_refused() -> None:
    declared: dict[str, Any] = {"target_bounds": (0, 1), "mechanism": "output"}
    with pytest.raises(DeclarationError, match="leaves nothing but noise"):
        HuberRegressor(1.0, regularization=1e-300, **declared).planned(50, 1)
    assert HuberRegressor(1.0, regularization=1e-20, **declared).planned(50, 1).event.scale > 1e15


@pytest.mark.parametrize("knee", [1e-320, 1e-9, 1e9, 1e300])
def test_an_absurd_knee_is_refused(knee: float) -> None:
    with pytest.raises(DeclarationError, match="knee is a residual"):
        HuberRegressor(1.0, target_bounds=(0, 1), knee=knee).fit(np.zeros((50, 1)), np.zeros(50))


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(2.0, target_bounds=(0, 60), mechanism="statistics"),
        HuberRegressor(2.0, target_bounds=(0, 60), standardize="private", column_bounds=(-1, 1)),
        PoissonRegressor(2.0, target_bounds=(0, 60)),
        HuberRegressor(2.0, target_bounds=(0, 60), features=FOURIER),
    ],
    ids=["linear", "standardized", "poisson", "mapped"],
)
def test_the_exported_pipeline_predicts_the_same_and_refuses_a_fit(model: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.7, 0.7, (800, 2))
    with quietly():
        made = model.fit(x, 30.0 + 40.0 * x[:, 0])
    plain = pickle.loads(pickle.dumps(made.to_sklearn()))
    far = rng.normal(size=(300, 2)) * 4.0  # most are clipped
    np.testing.assert_allclose(plain.predict(far), made.predict(far), rtol=1e-9, atol=1e-9)
    assert is_regressor(plain)
    assert plain.guarantee_ == made.guarantee_
    with pytest.raises(DeclarationError, match="without privacy"):
        plain.fit(x, x[:, 0])
