"""A released model as scikit-learn knows it: its rows' map and clipping, then a plain model.

Training and prediction are one function of a row; the clipping is part of it. So an exported model
is a pipeline, and predicts what the model predicts for every row, also for those above the bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from privet.domain import Domain
from privet.errors import DeclarationError
from privet.models.inputs import numbers
from privet.models.linear_model import PrivateLinearModel
from privet.models.row_view import RowView
from privet.rows.ball import in_ball
from privet.rows.mapped import FeatureMap, mapped

COPIED = ("coef_", "intercept_", "classes_")


class RowsAsTrained(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What a released model sees of a row: its features, within the declared bound.

    Parameters
    ----------
    feature_map : feature map or None, default None
        The public or released map from columns to features; None where the columns are the
        features.
    bound : float, default 1.0
        The Euclidean norm that rows (or features) are clipped to.
    objects : bool, default False
        Whether rows are objects of a kernel, strings for example, and not numbers.
    domain : Domain or None, default None
        The declared domain that rows are put into.
    constant : float or None, default None
        What was appended to the rows in training.
    """

    def __init__(
        self,
        feature_map: FeatureMap | None = None,
        bound: float = 1.0,
        objects: bool = False,
        domain: Domain | None = None,
        constant: float | None = None,
    ) -> None:
        self.feature_map = feature_map
        self.bound = bound
        self.objects = objects
        self.domain = domain
        self.constant = constant

    def fit(self, X: Any, y: Any = None) -> Any:
        """Refused: a plain model fitted to rows would not be private, and would look as if.

        Parameters
        ----------
        X, y : ignored
        """
        raise DeclarationError(
            "This is a released model; fitting it again would train it without privacy. Fit a "
            "Privet model instead."
        )

    def transform(self, X: Any) -> Any:
        """Clipped features of each row, a function of that row alone.

        Parameters
        ----------
        X : array, sparse matrix or sequence of objects

        Returns
        -------
        array or sparse matrix of shape (n, features)
        """
        data = X if self.objects else numbers(self, X, reset=False)
        features: Any
        if self.feature_map is None:
            view = RowView(None, self.bound, self.constant, self.domain)
            features, factors = in_ball(view.inside(data), self.bound)
        else:
            features, factors = mapped(self.feature_map, data)
        if factors is None:
            return features
        if issparse(features):
            shortened: Any = diags_array(factors)
            return shortened @ features
        return np.asarray(features * factors[:, None])

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        return tags


def exported(model: PrivateLinearModel, plain: Any) -> Pipeline:
    """A pipeline that predicts as ``model`` does; ``guarantee_`` goes with it.

    ``plain`` gets a classifier's numbers here; a regression's has them already.
    """
    check_is_fitted(model, "coef_")
    columns = int(model.n_features_in_)
    view = model._view(columns)
    rows = RowsAsTrained(view.feature_map, view.bound, model._objects, view.domain, view.constant)
    rows.n_features_in_ = columns
    if hasattr(model, "feature_names_in_"):
        rows.feature_names_in_ = model.feature_names_in_.copy()
    if not model.predicts_numbers:
        for name in COPIED:
            setattr(plain, name, np.copy(getattr(model, name)))
        plain.n_features_in_ = model.coef_.shape[1]
        plain.fit_intercept = view.constant is not None
    made = Pipeline([("rows", rows), ("model", plain)])
    # What was promised travels along. A clone has none of it, and a new fit is refused.
    made.guarantee_ = model.guarantee_
    made.statement_ = model.statement()
    if model.__dict__.get("schema_") is not None:
        made.schema_ = model.schema_
    return made
