"""Reading and appending entries inside a transaction: the same words for every database.

A charge looks at four entries, in one query by indices, and at those that other accounts have
written since the last one of its own. Each that it builds on must carry its own hash.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from privet._names import alike
from privet.errors import DeclarationError, LedgerError
from privet.ledger.account import Terms, terms_from_json
from privet.ledger.entry import COLUMNS, Entry, Totals, check_link, checked_name, follow
from privet.privacy.compose import NOTHING_BASIC

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM {{table}}"

# the newest entry, and of one data set: the last, the opening, and the one of a kind and key
_AROUND = f"""
{_SELECT} WHERE sequence IN (
  (SELECT max(sequence) FROM {{table}}),
  (SELECT max(sequence) FROM {{table}} WHERE dataset = :dataset),
  (SELECT sequence FROM {{table}} WHERE dataset = :dataset AND kind = 'open' AND key = :dataset),
  (SELECT sequence FROM {{table}} WHERE dataset = :dataset AND kind = :kind AND key = :key)
) ORDER BY sequence
"""
# the same around a reservation, of which only the number is known
_RESERVED = f"""
{_SELECT} WHERE sequence IN (
  :number,
  (SELECT max(sequence) FROM {{table}}),
  (SELECT max(sequence) FROM {{table}} WHERE dataset =
    (SELECT dataset FROM {{table}} WHERE sequence = :number)),
  (SELECT sequence FROM {{table}} WHERE kind = 'settle' AND key = :key AND dataset =
    (SELECT dataset FROM {{table}} WHERE sequence = :number))
) ORDER BY sequence
"""


#: How many entries are held at a time where all are read.
PAGE = 500


class SettledAlready(LedgerError):
    """The release of this reservation was made before: a charge pays for one."""


class Transaction(Protocol):
    """What a database must give. Values are bound by name: ``:name`` in the text."""

    @property
    def table(self) -> str:
        """The table of entries."""

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a query finds."""

    @property
    def answers(self) -> str:
        """The table of answers, which a ledger has once a release keeps its transcript there."""

    def has_answers(self) -> bool:
        """Whether that table is there."""

    def create_answers(self) -> None:
        """Create that table, for whoever may write the entries."""

    def run(self, sql: str, values: Mapping[str, Any]) -> None:
        """A statement that finds nothing."""

    def insert(self, entry: Entry) -> None:
        """Append an entry."""

    def is_mine(self, number: int) -> bool:
        """Whether whoever asks has written this entry; True where nobody is told apart."""


class Account(NamedTuple):
    """Where an account stands."""

    opened: Entry
    last: Entry  # of this account
    newest: Entry  # of the whole ledger
    known: Entry | None  # the one that was asked for

    @property
    def totals(self) -> Totals:
        """All that was charged so far."""
        found, nothing = self.last.totals, self.terms.nothing()
        known = {len(NOTHING_BASIC), *map(len, nothing)}
        if len(found) != len(nothing) or not known.issuperset(map(len, found)):
            raise LedgerError(f"Entry {self.last.sequence} of the ledger cannot be understood.")
        return found

    @property
    def terms(self) -> Terms:
        """What was declared when the account was opened."""
        return _terms(self.opened.body_text)


@lru_cache(maxsize=64)
def _terms(text: str) -> Terms:
    return terms_from_json(json.loads(text))


class Reservation(NamedTuple):
    """Where a reservation stands."""

    reserved: Entry
    last: Entry  # of its account
    newest: Entry  # of the whole ledger
    settled: Entry | None


class ReleaseNoted(NamedTuple):
    """A charge, and whether its release was noted."""

    charged: Entry
    settled: bool


