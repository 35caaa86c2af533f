"""Rows in memory: numpy arrays and scipy sparse matrices.

Clipping to the norm bound and the constant column of the intercept are applied inside the linear
maps of each block, so the caller's array is used as it is: a clipped row is its row times a factor,
and the constant column is one number. Only extreme values make a copy, see ``ball.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet._types import Array, Targets
from privet.domain import Domain
from privet.errors import DataError
from privet.rows.ball import in_ball, squared_norms, with_entries
from privet.rows.engine import Block, Rows
from privet.rows.inside import in_domain
from privet.rows.scratch import scratch

# Blocks of about this many entries fit the second-level cache; between a quarter and four times
# this the speed hardly changes.
BLOCK_ENTRIES = 1 << 17
MOST_BLOCK_ROWS = 4_096  # what a sum may lose to rounding grows with this
DENSE_ENTRIES = 1 << 15  # of a sparse table made dense at a time


def block_rows(m: int) -> int:
    """Rows per dense block of ``m`` columns: public, since sums round by it.

    A power of two, so that tables that are read in parts are cut into the same blocks.
    """
    return 1 << (max(256, min(MOST_BLOCK_ROWS, BLOCK_ENTRIES // m)).bit_length() - 1)


@dataclass(frozen=True)
class ArrayBlock(Block):
    """Dense or CSR rows ``s_i x_i`` (``s`` the clip factors) with an optional constant column."""

    x: Any
    transposed: Any
    factors: Array | None
    constant: float | None
    dtype: type[np.floating[Any]] = np.float64

    def rough(self) -> ArrayBlock:
        """In single precision: half the work where many scores are asked for at once."""
        if isinstance(self.x, np.ndarray):
            x = self.x.astype(np.float32, copy=False)
            return ArrayBlock(x, x.T, self.factors, self.constant, np.float32)
        entries = self.x.data.astype(np.float32, copy=False)
        x, transposed = with_entries(self.x, entries), with_entries(self.transposed, entries)
        return ArrayBlock(x, transposed, self.factors, self.constant, np.float32)

    def scores(self, weights: Array) -> Array:
        """``diag(s) X W^T + constant``."""
        features = weights if self.constant is None else weights[:, :-1]
        features = features.astype(self.dtype, copy=False)
        # one score: a matrix-vector product, which BLAS does at the speed of memory
        z = (self.x @ features[0])[:, None] if len(features) == 1 else self.x @ features.T
        z = np.asarray(z, dtype=self.dtype)
        if self.factors is not None:
            z *= self.factors[:, None]
        if self.constant is not None:
            z += self.constant * weights[:, -1]
        return z

    def pull(self, residuals: Array) -> Array:
        """``G^T diag(s) X``, and the constant times the sums of ``G``."""
        scaled = residuals if self.factors is None else residuals * self.factors[:, None]
        scaled = scaled.astype(self.dtype, copy=False)
        one = scaled.shape[1] == 1
        out = (self.transposed @ scaled[:, 0])[None, :] if one else (self.transposed @ scaled).T
        out = np.asarray(out, dtype=np.float64)
        if self.constant is None:
            return out
        border = self.constant * residuals.sum(axis=0, dtype=np.float64)[:, None]
        return np.concatenate([out, border], axis=1)

    def gram(self, weights: Array) -> Array:
        """``X^T diag(s^2 w) X`` with its border."""
        inner = weights if self.factors is None else weights * self.factors**2
        out = self._core_gram(inner)
        if self.constant is None:
            return out
        edge = weights if self.factors is None else weights * self.factors
        column = self.constant * np.asarray(self.transposed @ edge, dtype=np.float64)
        corner = np.array([[self.constant**2 * weights.sum()]])
        return np.block([[out, column[:, None]], [column[None, :], corner]])

    def lengths(self) -> Array:
        """``s_i |x_i|`` with the constant; a block that is kept between passes keeps them too."""
        return self._lengths

    @cached_property
    def _lengths(self) -> Array:
        squares = squared_norms(self.x)
        if self.factors is not None:
            squares *= self.factors**2
        return np.sqrt(squares + (self.constant or 0.0) ** 2)

    def pull_squares(self, weights: Array) -> Array:
        """``V^T diag(s^2) (X o X)``, and the squared constant times the sums of ``V``."""
        scaled = weights if self.factors is None else weights * self.factors[:, None] ** 2
        dense = isinstance(self.x, np.ndarray)
        squares = self.transposed**2 if dense else with_entries(self.transposed, self.x.data**2)
        out = np.asarray((squares @ scaled).T, dtype=np.float64)
        if self.constant is None:
            return out
        border = self.constant**2 * weights.sum(axis=0)[:, None]
        return np.concatenate([out, border], axis=1)

    def _core_gram(self, w: Array) -> Array:
        return _sparse_gram(self.x, w) if sp.issparse(self.x) else _dense_gram(self.x, w)


def _sparse_gram(x: Any, w: Array) -> Array:
    """``X^T diag(w) X`` with a few rows at a time made dense.

    That beats a sparse product unless nearly all is zero.
    """
    size, out = max(1, DENSE_ENTRIES // x.shape[1]), np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(w), size):
        rows = slice(start, start + size)
        out += _dense_gram(x[rows].toarray(), w[rows])
    return out


def _dense_gram(x: NDArray[Any], w: Array) -> Array:
    """``X^T diag(w) X``."""
    if w.min(initial=0.0) >= 0.0:
        scales = np.sqrt(w)[:, None]
        kept = scratch(x.shape, np.result_type(x, scales)) if x.flags.c_contiguous else None
        root = np.multiply(x, scales, out=kept)
        return np.asarray(root.T @ root)  # one operand: BLAS computes half the matrix
    return np.asarray(x.T @ (x * w[:, None]))


class ArrayRows(Rows):
    """A table in memory with its targets, checked and bounded by ``checked_rows``."""

    def __init__(
        self,
        x: Any,
        targets: Targets,
        *,
        factors: Array | None = None,
        constant: float | None = None,
    ) -> None:
        self._x, self._targets, self._factors, self._constant = x, targets, factors, constant
        self.n = int(x.shape[0])
        self.m = int(x.shape[1]) + (constant is not None)
        if len(targets) != self.n:
            raise DataError(f"There are {self.n} rows but {len(targets)} targets.")
        if self.n == 0:
            raise DataError("There are no rows; at least one is needed.")
        if self.m == 0:
            raise DataError("There are no columns; at least one is needed.")

    @property
    def clipped(self) -> int:
        """How many rows were scaled down; depends on the rows, for the curator's eyes only.

        A row that only rounding puts above the bound, as half of all rows of norm 1, is not long.
        """
        return 0 if self._factors is None else int((self._factors < 1.0 - 1e-9).sum())

    def lies_in(self, table: Any) -> bool:
        """Whether the rows are part of a dense table, and not a copy."""
        both = isinstance(self._x, np.ndarray) and isinstance(table, np.ndarray)
        return both and np.may_share_memory(self._x, table)

    def blocks(self, stride: int = 1) -> Iterator[tuple[Block, Targets]]:
        """Every ``stride``-th row, in views of the table (a thinned sparse table: in copies)."""
        if stride == 1 and sp.issparse(self._x):
            return iter(self._sparse_blocks)
        return self._make_blocks(stride)

    def _make_blocks(self, stride: int) -> Iterator[tuple[Block, Targets]]:
        sparse = sp.issparse(self._x)
        reach = stride * (MOST_BLOCK_ROWS if sparse else block_rows(self.m))
        for start in range(0, self.n, reach):
            rows = slice(start, min(start + reach, self.n), stride)
            x, transposed = (
                _csr_views(self._x, rows) if sparse else (self._x[rows], self._x[rows].T)
            )
            factors = None if self._factors is None else self._factors[rows]
            yield ArrayBlock(x, transposed, factors, self._constant), self._targets[rows]

    @cached_property
    def _sparse_blocks(self) -> list[tuple[Block, Targets]]:
        # views of a sparse table are slow to make and small to keep
        return list(self._make_blocks(1))


def _csr_views(x: Any, rows: slice) -> tuple[Any, Any]:
    """A few rows of a CSR table, and their transpose.

    The arrays are set one by one: scipy's slicing copies them, its constructors check every index
    and copy what is a small part of a larger array.
    """
    if rows.step > 1:
        x, rows = x[rows], slice(0, len(range(rows.start, rows.stop, rows.step)))
    first, last = x.indptr[rows.start], x.indptr[rows.stop]
    pointers = x.indptr[rows.start : rows.stop + 1] - first
    shape = rows.stop - rows.start, x.shape[1]
    views = sp.csr_array(shape, dtype=x.dtype), sp.csc_array(shape[::-1], dtype=x.dtype)
    for view in views:
        view.data, view.indices, view.indptr = x.data[first:last], x.indices[first:last], pointers
    return views


def checked_rows(
    x: NDArray[Any] | sp.csr_array,
    targets: Targets,
    *,
    norm_bound: float,
    constant: float | None = None,
    domain: Domain | None = None,
) -> ArrayRows:
    """Rows clipped to ``norm_bound``, with a last column ``constant`` for an intercept.

    With a declared ``domain``, of the columns without the constant, rows are put into it first.
    Rows of a domain are never longer than its norm, so that none is scaled down afterwards.

    Below this function every row, constant included, has norm at most
    ``sqrt(norm_bound^2 + constant^2)``. NaN and infinity are refused before any clipping.
    """
    _refuse_foreign(x)
    x = sound_sparse(x) if sp.issparse(x) else x
    if domain is not None:
        if domain.norm > norm_bound:
            raise DataError("Rows of the domain may be longer than norm_bound.")
        x = in_domain(x, domain, zero_rows=constant is None)
    x, factors = in_ball(x, norm_bound)
    return ArrayRows(x, targets, factors=factors, constant=constant)


def sound_sparse(x: Any) -> Any:
    """A CSR table whose indices were checked and whose entries are each stored once.

    Entries stored twice count as their sum, which their separate squares would not show. scipy
    remembers whether there are any and does not notice when indices are changed in place, so the
    question is asked of a new object.
    """
    fresh = sp.csr_array((x.data, x.indices, x.indptr), shape=x.shape)
    try:
        fresh.check_format(full_check=True)
    except ValueError as error:  # names an index at most, which is a column's number
        raise DataError("The sparse table is malformed: its indices point outside.") from error
    if not fresh.has_canonical_format:
        fresh = fresh.copy()
        fresh.sum_duplicates()
    return fresh


def _refuse_foreign(x: Any) -> None:
    """Refuse what the blocks would misread in silence: other formats, masks, other numbers."""
    known = getattr(x, "format", "") == "csr" if sp.issparse(x) else isinstance(x, np.ndarray)
    known = known and not np.ma.isMaskedArray(x)
    if not known or x.ndim != 2 or x.dtype not in (np.float64, np.float32):
        raise DataError(
            "Rows must be a two-dimensional array or CSR matrix of float64 or float32, not masked."
        )
