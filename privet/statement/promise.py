"""What is promised, to whom, and what the number means for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from privet.errors import DeclarationError
from privet.privacy.attacker import (
    RARE,
    attacker_accuracy,
    converted,
    detection,
    exp,
    odds_factor,
    posterior,
    sure_odds,
)
from privet.privacy.budget import Budget
from privet.privacy.guarantee import Guarantee
from privet.statement.facts import Fact, Section, at_most, fact, percent, say, section

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
ALARMS = (0.001, 0.01, 0.05, 0.1, 0.2)
#: People with this many rows are told what is left to them.
SIZES = (2, 5, 10)


def in_words(budget: Budget, whom: str | None = None) -> str:
    """What the budget means for one person, in odds.

    An (epsilon, delta) guarantee is a pure one between laws that differ from the true ones by at
    most delta (Dwork and Roth 2014, Lemma 3.17); what that says of the odds is in ``sure_odds``.

    Parameters
    ----------
    budget : Budget
        The promise.
    whom : str, default None
        Whom the attacker is after; None is a given record.

    Returns
    -------
    str
        A sentence.
    """
    whom = say("whom.record") if whom is None else whom
    numbers = budget.facts()
    return say(
        f"odds.{budget.kind}",  # each kind's sentence takes its own of these
        whom=whom,
        factor=at_most(odds_factor(budget) or 1.0),
        delta=probability(numbers.get("delta", 0.0)),
        shift=at_most(numbers.get("mu", math.sqrt(2.0 * numbers.get("rho", 0.0)))),
    )


def probability(share: float) -> str:
    """A small number without padded zeros in its exponent."""
    return f"{share:g}".replace("e-0", "e-")


def rarely(rare: float) -> str:
    """A share of releases as one in so many, never understated; in per cent where it is large."""
    if rare > 0.01:
        return say("odds.share", percent=percent(rare))
    return say("odds.one_in", count=f"{math.floor(1.0 / rare * (1.0 + 1e-12)):,}")


def whom(guarantee: Guarantee) -> str:
    """Whom the attacker is after."""
    return say("whom.person" if of_persons(guarantee) else "whom.record")


def of_persons(guarantee: Guarantee) -> bool:
    """Whether the unit is a person rather than a row."""
    return guarantee.unit.startswith("one person")


def numbers(budget: Budget) -> str:
    """The budget's numbers alone."""
    return str(budget).removesuffix(" (zero-concentrated)").removesuffix(" (Gaussian)")


def kind(budget: Budget) -> str:
    """The kind of privacy that they measure."""
    return say(f"kinds.{budget.kind}")


def size(budget: Budget) -> str:
    """Numbers and kind."""
    return say("size.text", numbers=numbers(budget), kind=kind(budget))


def exceptions(budget: Budget) -> str:
    """In which share of releases the odds may change by more than is said."""
    epsilon, rare = sure_odds(budget)
    if not rare:
        return say("odds.never")
    return say("odds.rare", rare=rarely(rare), factor=at_most(exp(epsilon)))


def promise(guarantee: Guarantee, counted: int = 1) -> Section:
    """Kind, size, unit and neighbors; ``counted`` rows of a person are the ledger's unit."""
    return section("promise", _promised(guarantee, counted))


def _promised(guarantee: Guarantee, counted: int) -> Iterator[Fact]:
    yield _budget("promise.guarantee", guarantee.budget, private=guarantee.private)
    yield fact("promise.unit", unit=guarantee.unit, value={"rows": guarantee.group})
    if guarantee.group > 1:
        yield _budget("promise.row", guarantee.event.claim, private=guarantee.private)
    if guarantee.private:
        yield several_rows(guarantee, counted)
    yield fact("promise.neighbors", compared=guarantee.compared)
    yield fact("promise.rows", rows=f"{guarantee.event.n:,}", value=guarantee.event.n)
    if guarantee.private:
        yield from _conversions(guarantee)


def _budget(where: str, budget: Budget, *, private: bool) -> Fact:
    if not private:
        return fact(where, "void")
    return fact(where, size=size(budget), value=budget.to_json())


def _conversions(guarantee: Guarantee) -> Iterator[Fact]:
    """The same promise in the numbers that other people use."""
    return CONVERSIONS[guarantee.budget.kind](guarantee)


def _from_zcdp(guarantee: Guarantee) -> Iterator[Fact]:
    epsilon = converted(guarantee.budget)
    value = {"epsilon": epsilon, "delta": RARE}
    told, delta = at_most(epsilon, 4), probability(RARE)
    yield fact("promise.converted", "zcdp", epsilon=told, delta=delta, value=value)


def _from_pure(guarantee: Guarantee) -> Iterator[Fact]:
    rho = guarantee.budget.amount**2 / 2.0
    yield fact("promise.converted", "pure", rho=at_most(rho, 4), value={"rho": rho})


