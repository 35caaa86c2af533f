"""What the promise rests on, what it does not cover, and what NIST asks one to evaluate.

The questions are the parts of the "differential privacy pyramid" of NIST SP 800-226 (Near, Darais,
Lefkovitz and Howarth 2025). Where the answer is not Privet's to give, it says so.
"""

from __future__ import annotations

from typing import Any

import privet
from privet.privacy.guarantee import Guarantee
from privet.statement.facts import Section
from privet.statement.making import proof_words
from privet.statement.promise import size
from privet.statement.wording import entry, fact, say, section


def declared(guarantee: Guarantee, by: str | None) -> Section:
    """Public declarations that the proof relies upon, and who made them."""
    relied = guarantee.assumptions
    return section(
        "declared",
        (
            fact("declared.by", "text" if by else "unnamed", by=by, value=by),
            fact("declared.assumptions", items=relied, value=list(relied)),
        ),
    )


def questions(guarantee: Guarantee, *, interactive: bool) -> str:
    """What may be asked of the release, and at what cost."""
    if not guarantee.private:
        return say("trust.queries.void")
    return say("trust.queries.interactive" if interactive else "trust.queries.text")


def trust(guarantee: Guarantee, *, interactive: bool) -> Section:
    """Who must be trusted, and what can be asked."""
    asked = ("interactive" if interactive else "text") if guarantee.private else "void"
    kind = "interactive" if interactive else "one release"
    version = privet.__version__
    return section(
        "trust",
        (
            fact("trust.model", value="central"),
            fact("trust.queries", asked, value=kind),
            fact("trust.software", version=version, value=version),
            fact("trust.origin"),
        ),
    )


def uncovered() -> tuple[str, ...]:
    """What nobody is promised, item by item."""
    return tuple(entry("not_covered.items.items"))


def not_covered() -> Section:
    """What nobody is promised."""
    items = uncovered()
    return section("not_covered", [fact("not_covered.items", items=items, value=list(items))])


def evaluation(guarantee: Guarantee, left: str, *, interactive: bool) -> Section:
    """The parts of NIST's pyramid from the top down, each with its answer."""
    here = "nist_sp_800_226"
    fields: dict[str, Any] = {
        "amount": size(guarantee.budget) if guarantee.private else say(f"{here}.void"),
        "unit": guarantee.unit,
        "compared": guarantee.compared,
        "left": left,
        "mechanism": guarantee.mechanism,
        "proof": proof_words(guarantee.event),
        "queries": say(f"{here}.{'interactive' if interactive else 'one_release'}"),
        "numerics": guarantee.numerics,
    }
    asked = [key for key, found in entry(here).items() if isinstance(found, dict)]
    return section(here, (fact(f"{here}.{key}", **fields) for key in asked))
