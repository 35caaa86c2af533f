"""A ledger on a PostgreSQL server, by psycopg.

Two tables: ``privet_entries``, and ``privet_ledger`` with one row, the format and the server
(``postgres_tables.py``). A charge is one transaction on a connection of its own
(``postgres_connection.py``), which locks the entries against other writers, but not against
readers, before it looks at anything. ``synchronous_commit`` is switched on: a commit has reached
the server's disk, and its synchronous replicas', when it returns. A server that does not wait for
its disk at all (``fsync = off``) is refused, and so is one that took the place of another, until
somebody adopts the ledger there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from privet.errors import LedgerError, PrivetWarning, warn
from privet.ledger.entries import Entries
from privet.ledger.entry import COLUMNS, Entry
from privet.ledger.memory import expect_taken_over, note_taken_over
from privet.ledger.postgres_connection import (
    CREATING,
    ENTRIES,
    LEDGER,
    RUNS,
    PostgresConnection,
    connected,
)
from privet.ledger.postgres_facts import check_facts, check_nothing_more
from privet.ledger.postgres_owners import expect_as_made, expect_own
from privet.ledger.postgres_tables import (
    CREATE,
    GUARD,
    HERE,
    MOVE,
    NOTE_TABLE,
    SECOND_TABLE,
    UPGRADE,
)
from privet.ledger.store import (
    ANSWER_COLUMNS,
    FOREIGN,
    FORMAT,
    NOT_THERE,
    OLDER,
    SECOND_FORMAT,
    without_password,
)

_MARKS = ", ".join(["%s"] * len(COLUMNS))
_APPEND = f"INSERT INTO @.privet_entries ({', '.join(COLUMNS)}) VALUES ({_MARKS})"
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# whoever waited for a lock must see what its holder has written; remote_apply waits for even more
_BEGIN_WRITING = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT set_config('synchronous_commit', 'on', true)
  WHERE current_setting('synchronous_commit') <> 'remote_apply'
"""


