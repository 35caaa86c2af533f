"""Losses over C > 1 classes, with class scores restricted to the sum-zero subspace.

Adding one vector to the parameters of all classes changes no prediction and no loss, so the
parameters live in ``sum_c theta_c = 0``. An orthonormal basis ``Q`` (C x (C-1)) of that subspace
turns class scores into ``K = C - 1`` reduced scores ``s`` with ``z = Q s``; norms, gradients and
determinants are the same in both, and the noise has the smaller dimension ``(C - 1) m``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from privet._checks import is_whole, number_between, positive
from privet._types import Array, Targets
from privet.errors import DeclarationError
from privet.losses.loss import Family, Loss, concave_maximum
from privet.losses.margin import HuberHinge


@lru_cache(maxsize=64)
def sum_zero_basis(classes: int) -> Array:
    """Orthonormal basis of ``{z in R^C : sum z = 0}`` as columns, shape (C, C - 1)."""
    basis = np.ascontiguousarray(helmert(classes).T)
    basis.flags.writeable = False
    return basis


@dataclass(frozen=True)
class MulticlassLoss(Loss):
    """A loss of class scores that does not change when all scores move together."""

    n_classes: int = 3

    def __post_init__(self) -> None:
        if not is_whole(self.n_classes):
            raise DeclarationError("n_classes must be an integer of at least 2.")
        if self.n_classes < 2:
            raise DeclarationError(f"n_classes must be at least 2, got {self.n_classes}.")
        object.__setattr__(self, "n_classes", int(self.n_classes))

    @property
    def scores(self) -> int:
        """``C - 1`` reduced scores."""
        return self.n_classes - 1

    @property
    def classes(self) -> int:
        """C."""
        return self.n_classes

    @property
    def basis(self) -> Array:
        """``Q``, shape (C, C - 1)."""
        return sum_zero_basis(self.n_classes)

    def targets(self, codes: NDArray[np.int_]) -> Targets:
        """Class indices as they are."""
        return np.asarray(codes, dtype=np.intp)

    def class_scores(self, z: Array) -> Array:
        """Reduced scores ``(..., C-1)`` to class scores ``(..., C)``."""
        return z @ self.basis.T

    def _one_hot(self, y: Targets) -> Array:
        return np.asarray(np.arange(self.n_classes) == np.asarray(y)[..., None], dtype=np.float64)


@dataclass(frozen=True)
class Softmax(MulticlassLoss):
    """``log sum_c exp(z_c) - z_y``."""

    name: ClassVar[str] = "softmax"
    family: ClassVar[Family] = "softmax"

    def _probabilities(self, z: Array) -> Array:
        scores = self.class_scores(z)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores

    def value(self, z: Array, y: Targets) -> Array:
        """``log sum_c exp(z_c) - z_y``."""
        scores = self.class_scores(z)
        scores -= (scores * self._one_hot(y)).sum(axis=-1, keepdims=True)
        top = scores.max(axis=-1)
        return np.asarray(top + np.log(np.exp(scores - top[..., None]).sum(axis=-1)))

    def gradient(self, z: Array, y: Targets) -> Array:
        """``Q^T (p - e_y)``."""
        return np.asarray((self._probabilities(z) - self._one_hot(y)) @ self.basis)

    def hessian(self, z: Array, y: Targets) -> Array:
        """``Q^T (diag p - p p^T) Q``."""
        p = self._probabilities(z)
        reduced = p @ self.basis
        weighted = np.einsum("...c,ca,cb->...ab", p, self.basis, self.basis, optimize=True)
        return np.asarray(weighted - reduced[..., :, None] * reduced[..., None, :])

    @property
    def row_gradient_bound(self) -> float:
        """``|p - e_y| <= sqrt 2``."""
        return math.sqrt(2.0)

    @property
    def difference_bound(self) -> float:
        """``2 sqrt 2``: opposite rows, each certain of a wrong class."""
        return 2.0 * math.sqrt(2.0)

    @property
    def curvature_bound(self) -> float:
        """1/2: the largest eigenvalue of ``diag p - p p^T``, at two equally likely classes."""
        return 0.5

    def log_determinant_bound(self, q: float) -> float:
        """``(C-1) log(1 + q/C)``: the trace is at most ``1 - 1/C``, then the arithmetic mean."""
        return self.scores * math.log1p(q / self.n_classes)

    def privacy_loss_bound(self, a: float, q: float) -> float:
        """``sqrt2 a`` for the row that leaves, ``max { a |g| + log det }`` for the one that enters.

        Write ``r = 1 - p_y`` and ``v = |g|``; then ``r sqrt(C/(C-1)) <= v <= sqrt2 r``, the trace
        of the Hessian is ``2 r - v^2``, and ``log det <= (C-1) log(1 + q (2 r - v^2)/(C-1))``
        grows with ``r``. At the largest ``r`` that ``v`` allows the sum is concave in ``v``; its
        slope at ``v = sqrt2`` is ``a - 2 sqrt2 q`` (C = 2: ``a - sqrt2 q``), and where that is not
        negative the maximum is ``sqrt2 a``: the Jacobian is free.
        """
        root2 = math.sqrt(2.0)
        if a >= (root2 if self.n_classes == 2 else 2.0 * root2) * q * (1.0 - 1e-15):
            return a * self.difference_bound
        kink = math.sqrt(self.n_classes / self.scores)  # the smallest v at r = 1

        def negative(v: float) -> float:
            trace = max(2.0 * min(1.0, v / kink) - v * v, 0.0)
            return -(a * v + self.scores * math.log1p(q * trace / self.scores))

        entering = concave_maximum(negative, 0.0, min(kink, root2), root2)
        return min(root2 * a + entering, super().privacy_loss_bound(a, q))

    @property
    def gauge_difference(self) -> float:
        """``sum_c |p - e_y|_c = 2 (1 - p_y)``: two for both rows, halved each."""
        return 2.0

    def gauge_loss_bound(self, a: float, q: float) -> float:
        """``a`` for the row that leaves, ``max_r { a r + J(r) }`` for the one that enters.

        ``r = 1 - p_y`` is the gauge of its gradient. Given ``r`` the determinant is largest where
        the other classes are alike: ``log det(I + q M) = sum_c log(1 + q p_c) + log sum_c
        p_c/(1 + q p_c)``, both concave and symmetric in them. ``J`` is concave in ``r`` too.
        """
        others = float(self.scores)

        def negative(r: float) -> float:
            own, each = 1.0 + q * (1.0 - r), 1.0 + q * r / others
            det = math.log(own) + others * math.log(each) + math.log((1.0 - r) / own + r / each)
            return -(a * r + det)

        entering = concave_maximum(negative, 0.0, 1.0)
        return min(a + entering, super().gauge_loss_bound(a, q))

    def rank_one_loss_bound(self, a: float, q: float) -> float:
        """The same: the argument takes the two gradients' norms one by one."""
        return self.privacy_loss_bound(a, q)

    def curvature_floor(self, epsilon: float, n: int = 1) -> float:
        """``q <= epsilon/8`` (C = 2: ``epsilon/4``): from there the Jacobian is free."""
        return epsilon / (4.0 if self.n_classes == 2 else 8.0)


