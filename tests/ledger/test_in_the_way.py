"""What a session can do to others' charges: who is in the way is named, settings change nothing.

PostgreSQL takes the lock of some statements (``CREATE RULE``) before it asks whether their login
may run them, so that also an auditor, or whoever may use the schema, can keep everybody waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from urllib.parse import quote

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger import store
from tests import postgres
from tests.ledger.test_roles import Logins, logins
from tests.strategies import pure_event

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger.postgres_connection import CREATING  # noqa: E402
from privet.ledger.postgres_roles import create_roles  # noqa: E402


@pytest.fixture
def ledgers(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> Logins:
    made = logins(postgres_server)
    monkeypatch.setattr(store, "PATIENCE", 1.0)
    return made


@contextmanager
def holding(ledger: Ledger, statement: str) -> Iterator[int]:
    """A transaction that goes on after this; the number of its process."""
    with psycopg.connect(ledger.url) as connection:
        connection.execute(statement.encode())
        yield connection.info.backend_pid
        connection.rollback()


@contextmanager
def waiting(ledger: Ledger, statement: str) -> Iterator[int]:
    """A session whose statement waits for a lock; it is ended afterwards."""
    with psycopg.connect(ledger.url, autocommit=True) as connection:
        pid = connection.info.backend_pid

        def run() -> None:
            with pytest.raises(psycopg.Error, match=r"must be owner|canceling"):
                connection.execute(statement.encode())

        thread = threading.Thread(target=run)
        thread.start()
        try:
            until = time.monotonic() + postgres.PATIENCE
            waits = b"SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted"
            with psycopg.connect(ledger.url, autocommit=True) as other:
                while other.execute(waits, (pid,)).fetchone() != (1,):
                    assert time.monotonic() < until
            yield pid
        finally:
            connection.cancel()
            thread.join()


def refused(attempt: Callable[[], object], *pids: int) -> None:
    """Everybody in the way is named, and nobody else."""
    with pytest.raises(LedgerError, match=r"lock timeout|deadlock") as found:
        attempt()
    told = str(found.value)
    assert told.count("process") == len(pids), told
    for pid in pids:
        assert f"(process {pid} of the server)" in told, told


RULE = "CREATE RULE z AS ON INSERT TO {}.privet_{} DO ALSO {}"


@pytest.mark.parametrize("table", ["entries", "ledger"])
def test_an_auditor_in_the_way_of_charges_is_named(ledgers: Logins, table: str) -> None:
    """Without a right to write, by a session that reads and one whose rule waits for the first."""
    carol, alice, schema = ledgers.of("carol"), ledgers.of("alice"), ledgers.schema
    rule = RULE.format(schema, table, "NOTHING")
    with (
        holding(carol, f"SELECT FROM {schema}.privet_{table}") as reads,
        waiting(carol, rule) as waits,
    ):
        refused(lambda: alice.reserve("people", pure_event(0.1)), reads, waits)
        refused(lambda: alice.remaining("people"), reads, waits)
    alice.reserve("people", pure_event(0.1))


def test_whoever_waits_in_front_of_many_readers_is_told_first(ledgers: Logins) -> None:
    """As many as an error tells have names before his."""
    alice, carol, schema = ledgers.of("alice"), ledgers.of("carol"), ledgers.schema
    with ExitStack() as reading:
        for _ in range(6):
            reading.enter_context(holding(alice, f"SELECT FROM {schema}.privet_entries"))
        with (
            waiting(carol, RULE.format(schema, "entries", "NOTHING")) as waits,
            pytest.raises(LedgerError, match=rf"refused: the login 'carol_.* \(process {waits} of"),
        ):
            ledgers.owner.reserve("people", pure_event(0.1))


def test_a_stranger_in_the_way_of_charges_is_named(ledgers: Logins) -> None:
    """Who may only use the schema: a rule holds its table while it waits for another one."""
    schema, name = ledgers.schema, f"strange_{ledgers.number}"
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        server.execute(
            f"CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {name};"
            f"CREATE SCHEMA AUTHORIZATION {name}; CREATE TABLE {name}.mine (i INT);"
            f"ALTER TABLE {name}.mine OWNER TO {name}".encode()
        )
    strange, alice = ledgers.of("strange"), ledgers.of("alice")
    rule = RULE.format(schema, "entries", f"INSERT INTO {name}.mine VALUES (1)")
    with (
        holding(strange, f"LOCK TABLE {name}.mine IN ACCESS EXCLUSIVE MODE"),
        waiting(strange, rule) as waits,
    ):
        refused(lambda: alice.reserve("people", pure_event(0.1)), waits)
        refused(lambda: alice.remaining("people"), waits)


def test_who_reads_is_named_where_readers_are_in_the_way(ledgers: Logins) -> None:
    """Of making the roles, not of a charge."""
    carol, owner, roles = ledgers.of("carol"), ledgers.owner, f"r{ledgers.number}"
    with holding(carol, f"SELECT FROM {ledgers.schema}.privet_entries") as reads:
        ledgers.of("alice").reserve("people", pure_event(0.1))
        refused(lambda: create_roles(owner.url, roles), reads)
        refused(owner.migrate, reads)


def test_who_holds_on_after_a_deadlock(ledgers: Logins, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table is held, and a rule for the other waits for the charge that waits for the first."""
    monkeypatch.setattr(store, "PATIENCE", 30.0)
    alice, bob, schema = ledgers.of("alice"), ledgers.of("bob"), ledgers.schema
    with psycopg.connect(ledgers.owner.url, autocommit=True) as server:
        for name, seconds in (("alice", 3600), ("bob", 3)):  # the charge is to find out, not she
            role = f"{name}_{ledgers.number}"
            server.execute(f"ALTER ROLE {role} SET deadlock_timeout = '{seconds} s'".encode())
    queued = b"SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND NOT granted"
    with psycopg.connect(alice.url) as connection, ThreadPoolExecutor() as pool:
        connection.execute(f"SELECT {schema}.privet_lock()".encode())
        charged = pool.submit(bob.reserve, "people", pure_event(0.1))
        while connection.execute(queued).fetchone() != (1,):
            assert not charged.done()
        connection.execute(b"SAVEPOINT kept")
        with pytest.raises(psycopg.Error, match="must be owner"):
            connection.execute(RULE.format(schema, "ledger", "NOTHING").encode())
        refused(charged.result, connection.info.backend_pid)


