"""A connection to a ledger's file: which file it has open, and what it remembers of it.

Opening a file anew for every charge, and folding the log into it when the last connection closes,
would take four times as long as the charge, so connections wait in ``IDLE`` for the next one. None
outlives its file: before each transaction and after each commit the file, its log and the log's
index at the path must be the very ones that the connection has open. One whose files were replaced
while it waited is not used again; one whose files are replaced during a charge is an error, not a
charge to a file that nobody will ever see.

The index (``-shm``) holds the locks. Where somebody removed it and another process made a new one,
the two would not see each other, and closing the old connection would fold the log into the file by
an index that is out of date. SQLite keeps one index per file and process, so such a connection is
left open until the process ends, and the process can no longer use this ledger (``LOST``).

A connection may remember what it read and wrote (``memory.py``) while nobody else writes. SQLite
tells: ``PRAGMA data_version`` differs between two transactions of a connection exactly if another
connection, of this or any other process, has committed in between. It is asked *inside* the
transaction, so the answer is about what the transaction sees, and after ``BEGIN IMMEDIATE`` nobody
can write until the commit.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from privet.privacy.ledger import storage
from privet.privacy.ledger.entry import COLUMNS, Entry
from privet.privacy.ledger.idle import Idle
from privet.privacy.ledger.memory import Memory

#: Device and number of a file.
File = tuple[int, int]
#: The file, its log and the log's index.
Identity = tuple[File, File, File]

_INSERT = f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


@dataclass(eq=False, slots=True)
class Line:
    """A connection to the file at ``place``. A session while a transaction is open."""

    place: str
    log: str
    index: str
    before: File | None  # the file at the path just before it was opened
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
        found = _identity(self.place, self.log, self.index)
        if found is not None and self.before in (None, found[0]):
            self.identity = found
        return self.identity is not None

    def in_place(self) -> bool:
        """Whether the file and the log at the path are the ones that this connection has open."""
        found = _identity(self.place, self.log, self.index)
        return self.identity is not None and self.identity == found

    def close(self) -> None:
        """Close the connection, which undoes what was not committed."""
        if self.identity is not None and _file(self.index) not in (None, self.identity[2]):
            LOST.add(self.place)
            # never: one reference more than anybody will give back
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))
            return
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()


#: Files whose index was replaced while this process had it open.
LOST: set[str] = set()

#: Connections that wait for the next transaction of this process.
IDLE: Idle[Line] = Idle(8)


def connected(place: str) -> Line:
    """A new connection to the file; nothing was asked of it yet."""
    before = _file(place)
    connection = sqlite3.connect(
        place, timeout=storage.PATIENCE, isolation_level=None, check_same_thread=False
    )
    log = log_of(place)
    index = log.removesuffix("-wal") + "-shm"
    return Line(place, log, index, before, connection, connection.cursor())


def log_of(place: str) -> str:
    """The write-ahead log of a file. SQLite follows a symbolic link and puts it beside the file."""
    return os.path.realpath(place) + "-wal"


def _identity(place: str, log: str, index: str) -> Identity | None:
    """Which file, log and index are at a path; None where one is missing."""
    file, beside, third = _file(place), _file(log), _file(index)
    if file is None or beside is None or third is None:
        return None
    return file, beside, third


def _file(place: str) -> File | None:
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino
