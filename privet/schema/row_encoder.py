"""Rows as a program sends them, one mapping of plain cells each, encoded without a data frame.

A frame costs milliseconds to make, which is nothing for a table and too much for the one row of a
request. The cells mean the same here as in ``privet.schema.cells``, and the encoded rows are those
of ``Schema.encode_features`` (a test compares them).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NoReturn, cast

import numpy as np

from privet._types import Array
from privet.errors import DataError
from privet.schema.cells import lookup, number_of, text_of
from privet.schema.columns import Categorical, Numeric
from privet.schema.declarations import Declarations
from privet.schema.packed import normalized_rows
from privet.schema.scales import put_shares

#: What a cell of a row may be; a list or a mapping is no cell.
PLAIN = {str, int, float, bool, type(None)}
ENDLESS = {math.inf, -math.inf}


class RowEncoder:
    """What is looked up once for a schema, and used for every row.

    Parameters
    ----------
    schema : Declarations
        What is public about the table.
    """

    def __init__(self, schema: Declarations) -> None:
        self.schema = schema
        self.names = tuple(schema.columns)
        self._known = frozenset(self.names)
        only = self.names[0]
        self._cells: Callable[[Mapping[str, Any]], tuple[Any, ...]] = (
            itemgetter(*self.names) if len(self.names) > 1 else lambda row: (row[only],)
        )
        self._width = schema.width
        self._factor = 1.0 if schema.rows == "unit" else schema.factor
        starts = np.cumsum([0, *(column.width for column in schema.columns.values())]).tolist()
        columns = list(enumerate(schema.columns.values()))
        numbers = [(i, column) for i, column in columns if isinstance(column, Numeric)]
        self._numbers = [i for i, _ in numbers]
        self._scale = _Scale([column for _, column in numbers])
        straight = [j for j, (_, column) in enumerate(numbers) if column.knots is None]
        self._straight = np.array(straight, dtype=np.intp)
        self._at = np.array([starts[self._numbers[j]] for j in straight], dtype=np.intp)
        self._bent = [
            (j, column, starts[i]) for j, (i, column) in enumerate(numbers) if column.knots
        ]
        self._places = [
            (i, _Places(column, starts[i]))
            for i, column in columns
            if isinstance(column, Categorical)
        ]

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Array:
        """Encoded rows; each row must have a plain cell, or None, for every declared column."""
        cells = self._columns(rows)
        kinds = [self._kinds(i, column) for i, column in enumerate(cells)]
        out = np.zeros((len(rows), self._width))
        if self._numbers:
            if any(str in kinds[i] for i in self._numbers):
                values = np.array([self._parsed(i, cells[i]) for i in self._numbers])
            else:
                values = _as_numbers([cells[i] for i in self._numbers])
            places = self._scale(values.T)
            out[:, self._at] = places[:, self._straight] * self._factor
            for j, column, start in self._bent:
                put_shares(places[:, j], out[:, start : start + column.width], self._factor)
        if self._places:
            spots = np.array([places(cells[i]) for i, places in self._places])
            which, row = np.nonzero(spots >= 0)
            out[row, spots[which, row]] = self._factor
        if self.schema.rows == "unit":
            normalized_rows(out, len(self.names))
        return out

    def _columns(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
        """The cells of each column, in the schema's order."""
        if set(map(len, rows)) == {len(self.names)}:
            try:
                return list(zip(*map(self._cells, rows), strict=True))
            except KeyError:
                pass
        for row in rows:
            if row.keys() != self._known:
                self._refuse(row)
        raise DataError("There are no rows.")

    def _kinds(self, i: int, column: tuple[Any, ...]) -> set[type]:
        kinds = set(map(type, column))
        if not kinds <= PLAIN or (float in kinds and not ENDLESS.isdisjoint(column)):
            raise DataError(
                f"The cell {self.names[i]!r} must be a finite number, a text, true, false or null."
            )
        return kinds

    def _parsed(self, i: int, column: tuple[Any, ...]) -> Array:
        """``number_of`` each cell; a text that is no number was not meant to be a missing cell."""
        found = np.array([number_of(cell) for cell in column], dtype=np.float64)
        for cell, number in zip(column, found.tolist(), strict=True):
            if isinstance(cell, str) and cell.strip() and not math.isfinite(number):
                raise DataError(
                    f"The cell {self.names[i]!r} must be a number; a text stands there. null is a "
                    "missing cell."
                )
        return found

    def _refuse(self, row: Mapping[str, Any]) -> NoReturn:
        absent = [name for name in self.names if name not in row]
        if absent:
            raise DataError(
                f"A row has no cell {absent[0]!r}. Give every column of the schema; null is a "
                "missing cell."
            )
        raise DataError(
            "A row has a cell that the schema does not declare. The columns are "
            f"{', '.join(self.names[:20])}{' ...' if len(self.names) > 20 else ''}."
        )


def _as_numbers(columns: list[tuple[Any, ...]]) -> Array:
    """``number_of`` each where there is no text: numpy does the same at once."""
    try:
        return np.array(columns, dtype=np.float64)
    except OverflowError:  # a whole number beyond the largest float
        return np.array([[number_of(cell) for cell in column] for column in columns])


class _Places:
    """Where the cells of a categorical column have their one; -1: nowhere."""

    def __init__(self, column: Categorical, start: int) -> None:
        self._place, self._start = lookup(column.categories), start
        self._other = start + len(column.categories) if column.other else -1
        texts = [text for text in map(text_of, column.categories) if text is not None]
        # the spelling that nearly all cells have; nothing that was asked is kept
        self._usual = {text: self._found(text) for text in texts}

    def _found(self, cell: Any) -> int:
        place = self._place(cell)
        return self._start + place if place >= 0 else self._other

    def __call__(self, cells: tuple[Any, ...]) -> list[int]:
        """One for each cell, which is a plain one."""
        found = list(map(self._usual.get, cells))
        if None not in found:
            return cast("list[int]", found)
        return [self._found(c) if f is None else f for c, f in zip(cells, found, strict=True)]


class _Scale:
    """All numeric columns of a schema at once: ``Numeric.positions`` of each."""

    def __init__(self, columns: list[Numeric]) -> None:
        self._low = np.array([column.low for column in columns])
        self._high = np.array([column.high for column in columns])
        self._gap = np.array([np.nan if c.missing is None else c.missing for c in columns])
        self._log = np.array([c.log and c.low > 0 for c in columns], dtype=bool)
        self._log1p = np.array([c.log and c.low == 0 for c in columns], dtype=bool)
        self._start, end = self._stretched(self._low), self._stretched(self._high)
        self._half = (end - self._start) / 2.0

    def _stretched(self, values: Array) -> Array:
        out = values.copy()
        if self._log.any():
            out[..., self._log] = np.log(values[..., self._log])
        if self._log1p.any():
            out[..., self._log1p] = np.log1p(values[..., self._log1p])
        return out

    def __call__(self, values: Array) -> Array:
        values = np.where(np.isnan(values), self._gap, values)
        # minimum and maximum: numpy's clip takes ten times as long for a row
        inside = self._stretched(np.minimum(np.maximum(values, self._low), self._high))
        places = (inside - self._start) / self._half - 1.0
        places = np.minimum(np.maximum(places, -1.0), 1.0)
        return np.where(np.isnan(places), 0.0, places)
