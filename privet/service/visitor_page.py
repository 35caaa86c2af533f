"""The page at ``/``: what the model is, its promise, what is left, and a form to ask.

It is written from the statement's facts and the schema, all of them public, and needs nothing else:
style, script and pictures are in it, and its policy lets a browser load nothing from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from privet._version import __version__
from privet.privacy.attacker import attacker_accuracy
from privet.privacy.budget import Budget
from privet.privacy.guarantee import Guarantee
from privet.report.pictures import Picture, attacker, belief
from privet.schema import Schema
from privet.schema.cells import text_of
from privet.schema.columns import Categorical, Numeric
from privet.service.served_model import Served, example
from privet.statement import in_words
from privet.statement.facts import percent
from privet.statement.promise import whom
from privet.statement.writers import rendered

SCRIPT = files("privet.service").joinpath("visitor.js").read_text(encoding="utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
SCRIPT_POLICY = (
    "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; "
    f"script-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
RELEASED = "Nothing that you ask is stored."
ANSWERED = (
    "What you ask becomes part of the release's public record and is stored for as long as the "
    "ledger is kept: do not send anything about a person who has not agreed to that."
)


@dataclass(frozen=True)
class CellField:
    """One field of the form."""

    name: str
    hint: str
    options: tuple[str, ...] = ()
    value: str = ""


def fields(schema: Schema) -> list[CellField]:
    """A field for each declared column, with an example in it."""
    row, found = example(schema), []
    for name, column in schema.columns.items():
        if isinstance(column, Numeric):
            hint = f"{column.low:,.7g} to {column.high:,.7g}"
            found.append(CellField(name, hint, value=f"{row[name]:g}"))
        elif isinstance(column, Categorical):
            options = tuple(str(text_of(category)) for category in column.categories)
            found.append(CellField(name, "", options))
    return found


@dataclass(frozen=True)
class ShownPromise:
    """What the pictures are about."""

    promise: Budget
    whom: str


def pictures(served: Served) -> list[Picture]:
    """The guarantee drawn; none where nothing is promised."""
    if not served.guarantee.private:
        return []
    shown = ShownPromise(served.guarantee.budget, whom(served.guarantee))
    return [attacker(shown), belief(shown)]


def plainly(guarantee: Guarantee) -> str:
    """The promise for readers who know no Greek letter."""
    if not guarantee.private:
        return ""
    often = percent(attacker_accuracy(guarantee.budget))
    return (
        "Somebody who knows everything else, and guesses from this model whether "
        f"{whom(guarantee)} was in the table, is right at most {often} of the time; a coin is "
        "right half of the time."
    )


@cache
def page(served: Served, names: tuple[str, ...], open: bool) -> bytes:
    """The page about one of the served models; made once."""
    facts = served.facts()
    budget = served.guarantee.budget
    text = rendered(
        "visitor.html",
        room="privet.service",
        title=f"{served.name}: private predictions",
        model=served.name,
        names=names,
        open=open,
        facts=facts,
        plainly=plainly(served.guarantee),
        words=in_words(budget, whom(served.guarantee)) if served.guarantee.private else "",
        what=facts["summary"]["what"].text,
        cells=fields(served.schema),
        label=served.schema.label.name,
        stored=RELEASED if served.row_limit is None else ANSWERED,
        before_asking="Shown once a token is given.",
        pictures=pictures(served),
        digest=served.digest[:16],
        version=__version__,
        script=SCRIPT,
    )
    return text.encode()
