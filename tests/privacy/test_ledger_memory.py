"""What a connection remembers of a ledger: it saves queries and never changes an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from privet import Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError
from privet.privacy.ledger import memory, sqlite_line
from privet.privacy.ledger.book import Book
from privet.privacy.ledger.idle import Idle
from tests.strategies import pure_event

Tamper = Callable[[str], None]


@pytest.fixture
def lines(url: str) -> Any:
    """The module of the connections to this database."""
    if url.startswith("sqlite"):
        return sqlite_line
    from privet.privacy.ledger import postgres_line

    return postgres_line


@pytest.fixture
def queries(lines: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that were made."""
    made: list[str] = []
    rows = lines.Line.rows

    def counted(self: Any, sql: str, values: Any) -> Any:
        made.append(sql)
        return rows(self, sql, values)

    monkeypatch.setattr(lines.Line, "rows", counted)
    return made


@pytest.fixture
def people(ledger: Ledger) -> Ledger:
    """An account that this process's connection has charged already."""
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    return ledger


@contextmanager
def another_connection(idle: Idle[Any]) -> Iterator[None]:
    """Somebody else's: the one that remembers is set aside meanwhile."""
    kept, idle.waiting[:] = list(idle.waiting), []
    assert kept
    yield
    idle.close()
    idle.waiting[:] = kept


# -- what is saved -----------------------------------------------------------------------------


def test_a_charge_after_a_charge_asks_nothing(people: Ledger, queries: list[str]) -> None:
    people.settle(people.reserve("people", pure_event(0.125)))
    assert queries == []
    people.verify()


def test_four_statements_for_a_commit_on_sqlite(sqlite_url: str) -> None:
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    seen: list[str] = []
    connection = sqlite_line.IDLE.waiting[-1].connection
    connection.set_trace_callback(seen.append)
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    connection.set_trace_callback(None)
    begin, version, insert, commit = "BEGIN IMMEDIATE", "PRAGMA data_version", "INSERT", "COMMIT"
    assert [text.split(" INTO")[0] for text in seen] == [begin, version, insert, commit] * 2


def test_several_accounts_and_reservations_are_remembered(
    people: Ledger, queries: list[str]
) -> None:
    people.open("others", PureDP(1.0))
    people.reserve("others", pure_event(0.125))
    queries.clear()
    first = people.reserve("people", pure_event(0.125))
    second = people.reserve("others", pure_event(0.125))
    third = people.reserve("people", pure_event(0.125))
    for number in (second, first, third):
        people.settle(number)
    assert queries == []
    with pytest.raises(LedgerError, match="settled already"):
        people.settle(second)
    people.verify()


# -- what is never missed ----------------------------------------------------------------------


def test_somebody_elses_charge_is_seen(people: Ledger, lines: Any) -> None:
    with another_connection(lines.IDLE):
        people.reserve("people", pure_event(0.5))
    assert people.remaining("people") == 0.25
    with another_connection(lines.IDLE):
        people.reserve("people", pure_event(0.125))
    with pytest.raises(BudgetExceeded, match=r"0\.125 is left"):
        people.reserve("people", pure_event(0.25))
    with another_connection(lines.IDLE):
        people.reserve("people", pure_event(0.0625))
    people.reserve("people", pure_event(0.0625))
    assert people.remaining("people") == 0.0
    people.verify()


def test_a_refusal_counts_what_somebody_else_has_charged(people: Ledger, lines: Any) -> None:
    with another_connection(lines.IDLE):
        people.reserve("people", pure_event(0.5))
    with pytest.raises(BudgetExceeded, match=r"0\.25 is left"):
        people.reserve("people", pure_event(0.8))  # too much by what is remembered, too


def test_a_charge_between_a_reservation_and_its_settlement(people: Ledger, lines: Any) -> None:
    number = people.reserve("people", pure_event(0.125))
    with another_connection(lines.IDLE):
        other = people.reserve("people", pure_event(0.25))
    assert people.settle(number).sequence == other + 1
    assert people.remaining("people") == 0.375
    people.verify()


def test_a_reservation_that_somebody_else_has_settled(people: Ledger, lines: Any) -> None:
    number = people.reserve("people", pure_event(0.125))
    with another_connection(lines.IDLE):
        people.settle(number)
    with pytest.raises(LedgerError, match="settled already"):
        people.settle(number)
    people.verify()


@pytest.mark.parametrize("number", [1, 3])
def test_a_remembered_entry_that_was_changed(people: Ledger, tamper: Tamper, number: int) -> None:
    """The opening and the last entry: both are looked at again, and no charge is built on them."""
    tamper(f"UPDATE {{table}} SET time = 'x' WHERE sequence = {number}")
    with pytest.raises(LedgerError, match=f"Entry {number} .* was changed; run verify"):
        people.reserve("people", pure_event(0.125))
    assert len(people.entries()) == 3


def test_a_remembered_reservation_that_was_changed(people: Ledger, tamper: Tamper) -> None:
    number = people.reserve("people", pure_event(0.125))
    people.reserve("people", pure_event(0.125))
    tamper(f"UPDATE {{table}} SET totals = '[0]' WHERE sequence = {number}")
    with pytest.raises(LedgerError, match=f"Entry {number} .* was changed; run verify"):
        people.settle(number)


