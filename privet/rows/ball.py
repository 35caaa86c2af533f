"""Every finite row brought within its norm bound, each by itself.

    flush    an entry below the smallest normal number of its type is zero
    scale    a row far above the bound is written anew, at twice the bound
    clip     a row above the bound gets a factor, which the blocks apply

Each step is a function of the row alone, so one extreme row changes nothing about the others and
costs no refusal that would tell of it. NaN and infinity have no place in the ball: refused.

Rounding: with ``u = 2^-53`` the computed squared norm of ``d`` entries is within ``gamma_d`` of the
exact one (Higham 2002, section 3.1), its root, the quotient and each product add ``u`` or so. A
shortened row aims at ``B (1 - (d + 16) u)`` and therefore has an exact norm of at most ``B``; rows
written anew in single precision also leave room for the rounding of their entries, ``2^-23``.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.rows.scratch import scratch

CHECKED_ENTRIES = 1 << 16  # looked at one by one: copies that fit the second-level cache
# Rows this many bounds long are written anew: a factor on them would come too late, after a
# product that single precision (and, much further out, double precision) cannot hold.
FAR = 2.0**30


def in_ball(x: Any, norm_bound: float) -> tuple[Any, Array | None]:
    """A dense or CSR table and the factor of each row (None where all are 1): products in the ball.

    The table is ``x`` itself unless an entry is subnormal or a row is far above the bound.
    """
    if not 1e-100 <= norm_bound <= 1e100:  # also not a number: nothing would be clipped
        raise DeclarationError("norm_bound must be between 1e-100 and 1e100.")
    x, squares = _measured(x)
    far = ~(squares <= (FAR * norm_bound) ** 2)
    aim = norm_bound * (1.0 - (x.shape[1] + 16) * 2.0**-53)
    if bool(far.any()):
        # at twice the bound: their factor then says, as for all others, that they were shortened
        x = _written_anew(x, far, 2.0 * aim)
        squares[far] = (2.0 * aim) ** 2
    if not bool((squares > norm_bound**2).any()):
        return x, None
    norms = np.sqrt(squares)
    return x, np.where(norms > norm_bound, aim / np.maximum(norms, norm_bound), 1.0)


def _measured(x: Any) -> tuple[Any, Array]:
    """The table without subnormal entries, and its squared norms; NaN and infinity are refused.

    A dense table is looked at once, in parts that fit the cache: tables that are read in parts are
    looked at in every pass. NaN and infinity leave no finite square.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(x):
            refuse_infinite(x)
            flushed = _flushed(x)
            return flushed, squared_norms(flushed)
        seen = [(has_subnormals(part), squared_norms(part)) for part in _parts(x)]
        squares = np.concatenate([found for _, found in seen]) if seen else np.zeros(0)
        if not np.isfinite(squares).all():  # or a number whose square is too large
            refuse_infinite(x)
        if not any(subnormal for subnormal, _ in seen):
            return x, squares
        flushed = _flushed(x)
        return flushed, squared_norms(flushed)


def refuse_infinite(x: Any) -> None:
    """Refuse NaN and infinity: no clipping makes a number of them."""
    values = _entries(x)
    for part in _parts(values):
        if not np.isfinite(part).all():
            raise DataError(
                "The rows hold NaN or infinity. Replace them by a declared constant before fitting."
            )


def with_entries(x: Any, entries: NDArray[Any]) -> Any:
    """A sparse matrix with other entries in the same places; scipy's constructors are slow."""
    out = copy(x)
    out.data = entries
    return out


def _entries(x: Any) -> NDArray[Any]:
    stored: Any = x
    return np.asarray(stored.data) if sp.issparse(x) else np.asarray(x)


def _parts(values: NDArray[Any]) -> Any:
    size = max(1, CHECKED_ENTRIES * len(values) // max(1, values.size))
    return (values[start : start + size] for start in range(0, len(values), size))


def _flushed(x: Any) -> Any:
    """Subnormal entries as zeros; the same table where there are none."""
    values = _entries(x)
    if not any(has_subnormals(part) for part in _parts(values)):
        return x
    smallest = np.finfo(values.dtype).tiny
    entries = np.where(np.abs(values) < smallest, values.dtype.type(0), values)
    return with_entries(x, entries) if sp.issparse(x) else entries


def has_subnormals(part: NDArray[Any]) -> bool:
    """Whether an entry's exponent is zero and the rest of it is not, by its bits.

    They are shifted by the sign and lowered by one, which makes a zero the largest of all numbers:
    rows of categories are mostly zeros.
    """
    word: Any = np.uint64 if part.dtype == np.float64 else np.uint32
    normal = word(1) << word(np.finfo(part.dtype).nmant + 1)  # the smallest of them, so shifted
    bits = scratch(part.shape, word)
    np.left_shift(np.ascontiguousarray(part).view(word), word(1), out=bits)
    bits -= word(1)
    return bool(bits.min(initial=normal) < normal - word(1))


def squared_norms(x: Any) -> Array:
    """Squared Euclidean norms; infinite where a square is too large."""
    # single precision is squared in double: a norm is not allowed to round that much
    if sp.issparse(x):
        powers: Any = with_entries(x, np.square(_entries(x), dtype=np.float64))
        return np.asarray(powers @ np.ones(powers.shape[1]))
    return np.asarray(np.einsum("ij,ij->i", x, x, dtype=np.float64, casting="same_kind"))


def _written_anew(x: Any, far: NDArray[np.bool_], aim: float) -> Any:
    """A copy in which the rows ``far`` have norm ``aim``."""
    sparse = sp.issparse(x)
    lengths = np.diff(x.indptr) if sparse else np.full(len(x), x.shape[1])
    entries: NDArray[Any] = x.data.copy() if sparse else np.array(x, order="K")
    places = np.repeat(far, lengths) if sparse else far
    owners = np.repeat(np.arange(int(far.sum())), lengths[far])
    short = _shortened(np.ravel(entries[places]), owners, aim)
    entries[places] = short if sparse else short.reshape(-1, x.shape[1])
    return with_entries(x, entries) if sparse else entries


def _shortened(values: NDArray[Any], owners: NDArray[np.intp], aim: float) -> NDArray[Any]:
    """Entries of rows (``owners``: whose) at norm ``aim``.

    Each row is divided by a power of two first, so that no square overflows.
    """
    largest = np.zeros(int(owners[-1]) + 1)
    np.maximum.at(largest, owners, np.abs(values))
    wide = np.ldexp(values.astype(np.float64), -np.frexp(largest)[1][owners])
    norms = np.sqrt(np.bincount(owners, np.square(wide)))
    room = 2.0**-23 if values.dtype == np.float32 else 0.0
    short = (wide * (aim * (1.0 - room) / norms)[owners]).astype(values.dtype)
    short[np.abs(short) < np.finfo(values.dtype).tiny] = 0.0
    return np.asarray(short)
