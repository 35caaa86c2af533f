"""What a privacy officer signs: one set of public facts, as text, as JSON and as a page.

wording.toml  every sentence, for a lawyer to read and a translator to replace
facts.py      the values: Fact, Section, Facts, made from the words; numbers as bounds in words
promise.py  provenance.py  other_releases.py  second_computation.py     the sections
build.py      a guarantee to its Facts
writers.py    text, JSON and HTML
"""

from __future__ import annotations

from typing import Any

from privet._moved import old_names
from privet.errors import DeclarationError
from privet.privacy.guarantee import Guarantee
from privet.statement.build import statement_facts
from privet.statement.facts import Fact, Facts, Section, Table
from privet.statement.other_releases import AccountTold, account
from privet.statement.promise import in_words
from privet.statement.provenance import File, Trained, uncovered
from privet.statement.second_computation import RecomputedNumber
from privet.statement.writers import as_json, as_page, as_text, card

#: What no statement covers, item by item.
NOT_COVERED = uncovered()

__all__ = [
    "NOT_COVERED",
    "AccountTold",
    "Fact",
    "Facts",
    "File",
    "RecomputedNumber",
    "Section",
    "Table",
    "Trained",
    "account",
    "as_json",
    "as_page",
    "as_text",
    "card",
    "in_words",
    "statement",
    "statement_facts",
]

__getattr__ = old_names(__name__, {"Account": "privet.statement.AccountTold"})

#: Every way to write the facts.
FORMATS = {"text": as_text, "json": as_json, "html": as_page}


def statement(
    guarantee: Guarantee,
    *,
    model: str,
    ledger: str | None = None,
    format: str = "text",
    **more: Any,
) -> str:
    """The statement on one released model.

    Parameters
    ----------
    guarantee : Guarantee
        Of the release.
    model : str
        What kind of model it is.
    ledger : str, default None
        Names the data set's account.
    format : {"text", "json", "html"}, default "text"
        What is written.
    **more
        For ``statement_facts``: account, file, declared_by, interactive, trained, recomputed.

    Returns
    -------
    str
        The statement.
    """
    if format not in FORMATS:
        raise DeclarationError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    return FORMATS[format](statement_facts(guarantee, model=model, ledger=ledger, **more))