class Entries:
    """The entries of a ledger, as one transaction sees them."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.appended: Entry | None = None  # the newest that this transaction wrote

    @property
    def transaction(self) -> Transaction:
        """What it reads from and writes to."""
        return self._transaction

    def account(self, dataset: str, kind: str = "", key: str | None = None) -> Account:
        """The account of an open data set, and its entry of this kind and key if there is one."""
        checked_name("dataset", dataset)
        found = self._select(_AROUND, dataset=dataset, kind=kind, key=key)
        mine = [entry for entry in found if entry.dataset == dataset]
        opened = next((entry for entry in mine if entry.kind == "open"), None)
        if opened is None:
            raise LedgerError(
                f"The data set {dataset!r} is not open in this ledger. Check its name, or open it "
                "with its cap first: Ledger.open or `privet ledger open`."
            )
        known = next((e for e in mine if e.kind == kind and e.key == key is not None), None)
        _check_hashes(opened, mine[-1], known)
        return Account(opened, mine[-1], found[-1], known)

    def reservation(self, number: int) -> Reservation:
        """The reservation with this number."""
        found = self._select(_RESERVED, number=number, key=str(number))
        reserved = next((entry for entry in found if entry.sequence == number), None)
        if reserved is None or reserved.kind != "reserve":
            raise LedgerError(f"There is no reservation number {number}.")
        mine = [entry for entry in found if entry.dataset == reserved.dataset]
        settled = next((e for e in mine if e.kind == "settle" and e.key == str(number)), None)
        _check_hashes(reserved, mine[-1])
        return Reservation(reserved, mine[-1], found[-1], settled)

    def repeated(self, known: Entry, body: str, part: str | None) -> int:
        """The reservation of a repeated key: of the same event, and not yet released."""
        if known.body_text != body or known.part != part:
            raise LedgerError(f"The key {known.key!r} was used for another release.")
        if not self._transaction.is_mine(known.sequence):
            raise LedgerError(
                f"The key {known.key!r} was used by another login, whose charge pays for its own "
                "release. Choose another key."
            )
        if self.reservation(known.sequence).settled is not None:
            raise LedgerError(f"The release with key {known.key!r} was made already.")
        return known.sequence

    def check_last(self, found: Account | Reservation) -> None:
        """Refuse to go on from an entry after which its account has another one.

        Which is the last was asked of an index, and an index is under no hash. A bit that flips in
        it would show an older entry, whose totals return what was spent since. So the chain is
        followed from there to the newest entry of all.
        """
        last, newest = found.last, found.newest
        number, previous = last.sequence, last.hash
        for entry in self.pages(after=number) if newest != last else ():
            number += 1
            check_link(entry, number, previous)
            previous = entry.hash
            if entry.dataset == last.dataset:
                raise LedgerError(
                    f"An index of the ledger is damaged: it does not lead to entry {number} of "
                    f"{last.dataset!r}. Nothing was charged. Let the database make its indices "
                    "anew (REINDEX), and run verify."
                )
            if number == newest.sequence:
                break  # without asking once more
        if previous != newest.hash:
            raise LedgerError(f"Entry {newest.sequence} of the ledger was changed; run verify.")

    def before_opening(self, dataset: str) -> Entry | None:
        """The newest entry, of a ledger in which the data set is not open yet."""
        found = self._select(_AROUND, dataset=dataset, kind="", key=None)
        if any(entry.dataset == dataset for entry in found):
            raise LedgerError(
                f"The data set {dataset!r} is already open and its cap stays. Go on charging "
                "it, or choose another name for other people's rows."
            )
        same = alike([*self.opened(), dataset])
        if same is not None and dataset in same:
            raise LedgerError(
                f"The data set {dataset!r} looks the same as {same[0]!r}, which is open: a second "
                "budget for the same people would go unseen. Choose a name that differs in more "
                "than capitals or signs that nobody sees."
            )
        return found[-1] if found else None

    def newest(self) -> Entry | None:
        """The last entry of the ledger."""
        found = self._select(f"{_SELECT} WHERE sequence = (SELECT max(sequence) FROM {{table}})")
        return found[0] if found else None

    def numbered(self, number: int) -> Entry | None:
        """The entry with this number."""
        found = self._select(f"{_SELECT} WHERE sequence = :number", number=number)
        return found[0] if found else None

    def identities(self) -> set[str | None]:
        """The identities that the ledger has had; None where entries have none."""
        query = f"SELECT DISTINCT ledger FROM {self._transaction.table}"
        return {row[0] for row in self._transaction.rows(query, {})}

    def all(self, dataset: str | None = None) -> list[Entry]:
        """All entries, or those of one data set, in order."""
        where = "" if dataset is None else "WHERE dataset = :dataset"
        return self._select(f"{_SELECT} {where} ORDER BY sequence", dataset=dataset)

    def pages(self, dataset: str | None = None, *, after: int = 0) -> Iterator[Entry]:
        """The same without holding them all: as many at a time as ``PAGE``."""
        where = "WHERE sequence > :after" + ("" if dataset is None else " AND dataset = :dataset")
        query = f"{_SELECT} {where} ORDER BY sequence LIMIT {PAGE}"
        while found := self._select(query, dataset=dataset, after=after)[::-1]:
            while found:  # one is let go after the other: what was read of it may be large
                entry = found.pop()
                if entry.sequence <= after:
                    raise LedgerError("The ledger is damaged: its entries are not in order.")
                after = entry.sequence
                yield entry

    def hashed(self, digest: str) -> Entry | None:
        """The entry with this hash."""
        found = self._select(f"{_SELECT} WHERE hash = :digest", digest=digest)
        return found[0] if found else None

    def opened(self) -> list[str]:
        """The open data sets, in the order of their opening."""
        query = "SELECT dataset FROM {table} WHERE kind = 'open' ORDER BY sequence"
        found = self._transaction.rows(query.format(table=self._transaction.table), {})
        return [row[0] for row in found]

    def releases(self, dataset: str, last: int | None = None) -> Iterator[ReleaseNoted]:
        """The charges of a data set and whether they were settled: in order, or the last ones."""
        charges = f"{_SELECT} WHERE dataset = :dataset AND kind = 'reserve' AND sequence > :after"
        if last is not None:
            query = f"{charges} ORDER BY sequence DESC LIMIT :last"
            found = self._select(query, dataset=dataset, after=0, last=last)[::-1]
            yield from self._with_settlements(dataset, found)
            return
        query, after = f"{charges} ORDER BY sequence LIMIT {PAGE}", 0
        while found := self._select(query, dataset=dataset, after=after):
            yield from self._with_settlements(dataset, found)
            after = found[-1].sequence

    def _with_settlements(self, dataset: str, charges: list[Entry]) -> list[ReleaseNoted]:
        keys = {f"k{i}": str(entry.sequence) for i, entry in enumerate(charges)}
        names = ", ".join(f":{name}" for name in keys) or "NULL"
        query = (
            "SELECT key FROM {table} WHERE dataset = :dataset AND kind = 'settle' "
            f"AND key IN ({names})"
        ).format(table=self._transaction.table)
        settled = {row[0] for row in self._transaction.rows(query, {"dataset": dataset, **keys})}
        return [ReleaseNoted(entry, str(entry.sequence) in settled) for entry in charges]

    def append(
        self,
        newest: Entry | None,
        dataset: str,
        kind: str,
        *,
        body: str,
        totals: str,
        key: str | None = None,
        part: str | None = None,
        time: str | None = None,
        ledger: str | None = None,
    ) -> Entry:
        """Write the entry that follows ``newest``, the last one.

        ``body`` and ``totals`` are canonical texts; ``time`` stands in for the clock's and
        ``ledger`` for the identity so far.
        """
        entry = follow(
            newest,
            dataset,
            kind,
            key=key,
            part=part,
            body=body,
            totals=totals,
            time=time,
            ledger=ledger,
        )
        self._transaction.insert(entry)
        self.appended = entry
        return entry

    def _select(self, sql: str, **values: Any) -> list[Entry]:
        found = self._transaction.rows(sql.format(table=self._transaction.table), values)
        return [Entry._make(row) for row in found]


def _check_hashes(*entries: Entry | None) -> None:
    for entry in dict.fromkeys(entries):
        if entry is not None and entry.digest() != entry.hash:
            raise LedgerError(f"Entry {entry.sequence} of the ledger was changed; run verify.")


def reservation_number(reservation: Any) -> int:
    """A reservation's number: a whole one, since 2.0 would be settled beside 2."""
    try:
        return int(operator.index(reservation))
    except TypeError as error:
        raise DeclarationError(
            f"A reservation is the number that reserve returned, got {reservation!r}."
        ) from error
