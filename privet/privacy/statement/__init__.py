"""What a privacy officer signs: one set of public facts, as text, as JSON and as a page.

facts.py      the values: Fact, Section, Facts
promise.py  making.py  account.py  limits.py      the sections
assemble.py   a guarantee to its Facts
text.py  card.py                                  two writers; the page is in ``privet.report``
"""

from __future__ import annotations

from typing import Any

from privet.errors import DeclarationError
from privet.privacy.guarantee import Guarantee
from privet.privacy.statement.account import Account, account
from privet.privacy.statement.assemble import statement_facts
from privet.privacy.statement.card import as_json, card
from privet.privacy.statement.facts import Fact, Facts, Section, Table
from privet.privacy.statement.limits import NOT_COVERED
from privet.privacy.statement.making import File
from privet.privacy.statement.promise import in_words
from privet.privacy.statement.text import as_text

__all__ = [
    "NOT_COVERED",
    "Account",
    "Fact",
    "Facts",
    "File",
    "Section",
    "Table",
    "account",
    "as_json",
    "as_text",
    "card",
    "in_words",
    "statement",
    "statement_facts",
]


def _as_page(facts: Facts) -> str:
    from privet.report.statement import as_page  # a room above, opened when called

    return as_page(facts)


#: Every way to write the facts.
FORMATS = {"text": as_text, "json": as_json, "html": _as_page}


def statement(
    guarantee: Guarantee,
    *,
    model: str,
    ledger: str | None = None,
    format: str = "text",
    **more: Any,
) -> str:
    """The statement on one released model as ``"text"``, ``"json"`` or ``"html"``.

    ``more`` goes to ``statement_facts``: account, file, declared_by, interactive.
    """
    if format not in FORMATS:
        raise DeclarationError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    return FORMATS[format](statement_facts(guarantee, model=model, ledger=ledger, **more))
