"""The section on verification: the numbers of a promise, computed a second time from its file.

What is shown comes from ``privet.certificate``, through whoever has the file; nothing is computed
here. Without it the section says how anybody can do it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from privet.statement.facts import Section, fact, say, section

FAILS = "does not hold"


class RecomputedNumber(NamedTuple):
    """One number of a promise: what the file claims, what is certain, and the verdict.

    Parameters
    ----------
    release : str
        Of which release of the file.
    name : str
        Which number.
    claimed, certified : str
        What the file says, and between which bounds the truth lies.
    verdict : str
        In a word or two.
    """

    release: str
    name: str
    claimed: str
    certified: str
    verdict: str


Recomputed = Sequence[RecomputedNumber]


def verification(numbers: Recomputed | None) -> Section:
    """Each number with its verdict, or how to get them."""
    how = fact("verification.how")
    if numbers is None:
        return section("verification", (fact("verification.numbers", "none"), how))
    counts = Counter(number.verdict for number in numbers)
    told = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    found = fact(
        "verification.numbers", count=len(numbers), told=told, cells=numbers, value=dict(counts)
    )
    return section("verification", (found, how))


def convictions(numbers: Recomputed | None) -> list[str]:
    """What every reader must see first: a number that is certainly wrong."""
    wrong = [f"{each.release}, {each.name}" for each in numbers or () if each.verdict == FAILS]
    return [say("alarm.convicted", numbers="; ".join(wrong))] if wrong else []
