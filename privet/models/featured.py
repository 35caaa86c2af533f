"""A model of a row's features: what it declares about them, and what it sees of a row.

Columns, standardized if asked for, then mapped if declared; training and prediction are one
function of a row (``row_view.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from privet._checks import norm_bound, positive
from privet._types import Array, Codes, Targets
from privet.domain import Domain, as_domain
from privet.errors import DataError, DeclarationError
from privet.losses import Loss
from privet.models.fit import PrivateModel
from privet.models.inputs import numbers, refuse_unsound, table_shape
from privet.models.row_view import RowView
from privet.models.standardize import Chained, Standardized, declared_ranges
from privet.models.whiten import CONSTANT, SphereRows, Whitened
from privet.rows import Rows
from privet.rows.mapped import FeatureMap
from privet.rows.streamed import StreamedTable

#: How columns are prepared before a model sees them; None: not at all. "auto" is for a table with a
#: schema: ``fit_table`` chooses by a public rule. On plain arrays it is None.
Standardize = Literal["auto", "private", "unit", "whiten"]
#: Preparations that give each row the full length, with the constant inside.
FULL_LENGTH = ("unit", "whiten")


class FeaturedModel(PrivateModel):
    """A model of a row's features: columns, standardized if asked for, then mapped if declared."""

    #: whether the model has the parameter ``domain``
    takes_domain: ClassVar[bool] = False
    # what a kind of model that does not have the parameter takes for it
    norm_bound: float = 1.0
    domain: Any = None
    fit_intercept: bool = False
    constant: float = 0.5
    features: FeatureMap | None = None
    standardize: Standardize | None
    column_bounds: Any

    coef_: Array
    intercept_: Array
    center_: Array
    scale_: Array
    whitening_: Array

    @property
    def _full_length(self) -> bool:
        """Whether rows are brought to norm 1 first, the constant with them."""
        return self.standardize in FULL_LENGTH

    @property
    def _objects(self) -> bool:
        """Whether rows may be objects that only the map understands, strings for example."""
        return self.features is not None

    def _feature_map(self, d: int) -> FeatureMap | None:
        """The public map from ``d`` columns to features; None where the columns are the features.

        Made of declarations and of released attributes; it must not draw.
        """
        return self.features

    def _bound(self) -> float:
        """The norm bound of the features, without the constant column."""
        if self._full_length:
            return 1.0
        domain = self._domain()
        if domain is not None:
            return norm_bound(domain.norm)
        if self.features is None:
            return norm_bound(self.norm_bound)
        if self.norm_bound != 1.0:
            raise DeclarationError(
                "features= brings its own norm bound: leave norm_bound at its default."
            )
        return norm_bound(float(self.features.norm))

    def _constant(self) -> float | None:
        """The column behind the intercept, in the units of the features; None without one.

        Rows at full length have theirs among the features.
        """
        share = positive("constant", self.constant)
        return share * self._bound() if self.fit_intercept and not self._full_length else None

    def _row_norm(self) -> float:
        """The largest norm of a row that a mechanism sees: features and constant column."""
        return math.hypot(self._bound(), self._constant() or 0.0)

    def _opposite(self) -> float:
        """How much of a row's largest norm can point the other way in another row."""
        return self._bound() / self._row_norm()

    def _domain(self) -> Domain | None:
        """The declared domain of the columns; None where there is none."""
        found = as_domain(self.domain)
        if found is None:
            return None
        if self.features is not None or self.standardize not in (None, "auto"):
            raise DeclarationError(
                "domain is about the columns as they are: use it without features= and "
                "standardize=."
            )
        if self.norm_bound != 1.0:
            raise DeclarationError(
                "domain= brings its own norm bound: leave norm_bound at its default."
            )
        return found

    def _mechanism_domain(self) -> Domain | None:
        """The domain of the rows that a mechanism sees, constant column included."""
        found = self._domain()
        constant = self._constant()
        return found if found is None or constant is None else found.with_constant(constant)

    def _columns(self, n: int, d: int) -> int:
        """Columns of the rows that a mechanism sees, from the table's shape alone."""
        domain = self._domain()
        if domain is not None and domain.columns != d:
            raise DeclarationError(
                f"The declared domain has {domain.columns} columns, but the table has {d}."
            )
        if self.features is None:
            return d + bool(self.fit_intercept)
        self._check_map(d)
        return int(self.features.columns) + bool(self.fit_intercept)

    def _check_map(self, d: int) -> None:
        """Refuse a ready map that says it is for another number of columns."""
        wanted = getattr(self.features, "n_features_in_", d)
        if d and wanted != d:  # a sequence of objects has no columns
            raise DeclarationError(
                f"features= was made for {wanted} columns, but the table has {d}."
            )

    def planned_columns(self, n: int, d: int) -> int:
        """How many columns the mechanism would see of a table.

        Parameters
        ----------
        n, d : int
            Rows and columns of the table.

        Returns
        -------
        int
        """
        return self._columns(n, d)

    def _public_arrays(self, n: int, d: int) -> dict[str, Array]:
        return {}

    def _sphere_rows(self, d: int) -> SphereRows:
        """Rows at norm 1; the constant among them where there is an intercept."""
        if self.maps_rows:
            raise DeclarationError(
                f"standardize={self.standardize!r} is for models of the columns; a feature map "
                "has its own norm. Use standardize='private', or None."
            )
        return SphereRows(d, norm_bound(self.norm_bound), bool(self.fit_intercept))

    def _standardizer(self, d: int) -> Standardized | SphereRows | Whitened | None:
        """The declared or released map of the columns; None where they are used as they are."""
        if self.standardize in (None, "auto"):
            return None
        if self._full_length:
            unit = self._sphere_rows(d)
            return unit if self.standardize == "unit" else Whitened(unit, self.whitening_)
        ranges = declared_ranges(self.column_bounds, d)
        return Standardized(ranges, self.center_, self.scale_, self._bound())

    def _view(self, d: int) -> RowView:
        """Columns standardized, then the model's own map, within the bound."""
        first, then = self._standardizer(d), self._feature_map(d)
        both = Chained(first, then) if first is not None and then is not None else first or then
        return RowView(both, self._bound(), self._constant(), self._domain())

    # -- rows ----------------------------------------------------------------------------------

    def _table(self, X: Any, *y: Any, reset: bool = True) -> Any:
        table = hasattr(X, "shape") and len(X.shape) == 2
        if not self._objects or (self.features is not None and table):
            return numbers(self, X, *y, reset=reset)
        if isinstance(X, str | bytes) or (len(X) if not hasattr(X, "shape") else X.shape[0]) == 0:
            raise DataError("Expected a sequence of objects, at least one.")
        if self.standardize not in (None, "auto"):
            raise DeclarationError("standardize is for tables of numbers, not for other objects.")
        check_consistent_length(X, *y)
        self.n_features_in_ = 0
        return (list(X), *(column_or_1d(labels) for labels in y)) if y else list(X)

    def _refuse_unsound(self, data: Any) -> None:
        refuse_unsound(data)

    def _codes(self, data: Any, codes: Codes, n_classes: int) -> Codes:
        """What each row is labeled with in the loss: a function of that row and of releases."""
        return codes

    def _targets(self, data: Any, codes: Codes, loss: Loss, n_classes: int) -> Targets:
        return loss.targets(self._codes(data, codes, n_classes))

    def _bounded(self, d: int) -> Callable[[Any, Targets], Rows]:
        return self._view(d).rows

    def report_clipped(self, data: Any) -> None:
        """Tell the curator's terminal how many rows are long, after the charge, for many fits.

        Parameters
        ----------
        data : array or sparse matrix
            Rows as ``read`` returned them.
        """
        streamed = isinstance(data, StreamedTable)  # a schema's rows, none of which is long
        if self.standardize in (None, "auto") and not self.maps_rows and not streamed:
            n, d = table_shape(data)
            self._bounded(d)(data, np.zeros(n))

    # -- files ----------------------------------------------------------------------------------

    @property
    def released_arrays(self) -> tuple[str, ...]:
        """Names of the arrays that a model file keeps beside ``coef_`` and ``intercept_``."""
        columns = {"private": ("center_", "scale_"), "whiten": ("whitening_",)}
        return (*columns.get(self.standardize or "", ()), *self.map_arrays)

    def is_consistent(self) -> bool:
        """Whether the arrays of a model file fit its classes and columns.

        Returns
        -------
        bool
        """
        rows, d = self._score_rows(), (self.n_features_in_,)
        fits = self.coef_.shape == (rows, self._width()) and self.intercept_.shape == (rows,)
        if not fits or self.standardize in (None, "auto", "unit"):
            return fits
        if self.standardize == "whiten":
            return bool(self.whitening_.shape == (self._width(),) * 2)
        shapes = self.center_.shape == d and self.scale_.shape == d
        return shapes and bool((self.scale_ > 0.0).all())

    # -- names ---------------------------------------------------------------------------------

    def _width(self) -> int:
        """How many features ``coef_`` has."""
        if self._full_length:
            return int(self.n_features_in_) + bool(self.fit_intercept)
        return int(self.n_features_in_ if self.features is None else self.features.columns)

    def _score_rows(self) -> int:
        """How many rows ``coef_`` has."""
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _score_names(self) -> list[str]:
        """What each row of ``coef_`` speaks for, where there are several."""
        return [str(label) for label in self.classes_]

    def _feature_names(self, columns: list[str]) -> list[str]:
        """Names of the features, from those of the columns."""
        width = self._width()
        if self.standardize == "unit":
            return [*columns, "constant"][:width]
        return columns if len(columns) == width else [f"feature {i + 1}" for i in range(width)]

    def _term_names(self, columns: list[str]) -> list[str]:
        """Names of what the features are multiples of; see ``_feature_steps``."""
        return self._feature_names(columns)

    def _feature_steps(self, d: int) -> Array:
        """What multiplies the term in each feature; intervals are for coefficients of terms."""
        return np.ones(self._width())

    def _curvature_spread(self, parameters: int) -> float:
        return 1.0

    @property
    def maps_rows(self) -> bool:
        """Whether the model is one of a feature map, as kernel machines are."""
        return self.features is not None

    @property
    def features_are_columns(self) -> bool:
        """Whether a coefficient is about one column: not of a map, nor of rows at norm 1."""
        return not self.maps_rows and not self._full_length

    def linear_rule(self) -> tuple[Array, Array]:
        """Weights of the columns, and offsets, that decide as the model does.

        With ``standardize="unit"`` or ``"whiten"`` a score is ``<w, x> + b`` times a positive
        factor that depends on the row; the class with the largest score is that of the largest
        ``<w, x> + b``, for every row within ``norm_bound``.

        Returns
        -------
        weights, offsets : array of shape (1 or C, d), array of shape (1 or C,)
        """
        if self.maps_rows or self.standardize == "private":
            raise DeclarationError(
                "The model's scores are not linear in the columns as passed, and a plain linear "
                "model is. Keep the model file, or export it to MLflow."
            )
        if not self._full_length:
            return self.coef_.copy(), self.intercept_.copy()
        weights = self.coef_ if self.standardize == "unit" else self.coef_ @ self.whitening_.T
        if not self.fit_intercept:
            return weights.copy(), np.zeros(len(weights))
        return weights[:, :-1].copy(), weights[:, -1] * (CONSTANT * self.norm_bound)

    def _told_features(self) -> list[str]:
        if self._full_length:
            return [
                f"each row, clipped to Euclidean norm {self.norm_bound:g} and brought to norm 1"
            ]
        domain = self._domain()
        if domain is not None:
            return [
                f"each row's {domain.columns} columns, put into the declared domain of "
                f"{len(domain.blocks)} blocks (numbers within bounds, groups of categories)"
            ]
        if self.features is None:
            return [f"each row's features, clipped to Euclidean norm {self.norm_bound:g}"]
        return [
            f"the feature map ({self._width()} features, clipped to Euclidean norm "
            f"{self._bound():g}), made without the rows as asserted by the user"
        ]

    def __sklearn_clone__(self) -> Self:
        made: Self = super().__sklearn_clone__()
        if self.features is not None:
            made.features = self.features  # a public value: a copy would be another draw
        return made
