"""A ledger in a file, by the standard library's SQLite.

Write-ahead log, synchronous FULL: a commit has reached the disk when it returns. ``BEGIN
IMMEDIATE``: from the first look to the commit no other process can write.

The file is marked in its header, and a file that carries another mark or other tables is left as it
is. Connections are kept from charge to charge: see ``sqlite_line.py``.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from privet._files import canonical
from privet.errors import LedgerError, PrivetError
from privet.privacy.ledger import storage
from privet.privacy.ledger.sqlite_line import IDLE, LOST, Line, connected, log_of
from privet.privacy.ledger.storage import (
    FIRST_FORMAT,
    FOREIGN,
    FORMAT,
    NOT_THERE,
    OLDER,
    Result,
    Session,
)

#: Written into the file's header: "priv", and the number of the format.
APPLICATION = int.from_bytes(b"priv", "big")
VERSION = 2

_FIRST = ("sequence", "dataset", "kind", "key", "body", "totals", "time", "previous", "hash")
_COLUMNS = (*_FIRST, "part")
_CREATE = """
CREATE TABLE entries (
  sequence INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT,
  body TEXT NOT NULL,
  totals TEXT NOT NULL,
  time TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  part TEXT,
  UNIQUE (dataset, kind, key)
)
"""
_INDEX = "CREATE INDEX entries_by_dataset ON entries (dataset, sequence)"
_MARK = (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}")


@dataclass(frozen=True)
class SqliteStore:
    """The ledger in the file ``path``."""

    path: Path

    @property
    def place(self) -> str:
        """The file's name."""
        return self.path.name

    def write(self, work: Callable[[Session], Result], *, create: bool = False) -> Result:
        """One exclusive, durable transaction."""

        def transaction(line: Line) -> Result:
            if not line.begin("BEGIN IMMEDIATE"):
                if create and self._format(line) is None:
                    for statement in (_CREATE, _INDEX, *_MARK):
                        line.run(statement)
                self._expect_today(line)
            result = work(line)
            self._commit(line)
            return result

        return self._with_line(transaction, create=create)

    def read(self, work: Callable[[Session], Result]) -> Result:
        """One consistent view."""

        def transaction(line: Line) -> Result:
            if not line.begin("BEGIN"):
                self._expect_today(line)
            result = work(line)
            line.run("COMMIT")
            return result

        return self._with_line(transaction)

    def upgrade(self, work: Callable[[Session, str], Result]) -> Result:
        """One exclusive transaction on a file of any known format."""

        def transaction(line: Line) -> Result:
            line.begin("BEGIN IMMEDIATE")
            found = self._format(line)
            if found is None:
                raise LedgerError(FOREIGN.format(place=self.place))
            if found == FIRST_FORMAT:
                _upgrade(line)
            result = work(line, found)
            self._commit(line)
            return result

        return self._with_line(transaction)

    def check(self) -> None:
        """SQLite's own check of the file's pages."""
        found = self._with_line(lambda line: line.rows("PRAGMA quick_check(1)", {}))
        if found != [("ok",)]:
            raise LedgerError(f"The file of the ledger {self.place} is damaged: {found[0][0]}.")

    # -- connections ---------------------------------------------------------------------------

    def _with_line(self, work: Callable[[Line], Result], *, create: bool = False) -> Result:
        """What ``work`` returns; the connection is kept unless the database failed."""
        line = self._line(create=create)
        try:
            result = work(line)
        except PrivetError:
            line.connection.rollback()
            line.doubt()
            IDLE.keep(line)
            raise
        except BaseException as error:
            line.close()  # which undoes what was not committed
            if isinstance(error, sqlite3.Error):
                raise LedgerError(
                    f"The ledger {self.place} refused: {error}. Nothing was released."
                ) from error
            raise
        IDLE.keep(line)
        return result

    @cached_property
    def _name(self) -> str:
        return os.fspath(self.path)

    def _line(self, *, create: bool = False) -> Line:
        """A connection to the very file that is at the path now."""
        while (line := IDLE.take(self._name)) is not None:
            if line.in_place():
                return line
            line.close()
        if self._name in LOST:
            raise LedgerError(
                f"{self.place}-shm was removed or replaced while this process had it open, so that "
                "charges of others cannot be seen. Nothing was released; start the process again."
            )
        until = time.monotonic() + storage.PATIENCE
        while True:
            try:
                return self._connect(create=create)
            except sqlite3.Error as error:
                # SQLite does not wait by itself while another process starts the log
                code = getattr(error, "sqlite_errorcode", 0)
                busy = code & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    words = f"The ledger {self.place} cannot be opened: {error}."
                    raise LedgerError(words) from error
            time.sleep(random.uniform(0.0, 0.01))

    def _commit(self, line: Line) -> None:
        line.run("COMMIT")
        if not line.in_place():
            raise LedgerError(
                f"The ledger {self.place} was removed or replaced while it was written. Nothing "
                "was released."
            )

    def _connect(self, *, create: bool) -> Line:
        self._expect_file(create=create)
        line = connected(self._name)
        try:
            # before anything is changed in a foreign file, and in one view of it: another process
            # may be creating the ledger just now
            line.run("BEGIN")
            found = self._format(line)
            line.run("ROLLBACK")
            if found is None and not create:
                raise LedgerError(FOREIGN.format(place=self.place))
            if line.only("PRAGMA journal_mode = WAL") != "wal":
                raise LedgerError(f"The file system of {self.place} has no write-ahead log.")
            line.run("PRAGMA synchronous = FULL")
            line.only("SELECT count(*) FROM sqlite_master")  # opens the log
            if not line.identify():
                raise LedgerError(
                    f"The ledger {self.place} was removed or replaced while it was opened."
                )
        except BaseException:
            line.close()
            raise
        return line

    def _expect_file(self, *, create: bool) -> None:
        if self.path.exists():
            return
        log = Path(log_of(self._name))
        if create and log.exists() and log.stat().st_size > 0:
            raise LedgerError(
                f"{log.name} is what remains of a ledger whose file is gone. Restore "
                f"{self.place} beside it; do not start anew."
            )
        if not create:
            raise LedgerError(NOT_THERE.format(place=self.place))

    # -- format --------------------------------------------------------------------------------

    def _format(self, line: Line) -> str | None:
        """The format in the file; None for a file without tables. A foreign one is refused."""
        version = line.only("PRAGMA user_version")
        application = line.only("PRAGMA application_id")
        columns = tuple(row[1] for row in line.rows("PRAGMA table_info(entries)", {}))
        if (application, version, columns) == (APPLICATION, VERSION, _COLUMNS):
            return FORMAT
        if (application, version, columns) == (0, 0, _FIRST):
            return FIRST_FORMAT
        if application or version or line.only("SELECT count(*) FROM sqlite_master"):
            raise LedgerError(FOREIGN.format(place=self.place))
        return None

    def _expect_today(self, line: Line) -> None:
        if line.only("PRAGMA user_version") == VERSION:
            return  # the rest was checked when the connection was made
        found = self._format(line)
        if found is None:
            raise LedgerError(FOREIGN.format(place=self.place))
        raise LedgerError(OLDER.format(place=self.place, found=found))


def _upgrade(line: Line) -> None:
    """From the first format to this: a column for parts, and texts as they are hashed."""
    for statement in ("ALTER TABLE entries ADD COLUMN part TEXT", _INDEX, *_MARK):
        line.run(statement)
    for sequence, *texts in line.rows("SELECT sequence, body, totals FROM entries", {}):
        try:
            body, totals = (canonical(json.loads(text)) for text in texts)
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(f"Entry {sequence} of the ledger cannot be read.") from error
        line.connection.execute(
            "UPDATE entries SET body = ?, totals = ? WHERE sequence = ?", (body, totals, sequence)
        )
