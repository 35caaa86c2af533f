"""A ledger in a file, by the standard library's SQLite.

Write-ahead log, synchronous FULL: a commit has reached the disk when it returns. ``BEGIN
IMMEDIATE``: from the first look to the commit no other process can write.

Opening a file anew for every charge, and folding the log into it when the last connection closes,
would take four times as long as the charge, so connections wait in ``_IDLE`` for the next one.
None is shared by two threads or passed to a forked process, and none outlives its file: before each
transaction and after each commit the file and its log at the path must be the very ones that the
connection has open. A ledger that was deleted or replaced meanwhile is an error, not a charge to a
file that nobody will ever see.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from privet.errors import LedgerError, PrivetError
from privet.privacy.ledger import storage
from privet.privacy.ledger.entry import canonical
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

Identity = tuple[tuple[int, int] | None, tuple[int, int] | None]


@dataclass(eq=False)
class _Line:
    """A connection, and which file and log it has open. A session while a transaction is."""

    connection: sqlite3.Connection
    path: Path
    identity: Identity
    table: str = "entries"

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()

    def insert(self, columns: str, values: Mapping[str, Any]) -> None:
        self.connection.execute(_insertion(columns), values)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()


#: Connections that wait for the next transaction of this process, the latest last.
_IDLE: list[_Line] = []
_MOST_IDLE = 8


def close_idle() -> None:
    """Close the connections that wait; the last one to close a file folds its log into it."""
    while _IDLE:
        _IDLE.pop().close()


atexit.register(close_idle)
if sys.platform != "win32":
    # SQLite's connections must not be carried into a forked process
    os.register_at_fork(before=close_idle)


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
        with self._line(create=create) as line:
            line.connection.execute("BEGIN IMMEDIATE")
            if create and self._format(line.connection) is None:
                for statement in (_CREATE, _INDEX, *_MARK):
                    line.connection.execute(statement)
            self._expect_today(line.connection)
            result = work(line)
            self._commit(line)
        return result

    def read(self, work: Callable[[Session], Result]) -> Result:
        """One consistent view."""
        with self._line() as line:
            line.connection.execute("BEGIN")
            self._expect_today(line.connection)
            result = work(line)
            line.connection.execute("COMMIT")
        return result

    def upgrade(self, work: Callable[[Session, str], Result]) -> Result:
        """One exclusive transaction on a file of any known format."""
        with self._line() as line:
            line.connection.execute("BEGIN IMMEDIATE")
            found = self._format(line.connection)
            if found is None:
                raise LedgerError(FOREIGN.format(place=self.place))
            if found == FIRST_FORMAT:
                _upgrade(line.connection)
            result = work(line, found)
            self._commit(line)
        return result

    def check(self) -> None:
        """SQLite's own check of the file's pages."""
        with self._line() as line:
            found = line.rows("PRAGMA quick_check(1)", {})
        if found != [("ok",)]:
            raise LedgerError(f"The file of the ledger {self.place} is damaged: {found[0][0]}.")

    # -- connections ---------------------------------------------------------------------------

    @contextmanager
    def _line(self, *, create: bool = False) -> Iterator[_Line]:
        """A connection for one transaction; kept for the next one unless the database failed."""
        try:
            line = self._idle() or self._connect(create=create)
        except sqlite3.Error as error:
            raise LedgerError(f"The ledger {self.place} cannot be opened: {error}.") from error
        try:
            yield line
        except sqlite3.Error as error:
            line.close()
            raise LedgerError(
                f"The ledger {self.place} refused: {error}. Nothing was released."
            ) from error
        except PrivetError:
            line.connection.rollback()
            self._keep(line)
            raise
        except BaseException:
            line.close()  # which undoes what was not committed
            raise
        self._keep(line)

    @staticmethod
    def _keep(line: _Line) -> None:
        _IDLE.append(line)
        with contextlib.suppress(IndexError):  # another thread was faster
            while len(_IDLE) > _MOST_IDLE:
                _IDLE.pop(0).close()

    def _commit(self, line: _Line) -> None:
        line.connection.execute("COMMIT")
        if _identity(self.path) != line.identity:
            raise LedgerError(
                f"The ledger {self.place} was removed or replaced while it was written. Nothing "
                "was released."
            )

    def _idle(self) -> _Line | None:
        """A waiting connection to the very file that is at the path now."""
        here = _identity(self.path)
        for line in reversed(_IDLE):
            if line.path == self.path:
                with contextlib.suppress(ValueError):  # another thread took it
                    _IDLE.remove(line)
                    if line.identity == here:
                        return line
                    line.close()
        return None

    def _connect(self, *, create: bool) -> _Line:
        self._expect_file(create=create)
        connection = sqlite3.connect(
            self.path, timeout=storage.PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            # before anything is changed in a foreign file, and in one view of it: another process
            # may be creating the ledger just now
            connection.execute("BEGIN")
            found = self._format(connection)
            connection.execute("ROLLBACK")
            if found is None and not create:
                raise LedgerError(FOREIGN.format(place=self.place))
            if _only(connection, "PRAGMA journal_mode = WAL") != "wal":
                raise LedgerError(f"The file system of {self.place} has no write-ahead log.")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
        except BaseException:
            connection.close()
            raise
        return _Line(connection, self.path, _identity(self.path))

    def _expect_file(self, *, create: bool) -> None:
        if self.path.exists():
            return
        log = self.path.with_name(self.path.name + "-wal")
        if create and log.exists() and log.stat().st_size > 0:
            raise LedgerError(
                f"{log.name} is what remains of a ledger whose file is gone. Restore "
                f"{self.place} beside it; do not start anew."
            )
        if not create:
            raise LedgerError(NOT_THERE.format(place=self.place))

    # -- format --------------------------------------------------------------------------------

    def _format(self, connection: sqlite3.Connection) -> str | None:
        """The format in the file; None for a file without tables. A foreign one is refused."""
        version = _only(connection, "PRAGMA user_version")
        application = _only(connection, "PRAGMA application_id")
        columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(entries)"))
        if (application, version, columns) == (APPLICATION, VERSION, _COLUMNS):
            return FORMAT
        if (application, version, columns) == (0, 0, _FIRST):
            return FIRST_FORMAT
        if application or version or _only(connection, "SELECT count(*) FROM sqlite_master"):
            raise LedgerError(FOREIGN.format(place=self.place))
        return None

    def _expect_today(self, connection: sqlite3.Connection) -> None:
        if _only(connection, "PRAGMA user_version") == VERSION:
            return  # the rest was checked when the connection was made
        found = self._format(connection)
        if found is None:
            raise LedgerError(FOREIGN.format(place=self.place))
        raise LedgerError(OLDER.format(place=self.place, found=found))


def _upgrade(connection: sqlite3.Connection) -> None:
    """From the first format to this: a column for parts, and texts as they are hashed."""
    for statement in ("ALTER TABLE entries ADD COLUMN part TEXT", _INDEX, *_MARK):
        connection.execute(statement)
    for sequence, *texts in connection.execute(
        "SELECT sequence, body, totals FROM entries"
    ).fetchall():
        try:
            body, totals = (canonical(json.loads(text)) for text in texts)
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(f"Entry {sequence} of the ledger cannot be read.") from error
        connection.execute(
            "UPDATE entries SET body = ?, totals = ? WHERE sequence = ?", (body, totals, sequence)
        )


@lru_cache(maxsize=4)
def _insertion(columns: str) -> str:
    names = ", ".join(f":{name}" for name in columns.split(", "))
    return f"INSERT INTO entries ({columns}) VALUES ({names})"


def _only(connection: sqlite3.Connection, sql: str) -> Any:
    return connection.execute(sql).fetchone()[0]


def _identity(path: Path) -> Identity:
    """Which file and which log are at a path."""
    name = os.fspath(path)
    return _file(name), _file(name + "-wal")


def _file(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino
