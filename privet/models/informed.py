"""A model that may be told what is public: a center of its ridge, and rows of nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from privet._types import Array
from privet.errors import DeclarationError
from privet.mechanisms import Trainer
from privet.models.featured import FeaturedModel
from privet.models.public_center import center_vector, declared_center
from privet.models.public_whitening import public_whitener, same_memory
from privet.models.whiten import CONSTANT


class InformedModel(FeaturedModel):
    """What ``center`` and ``public_rows`` do to a fit; models without them have neither."""

    center: Any = None
    public_rows: Any = None

    def _table(self, X: Any, *y: Any, reset: bool = True) -> Any:
        if reset and same_memory(self.public_rows, X):
            raise DeclarationError(
                "public_rows are the rows that are to be protected, and nothing would protect them "
                "there. Pass rows that are public, or leave public_rows away."
            )
        return super()._table(X, *y, reset=reset)

    def _public_arrays(self, n: int, d: int) -> dict[str, Array]:
        return {} if self.public_rows is None else {"whitening_": self._public_whitener(d)}

    def _public_whitener(self, d: int) -> Array:
        """The whitening matrix by public rows; refused where nothing would use it."""
        if self.standardize != "whiten":
            raise DeclarationError("public_rows are for standardize='whiten'.")
        released = self.__dict__.get("whitening_")  # of a fitted model, whose file keeps no rows
        if released is not None:
            return np.asarray(released)
        return public_whitener(self.public_rows, self._sphere_rows(d))

    def _centered(self, mechanism: Trainer, d: int) -> Trainer:
        """With the public center of the ridge, for a table with ``d`` columns."""
        if self.public_rows is not None:
            self._public_whitener(d)  # refuses rows that do not fit
        if self.center is None:
            return mechanism
        of_release = self.standardize == "whiten" and self.public_rows is None
        if self.standardize == "private" or of_release:
            raise DeclarationError(
                "center is about the columns as they are passed, and standardize="
                f"{self.standardize!r} makes others of them that are not known before. Use "
                "standardize=None or 'unit', or 'whiten' with public_rows."
            )
        constant = self._constant()
        if self._full_length:
            constant = CONSTANT * self.norm_bound if self.fit_intercept else None
        columns = self._columns(1, d) - bool(self.fit_intercept)
        pair = declared_center(self.center, self.classes)
        found = center_vector(pair, columns, mechanism.loss.classes, constant)
        if self.standardize == "whiten":  # W v = u: the scores of unit rows stay what they are
            inverse = np.linalg.inv(self._public_whitener(d))
            found = found.reshape(-1, len(inverse)) @ inverse
        return replace(mechanism, center=tuple(found.ravel().tolist()))

    def _told_public(self) -> list[str]:
        """What a statement names among the declarations."""
        told = []
        if self.center is not None:
            told.append(
                "the center of the regularization: public, or released and paid for before, as "
                "asserted by the user"
            )
        if self.public_rows is not None:
            told.append(
                "the public rows for whitening, which nothing protects, as asserted by the user"
            )
        return told

    def __sklearn_clone__(self) -> Self:
        made = super().__sklearn_clone__()
        if self.center is not None:
            made.center = self.center  # public: a copy of a model would not be fitted
        return made
