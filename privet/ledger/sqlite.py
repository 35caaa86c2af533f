"""A ledger in a file, by the standard library's SQLite.

Write-ahead log, synchronous FULL: a commit has reached the disk when it returns. ``BEGIN
IMMEDIATE``: from the first look to the commit no other process can write. Every operation opens the
file anew and closes it: a fork keeps nothing (``forks.py``), and a file that was removed, replaced
or restored between two charges is seen as what it is. After a commit the file, its log and its
log's index at the path must be the very ones that were open: else nobody ever sees the charge.
Which files are ledgers is decided by ``sqlite_tables.py``.
"""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet._files import LEDGER_ENDS
from privet.errors import LedgerError
from privet.ledger import store
from privet.ledger.beside import Beside
from privet.ledger.entries import Entries
from privet.ledger.entry import COLUMNS, Entry
from privet.ledger.forks import connections
from privet.ledger.guarded_sqlite import GuardedConnection, refuse_strange_files, told
from privet.ledger.place import refuse_place
from privet.ledger.sqlite_tables import (
    ANSWERS,
    CREATE,
    SECOND_TABLE,
    found_format,
    one_value,
    upgrade,
)
from privet.ledger.store import FOREIGN, FORMAT, NOT_THERE, OLDER, SECOND_FORMAT

_INSERT = f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


