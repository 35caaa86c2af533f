"""A released linear model as a plain scikit-learn estimator on encoded rows.

It needs no Privet to be read. Rows are those of ``Schema.encode_features``, whose norm is at most
one, so that no clipping is left to do. Where a model brings rows to full length first
(``standardize="unit"`` or ``"whiten"``), its classes are those of a linear rule and its
probabilities are not: the plain estimator then has decisions and no probabilities.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from privet._files import write_through
from privet._types import Array
from privet.errors import DeclarationError
from privet.handover.handed_model import HandedModel
from privet.models import LogisticRegression, PrivateLinearClassifier, PrivateLinearRegressor

#: Encoded rows that are compared before a file is written; drawn from the schema, never from data.
COMPARED = 2_000


def plain_model(released: HandedModel) -> Any:
    """The estimator, with ``statement_``, ``model_sha256_`` and ``schema_`` as plain text."""
    model = released.last
    if released.stepped:
        raise DeclarationError(
            f"A {type(model).__name__} with other steps has no plain form. Export it to MLflow, "
            "which takes the model file itself."
        )
    if not isinstance(model, PrivateLinearClassifier | PrivateLinearRegressor):
        raise DeclarationError(
            f"There is no plain form of a {type(model).__name__}: sklearn and onnx are for linear "
            "models. Export it to MLflow, which takes the model file itself."
        )
    weights, offsets = model.linear_rule()  # refuses what is not linear in its columns
    if isinstance(model, PrivateLinearRegressor):
        plain = model.to_plain(weights, offsets)
    else:
        plain = _unfitted(model)
        plain.coef_, plain.intercept_ = weights, offsets
        plain.classes_ = np.copy(model.classes_)
        plain.n_features_in_ = weights.shape[1]
        plain.n_iter_ = np.zeros(1, dtype=np.int32)
    plain.statement_ = released.statement
    plain.model_sha256_ = released.digest
    plain.guarantee_ = json.dumps(model.guarantee_.to_json())
    plain.schema_ = released.schema.to_toml()
    _compare(plain, released)
    return plain


def _unfitted(model: PrivateLinearClassifier) -> Any:
    from sklearn.linear_model import LogisticRegression as Logistic
    from sklearn.svm import LinearSVC

    as_it_is = model.standardize is None and isinstance(model, LogisticRegression)
    return Logistic() if as_it_is else LinearSVC()


def drawn_rows(released: HandedModel, n: int = COMPARED) -> Array:
    """Encoded rows that the schema allows, made up."""
    from privet.schema.columns import Categorical

    random = np.random.default_rng(0)
    table: dict[str, Any] = {}
    for name, column in released.schema.columns.items():
        if isinstance(column, Categorical):
            table[name] = [
                str(column.categories[i]) for i in random.integers(len(column.categories), size=n)
            ]
        else:
            table[name] = random.uniform(column.low, column.high, n)  # type: ignore[attr-defined]
    return np.asarray(released.schema.encode_features(table))


def _compare(plain: Any, released: HandedModel) -> None:
    x = drawn_rows(released)
    found, expected = plain.predict(x), released.last.predict(x)
    if released.is_regression:
        same = np.allclose(found, expected, rtol=1e-9, atol=1e-9)
    else:
        same = np.array_equal(found, expected)
    if same and hasattr(plain, "predict_proba"):
        same = np.allclose(plain.predict_proba(x), released.last.predict_proba(x), atol=1e-9)
    if not same:
        raise DeclarationError(
            "The exported model would predict something else; nothing was written."
        )


def write_plain(released: HandedModel, out: Path, *, replace: bool) -> None:
    """With joblib, as scikit-learn's users keep models; whoever reads it runs what is in it."""
    import joblib

    made = plain_model(released)
    write_through(out, lambda name: joblib.dump(made, name), replace=replace)
