"""Whoever charges, nothing is decided on what somebody else has changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from privet import Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError
from tests.strategies import pure_event

Tamper = Callable[[str], None]


@pytest.fixture
def people(ledger: Ledger) -> Ledger:
    """An account that was charged already."""
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    return ledger


# -- what is never missed ----------------------------------------------------------------------


def test_somebody_elses_charge_is_seen(people: Ledger) -> None:
    people.reserve("people", pure_event(0.5))
    assert people.remaining("people") == 0.25
    people.reserve("people", pure_event(0.125))
    with pytest.raises(BudgetExceeded, match=r"0\.125 is left"):
        people.reserve("people", pure_event(0.25))
    people.reserve("people", pure_event(0.0625))
    people.reserve("people", pure_event(0.0625))
    assert people.remaining("people") == 0.0
    people.verify()


def test_a_refusal_counts_what_somebody_else_has_charged(people: Ledger) -> None:
    people.reserve("people", pure_event(0.5))
    with pytest.raises(BudgetExceeded, match=r"0\.25 is left"):
        people.reserve("people", pure_event(0.8))


def test_a_charge_between_a_reservation_and_its_settlement(people: Ledger) -> None:
    number = people.reserve("people", pure_event(0.125))
    other = people.reserve("people", pure_event(0.25))
    assert people.settle(number).sequence == other + 1
    assert people.remaining("people") == 0.375
    people.verify()


def test_a_reservation_that_somebody_else_has_settled(people: Ledger) -> None:
    number = people.reserve("people", pure_event(0.125))
    people.settle(number)
    with pytest.raises(LedgerError, match="settled already"):
        people.settle(number)
    people.verify()


@pytest.mark.parametrize("number", [1, 3])
def test_a_changed_entry_that_was_changed(people: Ledger, tamper: Tamper, number: int) -> None:
    """The opening and the last entry: both are looked at again, and no charge is built on them."""
    tamper(f"UPDATE {{table}} SET time = 'x' WHERE sequence = {number}")
    with pytest.raises(LedgerError, match=f"Entry {number} .* was changed; run verify"):
        people.reserve("people", pure_event(0.125))
    assert len(people.entries()) == 3


def test_a_changed_reservation_that_was_changed(people: Ledger, tamper: Tamper) -> None:
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


# -- a server ----------------------------------------------------------------------------------


@pytest.fixture
def remote(postgres_url: str) -> Ledger:
    """An account on a server that was charged already."""
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    return ledger


def test_connections_that_are_cut_between_two_operations(remote: Ledger) -> None:
    """Between a reservation and its settlement."""
    import psycopg

    number = remote.reserve("people", pure_event(0.25))
    with psycopg.connect(remote.url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE backend_type = "
            "'client backend' AND pid <> pg_backend_pid()"
        )
    remote.settle(number)
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


def test_another_account_is_looked_up_first(people: Ledger) -> None:
    people.open("others", PureDP(1.0))
    people.settle(people.reserve("people", pure_event(0.5)))
    people.reserve("others", pure_event(0.125))
    beyond_the_cap(people)


def test_an_account_is_opened_first(people: Ledger) -> None:
    people.settle(people.reserve("people", pure_event(0.5)))
    people.open("others", PureDP(1.0))
    beyond_the_cap(people)


def test_a_reservation_of_somebody_else_is_settled_first(people: Ledger) -> None:
    theirs = people.reserve("people", pure_event(0.5))
    people.settle(theirs)
    beyond_the_cap(people)


def test_an_own_reservation_is_settled_with_todays_totals(people: Ledger) -> None:
    people.open("others", PureDP(1.0))
    mine = people.reserve("people", pure_event(0.25))
    people.settle(people.reserve("people", pure_event(0.5)))
    people.reserve("others", pure_event(0.125))
    people.settle(mine)
    assert people.remaining("people") == 0.0
    people.verify()


def test_a_key_that_somebody_else_has_settled(people: Ledger) -> None:
    mine = people.reserve("people", pure_event(0.25), key="job")
    people.settle(mine)
    with pytest.raises(LedgerError, match="was made already"):
        people.reserve("people", pure_event(0.25), key="job")