def test_a_known_key_of_a_changed_entry(people: Ledger, tamper: Tamper) -> None:
    number = people.reserve("people", pure_event(0.125), key="job")
    people.reserve("people", pure_event(0.125))
    tamper(f"UPDATE {{table}} SET time = 'x' WHERE sequence = {number}")
    with pytest.raises(LedgerError, match=f"Entry {number} .* was changed; run verify"):
        people.reserve("people", pure_event(0.125), key="job")


def test_what_failed_is_not_remembered(people: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry was written and rolled back on one database and stays on the other."""
    append = Book.append

    def append_and_fail(self: Book, *arguments: Any, **options: Any) -> Any:
        append(self, *arguments, **options)
        raise LedgerError("afterwards")

    with monkeypatch.context() as patched:
        patched.setattr(Book, "append", append_and_fail)
        with pytest.raises(LedgerError, match="afterwards"):
            people.reserve("people", pure_event(0.125))
    there = len(people.entries())
    assert people.settle(people.reserve("people", pure_event(0.125))).sequence == there + 2
    people.verify()


def test_a_full_memory_forgets(people: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MOST_ACCOUNTS", 2)
    monkeypatch.setattr(memory, "_MOST_RESERVED", 2)
    names = ["people", "a", "b", "c"]
    for name in names[1:]:
        people.open(name, PureDP(1.0))
    numbers = [people.reserve(name, pure_event(0.125)) for name in (*names, *reversed(names))]
    for number in numbers:
        people.settle(number)
    assert [people.remaining(name) for name in names] == [0.5, 0.75, 0.75, 0.75]
    people.verify()


# -- a server ----------------------------------------------------------------------------------


@pytest.fixture
def remote(postgres_url: str) -> Ledger:
    """An account on a server that was charged already."""
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    return ledger


def test_a_connection_that_was_cut_is_made_anew(remote: Ledger) -> None:
    """Between a reservation and its settlement, with all that is remembered."""
    import psycopg

    number = remote.reserve("people", pure_event(0.25))
    with psycopg.connect(remote.url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE backend_type = "
            "'client backend' AND pid <> pg_backend_pid()"
        )
    remote.settle(number)
    remote.verify()


def test_a_connection_that_waited_long_is_asked_first(
    remote: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privet.privacy.ledger import postgres_line

    line = postgres_line.IDLE.waiting[-1]
    assert not line.doubtful()
    monkeypatch.setattr(postgres_line, "_FRESH", -1.0)
    assert line.doubtful()
    remote.settle(remote.reserve("people", pure_event(0.25)))
    remote.verify()


def test_a_ledger_further_down_the_search_path_is_not_hidden(
    remote: Ledger, postgres_server: str
) -> None:
    """A new ledger in front of the old one would be a new budget."""
    from urllib.parse import quote

    import psycopg

    schema = remote.url.rpartition("search_path%3D")[2]
    with psycopg.connect(postgres_server, autocommit=True) as other:
        other.execute(f'CREATE SCHEMA "{schema}_front"'.encode())
    options = quote(f"-csearch_path={schema}_front,{schema}", safe="")
    front = Ledger(f"{postgres_server}&options={options}")
    with pytest.raises(LedgerError, match="already open"):
        front.open("people", PureDP(1.0))
    assert front.remaining("people") == 0.75


def test_a_malformed_url_does_not_show_its_password() -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")
    from privet.errors import DeclarationError

    with pytest.raises(DeclarationError, match="is not a URL") as caught:
        Ledger("postgresql://me:s3cret@host/db?nonsense=1").remaining("people")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__


# -- somebody else came between, and this connection looked at something else first -----------


def beyond_the_cap(ledger: Ledger) -> None:
    """0.25 of 1 was charged here and 0.5 elsewhere: another 0.5 does not fit."""
    with pytest.raises(BudgetExceeded):
        ledger.reserve("people", pure_event(0.5))
    assert ledger.remaining("people") == 0.25
    ledger.verify()


def test_another_account_is_looked_up_first(people: Ledger, lines: Any) -> None:
    people.open("others", PureDP(1.0))
    with another_connection(lines.IDLE):
        people.settle(people.reserve("people", pure_event(0.5)))
    people.reserve("others", pure_event(0.125))
    beyond_the_cap(people)


def test_an_account_is_opened_first(people: Ledger, lines: Any) -> None:
    with another_connection(lines.IDLE):
        people.settle(people.reserve("people", pure_event(0.5)))
    people.open("others", PureDP(1.0))
    beyond_the_cap(people)


def test_a_reservation_of_somebody_else_is_settled_first(people: Ledger, lines: Any) -> None:
    with another_connection(lines.IDLE):
        theirs = people.reserve("people", pure_event(0.5))
    people.settle(theirs)
    beyond_the_cap(people)


def test_an_own_reservation_is_settled_with_todays_totals(people: Ledger, lines: Any) -> None:
    people.open("others", PureDP(1.0))
    mine = people.reserve("people", pure_event(0.25))
    with another_connection(lines.IDLE):
        people.settle(people.reserve("people", pure_event(0.5)))
    people.reserve("others", pure_event(0.125))
    people.settle(mine)
    assert people.remaining("people") == 0.0
    people.verify()


def test_a_key_that_somebody_else_has_settled(people: Ledger, lines: Any) -> None:
    mine = people.reserve("people", pure_event(0.25), key="job")
    with another_connection(lines.IDLE):
        people.settle(mine)
    with pytest.raises(LedgerError, match="was made already"):
        people.reserve("people", pure_event(0.25), key="job")
