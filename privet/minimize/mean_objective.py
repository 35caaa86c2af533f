"""The mean objective as the minimizers see it: its derivatives, and models of its curvature.

    J_i(theta) = (1/n) sum_r l(W x_r, y_r) + (Lam/2) |theta|^2 + <linear_i, theta>

for ``k`` linear terms that share the rows, so that ``k`` gradients cost one read of the table.
Only gradients are ever compared: values of ``J`` round at ``1e-16 J``, which hides the last half of
the digits of a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotrs

from privet._types import Array, Targets
from privet.minimize.certificate import Numbers
from privet.risk import RegularizedRisk
from privet.rows.engine import Block, Kernel, Parts, Rows


@dataclass
class Tally:
    """Work done, in reads of the whole table."""

    passes: float = 0.0
    hessians: float = 0.0


@dataclass(frozen=True)
class Objective:
    """``k`` objectives on the same rows; ``stride > 1`` looks at one row in ``stride``."""

    risk: RegularizedRisk
    rows: Rows
    linears: Array
    stride: int = 1
    tally: Tally = field(default_factory=Tally)

    @property
    def parameters(self) -> int:
        """p, the length of ``theta``."""
        return self.risk.parameters(self.rows.m)

    def thinned(self, stride: int) -> Objective:
        """The same objectives over one row in ``stride``: near the whole, and cheap."""
        return replace(self, stride=stride)

    def rough(self) -> Objective:
        """The same objectives in single precision, where the rows have it: for directions only."""
        return replace(self, rows=self.rows.rough())

    def gradients(self, thetas: Array, which: Numbers | slice) -> Array:
        """Gradients of the objectives ``which`` at ``thetas``, one row each, shape (k, p)."""
        self.tally.passes += 1.0 / self.stride
        (mean,) = self._mean(self.risk.gradients, self.stride, thetas)
        found = np.asarray(mean + self.risk.regularization * thetas + self.linears[which])
        if self.stride == 1:
            self.rows.note(found)
        return found

    def curvature(self, theta: Array, stride: int = 1) -> Curvature:
        """Factor of the Hessian at ``theta`` (p,), from one row in ``stride`` of this sample."""
        hessian = self.thinned(self.stride * stride).hessian(theta)
        return Curvature.factor(hessian, self.risk.regularization)

    def hessian(self, theta: Array) -> Array:
        """Hessian of the mean loss, without the regularizer, at ``theta`` (p,)."""
        self.tally.hessians += 1.0 / self.stride
        return self._mean(self.risk.hessian, self.stride, theta)[0]

    def diagonals(self, thetas: Array) -> Array:
        """Diagonals of such Hessians at ``thetas``, shape (k, p)."""
        self.tally.passes += 1.0 / self.stride
        return self._mean(self.risk.diagonals, self.stride, thetas)[0]

    def _mean(self, kernel: Kernel, stride: int, *args: Any) -> Parts:
        count, *sums = self.rows.sum(_counted, kernel, *args, stride=stride)
        return tuple(part / count for part in sums)


def _counted(block: Block, y: Targets, kernel: Kernel, *args: Any) -> Parts:
    """A kernel's parts after the number of rows; by its name, so that it can be sent elsewhere."""
    return np.asarray(float(len(y))), *kernel(block, y, *args)


# Models of the inverse Hessian: a Cholesky factor or a number, corrected by secant pairs.
#
# A model only has to point downhill; the certificate rests on the gradient alone. So a factor may
# be old, or come from one row in eight: the pairs ``(s, y)`` of steps and gradient differences
# that a path collects correct it (the two-loop recursion of Nocedal 1980, started from the
# factor). Paths are numbered once and for all, so that models and pairs outlast a descent.


class Model(Protocol):
    """A symmetric positive definite guess at the inverse Hessian."""

    def solve(self, vectors: Array, memory: Memory, paths: Numbers) -> Array:
        """The guess for each of ``paths`` times its row of ``vectors``, shape (paths, p)."""


