"""Rows that stay in memory are checked once by each view, and every view sees its own."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from privet._types import Targets
from privet.models.row_view import RowView
from privet.rows.chunks import Chunk, HeldUnit, Sums
from privet.rows.engine import Block, Parts, Rows


@dataclass(frozen=True)
class Counting:
    """A view that counts how often it was asked."""

    bound: float
    asked: list[int] = field(default_factory=list)

    def __call__(self, x: Any, codes: Any) -> Rows:
        """Rows within the bound."""
        self.asked.append(len(x))
        return RowView(None, self.bound).rows(x, codes)


def column_sums(block: Block, y: Targets) -> Parts:
    """Of the bounded rows."""
    return (block.pull(np.ones((len(y), 1))),)


@pytest.fixture
def chunk() -> Chunk:
    """Rows that are longer than some bounds."""
    x = np.random.default_rng(0).normal(size=(5_000, 4))
    return Chunk(0, x, np.zeros(5_000), np.zeros(5_000, dtype=int))


def total(view: Counting, chunk: Chunk, token: bytes) -> Any:
    """The sum of a pass."""
    return Sums(view, column_sums, (), token=token)([chunk])[0].value


def test_views_of_the_same_rows_take_turns(chunk: Chunk) -> None:
    held, views = chunk.kept(), {b"one": Counting(1.0), b"two": Counting(0.1)}
    for token in (b"one", b"two", b"one", b"one", b"one"):
        fresh = total(Counting(views[token].bound), chunk, token)
        assert np.array_equal(total(views[token], held, token), fresh)
    # two pieces of at most 4,096 rows each time that the view is another one than before
    assert [len(view.asked) for view in views.values()] == [4, 2]


def test_rows_that_are_read_anew_are_checked_anew(chunk: Chunk) -> None:
    view = Counting(1.0)
    for _ in range(3):
        total(view, chunk, b"one")
    assert len(view.asked) == 6


def test_what_was_checked_is_not_sent(chunk: Chunk) -> None:
    held = chunk.kept()
    before = len(pickle.dumps(held))
    total(Counting(1.0), held, b"one")
    assert len(pickle.dumps(held)) == before
    view = Counting(1.0)
    total(view, pickle.loads(pickle.dumps(held)), b"one")
    assert len(view.asked) == 2


def test_a_cluster_is_told_how_large_held_rows_are(chunk: Chunk) -> None:
    """Dask moves what it takes to be small to whichever worker is free, in every pass."""
    unit = HeldUnit((chunk.kept(), chunk.kept()), 0, 10_000)
    assert sys.getsizeof(unit) > 2 * chunk.x.nbytes
