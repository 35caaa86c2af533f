"""A fork while another thread charges: neither process writes over what the other has charged."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger import forks
from tests.strategies import pure_event

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    # newer Pythons warn of what is tested here
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.open("people", PureDP(1.0))
    return made


def charged_in_a_fork(ledger: Ledger) -> str:
    """What a child says that charges."""
    heard, says = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ledger.reserve("people", pure_event(0.25))
            os.write(says, b"charged")
        except LedgerError as error:
            os.write(says, str(error).encode())
        finally:
            os._exit(0)
    os.close(says)
    told = os.read(heard, 1000).decode()
    os.close(heard)
    os.waitpid(child, 0)
    return told


def test_a_fork_waits_for_threads_that_are_at_the_ledger(ledger: Ledger) -> None:
    inside, left = Event(), Event()

    def look() -> None:
        with ledger._store.reading():
            inside.set()
            left.wait(0.3)
        left.set()

    thread = Thread(target=look)
    thread.start()
    inside.wait()
    assert charged_in_a_fork(ledger) == "charged"
    assert left.is_set()
    thread.join()


def test_a_fork_that_waited_in_vain_charges_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    with ledger._store.reading():
        assert "forked while its parent was at a ledger" in charged_in_a_fork(ledger)
    inside, go_on = Event(), Event()

    def look() -> None:
        with ledger._store.reading():
            inside.set()
            go_on.wait(30)

    thread = Thread(target=look)
    thread.start()
    inside.wait()
    assert "Nothing was charged" in charged_in_a_fork(ledger)
    go_on.set()
    thread.join()
    assert ledger.remaining("people") == 1.0
    assert charged_in_a_fork(ledger) == "charged"
