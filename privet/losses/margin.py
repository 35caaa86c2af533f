"""Two-class losses: functions of the margin ``m = y z`` with ``y`` in {-1, +1}.

    logistic       log(1 + exp(-m))                                   L = 1, c = 1/4
    Huber hinge    0, (1 + h - m)^2 / (4 h), 1 - m                    L = 1, c = 1/(2h)
    smooth hinge   0, a quartic on |1 - m| <= h, 1 - m                L = 1, c = 3/(4h)

(Chaudhuri, Monteleoni and Sarwate 2011, section 3.4 and Corollaries 12-14.) All are convex and
non-increasing in the margin, which the Gaussian theorems use.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from privet._checks import positive
from privet._types import Array, Targets
from privet.bisection import largest, logistic_maximum
from privet.losses.loss import JACOBIAN_SHARE, Family, JacobianFamily, Loss, concave_maximum

# Of a pure epsilon, the share that a hinge's determinant takes at the floor rises to this in tables
# of far more rows times epsilon than a small one has.
LARGEST_SHARE, SMALL_TABLE = 0.15, 500.0


@dataclass(frozen=True)
class MarginLoss(Loss):
    """A convex, non-increasing function of the margin with slope in [-1, 0]."""

    family: ClassVar[Family] = "margin"

    @property
    def scores(self) -> int:
        """One score: the signed distance to the separating plane, times the weight norm."""
        return 1

    @property
    def classes(self) -> int:
        """Two classes."""
        return 2

    def targets(self, codes: NDArray[np.int_]) -> Targets:
        """0 becomes -1, 1 becomes +1."""
        return np.where(codes > 0, 1.0, -1.0)

    @abstractmethod
    def margin_value(self, m: Array) -> Array:
        """The loss at margin ``m``."""

    @abstractmethod
    def margin_slope(self, m: Array) -> Array:
        """First derivative in the margin, in [-1, 0]."""

    @abstractmethod
    def margin_curvature(self, m: Array) -> Array:
        """Second derivative in the margin, in [0, c]."""

    def value(self, z: Array, y: Targets) -> Array:
        """``l(y z)``."""
        return self.margin_value(z[..., 0] * y)

    def gradient(self, z: Array, y: Targets) -> Array:
        """``y l'(y z)``."""
        return np.asarray((y * self.margin_slope(z[..., 0] * y))[..., None])

    def hessian(self, z: Array, y: Targets) -> Array:
        """``l''(y z)``, since ``y^2 = 1``."""
        return self.margin_curvature(z[..., 0] * y)[..., None, None]

    @property
    def row_gradient_bound(self) -> float:
        """The slope of all three losses is at most 1 in absolute value."""
        return 1.0

    @property
    def difference_bound(self) -> float:
        """Two opposite rows, both with slope -1."""
        return 2.0 * self.row_gradient_bound

    def log_determinant_bound(self, q: float) -> float:
        """``log(1 + c q)``: the Hessian of one row has rank one."""
        return math.log1p(self.curvature_bound * q)

    @abstractmethod
    def slope_and_jacobian(self, a: float, q: float) -> float:
        """``max_m { a |l'(m)| + log(1 + q l''(m)) }``: both terms look at the same margin."""

    def privacy_loss_bound(self, a: float, q: float) -> float:
        """``a L + max_m { a |l'(m)| + log(1 + q l''(m)) }``.

        The row that enters pays for its slope and its determinant at one and the same margin; the
        row that leaves pays for its slope alone (its determinant only helps). Proof in
        ``privet/mechanisms/objective.proof.md``.
        """
        return a * self.row_gradient_bound + self.slope_and_jacobian(a, q)

    def gauge_loss_bound(self, a: float, q: float) -> float:
        """The same: a row's gradient ``l' y x`` has gauge ``|l'|`` at most."""
        return self.privacy_loss_bound(a, q)

    def rank_one_loss_bound(self, a: float, q: float) -> float:
        """The same: a matrix with one row has one norm."""
        return self.privacy_loss_bound(a, q)


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """``log(1 + exp(-m))``."""

    name: ClassVar[str] = "logistic"

    @property
    def jacobian_family(self) -> JacobianFamily:
        """Where the slope is largest there is no curvature: the Jacobian can be free."""
        return "logistic"

    def margin_value(self, m: Array) -> Array:
        """``log(1 + exp(-m))`` without overflow."""
        return np.logaddexp(0.0, -m)

    def margin_slope(self, m: Array) -> Array:
        """``-1/(1 + exp(m))``: an overflow to infinity gives the right limit, zero."""
        with np.errstate(over="ignore"):
            return np.asarray(-1.0 / (1.0 + np.exp(m)))

    def gradient(self, z: Array, y: Targets) -> Array:
        """``-y/(1 + exp(y z))``, in one array: many draws spend a fifth of their time here."""
        m = np.asarray(z[..., 0] * y)
        with np.errstate(over="ignore"):
            np.exp(m, out=m)
        m += 1.0
        return np.asarray(np.divide(-y, m, out=m)[..., None])

    def margin_curvature(self, m: Array) -> Array:
        """``p (1 - p)`` with ``p = 1/(1 + exp(m))``, accurate in both tails."""
        return expit(m) * expit(-m)

    @property
    def curvature_bound(self) -> float:
        """1/4, at margin 0."""
        return 0.25

    def slope_and_jacobian(self, a: float, q: float) -> float:
        """Maximize the concave ``a p + log(1 + q p (1 - p))`` over ``p = |l'|`` in [0, 1].

        The derivative at p = 1 is ``a - q``: for ``a >= q`` the maximum is ``a``, at a margin of
        minus infinity, where there is no curvature, so the Jacobian costs nothing.
        """
        return logistic_maximum(a, q)

    def curvature_floor(self, epsilon: float, n: int = 1) -> float:
        """``q <= epsilon / 2``: the regularization from which the Jacobian is free."""
        return epsilon / 2.0


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """A hinge smoothed on ``|1 - m| <= h``."""

    h: float = 0.5

    def __post_init__(self) -> None:
        positive("h", self.h)

    @property
    def offset(self) -> float:
        """``1 + h``, where the knee ends."""
        return 1.0 + self.h

    def curvature_floor(self, epsilon: float, n: int = 1) -> float:
        """The determinant takes at most ``share_of_determinant`` of epsilon."""
        share = share_of_determinant(n * epsilon) * epsilon
        return largest(lambda q: self.log_determinant_bound(q) <= share)