def _from_approx(guarantee: Guarantee) -> Iterator[Fact]:
    yield _stronger(guarantee)
    delta, n = guarantee.budget.facts()["delta"], guarantee.event.n
    share = delta * n
    advice = say(f"promise.delta.{'above' if share * n > 1.0 else 'within'}")
    value = {"delta": delta, "times_rows": share}
    yield fact("promise.delta", advice=advice, share=at_most(share), value=value)


#: The same promise in other numbers, by the kind of its budget.
CONVERSIONS: dict[str, Callable[[Guarantee], Iterator[Fact]]] = {
    "zcdp": _from_zcdp,
    "gdp": _from_zcdp,
    "pure": _from_pure,
    "approx": _from_approx,
}


def _stronger(guarantee: Guarantee) -> Fact:
    """What the curves of an (epsilon, delta) release prove beyond its claim."""
    pure, rho, where = guarantee.event.pure(), guarantee.event.zcdp(), "promise.converted"
    if guarantee.event.parts or guarantee.group > 1 or math.isinf(rho):
        return fact(where, "approx")
    if math.isinf(pure):
        return fact(where, "approx_rho", rho=at_most(rho, 4))
    return fact(where, "approx_pure", epsilon=at_most(pure, 4))


# -- people with several rows --------------------------------------------------------------------


def in_short(guarantee: Guarantee) -> str:
    """Several rows in one sentence, for the summary."""
    if of_persons(guarantee):
        return say("summary.who.person")
    return say("summary.who.row", grows=_grows(guarantee.budget))


def _grows(budget: Budget) -> str:
    return say(f"promise.several_rows.grows_{budget.kind}")


def several_rows(guarantee: Guarantee, counted: int) -> Fact:
    """The promise for a person with 2, 5 and 10 rows; ``counted`` is the ledger's number."""
    claim, where = guarantee.event.claim, "promise.several_rows"
    if of_persons(guarantee):
        one = guarantee.group == 1
        rows = say(f"{where}.one") if one else say(f"{where}.many", count=guarantee.group)
        return fact(where, "person", rows=rows, value=[_value(claim, guarantee.group)])
    sizes = sorted({*SIZES, counted} - {1})
    found = fact(
        where,
        grows=_grows(claim),
        cells=((str(size), *_left_to(claim, size)) for size in sizes),
        value=[_value(claim, size) for size in sizes],
    )
    if counted == 1:
        return found
    more = say(f"{where}.ledger", rows=counted, size=_left_to(claim, counted)[0])
    return replace(found, text=found.text + more)


def _for(claim: Budget, size: int) -> Budget | None:
    try:
        return claim.for_group(size)
    except DeclarationError:
        return None  # so large that it is no promise


def _left_to(claim: Budget, size: int) -> tuple[str, str]:
    budget = _for(claim, size)
    if budget is None:
        return say("promise.several_rows.nothing"), say("promise.several_rows.unbounded")
    epsilon, rare = sure_odds(budget)
    but = say("promise.several_rows.except", rare=rarely(rare)) if rare else ""
    return numbers(budget), f"{_factor(exp(epsilon))}{but}"


def _factor(number: float) -> str:
    """An upper bound, with its zeros written out while they can be read."""
    words = at_most(number)
    return f"{float(words):,.0f}" if 1e3 <= number < 1e6 else words


def _value(claim: Budget, size: int) -> dict[str, object]:
    budget = _for(claim, size)
    return {"rows": size, "guarantee": None if budget is None else budget.to_json()}


# -- what the number means -----------------------------------------------------------------------


def meaning(guarantee: Guarantee) -> Section:
    """What the number leaves to an attacker: in words, from even odds, in two tables."""
    budget, who = guarantee.budget, whom(guarantee)
    epsilon, rare = sure_odds(budget)
    guess, factor = attacker_accuracy(budget), odds_factor(budget)
    beliefs = posterior(epsilon, np.array(PRIORS)).tolist()
    hits = detection(budget, np.array(ALARMS)).tolist()
    pairs = [{"before": a, "after": b} for a, b in zip(PRIORS, beliefs, strict=True)]
    rates = zip(ALARMS, hits, strict=True)
    return section(
        "meaning",
        (
            fact(
                "meaning.words",
                words=in_words(budget, who),
                value=None if factor is None else {"odds_factor": factor},
            ),
            fact("meaning.even_odds", whom=who, percent=percent(guess), value=guess),
            fact(
                "meaning.beliefs",
                whom=who,
                factor=at_most(exp(epsilon)),
                cells=_percents(PRIORS, beliefs),
                value={"rows": pairs, "except_for": rare},
                **{"except": say("meaning.beliefs.except", rare=rarely(rare)) if rare else ""},
            ),
            fact(
                "meaning.detection",
                whom=who,
                cells=_percents(ALARMS, hits),
                value={"rows": [{"false_positives": a, "true_positives": b} for a, b in rates]},
            ),
        ),
    )


def _percents(given: tuple[float, ...], found: list[float]) -> list[tuple[str, ...]]:
    rows = zip(given, found, strict=True)
    return [(f"{100.0 * a:g} %", percent(b)) for a, b in rows]