@dataclass(frozen=True)
class PostgresTransaction:
    """An open transaction."""

    connection: PostgresConnection
    table: str

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a query finds; psycopg binds ``%(name)s``."""
        text = re.sub(r":(\w+)", r"%(\1)s", sql)
        return self.connection.execute(text.encode(), values).fetchall()

    @property
    def answers(self) -> str:
        """The table of answers."""
        return self.connection.table("privet_answers")

    def has_answers(self) -> bool:
        """Whether it is there; one that others own, may read or have added to is refused."""
        found = self.rows(_ANSWERS, {"answers": self.answers, "entries": self.table})
        if found and not found[0][0]:
            raise LedgerError(
                "The table privet_answers of the ledger belongs to another role, others have "
                "rights or triggers on it, or it would run what its owner likes. Nothing was "
                "answered. Look who made it; `privet ledger roles --apply` tells what is not as "
                "it should be."
            )
        return bool(found)

    def create_answers(self) -> None:
        """Create it; it belongs to the role that the entries belong to, whichever login asks."""
        self.connection.execute(f"CREATE TABLE {self.answers} {ANSWER_COLUMNS}".encode())
        self.connection.execute(f"REVOKE USAGE ON TYPE {self.answers} FROM PUBLIC".encode())
        owner = "quote_ident(pg_get_userbyid(relowner))"
        query = f"SELECT {owner} FROM pg_class WHERE oid = to_regclass(:name)"
        [(name,)] = self.rows(query, {"name": self.table})
        self.connection.execute(f"ALTER TABLE {self.answers} OWNER TO {name}".encode())
        self.has_answers()  # rights that this login gives by default are refused

    def run(self, sql: str, values: Mapping[str, Any]) -> None:
        """A statement that finds nothing."""
        self.connection.execute(re.sub(r":(\w+)", r"%(\1)s", sql).encode(), values)

    def insert(self, entry: Entry) -> None:
        """Append an entry."""
        self.connection.execute(self.connection.named(_APPEND), tuple(entry))

    def is_mine(self, number: int) -> bool:
        """Whether this role has written the entry."""
        query = f"SELECT author = current_user FROM {self.table} WHERE sequence = :number"
        return self.rows(query, {"number": number}) == [(True,)]


@dataclass(frozen=True)
class PostgresStore:
    """The ledger in the database at ``url``."""

    url: str

    @property
    def place(self) -> str:
        """Where it is, for people's eyes."""
        return without_password(self.url)

    @contextmanager
    def reading(self) -> Iterator[Entries]:
        """One consistent view."""
        with connected(self.url) as connection:
            connection.execute(_BEGIN_READING)
            if not connection.tables:
                raise LedgerError(NOT_THERE.format(place=self.place))
            expect_own(connection, self.place, whole=False)
            if self._format(connection) == SECOND_FORMAT:
                table = connection.named(SECOND_TABLE).decode()
                yield Entries(PostgresTransaction(connection, table))
            else:
                yield _entries(connection)

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Entries]:
        """One exclusive, durable transaction."""
        with self._transaction(create=create) as connection:
            found = self._format(connection)
            if found != FORMAT:
                raise LedgerError(OLDER.format(place=self.place, found=found))
            if create:
                check_facts(connection, self.place)
            else:
                expect_as_made(connection, self.url, self.place)
            connection.execute(connection.named("SELECT @.privet_lock()"))
            entries = _entries(connection)
            expect_taken_over(self._expect_here(connection), entries)
            yield entries

    @contextmanager
    def adopting(self) -> Iterator[Entries]:
        """As ``writing``, on a server that took the place of the ledger's: it is the one now."""
        with self._transaction() as connection:
            expect_as_made(connection, self.url, self.place)
            connection.execute(connection.named("SELECT @.privet_lock()"))
            entries = _entries(connection)
            yield entries
            connection.execute(connection.named(MOVE))
            place = self._expect_here(connection)
        if entries.appended is not None:  # committed by now
            note_taken_over(place, entries.appended)

    @contextmanager
    def upgrading(self) -> Iterator[tuple[Entries, str]]:
        """One exclusive transaction on tables of any known format."""
        with self._transaction(alone=True) as connection:
            check_nothing_more(connection, self.place)
            found = self._format(connection)
            for statement in UPGRADE if found == SECOND_FORMAT else GUARD:
                connection.execute(connection.named(statement))
            check_facts(connection, self.place)
            connection.execute(connection.named(NOTE_TABLE))
            yield _entries(connection), found

    def check(self) -> None:
        """A server checks its own pages."""

    def compare(self, entries: Entries) -> None:
        """A server remembers nothing apart from its tables."""

    @contextmanager
    def _transaction(
        self, *, create: bool = False, alone: bool = False
    ) -> Iterator[PostgresConnection]:
        """A transaction that is durable when it is left; ``alone`` nobody even reads meanwhile."""
        with connected(self.url) as connection:
            self._expect_durable(connection, tell=create)
            connection.execute(_BEGIN_WRITING.encode())
            if alone and connection.tables:
                # at once: a charge that has looked at the tables would wait for us, and we for it
                names = ", ".join(map(connection.table, sorted(connection.tables)))
                connection.execute(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE".encode())
            expect_own(connection, self.place)
            if create:
                self._create(connection)
            elif not connection.tables:
                raise LedgerError(NOT_THERE.format(place=self.place))
            yield connection
            self._commit(connection)

    def _commit(self, connection: PostgresConnection) -> None:
        told: list[str | None] = []
        connection.add_notice_handler(lambda notice: told.append(notice.severity_nonlocalized))
        try:
            done = connection.execute("COMMIT").statusmessage == "COMMIT"
        except psycopg.OperationalError as error:
            if not connection.lost:
                raise
            raise LedgerError(
                f"The ledger at {self.place} did not confirm what was written, so whether it is "
                "there is not known: look in the ledger before you try again. Nothing was released."
            ) from error
        if not done:
            raise LedgerError("The server has not committed the charge. Nothing was released.")
        if "WARNING" in told:  # a wait that was canceled ends as if it had succeeded
            raise LedgerError(
                f"The server at {self.place} has written the charge, which stays, but did not wait "
                "for its synchronous replicas to have it, too: look at them. Nothing was released."
            )

    def _create(self, connection: PostgresConnection) -> None:
        """The tables, unless they are there: the same ones that every query would find."""
        if connection.tables == {ENTRIES, LEDGER}:
            return  # somebody who may not write could hold the lock below
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATING,))
        names = [connection.table(name) for name in (ENTRIES, LEDGER)]
        found = connection.execute("SELECT to_regclass(%s), to_regclass(%s)", names).fetchall()[0]
        missing = [name is None for name in found]
        if all(missing):
            for statement in CREATE:
                connection.execute(connection.named(statement))
        elif any(missing):
            raise LedgerError(FOREIGN.format(place=self.place))

    def _format(self, connection: PostgresConnection) -> str:
        """The format of the tables; another program's are refused."""
        query = connection.named("SELECT format FROM @.privet_ledger")
        found = connection.execute(query).fetchall()
        if len(found) != 1 or found[0][0] not in (FORMAT, SECOND_FORMAT):
            raise LedgerError(FOREIGN.format(place=self.place))
        return str(found[0][0])

    def _expect_here(self, connection: PostgresConnection) -> str:
        """Refuse a server that is not the one, or not on the branch, of the last charge.

        Returns which place it is: table, database, cluster and branch.
        """
        found = connection.execute(connection.named(_WHERE)).fetchall()[0]
        system, timeline, system_here, timeline_here = found
        # an earlier release noted the cluster alone
        same = system == system_here or system == system_here.partition("/")[0]
        if not same or timeline != timeline_here:
            what = (
                f"went on from an earlier state (timeline {timeline_here}, it was {timeline}): a "
                "replica was promoted, or a backup was restored"
                if same
                else "holds a copy of the ledger, not the tables that were charged last: it was "
                "restored elsewhere or anew, or its database was cloned"
            )
            raise LedgerError(
                f"The server at {self.place} {what}. Charges may be missing there. Verify the "
                "ledger against a head or the receipts that were kept, see that the old server "
                "cannot be charged any more, and then run `privet ledger adopt`. Nothing was "
                "released."
            )
        return f"server {system_here} {timeline_here}"

    def _expect_durable(self, connection: PostgresConnection, *, tell: bool) -> None:
        """Refuse a server that cannot keep a commit; tell what else its settings mean."""
        found = connection.execute(_RULES if tell else _DURABLE).fetchall()[0]
        replica, fsync, *rest = found
        if replica:
            raise LedgerError(
                f"The server at {self.place} is a replica: it can be read and verified, not "
                "charged. Charge the primary server. Nothing was released."
            )
        if fsync != "on":
            raise LedgerError(
                f"The server at {self.place} runs with fsync = off: a crash may lose charges whose "
                "releases were made. Switch it on and restart the server. Nothing was released."
            )
        for words in _told(*rest) if tell else ():
            warn(f"The server at {self.place}: {words}", PrivetWarning, stacklevel=6)


