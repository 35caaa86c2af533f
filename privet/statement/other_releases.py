"""Other releases from the same rows: frozen in the model file, live from the ledger.

A model file keeps the ledger's head of the moment of its release. With the ledger at hand the
statement also says what all releases cost together, what is left, and whether the frozen head is
still in the chain. Amounts are those of the ledger's own filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privet.errors import LedgerError
from privet.ledger import Entry, Ledger, Receipt, Terms
from privet.privacy.guarantee import Guarantee
from privet.statement.facts import Fact, Section, at_least, at_most, fact, say, section

#: Releases that are listed one by one; earlier ones are counted.
MOST_LISTED = 50


@dataclass(frozen=True)
class AccountTold:
    """A data set's account as the ledger had it when it was asked, and this release in it.

    Attributes
    ----------
    dataset : str
        Its name.
    terms : Terms
        Cap, unit and parts.
    remaining : float
        What is left for a release from the whole table, in the cap's own number.
    left_of : tuple of float
        What is left for a release from each part, if there are any.
    releases : tuple of Entry
        The charges.
    orphans : frozenset of int
        Charged, never settled.
    head : str
        The hash of the last entry.
    fault : str
        What ``verify`` said; empty where the chain is intact.
    frozen : bool or None
        Whether the receipt's entry is in the chain; None without a receipt.
    recorded : tuple of int
        Reservations of exactly this release's event.
    """

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
        return self.terms.cap.amount_name

    @property
    def spent(self) -> float:
        """All releases together, in the cap's own number."""
        return self.terms.cap.facts()[self.number] - self.remaining


def account(ledger: Ledger, dataset: str, guarantee: Guarantee) -> AccountTold:
    """The account of a data set, checked, and what it holds of one release.

    Parameters
    ----------
    ledger : Ledger
        The ledger to ask.
    dataset : str
        Whose account.
    guarantee : Guarantee
        Of the release.

    Returns
    -------
    AccountTold
        As the ledger has it now.
    """
    terms, entries = ledger.terms(dataset), ledger.entries()
    mine = [entry for entry in entries if entry.dataset == dataset]
    settled = {entry.told.get("reservation") for entry in mine if entry.kind == "settle"}
    releases = tuple(entry for entry in mine if entry.kind == "reserve")
    totals = mine[-1].totals
    names = (None, *(part.name for part in terms.parts))
    whole, *parts = (terms.remaining(totals, name) for name in names)
    return AccountTold(
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
    same = [entry.sequence for entry in releases if entry.told == event]
    if receipt is None:
        return tuple(same)
    paid = [e.told.get("reservation") for e in entries if e.sequence == receipt.sequence]
    return tuple(sequence for sequence in same if sequence in paid)


def alarms(found: AccountTold | None, guarantee: Guarantee) -> Iterator[str]:
    """What is wrong with the account, to be said first."""
    if found is None:
        return
    if found.fault:
        yield say("alarm.broken", fault=found.fault)
    receipt = guarantee.receipt
    if receipt is not None and found.dataset != receipt.dataset:
        yield say("alarm.account", charged=receipt.dataset, asked=found.dataset)
    elif found.frozen is False or not found.recorded:
        yield say("alarm.absent")


def counted_unit(found: AccountTold) -> str:
    """For whom the account counts."""
    rows = found.terms.group
    return say("composition.cap.row") if rows == 1 else say("composition.cap.person", rows=rows)


def left(found: AccountTold | None, guarantee: Guarantee, dataset: str | None) -> str:
    """What is left, in a sentence."""
    here = "composition.left"
    if found is not None:
        told = say(
            f"{here}.live",
            cap=found.terms.cap,
            dataset=found.dataset,
            number=found.number,
            spent=at_most(found.spent, 6),
            left=at_least(found.remaining, 6),
            unit=counted_unit(found),
        )
        return told + (say(f"{here}.doubt") if list(alarms(found, guarantee)) else "")
    if dataset is not None:
        return say(f"{here}.without", dataset=dataset)
    return say(f"{here}.unknown")


def composition(found: AccountTold | None, guarantee: Guarantee, dataset: str | None) -> Section:
    """What this release is beside, as far as it is known."""
    return section("composition", _facts(found, guarantee, dataset))


def _facts(found: AccountTold | None, guarantee: Guarantee, dataset: str | None) -> Iterator[Fact]:
    named, receipt = "text" if dataset is not None else "none", guarantee.receipt
    yield fact("composition.scope", named, dataset=dataset, value={"dataset": dataset})
    if receipt is not None:
        yield fact(
            "composition.receipt",
            sequence=receipt.sequence,
            head=receipt.head,
            value=receipt.to_json(),
        )
    if found is not None:
        yield from _live(found)
    rest = None if found is None else found.remaining
    yield fact("composition.left", left=left(found, guarantee, dataset), value=rest)
    counted = 1 if found is None else found.terms.group
    if counted > 1:
        yield fact("composition.ledger_unit", "person", rows=counted, value=counted)
    elif guarantee.group > 1:
        yield fact("composition.ledger_unit", "row", rows=guarantee.group, value=counted)


def _live(found: AccountTold) -> Iterator[Fact]:
    cap = found.terms.cap
    yield fact("composition.cap", cap=cap, unit=counted_unit(found), value=cap.to_json())
    yield _spent(found)
    yield from _parts(found)
    orphans = sorted(found.orphans)
    yield fact("composition.orphans", count=len(orphans), value=orphans)
    entries = ", ".join(map(str, found.recorded))
    kept = "text" if found.recorded else "absent"
    yield fact("composition.recorded", kept, entries=entries, value=list(found.recorded))
    whole = "broken" if found.fault else "text"
    yield fact("composition.intact", whole, fault=found.fault, value=not found.fault)
    yield fact("composition.head", head=found.head)
    if found.frozen is not None:
        frozen = "text" if found.frozen else "absent"
        yield fact("composition.frozen_head", frozen, value=found.frozen)


def _spent(found: AccountTold) -> Fact:
    here, count = "composition.spent", len(found.releases)
    listed = found.releases[-MOST_LISTED:]
    more = say(f"{here}.more", count=len(listed)) if len(listed) < count else ""
    return fact(
        here,
        number=found.number,
        spent=at_most(found.spent, 6),
        releases=say(f"{here}.one") if count == 1 else say(f"{here}.many", count=count),
        more=more,
        cells=(_listed(found, each) for each in listed),
        value={found.number: found.spent, "releases": count},
    )


def _parts(found: AccountTold) -> Iterator[Fact]:
    """Disjoint parts of the table, each with an account of its own."""
    pairs = list(zip(found.terms.parts, found.left_of, strict=True))
    if pairs:
        rows = [say("composition.parts.range", first=p.start, last=p.stop - 1) for p, _ in pairs]
        yield fact(
            "composition.parts",
            cells=((p.name, r, at_least(x, 6)) for (p, x), r in zip(pairs, rows, strict=True)),
            value={part.name: amount for part, amount in pairs},
        )


def _listed(found: AccountTold, entry: Entry) -> tuple[str, ...]:
    return (
        str(entry.sequence),
        entry.time.replace("T", " ").removesuffix("+00:00"),
        _cost(entry),
        str(entry.told.get("mechanism", "")),
        say(f"composition.spent.{'orphan' if entry.sequence in found.orphans else 'released'}"),
    )


def _cost(entry: Entry) -> str:
    # unreadable only in a ledger that does not verify, which is said first
    return say("composition.spent.unreadable") if entry.claim is None else str(entry.claim)
