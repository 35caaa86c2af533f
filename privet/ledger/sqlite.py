"""A ledger in a file, by the standard library's SQLite.

Write-ahead log, synchronous FULL: a commit has reached the disk when it returns. ``BEGIN
IMMEDIATE``: from the first look to the commit no other process can write. Every operation opens the
file anew and closes it, so nothing is kept across a fork, and a file that was removed, replaced or
restored between two charges is seen as what it is.

The file is marked in its header, and a file that carries another mark or other tables is left as it
is. After a commit the file, its log and the log's index (which holds the locks) at the path must be
the very ones that were open: else the charge went to a file that nobody will ever see.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet._files import canonical
from privet.errors import LedgerError
from privet.ledger import store
from privet.ledger.beside import Beside
from privet.ledger.entries import Entries
from privet.ledger.entry import COLUMNS, Entry
from privet.ledger.place import refuse_place
from privet.ledger.store import FIRST_FORMAT, FOREIGN, FORMAT, NOT_THERE, OLDER, SECOND_FORMAT

#: Written into the file's header: "priv", and the number of the format.
APPLICATION = int.from_bytes(b"priv", "big")
VERSION = 3

_FIRST = ("sequence", "dataset", "kind", "key", "body", "totals", "time", "previous", "hash")
_SECOND = (*_FIRST, "part")
_TODAY = (*_SECOND, "ledger", "nonce")
#: The entries of the second format, as a query that has today's columns.
_SECOND_TABLE = "(SELECT *, NULL AS ledger, NULL AS nonce FROM entries) AS entries"
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
  ledger TEXT,
  nonce TEXT,
  UNIQUE (dataset, kind, key)
)
"""
_INDEX = "CREATE INDEX entries_by_dataset ON entries (dataset, sequence)"
_MARK = (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}")
_INSERT = f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


