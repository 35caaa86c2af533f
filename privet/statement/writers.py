"""The writers of a statement: plain text for a letter, JSON for programs, a page to sign.

The JSON is a deployment card with fields that stay:

    format, version     "privet-deployment-card", 1
    title, model        what it is about
    private             false: nothing is promised to anybody
    headline, kind      the promise in a line
    alarms              what every reader must see first
    <section>.<fact>    name, text; items, table, value where there are any
    guarantee           the record of the model file, exact

A field's meaning never changes; new fields may come, and a field that would have to change makes a
new version.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from privet._files import for_others, refuse_ledgers_place, write_whole
from privet.errors import DeclarationError, MissingExtra
from privet.statement.facts import Fact, Facts, Table, entry

WIDTH = 88
LABEL = 13  # columns for a fact's name, at least


def as_text(facts: Facts) -> str:
    """The statement as plain text: alarms, then every section, names left and words right.

    Parameters
    ----------
    facts : Facts
        The statement.

    Returns
    -------
    str
        Lines of at most 88 letters.
    """
    return "\n".join(_lines(facts))


def _lines(facts: Facts) -> Iterator[str]:
    yield facts.title
    yield _wrapped("", f"{facts.headline}: {facts.kind}", "")
    for alarm in facts.alarms:
        yield ""
        yield "!" * WIDTH
        yield textwrap.fill(alarm, WIDTH)
        yield "!" * WIDTH
    for section in facts.sections:
        yield ""
        yield section.title
        yield "-" * len(section.title)
        label = max(LABEL, *(len(fact.name) + 1 for fact in section.facts))
        for fact in section.facts:
            yield from _fact(fact, label)


def _fact(fact: Fact, label: int) -> Iterator[str]:
    hang = " " * label
    yield _wrapped(f"{fact.name:<{label}}", fact.text, hang)
    for item in fact.items:
        yield _wrapped(f"{hang}- ", item, f"{hang}  ")
    if fact.table is not None:
        yield from _table(fact.table, hang)


def labeled(name: str, words: str, label: int = 26) -> str:
    """A line of any table of words: ``name`` on the left, ``words`` wrapped on the right."""
    return _wrapped(f"  {name:<{label - 2}}", words, " " * label)


def _wrapped(lead: str, words: str, hang: str) -> str:
    wrapped = textwrap.fill(
        words,
        WIDTH,
        initial_indent=lead,
        subsequent_indent=hang,
        break_on_hyphens=False,
        break_long_words=False,  # a hash or a path is copied whole
    )
    return wrapped or lead.rstrip()  # a name with nothing to say of it


def _table(table: Table, hang: str) -> Iterator[str]:
    """Columns side by side, as wide as their widest cell; the last one is never padded."""
    every = (table.columns, *table.rows)
    widths = [max(len(row[i]) for row in every) for i in range(len(table.columns))]
    for row in every:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield (hang + "  ".join(cells)).rstrip()


# -- JSON ----------------------------------------------------------------------------------------

FORMAT = "privet-deployment-card"
VERSION = 1


def card(facts: Facts) -> dict[str, Any]:
    """The statement as plain values for JSON.

    Parameters
    ----------
    facts : Facts
        The statement.

    Returns
    -------
    dict
        The deployment card.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": facts.title,
        "model": facts.model,
        "private": facts.private,
        "headline": facts.headline,
        "kind": facts.kind,
        "alarms": list(facts.alarms),
        **{
            section.key: {fact.key: _field(fact) for fact in section.facts}
            for section in facts.sections
        },
        "guarantee": facts.record,
    }


def as_json(facts: Facts) -> str:
    """The statement as a deployment card.

    Parameters
    ----------
    facts : Facts
        The statement.

    Returns
    -------
    str
        JSON.
    """
    return json.dumps(card(facts), indent=2, allow_nan=False)


def _field(fact: Fact) -> dict[str, Any]:
    found: dict[str, Any] = {"name": fact.name, "text": fact.text}
    if fact.items:
        found["items"] = list(fact.items)
    if fact.table is not None:
        columns = list(fact.table.columns)
        found["table"] = {"columns": columns, "rows": [list(row) for row in fact.table.rows]}
    if fact.value is not None:
        found["value"] = fact.value
    return found


# -- pages ---------------------------------------------------------------------------------------

HERE = "privet.statement"


def as_page(facts: Facts) -> str:
    """The statement as one page without outside parts, for a screen, a phone or paper.

    Parameters
    ----------
    facts : Facts
        The statement.

    Returns
    -------
    str
        HTML.
    """
    return rendered("statement.html", facts=facts, signature=entry("signature"))


def rendered(name: str, room: str = HERE, **values: Any) -> str:
    """The template of this name, with every value escaped and a missing one an error.

    ``room`` is the package that it is in; templates that several pages share are in this one.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("Pages need Jinja2: pip install 'privet[cli]'.") from error

    def source(wanted: str) -> str:
        found = files(room if wanted == name else HERE).joinpath(wanted)
        return found.read_text(encoding="utf-8")

    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_together,
    )
    return str(environment.get_template(name).render(**values))


def _together(value: Any) -> Any:
    """A number and its percent sign on one line; SVG and other markup is left alone."""
    return re.sub(r"(?<=\d) %", "\u00a0%", value) if type(value) is str else value


def _is_page(path: Path) -> bool:
    """Whether a file is an HTML page, by how it begins."""
    with path.open("rb") as file:
        return file.read(64).lstrip().lower().startswith(b"<!doctype html")


def write_page(text: str, path: str | os.PathLike[str]) -> None:
    """Write a page, all or nothing, over an earlier page and nothing else; for others to read."""
    refuse_ledgers_place(path)
    there = Path(path)
    if there.is_file() and not _is_page(there):
        raise DeclarationError(
            f"{there.name} is already there and is no page: what it holds may have been paid for. "
            "Choose another name."
        )
    write_whole(path, text, mode=for_others())
