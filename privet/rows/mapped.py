"""Rows seen through a public map: features are made block by block and never held at once.

Random features, landmarks and lifted features have many more columns than the table they come from.
Each pass over the rows makes them anew, a block at a time; blocks are kept for the next pass while
they fit into a fixed amount of memory, since making them is much of the work. The map is public: it
is made from declarations, from randomness that is released with the model, or from what was
released before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet._types import Array, Targets
from privet.errors import DataError
from privet.rows.arrays import ArrayBlock, block_rows
from privet.rows.ball import in_ball
from privet.rows.engine import Block, Rows

#: Bytes of features that are kept between passes, whatever the number of rows.
KEPT_BYTES = 1 << 28
#: A row's features beside others and beside copies of itself agree to this, tried on so many rows.
SAME, FEW = 1e-4, 8


class FeatureMap(Protocol):
    """A public function of one row at a time: what a row becomes does not depend on the others."""

    @property
    def columns(self) -> int:
        """How many features it makes."""

    @property
    def norm(self) -> float:
        """The bound that the features' Euclidean norm is clipped to."""

    def __call__(self, x: Any) -> NDArray[Any]:
        """Features of a block of rows, shape (rows, columns)."""


class MappedRows(Rows):
    """Rows of any kind with their targets, seen through ``feature_map`` and clipped to its norm."""

    def __init__(
        self,
        x: Any,
        targets: Targets,
        feature_map: FeatureMap,
        *,
        constant: float | None = None,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._x, self._targets, self._map, self._constant = x, targets, feature_map, constant
        self._kept: dict[tuple[int, int], ArrayBlock] = {}
        self._tried: set[tuple[int, int]] = set()
        self._free = kept_bytes
        self.n = int(x.shape[0]) if hasattr(x, "shape") else len(x)
        self.m = feature_map.columns + (constant is not None)
        if len(targets) != self.n:
            raise DataError(f"There are {self.n} rows but {len(targets)} targets.")
        if self.n == 0:
            raise DataError("There are no rows; at least one is needed.")

    def blocks(self, stride: int = 1) -> Iterator[tuple[Block, Targets]]:
        """Every ``stride``-th row, mapped when it is asked for."""
        reach = stride * block_rows(self.m)
        for start in range(0, self.n, reach):
            rows = slice(start, min(start + reach, self.n), stride)
            yield self._block(rows), self._targets[rows]

    def _block(self, rows: slice) -> ArrayBlock:
        place = rows.start, rows.step  # a minimizer goes over a thinned table many times
        if place in self._kept:
            return self._kept[place]
        part = self._x[rows]
        features, factors = mapped(self._map, part)
        if place not in self._tried:
            expect_alone(self._map, part)
            self._tried.add(place)
        block = ArrayBlock(features, features.T, factors, self._constant)
        if features.nbytes <= self._free:
            self._kept[place] = block
            self._free -= features.nbytes
        return block


@dataclass(frozen=True)
class MapView:
    """Rows seen through a map, as a value that can be sent to whoever reads them."""

    feature_map: FeatureMap

    def __call__(self, x: Any, codes: Targets) -> MappedRows:
        """The mapped rows."""
        return MappedRows(x, codes, self.feature_map)


def mapped(feature_map: FeatureMap, x: Any) -> tuple[Array, Array | None]:
    """Features of a block and the factors that clip them; refuses what is not a number.

    A map may lay them out row after row or feature after feature, whichever it makes faster.
    """
    features = np.asarray(feature_map(x))
    if features.shape[1:] != (feature_map.columns,):  # a sparse matrix has no shape here
        raise DataError("A feature map must return one row of its declared columns per row.")
    return in_ball(features, feature_map.norm)


def expect_alone(feature_map: FeatureMap, x: Any) -> None:
    """Refuse a map that looks at the rows beside, tried on a block's first few.

    One row would move the features of all others, which no bound on one row covers. A row keeps its
    place among as many, since sums round by the shape of a block, which is public.
    """
    few = x[:FEW]
    features = mapped(feature_map, few)[0]
    last = len(features) - 1
    for place in (0, last) if last > 0 else ():
        again, here = mapped(feature_map, repeated(few, place))[0], features[place]
        near = SAME * (feature_map.norm + float(np.abs(here).max()))
        if len(again) != last + 1 or not np.abs(here - again[place]).max() <= near:
            raise DataError(
                "The features of a row change with the rows beside it, or from call to call. A "
                "feature map must map each row by itself: use no mean, maximum or other number of "
                "the whole block."
            )


def repeated(objects: Any, place: int) -> Any:
    """As many copies of the one at ``place``: rows of a table, or objects in a list."""
    count = objects.shape[0] if hasattr(objects, "shape") else len(objects)
    if hasattr(objects, "shape"):
        return objects[[place] * count]
    return [objects[place]] * count
