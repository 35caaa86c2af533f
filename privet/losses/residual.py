"""Losses of regression: functions of one score and of a number within declared bounds.

    Huber     (z - t)^2/2 where |z - t| <= h, then a line     t in [-1, 1]   L = h, c = 1
    Poisson   exp(s) - t s where s <= 0, then a line          t in [0, 1]    L = 1, c = 1

A target is given by its place in the declared interval, a share in [0, 1]; its two ends take the
part that the two classes have elsewhere. Neither loss is monotone in the score: its slope has both
signs, which Gaussian noise pays for (``gaussian_objective.proof.md``, step 18).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet._checks import number_between, positive
from privet._types import Array, Targets
from privet.losses.loss import Family, Loss

#: The share of epsilon that the determinant may take at the floor of the regularization.
NUMBER_SHARE = 0.25


@dataclass(frozen=True)
class ResidualLoss(Loss):
    """A convex function of one score with slopes of both signs, and curvature of at most one.

    Where its slope is largest it still has its largest curvature, so the general bound of
    ``objective.proof.md`` is attained.
    """

    family: ClassVar[Family] = "residual"

    @property
    def scores(self) -> int:
        """One: the prediction, in units of its own."""
        return 1

    @property
    def classes(self) -> int:
        """The two ends of the interval: every target lies between them."""
        return 2

    def targets(self, codes: NDArray[Any]) -> Targets:
        """Shares of the interval, as they are."""
        return np.asarray(codes, dtype=np.float64)

    @property
    def difference_bound(self) -> float:
        """Two opposite rows with the largest slope, or one row under both ends."""
        return 2.0 * self.row_gradient_bound

    @property
    def curvature_bound(self) -> float:
        """One."""
        return 1.0

    def curvature_floor(self, epsilon: float, n: int = 1) -> float:
        """The determinant takes a quarter of epsilon: a ridge pulls a number to the middle.

        Twice as much regularization costs more here than a third more noise (measured,
        ``reproduce/regression.md``).
        """
        return math.expm1(NUMBER_SHARE * epsilon) / self.curvature_bound

    def log_determinant_bound(self, q: float) -> float:
        """``log(1 + q)``: the Hessian of one row has rank one."""
        return math.log1p(self.curvature_bound * q)


@dataclass(frozen=True)
class HuberResidual(ResidualLoss):
    """Half the squared residual up to ``h``, a line beyond, in half widths of the interval.

    With ``h`` of the largest residual this is least squares. A smaller one costs less noise.
    """

    name: ClassVar[str] = "huber_residual"

    h: float = 0.5

    def __post_init__(self) -> None:
        positive("h", self.h)

    @property
    def offset(self) -> float:
        """A residual is compared with the target and with the knee."""
        return 1.0 + self.h

    def targets(self, codes: NDArray[Any]) -> Targets:
        """Shares of the interval as numbers in [-1, 1]."""
        return 2.0 * np.asarray(codes, dtype=np.float64) - 1.0

    def value(self, z: Array, y: Targets) -> Array:
        """A parabola, then a line."""
        size = np.abs(z[..., 0] - y)
        knee = np.minimum(size, self.h)
        return np.asarray(knee * knee / 2.0 + self.h * (size - knee))

    def gradient(self, z: Array, y: Targets) -> Array:
        """The residual, clipped at the knee."""
        return np.asarray(np.clip(z - np.asarray(y)[..., None], -self.h, self.h))

    def hessian(self, z: Array, y: Targets) -> Array:
        """One within the knee."""
        inside = np.abs(z[..., 0] - y) <= self.h
        return np.asarray(inside, dtype=np.float64)[..., None, None]

    @property
    def row_gradient_bound(self) -> float:
        """``h``, beyond the knee."""
        return self.h


@dataclass(frozen=True)
class PoissonRate(ResidualLoss):
    """Minus the log-likelihood of a count, over the largest rate; a line above that rate.

    The rate is ``exp(z) middle`` in units of the largest: at score 0 it is ``middle``, which a
    regularized fit shrinks to. Counts are in the same units, so ``t`` is in [0, 1].
    """

    name: ClassVar[str] = "poisson_rate"

    middle: float = 0.25

    def __post_init__(self) -> None:
        number_between("middle", self.middle, 1e-6, 1.0)

    @property
    def start(self) -> float:
        """The logarithm of ``middle``."""
        return math.log(self.middle)

    @property
    def offset(self) -> float:
        """What is added to a score."""
        return 1.0 - self.start

    def value(self, z: Array, y: Targets) -> Array:
        """``exp(s) - t s``, a line where ``s`` is positive."""
        s = z[..., 0] + self.start
        return np.asarray(np.exp(np.minimum(s, 0.0)) + np.maximum(s, 0.0) - y * s)

    def gradient(self, z: Array, y: Targets) -> Array:
        """The rate, at most the largest, less the count."""
        return np.asarray(np.exp(np.minimum(z + self.start, 0.0)) - np.asarray(y)[..., None])

    def hessian(self, z: Array, y: Targets) -> Array:
        """The rate below the largest, then nothing."""
        s = z[..., 0] + self.start
        rate = np.where(s <= 0.0, np.exp(np.minimum(s, 0.0)), 0.0)
        return np.broadcast_to(rate, np.broadcast(rate, y).shape)[..., None, None]

    @property
    def row_gradient_bound(self) -> float:
        """One: no count at the largest rate, or the largest count at rate zero."""
        return 1.0
