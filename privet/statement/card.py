"""The statement as JSON: a deployment card with fields that stay.

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
from typing import Any

from privet.statement.facts import Fact, Facts

FORMAT = "privet-deployment-card"
VERSION = 1


def card(facts: Facts) -> dict[str, Any]:
    """The card as plain values."""
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
    """The card as text."""
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