def _entries(connection: PostgresConnection) -> Entries:
    return Entries(PostgresTransaction(connection, connection.table(ENTRIES)))


_WHERE = f"SELECT known.system, known.timeline, here.* FROM @.privet_ledger known, ({HERE}) here"
# what a turn can ask each time; the rest is asked with everything else (facts.sql)
_ANSWERS = f"""
SELECT c.relowner = e.relowner AND c.relpersistence = 'p' AND ({RUNS}) IS NULL
  AND NOT (c.relhasrules OR c.relhastriggers)
  AND NOT EXISTS (SELECT FROM aclexplode(c.relacl) g WHERE g.grantee <> c.relowner)
FROM pg_class c, pg_class e
WHERE c.oid = to_regclass(:answers) AND e.oid = to_regclass(:entries)
"""
_DURABLE = "SELECT pg_is_in_recovery(), current_setting('fsync')"
_RULES = """
SELECT pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'),
  current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
  (SELECT count(*) FROM pg_stat_replication)
"""


def _told(pages: str, commit: str, standbys: str, replicas: int) -> Iterator[str]:
    """What the settings of a server mean for a ledger on it."""
    if pages != "on":
        yield (
            "full_page_writes = off. Unless its disk writes pages whole, a crash can damage the "
            "ledger; verify it after one."
        )
    if commit in ("off", "local"):
        yield (
            f"synchronous_commit = {commit}. Privet switches it on for its own transactions; other "
            "programs' commits may be lost in a crash."
        )
    if replicas and not standbys:
        yield (
            f"{replicas} replica(s) receive charges only after they were granted. One that is "
            "promoted may lack the newest: set synchronous_standby_names, or keep receipts and "
            "verify against them after a promotion."
        )
