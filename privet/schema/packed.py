"""Rows of a table as they were read, and what they are encoded as when they are summed.

    numbers    columns between bounds, as they are encoded
    places     for a few columns of categories, which of all that they can be together a row is
    bends      positions of numbers with knots, between -1 and 1

A table of categories is mostly zeros, which packed rows do not hold. They are encoded a few at a
time, where they are used: what fits the cache is not written to memory and read again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet._types import Array, Codes, Flags
from privet.schema.columns import Categorical, Numeric
from privet.schema.declarations import Declarations, unit_factor
from privet.schema.scales import on_scale, put_shares

#: What columns of categories that are looked up together can be: a table of the first-level cache.
MOST_TOGETHER = 1 << 10
#: What rows are made of: arrays with an entry, or a line of them, for each.
Parts = tuple[NDArray[Any], ...]


class Packing:
    """Where the columns of a schema are in packed rows and in dense ones."""

    def __init__(self, schema: Declarations) -> None:
        self.unit, self.columns = schema.rows == "unit", tuple(schema.columns.values())
        self.width, self.factor = schema.width, 1.0 if self.unit else schema.factor
        self.domain = schema.domain
        self.norm = math.inf if self.domain is None else self.domain.norm
        numbers: list[int] = []
        #: places among the columns of numbers without knots, and of those with knots
        self.straight: list[tuple[int, Numeric]] = []
        self.bent: list[tuple[int, Numeric]] = []
        #: encoded columns of each number with knots
        self.bends: list[slice] = []
        self.groups: list[CategoryGroup] = []
        start = 0
        for at, column in enumerate(self.columns):
            here = slice(start, start + column.width)
            if isinstance(column, Categorical):
                put_together(self.groups, at, here)
            elif isinstance(column, Numeric) and column.knots is None:
                self.straight.append((at, column))
                numbers.append(start)
            elif isinstance(column, Numeric):
                self.bent.append((at, column))
                self.bends.append(here)
            start = here.stop
        self.number_columns = np.array(numbers, dtype=np.intp)
        #: of each number without knots, where its scale begins, and half of its length
        scales = [column.scale for _, column in self.straight]
        self.scales = np.array(scales, dtype=np.float64).reshape(-1, 2).T[:, :, None]

    def encoded(self, found: Parts) -> Encodings:
        """Numbers, places and bends of what was read of each column, which lie side by side."""
        numbers = np.empty((len(self.straight), len(found[0])))
        for line, (at, column) in zip(numbers, self.straight, strict=True):
            line[:] = found[at] if column.bare else column.flat(found[at])
        on_scale(numbers, *self.scales)
        numbers *= self.factor
        places = []
        for group in self.groups:
            place = found[group.read[0]].astype(np.intp)
            for at, size in zip(group.read[1:], group.sizes[1:], strict=True):
                place *= size
                place += found[at]
            places.append(place)
        bends = [column.positions(found[at]) for at, column in self.bent]
        return Encodings(numbers.T, places, bends)

    def put(self, found: Parts, out: NDArray[Any]) -> None:
        """Encode what was read into dense rows that are all zero."""
        start = 0
        for column, values in zip(self.columns, found, strict=True):
            column.put(values, out, start, self.factor)
            start += column.width
        if self.unit:
            normalized_rows(out, len(self.columns))

    def spread(self, ready: Encodings, out: NDArray[Any]) -> None:
        """What was encoded as dense rows, which are all zero: the same rows as ``put`` makes."""
        for place, group in zip(ready.places, self.groups, strict=True):
            indices = np.unravel_index(place, group.sizes)
            for columns, index in zip(group.columns, indices, strict=True):
                rows = np.flatnonzero(index < columns.stop - columns.start)
                out[rows, columns.start + index[rows]] = self.factor
        out[:, self.number_columns] = ready.numbers
        for position, columns in zip(ready.bends, self.bends, strict=True):
            put_shares(position, out[:, columns], self.factor)
        if self.unit:
            normalized_rows(out, len(self.columns))


class Encodings(NamedTuple):
    """What packed rows are encoded as: an array, and two lists of arrays."""

    numbers: Array
    places: list[Codes]
    bends: list[Array]

    def taken(self, which: Any) -> Encodings:
        """Some of the rows."""
        places, bends = ([each[which] for each in many] for many in (self.places, self.bends))
        return Encodings(self.numbers[which], places, bends)


@dataclass(frozen=True)
class CategoryGroup:
    """Columns of categories that are looked up together: their places, and encoded columns."""

    read: tuple[int, ...]
    columns: tuple[slice, ...]

    @cached_property
    def slots(self) -> list[Codes]:
        """For each, its encoded columns, and -1 for a missing category."""
        return [np.array([*range(each.start, each.stop), -1]) for each in self.columns]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many categories each has, with a missing one."""
        return tuple(columns.stop - columns.start + 1 for columns in self.columns)


def put_together(groups: list[CategoryGroup], at: int, columns: slice) -> None:
    """Add a column of categories, to the last group if it has room: sums round by it."""
    if groups:
        more = CategoryGroup((*groups[-1].read, at), (*groups[-1].columns, columns))
        if math.prod(more.sizes) <= MOST_TOGETHER:
            groups[-1] = more
            return
    groups.append(CategoryGroup((at,), (columns,)))


@dataclass(frozen=True)
class Packed:
    """What was read of each column; ``constant`` marks rows that do not count, which are zero.

    Rows that a scratch file keeps are ``ready``: encoded, and nothing else is known of them.
    """

    packing: Packing = field(repr=False)
    found: Parts = field(repr=False)
    constant: Flags = field(repr=False)
    ready: Encodings | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.constant)

    def __getitem__(self, which: Any) -> Packed:
        """Some of the rows."""
        found = tuple(part[which] for part in self.found)
        ready = None if self.ready is None else self.ready.taken(which)
        return Packed(self.packing, found, self.constant[which], ready)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the dense rows."""
        return len(self), self.packing.width

    @property
    def nbytes(self) -> int:
        """Bytes of the packed rows."""
        ready = () if self.ready is None else (self.ready.numbers, *self.ready.places)
        return sum(part.nbytes for part in (*self.found, self.constant, *ready))

    def encoded(self) -> Encodings:
        """Numbers, places and bends."""
        return self.packing.encoded(self.found) if self.ready is None else self.ready

    def dense(self) -> Array:
        """Dense rows."""
        out = np.zeros(self.shape)
        if self.ready is None:
            self.packing.put(self.found, out)
        else:
            self.packing.spread(self.ready, out)
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
