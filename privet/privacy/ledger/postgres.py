"""A ledger on a PostgreSQL server, by psycopg.

Two tables: ``privet_entries``, and ``privet_ledger`` with one row, the format. A charge takes two
statements, each a transaction of its own, and no lock that a lost client could leave behind:

1. a query for all that the charge depends on, the newest entry among them: one consistent view;
2. an insertion of the entry with the next number. Numbers are unique. If somebody else's entry came
   between, this one's number is taken, nothing is inserted and the charge looks again.

Whoever sees entry n sees all before it: its writer saw entry n - 1 before it wrote, and so on down.
So what a charge was decided on is all that there is when its entry is accepted. The insertion also
switches ``synchronous_commit`` on (it has reached the server's disk when it returns), and inserts
nothing where the format has changed or an entry that the charge was decided on is not there
unchanged.

Therefore a charge that follows another one on the same connection needs no query: it is decided on
what is remembered, and if that is no longer all that there is, nothing is inserted. It is a refusal
only after looking. A connection that has waited long, or from which something can be read, may have
been cut, and is asked a question first: one that fails does no harm.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from psycopg.errors import UndefinedTable
from psycopg.pq import TransactionStatus

from privet.errors import DeclarationError, LedgerError, PrivetError
from privet.privacy.ledger import storage
from privet.privacy.ledger.postgres_line import IDLE, Again, Line, Lost
from privet.privacy.ledger.storage import (
    FOREIGN,
    FORMAT,
    NOT_THERE,
    Result,
    Session,
    without_password,
)

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
      UNIQUE (dataset, kind, key)
    )
    """,
    "CREATE INDEX privet_entries_by_dataset ON privet_entries (dataset, sequence)",
    "CREATE TABLE privet_ledger (format TEXT PRIMARY KEY)",
    f"INSERT INTO privet_ledger VALUES ('{FORMAT}')",
)
# any number that other programs are unlikely to lock: the one who creates the tables holds it
_CREATING = int.from_bytes(b"privet", "big")


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
        try:
            return self._looking(work)
        except (psycopg.Error, Lost) as error:
            raise self._refusal(error) from error

    def write(self, work: Callable[[Session], Result], *, create: bool = False) -> Result:
        """Decide and append: on what is remembered, then on what there is."""
        try:
            if create:
                self._create()
            return self._once(work)
        except Again:
            pass
        except Lost:
            IDLE.close()  # the others were cut too
        except psycopg.Error as error:
            raise self._refusal(error) from error
        return self._until_nobody_came_between(work)

    def _until_nobody_came_between(self, work: Callable[[Session], Result]) -> Result:
        until = time.monotonic() + storage.PATIENCE
        while True:
            try:
                return self.read(work)
            except Again as error:
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

    def _looking(self, work: Callable[[Session], Result]) -> Result:
        """``work`` without a memory."""
        try:
            return self._once(work, remember=False)
        except Lost:
            IDLE.close()  # the others were cut too
            return self._once(work, remember=False)

    def _once(self, work: Callable[[Session], Result], *, remember: bool = True) -> Result:
        line = IDLE.take(self.url) or self._connect()
        if not remember or line.doubtful():
            line.memory.forget()
        line.asked = False
        try:
            result = work(line)
        except BaseException as error:
            line.memory.forget()
            if isinstance(error, PrivetError) and not line.asked:
                raise Again from error  # refused from memory alone
            raise
        finally:
            line.since = time.monotonic()
            if line.connection.pgconn.transaction_status == TransactionStatus.IDLE:
                IDLE.keep(line)
            else:
                line.close()
        return result

    def _refusal(self, error: psycopg.Error | Lost) -> LedgerError:
        """An error of the database as words, without the statement and its values."""
        cause = error.__cause__ if isinstance(error, Lost) else error
        if isinstance(cause, UndefinedTable):
            return LedgerError(NOT_THERE.format(place=self.place))
        lines = str(cause).strip().splitlines()
        reason = lines[0].rstrip(".") if lines else type(cause).__name__
        return LedgerError(f"The ledger at {self.place} refused: {reason}. Nothing was released.")

    def _connect(self) -> Line:
        try:
            connection = psycopg.connect(self.url, autocommit=True)
        except psycopg.ProgrammingError:
            # its words may quote the password
            raise DeclarationError(f"{self.place!r} is not a URL.") from None
        connection.execute(f"SET lock_timeout = {round(storage.PATIENCE * 1000)}".encode())
        return Line(self.url, connection, connection.cursor())

    def _create(self) -> None:
        """The tables, unless they are there: the same ones that every query would find."""
        with contextlib.closing(self._connect()) as line:
            run = line.connection.execute
            # whoever waited for the lock must see what its holder has made
            run("BEGIN ISOLATION LEVEL READ COMMITTED")
            run("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
            there = run("SELECT to_regclass('privet_entries'), to_regclass('privet_ledger')")
            missing = [name is None for name in there.fetchall()[0]]
            if all(missing):
                for statement in _CREATE:
                    run(statement)
            elif any(missing):
                raise LedgerError(FOREIGN.format(place=self.place))
            run("COMMIT")
