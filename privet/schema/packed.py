"""Encoded rows in few bytes: every number once, and every category as the column that it is in.

    numbers    columns between bounds, as they are encoded
    places     the encoded column of each category
    bends      positions of numbers with knots, between -1 and 1

A table of categories is mostly zeros, which packed rows do not hold. A missing category without a
column of its own is at the place behind the last column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array, Flags
from privet.schema.columns import Categorical, Numeric, put_shares
from privet.schema.declarations import Declarations, unit_factor

#: What rows are made of: arrays with an entry, or a line of them, for each.
Parts = tuple[NDArray[Any], ...]


class Packing:
    """Where the columns of a schema are in packed rows and in dense ones."""

    def __init__(self, schema: Declarations) -> None:
        self.unit, self.columns = schema.rows == "unit", len(schema.columns)
        self.width, self.factor = schema.width, 1.0 if self.unit else schema.factor
        self.domain = schema.domain
        self.norm = math.inf if self.domain is None else self.domain.norm
        #: of each column that was read: its kind, and its first encoded column
        self.kinds: list[tuple[str, int]] = []
        #: encoded columns of each number with knots
        self.bends: list[slice] = []
        start = 0
        for column in schema.columns.values():
            if isinstance(column, Categorical):
                self.kinds.append(("place", start))
            elif isinstance(column, Numeric) and column.knots is None:
                self.kinds.append(("number", start))
            else:
                self.kinds.append(("bend", start))
                self.bends.append(slice(start, start + column.width))
            start += column.width
        numbers = [start for kind, start in self.kinds if kind == "number"]
        self.number_columns = np.array(numbers, dtype=np.intp)

    def packed(self, found: list[NDArray[Any]]) -> tuple[Array, NDArray[Any], Array]:
        """Numbers, places and bends of what was read of each column."""
        rows, kinds = len(found[0]), [kind for kind, _ in self.kinds]
        numbers = np.empty((rows, kinds.count("number")))
        places = np.empty((rows, kinds.count("place")), dtype=np.min_scalar_type(self.width))
        bends = np.empty((rows, kinds.count("bend")))
        filled = {"number": 0, "place": 0, "bend": 0}
        for values, (kind, start) in zip(found, self.kinds, strict=True):
            at = filled[kind]
            filled[kind] += 1
            if kind == "number":
                np.multiply(values, self.factor, out=numbers[:, at])
            elif kind == "bend":
                bends[:, at] = values
            else:
                places[:, at] = np.where(values < 0, self.width, values + np.intp(start))
        return numbers, places, bends


@dataclass(frozen=True)
class Packed:
    """Packed rows; ``constant`` marks those that do not count, which are zero."""

    packing: Packing = field(repr=False)
    numbers: Array = field(repr=False)
    places: NDArray[Any] = field(repr=False)
    bends: Array = field(repr=False)
    constant: Flags = field(repr=False)

    def __len__(self) -> int:
        return len(self.constant)

    def __getitem__(self, which: Any) -> Packed:
        """Some of the rows."""
        return Packed(self.packing, *(part[which] for part in self.parts))

    @property
    def parts(self) -> Parts:
        """Arrays with a line or an entry for each row."""
        return self.numbers, self.places, self.bends, self.constant

    @property
    def shape(self) -> tuple[int, int]:
        """Of the dense rows."""
        return len(self), self.packing.width

    @property
    def nbytes(self) -> int:
        """Bytes of the packed rows."""
        return sum(part.nbytes for part in self.parts)

    def dense(self) -> Array:
        """Dense rows."""
        packing = self.packing
        room = np.zeros(len(self) * packing.width + 1)  # the last entry is for missing categories
        out = room[:-1].reshape(self.shape)
        if self.places.shape[1]:
            entries = np.arange(0, out.size, packing.width)[:, None] + self.places
            entries[self.places == packing.width] = out.size
            room[entries] = packing.factor
        out[:, packing.number_columns] = self.numbers
        for number, columns in enumerate(packing.bends):
            put_shares(self.bends[:, number], out[:, columns], packing.factor)
        if packing.unit:
            normalized_rows(out, packing.columns)
        if self.constant.any():
            out[self.constant] = 0.0
        return out


def dense(rows: Packed | NDArray[Any]) -> NDArray[Any]:
    """Rows of either kind as an array like any other."""
    return rows.dense() if isinstance(rows, Packed) else rows


def normalized_rows(out: NDArray[Any], columns: int) -> None:
    """Divide each row by its own norm; zero rows stay.

    An entry is zero or at least 2^-53 in size, so its square does not vanish.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64))
    shrink = unit_factor(columns) * math.sqrt(columns)
    out *= (shrink / np.where(norms > 0.0, norms, 1.0))[:, None].astype(out.dtype)
