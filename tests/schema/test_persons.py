"""Persons: the tables that a statement compares, enumerated, change at most k encoded rows."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from functools import cache
from typing import Any

import pandas as pd
import pytest

from privet.schema import Label, Numeric, Person, Schema

Ids = tuple[str | None, ...]
ROWS = 4
NAMES: tuple[str | None, ...] = (None, "a", "b", "c")
TABLES: list[Ids] = list(itertools.product(NAMES, repeat=ROWS))
SETS = [
    frozenset(chosen)
    for size in range(1, ROWS + 1)
    for chosen in itertools.combinations(range(ROWS), size)
]


@cache
def encoded(ids: Ids, changed: frozenset[int], most: int) -> tuple[float, ...]:
    """Encoded rows of a table whose rows in ``changed`` hold other cells than the rest; 0 is c."""
    schema = Schema({"x": Numeric(-1, 1)}, Label("y", [0, 1]), Person("id", most))
    table = pd.DataFrame(
        {
            "x": [-1.0 if i in changed else 1.0 for i in range(ROWS)],
            "y": [1] * ROWS,
            "id": pd.Series(ids, dtype=object),
        }
    )
    return tuple(schema.encode(table, as_rows=True).x[:, 0].tolist())


def differing(one: Ids, two: Ids, replaced: frozenset[int], most: int) -> int:
    first, second = encoded(one, frozenset(), most), encoded(two, replaced, most)
    return sum(a != b for a, b in zip(first, second, strict=True))


def one_person(ids: Ids, rows: frozenset[int]) -> bool:
    """As printed: these rows share a value that no other row has, or all have none."""
    shared = {ids[i] for i in rows}
    others = {ids[i] for i in range(ROWS) if i not in rows} - {None}
    return len(shared) == 1 and not shared & others


def pairs(rows: frozenset[int]) -> Iterator[tuple[Ids, Ids]]:
    """Tables that are equal outside of ``rows``, identifiers included."""
    for one in TABLES:
        for names in itertools.product(NAMES, repeat=len(rows)):
            two = list(one)
            for i, name in zip(sorted(rows), names, strict=True):
                two[i] = name
            yield one, tuple(two)


@pytest.mark.parametrize("most", [1, 2])
def test_neighbors_as_printed_change_at_most_k_encoded_rows(most: int) -> None:
    worst = 0
    for rows in SETS:
        for one, two in pairs(rows):
            if one_person(one, rows) and one_person(two, rows):
                changes = differing(one, two, rows, most)
                assert changes <= most, (one, two, rows)
                worst = max(worst, changes)
    assert worst == most


@pytest.mark.parametrize("most", [1, 2])
def test_wider_neighbors_change_twice_as_many(most: int) -> None:
    """Why the statement names a value that no other row has, and all rows of the person."""
    worst = {"there already": 0, "in some rows only": 0}
    for rows in SETS:
        for one, two in pairs(rows):
            if not one_person(one, rows):
                continue
            names = {two[i] for i in rows}
            changes = differing(one, two, rows, most)
            if len(names) == 1 and not one_person(two, rows):
                worst["there already"] = max(worst["there already"], changes)
            if len(names) == 2 and None in names and one_person(two, named(two, rows)):
                worst["in some rows only"] = max(worst["in some rows only"], changes)
    assert worst == {"there already": 2 * most, "in some rows only": 2 * most}


def named(ids: Ids, rows: frozenset[int]) -> frozenset[int]:
    return frozenset(i for i in rows if ids[i] is not None)


@pytest.mark.parametrize(
    "cells",
    [
        [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=1), None],
        [2**100, 2**100 + 1, 2**100, None],
        [2**53 + 1, 2**53, 2**53 + 1, None],
        ["1", 2, 1.0, " "],
        [True, False, True, float("nan")],
    ],
    ids=["uuid", "large", "whole", "mixed", "boolean"],
)
def test_identifiers_of_every_kind_tell_persons_apart(cells: list[Any]) -> None:
    schema = Schema({"x": Numeric(-1, 1)}, Label("y", [0, 1]), Person("id", 1))
    table = pd.DataFrame({"x": [1.0] * 4, "y": [1] * 4, "id": pd.Series(cells, dtype=object)})
    assert schema.encode(table, as_rows=True).x.any(axis=1).tolist() == [True, True, False, False]
