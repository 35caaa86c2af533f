"""A connection to a PostgreSQL server on which every wait has an end and every name one meaning.

**Waits.** A server, a firewall or a proxy may swallow what it is sent. Four limits, each of which
the URL can set otherwise (``?connect_timeout=3&options=-cstatement_timeout%3D5000``):

    connecting                    10 s (``connect_timeout``)
    packets that nobody confirms  20 s (``tcp_user_timeout``, keepalives: the operating system's)
    another charge's lock         ``PATIENCE`` (``lock_timeout``)
    one statement                 ``PATIENCE`` + 10 s (``statement_timeout``)

The server keeps the last two. If it does not even say that it gave up, the client hangs up 5 s
later: something that confirms packets and answers nothing would be waited for without end.

**Names.** The schemas that the URL or the role puts on the search path are looked through once.
Exactly one of them may hold a ledger: with two, whoever can create a table in front of the other
would choose the budget. From then on every name is written with its schema, and the path is
PostgreSQL's own catalog, so that no function, operator or temporary table stands in for another.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict

from privet.errors import DeclarationError, LedgerError
from privet.ledger import store
from privet.ledger.store import FOREIGN, NOT_THERE, without_password

Result = TypeVar("Result")

#: How much longer than for a lock the server works on one statement, in seconds.
WORKING = 10.0
#: How much longer than the server the client waits for it to say that it gave up, in seconds.
GRACE = 5.0
#: What libpq is told unless the URL or the environment says otherwise (tcp_user_timeout in ms).
_DIALING = {
    "connect_timeout": ("PGCONNECT_TIMEOUT", "10"),
    "tcp_user_timeout": ("", "20000"),
    "keepalives_idle": ("", "10"),
    "keepalives_interval": ("", "5"),
    "keepalives_count": ("", "3"),
}
#: Tables of a ledger.
ENTRIES, LEDGER = "privet_entries", "privet_ledger"
#: A number that other programs are unlikely to lock: the one who creates the tables holds it.
CREATING = int.from_bytes(b"privet", "big")
_ODD = re.compile("[:%@$\\\\\"']")

_ARRIVE = """
SELECT pg_catalog.current_schemas(false);
SET search_path = pg_catalog, pg_temp;
SET standard_conforming_strings = on;
SET quote_all_identifiers = off;
SET client_min_messages = warning;
{settings}
SELECT extract(epoch FROM current_setting('statement_timeout')::interval)
"""
# Why to read the table c would run functions of its owner. The planner computes expressions of
# indices and statistics, and conditions of tables and children, as far as they are constant; a
# column of the owner's own type is compared by way of the owner's casts.
RUNS = """
CASE WHEN c.relkind <> 'r' THEN 'is no table'
  WHEN c.relrowsecurity THEN 'has row security'
  WHEN EXISTS (SELECT FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent))
    THEN 'inherits, or is inherited from'
  WHEN EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
    AND NOT a.attisdropped AND (a.attgenerated <> ''
      OR a.atttypid NOT IN (CAST('text' AS regtype), CAST('bigint' AS regtype))))
    THEN 'has a column of another kind'
  WHEN EXISTS (SELECT FROM pg_constraint o WHERE o.conrelid = c.oid AND o.contype = 'c')
    THEN 'has conditions'
  WHEN EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid
    AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)) THEN 'has an index with expressions'
  WHEN EXISTS (SELECT FROM pg_statistic_ext s WHERE s.stxrelid = c.oid) THEN 'has statistics' END
