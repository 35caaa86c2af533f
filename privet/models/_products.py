"""Products of columns as the features of a model: their number, bound and names, cells of rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet._checks import norm_bound, positive
from privet.errors import DeclarationError
from privet.models._base import PrivateLinearClassifier
from privet.models._numbers import table_shape
from privet.models.lifted import Lifted, lifted_columns, lifted_names
from privet.models.mixtures import UnitRows, components_of, declared_centers
from privet.models.standardize import Chained
from privet.rows.mapped import FeatureMap, MappedRows

Array = NDArray[np.float64]
# Blocks of rows of more features would not fit a memory of ordinary size.
MOST_FEATURES = 100_000
# Products of columns are nearly linear functions of each other, the more so the more there are. The
# Hessian's eigenvalues were spread over factors of 20 to 300 for up to 30 parameters (made-up rows
# and a few columns of Covertype), and 7,000 for the 396 of ten columns and seven classes.
LEAST_SPREAD, SPREAD_EACH = 200.0, 10.0


class ProductFeatures(PrivateLinearClassifier):
    """A linear model on products of a row's entries, with one or more components per class."""

    covariance: Literal["full", "diagonal", "spherical"]
    components: int
    centers: Any
    constant: float
    centers_: Array

    @abstractmethod
    def _check_declared(self) -> None:
        """Refuse what are not parameters."""

    def _lifted(self, d: int) -> Lifted:
        bound = norm_bound(self.norm_bound)
        constant = positive("constant", self.constant) * bound
        return Lifted(d, bound, constant, self.covariance)

    def _feature_map(self, d: int, *, fitted: bool = False) -> FeatureMap:
        return self._lifted(d)

    def _bound(self) -> float:
        self._check_declared()
        return norm_bound(self._lifted(1).norm)

    def _columns(self, d: int) -> int:
        self._check_declared()
        features = lifted_columns(d, self.covariance)
        if features > MOST_FEATURES:
            raise DeclarationError(
                f"{d} columns become {features:,} features, more than {MOST_FEATURES:,}. Use fewer "
                "columns, covariance='diagonal', or a linear model."
            )
        return features

    def _unit_rows(self, data: Any, codes: Any) -> MappedRows:
        """Rows as the centres see them."""
        d = table_shape(data)[1]
        first, unit = self._standardiser(d), UnitRows(self._lifted(d))
        return MappedRows(data, codes, unit if first is None else Chained(first, unit))

    def _unit_centers(self, d: int, n_classes: int) -> Array:
        """Centres among ``_unit_rows``: released, or declared in the units of the columns."""
        if self.centers is None:
            return self.centers_
        centers = declared_centers(self.centers, n_classes, int(self.components), d)
        first = self._standardiser(d)
        if first is not None:
            centers = first(centers.reshape(-1, d)).reshape(centers.shape)
        return centers / norm_bound(self.norm_bound)

    def _codes(self, data: Any, codes: NDArray[np.int_], n_classes: int) -> NDArray[np.int_]:
        if self.components == 1:
            return codes
        centers = self._unit_centers(table_shape(data)[1], n_classes)
        return components_of(self._unit_rows(data, codes), centers)

    def _width(self) -> int:
        return self._columns(int(self.n_features_in_))

    def _score_rows(self) -> int:
        parts = len(self.classes_) * int(self.components)
        return 1 if parts == 2 else parts

    def _score_names(self) -> list[str]:
        parts = int(self.components)
        if parts == 1:
            return super()._score_names()
        return [f"{label}, part {k + 1}" for label in self.classes_ for k in range(parts)]

    def _feature_names(self, columns: list[str]) -> list[str]:
        """With the factors that the features have: a reader can tell ``coef_`` by them."""
        steps = self._feature_steps(len(columns))
        named = zip(steps, self._term_names(columns), strict=True)
        return [name if step == 1.0 else f"{step:.3g} · {name}" for step, name in named]

    def _term_names(self, columns: list[str]) -> list[str]:
        return lifted_names(columns, self.covariance)

    def _curvature_spread(self, parameters: int) -> float:
        return max(LEAST_SPREAD, SPREAD_EACH * parameters)

    def _feature_steps(self, d: int) -> Array:
        return self._lifted(d).steps

    def _arrays(self) -> tuple[str, ...]:
        placed = self.components > 1 and self.centers is None
        return tuple(name for name in super()._arrays() if placed or name != "centers_")

    def _sound(self) -> bool:
        shape = (len(self.classes_), self.components, self.n_features_in_)
        return super()._sound() and (
            "centers_" not in self._arrays() or self.centers_.shape == shape
        )
