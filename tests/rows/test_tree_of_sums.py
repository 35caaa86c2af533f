"""Many units on a cluster are added up by tasks, in a tree: each of them once, whatever its size.

A row that is added twice counts twice in every sum, and no count of the rows would tell. The tests
with workers have fewer units than a task joins; here a client without workers has any number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet._types import Array, Targets
from privet.models.row_view import RowView
from privet.rows import Rows
from privet.rows.chunks import Chunk, HeldUnit, Sums
from privet.rows.dask import FAN_IN, DaskEngine
from privet.rows.engine import Block, Parts
from privet.rows.streamed import Source


class Done:
    """A task that was run at once, and its arguments' results."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.found = function(*map(_given, args))

    def result(self, timeout: float) -> Any:
        """What it returned."""
        return self.found


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return [_given(each) for each in value]
    return value.found if isinstance(value, Done) else value


class Here:
    """A client that runs each task where it is submitted."""

    def submit(self, function: Callable[..., Any], *args: Any, pure: bool) -> Done:
        """Run it."""
        return Done(function, *args)


def engine() -> DaskEngine:
    """An engine without a cluster."""
    made = DaskEngine.__new__(DaskEngine)
    made.client, made.name, made.persisted = Here(), "nobody", False
    return made


def view(x: Any, codes: Any) -> Rows:
    return RowView(None, 1e9).rows(x, codes)


def totals(block: Block, y: Targets) -> Parts:
    """Columns and the number of rows."""
    return block.pull(np.ones((len(y), 1)))[0], np.array([float(len(y))])


def units(x: Array, each: int) -> list[HeldUnit]:
    """Units of this many rows."""
    return [
        HeldUnit((chunk(start, x[start : start + each]),), start, each)
        for start in range(0, len(x), each)
    ]


def chunk(start: int, x: Array) -> Chunk:
    """Rows from this number on."""
    return Chunk(start, x, np.zeros(len(x)), np.zeros(len(x), dtype=np.intp))


@pytest.mark.parametrize("count", [1, FAN_IN, FAN_IN + 1, 3 * FAN_IN - 1, FAN_IN**2 + 5])
def test_each_unit_is_added_once(count: int) -> None:
    """Powers of two, so that nothing is rounded, and the numbers of all rows in their order."""
    x = np.repeat(2.0 ** -(np.arange(count) % 30)[:, None], 3, axis=0) * [[1.0, 2.0]]
    made = units(x, 3)
    source = Source(made, tuple((unit.start, unit.rows) for unit in made), 2, engine())
    found, rows = (total.value for total in source.ask(Sums(view, totals, ())))
    np.testing.assert_array_equal(found, x.sum(axis=0))
    assert rows == len(x)
    numbers = [number for each in source.each(starts) for number in each]
    assert numbers == list(range(len(x)))


def starts(chunk: Chunk) -> list[int]:
    """The numbers of a chunk's rows."""
    return list(range(chunk.start, chunk.start + len(chunk)))
