"""The person to whom rows belong, and which of a person's rows count.

At most ``k`` rows with one identifier count, the first ones in the order of the table. Every other
row, and every row without an identifier, becomes a constant. Replacing all the rows of one person
then changes at most ``k`` encoded rows: ``persons.proof.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from privet._checks import is_whole, shown
from privet._types import Flags
from privet.schema.cells import Cells, Index, text_of
from privet.schema.declared_values import Misdeclared, text

MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class Person:
    """The column that says whose row it is, and how many rows of one person count.

    The first ``most_rows`` rows with an identifier count; further ones become constant. So does
    every row without an identifier: nobody could say how many of those are one person's.

    Parameters
    ----------
    column : str
        The identifiers. Somebody with two identifiers counts as two persons.
    most_rows : int
        From 1 to a million.
    """

    column: str
    most_rows: int

    def __post_init__(self) -> None:
        text("column", self.column)
        most = self.most_rows
        if not is_whole(most) or not 1 <= most <= MOST_ROWS:
            raise Misdeclared(
                f"most_rows must be a whole number from 1 to {MOST_ROWS:,}, got {shown(most)}.",
                "most_rows",
            )
        object.__setattr__(self, "most_rows", int(most))


def identifier(cell: Any) -> str | None:
    """The text that persons are told apart by; None where there is none."""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:d}" if abs(cell) < 1 << 64 else f"{cell:#x}"  # a UUID as a whole number
    if isinstance(cell, UUID):
        return str(cell)
    return text_of(cell)


class Allowance:
    """Counts each person's rows through the batches of one table."""

    def __init__(self, person: Person) -> None:
        self.most = person.most_rows
        self._used: dict[str, int] = {}

    def spent(self, cells: Cells) -> Flags:
        """Which rows do not count: without an identifier, or after the person's last allowed."""
        turns = self.turns(cells)
        return np.asarray((turns < 0) | (turns >= self.most))

    def turns(self, cells: Cells) -> Index:
        """How many earlier rows of the table have the same identifier; -1 without one."""
        kinds, index = cells.distinct()
        people: dict[str | None, int] = {None: 0}
        place = [people.setdefault(identifier(kind), len(people)) for kind in kinds]
        whose = np.array(place, dtype=np.intp)[index]
        counts = np.bincount(whose, minlength=len(people))
        named = [name for name in people if name is not None]
        before = np.array([0, *(self._used.get(name, 0) for name in named)], dtype=np.intp)
        for name, count in zip(named, counts[1:].tolist(), strict=True):
            self._used[name] = self._used.get(name, 0) + count
        return np.where(whose == 0, -1, _turn(whose, counts) + before[whose])


def _turn(groups: Index, counts: NDArray[Any]) -> Index:
    """How many earlier rows have the same group."""
    order = np.argsort(groups, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    turn = np.empty(len(groups), dtype=np.intp)
    turn[order] = np.arange(len(groups)) - starts[groups[order]]
    return turn
