"""The statement as plain text for a terminal, a file or a letter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from privet.statement.facts import Fact, Facts, Table

WIDTH = 88
LABEL = 13  # columns for a fact's name, at least


def as_text(facts: Facts) -> str:
    """Alarms, then every section: names on the left, words on the right."""
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
