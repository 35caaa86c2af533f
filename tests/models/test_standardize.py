"""Private standardization: one budget, one event, one function of a row in fit and prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from privet import ZCDP, ApproxDP, Ledger, LinearSVC, LogisticRegression, PureDP, load
from privet.errors import BudgetExceeded, DataError, DeclarationError, NotConverged
from privet.mechanisms import objective
from privet.minimize import minimize
from privet.models.standardize import Standardized, declared_ranges
from privet.privacy.compose import Composition
from tests.strategies import Array

BOUNDS = ([0.0, -50.0, 0.0], [20.0, 350.0, 1.0])
BUDGETS = [PureDP(1.0), ZCDP(0.1), ApproxDP(1.0, 1e-6)]
KINDS = [LogisticRegression, LinearSVC]


def people(n: int = 4000) -> tuple[Array, Any]:
    """Columns of very different means and spreads; the label follows one of them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 3)) * [2.0, 30.0, 0.1] + [10.0, 150.0, 0.5]
    return x, (x[:, 1] > 150.0).astype(int)


def private(kind: Any = LogisticRegression, budget: Any = 5.0, **options: Any) -> Any:
    return kind(budget, standardize="private", column_bounds=BOUNDS, **options)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_one_event_covers_moments_and_fit(kind: Any, budget: Any) -> None:
    x, y = people()
    model = private(kind, budget).fit(x, y)
    event = model.guarantee_.event
    assert model.guarantee_.budget == budget
    assert model.guarantee_.private
    assert [part.mechanism for part in event.parts] == ["objective", "moments"]
    assert budget.keeps(Composition(event.parts))
    assert event.parts[0].regularization == model.regularization_
    # the shares are used up, not only kept
    spent = sum(
        part.claim.facts().get("epsilon", part.claim.facts().get("rho", 0.0))
        for part in event.parts
    )
    if not isinstance(budget, ApproxDP):
        assert spent == pytest.approx(next(iter(budget.facts().values())), rel=1e-9)


def test_in_a_large_table_the_moments_are_pure_and_the_fit_keeps_delta() -> None:
    """Under (epsilon, delta): the epsilons add up, and delta is the fit's."""
    x, y = people(40_000)
    budget = ApproxDP(1.0, 1e-6)
    fit, moments = private(budget=budget).fit(x, y).guarantee_.event.parts
    assert isinstance(fit.claim, ApproxDP)
    assert isinstance(moments.claim, PureDP)
    assert fit.claim.delta == budget.delta
    assert fit.claim.epsilon + moments.claim.epsilon == pytest.approx(1.0, abs=1e-9)
    assert fit.claim.epsilon + moments.claim.epsilon <= 1.0
    assert budget.keeps(Composition((fit, moments)))


def test_centers_and_scales_are_near_the_columns_own() -> None:
    x, y = people(40_000)
    model = private(budget=20.0).fit(x, y)
    assert np.allclose(model.center_, [10.0, 150.0, 0.5], atol=[0.3, 6.0, 0.02])
    assert np.allclose(model.scale_, [2.0, 30.0, 0.1], rtol=0.15)


def test_it_learns_what_unscaled_rows_hide() -> None:
    """The label follows the column with the smallest numbers."""
    x, _ = people(20_000)
    y = (x[:, 2] > 0.5).astype(int)
    plain = LogisticRegression(1.0, norm_bound=200.0).fit(x, y).score(x, y)
    assert private(budget=1.0).fit(x, y).score(x, y) > max(0.85, plain + 0.1)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_prediction_applies_the_same_map(make: Any) -> None:
    x, y = people()
    model = private().fit(make(x), y)
    clipped = np.clip(x, BOUNDS[0], BOUNDS[1])
    z = (clipped - model.center_) / model.scale_
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
    scores = z @ model.coef_[0] + model.intercept_[0]
    assert np.allclose(model.decision_function(make(x)), scores)


def test_values_outside_the_ranges_count_as_the_ends() -> None:
    x, y = people()
    model = private().fit(x, y)
    far, end = np.array([[1e9, -1e9, 0.5]]), np.array([[20.0, -50.0, 0.5]])
    assert np.array_equal(model.decision_function(far), model.decision_function(end))


