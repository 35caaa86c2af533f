"""Sums over packed rows, without the zeros of their categories.

One score of a row is a product of its numbers plus one entry of the weights for each category, and
a sum over rows is a product of the numbers plus a count of the residuals by category; a number with
knots is in two categories, with a share in each. A few columns of categories are looked up and
counted together, by all that they can be. Whatever else is asked for is answered by the dense rows.
A score has no more terms than the dense one and a block no more rows than one of arrays may have,
and zeros are added without an error, so what rounding loses is bounded as it is there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from privet._types import Array, Codes, Targets
from privet.domain import Domain
from privet.errors import DataError
from privet.rows.arrays import MOST_BLOCK_ROWS, ArrayBlock
from privet.rows.engine import Block, Rows
from privet.schema.packed import Encodings, Packed
from privet.schema.scales import shares


@dataclass(frozen=True)
class PackedBlock(Block):
    """A few packed rows with an optional constant column."""

    packed: Packed
    constant: float | None

    def scores(self, weights: Array) -> Array:
        """One score for each row from the packed rows, several from the dense ones."""
        if len(weights) != 1:
            return self._dense.scores(weights)
        packing, (row,) = self.packed.packing, weights
        features = row if self.constant is None else row[:-1]
        # a missing category has the last entry, which weighs nothing
        entries = np.append(packing.factor * features, 0.0)
        z = self._encoded.numbers @ features[packing.number_columns]
        for place, group in zip(self._encoded.places, packing.groups, strict=True):
            table = reduce(np.add.outer, [entries[slots] for slots in group.slots]).ravel()
            z += table.take(place, mode="clip")  # none is clipped: this mode is the fast one
        for places, parts in self._shares:
            z += features[places] * parts
        if self._counts is not None:
            z *= self._counts
        if self.constant is not None:
            z += self.constant * row[-1]
        return np.asarray(z[:, None])

    def pull(self, residuals: Array) -> Array:
        """One column of residuals by the packed rows, several by the dense ones."""
        if residuals.shape[1] != 1:
            return self._dense.pull(residuals)
        packing, (whole,) = self.packed.packing, residuals.T
        scaled = whole if self._counts is None else whole * self._counts
        out = np.zeros(packing.width + (self.constant is not None))
        for place, group in zip(self._encoded.places, packing.groups, strict=True):
            sums = np.bincount(place, scaled, math.prod(group.sizes)).reshape(group.sizes)
            for axis, columns in enumerate(group.columns):
                others = tuple(other for other in range(sums.ndim) if other != axis)
                out[columns] = packing.factor * np.add.reduce(sums, axis=others)[:-1]
        for places, parts in self._shares:
            out[: packing.width] += np.bincount(places, parts * scaled, packing.width)
        out[packing.number_columns] = self._encoded.numbers.T @ scaled
        if self.constant is not None:
            out[-1] = self.constant * whole.sum(dtype=np.float64)
        return out[None, :]

    def gram(self, weights: Array) -> Array:
        """Of the dense rows."""
        return self._dense.gram(weights)

    def lengths(self) -> Array:
        """Of the dense rows."""
        return self._dense.lengths()

    def pull_squares(self, weights: Array) -> Array:
        """Of the dense rows."""
        return self._dense.pull_squares(weights)

    def rough(self) -> Block:
        """The dense rows in single precision."""
        return self._dense.rough()

    @cached_property
    def _encoded(self) -> Encodings:
        return self.packed.encoded()

    @cached_property
    def _dense(self) -> ArrayBlock:
        x = self.packed.dense()
        return ArrayBlock(x, x.T, None, self.constant)

    @cached_property
    def _shares(self) -> list[tuple[Codes, Array]]:
        """For each knot that a number is near, its column and what is in it."""
        found = []
        packing = self.packed.packing
        for position, columns in zip(self._encoded.bends, packing.bends, strict=True):
            knots, size = columns.stop - columns.start, packing.factor
            nearest, first, beside, rest = shares(position, knots, size, np.dtype(np.float64))
            found += [(columns.start + nearest, first), (columns.start + beside, rest)]
        return found

    @cached_property
    def _counts(self) -> Array | None:
        """Zero for each row that does not count; None where all do."""
        constant = self.packed.constant
        return np.where(constant, 0.0, 1.0) if constant.any() else None


class PackedRows(Rows):
    """Packed rows with their targets, known to lie where they must by how they were made."""

    #: how many rows were scaled down
    clipped = 0

    def __init__(self, packed: Packed, targets: Targets, constant: float | None) -> None:
        self._packed, self._targets, self._constant = packed, targets, constant
        self.n, self.m = len(packed), packed.packing.width + (constant is not None)
        if len(targets) != self.n:
            raise DataError(f"There are {self.n} rows but {len(targets)} targets.")

    def blocks(self, stride: int = 1) -> Iterator[tuple[Block, Targets]]:
        """Every ``stride``-th row, as many at a time as a block may have."""
        packed, reach = self._packed, stride * MOST_BLOCK_ROWS
        for start in range(0, self.n, reach):
            rows = slice(start, min(start + reach, self.n), stride)
            yield PackedBlock(packed[rows], self._constant), self._targets[rows]


def known_inside(
    packed: Packed, norm_bound: float, constant: float | None, domain: Domain | None
) -> bool:
    """Whether ``checked_rows`` would leave every row as it is, by how the rows were made.

    A schema's encoding puts every row into the schema's domain, whatever the cells hold: numbers
    were moved between their bounds or share a size between two knots, and of a category there is a
    place or none. Entries are zero or at least 2^-53 times a size, none too small to be squared.
    Only rows that do not count are zero, which a domain has no place for beside a constant column.
    """
    packing = packed.packing
    if packing.domain is None or packing.norm > norm_bound:
        return False
    zeros = constant is not None and bool(packed.constant.any())
    return domain is None or (domain == packing.domain and not zeros)
