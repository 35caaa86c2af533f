"""Other releases from the same rows: frozen in the model file, live from the ledger.

A model file keeps the ledger's head of the moment of its release. With the ledger at hand the
statement also says what all releases cost together, what is left, and whether the frozen head is
still in the chain. Amounts are those of the ledger's own filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.errors import DeclarationError, LedgerError
from privet.privacy.budget import ZCDP, budget_from_json
from privet.privacy.guarantee import Guarantee
from privet.privacy.ledger import Entry, Ledger, Receipt, Terms
from privet.privacy.statement.facts import Fact, Section, Table, at_least, at_most

#: Releases that are listed one by one; earlier ones are counted.
MOST_LISTED = 50


@dataclass(frozen=True)
class Account:
    """A data set's account as the ledger had it when it was asked, and this release in it."""

    dataset: str
    terms: Terms
    remaining: float  # for a release from the whole table
    left_of: tuple[float, ...]  # for a release from each part, if there are any
    releases: tuple[Entry, ...]
    orphans: frozenset[int]  # charged, never settled
    head: str
    fault: str  # what verify said; empty where the chain is intact
    frozen: bool | None  # whether the receipt's entry is in the chain; None without a receipt
    recorded: tuple[int, ...]  # reservations of exactly this release's event

    @property
    def number(self) -> str:
        """What the cap counts."""
        return "rho" if isinstance(self.terms.cap, ZCDP) else "epsilon"

    @property
    def spent(self) -> float:
        """All releases together, in the cap's own number."""
        return self.terms.cap.facts()[self.number] - self.remaining


def account(ledger: Ledger, dataset: str, guarantee: Guarantee) -> Account:
    """The account of ``dataset``, checked, and what it holds of the release with ``guarantee``."""
    terms, entries = ledger.terms(dataset), ledger.entries()
    mine = [entry for entry in entries if entry.dataset == dataset]
    settled = {entry.body.get("reservation") for entry in mine if entry.kind == "settle"}
    releases = tuple(entry for entry in mine if entry.kind == "reserve")
    totals = mine[-1].totals
    names = (None, *(part.name for part in terms.parts))
    whole, *parts = (terms.remaining(totals, name) for name in names)
    return Account(
        dataset=dataset,
        terms=terms,
        remaining=whole,
        left_of=tuple(parts),
        releases=releases,
        orphans=frozenset(entry.sequence for entry in releases if entry.sequence not in settled),
        head=entries[-1].hash,
        fault=_fault(ledger),
        frozen=None if guarantee.receipt is None else _holds(guarantee.receipt, entries),
        recorded=_recorded(guarantee, entries, releases),
    )


def _fault(ledger: Ledger) -> str:
    try:
        ledger.verify()
    except LedgerError as error:
        return str(error)
    return ""


def _holds(receipt: Receipt, entries: list[Entry]) -> bool:
    return any(entry.receipt == receipt for entry in entries)


def _recorded(
    guarantee: Guarantee, entries: list[Entry], releases: tuple[Entry, ...]
) -> tuple[int, ...]:
    """Which charge was for this release: the receipt's, or all of the very same event."""
    event, receipt = guarantee.event.to_json(), guarantee.receipt
    same = [entry.sequence for entry in releases if entry.body == event]
    if receipt is None:
        return tuple(same)
    paid = [e.body.get("reservation") for e in entries if e.sequence == receipt.sequence]
    return tuple(sequence for sequence in same if sequence in paid)


def alarms(found: Account | None, guarantee: Guarantee) -> Iterator[str]:
    """What is wrong with the account, to be said first."""
    if found is None:
        return
    if found.fault:
        yield f"THE LEDGER DOES NOT VERIFY: {found.fault} Its totals prove nothing."
    receipt = guarantee.receipt
    if receipt is not None and found.dataset != receipt.dataset:
        yield (
            f"WRONG ACCOUNT: this release was charged to {receipt.dataset!r}, the ledger was asked "
            f"about {found.dataset!r}."
        )
    elif found.frozen is False or not found.recorded:
        yield (
            "THIS RELEASE IS NOT IN THE LEDGER: it is another ledger, or it was rolled back or "
            "replaced. Its totals do not cover this release."
        )


def counted_unit(found: Account) -> str:
    """For whom the account counts."""
    rows = found.terms.group
    return "one row" if rows == 1 else f"a person with at most {rows} rows"


def left(found: Account | None, guarantee: Guarantee, dataset: str | None) -> str:
    """What is left, in a sentence."""
    if found is not None:
        doubt = " But see the alarm above." if list(alarms(found, guarantee)) else ""
        return (
            f"Of the cap of {found.terms.cap} for '{found.dataset}', {found.number} = "
            f"{at_most(found.spent, 6)} is spent and {at_least(found.remaining, 6)} is left, for "
            f"{counted_unit(found)}.{doubt}"
        )
    if dataset is not None:
        return f"The ledger of '{dataset}' says; this statement was written without it."
    return "Nobody knows: no ledger was kept."


