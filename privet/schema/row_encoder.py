"""Rows as a program sends them, one mapping of plain cells each, encoded without a data frame.

A frame costs milliseconds to make, which is nothing for a table and too much for the one row of a
request. The cells mean the same here as in ``privet.schema.cells``, and the encoded rows are those
of ``Schema.encode_features`` (a test compares them).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privet._types import Array
from privet.errors import DataError
from privet.schema.cells import lookup, number_of
from privet.schema.columns import Categorical, Numeric
from privet.schema.declarations import Declarations
from privet.schema.encode import normalized_rows

#: What a cell of a row may be; a list or a mapping is no cell.
PLAIN = (str, int, float, bool, type(None))
ENDLESS = (math.inf, -math.inf)


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
            self._check(row)
        out = np.zeros((len(rows), self.schema.width))
        if self._numbers:
            cells = [[number_of(row[name]) for name, _, _ in self._numbers] for row in rows]
            out[:, self._at] = self._scale(np.array(cells, dtype=np.float64)) * self._factor
        for i, row in enumerate(rows):
            for name, start, place, other in self._places:
                code = place(row[name])
                if code < 0:
                    code = other
                if code >= 0:
                    out[i, start + code] = self._factor
        if self.schema.rows == "unit":
            normalized_rows(out, len(self.names))
        return out

    def _check(self, row: Mapping[str, Any]) -> None:
        if row.keys() != self._known:
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
        for name, cell in row.items():
            if not isinstance(cell, PLAIN) or cell in ENDLESS:
                raise DataError(
                    f"The cell {name!r} must be a finite number, a text, true, false or null."
                )


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
