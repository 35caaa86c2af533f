"""The numbers of a search, from its event and from the budget of the model that was chosen.

disjoint parts    a fit and the selection may each cost the whole            search.proof.md
random stopping   (2 + eta) eps_run, or the curve of the runs
public choice     as many equal shares as there are candidates

eta and the number of candidates are constants of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from privet.certificate.balls import Ball, ball
from privet.certificate.compositions import composition
from privet.certificate.curve_costs import PureCost
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.verdicts import Number, Undecided, at_least, at_most, fact

#: What rounding may leave of a budget that was divided into equal shares.
SHARED = 1e-6
#: The curve that shares of a budget add up to: one in epsilon and delta has none.
SHARED_AS = {"pure": "pure", "zcdp": "concentrated", "gdp": "gaussian"}
#: What a run must keep for the theorem behind each curve of random stopping.
RUNS = {"pure": "pure", "random_stopping": "zcdp"}


def is_search(event: Record) -> bool:
    """Whether an event is that of a search: it has no parts, the fits are covered by the whole."""
    return event["mechanism"] in SEARCHES and "parts" not in event


def search_numbers(release: str, event: Record, facts: FileFacts) -> Iterator[Number]:
    """What the parts of a search cost, against the whole."""
    if facts.kind != "model":
        raise Undecided("the file does not keep the chosen model")
    yield fact(
        release,
        "sensitivity",
        event["sensitivity"],
        event["sensitivity"] == 1.0,
        "one replaced row changes a count of mistakes by at most one",
    )
    if "candidates" not in facts.constants:
        raise Undecided("an older file does not keep how many candidates there were")
    part = SearchPart(facts.parameters["budget"], facts.constants)
    told = "must be whole, one at least"
    count = part.candidates
    yield fact(release, "candidates", count, type(count) is int and count >= 1, told)
    yield from SEARCHES[event["mechanism"]](release, event, part)


@dataclass(frozen=True)
class SearchPart:
    """What each fit of a search may spend, and the public numbers of the search."""

    budget: Record
    constants: Record

    @property
    def candidates(self) -> int:
        """How many parameters compete."""
        count: int = self.constants["candidates"]
        return count

    @property
    def amount(self) -> Ball:
        """The budget in the calculus in which fits add up."""
        if "mu" in self.budget:
            return ball(self.budget["mu"]) ** 2 / 2
        return ball(self.budget["epsilon" if "epsilon" in self.budget else "rho"])


def _parts(release: str, event: Record, search: SearchPart) -> Iterator[Number]:
    """Parallel composition: one fit at the whole, the selection at the whole."""
    held, told = event["m"], "must be one at least: the selection has rows of its own"
    yield fact(release, "rows that validate", held, held >= 1, told)
    part = search.budget
    whole = _whole_curve(part)
    number = composition(release, event["claim"], [whole])
    yield _named(number, "budget of a fit")
    told = "the search must have the curve of one part"
    yield fact(release, "curve", len(event["curves"]), event["curves"] == [whole], told)
    epsilon = 2 / ball(event["scale"])
    (name,) = {"epsilon", "rho", "mu"} & set(part)
    limit, pure = part[name], PureCost(epsilon)
    if name == "epsilon":
        cost = epsilon
    elif name == "mu":  # a choice is no Gaussian mechanism: its pure epsilon is within mu
        cost = pure.mu()
    else:
        cost = epsilon**2 / 8 if event["noise"] == "exponential" else pure.rho()
    yield at_most(
        release, "cost of selection", limit, cost, "must stay within the budget of the selection"
    )


def _stopping(release: str, event: Record, part: SearchPart) -> Iterator[Number]:
    """A run costs its budget; its noisy count is one number of sensitivity 1."""
    (curve,), kept = event["curves"], part.constants
    eta, gamma = kept["eta"], kept["gamma"]
    if RUNS[curve["kind"]] != part.budget["kind"]:
        raise Undecided(f"no theorem here on runs that keep the budget {part.budget['kind']!r}")
    told = "the law of the number of runs: eta above -1, gamma between 0 and 1"
    yield fact(release, "eta", eta, eta > -1.0 and 0.0 < gamma < 1.0, told)
    if curve["kind"] == "random_stopping":
        told = "eta and gamma must be those of the search"
        right = curve["eta"] == eta and curve["gamma"] == gamma
        yield fact(release, "law of the runs", curve["gamma"], right, told)
        told = "rho of one run, as used in the curve for all runs"
        yield at_least(release, "budget of a run", curve["rho"], ball(part.budget["rho"]), told)
        cost: Ball = 1 / (2 * ball(event["scale"]) ** 2)
        limit = part.budget["rho"]
    else:
        limit = part.budget["epsilon"]
        told = "(2 + eta) times the epsilon of one run"
        yield at_least(
            release, "budget of a run", curve["loss"], (2 + ball(eta)) * ball(limit), told
        )
        cost = 1 / ball(event["scale"])
    yield at_most(release, "cost of a count", limit, cost, "must stay within the budget of one run")


def _public(release: str, event: Record, part: SearchPart) -> Iterator[Number]:
    """Equal shares of the whole."""
    (curve,), count = event["curves"], part.candidates
    if curve["kind"] != SHARED_AS.get(part.budget["kind"]):
        raise Undecided("the shares are in another calculus than the whole")
    paid = curve["loss"] if curve["kind"] == "pure" else curve["rho"]
    told = f"the curve of the search must cover {count} equal shares, and be of no others"
    yield at_least(release, "curve", paid, count * part.amount, told, SHARED)


def _whole_curve(part: Record) -> Record:
    if part["kind"] == "pure":
        return {"kind": "pure", "loss": part["epsilon"]}
    if part["kind"] == "zcdp":
        return {"kind": "concentrated", "rho": part["rho"], "loss": 0.0}
    if part["kind"] == "gdp":
        return {"kind": "gaussian", "rho": part["mu"] ** 2 / 2.0, "slack": 0.0}
    raise Undecided(f"a fit of a search has the budget {part['kind']!r}")


def _named(number: Number, name: str) -> Number:
    return Number(
        number.release, name, number.claimed, number.low, number.high, number.holds, number.why
    )


#: How each search is recomputed.
SEARCHES: dict[str, Callable[[str, Record, SearchPart], Iterator[Number]]] = {
    "partition search": _parts,
    "random stopping search": _stopping,
    "search with public validation": _public,
}
