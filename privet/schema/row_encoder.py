"""Rows as a program sends them, one mapping of plain cells each, encoded without a data frame.

A frame costs milliseconds to make, which is nothing for a table and too much for the one row of a
request. The cells mean the same here as in ``privet.schema.cells``, and the encoded rows are those
of ``Schema.encode_features`` (a test compares them).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from privet._types import Array
from privet.errors import DataError
from privet.schema.cells import lookup, number_of
from privet.schema.columns import Categorical, Numeric
from privet.schema.declarations import Declarations
from privet.schema.encode import normalized_rows

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
        self._factor = 1.0 if schema.rows == "unit" else schema.factor
        starts = np.cumsum([0, *(column.width for column in schema.columns.values())]).tolist()
        self._numbers = [
            (name, start, column)
            for (name, column), start in zip(schema.columns.items(), starts, strict=False)
            if isinstance(column, Numeric)
        ]
        self._places = [
            (name, start, lookup(column.categories), len(column.categories) if column.other else -1)
            for (name, column), start in zip(schema.columns.items(), starts, strict=False)
            if isinstance(column, Categorical)
        ]
        self._scale = _Scale([column for _, _, column in self._numbers])
        self._at = np.array([start for _, start, _ in self._numbers], dtype=np.intp)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Array:
        """Encoded rows; each row must have a plain cell, or None, for every declared column."""
        for row in rows:
            if row.keys() != self._known:
                self._refuse(row)
        cells = {name: [row[name] for row in rows] for name in self.names}
        for name, column in cells.items():
            _check(name, column)
        out = np.zeros((len(rows), self.schema.width))
        if self._numbers:
            values = np.array([_numbers(cells[name]) for name, _, _ in self._numbers]).T
            out[:, self._at] = self._scale(values) * self._factor
        for name, start, place, other in self._places:
            for i, code in enumerate(_codes(cells[name], place)):
                at = code if code >= 0 else other
                if at >= 0:
                    out[i, start + at] = self._factor
        if self.schema.rows == "unit":
            normalized_rows(out, len(self.names))
        return out

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


def _check(name: str, column: list[Any]) -> None:
    kinds = set(map(type, column))
    if not kinds <= PLAIN or (float in kinds and not ENDLESS.isdisjoint(column)):
        raise DataError(f"The cell {name!r} must be a finite number, a text, true, false or null.")


def _numbers(column: list[Any]) -> Array:
    """``number_of`` each; numpy does the same at once where there is no text."""
    if str not in set(map(type, column)):
        try:
            return np.array(column, dtype=np.float64)
        except OverflowError:  # a whole number beyond the largest float
            pass
    return np.array([number_of(cell) for cell in column], dtype=np.float64)


def _codes(column: list[Any], place: Callable[[Any], int]) -> list[int]:
    """``place`` of each; of many texts, once for each different one."""
    if len(column) < 8 or set(map(type, column)) != {str}:
        return [place(cell) for cell in column]
    known = {cell: place(cell) for cell in set(column)}
    return [known[cell] for cell in column]


class _Scale:
    """All numeric columns of a schema at once: ``Numeric.positions`` of each."""

    def __init__(self, columns: list[Numeric]) -> None:
        self._low = np.array([column.low for column in columns])
        self._high = np.array([column.high for column in columns])
        self._gap = np.array([np.nan if c.missing is None else c.missing for c in columns])
        self._log = np.array([c.log and c.low > 0 for c in columns], dtype=bool)
        self._log1p = np.array([c.log and c.low == 0 for c in columns], dtype=bool)
        self._start, end = self._stretched(self._low), self._stretched(self._high)
        self._length = end - self._start

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
        places = 2.0 * ((inside - self._start) / self._length) - 1.0
        places = np.minimum(np.maximum(places, -1.0), 1.0)
        return np.where(np.isnan(places), 0.0, places)
