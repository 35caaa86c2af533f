"""One path of a Gaussian process, looked at in one place after another.

The values seen so far have covariance ``M = L L'``. ``L`` is kept in row blocks of ``HEIGHT``, each
split into what lies left of the diagonal and the triangle on it, all of them contiguous: a solve
reads every number once and copies none, for one place or for a batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from privet.errors import DeclarationError

Array = NDArray[np.float64]

HEIGHT = 256


class CholeskyRows:
    """A Cholesky factor that grows by rows."""

    def __init__(self) -> None:
        self.size = 0
        self._left: list[Array] = []  # HEIGHT x (places before the block)
        self._corner: list[Array] = []  # HEIGHT x HEIGHT, lower triangle

    @property
    def room(self) -> int:
        """Rows that fit into the last block."""
        return len(self._left) * HEIGHT - self.size or HEIGHT

    def whiten(self, right: Array) -> Array:
        """``L^-1 right`` for ``right`` of shape (size,) or (size, k)."""
        out = np.empty_like(right)
        for b, (left, corner) in enumerate(zip(self._left, self._corner, strict=True)):
            start = b * HEIGHT
            height = min(HEIGHT, self.size - start)
            rest = right[start : start + height] - left[:height] @ out[:start]
            out[start : start + height] = solve_triangular(
                corner[:height, :height], rest, lower=True, check_finite=False
            )
        return out

    def append(self, left: Array, corner: Array) -> None:
        """Add rows: ``left`` (k x size) beside ``corner`` (k x k, lower); k is at most ``room``."""
        k = len(corner)
        if self.size == len(self._left) * HEIGHT:
            self._left.append(np.zeros((HEIGHT, self.size)))
            self._corner.append(np.zeros((HEIGHT, HEIGHT)))
        start = (len(self._left) - 1) * HEIGHT
        row = self.size - start
        self._left[-1][row : row + k] = left[:, :start]
        self._corner[-1][row : row + k, :row] = left[:, start:]
        self._corner[-1][row : row + k, row : row + k] = corner
        self.size += k


def factor(matrix: Array) -> Array:
    """The lower Cholesky factor; refuses a kernel that is not positive semidefinite."""
    try:
        return np.asarray(cholesky(matrix, lower=True, check_finite=False))
    except LinAlgError as error:
        raise DeclarationError(
            "The kernel is not positive semidefinite on the queries, so no noise has it as its "
            "covariance. Use another kernel."
        ) from error
