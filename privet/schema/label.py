"""The declared label, and the person to whom rows belong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.schema.cells import Cells, Index, Value, lookup, text_of
from privet.schema.columns import Mark, Misdeclared, mark, text, values

MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class Label:
    """The column to predict and its declared classes: all text, all whole numbers or all booleans.

    A row whose label is missing or not declared is not dropped, for that would change the public
    number of rows: it becomes constant, with zero features and the class ``missing`` (without it,
    the first one).
    """

    name: str
    classes: tuple[Value, ...]
    missing: Value | None = None
    from_data: Mark = False

    def __post_init__(self) -> None:
        text("name", self.name)
        if self.name == "?":
            raise Misdeclared("name is still '?'. Name the column to predict.", "name")
        object.__setattr__(self, "classes", values("classes", self.classes, fewest=2))
        mark(self.from_data)
        if len({type(value) for value in self.classes}) > 1:
            raise Misdeclared(
                "classes must be all text, all whole numbers or all booleans.", "classes"
            )
        if self.missing is not None and self._place(self.missing) < 0:
            raise Misdeclared("missing must be one of the classes.", "missing")

    def _place(self, value: Value) -> int:
        same = [text_of(known) == text_of(value) for known in self.classes]
        return same.index(True) if any(same) else -1

    @property
    def missing_code(self) -> int:
        """The place of the class that rows without a label take."""
        return 0 if self.missing is None else self._place(self.missing)

    def codes(self, cells: Cells) -> Index:
        """Each row's class by its place; -1 where it is missing or not declared."""
        return cells.codes(lookup(self.classes))

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Classes as they were declared."""
        return np.asarray(np.array(self.classes)[codes])


@dataclass(frozen=True)
class Person:
    """The column that says whose row it is, and how many rows of one person may count.

    All rows without a person count as one person's.
    """

    column: str
    most_rows: int

    def __post_init__(self) -> None:
        text("column", self.column)
        most = self.most_rows
        known = isinstance(most, int | np.integer) and not isinstance(most, bool)
        if not known or not 1 <= most <= MOST_ROWS:
            raise Misdeclared(
                f"most_rows must be a whole number from 1 to {MOST_ROWS:,}, got {most!r}.",
                "most_rows",
            )
        object.__setattr__(self, "most_rows", int(most))


class Allowance:
    """Counts each person's rows through the batches of one table."""

    def __init__(self, person: Person) -> None:
        self._most = person.most_rows
        self._used: dict[str | None, int] = {}

    def spent(self, cells: Cells) -> NDArray[np.bool_]:
        """Which rows come after their person's last allowed one, in the order of the table."""
        kinds, index = cells.distinct()
        people: dict[str | None, int] = {}
        place = np.array([people.setdefault(text_of(k), len(people)) for k in kinds], dtype=np.intp)
        whose = place[index]
        before = np.array([self._used.get(name, 0) for name in people], dtype=np.intp)
        counts = np.bincount(whose, minlength=len(people))
        for name, count in zip(people, counts.tolist(), strict=True):
            self._used[name] = self._used.get(name, 0) + count
        return np.asarray(_turn(whose, counts) + before[whose] >= self._most)


def _turn(groups: Index, counts: NDArray[Any]) -> Index:
    """How many earlier rows have the same group."""
    order = np.argsort(groups, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    turn = np.empty(len(groups), dtype=np.intp)
    turn[order] = np.arange(len(groups)) - starts[groups[order]]
    return turn
