"""What happens to a ledger in the world: locked, read-only, full, damaged, foreign, gone.

In every case an error before anything is released, and never a new ledger in place of the old one.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError, MissingExtra, PrivetWarning
from privet.ledger import store
from privet.ledger.entries import Entries
from privet.ledger.guarded_sqlite import GuardedConnection
from tests.strategies import pure_event


@pytest.fixture
def people(sqlite_url: str) -> Ledger:
    """A file with two releases."""
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    for _ in range(2):
        ledger.settle(ledger.reserve("people", pure_event(0.25)))
    return ledger


def folded(ledger: Ledger) -> Path:
    """The ledger's file; the last connection has folded its log into it."""
    assert not ledger.path.with_name(ledger.path.name + "-wal").exists()
    return ledger.path


def in_a_child(work: Callable[[], str]) -> str:
    """What a forked process found, so that its limits and rights do not stay with us.

    The system ends it where it waits for something that never comes.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the runner's threads stay behind
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(100)
        try:
            os.write(writing, work().encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(child, 0)
    return told


# -- locked ----------------------------------------------------------------------------------------


def test_13_locked_sqlite(people: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    other = sqlite3.connect(people.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked"):
        people.reserve("people", pure_event(0.1))
    assert people.remaining("people") == 0.5  # looking needs no lock
    other.close()
    people.reserve("people", pure_event(0.1))
    people.verify()


def test_13_locked_postgres(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    monkeypatch.setattr(store, "PATIENCE", 0.05)
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE privet_entries IN EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match=r"login 'privet' \(process \d+ .*lock timeout"):
            ledger.reserve("people", pure_event(0.1))
        assert ledger.remaining("people") == 1.0
    ledger.reserve("people", pure_event(0.1))
    ledger.verify()


# -- read-only and full ----------------------------------------------------------------------------


def test_13_read_only(people: Ledger) -> None:
    folded(people)

    def charge() -> str:
        if os.geteuid() == 0:  # rights do not bind root
            os.setgid(65534)
            os.setuid(65534)
        try:
            people.reserve("people", pure_event(0.1))
        except LedgerError as error:
            return f"refused: {error}"
        return "charged"

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "budget.db"
        place.write_bytes(people.path.read_bytes())
        people = Ledger(f"sqlite:///{place}")
        place.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        Path(folder).chmod(0o755 if os.geteuid() == 0 else 0o555)
        assert in_a_child(charge).startswith("refused: ")
        Path(folder).chmod(0o755)
        place.chmod(0o644)
        assert people.remaining("people") == 0.5
        people.verify()


def test_13_a_ledger_on_read_only_media_is_read_and_verified(people: Ledger) -> None:
    """An archive or an auditor cannot write a log beside the file, and need not."""
    folded(people)

    def look() -> str:
        if os.geteuid() == 0:  # rights do not bind root
            os.setgid(65534)
            os.setuid(65534)
        try:
            people.verify()
            return f"{people.remaining('people')} of {len(list(people.entries()))} entries"
        except LedgerError as error:
            return f"refused: {error}"

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "budget.db"
        place.write_bytes(people.path.read_bytes())
        people = Ledger(f"sqlite:///{place}")
        count = len(list(people.entries()))
        folded(people)
        place.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        Path(folder).chmod(0o555)
        assert in_a_child(look) == f"0.5 of {count} entries"
        assert [path.name for path in Path(folder).iterdir()] == ["budget.db"]
        Path(folder).chmod(0o755)
        # a log whose index is not there: its entries must not be passed over in silence
        Path(f"{place}-wal").write_bytes(b"\0" * 64)
        Path(folder).chmod(0o555)
        assert in_a_child(look).startswith("refused: ")
        Path(folder).chmod(0o755)


def test_13_disk_full(people: Ledger) -> None:
    """Files may grow to a limit that the log will reach; every charge that was told is there."""

    def charge() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        told = 0
        try:
            for _ in range(100):
                people.reserve("people", pure_event(0.001))
                told += 1
        except LedgerError:
            return f"refused after {told}"
        return "never full"

    told = in_a_child(charge)
    assert told.startswith("refused after ")
    assert told != "refused after 0"
    people.verify()
    charged = len(people.entries("people")) - 5
    assert charged - int(told.split()[-1]) in (0, 1)  # the last may be spent, never released
    assert people.remaining("people") == pytest.approx(0.5 - charged * 0.001, abs=1e-12)
    people.reserve("people", pure_event(0.1))  # there is room again


# -- damaged ---------------------------------------------------------------------------------------


def test_13_corrupt_pages(people: Ledger) -> None:
    """Every page in turn is overwritten: never a charge, never a silent new start."""
    whole = folded(people).read_bytes()
    noticed = 0
    for start in range(0, len(whole), 4096):
        people.path.write_bytes(whole[:start] + b"\xa5" * 4096 + whole[start + 4096 :])
        with pytest.raises(LedgerError):
            people.verify()
        try:
            people.reserve("people", pure_event(0.1))
        except LedgerError:
            noticed += 1
    assert noticed >= 3
    people.path.write_bytes(whole)
    people.verify()


@pytest.mark.parametrize("size", [0, 1, 100, 4095, 4096, 5000])
def test_13_truncated(people: Ledger, size: int) -> None:
    whole = folded(people).read_bytes()
    people.path.write_bytes(whole[:size])
    for attempt in (
        lambda: people.reserve("people", pure_event(0.1)),
        lambda: people.remaining("people"),
        people.verify,
    ):
        with pytest.raises(LedgerError):
            attempt()
    assert people.path.read_bytes()[: min(size, 10)] == whole[: min(size, 10)]


def test_13_values_of_the_wrong_type(people: Ledger) -> None:
    for column in ("dataset", "time", "body", "totals"):
        with sqlite3.connect(people.path) as connection:
            connection.execute(f"UPDATE entries SET {column} = x'00ff' WHERE sequence = 3")
        connection.close()
        with pytest.raises(LedgerError, match="Entry 3 of the ledger was changed"):
            people.verify()


# -- foreign ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE customers (name TEXT)"],
        ["CREATE TABLE entries (sequence INTEGER PRIMARY KEY, dataset TEXT)"],
        ["PRAGMA user_version = 7"],
        ["PRAGMA application_id = 7"],
    ],
    ids=str,
)
def test_13_a_foreign_file_is_left_as_it_is(sqlite_url: str, statements: list[str]) -> None:
    ledger = Ledger(sqlite_url)
    with sqlite3.connect(ledger.path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    before = ledger.path.read_bytes()
    for attempt in (
        lambda: ledger.open("people", PureDP(1.0)),
        lambda: ledger.reserve("people", pure_event(0.1)),
        ledger.verify,
        ledger.migrate,
    ):
        with pytest.raises(LedgerError, match="not a ledger"):
            attempt()
    assert ledger.path.read_bytes() == before


def test_13_a_newer_ledger_is_refused(people: Ledger) -> None:
    with sqlite3.connect(people.path) as connection:
        connection.execute("PRAGMA user_version = 4")
    connection.close()
    with pytest.raises(LedgerError, match="newer Privet's"):
        people.reserve("people", pure_event(0.1))
    with pytest.raises(LedgerError, match="newer Privet's"):
        people.migrate()


def test_13_a_newer_or_foreign_ledger_on_a_server(postgres_url: str) -> None:
    import psycopg

    ledger = Ledger(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("CREATE TABLE privet_entries (anything TEXT)")
        with pytest.raises(LedgerError, match="not a ledger"):
            ledger.open("people", PureDP(1.0))
        other.execute("DROP TABLE privet_entries CASCADE")
        ledger.open("people", PureDP(1.0))
        other.execute("UPDATE privet_ledger SET format = 'privet-ledger-4'")
        for attempt in (
            lambda: ledger.open("others", PureDP(1.0)),
            lambda: ledger.reserve("people", pure_event(0.1)),
            lambda: ledger.remaining("people"),
            ledger.migrate,
        ):
            with pytest.raises(LedgerError, match="not a ledger"):
                attempt()


# -- gone ------------------------------------------------------------------------------------------


def test_13_never_there(url: str) -> None:
    ledger = Ledger(url)
    for attempt in (
        lambda: ledger.reserve("people", pure_event(0.1)),
        lambda: ledger.settle(1),
        lambda: ledger.remaining("people"),
        ledger.entries,
        ledger.head,
        ledger.verify,
        ledger.migrate,
    ):
        with pytest.raises(LedgerError, match="no ledger"):
            attempt()
    ledger.open("people", PureDP(1.0))  # on purpose
    ledger.verify()


def test_13_deleted_while_open(people: Ledger) -> None:
    people.path.unlink()
    with pytest.raises(LedgerError, match="no ledger"):
        people.reserve("people", pure_event(0.1))
    assert not people.path.exists()


def test_13_dropped_while_open(postgres_url: str) -> None:
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("DROP TABLE privet_entries, privet_ledger CASCADE")
        with pytest.raises(LedgerError, match="no ledger"):
            ledger.reserve("people", pure_event(0.1))
        assert other.execute("SELECT to_regclass('privet_entries')").fetchone() == (None,)


@pytest.mark.parametrize("gone", ["budget.db", "budget.db-wal", "budget.db-shm"])
def test_13_deleted_in_the_middle_of_a_charge(
    people: Ledger, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    """The commit would go to a file without a name: it is noticed, and nothing is released."""
    append = Entries.append

    def append_and_lose(self: Entries, *arguments: Any, **options: Any) -> Any:
        made = append(self, *arguments, **options)
        people.path.with_name(gone).unlink()
        return made

    monkeypatch.setattr(Entries, "append", append_and_lose)
    with pytest.raises(LedgerError, match="removed or replaced"):
        people.reserve("people", pure_event(0.1))


def test_13_remains_are_not_a_new_start(people: Ledger) -> None:
    """The file is gone after a crash, its log is still there."""

    def crash() -> str:
        keeps = sqlite3.connect(people.path)
        keeps.execute("SELECT count(*) FROM entries").fetchall()  # so that the log stays
        people.reserve("people", pure_event(0.125))
        people.path.unlink()
        os._exit(0)

    in_a_child(crash)
    with pytest.raises(LedgerError, match="what remains of a ledger"):
        people.open("people", PureDP(1.0))


def test_13_a_restored_backup_is_read_and_its_age_is_noticed(people: Ledger) -> None:
    backup = folded(people).read_bytes()
    receipt = people.settle(people.reserve("people", pure_event(0.25)))
    folded(people)
    restored = people.path.with_name("restored.db")
    restored.write_bytes(backup)
    restored.replace(people.path)
    assert people.remaining("people") == 0.5
    with pytest.raises(LedgerError, match="rolled back"):
        people.verify(receipt)


def test_13_a_child_charges_between_two_charges(people: Ledger) -> None:
    """Nothing is kept across a fork."""

    def elsewhere() -> str:
        people.reserve("people", pure_event(0.1))
        return "done"

    assert in_a_child(elsewhere) == "done"
    people.reserve("people", pure_event(0.1))
    assert people.remaining("people") == pytest.approx(0.3, abs=1e-12)
    people.verify()


def test_no_server_is_an_error_in_words() -> None:
    with pytest.raises(LedgerError, match="refused"):
        Ledger("postgresql://nobody@127.0.0.1:1/none?connect_timeout=2").remaining("people")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "privet.ledger.postgres", raising=False)
    with pytest.raises(MissingExtra, match=r"privet\[postgres\]"):
        Ledger("postgresql://host/db").remaining("people")


def test_a_server_that_restarts_is_found_again(postgres_url: str) -> None:
    """Every charge has a connection of its own."""
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
    ledger.reserve("people", pure_event(0.25))
    assert ledger.remaining("people") == 0.75


def test_a_charge_that_is_not_committed_is_an_error(postgres_server: str) -> None:
    """The server accepts the entry and changes its mind when the transaction ends."""
    import psycopg

    from tests.ledger.test_roles import logins

    ledgers = logins(postgres_server)
    with psycopg.connect(ledgers.owner.url, autocommit=True) as other:
        other.execute(
            "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            "'no'; END $$"
        )
        other.execute(
            "CREATE CONSTRAINT TRIGGER no AFTER INSERT ON privet_entries DEFERRABLE INITIALLY "
            "DEFERRED FOR EACH ROW EXECUTE FUNCTION no()"
        )
    with pytest.raises(LedgerError, match="refused: no"):  # the owner would refuse the trigger
        ledgers.of("alice").reserve("people", pure_event(0.1))
    assert len(ledgers.owner.entries()) == 1


def test_15_whoever_comes_between_waits(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge that begins before another one is committed looks only after that."""
    ledger, append = Ledger(url), Entries.append
    ledger.open("people", PureDP(1.0))
    told: list[str] = []

    def other() -> None:
        try:
            ledger.reserve("people", pure_event(0.6))
        except BudgetExceeded as error:
            told.append(str(error))

    second = threading.Thread(target=other)

    def while_the_other_asks(self: Entries, *arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(Entries, "append", append)
        second.start()
        second.join(0.2)
        assert second.is_alive()
        return append(self, *arguments, **options)

    monkeypatch.setattr(Entries, "append", while_the_other_asks)
    ledger.reserve("people", pure_event(0.6))
    second.join()
    assert "0.4 is left" in told[0]
    assert len(ledger.entries()) == 2
    ledger.verify()


def test_threads_charge_one_after_another(url: str) -> None:
    ledger = Ledger(url)
    ledger.open("people", PureDP(1.0))
    start = threading.Barrier(12)

    def charge(_: int) -> int:
        start.wait()
        number = ledger.reserve("people", pure_event(0.05))
        ledger.settle(number)
        return number

    with ThreadPoolExecutor(12) as pool:
        numbers = list(pool.map(charge, range(12)))
    assert len(set(numbers)) == 12
    assert ledger.remaining("people") == pytest.approx(0.4, abs=1e-12)
    ledger.verify()


def test_no_connection_outlives_its_operation(people: Ledger, postgres_url: str) -> None:
    """Neither in a file, whose log the last connection folds, nor on a server."""
    people.settle(people.reserve("people", pure_event(0.1)))
    names = {path.name for path in people.path.parent.iterdir()}
    assert names == {"budget.db", "budget.db-head"}
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    with pytest.raises(BudgetExceeded):
        ledger.reserve("people", pure_event(2.0))
    ledger.settle(ledger.reserve("people", pure_event(0.1)))
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as other:
        for _ in range(100):  # a server notices the end of a connection a little later
            found = other.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND "
                "pid <> pg_backend_pid()"
            ).fetchone()
            if found == (0,):
                break
            time.sleep(0.05)
    assert found == (0,)


