"""A privacy budget that survives the process.

A ``Ledger`` is a value: a URL. It holds no connection, so it can be copied, pickled, cloned with an
estimator and sent to another process, and all of them charge the same file. A charge is reserved
durably *before* noise is drawn and settled after the release; a crash in between leaves it spent.

    ledger = Ledger("sqlite:///budget.db")
    ledger.open("patients", cap=PureDP(1.0))
    LogisticRegression(0.1, ledger=ledger, dataset="patients").fit(X, y)
    ledger.remaining("patients")

Entries are appended, never changed. Each carries the hash of the one before it, so ``verify`` finds
an entry that was edited, deleted or reordered. Whoever can write the file can also hash it anew: a
chain rewritten as a whole, cut off at its end or rolled back is found only by comparing it with a
``head()`` that was kept elsewhere. Order is by sequence, never by clock.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.privacy.budget import Budget, budget_from_json
from privet.privacy.compose import NOTHING, UNITS_PER_ONE, Filter, add_costs, costs
from privet.privacy.event import Event, event_from_json

SCHEME = "sqlite:///"
FORMAT = "privet-ledger-1"
GENESIS = hashlib.sha256(FORMAT.encode()).hexdigest()
# How long a charge waits for another process to finish its own, in seconds.
PATIENCE = 30.0

_TABLE = """
CREATE TABLE IF NOT EXISTS entries (
  sequence INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT,
  body TEXT NOT NULL,
  totals TEXT NOT NULL,
  time TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (dataset, kind, key)
)
"""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: ``open``, ``reserve`` or ``settle``."""

    sequence: int
    dataset: str
    kind: str
    key: str | None
    body: dict[str, Any]
    totals: tuple[int | None, ...]
    time: str
    previous: str
    hash: str

    def digest(self) -> str:
        """The hash that this entry must carry: of everything else in it, canonically written."""
        fields = asdict(self)
        del fields["hash"]
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _entry(
    sequence: int, dataset: str, kind: str, key: str | None, body: str, totals: str, *rest: str
) -> Entry:
    return Entry(sequence, dataset, kind, key, json.loads(body), tuple(json.loads(totals)), *rest)


