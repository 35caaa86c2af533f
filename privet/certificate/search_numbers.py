"""The numbers of a search, from its event and from the budget of the model that was chosen.

disjoint parts    a fit and the selection may each cost the whole            search.proof.md
random stopping   (2 + eta) eps_run, or the curve of the runs
public choice     equal shares
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from privet.certificate.balls import Ball, ball
from privet.certificate.compositions import composition
from privet.certificate.file_facts import FileFacts, Record
from privet.certificate.verdicts import Number, Undecided, at_least, at_most, fact


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
    yield from SEARCHES[event["mechanism"]](release, event, facts.parameters["budget"])


def _parts(release: str, event: Record, part: Record) -> Iterator[Number]:
    """Parallel composition: one fit at the whole, the selection at the whole."""
    whole = _whole_curve(part)
    number = composition(release, event["claim"], [whole])
    yield _named(number, "budget of a fit")
    told = "the search must have the curve of one part"
    yield fact(release, "curve", len(event["curves"]), event["curves"] == [whole], told)
    epsilon = 2 / ball(event["scale"])
    if event["noise"] == "permute-and-flip":
        cost, limit = epsilon, part.get("epsilon")
    else:
        cost, limit = epsilon**2 / 8, part.get("rho")
        if limit is None:
            cost, limit = epsilon, part.get("epsilon")
    if limit is None:
        raise Undecided("the selection is paid for in another calculus")
    yield at_most(
        release, "cost of selection", limit, cost, "must stay within the budget of the selection"
    )


def _stopping(release: str, event: Record, part: Record) -> Iterator[Number]:
    """A run costs its budget; its noisy count is one number of sensitivity 1."""
    (curve,) = event["curves"]
    if curve["kind"] == "random_stopping":
        told = "rho of one run, as used in the curve for all runs"
        yield at_least(release, "budget of a run", curve["rho"], ball(part["rho"]), told)
        cost: Ball = 1 / (2 * ball(event["scale"]) ** 2)
        limit = part["rho"]
    else:
        told = "at least twice the epsilon of one run; the rest depends on eta"
        yield at_least(release, "budget of a run", curve["loss"], 2 * ball(part["epsilon"]), told)
        cost, limit = 1 / ball(event["scale"]), part["epsilon"]
    yield at_most(release, "cost of a count", limit, cost, "must stay within the budget of one run")


def _public(release: str, event: Record, part: Record) -> Iterator[Number]:
    """Equal shares of the whole."""
    claim = event["claim"]
    name = "epsilon" if claim["kind"] == "pure" else "rho"
    if name not in part or name not in claim:
        raise Undecided("the shares are in another calculus than the whole")
    count = max(round(claim[name] / part[name]), 1)
    told = f"{count} equal shares must add up to the total"
    yield at_most(release, "budget of a fit", claim[name], count * ball(part[name]), told)
    told = "the curve of the search must cover all shares"
    (curve,) = event["curves"]
    paid = curve["loss"] if name == "epsilon" else curve["rho"]
    yield at_least(release, "curve", paid, count * ball(part[name]), told)
    used = abs(count * part[name] / claim[name] - 1.0) < 1e-6
    yield fact(
        release, "shares", count, used, "the budget must divide into a whole number of shares"
    )


def _whole_curve(part: Record) -> Record:
    if part["kind"] == "pure":
        return {"kind": "pure", "loss": part["epsilon"]}
    if part["kind"] == "zcdp":
        return {"kind": "concentrated", "rho": part["rho"], "loss": 0.0}
    raise Undecided(f"a fit of a search has the budget {part['kind']!r}")


def _named(number: Number, name: str) -> Number:
    return Number(
        number.release, name, number.claimed, number.low, number.high, number.holds, number.why
    )


#: How each search is recomputed.
SEARCHES: dict[str, Callable[[str, Record, Record], Iterator[Number]]] = {
    "partition search": _parts,
    "random stopping search": _stopping,
    "search with public validation": _public,
}
