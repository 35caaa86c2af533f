"""A ledger on a PostgreSQL server, by SQLAlchemy Core and psycopg.

Two tables: ``privet_entries``, and ``privet_ledger`` with one row, the format. A charge takes two
statements, each a transaction of its own, and no lock that a lost client could leave behind:

1. a query for all that the charge depends on, the newest entry among them: one consistent view;
2. an insertion of the entry with the next number. Numbers are unique. If somebody else's entry came
   between, this one's number is taken, the insertion fails and the charge looks again.

Whoever sees entry n sees all before it: its writer saw entry n - 1 before it wrote, and so on down.
So what a charge was decided on is all that there is when its entry is accepted. The insertion also
switches ``synchronous_commit`` on (it has reached the server's disk when it returns) and finds no
row to insert where the format has changed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from privet.errors import DeclarationError, LedgerError, MissingExtra
from privet.privacy.ledger import storage
from privet.privacy.ledger.storage import (
    FOREIGN,
    FORMAT,
    NOT_THERE,
    Result,
    Session,
    without_password,
)

try:
    from psycopg.errors import SerializationFailure, UndefinedTable, UniqueViolation
    from psycopg.pq import TransactionStatus
    from sqlalchemy import (
        BigInteger,
        Column,
        Connection,
        Engine,
        Index,
        MetaData,
        Table,
        Text,
        TextClause,
        UniqueConstraint,
        create_engine,
        event,
        inspect,
        make_url,
        text,
    )
    from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
except ImportError as error:
    raise MissingExtra(
        "A ledger on PostgreSQL needs SQLAlchemy and psycopg: install privet[postgres]."
    ) from error

TABLES = MetaData()
ENTRIES = Table(
    "privet_entries",
    TABLES,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("dataset", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("key", Text),
    Column("body", Text, nullable=False),
    Column("totals", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("part", Text),
    UniqueConstraint("dataset", "kind", "key"),
)
Index("privet_entries_by_dataset", ENTRIES.c.dataset, ENTRIES.c.sequence)
MARK = Table("privet_ledger", TABLES, Column("format", Text, primary_key=True))

# any number that other programs are unlikely to lock: the one who creates the tables holds it
_CREATING = int.from_bytes(b"privet", "big")
# a query's rows with the format beside each, which comes alone where there are no rows
_LOOK = "SELECT format, found.* FROM privet_ledger LEFT JOIN ({sql}) AS found ON true"
_DURABLY = f"""
INSERT INTO privet_entries ({{columns}})
SELECT {{values}} FROM privet_ledger, set_config('synchronous_commit', 'on', true)
WHERE format = '{FORMAT}'
"""

#: Pools of connections of this process, the latest last.
_ENGINES: dict[str, Engine] = {}
_MOST_ENGINES = 4


def close_idle() -> None:
    """Close the connections that wait in this process."""
    while _ENGINES:
        _ENGINES.popitem()[1].dispose()


atexit.register(close_idle)
if sys.platform != "win32":
    # a connection must not be shared with a forked process
    os.register_at_fork(before=close_idle)


class _Taken(Exception):
    """Somebody else's entry came between."""


class _Lost(Exception):
    """The connection was lost while nothing was being written."""


@dataclass(frozen=True)
class _Session:
    """A connection on which every statement is a transaction."""

    connection: Connection
    place: str
    table: str = ENTRIES.name

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        try:
            found = self.connection.execute(_query(sql), values).all()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise _Lost from error
            raise
        if {row[0] for row in found} != {FORMAT}:
            raise LedgerError(FOREIGN.format(place=self.place))
        return sorted(tuple(row[1:]) for row in found if row[1] is not None)

    def insert(self, columns: str, values: Mapping[str, Any]) -> None:
        try:
            made = self.connection.execute(_insertion(columns), values).rowcount
        except DBAPIError as error:
            if isinstance(error.orig, UniqueViolation | SerializationFailure):
                raise _Taken from error
            raise
        if made != 1:
            raise LedgerError(FOREIGN.format(place=self.place))
        driver: Any = self.connection.connection.dbapi_connection
        if driver.info.transaction_status != TransactionStatus.IDLE:
            raise LedgerError("The server has not committed the charge. Nothing was released.")


@dataclass(frozen=True)
class PostgresStore:
    """The ledger in the database at ``url``."""

    url: str

    @property
    def place(self) -> str:
        """The URL without its password."""
        return without_password(self.url)

    def read(self, work: Callable[[Session], Result]) -> Result:
        """What ``work`` finds; a connection that had been cut meanwhile is made anew."""
        with self._errors():
            try:
                return self._once(work)
            except _Lost:
                return self._once(work)

    def write(self, work: Callable[[Session], Result], *, create: bool = False) -> Result:
        """Look and append, again and again until nobody came between."""
        if create:
            with self._errors():
                self._create()
        until = time.monotonic() + storage.PATIENCE
        while True:
            try:
                return self.read(work)
            except _Taken as error:
                if time.monotonic() > until:
                    raise LedgerError(
                        f"The ledger at {self.place} is too busy. Nothing was released."
                    ) from error
                time.sleep(random.uniform(0.0, 0.01))

    def upgrade(self, work: Callable[[Session, str], Result]) -> Result:
        """As ``write``: there is one format on servers so far."""
        return self.write(lambda session: work(session, FORMAT))

    def check(self) -> None:
        """A server checks its own pages."""

    def _once(self, work: Callable[[Session], Result]) -> Result:
        with _engine(self.url).connect() as connection:
            return work(_Session(connection, self.place))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the database as words."""
        try:
            yield
        except (SQLAlchemyError, _Lost) as error:
            found = error.__cause__ if isinstance(error, _Lost) else error
            cause = found.orig if isinstance(found, DBAPIError) else found
            if isinstance(cause, UndefinedTable):
                raise LedgerError(NOT_THERE.format(place=self.place)) from error
            raise LedgerError(
                f"The ledger at {self.place} refused: {_reason(cause)}. Nothing was released."
            ) from error

    def _create(self) -> None:
        with _engine(self.url).connect() as unlocked:
            connection = unlocked.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATING})
                there = set(inspect(connection).get_table_names()) & set(TABLES.tables)
                if not there:
                    TABLES.create_all(connection, checkfirst=False)
                    connection.execute(MARK.insert(), {"format": FORMAT})
                elif there != set(TABLES.tables):
                    raise LedgerError(FOREIGN.format(place=self.place))


def _engine(url: str) -> Engine:
    """The pool of connections to a server."""
    found = _ENGINES.get(url)
    if found is None:
        try:
            target = make_url(url).set(drivername="postgresql+psycopg")
        except ArgumentError as error:
            raise DeclarationError(f"{without_password(url)!r} is not a URL.") from error
        found = create_engine(target, isolation_level="AUTOCOMMIT")
        event.listen(found, "connect", _prepare)
        found = _ENGINES.setdefault(url, found)
        with contextlib.suppress(StopIteration, KeyError):  # another thread was faster
            while len(_ENGINES) > _MOST_ENGINES:
                _ENGINES.pop(next(iter(_ENGINES))).dispose()
    return found


def _prepare(connection: Any, _: Any) -> None:
    before, connection.autocommit = connection.autocommit, True
    connection.execute(f"SET lock_timeout = {round(storage.PATIENCE * 1000)}")
    connection.autocommit = before


@lru_cache(maxsize=64)
def _query(sql: str) -> TextClause:
    return text(_LOOK.format(sql=sql))


@lru_cache(maxsize=4)
def _insertion(columns: str) -> TextClause:
    values = ", ".join(f"CAST(:{name} AS {_type(name)})" for name in columns.split(", "))
    return text(_DURABLY.format(columns=columns, values=values))


def _type(column: str) -> str:
    return str(ENTRIES.c[column].type)


def _reason(cause: BaseException | None) -> str:
    """The server's or the library's words, without the statement and its values."""
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(cause).__name__