@dataclass(frozen=True)
class JointHuber(MulticlassLoss):
    """``sum_{c != y} huber(z_y - z_c)``: every wrong class must stay a margin below the true one.

    The loss of the large-margin Gaussian classifier (Pathak and Raj 2010, with the margin that
    their equation 6 lost), on scores where larger is better. ``margin`` shifts the knee.
    ``lifted`` declares features with non-negative inner products (``x x^T`` in half-vectorized
    form), for which two rows' gradients cannot point in fully opposite directions. ``opposite``
    declares a constant column beside features of at most this share of a row's largest norm: two
    rows are opposite in these features alone.
    """

    name: ClassVar[str] = "joint_huber"
    family: ClassVar[Family] = "joint_huber"

    h: float = 0.5
    margin: float = 1.0
    lifted: bool = False
    opposite: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number_between("opposite", self.opposite, 0.0, 1.0)
        positive("margin", self.margin)
        HuberHinge(self.h)  # refuses a bad h

    @property
    def offset(self) -> float:
        """``1 + h + margin``: the knee's end and the shift to it."""
        return 1.0 + self.h + self.margin

    @property
    def assumption(self) -> str:
        """What lifted features and rows with a constant column have; nobody checks that here."""
        if self.lifted:
            return "features with non-negative inner products (declared)"
        column = f"{math.sqrt(1.0 - self.opposite**2):.3g}"
        return f"rows with a constant column of {column} of their norm" if self._has_column else ""

    @property
    def _has_column(self) -> bool:
        return self.opposite < 1.0

    @property
    def _huber(self) -> HuberHinge:
        return HuberHinge(self.h)

    def _margins(self, z: Array, y: Targets) -> tuple[Array, Array]:
        """``z_y - z_c - margin + 1`` and the mask of wrong classes, both (..., C)."""
        scores = self.class_scores(z)
        hot = self._one_hot(y)
        true = (scores * hot).sum(axis=-1, keepdims=True)
        return true - scores + (1.0 - self.margin), 1.0 - hot

    def value(self, z: Array, y: Targets) -> Array:
        """Sum of the Huber hinges of the ``C - 1`` margins."""
        margins, wrong = self._margins(z, y)
        return np.asarray((self._huber.margin_value(margins) * wrong).sum(axis=-1))

    def gradient(self, z: Array, y: Targets) -> Array:
        """``Q^T sum_c |l'_c| (e_c - e_y)``."""
        margins, wrong = self._margins(z, y)
        push = -self._huber.margin_slope(margins) * wrong
        full = push - (1.0 - wrong) * push.sum(axis=-1, keepdims=True)
        return np.asarray(full @ self.basis)

    def hessian(self, z: Array, y: Targets) -> Array:
        """``Q^T sum_c l''_c (e_c - e_y)(e_c - e_y)^T Q``: a weighted star graph."""
        margins, wrong = self._margins(z, y)
        weight = self._huber.margin_curvature(margins) * wrong
        rays = self.basis - self.basis[np.asarray(y)][..., None, :]
        return np.asarray(np.einsum("...c,...ca,...cb->...ab", weight, rays, rays, optimize=True))

    @property
    def row_gradient_bound(self) -> float:
        """``sqrt(C (C-1))``: all ``C - 1`` wrong classes push with slope 1."""
        return math.sqrt(self.n_classes * (self.n_classes - 1.0))

    @property
    def difference_bound(self) -> float:
        """``2 sqrt(C (C-1))`` for opposite rows; ``sqrt2 C`` for lifted features.

        With a constant column the larger of the second and ``opposite`` times the first.
        """
        apart = math.sqrt(2.0) * self.n_classes
        whole = 2.0 * self.row_gradient_bound
        if self.lifted:
            return apart
        return max(self.opposite * whole, min(apart, whole)) if self._has_column else whole

    @property
    def gauge_difference(self) -> float:
        """``2 (C - 1)``: all wrong classes push with slope 1, in both rows."""
        return 2.0 * self.scores

    @property
    def curvature_bound(self) -> float:
        """``C/(2h)``: the largest Laplacian eigenvalue of a star with C nodes."""
        return self.n_classes * self._huber.curvature_bound

    def log_determinant_bound(self, q: float) -> float:
        """``log[(1 + C t q)(1 + t q)^(C-2)]``, ``t = 1/(2h)``."""
        t = self._huber.curvature_bound
        return math.log1p(self.n_classes * t * q) + (self.n_classes - 2) * math.log1p(t * q)
