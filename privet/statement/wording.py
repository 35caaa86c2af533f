"""The words of the statement: ``wording.toml``, one file to read and to translate.

A fact's name and its sentence are looked up by ``section.fact``; a second sentence of the same fact
by its own name there. A word in braces that is not filled in, or a key that is not there, is an
error: no statement is written with a hole in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from privet.statement.facts import Fact, Section, Table


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