def test_who_locks_the_creation_of_ledgers_is_named(ledgers: Logins, postgres_url: str) -> None:
    with holding(ledgers.of("carol"), f"SELECT pg_advisory_xact_lock({CREATING})") as locks:
        refused(lambda: Ledger(postgres_url).open("people", PureDP(1.0)), locks)
        ledgers.owner.open("more", PureDP(1.0))


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "EUC_JP"])
def test_no_key_of_an_analyst_closes_the_ledger_to_another_encoding(
    ledgers: Logins, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PGCLIENTENCODING, and what a role or a URL sets."""
    ledgers.of("alice").reserve("people", pure_event(0.1), key="\u20ac \u6f22 \U0001f600")
    bob = ledgers.of("bob")
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    bob.settle(bob.reserve("people", pure_event(0.1), key="\u00e9"))
    monkeypatch.delenv("PGCLIENTENCODING")
    for more in (f"&client_encoding={encoding}", quote(f" -cclient_encoding={encoding}")):
        other = Ledger(f"{bob.url}{more}")
        other.settle(other.reserve("people", pure_event(0.1)))
        other.verify()
    ledgers.sql("bob", f"ALTER ROLE CURRENT_USER SET client_encoding = '{encoding}'")
    bob.settle(bob.reserve("people", pure_event(0.1)))
    assert [entry.key for entry in bob.entries("people")][1] == "\u20ac \u6f22 \U0001f600"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "WIN1251"])
def test_databases_in_other_encodings(postgres_server: str, encoding: str) -> None:
    name = f"in_{encoding.lower()}"
    with psycopg.connect(postgres_server, autocommit=True) as server:
        server.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0".encode()
        )
    ledger = Ledger(postgres_server.replace("/postgres?", f"/{name}?"))
    ledger.open("people", PureDP(1.0))
    create_roles(ledger.url, name)
    ledger.settle(ledger.reserve("people", pure_event(0.1), key="nightly"))
    for beyond in ("\u00e9", "\u6f22"):
        with pytest.raises(LedgerError, match=r"need a UTF8 database|no equivalent in encoding"):
            ledger.open(beyond, PureDP(1.0))
    ledger.verify()


def test_a_wait_for_replicas_that_was_canceled_is_heard_whatever_is_silenced() -> None:
    """The server says it in a warning, which a role, a URL or the configuration can hold back."""
    cancel = b"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with postgres.running(client_min_messages="error") as server:
        ledger = Ledger(postgres.fresh(server.url, "ledger"))
        ledger.open("people", PureDP(1.0))
        server.crash()
        server.settings = {"synchronous_standby_names": "absent", "client_min_messages": "error"}
        server.start()
        with psycopg.connect(server.url, autocommit=True) as other, ThreadPoolExecutor() as pool:
            charged = pool.submit(ledger.reserve, "people", pure_event(0.25))
            while not charged.done():
                other.execute(cancel)
                other.execute(b"SELECT pg_sleep(0.05)")
            with pytest.raises(LedgerError, match=r"which stays.*Nothing was released"):
                charged.result()


def test_roles_of_a_schema_whose_name_has_their_word(postgres_server: str) -> None:
    ledger = Ledger(
        postgres.fresh(postgres_server, "MYPREFIX").replace("MYPREFIX", "%22MYPREFIX%22")
    )
    ledger.open("people", PureDP(1.0))
    create_roles(ledger.url, "words")
    ledger.open("more", PureDP(1.0))
