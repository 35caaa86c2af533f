"""Numbers on the scale from -1 to 1, and as shares of the knots around them.

One formula for all ways of encoding: whole columns, or many side by side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.schema.cells import Index


def on_scale(values: Array, start: Any, half: Any) -> Array:
    """Values as positions between -1 and 1, written over them: tables are long.

    Rounding keeps the order, so that a value beyond a bound ends beyond -1 or 1 and is moved there.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        values -= start
        values /= half
        values -= 1.0
    np.clip(values, -1.0, 1.0, out=values)
    every = values.reshape(-1)
    if math.isnan(every @ every):
        values[np.isnan(values)] = 0.0
    return values


def put_shares(found: Array, out: NDArray[Any], factor: float) -> None:
    """Positions between -1 and 1 as shares of ``factor`` in the two knots around each."""
    rows = np.arange(len(found))
    nearest, first, beside, rest = shares(found, out.shape[1], factor, out.dtype)
    out[rows, beside] = rest
    out[rows, nearest] = first


def shares(
    found: Array, knots: int, factor: float, dtype: np.dtype[Any]
) -> tuple[Index, NDArray[Any], Index, NDArray[Any]]:
    """The nearest knot of each position with its share of ``factor``, and the one beside it.

    The larger share is at least half of it, so that the other one is their exact difference. A
    position at the last knot has that one twice, and a share of zero.
    """
    places = (np.asarray(found, dtype=np.float64) + 1.0) * (0.5 * (knots - 1))
    nearest = np.rint(places).astype(np.intp)
    away = places - nearest
    size = dtype.type(factor)
    first = np.clip((factor * (1.0 - np.abs(away))).astype(dtype), size / 2, size)
    beside = np.clip(nearest + np.where(away < 0.0, -1, 1), 0, knots - 1)
    return nearest, first, beside, size - first
