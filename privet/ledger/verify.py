"""Replaying a ledger from its first entry: is it whole, unchanged, and does it add up?

Totals must be at least what the events cost when they are read again, by their claims or by their
curves, whichever is more. They may be more: an accountant of a later release may prove less, and
what was charged stays charged. A billionth of a step is forgiven, since another machine may round a
logarithm differently; so is a billionth where an earlier release counted in billionths.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from privet.errors import LedgerError
from privet.ledger.account import Terms, terms_from_json
from privet.ledger.entry import GENESIS, Entry, Totals, check_link, is_digest
from privet.privacy.compose import UNITS_PER_ONE, Vector
from privet.privacy.event import Event
from privet.privacy.guarantee import Receipt
from privet.privacy.kinds import event_from_json

BILLIONTH = UNITS_PER_ONE // 10**9
#: Kinds of entries that give a ledger an identity.
NAMING = ("migrate", "adopt")
#: What reading and pricing an event of somebody's own making may end in.
_NONSENSE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
#: How far the logarithm of a number near 1 may be from another machine's.
_LOG = UNITS_PER_ONE // 10**14


@contextmanager
def understood(number: int) -> Iterator[None]:
    """An entry of somebody's own making that says something else than entries do."""
    try:
        yield
    except _NONSENSE as error:
        raise LedgerError(f"Entry {number} of the ledger cannot be understood.") from error


@dataclass
class ReplayedAccount:
    """What has been read so far of one data set."""

    opened: Entry
    terms: Terms
    totals: Totals
    last: Entry
    reserved: set[int] = field(default_factory=set)

    @classmethod
    def after(cls, opened: Entry, last: Entry, reserved: set[int]) -> ReplayedAccount:
        """An account of which everything up to ``last`` was read before."""
        return cls(opened, terms_from_json(opened.body), last.totals, last, reserved)


@dataclass
class Replay:
    """What has been read so far of a ledger, entry by entry."""

    #: entries that are believed as they stand, although this Privet cannot price them
    excused: Container[int] = ()
    sequence: int = 0
    head: str = GENESIS
    identity: str | None = None
    accounts: dict[str, ReplayedAccount] = field(default_factory=dict)

    def read(self, entry: Entry) -> None:
        """Take the next entry, or raise a ``LedgerError`` that names what is wrong with it."""
        expected = self.sequence + 1
        check_link(entry, expected, self.head)
        if _is_stranger(entry, self.identity):
            raise LedgerError(f"Entry {expected} of the ledger bears another ledger's identity.")
        rule = _KINDS.get(entry.kind, _unknown)
        if expected in self.excused and entry.kind == "reserve":
            rule = _as_it_stands
        with understood(expected):
            fault = rule(entry, self.accounts)
        if fault:
            raise LedgerError(f"Entry {expected} of the ledger {fault}.")
        if entry.dataset in self.accounts:
            self.accounts[entry.dataset].last = entry
        self.sequence, self.head, self.identity = expected, entry.hash, entry.ledger


def verify_entries(
    entries: Iterable[Entry], head: str | Receipt | None = None, replay: Replay | None = None
) -> Replay:
    """Raise a ``LedgerError`` that names the first bad entry, or what ``head`` says is missing.

    ``replay`` is what was read already of the entries before these. A head is looked for among
    these alone.
    """
    replay = Replay() if replay is None else replay
    wanted = head.sequence if isinstance(head, Receipt) else 0
    known = head is None or head == GENESIS
    for entry in entries:
        replay.read(entry)
        known = known or (entry.receipt if wanted == entry.sequence else entry.hash) == head
    if not known:
        raise missing_head(head, replay.sequence)
    return replay


