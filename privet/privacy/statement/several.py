"""What the promise leaves to a person with several rows in the table."""

from __future__ import annotations

from privet.errors import DeclarationError
from privet.privacy.budget import Budget
from privet.privacy.group import for_group
from privet.privacy.guarantee import Guarantee
from privet.privacy.odds import exp, sure_odds
from privet.privacy.statement.facts import Fact, Table, at_most

SIZES = (2, 5, 10)
GROWS = {
    "pure": "epsilon is k times as large",
    "zcdp": "rho is k squared times as large",
    "approx": "epsilon is k times as large and delta grows more than k times",
}
NOTHING = "nothing is promised"


def in_short(guarantee: Guarantee) -> str:
    """One sentence for the summary."""
    if _persons(guarantee):
        return "More rows of a person than that do not count."
    return f"For a person with k rows {GROWS[guarantee.budget.kind]}."


def several_rows(guarantee: Guarantee, counted: int) -> Fact:
    """The promise for a person with 2, 5 and 10 rows; ``counted`` is the ledger's number."""
    claim = guarantee.event.claim
    if _persons(guarantee):
        rows = "one row" if guarantee.group == 1 else f"{guarantee.group} rows"
        text = (
            f"the guarantee is for a person with all of at most {rows}; whose row it is, a "
            "declared column says, and more rows of the same person do not count"
        )
        return Fact("several_rows", "Several rows", text, value=[_value(claim, guarantee.group)])
    text = (
        f"for a person with k rows {GROWS[claim.kind]}; how many rows a person has was not declared"
    )
    if counted > 1:
        text += (
            f". The ledger's account is for persons with at most {counted} rows: for them this "
            f"release is {_words(claim, counted)[0]}"
        )
    sizes = sorted({*SIZES, counted} - {1})
    return Fact(
        "several_rows",
        "Several rows",
        text,
        table=Table(
            ("rows of a person", "guarantee", "odds change by at most"),
            tuple((str(size), *_words(claim, size)) for size in sizes),
        ),
        value=[_value(claim, size) for size in sizes],
    )


def _persons(guarantee: Guarantee) -> bool:
    return guarantee.unit.startswith("one person")


def _for(claim: Budget, size: int) -> Budget | None:
    try:
        return for_group(claim, size)
    except DeclarationError:
        return None  # so large that it is no promise


def _words(claim: Budget, size: int) -> tuple[str, str]:
    budget = _for(claim, size)
    if budget is None:
        return NOTHING, "without bound"
    epsilon, rare = sure_odds(budget)
    but = f" (but for a share of {at_most(rare)} of releases)" if rare else ""
    return str(budget).removesuffix(" (zero-concentrated)"), f"{_factor(exp(epsilon))}{but}"


def _factor(number: float) -> str:
    """An upper bound, with its zeros written out while they can be read."""
    words = at_most(number)
    return f"{float(words):,.0f}" if 1e3 <= number < 1e6 else words


def _value(claim: Budget, size: int) -> dict[str, object]:
    budget = _for(claim, size)
    return {"rows": size, "guarantee": None if budget is None else budget.to_json()}
