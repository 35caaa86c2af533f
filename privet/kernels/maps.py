"""The two public maps from rows to features, whose norm never passes ``norm``, in floats either.

A map is a function of one row at a time, made without a row of the private table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from privet.errors import DataError, DeclarationError
from privet.kernels.base import Array, Kernel, count
from privet.rows.arrays import block_rows
from privet.rows.ball import in_ball

# Norms stay this much below their bound, which rounding cannot make up for.
ROOM: dict[Any, float] = {np.dtype(np.float64): 2.0**-40, np.dtype(np.float32): 2.0**-20}
# Smaller numbers are zero: what is made of them could be too small to compute with exactly.
SMALLEST: dict[Any, float] = {np.dtype(np.float64): 1e-150, np.dtype(np.float32): 1e-15}
LARGEST = 1e12
# Eigenvalues below this share of the largest are rounding, not geometry.
EIGENVALUE_FLOOR = 1e-10


class FourierMap:
    """``x -> (cos <w_j, u>, sin <w_j, u>)_j/sqrt D`` of the weighted columns ``u = v x``.

    Each pair has norm ``1/sqrt D``, so the whole has norm 1 whatever ``x`` is, and the inner
    product of two rows is the mean of ``cos(<w_j, u - u'>)``. (Cosines of shifted angles, as
    printed in Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 3, have norm up to sqrt 2.)
    """

    norm = 1.0

    def __init__(self, frequencies: Array, weights: Array | None = None) -> None:
        folded = frequencies if weights is None else frequencies * weights
        half = np.ascontiguousarray(0.5 * folded.T)
        self._turns: dict[Any, NDArray[Any]] = {kind: half.astype(kind) for kind in ROOM}

    @property
    def columns(self) -> int:
        """Two for each frequency."""
        return 2 * int(self._turns[np.dtype(np.float64)].shape[1])

    def __call__(self, x: Any) -> NDArray[Any]:
        """Features of a block of rows, in the rows' own precision."""
        rows = _tame(x)
        half = self.columns // 2
        out = np.empty((len(rows), 2 * half), dtype=rows.dtype)
        cosines, sines = out[:, :half], out[:, half:]
        # by the tangent of half the angle: cos = 2/(1 + t^2) - 1, sin = 2t/(1 + t^2); one
        # transcendental function, which numpy has vectorised
        tangents = rows @ self._turns[rows.dtype]
        np.tan(tangents, out=tangents)
        np.square(tangents, out=cosines)
        cosines += 1.0
        np.divide(2.0, cosines, out=cosines)
        np.multiply(tangents, cosines, out=sines)
        cosines -= 1.0
        out *= rows.dtype.type((1.0 - ROOM[rows.dtype]) / math.sqrt(half))
        return out


class LandmarkMap:
    """``x -> W^T k_Z(x)`` with ``W = V L^(-1/2)`` of the largest eigenpairs of ``K_ZZ``.

    The columns are the coordinates of ``phi(x)`` in orthonormal vectors of the span of ``phi(Z)``:
    a projection, so ``|psi(x)|^2 <= K(x, x) <= R^2``. Leaving out eigenvectors, those of a
    near-singular ``K_ZZ`` among them, projects onto less and makes no norm larger. What rounding
    adds is clipped.
    """

    def __init__(
        self, kernel: Kernel, points: Any, whitener: Array, weights: Array | None = None
    ) -> None:
        self._kernel, self._whitener, self._weights = kernel, whitener, weights
        self._points = weighted(points, weights)

    @property
    def columns(self) -> int:
        """One for each eigenvector."""
        return int(self._whitener.shape[1])

    @property
    def norm(self) -> float:
        """``R``, the root of the kernel's bound."""
        return math.sqrt(self._kernel.bound)

    def __call__(self, x: Any) -> Array:
        """Features of a block of rows or objects."""
        out = self._kernel(weighted(x, self._weights), self._points) @ self._whitener
        out[np.abs(out) < SMALLEST[out.dtype]] = 0.0
        out, factors = in_ball(out, self.norm * (1.0 - ROOM[out.dtype]))
        return np.asarray(out if factors is None else out * factors[:, None])


def whitener(kernel: Kernel, points: Any, n_components: int | None = None) -> Array:
    """``V L^(-1/2)`` of ``K_ZZ``, shape (len(Z), at most n_components); public, since ``Z`` is.

    The largest eigenvalues come first. Columns of eigenvalues that are rounding are zero, so that
    how many columns there are is known before the points are.
    """
    gram = kernel(points, points)
    if not np.isfinite(gram).all():
        raise DeclarationError("The kernel of two public points is not a finite number.")
    values, vectors = scipy.linalg.eigh((gram + gram.T) / 2.0)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    kept = values > max(EIGENVALUE_FLOOR * float(values[0]), 0.0)
    if not kept.any():
        raise DeclarationError("The public points span nothing: the kernel is zero on all of them.")
    return np.ascontiguousarray(vectors * np.where(kept, np.abs(values), np.inf) ** -0.5)


def in_blocks(feature_map: FourierMap | LandmarkMap, rows: Any) -> NDArray[Any]:
    """Features of all rows, made in blocks that fit the cache."""
    size = block_rows(feature_map.columns)
    parts = [feature_map(rows[start : start + size]) for start in range(0, count(rows), size)]
    return np.concatenate(parts) if parts else np.empty((0, feature_map.columns))


def weighted(x: Any, weights: Array | None) -> Any:
    """Columns times their public weights, kept finite; objects have none."""
    if weights is None:
        return x
    with np.errstate(over="ignore"):
        out = _dense(x) * weights
    most = np.finfo(out.dtype).max
    return np.clip(out, -most, most)


def _dense(x: Any) -> NDArray[Any]:
    dense: Any = x.toarray() if sp.issparse(x) else np.asarray(x)  # type: ignore[attr-defined]
    if dense.ndim != 2:
        raise DataError("Features are made of a table of numbers with two dimensions.")
    return np.asarray(dense if dense.dtype in ROOM else dense.astype(np.float64))


def _tame(x: Any) -> NDArray[Any]:
    """Dense rows whose angles are ordinary numbers: neither infinite nor subnormal."""
    rows: NDArray[Any] = np.clip(_dense(x), -LARGEST, LARGEST)
    rows[np.abs(rows) < SMALLEST[rows.dtype]] = 0.0
    return rows