"""
_TABLES = f"""
SELECT n.nspname, c.relname, {RUNS}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY(%s) AND c.relname = ANY(%s)
"""


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time."""


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that hangs up on a server which does not answer."""

    #: seconds to wait for an answer; None for as long as it takes
    patience: float | None = None
    #: the schema of the ledger, or where one would be created
    schema: str = ""
    #: which of a ledger's tables are there
    tables: frozenset[str] = frozenset()

    def wait(self, gen: PQGen[Result], *arguments: Any, **options: Any) -> Result:
        """As in psycopg, which comes back every tenth of a second, with an end."""
        return super().wait(_ending(gen, self.patience), *arguments, **options)

    def table(self, name: str) -> str:
        """A table's whole name."""
        return f'"{self.schema}".{name}'

    def named(self, statement: str) -> bytes:
        """A statement in which ``@.`` stands for the ledger's schema."""
        return statement.replace("@.", f'"{self.schema}".').encode()

    @property
    def lost(self) -> bool:
        """Whether nobody is at the other end any more."""
        return self.closed or self.pgconn.transaction_status in (
            psycopg.pq.TransactionStatus.UNKNOWN,
            psycopg.pq.TransactionStatus.ACTIVE,
        )


def _ending(gen: PQGen[Result], patience: float | None) -> PQGen[Result]:
    """The same questions to the socket; ``NoAnswer`` where they go on for too long."""
    until = None if patience is None else time.monotonic() + patience
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if until is not None and not ready and time.monotonic() > until:
                raise NoAnswer(f"the server did not answer within {patience:g} s")
            wanted = gen.send(ready)
    except StopIteration as done:
        result: Result = done.value
        return result


@contextmanager
def connected(url: str) -> Iterator[PostgresConnection]:
    """A connection for one operation; closing it undoes what was not committed."""
    place = without_password(url)
    try:
        connection = PostgresConnection.connect(url, autocommit=True, **_dialing(url))
    except psycopg.ProgrammingError:
        # its words may quote the password
        raise DeclarationError(f"{place!r} is not a URL.") from None
    except psycopg.Error as error:
        raise refusal(place, error) from error
    try:
        _arrive(connection, url)
        yield connection
    except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
        held = f"The ledger at {place} refused: {_holders(connection)} held it for too long"
        why = "lock timeout" if isinstance(error, errors.LockNotAvailable) else "deadlock"
        raise LedgerError(f"{held} ({why}). Try again. Nothing was released.") from error
    except psycopg.Error as error:
        raise refusal(place, error) from error
    finally:
        connection.close()


def _dialing(url: str) -> dict[str, Any]:
    """Limits that neither the URL nor the environment sets, and the encoding, which neither does.

    In another one than UTF8 a key that it cannot write would keep whoever uses it from every
    charge, and of an SQL_ASCII database texts would come as bytes.
    """
    given = conninfo_to_dict(url)
    limits = {
        name: value
        for name, (variable, value) in _DIALING.items()
        if name not in given and variable not in os.environ
    }
    return {"client_encoding": "UTF8", **limits}


def _arrive(connection: PostgresConnection, url: str) -> None:
    """Set the limits and find the ledger's schema."""
    working = store.PATIENCE + WORKING
    connection.patience = working + GRACE
    limits = {
        "lock_timeout": store.PATIENCE,
        "statement_timeout": working,
        "idle_in_transaction_session_timeout": 10 * store.PATIENCE,
    }
    said = str(conninfo_to_dict(url).get("options") or os.environ.get("PGOPTIONS", ""))
    settings = "".join(
        f"SET {name} = {round(1000 * seconds)};\n"
        for name, seconds in limits.items()
        if name not in said
    )
    answers = connection.execute(_ARRIVE.format(settings=settings).encode())
    path = answers.fetchall()[0][0]
    while answers.nextset():
        pass
    seconds = float(answers.fetchall()[0][0])
    connection.patience = seconds + GRACE if seconds else None
    _find(connection, path, without_password(url))


