"""Connections that wait: few, never shared, never across a fork, never to another file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.privacy.ledger import sqlite_line
from privet.privacy.ledger.book import Book
from privet.privacy.ledger.idle import Idle
from tests.strategies import pure_event

ROOT = Path(__file__).parents[2]


class Named:
    """A connection that notes whether it was closed."""

    def __init__(self, place: str) -> None:
        self.place, self.closed = place, False

    def close(self) -> None:
        self.closed = True


def test_the_latest_to_a_place_is_taken_and_the_oldest_goes() -> None:
    idle: Idle[Named] = Idle(3)
    lines = [Named(place) for place in "abab"]
    for line in lines:
        idle.keep(line)
    assert [line.closed for line in lines] == [True, False, False, False]
    assert idle.take("b") is lines[3]
    assert idle.take("b") is lines[1]
    assert idle.take("b") is None
    idle.close()
    assert lines[2].closed
    assert idle.take("a") is None


def test_no_two_threads_have_the_same() -> None:
    idle: Idle[Named] = Idle(100)
    taken: list[Named] = []
    for _ in range(50):
        idle.keep(Named("a"))

    def take_all() -> None:
        while (line := idle.take("a")) is not None:
            taken.append(line)

    threads = [threading.Thread(target=take_all) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_none_is_used_on_both_sides_of_a_fork() -> None:
    """Even where a thread puts one back after all were closed and just before the fork."""

    class Late(Idle[Named]):
        def close(self) -> None:
            """Nothing yet."""

    idle, line = Late(3), Named("a")
    idle.keep(line)
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the runner's threads stay behind
        child = os.fork()
    if child == 0:
        found = idle.take("a") is None and not line.closed
        os.write(writing, str(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "True"
    os.waitpid(child, 0)
    assert idle.take("a") is line


# -- the file of a connection ------------------------------------------------------------------


def test_a_file_that_is_replaced_while_it_is_opened(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection has the old file open, the path names the new one: no charge to either."""
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    sqlite_line.IDLE.close()
    whole, connect = ledger.path.read_bytes(), sqlite3.connect

    def replaced_meanwhile(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made = connect(*arguments, **options)
        other = ledger.path.with_name("other.db")
        other.write_bytes(whole)
        other.replace(ledger.path)
        return made

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", replaced_meanwhile)
        with pytest.raises(LedgerError, match="while it was opened"):
            ledger.reserve("people", pure_event(0.5))
    assert ledger.remaining("people") == 1.0
    ledger.verify()


@pytest.fixture
def linked(tmp_path: Path) -> Ledger:
    """A ledger behind a symbolic link; SQLite puts its log beside the real file."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "budget.db")
    ledger = Ledger(f"sqlite:///{tmp_path}/link.db")
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    return ledger


def in_the_middle(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Something happens after an entry was written and before it is committed."""
    append = Book.append

    def append_and(self: Book, *arguments: Any, **options: Any) -> Any:
        made = append(self, *arguments, **options)
        happens()
        return made

    monkeypatch.setattr(Book, "append", append_and)


def test_a_lost_log_behind_a_link_is_noticed(
    linked: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_middle(monkeypatch, (tmp_path / "real" / "budget.db-wal").unlink)
    with pytest.raises(LedgerError, match="removed or replaced"):
        linked.reserve("people", pure_event(0.25))


def test_a_link_to_another_file_is_followed(linked: Ledger, tmp_path: Path) -> None:
    other = Ledger(f"sqlite:///{tmp_path}/other.db")
    other.open("people", PureDP(3.0))
    linked.path.unlink()
    linked.path.symlink_to(other.path)
    assert linked.remaining("people") == 3.0
    linked.reserve("people", pure_event(0.5))
    assert other.remaining("people") == 2.5
    other.verify()


def test_what_remains_behind_a_link_is_not_a_new_start(linked: Ledger, tmp_path: Path) -> None:
    sqlite_line.IDLE.close()
    real = tmp_path / "real" / "budget.db"
    real.unlink()
    real.with_name("budget.db-wal").write_bytes(b"what is left")
    with pytest.raises(LedgerError, match="what remains of a ledger"):
        linked.open("people", PureDP(1.0))


CHARGE = """
import sys
from privet import Ledger
from tests.strategies import pure_event
ledger = Ledger(sys.argv[1])
if sys.argv[2] == "charge":
    ledger.settle(ledger.reserve("people", pure_event(0.5)))
ledger.verify()
print(ledger.remaining("people"))
"""


def elsewhere(url: str, what: str) -> float:
    """What is left, as another process sees it."""
    done = subprocess.run(
        [sys.executable, "-c", CHARGE, url, what], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.parametrize("ends", [True, False], ids=["it ends", "it charges on"])
def test_a_removed_index_loses_no_charge_of_another_process(sqlite_url: str, ends: bool) -> None:
    """The index holds the locks: two processes with two of them would not see each other."""
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    ledger.path.with_name(ledger.path.name + "-shm").unlink()
    assert elsewhere(sqlite_url, "charge") == 0.25
    if ends:
        sqlite_line.IDLE.close()
    with pytest.raises(LedgerError, match="start the process again"):
        ledger.reserve("people", pure_event(0.5))
    assert elsewhere(sqlite_url, "look") == 0.25
