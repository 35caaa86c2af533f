"""Models of the inverse Hessian: a Cholesky factor or a number, corrected by secant pairs.

A model only has to point downhill; the certificate rests on the gradient alone. So a factor may be
old, or come from one row in eight: the pairs ``(s, y)`` of steps and gradient differences that a
path collects correct it (the two-loop recursion of Nocedal 1980, started from the factor).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from privet.losses import Array
from privet.minimise.result import Mask, Numbers


class Model(Protocol):
    """A symmetric positive definite guess at the inverse Hessian."""

    def solve(self, vectors: Array, memory: Memory) -> Array:
        """The guess times each row of ``vectors`` (k, p)."""


@dataclass(frozen=True)
class Curvature:
    """Cholesky factor of a Hessian, regulariser included."""

    cholesky: Array

    @classmethod
    def factor(cls, hessian: Array, ridge: float) -> Curvature:
        """Factor ``hessian + ridge I``; with a larger ridge where rounding made that indefinite."""
        diagonal = np.arange(len(hessian)) * (len(hessian) + 1)
        while True:
            matrix = np.array(hessian, order="F")
            matrix.ravel(order="K")[diagonal] += ridge
            try:
                lower, _ = cho_factor(matrix, lower=True, overwrite_a=True)
            except np.linalg.LinAlgError:
                ridge *= 10.0
            else:
                return cls(lower)

    def solve(self, vectors: Array, memory: Memory) -> Array:
        """``H^-1 v`` for each row ``v``."""
        del memory  # the factor has its own scale
        return np.asarray(cho_solve((self.cholesky, True), vectors.T, check_finite=False).T)


@dataclass(frozen=True)
class Scaling:
    """A multiple of the identity: ``s.y/y.y`` of the latest pair, at first ``1/largest``.

    ``largest`` bounds the Hessian's eigenvalues, so that the first step cannot overshoot.
    """

    largest: float

    def solve(self, vectors: Array, memory: Memory) -> Array:
        """The number times each row."""
        return memory.scale(1.0 / self.largest)[:, None] * vectors


class Memory:
    """The latest secant pairs of ``k`` paths, in rings of equal length."""

    def __init__(self, paths: int, size: int, parameters: int) -> None:
        self.size = size
        self._s = np.zeros((paths, size, parameters))
        self._y = np.zeros((paths, size, parameters))
        # rho = 1/(s.y); zero in an empty slot, which makes the slot do nothing
        self._rho = np.zeros((paths, size))
        self._count = np.zeros(paths, dtype=np.intp)

    def keep(self, mask: Mask) -> None:
        """Forget the paths outside ``mask``."""
        self._s, self._y = self._s[mask], self._y[mask]
        self._rho, self._count = self._rho[mask], self._count[mask]

    def add(self, paths: Numbers, s: Array, y: Array) -> None:
        """A new pair for each of ``paths``; pairs that rounding has spoilt are left out."""
        product = np.einsum("kp,kp->k", s, y)
        sound = product > 1e-14 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        paths, s, y, product = paths[sound], s[sound], y[sound], product[sound]
        slot = self._count[paths] % self.size
        self._s[paths, slot], self._y[paths, slot] = s, y
        self._rho[paths, slot] = 1.0 / product
        self._count[paths] += 1

    def scale(self, default: float) -> Array:
        """``s.y/y.y`` of each path's latest pair, ``default`` where there is none."""
        paths = np.arange(len(self._count))
        slot = (self._count - 1) % self.size
        y, rho = self._y[paths, slot], self._rho[paths, slot]
        with np.errstate(divide="ignore"):
            scale = 1.0 / (rho * np.einsum("kp,kp->k", y, y))
        return np.where(self._count > 0, scale, default)

    def solve(self, model: Model, gradients: Array) -> Array:
        """The corrected model times each gradient: L-BFGS with ``model`` as its first matrix."""
        paths, depth = np.arange(len(gradients)), int(min(self._count.max(), self.size))
        q, alphas = gradients.copy(), []
        for back in range(1, depth + 1):
            s, y, rho = self._pair(paths, back)
            alphas.append(rho * np.einsum("kp,kp->k", s, q))
            q -= alphas[-1][:, None] * y
        z = model.solve(q, self)
        for back in range(depth, 0, -1):
            s, y, rho = self._pair(paths, back)
            z = z + (alphas[back - 1] - rho * np.einsum("kp,kp->k", y, z))[:, None] * s
        return z

    def _pair(self, paths: Numbers, back: int) -> tuple[Array, Array, Array]:
        slot = (self._count - back) % self.size
        return self._s[paths, slot], self._y[paths, slot], self._rho[paths, slot]