def test_revisiting_sees_the_released_map() -> None:
    """What intervals read: rows through the released centers and scales, loss as in the fit."""
    x, y = people()
    model = private().fit(x, y)
    ready = model.revisit(x, y)
    scores = np.concatenate([block.scores(np.eye(4)) for block, _ in ready.rows.blocks()])
    expected = Standardized(declared_ranges(BOUNDS, 3), model.center_, model.scale_, 1.0)(x)
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1.0)
    assert np.allclose(scores[:, :3], expected)
    assert ready.mechanism.loss == model._loss(2)


def test_nothing_of_the_rows_remains() -> None:
    x, y = people(419)
    model = private().fit(x, y)
    released = {"coef_", "intercept_", "classes_", "guarantee_", "center_", "scale_"}
    extra = set(model.__dict__) - set(model.get_params()) - released
    assert extra == {"regularization_", "n_features_in_"}
    assert all(419 not in np.shape(value) for value in model.__dict__.values())


@pytest.mark.parametrize("kind", KINDS)
def test_files_keep_the_map(kind: Any, tmp_path: Path) -> None:
    x, y = people()
    bounds = (np.array(BOUNDS[0]), np.array(BOUNDS[1]))
    model = kind(5.0, standardize="private", column_bounds=bounds).fit(x, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert np.array_equal(loaded.center_, model.center_)
    assert np.array_equal(loaded.decision_function(x), model.decision_function(x))
    assert loaded.statement() == model.statement()
    clone(loaded).fit(x, y)


def test_to_sklearn_folds_the_scales_in() -> None:
    x, y = people()
    model = private(norm_bound=10.0).fit(x, y)
    assert np.array_equal(model.to_sklearn().predict(x), model.predict(x))


def test_one_charge_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(1.0))
    x, y = people()
    account = {"ledger": ledger, "dataset": "people"}
    model = private(budget=0.75, **account).fit(x, y)
    assert ledger.remaining("people") == 0.25
    assert model.guarantee_.receipt is not None
    with pytest.raises(BudgetExceeded):
        private(budget=0.75, **account).fit(x, y)
    for bad in (np.nan, np.inf):
        wrong = x.copy()
        wrong[7, 1] = bad
        with pytest.raises(DataError, match="NaN"):
            private(budget=0.1, **account).fit(wrong, y)
    assert ledger.remaining("people") == 0.25

    def hasty(risk: Any, rows: Any, **options: Any) -> Any:
        return minimize(risk, rows, **options, max_iter=1)

    monkeypatch.setattr(objective, "minimize", hasty)
    failed = private(budget=0.125, **account)
    with pytest.raises(NotConverged):
        failed.fit(x, y)
    assert not hasattr(failed, "center_")
    assert ledger.remaining("people") == 0.125


@pytest.mark.parametrize(
    "bounds",
    [None, 3.0, (0.0,), ([0.0, 0.0], [1.0, 1.0]), (1.0, 0.0), (0.0, np.inf), (0.0, np.nan), "ab",
     ([0.0, 0.0, 1.0], 1.0)],
    ids=str,
)  # fmt: skip
def test_bad_bounds_are_refused(bounds: Any) -> None:
    x, y = people(50)
    with pytest.raises(DeclarationError, match=r"column_bounds|bound must be above"):
        LogisticRegression(standardize="private", column_bounds=bounds).fit(x, y)


def test_bounds_without_standardization_and_other_words_are_refused() -> None:
    x, y = people(50)
    with pytest.raises(DeclarationError, match="standardize='private'"):
        LogisticRegression(column_bounds=(0.0, 1.0)).fit(x, y)
    with pytest.raises(DeclarationError, match="standardize must be"):
        LogisticRegression(standardize="public", column_bounds=(0.0, 1.0)).fit(x, y)


def test_the_statement_names_both_releases_and_the_ranges() -> None:
    x, y = people()
    text = " ".join(private().fit(x, y).statement().split())
    for word in ("private standardization", "moments", "column_bounds", "range"):
        assert word in text
    seeded = private(insecure_seed=4).fit(x, y)
    assert not seeded.guarantee_.private


def test_seeded_moments_and_noise_come_from_different_streams() -> None:
    x, y = people()
    one, two = (private(insecure_seed=4).fit(x, y) for _ in range(2))
    assert np.array_equal(one.center_, two.center_)
    assert not np.array_equal(one.center_, private(insecure_seed=5).fit(x, y).center_)
