"""From a table to rows of the unit ball, batch by batch into one array.

An encoded row is a function of its row and the declarations, except that a person's rows beyond the
allowed number, and rows without a person where one is declared, become constant. Rows are never
dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privet._types import Codes, Flags
from privet.errors import DeclarationError
from privet.schema.cells import Cells
from privet.schema.columns import Label
from privet.schema.declarations import Declarations
from privet.schema.packed import Packed, Packing, Parts
from privet.schema.persons import Allowance
from privet.schema.tables import Batch, OpenTable, open_table
from privet.schema.target import Target


class Encoded(NamedTuple):
    """Features in the unit ball (n x width) and declared classes, or numbers (n)."""

    x: NDArray[Any]
    y: NDArray[Any]


class _Growing:
    """An array whose rows are appended in place: allocated once where the size is known.

    A table of unknown size grows by the operating system's reallocation, which moves pages rather
    than copies, so it is never in memory twice.
    """

    def __init__(self, n: int | None, width: tuple[int, ...], dtype: DTypeLike) -> None:
        try:
            self._array: NDArray[Any] = np.zeros((n or 0, *width), dtype=dtype)
        except (MemoryError, ValueError):  # a file may claim any number of rows
            self._array = np.zeros((0, *width), dtype=dtype)
        self._width, self._end = width, 0

    def take(self, count: int) -> NDArray[Any]:
        """The next ``count`` rows, all zero."""
        start, self._end = self._end, self._end + count
        if self._end > len(self._array):
            room = max(self._end, len(self._array) * 9 // 8)
            self._array.resize((room, *self._width), refcheck=False)
        return self._array[start : self._end]

    def finished(self) -> NDArray[Any]:
        """The rows that were taken."""
        if self._end < len(self._array):
            self._array.resize((self._end, *self._width), refcheck=False)
        return self._array


def encode(schema: Declarations, table: Any, dtype: DTypeLike) -> Encoded:
    """Features and labels of a table."""
    opened, names = open_table(table, schema.file), list(schema.columns)
    person = schema.person
    names += [schema.label.name] + ([] if person is None else [person.column])
    allowance = None if person is None else Allowance(person)
    x, codes = _features(schema, opened, dtype), _Growing(opened.n, (), schema.label.code_type)
    packing = Packing(schema)
    for batch in opened.batches(names):
        found, constant = _labels(schema.label, batch.cells(schema.label.name))
        if person is not None and allowance is not None:
            constant |= allowance.spent(batch.cells(person.column))
        out = x.take(len(batch))
        packing.put(_read(schema, batch), out)
        out[constant] = 0.0
        codes.take(len(batch))[:] = np.where(constant, schema.label.missing_code, found)
    return Encoded(x.finished(), schema.label.decode(codes.finished()))


def _labels(label: Label | Target, cells: Cells) -> tuple[NDArray[Any], Flags]:
    """Each row's label as a code, and which rows have none."""
    if isinstance(label, Target):
        numbers = label.codes(cells)
        return numbers, label.unknown(numbers)
    codes = label.codes(cells)
    return codes, label.unknown(codes)


def encode_features(schema: Declarations, table: Any, dtype: DTypeLike) -> NDArray[Any]:
    """Features alone, for prediction: no label, and every row of a person."""
    opened = open_table(table, schema.file)
    x, packing = _features(schema, opened, dtype), Packing(schema)
    for batch in opened.batches(list(schema.columns)):
        packing.put(_read(schema, batch), x.take(len(batch)))
    return x.finished()


@dataclass(frozen=True)
class ChunkEncoder:
    """Encodes batches of a table that is read in parts, each row by itself.

    ``label``: with each row's label; without one, for prediction, all are at place 0. ``group``
    names a categorical column whose places are wanted beside the features.
    """

    schema: Declarations
    label: bool = True
    group: str | None = None

    def __post_init__(self) -> None:
        if self.label and self.schema.person is not None:
            raise DeclarationError(
                "A schema that bounds the rows of a person needs the table in memory: a person's "
                "rows may lie anywhere in it. Pass the table to one machine that holds it (engine "
                "'memory'), or make a table with one row for each person."
            )

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [*self.schema.columns, *([self.schema.label.name] if self.label else [])]

    @cached_property
    def packing(self) -> Packing:
        """How rows are kept in few bytes."""
        return Packing(self.schema)

    def parts(self, batch: Batch) -> Parts:
        """What was read of each column, and of the label."""
        found = _read(self.schema, batch)
        if self.label:
            label = self.schema.label
            found = *found, label.codes(batch.cells(label.name))
        return found

    def rows(self, parts: Parts) -> tuple[Packed, NDArray[Any], Codes]:
        """Features, places of the labels, places of the groups (none: 0)."""
        count, label = len(parts[0]), self.schema.label
        features = parts[: len(self.schema.columns)]
        codes: NDArray[Any] = np.zeros(count, dtype=np.intp)
        constant: Flags = np.zeros(count, dtype=np.bool_)
        groups: Codes = codes
        if self.label:
            constant = label.unknown(parts[-1])
            codes = np.where(constant, label.missing_code, parts[-1]).astype(label.code_type)
        if self.group is not None:
            groups = features[list(self.schema.columns).index(self.group)].astype(np.intp)
        return Packed(self.packing, features, constant), codes, groups


def _features(schema: Declarations, table: OpenTable, dtype: DTypeLike) -> _Growing:
    if np.dtype(dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise DeclarationError("dtype must be float64 or float32.")
    return _Growing(table.n, (schema.width,), dtype)


def _read(schema: Declarations, batch: Batch) -> Parts:
    return tuple(column.read(batch.cells(name)) for name, column in schema.columns.items())
