"""The Gram matrix of the training rows, held where it fits and computed anew where it does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.kernels.base import Kernel, count

Array = NDArray[np.float64]

#: Rows up to which the matrix is held: 22,000 are 3.9 GB in double precision.
LARGEST_HELD = 22_000
BLOCK = 1_000
_UNIT = 2.0**-53


class Gram:
    """``K`` with its products; ``norm_above`` bounds ``|sum_j r_j phi(x_j)|`` from above."""

    def __init__(self, kernel: Kernel, x: Any) -> None:
        self._kernel, self._x, self.n = kernel, x, count(x)
        self._held: Array | None = None
        if self.n <= LARGEST_HELD:
            self._held = np.empty((self.n, self.n))
            for start in range(0, self.n, BLOCK):
                self._held[start : start + BLOCK] = kernel(x[start : start + BLOCK], x)

    def __matmul__(self, v: Array) -> Array:
        if self._held is not None:
            return np.asarray(self._held @ v)
        out = np.empty(self.n)
        for start in range(0, self.n, BLOCK):
            rows = self._kernel(self._x[start : start + BLOCK], self._x)
            out[start : start + BLOCK] = rows @ v
        return out

    def norm_above(self, r: Array) -> float:
        """``sqrt(r'Kr)`` with the rounding of the product on the safe side."""
        total = float(np.abs(r).sum())
        # each of the n sums of n products is off by at most n units of R^2 |r|_1
        slack = 2.0 * self.n * _UNIT * self._kernel.bound * total * total
        square, most = float(r @ (self @ r)), math.sqrt(self._kernel.bound) * total
        if square < -slack:  # not a kernel in floating point: only the bound on it is believed
            return most
        return min(math.sqrt(max(square, 0.0) + slack), most)
