"""An exported model predicts as the model does, for every row, and carries its promise."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from privet import LinearSVC, LogisticRegression
from privet.errors import DeclarationError, SeededNoise
from privet.kernels import KernelLogisticRegression, KernelSVC
from privet.models import LargeMarginGaussian
from tests.models.tables import two_classes

STANDARD: dict[str, Any] = {"standardize": "private", "column_bounds": (-3.0, 3.0)}
WEIGHTS: dict[str, Any] = {"class_weight": {0: 2.0, 1: 0.5}, "classes": [0, 1]}
MODELS = [
    LogisticRegression(5.0),
    LinearSVC(5.0),
    LogisticRegression(5.0, fit_intercept=False, **WEIGHTS),
    LogisticRegression(5.0, **STANDARD),
    LinearSVC(5.0, **STANDARD),
    KernelLogisticRegression(5.0),
    KernelSVC(5.0, **STANDARD),
    LargeMarginGaussian(5.0, norm_bound=1.0),
    LargeMarginGaussian(5.0, loss="huber", **STANDARD),
]


def rows(n: int = 400) -> tuple[Any, Any]:
    """Rows of which most are far above the bound."""
    rng = np.random.default_rng()
    x = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-1.0, 3.0, size=(n, 1))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rows_above_the_bound_are_clipped_as_by_the_model(model: Any) -> None:
    x, y = rows()
    fitted = clone(model).fit(x, y)
    plain = fitted.to_sklearn()
    assert np.array_equal(plain.predict(x), fitted.predict(x))
    scores = fitted.decision_function(x)
    scale = np.abs(scores).max()
    assert np.allclose(plain.decision_function(x), scores, rtol=1e-9, atol=1e-12 * scale)
    if hasattr(fitted, "predict_proba"):
        assert np.allclose(plain.predict_proba(x), fitted.predict_proba(x), atol=1e-9)
    again = pickle.loads(pickle.dumps(plain))
    assert np.array_equal(again.predict(x), fitted.predict(x))


def test_many_classes_sparse_rows_and_named_columns() -> None:
    x, _ = rows()
    y = np.digitize(x[:, 0], [-1.0, 1.0])
    many = LogisticRegression(5.0, classes=[0, 1, 2]).fit(x, y)
    assert np.array_equal(many.to_sklearn().predict(csr_array(x)), many.predict(csr_array(x)))
    table = pd.DataFrame(x, columns=["a", "b", "c"])
    named = LinearSVC(5.0, classes=[0, 1, 2]).fit(table, y)
    assert np.array_equal(named.to_sklearn().predict(table), named.predict(table))


def test_the_promise_travels_along_and_a_new_fit_is_refused() -> None:
    x, y = rows()
    model = LogisticRegression(5.0).fit(x, y)
    plain = model.to_sklearn()
    assert plain.guarantee_ == model.guarantee_
    assert plain.statement_ == model.statement()
    with pytest.raises(DeclarationError, match="without privacy"):
        plain.fit(x, y)
    copy = clone(plain)
    assert not hasattr(copy, "guarantee_")
    with pytest.raises(DeclarationError, match="without privacy"):
        copy.fit(x, y)


def test_the_stamp_of_a_seed_goes_along() -> None:
    """A seeded fit warns, and neither a file nor scikit-learn's pipeline loses its stamp."""
    x, y = two_classes()
    for kind in (LogisticRegression, LinearSVC):
        with pytest.warns(SeededNoise, match="stamped as not private"):
            model = kind(1.0, insecure_seed=3).fit(x, y)
        plain = model.to_sklearn()
        copied = pickle.loads(pickle.dumps(plain))
        for each in (plain, copied):
            assert not each.guarantee_.private
            assert "NOT PRIVATE" in str(each.guarantee_).upper()
            assert "NOT PRIVATE" in each.statement_.upper()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LogisticRegression(1.0).fit(x, y).to_sklearn().guarantee_.private
