"""The mean objective and its derivatives, as the minimizers see it.

    J_i(theta) = (1/n) sum_r l(W x_r, y_r) + (Lam/2) |theta|^2 + <linear_i, theta>

for ``k`` linear terms that share the rows, so that ``k`` gradients cost one read of the table.
Only gradients are ever compared: values of ``J`` round at ``1e-16 J``, which hides the last half of
the digits of a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privet._types import Array, Targets
from privet.minimize.curvature import Curvature
from privet.minimize.result import Numbers
from privet.risk import RegularizedRisk
from privet.rows.base import Block, Kernel, Parts, Rows


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
        return np.asarray(mean + self.risk.regularization * thetas + self.linears[which])

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
        def counted(block: Block, y: Targets) -> Parts:
            return np.asarray(float(len(y))), *kernel(block, y, *args)

        count, *sums = self.rows.sum(counted, stride=stride)
        return tuple(part / count for part in sums)
