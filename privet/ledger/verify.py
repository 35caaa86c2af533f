"""Replaying a ledger from its first entry: is it whole, unchanged, and does it add up?

Totals must be at least what the events cost when they are read again, by their claims or by their
curves, whichever is more. They may be more: an accountant of a later release may prove less, and
what was charged stays charged. A billionth of a step is forgiven, since another machine may round a
logarithm differently; so is a billionth where an earlier release counted in billionths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from privet.errors import LedgerError
from privet.ledger.account import Terms, terms_from_json
from privet.ledger.entry import GENESIS, Entry, Totals, is_digest
from privet.privacy.compose import UNITS_PER_ONE, Vector
from privet.privacy.guarantee import Receipt
from privet.privacy.kinds import event_from_json

BILLIONTH = UNITS_PER_ONE // 10**9
#: Kinds of entries that give a ledger an identity.
NAMING = ("migrate", "adopt")
#: How far the logarithm of a number near 1 may be from another machine's.
_LOG = UNITS_PER_ONE // 10**14


@dataclass
class _Replay:
    """What has been read so far of one data set."""

    terms: Terms
    totals: Totals
    reserved: set[int] = field(default_factory=set)


def verify_entries(entries: Sequence[Entry], head: str | Receipt | None = None) -> None:
    """Raise a ``LedgerError`` that names the first bad entry, or what ``head`` says is missing."""
    previous, identity = GENESIS, None
    accounts: dict[str, _Replay] = {}
    for expected, entry in enumerate(entries, start=1):
        if entry.sequence != expected:
            raise LedgerError(f"Entry {expected} of the ledger is missing.")
        if entry.previous != previous or entry.digest() != entry.hash:
            raise LedgerError(f"Entry {expected} of the ledger was changed after it was written.")
        if _is_stranger(entry, identity):
            raise LedgerError(f"Entry {expected} of the ledger bears another ledger's identity.")
        try:
            fault = _KINDS.get(entry.kind, _unknown)(entry, accounts)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LedgerError(f"Entry {expected} of the ledger cannot be understood.") from error
        if fault:
            raise LedgerError(f"Entry {expected} of the ledger {fault}.")
        previous, identity = entry.hash, entry.ledger
    if isinstance(head, Receipt):
        _check_receipt(entries, head)
    elif head is not None and head not in {GENESIS, *(entry.hash for entry in entries)}:
        raise LedgerError(
            "The ledger was rolled back, cut off at its end or replaced: the given head is not in "
            f"it. It ends with entry {len(entries)}."
        )


def _is_stranger(entry: Entry, identity: str | None) -> bool:
    """Whether an entry cannot follow one with ``identity``: only some kinds may change it."""
    if entry.ledger is None:  # of an earlier format
        return identity is not None or entry.nonce is not None
    if not entry.nonce:
        return True
    return entry.sequence > 1 and entry.ledger != identity and entry.kind not in NAMING


def unsettled(entries: Iterable[Entry]) -> list[Entry]:
    """Reservations without a settlement."""
    found = list(entries)
    settled = {entry.body["reservation"] for entry in found if entry.kind == "settle"}
    return [e for e in found if e.kind == "reserve" and e.sequence not in settled]


def _check_receipt(entries: Sequence[Entry], receipt: Receipt) -> None:
    if receipt.sequence > len(entries):
        raise LedgerError(
            f"The ledger was rolled back or cut off at its end: the receipt is of entry "
            f"{receipt.sequence}, the ledger ends with entry {len(entries)}."
        )
    there = entries[receipt.sequence - 1] if receipt.sequence >= 1 else None
    if there is None or there.receipt != receipt:
        raise LedgerError(
            f"The ledger was rolled back and written anew, or is another one: its entry "
            f"{receipt.sequence} is not the one on the receipt."
        )


def _open(entry: Entry, accounts: dict[str, _Replay]) -> str:
    if entry.dataset in accounts:
        return "opens a data set that is open already"
    terms = terms_from_json(entry.body)
    accounts[entry.dataset] = _Replay(terms, terms.nothing())
    return "" if entry.totals == terms.nothing() else "does not add up to its total"


def _reserve(entry: Entry, accounts: dict[str, _Replay]) -> str:
    account = accounts[entry.dataset]
    event, touched = event_from_json(entry.body), account.terms.touched(entry.part)
    before = account.terms.undecided(account.totals, entry.totals)
    forgiven = 0 if '"' in entry.totals_text else BILLIONTH
    for i, (old, new) in enumerate(zip(before, entry.totals, strict=True)):
        cost = account.terms.cost(event, old)
        if not _covers(old, new, cost, forgiven) if i in touched else new != old:
            return "does not add up to its total"
    if account.terms.room(entry.totals) < 0:
        return "exceeds the cap of its data set"
    account.totals = entry.totals
    account.reserved.add(entry.sequence)
    return ""


def _covers(before: Vector, after: Vector, cost: Vector, forgiven: int) -> bool:
    """Whether the step from ``before`` to ``after`` is at least ``cost``, column by column."""
    for old, new, step in zip(before, after, cost, strict=True):
        if new is None:
            continue  # a column given up admits nothing
        if old is None or step is None or new < old + step - max(forgiven, step // 10**9 + _LOG):
            return False
    return True


def _settle(entry: Entry, accounts: dict[str, _Replay]) -> str:
    account = accounts[entry.dataset]
    reservation = entry.body["reservation"]
    if reservation not in account.reserved:
        return "settles what is not reserved"
    account.reserved.remove(reservation)
    if not all(is_digest(each) for each in entry.body.get("released", [])):
        return "names what was released by something that is no digest"
    return "" if entry.totals == account.totals else "does not add up to its total"


def _migrate(entry: Entry, _: dict[str, _Replay]) -> str:
    return "" if entry.totals == () else "does not add up to its total"


def _unknown(entry: Entry, _: dict[str, _Replay]) -> str:
    return f"is of a kind that this Privet does not know: {entry.kind!r}"


_KINDS: dict[str, Callable[[Entry, dict[str, _Replay]], str]] = {
    "open": _open,
    "reserve": _reserve,
    "settle": _settle,
    "migrate": _migrate,
    "adopt": _migrate,
}
