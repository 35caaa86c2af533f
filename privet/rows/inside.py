"""Rows put into a declared domain, each by itself.

Numbers are moved to the nearer bound, and a block of categories to its nearest allowed point. A row
of zeros, as a schema makes of a row that does not count, may stay as it is: zero is in the hull of
the rows and their opposites, unless a constant is appended to it. What becomes of a row is a
function of that row and the declaration, so nothing is refused and nothing tells of one row.
Afterwards every entry is exactly 0, a size, or a number within its bounds: the sums of the blocks
of categories agree to the last bit, which noise in the rows' span relies on. Of two columns that
share a size the larger one, ``a``, is at least half of it, so that ``size - a`` is exact (Sterbenz)
and the two add up to the size as real numbers, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet.domain import Box, Domain, OneHot, Part
from privet.errors import DataError
from privet.rows.ball import has_subnormals, refuse_infinite

# Rows of a sparse table that are made dense at a time.
CHUNK = 1 << 14


def in_domain(x: Any, domain: Domain, *, zero_rows: bool) -> Any:
    """A dense or CSR table with every row in the domain; the same table where all are.

    ``zero_rows``: rows of zeros stay, which is right where no constant column is appended.
    """
    if x.shape[1] != domain.columns:
        raise DataError(f"The domain has {domain.columns} columns, but the table has {x.shape[1]}.")
    if sp.issparse(x):
        refuse_infinite(x)
        sparse: Any = x
        starts = range(0, sparse.shape[0], CHUNK)
        dense = (sparse[start : start + CHUNK].toarray() for start in starts)
        parts = [sp.csr_array(in_domain(part, domain, zero_rows=zero_rows)) for part in dense]
        return sp.csr_array(sp.vstack(parts, format="csr"))
    if x.dtype == np.float32 and not domain.fits_single:
        x = x.astype(np.float64)  # a size that single precision rounds is not the declared one
    moved, kept = x, _Zeros(x, zero_rows)
    for block, columns in _runs(domain):
        part = x[:, columns]
        # tables that are read in parts come here in every pass, and all of their rows are sound
        if _is_inside(part, block, kept):
            continue
        refuse_infinite(part)
        if isinstance(block, Box):
            found = _clipped(part, block)
        else:
            found = (_shared if block.between else _one_hot)(part, block, kept)
        if found is not None:
            moved = x.copy() if moved is x else moved
            moved[:, columns] = found
    return moved


def _runs(domain: Domain) -> Iterator[tuple[Part, slice]]:
    """Blocks with their columns; boxes of one size side by side are one box."""
    waiting: tuple[Part, slice] | None = None
    for block, columns in domain.parts():
        if waiting is not None:
            before, first = waiting
            if isinstance(before, Box) and isinstance(block, Box) and before.size == block.size:
                width = before.width + block.width
                waiting = Box(width, block.size), slice(first.start, columns.stop)
                continue
            yield waiting
        waiting = block, columns
    if waiting is not None:
        yield waiting


def _is_inside(values: NDArray[Any], block: Part, kept: _Zeros) -> bool:
    """A quick test that every row passes whose numbers are inside and whose category is one.

    NaN and infinity do not pass. Where all entries are zero or the size, a row's sum is exactly
    the size if and only if one entry is.
    """
    if isinstance(block, Box):
        return bool(np.abs(values).max(initial=0.0) <= block.size) and not has_subnormals(values)
    if block.between:
        sound = _shares_size(values, block)
        return bool(sound.all()) or bool((sound | kept.rows).all())
    if np.count_nonzero(values == block.size) != np.count_nonzero(values):
        return False
    sums = values @ np.ones(values.shape[1], dtype=values.dtype)
    sound = sums == block.size
    if block.missing:
        sound |= sums == 0.0
    return bool(sound.all()) or bool((sound | kept.rows).all())


class _Zeros:
    """Which rows are all zero and stay, found out when it is first asked for."""

    def __init__(self, x: NDArray[Any], stay: bool) -> None:
        self._x, self._stay = x, stay

    @cached_property
    def rows(self) -> NDArray[np.bool_]:
        """A flag for each row."""
        return np.asarray(~self._x.any(axis=1) & self._stay)


def _clipped(values: NDArray[Any], block: Box) -> NDArray[Any] | None:
    """Numbers within the bound; None where all are."""
    tiny = np.finfo(values.dtype).tiny
    sizes = np.abs(values)
    if bool(((sizes <= block.size) & ((sizes >= tiny) | (sizes == 0.0))).all()):
        return None
    # a number too small to be squared is zero
    kept = np.where(sizes < tiny, values.dtype.type(0), values)
    return np.clip(kept, -block.size, block.size)


def _one_hot(values: NDArray[Any], block: OneHot, kept: _Zeros) -> NDArray[Any] | None:
    """The nearest allowed point of each row; None where all are allowed points."""
    full = values == block.size
    count = full.sum(axis=1)
    sound = (full | (values == 0.0)).all(axis=1)
    sound &= (count == 1) | ((count == 0) if block.missing else False)
    if bool(sound.all()) or bool((sound | kept.rows).all()):
        return None
    out = values.copy()
    rows = np.flatnonzero(~(sound | kept.rows))
    out[rows] = 0.0
    # |x - s e_i|^2 = |x|^2 - 2 s x_i + s^2: the largest entry is nearest, none if below s/2
    best = values[rows].argmax(axis=1)
    if block.missing:
        some = values[rows, best] > block.size / 2.0
        rows, best = rows[some], best[some]
    out[rows, best] = block.size
    return out


def _shares_size(values: NDArray[Any], block: OneHot) -> NDArray[np.bool_]:
    """Rows of which one column, or two side by side, hold exactly the size."""
    most, aside, rest = _largest_two(values)
    exact = (most >= block.size / 2.0) & (most <= block.size) & (block.size - most == aside)
    return np.asarray(exact & (aside >= 0.0) & (rest == 0))


def _largest_two(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """The largest entry, the larger one beside it, and how many others are not zero."""
    rows, at = np.arange(len(values)), values.argmax(axis=1)
    beside = _beside(values, at)
    most, aside = values[rows, at], values[rows, beside]
    several = values.shape[1] > 1
    aside = aside if several else np.zeros_like(aside)
    return most, aside, np.count_nonzero(values, axis=1) - (most != 0.0) - (aside != 0.0)


def _beside(values: NDArray[Any], at: NDArray[np.intp]) -> NDArray[np.intp]:
    """The column beside each row's largest one that holds more."""
    rows, last = np.arange(len(values)), values.shape[1] - 1
    left, right = np.maximum(at - 1, 0), np.minimum(at + 1, last)
    other_side = (at == 0) | ((at < last) & (values[rows, right] > values[rows, left]))
    return np.where(other_side, right, left)


def _shared(values: NDArray[Any], block: OneHot, kept: _Zeros) -> NDArray[Any] | None:
    """The two largest columns side by side share the size as they do in the row."""
    rows = np.flatnonzero(~(_shares_size(values, block) | kept.rows))
    if not len(rows):
        return None
    out, here = values.copy(), values[rows]
    at = here.argmax(axis=1)
    beside = _beside(here, at)
    most, aside = (np.maximum(here[np.arange(len(rows)), i], 0.0) for i in (at, beside))
    aside = np.where(at == beside, 0.0, aside)
    whole = most + aside
    share = np.divide(most, whole, out=np.ones_like(most), where=whole > 0.0)
    first = np.clip(block.size * share, block.size / 2.0, block.size).astype(values.dtype)
    out[rows] = 0.0
    out[rows, beside] = block.size - first
    out[rows, at] = first
    return out