@dataclass(frozen=True)
class Ledger:
    """A durable privacy ledger at ``url`` (``sqlite:///path``)."""

    url: str

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not self.url.startswith(SCHEME):
            raise DeclarationError(f"A ledger URL looks like {SCHEME}budget.db, got {self.url!r}.")
        place = self.url.removeprefix(SCHEME)
        if not place or place.startswith((":", "file:")):
            raise DeclarationError("A ledger needs a file: one in memory would forget the budget.")
        # absolute, so that it stays the same ledger in another folder and in another process
        object.__setattr__(self, "url", SCHEME + str(Path(place).absolute()))

    @property
    def path(self) -> Path:
        """The file behind the URL."""
        return Path(self.url.removeprefix(SCHEME))

    # -- what users call -----------------------------------------------------------------------

    def open(self, dataset: str, cap: Budget) -> None:
        """Start the account of ``dataset`` with its ``cap``; creates the file if there is none."""
        if not isinstance(dataset, str) or not dataset:
            raise DeclarationError("dataset must be a non-empty name.")
        Filter(cap).limits()
        with self._transaction(create=True) as connection:
            if self._last(connection, dataset) is not None:
                raise LedgerError(
                    f"The data set {dataset!r} is already open and its cap stays. Go on charging "
                    "it, or choose another name for other people's rows."
                )
            self._append(connection, dataset, "open", dataset, cap.to_json(), NOTHING)

    def reserve(self, dataset: str, event: Event, key: str | None = None) -> int:
        """Charge ``event`` durably, or raise ``BudgetExceeded``; returns the reservation's number.

        A ``key`` makes the charge idempotent: the same key again returns the same reservation.
        """
        with self._transaction() as connection:
            known = self._find(connection, dataset, "reserve", key)
            if known is not None:
                return self._same(connection, known, event)
            totals = self._admit(connection, dataset, event)
            return self._append(connection, dataset, "reserve", key, event.to_json(), totals)

    def require(self, dataset: str, event: Event) -> None:
        """Raise ``BudgetExceeded`` unless ``event`` would fit now. Charges nothing."""
        with self._transaction() as connection:
            self._admit(connection, dataset, event)

    def settle(self, reservation: int) -> None:
        """Note that the reserved release was made. A reservation is settled once."""
        with self._transaction() as connection:
            entry = self._read(connection, "WHERE sequence = ?", (reservation,))
            if not entry or entry[0].kind != "reserve":
                raise LedgerError(f"There is no reservation number {reservation}.")
            dataset, key = entry[0].dataset, str(reservation)
            if self._find(connection, dataset, "settle", key) is not None:
                raise LedgerError(f"Reservation {reservation} is settled already.")
            last = self._last(connection, dataset)
            assert last is not None  # the reservation itself is an entry
            body = {"reservation": reservation}
            self._append(connection, dataset, "settle", key, body, last.totals)

    def remaining(self, dataset: str) -> float:
        """What is left under the cap, in the cap's own number (epsilon or rho)."""
        with self._transaction() as connection:
            cap, last = self._account(connection, dataset)
        return max(Filter(cap).room(last.totals), 0) / UNITS_PER_ONE

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """All entries, or those of one data set, in order."""
        where, values = ("", ()) if dataset is None else ("WHERE dataset = ?", (dataset,))
        with self._transaction() as connection:
            return self._read(connection, where, values)

    def orphans(self, dataset: str) -> list[Entry]:
        """Reservations that were never settled: spent, and perhaps never released."""
        entries = self.entries(dataset)
        settled = {entry.body["reservation"] for entry in entries if entry.kind == "settle"}
        return [e for e in entries if e.kind == "reserve" and e.sequence not in settled]

    def head(self) -> str:
        """The hash of the newest entry; keep it elsewhere to notice a roll-back."""
        entries = self.entries()
        return entries[-1].hash if entries else GENESIS

    def verify(self, head: str | None = None) -> None:
        """Check the chain from its start; raises ``LedgerError`` that names the first bad entry.

        With ``head``, also that an entry with this hash is still there.
        """
        previous, totals = GENESIS, dict[str, tuple[int | None, ...]]()
        entries = self.entries()
        for expected, entry in enumerate(entries, start=1):
            where = f"Entry {entry.sequence} of the ledger"
            if entry.sequence != expected:
                raise LedgerError(f"Entry {expected} of the ledger is missing.")
            if entry.previous != previous or entry.digest() != entry.hash:
                raise LedgerError(f"{where} was changed after it was written.")
            total = totals.get(entry.dataset, NOTHING)
            if entry.kind == "reserve":
                total = add_costs(total, costs(event_from_json(entry.body)))
            if total != entry.totals:
                raise LedgerError(f"{where} does not add up to its total.")
            totals[entry.dataset], previous = total, entry.hash
        if head is not None and head not in {GENESIS, *(entry.hash for entry in entries)}:
            raise LedgerError("The ledger was rolled back: the given head is not in it any more.")

    def export(self) -> Iterator[str]:
        """The entries as JSON lines."""
        for entry in self.entries():
            yield json.dumps(asdict(entry), sort_keys=True, separators=(",", ":"))

    # -- rules -----------------------------------------------------------------------------------

    def _admit(
        self, connection: sqlite3.Connection, dataset: str, event: Event
    ) -> tuple[int | None, ...]:
        """The totals after ``event``; raises where it is not private or does not fit."""
        if not event.private:
            raise LedgerError(
                f"The release is not private ({event.why_not_private}), so no account can bound "
                "what it costs. Fit it without a ledger, or make it private."
            )
        cap, last = self._account(connection, dataset)
        if last.digest() != last.hash:
            raise LedgerError(f"Entry {last.sequence} of the ledger was changed; run verify.")
        totals = add_costs(last.totals, costs(event))
        if Filter(cap).room(totals) < 0:
            left = max(Filter(cap).room(last.totals), 0) / UNITS_PER_ONE
            raise BudgetExceeded(
                f"A release of {event.claim} does not fit under the cap of {cap} for "
                f"{dataset!r}: {left:g} is left. Ask for less; a cap cannot be raised."
            )
        return totals

    def _same(self, connection: sqlite3.Connection, known: Entry, event: Event) -> int:
        """The reservation of a repeated key: of the same event, and not yet released."""
        if known.body != event.to_json():
            raise LedgerError(f"The key {known.key!r} was used for another release.")
        if self._find(connection, known.dataset, "settle", str(known.sequence)) is not None:
            raise LedgerError(f"The release with key {known.key!r} was made already.")
        return known.sequence

    # -- storage -------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """One exclusive, durable transaction on a connection of its own."""
        if not create and not self.path.exists():
            raise LedgerError(
                f"There is no ledger at {self.path.name}. Create it with Ledger.open or `privet "
                "ledger open`; a ledger that disappeared must be restored, not re-created."
            )
        try:
            connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        except sqlite3.Error as error:
            raise LedgerError(f"The ledger cannot be opened: {error}.") from error
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            if create:
                connection.execute(_TABLE)
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise LedgerError(
                f"The ledger refused: {error}. Nothing was charged and nothing released."
            ) from error
        finally:
            connection.close()

    @staticmethod
    def _read(connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> list[Entry]:
        columns = "sequence, dataset, kind, key, body, totals, time, previous, hash"
        rows = connection.execute(
            f"SELECT {columns} FROM entries {where} ORDER BY sequence", values
        ).fetchall()
        try:
            return [_entry(*row) for row in rows]
        except (ValueError, TypeError) as error:
            raise LedgerError("An entry of the ledger is not readable; run verify.") from error

    def _last(self, connection: sqlite3.Connection, dataset: str) -> Entry | None:
        where = "WHERE sequence = (SELECT max(sequence) FROM entries WHERE dataset = ?)"
        found = self._read(connection, where, (dataset,))
        return found[0] if found else None

    def _find(
        self, connection: sqlite3.Connection, dataset: str, kind: str, key: str | None
    ) -> Entry | None:
        if key is None:
            return None
        where = "WHERE dataset = ? AND kind = ? AND key = ?"
        found = self._read(connection, where, (dataset, kind, key))
        return found[0] if found else None

    def _account(self, connection: sqlite3.Connection, dataset: str) -> tuple[Budget, Entry]:
        last, opened = (
            self._last(connection, dataset),
            self._find(connection, dataset, "open", dataset),
        )
        if last is None or opened is None:
            raise LedgerError(
                f"The data set {dataset!r} is not open in this ledger. Open it with its cap first."
            )
        return budget_from_json(opened.body), last

    def _append(
        self,
        connection: sqlite3.Connection,
        dataset: str,
        kind: str,
        key: str | None,
        body: dict[str, Any],
        totals: tuple[int | None, ...],
    ) -> int:
        newest = self._read(connection, "WHERE sequence = (SELECT max(sequence) FROM entries)", ())
        sequence = newest[0].sequence + 1 if newest else 1
        previous = newest[0].hash if newest else GENESIS
        time = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(sequence, dataset, kind, key, body, totals, time, previous, "")
        connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                sequence,
                dataset,
                kind,
                key,
                json.dumps(body, sort_keys=True, allow_nan=False),
                json.dumps(totals),
                time,
                previous,
                entry.digest(),
            ),
        )
        return sequence
