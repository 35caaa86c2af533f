"""What a loss is: a convex function of scores, and the public facts a proof needs about it.

A row ``x`` has scores ``z = W x`` in R^K, where ``W`` is the ``K x m`` parameter matrix; two-class
losses have K = 1. Each loss knows its derivatives in ``z`` (used on data) and its bounds (used by
the proofs). The bounds never see data: they are functions of the loss's own parameters.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from privet._types import Array, Targets
from privet.bisection import largest

Family = Literal["margin", "softmax", "joint_huber", "residual", "scores"]
#: families whose parameters are shown as they are, without a basis of class scores
UNREDUCED: tuple[Family, ...] = ("margin", "residual", "scores")
#: which theorem prices the Jacobian under Gaussian noise, see ``privet.privacy.jacobian``; there is
#: none for "scores"
JacobianFamily = Literal["margin", "logistic", "softmax", "joint_huber", "residual", "scores"]

# The share of the budget that the Jacobian may take where the floor of the regularization is a
# free choice (losses for which no regularization makes the Jacobian cost nothing).
JACOBIAN_SHARE = 0.1


@dataclass(frozen=True)
class Loss(ABC):
    """A convex loss ``l(z, y)``: scores ``z`` of shape ``(..., K)``, targets ``y`` ``(...)``."""

    name: ClassVar[str]
    #: the shape of its scores and targets
    family: ClassVar[Family]

    # -- shape ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def scores(self) -> int:
        """K, the number of scores per row."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """C, the number of classes a target can name."""

    @abstractmethod
    def targets(self, codes: NDArray[np.int_]) -> Targets:
        """Class indices ``0..C-1`` in the form that the derivatives take."""

    # -- derivatives in z ----------------------------------------------------------------------

    @abstractmethod
    def value(self, z: Array, y: Targets) -> Array:
        """``l(z, y)``, shape ``(...)``."""

    @abstractmethod
    def gradient(self, z: Array, y: Targets) -> Array:
        """``dl/dz``, shape ``(..., K)``."""

    @abstractmethod
    def hessian(self, z: Array, y: Targets) -> Array:
        """``d2l/dz2``, shape ``(..., K, K)``, symmetric positive semidefinite."""

    @property
    def jacobian_family(self) -> JacobianFamily:
        """Which theorem on Gaussian noise covers the loss: its family's, or a tighter one."""
        return self.family

    @property
    def offset(self) -> float:
        """Size of the constants that scores are compared with: what they add to rounding."""
        return 0.0

    @property
    def largest_at_zero(self) -> float:
        """The largest loss where all scores are zero; no loss is negative.

        A loss of a number is largest at an end of its interval, which two classes stand for.
        """
        y = self.targets(np.arange(self.classes))
        return float(self.value(np.zeros((len(y), self.scores)), y).max())

    @property
    def reach(self) -> float:
        """How far scores usually go, for the default rule of regressions: half an interval."""
        return 1.0

    @property
    def assumption(self) -> str:
        """What the bounds assume about the features beyond their norm; empty if nothing."""
        return ""

    def declared(self) -> dict[str, Any]:
        """Its name and parameters as plain values, for files."""
        return {"name": self.name, **asdict(self)}

    # -- public facts --------------------------------------------------------------------------

    @property
    @abstractmethod
    def row_gradient_bound(self) -> float:
        """``L >= |dl/dz|`` everywhere."""

    @property
    @abstractmethod
    def difference_bound(self) -> float:
        """Largest ``|g (x) x - g' (x) x'|`` of two rows' gradients, for ``|x|, |x'| <= 1``."""

    @property
    @abstractmethod
    def curvature_bound(self) -> float:
        """``c >=`` the largest eigenvalue of ``d2l/dz2`` everywhere."""

    @abstractmethod
    def log_determinant_bound(self, q: float) -> float:
        """Largest ``log det(I + q d2l/dz2)``: what one row can do to the Jacobian.

        ``q = R^2 / (n Lam)`` is a row's squared norm relative to the regularizer.
        """

    def privacy_loss_bound(self, a: float, q: float) -> float:
        """Largest privacy loss of pure objective perturbation when one row is replaced.

        ``a = beta R`` is the noise rate times the norm bound. This default adds the worst noise
        term to the worst determinant (Wang, Kifer and Lee 2018, Theorem 1, for any loss); losses
        whose gradient and curvature cannot be large at the same scores override it with less.
        """
        return a * self.difference_bound + self.log_determinant_bound(q)

    @property
    def gauge_difference(self) -> float:
        """Largest ``sum_c |g_c| + sum_c |g'_c|`` over two rows' class gradients, halved.

        What a replaced row moves in the gauge of a declared domain (``matrix_noise.ClassProduct``;
        two classes: ``domain_noise``), where a row's own size is at most one.
        """
        return self.difference_bound

    def gauge_loss_bound(self, a: float, q: float) -> float:
        """As ``privacy_loss_bound``, for noise of rate ``a`` in the gauge of a domain."""
        return a * self.gauge_difference + self.log_determinant_bound(q)

    @property
    def rank_one_difference(self) -> float:
        """Largest ``|g| + |g'|``: the nuclear norm of ``g (x) x - g' (x) x'``, for short rows."""
        return 2.0 * self.row_gradient_bound

    def rank_one_loss_bound(self, a: float, q: float) -> float:
        """As ``privacy_loss_bound``, for noise of rate ``a`` in the nuclear norm."""
        return a * self.rank_one_difference + self.log_determinant_bound(q)

    def curvature_floor(self, epsilon: float, n: int = 1) -> float:
        """Largest ``q`` that the default calibration accepts for ``n`` rows; sets ``Lam_0``.

        Here: the determinant takes at most a tenth of epsilon.
        """
        share = JACOBIAN_SHARE * epsilon
        return largest(lambda q: self.log_determinant_bound(q) <= share)


def concave_maximum(negative: Callable[[float], float], *knots: float) -> float:
    """Maximum of the concave function whose negative is given, smooth between ``knots``.

    Each piece is searched alone: at a kink a smooth search would lose half its digits. The search's
    own tolerance is added on the safe side, so the result is never below the maximum.
    """
    best = max(-negative(knot) for knot in knots)
    for piece in itertools.pairwise(knots):
        found = minimize_scalar(negative, bounds=piece, method="bounded", options={"xatol": 1e-9})
        best = max(best, -float(found.fun))
    return best * (1.0 + 1e-9)
