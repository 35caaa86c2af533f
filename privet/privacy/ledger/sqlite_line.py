"""A connection to a ledger's file: which file it has open, and what it remembers of it.

Opening a file anew for every charge, and folding the log into it when the last connection closes,
would take four times as long as the charge, so connections wait in ``IDLE`` for the next one. None
outlives its file: before each transaction and after each commit the file and its log at the path
must be the very ones that the connection has open. A ledger that was deleted or replaced meanwhile
is an error, not a charge to a file that nobody will ever see.

A connection may remember what it read and wrote (``memory.py``) while nobody else writes. SQLite
tells: ``PRAGMA data_version`` differs between two transactions of a connection exactly if another
connection, of this or any other process, has committed in between. It is asked *inside* the
transaction, so the answer is about what the transaction sees, and after ``BEGIN IMMEDIATE`` nobody
can write until the commit.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from privet.privacy.ledger import storage
from privet.privacy.ledger.entry import COLUMNS, Entry
from privet.privacy.ledger.idle import Idle
from privet.privacy.ledger.memory import Memory

#: Device and number of a file, then of its log.
Identity = tuple[int, int, int, int]

_INSERT = f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


@dataclass(eq=False, slots=True)
class Line:
    """A connection to the file at ``place``. A session while a transaction is open."""

    place: str
    log: str
    before: tuple[int, int] | None  # the file at the path just before it was opened
    connection: sqlite3.Connection
    cursor: sqlite3.Cursor
    identity: Identity | None = None
    version: int | None = None  # of the data when the memory was true
    memory: Memory = field(default_factory=Memory)
    table: str = "entries"

    def begin(self, statement: str) -> bool:
        """Start a transaction; whether nobody else has written since this connection's last."""
        self.cursor.execute(statement)
        version = self.only("PRAGMA data_version")
        if version == self.version:
            return True
        self.memory.forget()
        self.version = version
        return False

    def doubt(self) -> None:
        """Remember nothing and check everything in the next transaction."""
        self.memory.forget()
        self.version = None

    def run(self, statement: str) -> None:
        """A statement without values and without an answer."""
        self.cursor.execute(statement)

    def only(self, statement: str) -> Any:
        """The one value that a statement answers."""
        return self.cursor.execute(statement).fetchone()[0]

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return self.cursor.execute(sql, values).fetchall()

    def insert(self, entry: Entry, found: Iterable[Entry | None]) -> None:
        """Append an entry; the transaction sees to it that what was found stays true."""
        self.cursor.execute(_INSERT, tuple(entry))  # a plain tuple is bound faster

    def identify(self) -> bool:
        """Note which file and log are open; whether they can be told: they stayed meanwhile."""
        found = _identity(self.place, self.log)
        if found is not None and self.before in (None, found[:2]):
            self.identity = found
        return self.identity is not None

    def in_place(self) -> bool:
        """Whether the file and the log at the path are the ones that this connection has open."""
        return self.identity is not None and self.identity == _identity(self.place, self.log)

    def close(self) -> None:
        """Close the connection, which undoes what was not committed."""
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()


#: Connections that wait for the next transaction of this process.
IDLE: Idle[Line] = Idle(8)


def connected(place: str) -> Line:
    """A new connection to the file; nothing was asked of it yet."""
    before = _file(place)
    connection = sqlite3.connect(
        place, timeout=storage.PATIENCE, isolation_level=None, check_same_thread=False
    )
    return Line(place, log_of(place), before, connection, connection.cursor())


def log_of(place: str) -> str:
    """The write-ahead log of a file. SQLite follows a symbolic link and puts it beside the file."""
    return os.path.realpath(place) + "-wal"


def _identity(place: str, log: str) -> Identity | None:
    """Which file and log are at a path; None where one is missing."""
    try:
        file, beside = os.stat(place), os.stat(log)
    except OSError:
        return None
    return file.st_dev, file.st_ino, beside.st_dev, beside.st_ino


def _file(place: str) -> tuple[int, int] | None:
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino
