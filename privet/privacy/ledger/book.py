"""Reading and appending entries inside a transaction: the same words for every database.

A charge looks at a few entries, in one query, unless the session remembers them (``memory.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from privet.errors import LedgerError
from privet.privacy.ledger.entry import COLUMNS, Entry, Totals, checked_name, follow
from privet.privacy.ledger.storage import Session
from privet.privacy.ledger.terms import Terms, terms_from_json

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM {{table}}"

# All that a charge looks at, in one query. Each inner one finds a single entry by an index.
_AROUND = f"""
{_SELECT} WHERE sequence IN (
  (SELECT max(sequence) FROM {{table}}),
  (SELECT max(sequence) FROM {{table}} WHERE dataset = :dataset),
  (SELECT sequence FROM {{table}} WHERE dataset = :dataset AND kind = 'open' AND key = :dataset),
  (SELECT sequence FROM {{table}} WHERE dataset = :dataset AND kind = :kind AND key = :key)
) ORDER BY sequence
"""
# The same for a settlement, which knows the number of its reservation.
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


class Account(NamedTuple):
    """Where an account stands."""

    opened: Entry
    last: Entry  # of this account
    totals: Totals  # all that was charged so far
    newest: Entry  # of the whole ledger
    known: Entry | None  # the one that was asked for

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


@dataclass(slots=True)
class Book:
    """The entries, as a session sees them. What a charge builds on must carry its own hash."""

    session: Session

    def account(self, dataset: str, kind: str = "", key: str | None = None) -> Account:
        """The account of an open data set, and its entry of this kind and key if there is one."""
        checked_name("dataset", dataset)
        memory = self.session.memory
        if key is None and memory.newest is not None and dataset in memory.accounts:
            return Account(*memory.accounts[dataset], memory.newest, None)
        found = self._select(_AROUND, {"dataset": dataset, "kind": kind, "key": key})
        mine = [entry for entry in found if entry.dataset == dataset]
        opened = next((entry for entry in mine if entry.kind == "open"), None)
        if opened is None:
            raise LedgerError(
                f"The data set {dataset!r} is not open in this ledger. Open it with its cap first."
            )
        known = next((e for e in mine if e.kind == kind and e.key == key is not None), None)
        _check_hashes(opened, mine[-1], known)
        memory.saw(opened, mine[-1], found[-1])
        return Account(opened, mine[-1], mine[-1].totals, found[-1], known)

    def reservation(self, number: int) -> Reservation:
        """The reservation with this number."""
        memory = self.session.memory
        known = memory.reserved.get(number)
        if known is not None and memory.newest is not None and known.dataset in memory.accounts:
            _, last, _ = memory.accounts[known.dataset]
            return Reservation(known, last, memory.newest, None)
        found = self._select(_RESERVED, {"number": number, "key": str(number)})
        reserved = next((entry for entry in found if entry.sequence == number), None)
        if reserved is None or reserved.kind != "reserve":
            raise LedgerError(f"There is no reservation number {number}.")
        mine = [entry for entry in found if entry.dataset == reserved.dataset]
        settled = next((e for e in mine if e.kind == "settle" and e.key == str(number)), None)
        _check_hashes(reserved, mine[-1])
        return Reservation(reserved, mine[-1], found[-1], settled)

    def before_opening(self, dataset: str) -> Entry | None:
        """The newest entry, of a ledger in which the data set is not open yet."""
        checked_name("dataset", dataset)
        found = self._select(_AROUND, {"dataset": dataset, "kind": "", "key": None})
        if any(entry.dataset == dataset for entry in found):
            raise LedgerError(
                f"The data set {dataset!r} is already open and its cap stays. Go on charging "
                "it, or choose another name for other people's rows."
            )
        return found[-1] if found else None

    def newest(self) -> Entry | None:
        """The last entry of the ledger."""
        where = "WHERE sequence = (SELECT max(sequence) FROM {table})"
        found = self._select(f"{_SELECT} {where}", {})
        return found[0] if found else None

    def entry(self, number: int) -> Entry | None:
        """The entry with this number."""
        found = self._select(f"{_SELECT} WHERE sequence = :number", {"number": number})
        return found[0] if found else None

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """All entries, or those of one data set, in order."""
        where = "" if dataset is None else "WHERE dataset = :dataset"
        values = {} if dataset is None else {"dataset": dataset}
        return self._select(f"{_SELECT} {where} ORDER BY sequence", values)

    def append(
        self,
        newest: Entry | None,
        dataset: str,
        kind: str,
        *,
        key: str | None = None,
        part: str | None = None,
        body: str,
        totals: str,
        found: Iterable[Entry] = (),
        charged: Totals | None = None,
        time: str | None = None,
    ) -> Entry:
        """Write the entry that follows ``newest``, the last one, and was decided on ``found``.

        ``body`` and ``totals`` are canonical texts; ``charged`` is what ``totals`` says, if it is
        not what the account's last entry said. ``time`` stands in for the clock's.
        """
        entry = follow(
            newest, dataset, kind, key=key, part=part, body=body, totals=totals, time=time
        )
        self.session.insert(entry, (newest, *found))
        self.session.memory.wrote(entry, charged)
        return entry

    def _select(self, sql: str, values: dict[str, Any]) -> list[Entry]:
        return [Entry._make(row) for row in self.session.rows(_of(sql, self.session.table), values)]


@lru_cache(maxsize=64)
def _of(sql: str, table: str) -> str:
    return sql.format(table=table)


def _check_hashes(*entries: Entry | None) -> None:
    for entry in dict.fromkeys(entries):
        if entry is not None and entry.digest() != entry.hash:
            raise LedgerError(f"Entry {entry.sequence} of the ledger was changed; run verify.")