@dataclass(frozen=True)
class SqliteTransaction:
    """An open transaction."""

    connection: GuardedConnection
    table: str = "entries"
    answers: str = "answers"

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return self.connection.found(sql, values)

    def has_answers(self) -> bool:
        """Whether it is there."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'answers'", {}))

    def create_answers(self) -> None:
        """Create it."""
        self.connection.execute(ANSWERS)

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
                yield Entries(SqliteTransaction(connection, SECOND_TABLE))
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
                    for statement in CREATE:
                        connection.execute(statement)
                    self._beside.start()
                self._expect_today(connection)
                if not adopt:
                    self._beside.check(entries)
                yield entries
            if adopt:
                self._note_anew(connection, entries)
            else:
                self._beside.note(entries.appended)

    @contextmanager
    def upgrading(self) -> Iterator[tuple[Entries, str]]:
        """One exclusive transaction on a file of any known format."""
        with self._connected() as connection:
            entries = Entries(SqliteTransaction(connection))
            with self._exclusive(connection):
                refuse_place(self.path)
                if (found := self._format(connection)) is None:
                    raise LedgerError(FOREIGN.format(place=self.path.name))
                upgrade(connection, found)
                self._beside.expect_first(entries, found)
                yield entries, found
            if entries.appended is not None:
                self._note_anew(connection, entries)

    def _note_anew(self, connection: GuardedConnection, entries: Entries) -> None:
        """Only the newest head is remembered, once it is durable.

        Alone with the ledger again: whoever has charged since then has noted it in the file whose
        place this takes.
        """
        connection.execute("BEGIN IMMEDIATE")
        self._beside.begin(entries.newest())
        connection.execute("ROLLBACK")

    def check(self) -> None:
        """SQLite's own check of the file's pages, and that its indices lead to every entry."""
        with self._connected(read=True) as connection:
            found = one_value(connection, "PRAGMA integrity_check(1)")
        if found != "ok":
            raise LedgerError(f"The file of the ledger {self.path.name} is damaged: {found}.")

    def compare(self, entries: Entries) -> None:
        """With what is remembered beside the file."""
        self._beside.compare(entries, self.reading)

    # -- connections ---------------------------------------------------------------------------

    @contextmanager
    def _connected(
        self, *, create: bool = False, read: bool = False
    ) -> Iterator[GuardedConnection]:
        """A connection for one operation; closing it undoes what was not committed."""
        self._refuse_special()
        only = self._is_read_only()
        if only and not read:
            # SQLite would begin a log of this user's, which shuts out those who may write
            raise LedgerError(
                f"This user may not write the ledger {self.path.name} and its folder. Nothing was "
                "charged. Ask its owner for the right to write both, or to charge for you."
            )
        opened = self._archived if only else lambda: self._connect(create=create)
        with connections.one(), closing(opened()) as connection:
            try:
                if only:
                    self._one_view(connection)  # before anything else is asked of it
                connection.trust(os.path.realpath(self.path))
                yield connection
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise LedgerError(
                    f"The ledger {self.path.name} refused: {told(error)}. Nothing was released."
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
                "Nothing was released; what was charged stays in the file that was there."
            )

    def _refuse_special(self) -> None:
        """Only regular files may have the names that are used: a pipe, or /proc, may never end."""
        try:
            real = os.path.realpath(self.path)
            for end in ("", *LEDGER_ENDS):
                with suppress(FileNotFoundError, NotADirectoryError):
                    found = os.lstat(real + end)
                    if not stat.S_ISREG(found.st_mode) or real.startswith(("/proc/", "/sys/")):
                        raise LedgerError(
                            f"{self.path.name}{end} is a link, a pipe, a folder or a device, where "
                            "the ledger needs a file of its own. Nothing was released. Look who "
                            "put it there, and remove it."
                        )
                    if end and found.st_nlink > 1:
                        raise LedgerError(
                            f"{self.path.name}{end} has {found.st_nlink} names (hard links), and "
                            "what is written to it would change the file elsewhere, too. Nothing "
                            "was released. Look who put it there, and remove this name."
                        )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise LedgerError(
                f"The ledger {self.path.name[:99]!r} cannot be reached: {why}."
            ) from None

    def _is_read_only(self) -> bool:
        """Whether this process cannot write where the ledger lies: an archive, an auditor."""
        real = os.path.realpath(self.path)
        return os.path.exists(real) and not (
            os.access(real, os.W_OK) and os.access(os.path.dirname(real), os.W_OK)
        )

    def _archived(self) -> GuardedConnection:
        """A connection that writes nothing, not even a log.

        A log with entries needs its index, too. Without a log nobody is writing; should somebody
        begin just now, ``verify`` says that pages of two states do not keep the hash chain.
        """
        real = Path(os.path.realpath(self.path))
        log = Path(f"{real}-wal")
        logged = log.exists() and log.stat().st_size > 0
        try:
            connection = sqlite3.connect(
                f"{real.as_uri()}?mode=ro{'' if logged else '&immutable=1'}",
                uri=True,
                timeout=store.PATIENCE,
                isolation_level=None,
                factory=GuardedConnection,
            )
        except sqlite3.Error as error:
            raise LedgerError(
                f"The ledger {self.path.name} cannot be opened for reading alone: {error}. Copy it "
                "together with the files -wal and -shm beside it to a folder that can be written."
            ) from error
        connection.guard()
        return connection

    def _connect(self, *, create: bool) -> GuardedConnection:
        """A new connection; SQLite does not wait by itself while another process starts the log."""
        until = time.monotonic() + store.PATIENCE
        while True:
            self._expect_file(create=create)
            try:
                return self._attempt(create=create)
            except sqlite3.Error as error:
                busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    words = f"The ledger {self.path.name} cannot be opened: {told(error)}."
                    raise LedgerError(words) from error
            time.sleep(random.uniform(0.0, 0.01))

    def _attempt(self, *, create: bool) -> GuardedConnection:
        refuse_strange_files(os.path.realpath(self.path))
        before = _file(self.path)
        if create and before is None:
            self._beside.make()
        connection = sqlite3.connect(
            self.path, timeout=store.PATIENCE, isolation_level=None, factory=GuardedConnection
        )
        try:
            connection.guard()
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
        found = self._one_view(connection)  # before anything is changed in a foreign file
        if found is None and not create:
            raise LedgerError(FOREIGN.format(place=self.path.name))
        if one_value(connection, "PRAGMA journal_mode = WAL") != "wal":
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

    def _one_view(self, connection: sqlite3.Connection) -> str | None:
        """The format, while another process may be creating the ledger just now."""
        connection.execute("BEGIN")
        found = self._format(connection)
        connection.execute("ROLLBACK")
        return found

    def _format(self, connection: sqlite3.Connection) -> str | None:
        return found_format(connection, self.path.name)

    def _expect_today(self, connection: sqlite3.Connection) -> None:
        found = self._format(connection)
        if found is None:
            raise LedgerError(FOREIGN.format(place=self.path.name))
        if found != FORMAT:
            raise LedgerError(OLDER.format(place=self.path.name, found=found))


def _file(path: Path) -> tuple[int, int] | None:
    """Device and number of the file at a path."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