def _find(connection: PostgresConnection, path: list[str], place: str) -> None:
    """The one schema on the path with tables of a ledger; the first of all if none has any."""
    names = [schema for schema in path if schema != "pg_catalog"]
    found: dict[str, set[str]] = {}
    for schema, table, odd in connection.execute(_TABLES, (names, [ENTRIES, LEDGER])).fetchall():
        if odd is not None:
            raise LedgerError(
                f"{FOREIGN.format(place=place)} {schema}.{table} {odd}, so that whoever reads it "
                "would run what its owner likes: nothing was read."
            )
        found.setdefault(schema, set()).add(table)
    if len(found) > 1:
        raise LedgerError(
            f"There are tables of ledgers in several schemas on the search path of {place}: "
            f"{', '.join(sorted(found))}. Name the right one in the URL, for example "
            "?options=-csearch_path%3Dledger, and remove what does not belong there."
        )
    if not names or any(_ODD.search(schema) for schema in (*found, names[0])):
        raise LedgerError(
            f"There is no schema on the search path of {place} that can hold a ledger. Name one "
            "in the URL, for example ?options=-csearch_path%3Dledger."
        )
    connection.schema = next(iter(found), names[0])
    connection.tables = frozenset(found.get(connection.schema, ()))


# Whoever waits sees who is in the way, though not what they run; a prepared transaction has no pid.
# A statement that only an owner may run (CREATE RULE) waits for its lock before it is refused, and
# everybody behind it: it is in the way, and those that it waits for. Readers may be, of whoever
# changes the tables; a charge does not wait for them.
_HELD = """
WITH locks AS (
  SELECT l.pid, l.granted, l.mode FROM pg_locks l
  WHERE l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.relation IN (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = %(schema)s AND c.relname >= 'privet_' AND c.relname < 'privet`')
      OR l.locktype = 'advisory' AND l.objsubid = 1
        AND l.classid::bigint << 32 | l.objid::bigint = %(creating)s)
), queued AS (
  SELECT pid FROM locks
  WHERE NOT granted AND mode NOT IN ('AccessShareLock', 'RowExclusiveLock', 'ExclusiveLock')
), ahead (pid, rank) AS (
  SELECT pid, CASE mode WHEN 'AccessShareLock' THEN 3 ELSE 1 END FROM locks WHERE granted
  UNION ALL SELECT pid, 1 FROM queued
  UNION ALL SELECT nullif(other, 0), 2 FROM queued, unnest(pg_blocking_pids(pid)) other
), told AS (SELECT pid, min(rank) AS rank FROM ahead GROUP BY pid)
SELECT coalesce(a.usename::text, ''), told.pid
FROM told LEFT JOIN pg_stat_activity a ON a.pid = told.pid
WHERE told.rank < 3 OR NOT EXISTS (SELECT FROM told WHERE rank < 3)
ORDER BY told.rank, 1, 2 LIMIT 5
"""


def _holders(connection: PostgresConnection) -> str:
    """Whose lock was waited for; they may have let go of it by now."""
    try:
        connection.execute("ROLLBACK")
        values = {"schema": connection.schema, "creating": CREATING}
        found = connection.execute(_HELD, values).fetchall()
    except psycopg.Error:
        found = []
    told = [
        "a prepared transaction (pg_prepared_xacts)"
        if pid is None
        else f"the login {name!r} (process {pid} of the server)"
        for name, pid in found
    ]
    return ", ".join(told) or "another charge"


_WORDS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (
        errors.QueryCanceled,
        "the server was too slow and gave up (statement timeout). Try again, or give it longer "
        "with ?options=-cstatement_timeout%3D... in the URL",
    ),
    (
        errors.ReadOnlySqlTransaction,
        "it can only be read here: the server is a replica, or the role may only read. Charge "
        "it on the primary server, as a role that may",
    ),
)


def refusal(place: str, error: psycopg.Error) -> LedgerError:
    """An error of the database as words, without the statement and its values."""
    if isinstance(error, errors.UndefinedTable):
        return LedgerError(NOT_THERE.format(place=place))
    lines = str(error).strip().splitlines()
    reason = lines[0].rstrip(".") if lines else type(error).__name__
    if isinstance(error, errors.InsufficientPrivilege):
        reason += ". `privet ledger roles` shows which role may do what"
    words = next((words for kind, words in _WORDS if isinstance(error, kind)), reason)
    return LedgerError(f"The ledger at {place} refused: {words}. Nothing was released.")
