"""What is promised, to whom, and what the number means for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.guarantee import Guarantee
from privet.privacy.odds import (
    RARE,
    attacker_accuracy,
    converted,
    detection,
    exp,
    odds_factor,
    posterior,
    sure_odds,
)
from privet.privacy.statement.facts import Fact, Section, Table, at_most, percent
from privet.privacy.statement.several import several_rows

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
ALARMS = (0.001, 0.01, 0.05, 0.1, 0.2)
KINDS = {"pure": "pure", "zcdp": "zero-concentrated", "approx": "approximate"}


def in_words(budget: Budget, whom: str = "a given record") -> str:
    """What the budget means for one person, in odds.

    An (epsilon, delta) guarantee is a pure one between laws that differ from the true ones by at
    most delta (Dwork and Roth 2014, Lemma 3.17); what that says of the odds is in ``sure_odds``.
    """
    if isinstance(budget, PureDP):
        return (
            f"Whatever an attacker knows and sees, the odds that {whom} was in the table "
            f"change by a factor of at most {at_most(odds_factor(budget) or 1.0)}."
        )
    if isinstance(budget, ApproxDP):
        return (
            f"But for a chance of {budget.delta:g}, everything comes out as if the odds that "
            f"{whom} was in the table changed by a factor of at most "
            f"{at_most(odds_factor(budget) or 1.0)}, whatever an attacker knows."
        )
    if isinstance(budget, ZCDP):
        return (
            "At every order, the Renyi divergence between what two neighbouring tables release is "
            "at most that between two normal laws whose means are "
            f"{at_most(math.sqrt(2.0 * budget.rho))} standard deviations apart."
        )
    return str(budget)


def whom(guarantee: Guarantee) -> str:
    """Whom the attacker is after."""
    return "a given person" if guarantee.unit.startswith("one person") else "a given record"


def numbers(budget: Budget) -> str:
    """The budget's numbers alone."""
    return str(budget).removesuffix(" (zero-concentrated)")


def kind(budget: Budget) -> str:
    """The kind of privacy that they measure."""
    return f"{KINDS[budget.kind]} differential privacy"


def size(budget: Budget) -> str:
    """Numbers and kind."""
    return f"{numbers(budget)} ({kind(budget)})"


def exceptions(budget: Budget) -> str:
    """In which share of releases the odds may change by more than is said."""
    epsilon, rare = sure_odds(budget)
    if not rare:
        return "It has no probability of failing (delta = 0)"
    factor = at_most(exp(epsilon))
    return (
        f"Odds can change by more than {factor} in a share of at most {at_most(rare)} of releases"
    )


def promise(guarantee: Guarantee, counted: int = 1) -> Section:
    """Kind, size, unit and neighbours; ``counted`` rows of a person are the ledger's unit."""
    event, several = guarantee.event, guarantee.group > 1
    facts = [
        _budget("guarantee", "Guarantee", guarantee.budget, private=guarantee.private),
        Fact("unit", "Unit", guarantee.unit, value={"rows": guarantee.group}),
    ]
    if several:
        facts.append(
            _budget("row", "For one row", guarantee.event.claim, private=guarantee.private)
        )
    if guarantee.private:
        facts.append(several_rows(guarantee, counted))
    facts += [
        Fact("neighbours", "Neighbours", guarantee.compared),
        Fact("rows", "Rows", f"{event.n:,} (public)", value=event.n),
    ]
    if guarantee.private:
        facts += _conversions(guarantee)
    return Section("promise", "What is promised", tuple(facts))


def _budget(key: str, name: str, budget: Budget, *, private: bool) -> Fact:
    if not private:
        return Fact(key, name, "none", value=None)
    return Fact(key, name, size(budget), value=budget.to_json())


def _conversions(guarantee: Guarantee) -> Iterator[Fact]:
    """The same promise in the numbers that other people use."""
    budget, n = guarantee.budget, guarantee.event.n
    if isinstance(budget, ZCDP):
        epsilon = converted(budget)
        text = f"epsilon = {at_most(epsilon, 4)} at delta = {RARE:g}; no pure epsilon"
        yield Fact("converted", "Converted", text, value={"epsilon": epsilon, "delta": RARE})
    if isinstance(budget, PureDP):
        rho = budget.epsilon**2 / 2.0
        text = f"zero-concentrated with rho = {at_most(rho, 4)}; delta = 0 at this epsilon"
        yield Fact("converted", "Converted", text, value={"rho": rho})
    if isinstance(budget, ApproxDP):
        yield Fact("converted", "Converted", _stronger(guarantee))
        share = budget.delta * n
        large = "above the advice of at most 1/n^2" if share * n > 1.0 else "within 1/n^2"
        text = f"{large} (NIST SP 800-226); delta times the number of rows is {at_most(share)}"
        yield Fact("delta", "Delta", text, value={"delta": budget.delta, "times_rows": share})


def _stronger(guarantee: Guarantee) -> str:
    """What the curves of an (epsilon, delta) release prove beyond its claim."""
    pure, rho = guarantee.event.pure(), guarantee.event.zcdp()
    if guarantee.event.parts or guarantee.group > 1 or math.isinf(rho):
        return "neither a pure epsilon nor a rho follows from it"
    if math.isinf(pure):
        return f"its noise also keeps rho = {at_most(rho, 4)} (zero-concentrated)"
    return f"its noise also keeps the pure epsilon = {at_most(pure, 4)}, with delta = 0"


def meaning(guarantee: Guarantee) -> Section:
    """What the number leaves to an attacker: in words, from even odds, in two tables."""
    budget, who = guarantee.budget, whom(guarantee)
    epsilon, rare = sure_odds(budget)
    guess = attacker_accuracy(budget)
    priors, alarms = np.array(PRIORS), np.array(ALARMS)
    beliefs = posterior(epsilon, priors)
    hits = detection(budget, alarms)
    but = f" in all but a share of {at_most(rare)} of releases" if rare else ""
    return Section(
        "meaning",
        "What the number means",
        (
            Fact("words", "In words", in_words(budget, who), value=_factor(budget)),
            Fact(
                "even_odds",
                "Even odds",
                f"an attacker who knows everything else and must guess between {who} and another "
                f"is right at most {percent(guess)} of the time",
                value=guess,
            ),
            Fact(
                "beliefs",
                "Beliefs",
                f"how sure he can become that {who} was in the table{but}; the odds change by a "
                f"factor of at most {at_most(exp(epsilon))}",
                table=_two("sure before", "sure after, at most", PRIORS, beliefs.tolist()),
                value=_pairs("before", "after", PRIORS, beliefs.tolist(), rare),
            ),
            Fact(
                "detection",
                "Detection",
                f"how often he can rightly say that {who} was in the table (true positives), by "
                "how often he says so wrongly (false positives)",
                table=_two("false positives", "true positives, at most", ALARMS, hits.tolist()),
                value=_pairs("false_positives", "true_positives", ALARMS, hits.tolist()),
            ),
        ),
    )


def _factor(budget: Budget) -> dict[str, float] | None:
    factor = odds_factor(budget)
    return None if factor is None else {"odds_factor": factor}


def _two(left: str, right: str, given: tuple[float, ...], found: list[float]) -> Table:
    rows = zip(given, found, strict=True)
    return Table((left, right), tuple((f"{100.0 * a:g} %", percent(b)) for a, b in rows))


def _pairs(
    left: str, right: str, given: tuple[float, ...], found: list[float], rare: float | None = None
) -> dict[str, Any]:
    rows = [{left: a, right: b} for a, b in zip(given, found, strict=True)]
    return {"rows": rows} if rare is None else {"rows": rows, "except_for": rare}
