"""``prepare``, ``planned``, ``Fit`` and ``Released``: the typed values between rooms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone

import privet
from privet import ZCDP, ApproxDP, Ledger, LinearSVC, LogisticRegression, fit_with_intervals
from privet.errors import DataError, DeclarationError, InfeasibleBudget
from privet.kernels import Gaussian as GaussianKernel
from privet.kernels import KernelSVC, Polynomial, PublicNystroem, RandomFourierFeatures
from privet.models import LargeMarginGaussian, PrivateLinearClassifier, Released
from tests.models.tables import two_classes

EVERY: list[PrivateLinearClassifier] = [
    LogisticRegression(),
    LinearSVC(standardize="private", column_bounds=(-1.0, 1.0)),
    LargeMarginGaussian(components=2),
    KernelSVC(ApproxDP(1.0, 1e-6)),
    KernelSVC(ApproxDP(1.0, 1e-6), public_points=np.eye(3), standardize="private",
              column_bounds=(-1.0, 1.0)),
]  # fmt: skip


@pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
def test_a_plan_leaves_the_model_as_it_was(model: PrivateLinearClassifier) -> None:
    """Nothing is drawn for it: a draw would have to be kept somewhere, or made again."""
    before = dict(vars(model))
    first, second = model.planned(500, 3), model.planned(500, 3)
    assert vars(model) == before
    assert (first.design, first.event) == (second.design, second.event)


@pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
def test_what_is_prepared_is_not_released(model: PrivateLinearClassifier) -> None:
    x, y = two_classes()
    model = clone(model)
    fit = model.prepare(x, y)
    assert set(vars(model)) - set(vars(clone(model))) == {"n_features_in_"}
    assert fit.event == model.planned(*x.shape).event
    assert fit.release() is model
    assert model.guarantee_.event == fit.event


@pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
def test_another_budget_is_another_model_on_the_same_rows(model: PrivateLinearClassifier) -> None:
    x, y = two_classes()
    fit = clone(model).prepare(x, y)
    other = fit.with_budget(ApproxDP(0.5, 1e-7))
    assert other.table is fit.table
    assert other.event.claim == ApproxDP(0.5, 1e-7)
    assert other.model.budget == ApproxDP(0.5, 1e-7)
    released = other.release()
    assert released is not fit.model
    assert "coef_" not in vars(fit.model)
    assert released.guarantee_.event == other.event
    released.predict(x)


class Counting(LogisticRegression):  # type: ignore[misc]
    """Notes how often a table is searched for NaN."""

    looked: ClassVar[list[int]] = []

    def _refuse_unsound(self, data: Any) -> None:
        Counting.looked.append(len(data))
        super()._refuse_unsound(data)


def test_rows_are_checked_once_however_many_shares_are_tried() -> None:
    x = np.random.default_rng().uniform(-0.1, 0.1, size=(2_000, 30))
    Counting.looked.clear()
    model = Counting(mechanism="output", regularization=1e-4)
    with pytest.raises(InfeasibleBudget, match="too small to be useful"):  # at every share
        fit_with_intervals(model, x, x[:, 0] > 0, budget=ZCDP(1e-5))
    assert Counting.looked == [2_000]


def test_the_released_design_is_the_fits() -> None:
    x, y = two_classes()
    model = LogisticRegression(standardize="private", column_bounds=(-1.0, 1.0), insecure_seed=3)
    fit = model.prepare(x, y)
    released = Released.of(fit.release())
    assert released.design.main == fit.design.main
    assert released.design.gap == fit.design.gap
    assert released.mechanism.budget == fit.planned.stages.fit
    assert released.standardized
    assert not released.features_are_columns
    assert released.columns == [f"column {i + 1}" for i in range(3)]


def test_an_unfitted_model_has_released_nothing() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        Released.of(LogisticRegression())


# -- public maps -------------------------------------------------------------------------------


def fourier() -> RandomFourierFeatures:
    return RandomFourierFeatures(20, insecure_seed=5).fit(np.zeros((1, 3)))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_linear_model_on_a_public_map_is_the_linear_model_of_its_features(kind: Any) -> None:
    x, y = two_classes()
    features = fourier()
    names: dict[str, Any] = {"insecure_seed": 4, "fit_intercept": False}
    model = kind(features=features, **names).fit(x, y)
    plain = kind(**names).fit(features.transform(x), y)
    assert np.allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    assert model.guarantee_.event.scale == plain.guarantee_.event.scale
    assert np.allclose(model.decision_function(x), plain.decision_function(features.transform(x)))
    assert "feature map (40 features" in " ".join(model.guarantee_.assumptions)


def test_the_map_goes_with_copies_files_and_exports(tmp_path: Path) -> None:
    x, y = two_classes()
    points = PublicNystroem(GaussianKernel(0.5), np.eye(3)).fit()
    model = clone(LinearSVC(features=points)).fit(x, y)  # a copy of the map would not be fitted
    model.save(tmp_path / "model.privet")
    again = privet.load(tmp_path / "model.privet")
    assert np.array_equal(again.decision_function(x), model.decision_function(x))
    assert np.array_equal(model.to_sklearn().predict(x), model.predict(x))


def test_a_map_brings_its_own_bound() -> None:
    with pytest.raises(DeclarationError, match="leave norm_bound"):
        LinearSVC(features=fourier(), norm_bound=2.0).fit(*two_classes())


def test_a_map_of_standardized_columns() -> None:
    x, y = two_classes()
    names: dict[str, Any] = {"standardize": "private", "column_bounds": (-1.0, 1.0)}
    model = LinearSVC(features=fourier(), **names).fit(x, y)
    seen = fourier().transform((np.clip(x, -1.0, 1.0) - model.center_) / model.scale_)
    expected = seen @ model.coef_[0] + model.intercept_[0]
    assert np.allclose(model.decision_function(x), expected)
    with pytest.raises(DeclarationError, match="tables of numbers"):
        LinearSVC(features=fourier(), **names).fit(["text"] * len(y), y)


@pytest.mark.parametrize(
    "names",
    [
        {"kernel": Polynomial(2)},
        {"kernel": "laplacian", "orthogonal": True},
        {"public_points": np.eye(4)},
        {"features": RandomFourierFeatures(5).fit(np.zeros((1, 4)))},
    ],
)
def test_a_map_that_cannot_be_made_costs_nothing(names: dict[str, Any], tmp_path: Path) -> None:
    """Frequencies are drawn after the charge; that they can be drawn is known before."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", ApproxDP(1.0, 1e-6))
    model = KernelSVC(ApproxDP(0.5, 1e-7), ledger=ledger, dataset="people", **names)
    before = ledger.remaining("people")
    with pytest.raises(DeclarationError):
        model.fit(*two_classes())
    assert ledger.remaining("people") == before


def test_rows_are_refused_without_a_charge_as_prediction_would() -> None:
    x, y = two_classes()
    model = LogisticRegression().fit(x, y)
    model.check_rows(x)
    with pytest.raises(DataError):
        model.check_rows(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="features"):
        model.check_rows(x[:, :2])
