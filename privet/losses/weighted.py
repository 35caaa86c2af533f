"""Class weights: a loss times a public weight per class.

A weight multiplies a row's gradient and curvature, so every bound is the base loss's with ``R``
replaced by its share: the largest weight ``w`` enters as ``a w`` and ``q w``. The guarantee pays
for the largest weight, whatever classes occur.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet._types import Array, Targets
from privet.errors import DeclarationError
from privet.losses.loss import Family, JacobianFamily, Loss


@dataclass(frozen=True)
class Weighted(Loss):
    """``w_y l(z, y)`` with one public weight per class, in the order of the classes."""

    name: ClassVar[str] = "weighted"

    base: Loss
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != self.base.classes:
            raise DeclarationError(
                f"There are {self.base.classes} classes but {len(self.weights)} class weights."
            )
        if not all(0.0 < weight < math.inf for weight in self.weights):
            raise DeclarationError("Class weights must be positive finite numbers.")

    @property
    def family(self) -> Family:  # type: ignore[override]
        """A weight changes no theorem, only its constants."""
        return self.base.family

    @property
    def jacobian_family(self) -> JacobianFamily:
        """As the base loss: a smaller weight has a shorter step and less curvature."""
        return self.base.jacobian_family

    @property
    def offset(self) -> float:
        """As the base loss."""
        return self.base.offset

    @property
    def assumption(self) -> str:
        """As the base loss."""
        return self.base.assumption

    def declared(self) -> dict[str, Any]:
        """Those of the base loss, and the weights."""
        return {**self.base.declared(), "weights": list(self.weights)}

    @property
    def largest(self) -> float:
        """The weight that the guarantee pays for."""
        return max(self.weights)

    @property
    def scores(self) -> int:
        """As the base loss."""
        return self.base.scores

    @property
    def classes(self) -> int:
        """As the base loss."""
        return self.base.classes

    def targets(self, codes: NDArray[np.int_]) -> Targets:
        """As the base loss."""
        return self.base.targets(codes)

    def _weight(self, y: Targets) -> Array:
        codes = (np.asarray(y) > 0).astype(np.intp) if self.base.family == "margin" else y
        return np.asarray(np.asarray(self.weights)[codes], dtype=np.float64)

    def value(self, z: Array, y: Targets) -> Array:
        """``w_y l``."""
        return self._weight(y) * self.base.value(z, y)

    def gradient(self, z: Array, y: Targets) -> Array:
        """``w_y`` times the base gradient."""
        return self._weight(y)[..., None] * self.base.gradient(z, y)

    def hessian(self, z: Array, y: Targets) -> Array:
        """``w_y`` times the base Hessian."""
        return self._weight(y)[..., None, None] * self.base.hessian(z, y)

    @property
    def row_gradient_bound(self) -> float:
        """``w L``."""
        return self.largest * self.base.row_gradient_bound

    @property
    def difference_bound(self) -> float:
        """``w`` times the base bound: both rows may have the largest weight."""
        return self.largest * self.base.difference_bound

    @property
    def curvature_bound(self) -> float:
        """``w c``."""
        return self.largest * self.base.curvature_bound

    def log_determinant_bound(self, q: float) -> float:
        """The base bound at ``w q``."""
        return self.base.log_determinant_bound(self.largest * q)

    def privacy_loss_bound(self, a: float, q: float) -> float:
        """The base bound at ``(w a, w q)``: it grows in both."""
        return self.base.privacy_loss_bound(self.largest * a, self.largest * q)

    @property
    def gauge_difference(self) -> float:
        """``w`` times the base bound."""
        return self.largest * self.base.gauge_difference

    def gauge_loss_bound(self, a: float, q: float) -> float:
        """The base bound at ``(w a, w q)``."""
        return self.base.gauge_loss_bound(self.largest * a, self.largest * q)

    @property
    def rank_one_difference(self) -> float:
        """``w`` times the base bound."""
        return self.largest * self.base.rank_one_difference

    def rank_one_loss_bound(self, a: float, q: float) -> float:
        """The base bound at ``(w a, w q)``."""
        return self.base.rank_one_loss_bound(self.largest * a, self.largest * q)

    def curvature_floor(self, epsilon: float, n: int = 1) -> float:
        """The base floor over ``w``."""
        return self.base.curvature_floor(epsilon, n) / self.largest
