"""Whether a released file and its entry in the ledger name each other.

The file keeps a receipt: the number and the hash of the entry that settled its charge. The entry
keeps the digest of what was released, of its numbers and its claim, and the number of the
reservation, which keeps the event that was paid for. Either alone can be forged: a receipt can be
copied into another file, and a file's claim can be lowered. Together they cannot, unless the ledger
itself is rewritten, which a head kept elsewhere finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from privet.errors import LedgerError
from privet.ledger.entries import Entries
from privet.ledger.entry import Entry, check_link
from privet.ledger.verify import understood
from privet.privacy.event import Event
from privet.privacy.guarantee import NEIGHBORS, Guarantee
from privet.privacy.kinds import event_from_json

_OLD = "the entry was written before entries named what was released"


class BindingFinding(NamedTuple):
    """One thing that was checked."""

    check: str
    holds: bool | None  # None: it cannot be known
    told: str


def release_findings(
    entries: Entries, guarantee: Guarantee, digest: str | None
) -> Iterator[BindingFinding]:
    """What a ledger says of a release with this guarantee and digest; stops where it says no."""
    settled = _settled(entries, guarantee)
    if isinstance(settled, BindingFinding):
        yield settled
        return
    yield BindingFinding("receipt", True, f"entry {settled.sequence} settles this release")
    yield _claim(_reserved(entries, settled), guarantee)
    yield _persons(settled, guarantee)
    yield _numbers(settled, digest)


def _settled(entries: Entries, guarantee: Guarantee) -> Entry | BindingFinding:
    """The entry on the receipt, or why there is none that could settle a release."""
    receipt = guarantee.receipt
    if receipt is None:
        return BindingFinding(
            "receipt", False, "the file carries no receipt: it was made without a ledger"
        )
    found = entries.numbered(receipt.sequence)
    if found is None or found.receipt != receipt:
        return BindingFinding(
            "receipt",
            False,
            f"entry {receipt.sequence} is not the one on the receipt: the ledger was rolled back, "
            "or the release was charged to a copy or to another ledger",
        )
    if found.kind != "settle":
        return BindingFinding(
            "receipt",
            False,
            f"entry {receipt.sequence} is no settlement but of kind {found.kind!r}: nothing was "
            "released under it",
        )
    return found


def _reserved(entries: Entries, settled: Entry) -> Entry | None:
    """The charge that an entry settles, if the chain leads from it to there.

    The hash on the receipt then is of the charge, too: nobody can write another in its place.
    """
    number = settled.body.get("reservation")
    if type(number) is not int or not 0 < number < settled.sequence:
        return None
    reserved = entries.numbered(number)
    if reserved is None:
        return None
    previous = reserved.previous
    for each in entries.pages(after=number - 1):
        check_link(each, number, previous)
        number, previous = number + 1, each.hash
        if each.sequence == settled.sequence:
            break
    return reserved if previous == settled.hash else None


def _claim(reserved: Entry | None, guarantee: Guarantee) -> BindingFinding:
    """The event of the file is what was paid for, or one part of it; its curves are in it."""
    mine = guarantee.event.canonical()
    if reserved is None or reserved.kind != "reserve":
        return BindingFinding("claim", False, "the reservation that the entry settles is missing")
    try:
        with understood(reserved.sequence):
            paid = event_from_json(reserved.body)
            same = any(part.canonical() == mine for part in _with_parts(paid))
    except LedgerError:  # of an analyst's own making
        told = f"entry {reserved.sequence} paid for something that no Privet writes"
        return BindingFinding("claim", False, told)
    if same:
        return BindingFinding(
            "claim", True, f"{guarantee.event.claim} was paid by entry {reserved.sequence}"
        )
    return BindingFinding(
        "claim",
        False,
        f"the file claims {guarantee.event.claim} by {guarantee.event.mechanism}, entry "
        f"{reserved.sequence} paid {paid.claim} by {paid.mechanism}: claim, curves and parameters "
        "must be the same",
    )


def _with_parts(event: Event) -> Iterator[Event]:
    yield event
    for part in event.parts:
        yield from _with_parts(part)


def _persons(settled: Entry, guarantee: Guarantee) -> BindingFinding:
    """A promise to persons with several rows is not told as one to rows, or for fewer rows."""
    if guarantee.persons == 0:
        proper = (guarantee.group, guarantee.neighbors) == (1, NEIGHBORS)
        if proper or settled.ledger is None:
            return BindingFinding("persons", True, "the promise is to rows")
        return BindingFinding(
            "persons", False, "the file tells a promise to rows as something else than it is"
        )
    if settled.ledger is None:
        return BindingFinding("persons", None, _OLD)
    paid = int(settled.body.get("persons", 0))
    if 0 < paid <= guarantee.group:
        return BindingFinding("persons", True, f"the promise is to persons with up to {paid} rows")
    told = f"to persons with up to {paid} rows" if paid else "to rows"
    return BindingFinding(
        "persons",
        False,
        f"the file promises to persons with up to {guarantee.group} rows, the release was {told}",
    )


def _numbers(settled: Entry, digest: str | None) -> BindingFinding:
    """The numbers in the file are those that were released."""
    if settled.ledger is None:
        return BindingFinding("numbers", None, _OLD)
    released = settled.body.get("released", [])
    if digest is None and not released:
        return BindingFinding("numbers", None, "such a file has no digest of its numbers")
    if digest in released:
        return BindingFinding("numbers", True, f"entry {settled.sequence} names these very numbers")
    return BindingFinding(
        "numbers",
        False,
        f"entry {settled.sequence} names other numbers: those in the file are not what was "
        "released and paid for",
    )