def test_a_commit_is_durable_when_it_returns(
    people: Ledger, postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings under which each database promises it, at the moment of the commit."""
    found: list[Any] = []

    class Watched(GuardedConnection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "COMMIT":
                for name in ("journal_mode", "synchronous"):
                    found.append(super().execute(f"PRAGMA {name}").fetchone()[0])
            return super().execute(sql, *values)

    connect = sqlite3.connect
    with monkeypatch.context() as patched:
        patched.setattr(
            sqlite3, "connect", lambda *a, **o: connect(*a, **{**o, "factory": Watched})
        )
        people.reserve("people", pure_event(0.1))
    assert found == ["wal", 2]  # FULL
    import psycopg

    from tests.ledger.test_roles import logins

    ledgers, off = logins(postgres_server), "%20-csynchronous_commit%3Doff"
    with pytest.warns(PrivetWarning, match="synchronous_commit = off"):
        Ledger(f"{ledgers.owner.url}{off}").open("others", PureDP(1.0))
    with psycopg.connect(ledgers.owner.url, autocommit=True) as other:
        other.execute("CREATE TABLE seen (setting TEXT)")
        other.execute(
            "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER "
            "SET search_path FROM CURRENT AS $$ BEGIN INSERT INTO seen "
            "VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$"
        )
        other.execute(
            "CREATE CONSTRAINT TRIGGER look AFTER INSERT ON privet_entries DEFERRABLE INITIALLY "
            "DEFERRED FOR EACH ROW EXECUTE FUNCTION look()"  # runs when the commit begins
        )
        alice = Ledger(f"{ledgers.of('alice').url}{off}")  # the owner would refuse the trigger
        alice.settle(alice.reserve("people", pure_event(0.5)))
        assert other.execute("SELECT setting FROM seen").fetchall() == [("on",), ("on",)]
