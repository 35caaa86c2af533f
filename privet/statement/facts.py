"""What a statement is made of: facts in sections, as frozen values.

Text, deployment card and page are written from one ``Facts`` by loops that know nothing of its
content, so none of them can say what the others do not. Everything here is public.

The words are in ``wording.toml``, one file to read and to translate. A fact's name and its sentence
are looked up by ``section.fact``; a second sentence of the same fact by its own name there. A word
in braces that is not filled in, or a key that is not there, is an error: no statement is written
with a hole in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import cache
from importlib.resources import files
from typing import Any

from privet._files import printable


@dataclass(frozen=True)
class Table:
    """Rows of words under their headings.

    Attributes
    ----------
    columns : tuple of str
        The headings.
    rows : tuple of tuples of str
        The cells.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(tuple(printable(cell) for cell in row) for row in self.rows)
        object.__setattr__(self, "rows", rows)


@dataclass(frozen=True)
class Fact:
    """One thing that is stated: a sentence, a list or a table, and a value for programs.

    Attributes
    ----------
    key : str
        The card's field: stays for ever.
    name : str
        What people read.
    text : str
        The sentence.
    items : tuple of str
        A list below it.
    table : Table or None
        A table below it.
    value : object
        Plain JSON; None where the words are all there is.
    """

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
        """Everything that a reader sees of it.

        Yields
        ------
        str
            Name, text, items and cells.
        """
        yield from filter(None, (self.name, self.text, *self.items))
        if self.table is not None:
            yield from self.table.columns
            yield from (cell for row in self.table.rows for cell in row)


@dataclass(frozen=True)
class Section:
    """Facts that belong together.

    Attributes
    ----------
    key : str
        The card's field.
    title : str
        What people read.
    facts : tuple of Fact
        In the order of the statement.
    """

    key: str
    title: str
    facts: tuple[Fact, ...]

    def __getitem__(self, key: str) -> Fact:
        return next(fact for fact in self.facts if fact.key == key)


@dataclass(frozen=True)
class Facts:
    """A whole statement: what is promised, what it rests on, and what must be shouted.

    Attributes
    ----------
    model : str
        What kind of model it is about.
    title : str
        The statement's first line.
    private : bool
        Whether anything is promised.
    headline : str
        The numbers.
    kind : str
        What kind of numbers, and of whom.
    alarms : tuple of str
        First in every format: void promise, broken ledger.
    sections : tuple of Section
        In the order of the statement.
    record : dict
        The guarantee as the model file keeps it.
    """

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


# -- the words ----------------------------------------------------------------------------------


@cache
def words() -> dict[str, Any]:
    """Everything in the file."""
    text = files("privet.statement").joinpath("wording.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def entry(where: str) -> Any:
    """What stands under ``section.fact.key``."""
    found: Any = words()
    for key in where.split("."):
        found = found[key]
    return found


def say(where: str, **fields: object) -> str:
    """The sentence under ``where``, filled in."""
    sentence: str = entry(where)
    return sentence.format(**fields)


def fact(
    where: str,
    variant: str = "text",
    *,
    items: Iterable[str] = (),
    cells: Iterable[tuple[str, ...]] | None = None,
    value: Any = None,
    **fields: Any,
) -> Fact:
    """The fact ``section.key``; ``cells`` go under the headings in its ``columns``."""
    return Fact(
        where.split(".")[-1],
        entry(f"{where}.name"),
        say(f"{where}.{variant}", **fields),
        items=tuple(items),
        table=None if cells is None else Table(tuple(entry(f"{where}.columns")), tuple(cells)),
        value=value,
    )


def section(key: str, facts: Iterable[Fact]) -> Section:
    """Facts under their section's title."""
    return Section(key, entry(f"{key}.title"), tuple(facts))
