"""A server that took the place of another: a replica, a promoted one, a restored copy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from privet import Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError, PrivetWarning
from tests import postgres
from tests.ledger.storms import follows
from tests.strategies import pure_event

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL cannot be installed here: no psycopg")

from privet.ledger.postgres_roles import create_roles  # noqa: E402

OPTIONS = f"&options={quote('-csearch_path=ledger', safe='')}"


@pytest.fixture(scope="module")
def primary() -> Iterator[postgres.Server]:
    try:
        with postgres.running() as found:
            postgres.fresh(found.url, "ledger")
            yield found
    except postgres.NoServer as error:
        pytest.skip(f"PostgreSQL cannot be installed here: {error}")


def test_a_stale_replica_that_is_promoted_is_noticed(primary: postgres.Server) -> None:
    ledger = Ledger(primary.url + OPTIONS)
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    with primary.replica() as second:
        other = Ledger(second.url + OPTIONS)
        follows(other, ledger)
        # it is told that the replica may be late, and the replica is for reading
        with pytest.warns(PrivetWarning, match="1 replica"):
            ledger.open("others", PureDP(1.0))
        follows(other, ledger)
        other.verify(ledger.head())
        assert other.remaining("people") == 0.75
        with pytest.raises(LedgerError, match="is a replica"):
            other.reserve("people", pure_event(0.25))
        # the last charges never arrive
        second.leave(primary)
        receipt = ledger.settle(ledger.reserve("people", pure_event(0.75)))
        second.promote()
        assert other.remaining("people") == 0.75  # it does not know
        with pytest.raises(LedgerError, match=r"timeline 2, it was 1.*privet ledger adopt"):
            other.reserve("people", pure_event(0.75))
        with pytest.raises(LedgerError, match="rolled back"):
            other.verify(receipt)
        identity = other.adopt()
        other.reserve("people", pure_event(0.5))
        other.verify()
        assert other.entries()[-1].ledger == identity != ledger.entries()[-1].ledger
        # whoever keeps receipts sees the two branches in each other's ledgers
        for kept, wrong in ((receipt, other), (other.entries()[-1].receipt, ledger)):
            with pytest.raises(LedgerError, match="rolled back"):
                wrong.verify(kept)
    with pytest.raises(BudgetExceeded):
        ledger.reserve("people", pure_event(0.1))
    ledger.verify(receipt)


def test_a_copy_on_another_server_is_noticed(primary: postgres.Server) -> None:
    """As pg_dump and pg_restore make it."""
    source = Ledger(primary.url + f"&options={quote('-csearch_path=dumped', safe='')}")
    postgres.fresh(primary.url, "dumped")
    source.open("people", PureDP(1.0))
    dumped = primary.run("pg_dump", "--schema=dumped", primary.url)
    with postgres.running() as elsewhere:
        elsewhere.run("psql", "-v", "ON_ERROR_STOP=1", "-q", elsewhere.url, content=dumped)
        copy = Ledger(source.url.replace(primary.url, elsewhere.url))
        assert copy.head() == source.head()
        copy.verify()
        with pytest.raises(LedgerError, match=r"restored elsewhere.*privet ledger adopt"):
            copy.reserve("people", pure_event(0.5))
        copy.adopt()
        copy.reserve("people", pure_event(0.5))
        copy.verify(source.head())
    source.reserve("people", pure_event(0.5))


def test_a_copy_on_the_same_server_is_noticed(
    primary: postgres.Server, elsewhere: Callable[[Ledger], None]
) -> None:
    """A cloned database, and a dump that is put back where it came from."""
    with psycopg.connect(primary.url, autocommit=True) as server:
        server.execute("CREATE DATABASE original")
    source = Ledger(primary.url.replace("/postgres?", "/original?"))
    source.open("people", PureDP(1.0))
    with psycopg.connect(primary.url, autocommit=True) as server:
        server.execute("CREATE DATABASE clone TEMPLATE original")
    clone = Ledger(primary.url.replace("/postgres?", "/clone?"))
    dumped = primary.run("pg_dump", "--clean", source.url)
    source.reserve("people", pure_event(0.9))
    elsewhere(source)  # the curator of the copy has never seen the original
    for copy in (clone, source):
        if copy is source:
            primary.run("psql", "-v", "ON_ERROR_STOP=1", "-q", source.url, content=dumped)
        with pytest.raises(LedgerError, match="holds a copy of the ledger"):
            copy.reserve("people", pure_event(0.9))
        copy.adopt()
        copy.reserve("people", pure_event(0.9))


def test_a_ledger_of_an_earlier_release_notes_its_table(primary: postgres.Server) -> None:
    """It noted the cluster alone: it is charged as before, and knows more once it is brought up."""
    ledger = Ledger(postgres.fresh(primary.url, "earlier"))
    ledger.open("people", PureDP(1.0))
    query = b"SELECT system FROM earlier.privet_ledger"
    with psycopg.connect(primary.url, autocommit=True) as server:
        whole = server.execute(query).fetchall()
        assert whole[0][0].count("/") == 2
        for note in (ledger.migrate, lambda: create_roles(ledger.url, "earlier")):
            server.execute(b"UPDATE earlier.privet_ledger SET system = split_part(system, '/', 1)")
            ledger.reserve("people", pure_event(0.1))
            note()
            assert server.execute(query).fetchall() == whole
            ledger.reserve("people", pure_event(0.1))


def test_a_crash_is_not_taken_for_another_server() -> None:
    with postgres.running() as server:
        ledger = Ledger(postgres.fresh(server.url, "ledger"))
        ledger.open("people", PureDP(1.0))
        for _ in range(2):
            ledger.reserve("people", pure_event(0.25))
            server.crash()
            server.start()
        ledger.reserve("people", pure_event(0.25))
        ledger.verify()
        assert ledger.remaining("people") == 0.25


def test_a_charge_that_no_synchronous_replica_has_confirmed_is_not_granted() -> None:
    """Somebody cancels the wait for a replica; the server then says that it has committed."""
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with postgres.running() as server:
        ledger = Ledger(postgres.fresh(server.url, "ledger"))
        ledger.open("people", PureDP(1.0))
        server.crash()
        server.settings = {"synchronous_standby_names": "absent"}
        server.start()
        with psycopg.connect(server.url, autocommit=True) as other, ThreadPoolExecutor() as pool:
            charged = pool.submit(ledger.reserve, "people", pure_event(0.25))
            while not charged.done():
                other.execute(cancel)
                other.execute("SELECT pg_sleep(0.05)")
            with pytest.raises(LedgerError, match=r"which stays.*Nothing was released"):
                charged.result()
        assert ledger.remaining("people") == 0.75


def test_a_server_put_back_to_before_it_was_taken_over_is_noticed(tmp_path: Path) -> None:
    """It bears its old identity, under which nobody remembers what was spent since."""
    with postgres.running() as server:
        ledger = Ledger(postgres.fresh(server.url, "ledger"))
        ledger.open("people", PureDP(1.0))
        ledger.reserve("people", pure_event(0.25))
        server.crash()
        subprocess.run(["cp", "-a", server.data, tmp_path / "kept"], check=True)
        server.start()
        ledger.adopt()
        ledger.reserve("people", pure_event(0.75))
        server.crash()
        shutil.rmtree(server.data)
        subprocess.run(["cp", "-a", tmp_path / "kept", server.data], check=True)
        server.start()
        assert ledger.remaining("people") == 0.75
        with pytest.raises(LedgerError, match="rolled back"):
            ledger.reserve("people", pure_event(0.75))
        ledger.adopt()
        ledger.reserve("people", pure_event(0.75))