def share_of_determinant(rows_epsilon: float) -> float:
    """``.1 + .05 max(0, 1 - 500/(n epsilon))``, at the floor of a hinge's regularization.

    A share ``s`` lets ``Lam`` fall to about ``c R^2/(n s epsilon)`` and makes noise ``1/(1 - s)``
    as large. The bound on the excess risk behind the default rule, ``Lam |f|^2/2 +
    E|b|^2/(2 n^2 Lam)``, is least at .15 where that rule asks for half of the floor at a tenth, and
    at more where it asks for less. Real rows want less: their own curvature holds part of the
    noise, and while ``Lam`` is large beside it, scores stay on the hinge's straight part, where the
    signs of predictions hang on the noise and not on ``Lam``. ``Lam_0`` at a tenth is ``10 c
    R^2/(n epsilon)``, so ``n epsilon`` says which it is. Both constants are measured, leave one
    table out (``reproduce/rivals.md``); with more than two classes a tenth is better. Every public
    share is proved.
    """
    beyond = max(0.0, 1.0 - SMALL_TABLE / rows_epsilon)
    return JACOBIAN_SHARE + (LARGEST_SHARE - JACOBIAN_SHARE) * beyond


@dataclass(frozen=True)
class HuberHinge(HingeLoss):
    """Hinge with a quadratic knee of half-width ``h``."""

    name: ClassVar[str] = "huber"

    def margin_value(self, m: Array) -> Array:
        """Zero, a parabola, then ``1 - m``."""
        u = 1.0 + self.h - m
        knee = np.clip(u, 0.0, 2.0 * self.h)
        return knee * knee / (4.0 * self.h) + np.maximum(u - 2.0 * self.h, 0.0)

    def margin_slope(self, m: Array) -> Array:
        """Linear between 0 and -1 on the knee."""
        return -np.clip((1.0 + self.h - m) / (2.0 * self.h), 0.0, 1.0)

    def margin_curvature(self, m: Array) -> Array:
        """``1/(2h)`` on the knee, zero elsewhere."""
        return np.where(np.abs(1.0 - m) <= self.h, 1.0 / (2.0 * self.h), 0.0)

    @property
    def curvature_bound(self) -> float:
        """``1/(2h)``."""
        return 1.0 / (2.0 * self.h)

    def slope_and_jacobian(self, a: float, q: float) -> float:
        """At the lower end of the knee slope and curvature are both largest: no gain."""
        return a + math.log1p(self.curvature_bound * q)


@dataclass(frozen=True)
class SmoothHinge(HingeLoss):
    """Twice continuously differentiable hinge: a quartic on ``|1 - m| <= h``.

    With ``w = (1 - m)/h`` clipped to [-1, 1]: ``|l'| = 1/2 + 3w/4 - w^3/4``,
    ``l'' = 3 (1 - w^2) / (4 h)``.
    """

    name: ClassVar[str] = "smooth_hinge"

    def _w(self, m: Array) -> Array:
        return np.clip((1.0 - m) / self.h, -1.0, 1.0)

    def margin_value(self, m: Array) -> Array:
        """Zero, the quartic, then ``1 - m``."""
        w = self._w(m)
        w2 = w * w
        quartic = self.h * (0.1875 + 0.5 * w + 0.375 * w2 - 0.0625 * w2 * w2)
        return quartic + np.maximum(1.0 - m - self.h, 0.0)

    def margin_slope(self, m: Array) -> Array:
        """``-(1/2 + 3w/4 - w^3/4)``, kept in [-1, 0] against rounding."""
        w = self._w(m)
        return -np.clip(0.5 + w * (0.75 - 0.25 * w * w), 0.0, 1.0)

    def margin_curvature(self, m: Array) -> Array:
        """``3 (1 - w^2)/(4h)``."""
        w = self._w(m)
        return 0.75 / self.h * (1.0 - w * w)

    @property
    def curvature_bound(self) -> float:
        """``3/(4h)``, at margin 1."""
        return 0.75 / self.h

    def slope_and_jacobian(self, a: float, q: float) -> float:
        """Maximize over ``w`` in [-1, 1].

        For ``w < 0`` slope and curvature both grow with ``w``, so the maximum is on [0, 1]; there
        the slope is concave in ``w`` and ``log(1 + q l'')`` is the logarithm of a concave
        function, so the sum is concave.
        """

        def negative(w: float) -> float:
            slope = 0.5 + w * (0.75 - 0.25 * w * w)
            return -(a * slope + math.log1p(q * self.curvature_bound * (1.0 - w * w)))

        largest = concave_maximum(negative, 0.0, 1.0)
        return min(largest, a + math.log1p(q * self.curvature_bound))