@dataclass(frozen=True)
class SqliteTransaction:
    """An open transaction."""

    connection: sqlite3.Connection
    table: str = "entries"
    answers: str = "answers"

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return self.connection.execute(sql, values).fetchall()

    def has_answers(self) -> bool:
        """Whether it is there."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'answers'", {}))

    def run(self, sql: str, values: Mapping[str, Any]) -> None:
        """A statement that finds nothing."""
        self.connection.execute(sql, values)

    def insert(self, entry: Entry) -> None:
        """Append an entry."""
        self.connection.execute(_INSERT, tuple(entry))

    def is_mine(self, number: int) -> bool:
        """A file does not tell who wrote an entry."""
        return True


@dataclass(frozen=True)
class SqliteStore:
    """The ledger in the file ``path``."""

    path: Path

    @property
    def _beside(self) -> Beside:
        return Beside(self.path)

    @contextmanager
    def reading(self) -> Iterator[Entries]:
        """One consistent view."""
        with self._connected(read=True) as connection:
            connection.execute("BEGIN")
            found = self._format(connection)
            if found == SECOND_FORMAT:
                yield Entries(SqliteTransaction(connection, _SECOND_TABLE))
                return
            self._expect_today(connection)
            yield Entries(SqliteTransaction(connection))

    def writing(self, *, create: bool = False) -> AbstractContextManager[Entries]:
        """One exclusive, durable transaction."""
        return self._writing(create=create)

    def adopting(self) -> AbstractContextManager[Entries]:
        """As ``writing``, of any file: what was remembered of it is forgotten."""
        return self._writing(adopt=True)

    @contextmanager
    def _writing(self, *, create: bool = False, adopt: bool = False) -> Iterator[Entries]:
        with self._connected(create=create) as connection:
            entries = Entries(SqliteTransaction(connection))
            with self._exclusive(connection):
                refuse_place(self.path)
                if create and self._format(connection) is None:
                    self._beside.expect_none()
                    for statement in (_CREATE, _INDEX, *_MARK):
                        connection.execute(statement)
                    self._beside.start()
                self._expect_today(connection)
                if not adopt:
                    self._beside.check(entries)
                yield entries
            self._beside.note(entries.appended, anew=adopt)

    @contextmanager
    def upgrading(self) -> Iterator[tuple[Entries, str]]:
        """One exclusive transaction on a file of any known format."""
        with self._connected() as connection:
            entries = Entries(SqliteTransaction(connection))
            with self._exclusive(connection):
                refuse_place(self.path)
                found = self._format(connection)
                if found is None:
                    raise LedgerError(FOREIGN.format(place=self.path.name))
                if found == FIRST_FORMAT:
                    _add_parts(connection)
                if found != FORMAT:
                    _add_identity(connection)
                yield entries, found
            self._beside.note(entries.appended, anew=True)

    def check(self) -> None:
        """SQLite's own check of the file's pages."""
        with self._connected(read=True) as connection:
            found = _only(connection, "PRAGMA quick_check(1)")
        if found != "ok":
            raise LedgerError(f"The file of the ledger {self.path.name} is damaged: {found}.")

    def compare(self, entries: Entries) -> None:
        """With what is remembered beside the file."""
        self._beside.compare(entries)

    # -- connections ---------------------------------------------------------------------------

    @contextmanager
    def _connected(
        self, *, create: bool = False, read: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """A connection for one operation; closing it undoes what was not committed."""
        only = self._is_read_only()
        if only and not read:
            # SQLite would begin a log of this user's, which shuts out those who may write
            raise LedgerError(
                f"This user may not write the ledger {self.path.name} and its folder. Nothing was "
                "charged. Ask its owner for the right to write both, or to charge for you."
            )
        with closing(self._archived() if only else self._connect(create=create)) as connection:
            try:
                yield connection
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise LedgerError(
                    f"The ledger {self.path.name} refused: {error}. Nothing was released."
                ) from error

    @contextmanager
    def _exclusive(self, connection: sqlite3.Connection) -> Iterator[None]:
        """A transaction that is durable when it is left, in the files that it began in."""
        connection.execute("BEGIN IMMEDIATE")
        files = self._files()
        yield
        connection.execute("COMMIT")
        if None in files or self._files() != files:
            raise LedgerError(
                f"The ledger {self.path.name} was removed or replaced while it was written. "
                "Nothing was released."
            )

    def _is_read_only(self) -> bool:
        """Whether this process cannot write where the ledger lies: an archive, an auditor."""
        real = os.path.realpath(self.path)
        return os.path.exists(real) and not (
            os.access(real, os.W_OK) and os.access(os.path.dirname(real), os.W_OK)
        )

    def _archived(self) -> sqlite3.Connection:
        """A connection that writes nothing, not even a log.

        Where a log with entries lies beside the file, SQLite needs the log's index too, else the
        newest entries would be missed. Without a log nobody is writing; should somebody begin just
        now, pages of two states do not keep the hash chain, and ``verify`` says so.
        """
        real = Path(os.path.realpath(self.path))
        log = Path(f"{real}-wal")
        logged = log.exists() and log.stat().st_size > 0
        try:
            return sqlite3.connect(
                f"{real.as_uri()}?mode=ro{'' if logged else '&immutable=1'}",
                uri=True,
                timeout=store.PATIENCE,
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise LedgerError(
                f"The ledger {self.path.name} cannot be opened for reading alone: {error}. Copy it "
                "together with the files -wal and -shm beside it to a folder that can be written."
            ) from error

    def _connect(self, *, create: bool) -> sqlite3.Connection:
        """A new connection; SQLite does not wait by itself while another process starts the log."""
        until = time.monotonic() + store.PATIENCE
        while True:
            self._expect_file(create=create)
            try:
                return self._attempt(create=create)
            except sqlite3.Error as error:
                busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    words = f"The ledger {self.path.name} cannot be opened: {error}."
                    raise LedgerError(words) from error
            time.sleep(random.uniform(0.0, 0.01))

    def _attempt(self, *, create: bool) -> sqlite3.Connection:
        before = _file(self.path)
        connection = sqlite3.connect(self.path, timeout=store.PATIENCE, isolation_level=None)
        try:
            self._prepare(connection, create=create)
            if before not in (None, _file(self.path)):
                raise LedgerError(
                    f"The ledger {self.path.name} was removed or replaced while it was opened."
                )
        except UnicodeDecodeError:  # in SQLite's own complaint, which quotes the file
            connection.close()
            raise LedgerError(f"The file of the ledger {self.path.name} is damaged.") from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection, *, create: bool) -> None:
        # before anything is changed in a foreign file, and in one view of it: another process may
        # be creating the ledger just now
        connection.execute("BEGIN")
        found = self._format(connection)
        connection.execute("ROLLBACK")
        if found is None and not create:
            raise LedgerError(FOREIGN.format(place=self.path.name))
        if _only(connection, "PRAGMA journal_mode = WAL") != "wal":
            raise LedgerError(f"The file system of {self.path.name} has no write-ahead log.")
        connection.execute("PRAGMA synchronous = FULL")

    def _files(self) -> tuple[tuple[int, int] | None, ...]:
        """Which file, log and index are at the path; SQLite follows a link and puts them there."""
        real = os.path.realpath(self.path)
        return tuple(_file(Path(f"{real}{end}")) for end in ("", "-wal", "-shm"))

    def _expect_file(self, *, create: bool) -> None:
        if self.path.exists():
            return
        log = Path(f"{os.path.realpath(self.path)}-wal")
        if create and log.exists() and log.stat().st_size > 0:
            raise LedgerError(
                f"{log.name} is what remains of a ledger whose file is gone. Restore "
                f"{self.path.name} beside it; do not start anew."
            )
        if create:
            self._beside.expect_none()
        else:
            raise LedgerError(NOT_THERE.format(place=self.path.name))

    # -- format --------------------------------------------------------------------------------

    def _format(self, connection: sqlite3.Connection) -> str | None:
        """The format in the file; None for a file without tables. A foreign one is refused."""
        version = _only(connection, "PRAGMA user_version")
        application = _only(connection, "PRAGMA application_id")
        columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(entries)"))
        if (application, version, columns) == (APPLICATION, VERSION, _TODAY):
            return FORMAT
        if (application, version, columns) == (APPLICATION, 2, _SECOND):
            return SECOND_FORMAT
        if (application, version, columns) == (0, 0, _FIRST):
            return FIRST_FORMAT
        if application or version or _only(connection, "SELECT count(*) FROM sqlite_master"):
            raise LedgerError(FOREIGN.format(place=self.path.name))
        return None

    def _expect_today(self, connection: sqlite3.Connection) -> None:
        found = self._format(connection)
        if found is None:
            raise LedgerError(FOREIGN.format(place=self.path.name))
        if found != FORMAT:
            raise LedgerError(OLDER.format(place=self.path.name, found=found))


def _only(connection: sqlite3.Connection, statement: str) -> Any:
    """The one value that a statement answers."""
    return connection.execute(statement).fetchone()[0]


def _file(path: Path) -> tuple[int, int] | None:
    """Device and number of the file at a path."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _add_identity(connection: sqlite3.Connection) -> None:
    """From the second format to this: columns that its entries leave empty."""
    for name in ("ledger", "nonce"):
        connection.execute(f"ALTER TABLE entries ADD COLUMN {name} TEXT")
    for statement in _MARK:
        connection.execute(statement)


def _add_parts(connection: sqlite3.Connection) -> None:
    """From the first format to the second: a column for parts, and texts as they are hashed."""
    for statement in ("ALTER TABLE entries ADD COLUMN part TEXT", _INDEX):
        connection.execute(statement)
    found = connection.execute("SELECT sequence, body, totals FROM entries").fetchall()
    for sequence, *texts in found:
        try:
            body, totals = (canonical(json.loads(text)) for text in texts)
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(f"Entry {sequence} of the ledger cannot be read.") from error
        connection.execute(
            "UPDATE entries SET body = ?, totals = ? WHERE sequence = ?", (body, totals, sequence)
        )
