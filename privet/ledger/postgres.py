"""A ledger on a PostgreSQL server, by psycopg.

Two tables: ``privet_entries``, and ``privet_ledger`` with one row, the format. A charge is one
transaction on a connection of its own, which locks the entries against other writers, but not
against readers, before it looks at anything. ``synchronous_commit`` is switched on: a commit has
reached the server's disk when it returns. Who waits for the lock longer than ``PATIENCE`` is
refused; the server ends the transaction of a client that was lost for ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.errors import UndefinedTable

from privet.errors import DeclarationError, LedgerError
from privet.ledger import store
from privet.ledger.entries import Entries
from privet.ledger.entry import COLUMNS, Entry
from privet.ledger.store import FOREIGN, FORMAT, NOT_THERE, OLDER, SECOND_FORMAT, without_password

Connection = psycopg.Connection[tuple[Any, ...]]

_CREATE = (
    """
    CREATE TABLE privet_entries (
      sequence BIGINT PRIMARY KEY,
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
    """,
    "CREATE INDEX privet_entries_by_dataset ON privet_entries (dataset, sequence)",
    "CREATE TABLE privet_ledger (format TEXT PRIMARY KEY)",
    f"INSERT INTO privet_ledger VALUES ('{FORMAT}')",
)
_INSERT = (
    f"INSERT INTO privet_entries ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
)
#: The entries of the second format, as a query that has today's columns.
_SECOND_TABLE = (
    "(SELECT *, CAST(NULL AS TEXT) AS ledger, CAST(NULL AS TEXT) AS nonce FROM privet_entries) "
    "AS privet_entries"
)
_UPGRADE = (
    "ALTER TABLE privet_entries ADD COLUMN ledger TEXT, ADD COLUMN nonce TEXT",
    f"UPDATE privet_ledger SET format = '{FORMAT}'",
)
# any number that other programs are unlikely to lock: the one who creates the tables holds it
_CREATING = int.from_bytes(b"privet", "big")
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# whoever waited for a lock must see what its holder has written
_BEGIN_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on"


@dataclass(frozen=True)
class PostgresTransaction:
    """An open transaction."""

    connection: Connection
    table: str = "privet_entries"

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a query finds; psycopg binds ``%(name)s``."""
        text = re.sub(r":(\w+)", r"%(\1)s", sql)
        return self.connection.execute(text.encode(), values).fetchall()

    def insert(self, entry: Entry) -> None:
        """Append an entry."""
        self.connection.execute(_INSERT.encode(), tuple(entry))


@dataclass(frozen=True)
class PostgresStore:
    """The ledger in the database at ``url``."""

    url: str

    @contextmanager
    def reading(self) -> Iterator[Entries]:
        """One consistent view."""
        with self._connected() as connection:
            connection.execute(_BEGIN_READING)
            if self._format(connection) == SECOND_FORMAT:
                yield Entries(PostgresTransaction(connection, _SECOND_TABLE))
                return
            self._expect_today(connection)
            yield Entries(PostgresTransaction(connection))

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Entries]:
        """One exclusive, durable transaction."""
        with self._connected() as connection:
            connection.execute(_BEGIN_WRITING)
            if create:
                self._create(connection)
            connection.execute("LOCK TABLE privet_entries IN EXCLUSIVE MODE")
            self._expect_today(connection)
            yield Entries(PostgresTransaction(connection))
            _commit(connection)

    @contextmanager
    def upgrading(self) -> Iterator[tuple[Entries, str]]:
        """One exclusive transaction on tables of any known format."""
        with self._connected() as connection:
            connection.execute(_BEGIN_WRITING)
            connection.execute("LOCK TABLE privet_entries IN EXCLUSIVE MODE")
            found = self._format(connection)
            if found == SECOND_FORMAT:
                for statement in _UPGRADE:
                    connection.execute(statement.encode())
            self._expect_today(connection)
            yield Entries(PostgresTransaction(connection)), found
            _commit(connection)

    def check(self) -> None:
        """A server checks its own pages."""

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection for one operation; closing it undoes what was not committed."""
        place = without_password(self.url)
        try:
            connection = psycopg.connect(self.url, autocommit=True)
        except psycopg.ProgrammingError:
            # its words may quote the password
            raise DeclarationError(f"{place!r} is not a URL.") from None
        except psycopg.Error as error:
            raise _refusal(place, error) from error
        try:
            wait = round(store.PATIENCE * 1000)
            lost = f"SET idle_in_transaction_session_timeout = {10 * wait}"
            connection.execute(f"SET lock_timeout = {wait}; {lost}".encode())
            yield connection
        except psycopg.Error as error:
            raise _refusal(place, error) from error
        finally:
            connection.close()

    def _create(self, connection: Connection) -> None:
        """The tables, unless they are there: the same ones that every query would find."""
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
        names = "SELECT to_regclass('privet_entries'), to_regclass('privet_ledger')"
        missing = [name is None for name in connection.execute(names).fetchall()[0]]
        if all(missing):
            for statement in _CREATE:
                connection.execute(statement.encode())
        elif any(missing):
            raise LedgerError(FOREIGN.format(place=without_password(self.url)))

    def _format(self, connection: Connection) -> str:
        """The format of the tables; another program's are refused."""
        found = connection.execute("SELECT format FROM privet_ledger").fetchall()
        if len(found) != 1 or found[0][0] not in (FORMAT, SECOND_FORMAT):
            raise LedgerError(FOREIGN.format(place=without_password(self.url)))
        return str(found[0][0])

    def _expect_today(self, connection: Connection) -> None:
        found = self._format(connection)
        if found != FORMAT:
            raise LedgerError(OLDER.format(place=without_password(self.url), found=found))


def _commit(connection: Connection) -> None:
    if connection.execute("COMMIT").statusmessage != "COMMIT":
        raise LedgerError("The server has not committed the charge. Nothing was released.")


def _refusal(place: str, error: psycopg.Error) -> LedgerError:
    """An error of the database as words, without the statement and its values."""
    if isinstance(error, UndefinedTable):
        return LedgerError(NOT_THERE.format(place=place))
    lines = str(error).strip().splitlines()
    reason = lines[0].rstrip(".") if lines else type(error).__name__
    return LedgerError(f"The ledger at {place} refused: {reason}. Nothing was released.")
