"""What a model sees of a row: its columns, standardised or mapped, and the scores it gives them.

Training and prediction are one function of a row: the same map, the same clipping.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from privet._checks import norm_bound
from privet._types import Targets
from privet.models._numbers import numbers, refuse_unsound, table_shape, tell_clipped
from privet.models.carried import encoded_features
from privet.models.labels import schema_classes
from privet.models.standardize import Chained, Standardised, declared_ranges
from privet.rows import Rows
from privet.rows.arrays import block_rows, checked_rows, sound_sparse
from privet.rows.ball import in_ball
from privet.rows.mapped import FeatureMap, MappedRows, mapped
from privet.schema import Schema

Array = NDArray[np.float64]


class Features:
    """Rows and scores of a classifier that is linear in its features."""

    #: released arrays beside ``coef_`` and ``intercept_``: what a model file keeps of the map
    map_arrays: ClassVar[tuple[str, ...]] = ()

    norm_bound: float
    fit_intercept: bool
    standardize: Any
    column_bounds: Any
    classes: Any

    coef_: Array
    intercept_: Array
    classes_: NDArray[Any]
    center_: Array
    scale_: Array
    n_features_in_: int

    def _numbers(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """The table as numbers; models on other objects override it."""
        return numbers(self, X, *y, reset=reset)

    def _refuse_unsound(self, data: Any) -> None:
        """Refuse, before a charge, what is no number (other objects: what cannot be compared)."""
        refuse_unsound(data)

    # -- schemas -------------------------------------------------------------------------------

    def _by_schema(self, schema: Schema, *, stepped: bool = False) -> dict[str, Any]:
        """Parameters for rows that a schema encodes.

        The intercept goes where the encoded columns, used as they are, hold a constant already.
        Centred columns do not: private standardisation takes the constant out of them; it uses
        the bounds that the encoding keeps by itself.
        """
        options: dict[str, Any] = {"classes": schema_classes(self.classes, schema)}
        used_as_they_are = self.standardize is None and not self.maps_rows and not stepped
        if self.fit_intercept and schema.has_constant and used_as_they_are:
            options["fit_intercept"] = False
        if self.standardize is not None and self.column_bounds is None:
            options["column_bounds"] = schema.column_bounds
        return options

    def _carriers(self) -> tuple[Any, ...]:
        """What a fit through a schema leaves that must carry it."""
        return (self,)

    # -- features ------------------------------------------------------------------------------

    def _feature_map(self, d: int, *, fitted: bool = False) -> FeatureMap | None:
        """The public map from ``d`` columns to features; None where the columns are the features.

        ``fitted``: rebuilt from released attributes, for prediction.
        """
        return None

    def _bound(self) -> float:
        """The norm bound of the features, without the constant column."""
        return norm_bound(self.norm_bound)

    def _columns(self, d: int) -> int:
        """Columns of the rows that a mechanism sees, for a table with ``d`` columns."""
        return d + bool(self.fit_intercept)

    def _planned_columns(self, n: int, d: int) -> int:
        """``_columns`` before a fit, from the table's shape alone."""
        return self._columns(d)

    def _codes(self, data: Any, codes: NDArray[np.int_], n_classes: int) -> NDArray[np.int_]:
        """What each row is labelled with in the loss: a function of that row and of releases."""
        return codes

    def _standardiser(self, d: int) -> Standardised | None:
        """The released map of the columns; None where they are used as they are."""
        if self.standardize is None:
            return None
        ranges = declared_ranges(self.column_bounds, d)
        return Standardised(ranges, self.center_, self.scale_, self._bound())

    def _whole_map(self, d: int, *, fitted: bool = False) -> FeatureMap | None:
        """Columns standardised, then the model's own map."""
        first, then = self._standardiser(d), self._feature_map(d, fitted=fitted)
        if first is None or then is None:
            return first or then
        return Chained(first, then)

    def _rows(self, data: Any, targets: Targets) -> Rows:
        """Bounded rows, charged for: how many were long is told to the terminal."""
        constant = self._bound() if self.fit_intercept else None
        feature_map = self._whole_map(table_shape(data)[1])
        if feature_map is not None:
            return MappedRows(data, targets, feature_map, constant=constant)
        rows = checked_rows(
            data, targets, norm_bound=self._bound(), intercept=bool(self.fit_intercept)
        )
        tell_clipped(rows)
        return rows

    def _tell_long(self, data: Any) -> None:
        """Tell the terminal how many rows are long, after the charge, for many fits at once."""
        if self.standardize is None and type(self)._feature_map is Features._feature_map:
            self._rows(data, np.zeros(table_shape(data)[0]))

    # -- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, (n,) for two classes and (n, C) for more.

        Rows are clipped to ``norm_bound`` as in training, so both are one function of a row. A
        model that carries a schema also takes raw tables, and encodes them as in training.
        """
        check_is_fitted(self, "coef_")
        data = self._numbers(encoded_features(self, X), reset=False)
        feature_map = self._whole_map(table_shape(data)[1], fitted=True)
        if feature_map is None:
            data = sound_sparse(data) if issparse(data) else data
            scores = self._scores(*in_ball(data, self._bound()))
        else:
            refuse_unsound(data)
            size = block_rows(feature_map.columns)
            starts = range(0, table_shape(data)[0], size)
            blocks = (mapped(feature_map, data[start : start + size]) for start in starts)
            scores = np.concatenate([self._scores(*block) for block in blocks])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, features: Any, factors: Array | None) -> Array:
        scores = np.asarray(features @ self.coef_.T, dtype=np.float64)
        if factors is not None:
            scores *= factors[:, None]
        scores += self.intercept_
        return scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely declared class of each row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def _width(self) -> int:
        """How many features ``coef_`` has."""
        return int(self.n_features_in_)

    def _score_rows(self) -> int:
        """How many rows ``coef_`` has."""
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _score_names(self) -> list[str]:
        """What each row of ``coef_`` speaks for, where there are several."""
        return [str(label) for label in self.classes_]

    def _feature_names(self, columns: list[str]) -> list[str]:
        """Names of the features, from those of the columns."""
        width = self._width()
        return columns if len(columns) == width else [f"feature {i + 1}" for i in range(width)]

    def _term_names(self, columns: list[str]) -> list[str]:
        """Names of what the features are multiples of; see ``_feature_steps``."""
        return self._feature_names(columns)

    def _curvature_spread(self, parameters: int) -> float:
        """A typical table's largest curvature over its smallest, among the model's parameters."""
        return 1.0

    def _feature_steps(self, d: int) -> Array:
        """What multiplies the term in each feature; intervals are for coefficients of terms."""
        return np.ones(self._width())

    @property
    def maps_rows(self) -> bool:
        """Whether this kind of model has a map of its own, as kernel machines do."""
        return type(self)._feature_map is not Features._feature_map

    @property
    def features_are_columns(self) -> bool:
        """Whether a coefficient is about a column as it was passed."""
        return self._whole_map(int(self.n_features_in_), fitted=True) is None

    def _arrays(self) -> tuple[str, ...]:
        """Released arrays that a model file keeps beside ``coef_`` and ``intercept_``."""
        columns = () if self.standardize is None else ("center_", "scale_")
        return (*columns, *self.map_arrays)

    def _sound(self) -> bool:
        """Whether the arrays of a model file fit its classes and columns."""
        rows, d = self._score_rows(), (self.n_features_in_,)
        fits = self.coef_.shape == (rows, self._width()) and self.intercept_.shape == (rows,)
        if self.standardize is None or not fits:
            return fits
        shapes = self.center_.shape == d and self.scale_.shape == d
        return shapes and bool((self.scale_ > 0.0).all())