def missing_head(head: str | Receipt | None, count: int) -> LedgerError:
    """What it means that something which was kept is not in a ledger of so many entries."""
    if not isinstance(head, Receipt):
        return LedgerError(
            "The ledger was rolled back, cut off at its end or replaced: the given head is not in "
            f"it. It ends with entry {count}."
        )
    if head.sequence > count:
        return LedgerError(
            f"The ledger was rolled back or cut off at its end: the receipt is of entry "
            f"{head.sequence}, the ledger ends with entry {count}."
        )
    return LedgerError(
        f"The ledger was rolled back and written anew, or is another one: its entry "
        f"{head.sequence} is not the one on the receipt."
    )


def _is_stranger(entry: Entry, identity: str | None) -> bool:
    """Whether an entry cannot follow one with ``identity``: only some kinds may change it."""
    if entry.ledger is None:  # of an earlier format
        return identity is not None or entry.nonce is not None
    if not entry.nonce:
        return True
    return entry.sequence > 1 and entry.ledger != identity and entry.kind not in NAMING


def _open(entry: Entry, accounts: dict[str, ReplayedAccount]) -> str:
    if entry.dataset in accounts:
        return "opens a data set that is open already"
    terms = terms_from_json(entry.body)
    accounts[entry.dataset] = ReplayedAccount(entry, terms, terms.nothing(), entry)
    return "" if entry.totals == terms.nothing() else "does not add up to its total"


def _reserve(entry: Entry, accounts: dict[str, ReplayedAccount]) -> str:
    account = accounts[entry.dataset]
    event, touched = _event(entry.body_text), account.terms.touched(entry.part)
    # a field may stand there twice, of which each reader takes another
    if entry.nonce is not None and event.canonical() != entry.body_text:
        return "is not written as Privet writes it"
    before = account.terms.undecided(account.totals, entry.totals)
    if event.n > account.terms.rows(entry.part):
        return "is of a release from more rows than its part has"
    # only the first format counted in billionths, and its entries have no nonce
    forgiven = BILLIONTH if entry.nonce is None and '"' not in entry.totals_text else 0
    for i, (old, new) in enumerate(zip(before, entry.totals, strict=True)):
        cost = account.terms.cost(event, old)
        if not _covers(old, new, cost, forgiven) if i in touched else new != old:
            return "does not add up to its total"
    if account.terms.room(entry.totals) < 0:
        return "exceeds the cap of its data set"
    account.totals = entry.totals
    account.reserved.add(entry.sequence)
    return ""


@lru_cache(maxsize=256)
def _event(text: str) -> Event:
    """An event; many releases have the same."""
    return event_from_json(json.loads(text))


def _as_it_stands(entry: Entry, accounts: dict[str, ReplayedAccount]) -> str:
    """A charge whose event cannot be priced: what it added stays added, and must be something."""
    account = accounts[entry.dataset]
    before = account.terms.undecided(account.totals, entry.totals)
    for old, new in zip(before, entry.totals, strict=True):
        if not _covers(old, new, (0,) * len(old), 0):
            return "does not add up to its total"
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


def _settle(entry: Entry, accounts: dict[str, ReplayedAccount]) -> str:
    account = accounts[entry.dataset]
    reservation = entry.body["reservation"]
    if reservation not in account.reserved:
        return "settles what is not reserved"
    account.reserved.remove(reservation)
    if not all(is_digest(each) for each in entry.body.get("released", [])):
        return "names what was released by something that is no digest"
    return "" if entry.totals == account.totals else "does not add up to its total"


def _migrate(entry: Entry, _: dict[str, ReplayedAccount]) -> str:
    return "" if entry.totals == () else "does not add up to its total"


def _unknown(entry: Entry, _: dict[str, ReplayedAccount]) -> str:
    return f"is of a kind that this Privet does not know: {entry.kind!r}"


_KINDS: dict[str, Callable[[Entry, dict[str, ReplayedAccount]], str]] = {
    "open": _open,
    "reserve": _reserve,
    "settle": _settle,
    "migrate": _migrate,
    "adopt": _migrate,
}