@dataclass(frozen=True)
class Curvature:
    """Cholesky factor of a Hessian, regularizer included."""

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

    def solve(self, vectors: Array, memory: Memory, paths: Numbers) -> Array:
        """``H^-1 v`` for each row ``v``."""
        del memory, paths  # the factor has its own scale, and all paths share it
        # straight to LAPACK: the checks around it cost as much as a system of this size
        return np.asarray(dpotrs(self.cholesky, vectors.T, lower=1)[0].T)


@dataclass(frozen=True)
class Curvatures:
    """A factor for each path."""

    factors: list[Curvature]

    def solve(self, vectors: Array, memory: Memory, paths: Numbers) -> Array:
        """``H_i^-1 v_i`` for each path ``i``."""
        del memory
        each = zip(paths, vectors, strict=True)
        return np.array([dpotrs(self.factors[i].cholesky, v, lower=1)[0] for i, v in each])


@dataclass(frozen=True)
class Scaling:
    """A multiple of the identity: ``s.y/y.y`` of the latest pair, at first ``1/largest``.

    ``largest`` bounds the Hessian's eigenvalues, so that the first step cannot overshoot.
    """

    largest: float

    def solve(self, vectors: Array, memory: Memory, paths: Numbers) -> Array:
        """The number times each row."""
        return memory.scale(paths, 1.0 / self.largest)[:, None] * vectors


class Memory:
    """The latest secant pairs of ``k`` paths, in rings of equal length."""

    def __init__(self, paths: int, size: int, parameters: int) -> None:
        self.size = size
        self._s = np.zeros((paths, size, parameters))
        self._y = np.zeros((paths, size, parameters))
        # rho = 1/(s.y); zero in an empty slot, which makes the slot do nothing
        self._rho = np.zeros((paths, size))
        self._count = np.zeros(paths, dtype=np.intp)

    def forget(self, paths: Numbers) -> None:
        """Start these paths afresh."""
        self._rho[paths], self._count[paths] = 0.0, 0

    def add(self, paths: Numbers, s: Array, y: Array) -> None:
        """A new pair for each of ``paths``; pairs that rounding has spoilt are left out."""
        product = np.einsum("kp,kp->k", s, y)
        sound = product > 1e-14 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        paths, s, y, product = paths[sound], s[sound], y[sound], product[sound]
        slot = self._count[paths] % self.size
        self._s[paths, slot], self._y[paths, slot] = s, y
        self._rho[paths, slot] = 1.0 / product
        self._count[paths] += 1

    def scale(self, paths: Numbers, default: float) -> Array:
        """``s.y/y.y`` of each path's latest pair, ``default`` where there is none."""
        ((_, y, rho),) = self._pairs(paths, 1)
        with np.errstate(divide="ignore"):
            scale = 1.0 / (rho * np.einsum("kp,kp->k", y, y))
        return np.where(self._count[paths] > 0, scale, default)

    def solve(self, model: Model, gradients: Array, paths: Numbers) -> Array:
        """The corrected model times each gradient: L-BFGS with ``model`` as its first matrix."""
        depth = int(min(self._count[paths].max(), self.size))
        pairs = self._pairs(paths, depth)
        q, alphas = gradients.copy(), []
        for s, y, rho in pairs:
            alphas.append(rho * np.einsum("kp,kp->k", s, q))
            q -= alphas[-1][:, None] * y
        z = model.solve(q, self, paths)
        for (s, y, rho), alpha in zip(reversed(pairs), reversed(alphas), strict=True):
            z = z + (alpha - rho * np.einsum("kp,kp->k", y, z))[:, None] * s
        return z

    def _pairs(self, paths: Numbers, depth: int) -> list[tuple[Array, Array, Array]]:
        """The ``depth`` latest pairs of each path with their ``rho``, the newest first."""
        slots = (self._count[paths] - np.arange(1, depth + 1)[:, None]) % self.size
        s, y, rho = self._s[paths, slots], self._y[paths, slots], self._rho[paths, slots]
        return list(zip(s, y, rho, strict=True))
