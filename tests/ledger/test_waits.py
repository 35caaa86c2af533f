"""A server that does not answer: every wait has an end, and its words say what is known."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger import store
from tests import postgres
from tests.ledger.proxy import Proxy, proxy
from tests.strategies import pure_event

pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger import postgres_connection as waits


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit is a fraction of a second; only connecting takes two at least."""
    monkeypatch.setattr(store, "PATIENCE", 0.2)
    monkeypatch.setattr(waits, "WORKING", 0.2)
    monkeypatch.setattr(waits, "GRACE", 0.2)
    monkeypatch.setitem(waits._DIALING, "connect_timeout", ("", "2"))


@pytest.fixture
def between(postgres_server: str) -> Iterator[Proxy]:
    from psycopg.conninfo import conninfo_to_dict

    with proxy(f"{conninfo_to_dict(postgres_server)['host']}/.s.PGSQL.5432") as found:
        yield found


def through(between: Proxy, url: str) -> Ledger:
    """The ledger at ``url``, as it is seen through the proxy."""
    options = url.rpartition("&options=")[2]
    return Ledger(f"postgresql://privet@127.0.0.1:{between.port}/postgres?options={options}")


@pytest.mark.usefixtures("impatient")
def test_a_server_that_takes_a_connection_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(LedgerError, match="timeout expired"):
            Ledger(f"postgresql://nobody@127.0.0.1:{port}/none").remaining("people")


@pytest.mark.usefixtures("impatient")
def test_whatever_is_swallowed_the_call_ends_and_the_ledger_is_whole(
    postgres_url: str, between: Proxy
) -> None:
    """After each message of a charge in turn; nothing is granted that is not written."""
    direct, seen = Ledger(postgres_url), through(between, postgres_url)
    direct.open("people", PureDP(1.0))
    seen.reserve("people", pure_event(0.01))  # the first in a process looks at more
    between.swallow_after(None)
    seen.reserve("people", pure_event(0.01))
    messages = between.passed  # of one whole charge
    assert messages > 5
    for count in range(messages):
        between.swallow_after(count)
        with pytest.raises(LedgerError, match=r"did not answer|timeout expired|not known"):
            seen.reserve("people", pure_event(0.01))
    between.swallow_after(None)
    seen.reserve("people", pure_event(0.01))
    direct.verify()
    assert len(direct.entries()) == 4


@pytest.mark.usefixtures("impatient")
def test_a_commit_whose_answer_is_lost_is_not_called_undone(
    postgres_url: str, between: Proxy
) -> None:
    direct, seen = Ledger(postgres_url), through(between, postgres_url)
    direct.open("people", PureDP(1.0))
    between.swallow_after(None, unanswered=b"COMMIT\x00")
    with pytest.raises(LedgerError, match="whether it is there is not known"):
        seen.reserve("people", pure_event(0.01), key="job")
    assert len(direct.entries()) == 2  # it is
    assert direct.reserve("people", pure_event(0.01), key="job") == 2


def test_limits_are_set_and_the_url_sets_others(postgres_url: str) -> None:
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")

    def limits(url: str) -> list[str]:
        with waits.connected(url) as connection:
            return [connection.execute(f"SHOW {name}".encode()).fetchall()[0][0] for name in names]

    assert limits(postgres_url) == ["30s", "40s", "5min"]
    more = quote(" -cstatement_timeout=1234 -clock_timeout=2s", safe="")
    assert limits(f"{postgres_url}{more}") == ["2s", "1234ms", "5min"]
    with waits.connected(postgres_url) as connection:
        assert connection.patience == 45.0
        found = connection.info.get_parameters()
        assert (found["connect_timeout"], found["tcp_user_timeout"]) == ("10", "20000")
        assert (found["keepalives_idle"], found["keepalives_count"]) == ("10", "3")
    with waits.connected(f"{postgres_url}{more}&tcp_user_timeout=7") as connection:
        assert connection.patience == pytest.approx(1.234 + waits.GRACE)
        assert connection.info.get_parameters()["tcp_user_timeout"] == "7"
    never = quote(" -cstatement_timeout=0", safe="")
    with waits.connected(f"{postgres_url}{never}") as connection:
        assert connection.patience is None


def test_a_statement_that_takes_too_long_is_given_up_in_words(postgres_server: str) -> None:
    """Here by a function that sleeps, which a superuser would refuse to call."""
    import psycopg

    from tests.ledger.test_roles import logins

    ledgers = logins(postgres_server)
    with psycopg.connect(ledgers.owner.url, autocommit=True) as other:
        other.execute(
            "CREATE OR REPLACE FUNCTION privet_lock() RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM pg_sleep(20); END $$"
        )
    hurried = Ledger(f"{ledgers.of('alice').url}{quote(' -cstatement_timeout=100', safe='')}")
    with pytest.raises(LedgerError, match=r"statement timeout.*Nothing was released"):
        hurried.reserve("people", pure_event(0.1))
    assert len(ledgers.owner.entries()) == 1


# -- what a server promises ------------------------------------------------------------------------


def test_a_server_that_does_not_wait_for_its_disk_is_refused() -> None:
    with postgres.running(fsync="off", full_page_writes="off") as server:
        url = postgres.fresh(server.url, "ledger")
        with pytest.raises(LedgerError, match="fsync = off"):
            Ledger(url).open("people", PureDP(1.0))
        server.crash()
        server.settings = {"full_page_writes": "off", "synchronous_commit": "local"}
        server.start()
        with (
            pytest.warns(UserWarning, match="synchronous_commit = local"),
            pytest.warns(UserWarning, match="full_page_writes = off"),
        ):
            Ledger(url).open("people", PureDP(1.0))
        Ledger(url).reserve("people", pure_event(0.5))  # was told once
        server.crash()
        server.settings = {"fsync": "off"}
        server.start()
        with pytest.raises(LedgerError, match="fsync = off"):
            Ledger(url).reserve("people", pure_event(0.5))
        assert Ledger(url).remaining("people") == 0.5  # may be looked at


# -- names ---------------------------------------------------------------------------------------


def test_two_ledgers_on_the_search_path_are_refused(postgres_server: str) -> None:
    """Else whoever may create a schema of somebody's name chooses his budget."""
    first = Ledger(postgres.fresh(postgres_server, "names_b"))
    first.open("people", PureDP(1.0))
    shadow = Ledger(postgres.fresh(postgres_server, "names_a"))
    shadow.open("people", PureDP(9.0))
    both = Ledger(f"{postgres_server}&options={quote('-csearch_path=names_a,names_b', safe='')}")
    for attempt in (
        lambda: both.reserve("people", pure_event(0.5)),
        lambda: both.remaining("people"),
        lambda: both.open("others", PureDP(1.0)),
    ):
        with pytest.raises(LedgerError, match="names_a, names_b"):
            attempt()


def test_names_in_front_of_the_catalog_are_not_used(postgres_url: str) -> None:
    """A schema before pg_catalog on the path may hold a max() that finds the budget unspent."""
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    ledger.reserve("people", pure_event(0.5))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "CREATE FUNCTION one(BIGINT, BIGINT) RETURNS BIGINT LANGUAGE sql AS 'SELECT 1::BIGINT'"
        )
        other.execute("CREATE AGGREGATE max(BIGINT) (SFUNC = one, STYPE = BIGINT)")
    front = Ledger(f"{postgres_url}%2Cpg_catalog")
    assert front.remaining("people") == 0.5
    front.reserve("people", pure_event(0.25))
    ledger.verify()