def composition(found: Account | None, guarantee: Guarantee, dataset: str | None) -> Section:
    """What this release is beside, as far as it is known."""
    facts = [_scope(dataset), *_frozen(guarantee.receipt)]
    if found is not None:
        facts += _live(found)
    facts.append(Fact("left", "Left", left(found, guarantee, dataset), value=_left(found)))
    facts += _unit(found, guarantee)
    return Section("composition", "Other releases from the same rows", tuple(facts))


def _left(found: Account | None) -> float | None:
    return None if found is None else found.remaining


def _unit(found: Account | None, guarantee: Guarantee) -> Iterator[Fact]:
    """For whom the ledger counts, where that is not this statement's unit."""
    counted = 1 if found is None else found.terms.group
    if counted > 1:
        text = f"the cap holds for a person with at most {counted} rows"
        yield Fact("ledger_unit", "Counts for", text, value=counted)
    elif guarantee.group > 1:
        text = (
            f"a ledger's cap is for one row unless it was opened for persons; a person here may "
            f"have {guarantee.group} and pays that many times as much (in rho: its square)"
        )
        yield Fact("ledger_unit", "Counts for", text, value=counted)


def _scope(dataset: str | None) -> Fact:
    if dataset is None:
        text = (
            "This covers one fit. Other releases from the same rows add to it; no ledger was kept."
        )
        return Fact("scope", "Scope", text, value={"dataset": None})
    text = (
        f"This release is recorded in the ledger under the data set '{dataset}'; what all releases "
        "from it cost together is the ledger's to say."
    )
    return Fact("scope", "Scope", text, value={"dataset": dataset})


def _frozen(receipt: Receipt | None) -> Iterator[Fact]:
    if receipt is not None:
        text = (
            f"entry {receipt.sequence} of the ledger, whose head was then {receipt.head}: a ledger "
            "without it was rolled back"
        )
        yield Fact("receipt", "Receipt", text, value=receipt.to_json())


def _live(found: Account) -> Iterator[Fact]:
    cap, count = found.terms.cap, len(found.releases)
    listed = found.releases[-MOST_LISTED:]
    more = f", of which the last {len(listed)} are listed" if len(listed) < count else ""
    releases = "1 release" if count == 1 else f"{count} releases"
    yield Fact(
        "cap", "Cap", f"{cap} for all releases, for {counted_unit(found)}", value=cap.to_json()
    )
    yield Fact(
        "spent",
        "Spent",
        f"{found.number} = {at_most(found.spent, 6)} by {releases} together{more}",
        table=_listed(found, listed),
        value={found.number: found.spent, "releases": count},
    )
    yield from _parts(found)
    yield Fact(
        "orphans",
        "Orphans",
        f"{len(found.orphans)} charged and never settled: spent, perhaps never released",
        value=sorted(found.orphans),
    )
    yield Fact("recorded", "This release", _charged(found), value=list(found.recorded))
    yield Fact("intact", "Chain", _chain(found), value=not found.fault)
    yield Fact("head", "Head now", found.head)
    if found.frozen is not None:
        text = "still in the chain" if found.frozen else "NOT in the chain"
        yield Fact("frozen_head", "Frozen head", text, value=found.frozen)


def _parts(found: Account) -> Iterator[Fact]:
    """Disjoint parts of the table, each with an account of its own."""
    pairs = list(zip(found.terms.parts, found.left_of, strict=True))
    if pairs:
        yield Fact(
            "parts",
            "Parts",
            "disjoint rows by number: a release from one costs the others nothing",
            table=Table(
                ("part", "rows", "left"),
                tuple((p.name, f"{p.start} to {p.stop - 1}", at_least(x, 6)) for p, x in pairs),
            ),
            value={part.name: amount for part, amount in pairs},
        )


def _charged(found: Account) -> str:
    if not found.recorded:
        return "NOT in the ledger"
    return f"charged as entry {', '.join(map(str, found.recorded))} (the same event)"


def _chain(found: Account) -> str:
    return f"BROKEN: {found.fault}" if found.fault else "every hash and every sum was checked"


def _listed(found: Account, listed: tuple[Entry, ...]) -> Table:
    rows = tuple(
        (
            str(entry.sequence),
            entry.time.replace("T", " ").removesuffix("+00:00"),
            _cost(entry),
            str(entry.body.get("mechanism", "")),
            "never settled" if entry.sequence in found.orphans else "released",
        )
        for entry in listed
    )
    return Table(("entry", "time (UTC)", "cost of one row", "mechanism", "state"), rows)


def _cost(entry: Entry) -> str:
    try:
        return str(budget_from_json(entry.body["claim"]))
    except (DeclarationError, KeyError, TypeError, AttributeError):
        return "unreadable"  # only in a ledger that does not verify, which is said first
