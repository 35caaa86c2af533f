"""What a statement is made of: facts in sections, as frozen values.

Text, deployment card and page are written from one ``Facts`` by loops that know nothing of its
content, so none of them can say what the others do not. Everything here is public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

from privet._files import printable


@dataclass(frozen=True)
class Table:
    """Rows of words under their headings."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(tuple(printable(cell) for cell in row) for row in self.rows)
        object.__setattr__(self, "rows", rows)


@dataclass(frozen=True)
class Fact:
    """One thing that is stated: a sentence, a list or a table, and a value for programs."""

    key: str  # the card's field: stays for ever
    name: str  # what people read
    text: str = ""
    items: tuple[str, ...] = ()
    table: Table | None = None
    value: Any = None  # plain JSON; None where the words are all there is

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", printable(self.text))
        object.__setattr__(self, "items", tuple(printable(item) for item in self.items))

    def words(self) -> Iterator[str]:
        """Everything that a reader sees of it."""
        yield from filter(None, (self.name, self.text, *self.items))
        if self.table is not None:
            yield from self.table.columns
            yield from (cell for row in self.table.rows for cell in row)


@dataclass(frozen=True)
class Section:
    """Facts that belong together."""

    key: str
    title: str
    facts: tuple[Fact, ...]

    def __getitem__(self, key: str) -> Fact:
        return next(fact for fact in self.facts if fact.key == key)


@dataclass(frozen=True)
class Facts:
    """A whole statement: what is promised, what it rests on, and what must be shouted."""

    model: str
    title: str  # the statement's first line
    private: bool
    headline: str  # the numbers
    kind: str  # what kind of numbers, and of whom
    alarms: tuple[str, ...]  # first in every format: void promise, broken ledger
    sections: tuple[Section, ...]
    record: dict[str, Any]  # the guarantee as the model file keeps it

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", printable(self.model))
        object.__setattr__(self, "title", printable(self.title))
        object.__setattr__(self, "headline", printable(self.headline))
        object.__setattr__(self, "kind", printable(self.kind))
        object.__setattr__(self, "alarms", tuple(printable(alarm) for alarm in self.alarms))

    def __getitem__(self, key: str) -> Section:
        return next(section for section in self.sections if section.key == key)


def at_most(number: float, digits: int = 3) -> str:
    """An upper bound in words of this many digits, never rounded below the number."""
    # a sum that should be 0.3 is not to become 0.301
    return _rounded(number * (1.0 - 1e-12), digits, ROUND_CEILING)


def at_least(number: float, digits: int = 3) -> str:
    """A lower bound in words of this many digits, never rounded above the number."""
    return _rounded(number * (1.0 + 1e-12), digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, rounding: str) -> str:
    decimal = Context(prec=digits, rounding=rounding).create_decimal(repr(number))
    return f"{float(decimal):.{digits}g}"


def percent(share: float) -> str:
    """A share as an upper bound in per cent."""
    return f"{at_most(100.0 * share)} %"
