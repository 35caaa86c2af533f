"""The file behind a connection: replaced, linked, or with remains of a process beside it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger.entries import Entries
from tests.strategies import pure_event

ROOT = Path(__file__).parents[2]


def test_a_file_that_is_replaced_while_it_is_opened(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection has the old file open, the path names the new one: no charge to either."""
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
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
    append = Entries.append

    def append_and(self: Entries, *arguments: Any, **options: Any) -> Any:
        made = append(self, *arguments, **options)
        happens()
        return made

    monkeypatch.setattr(Entries, "append", append_and)


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("removed", [[], ["-shm"]], ids=["all", "without its index"])
def test_what_a_killed_process_leaves_beside_the_file(sqlite_url: str, removed: list[str]) -> None:
    """A log that nobody has folded in, with or without its index: every charge in it counts."""
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the runner's threads stay behind
        child = os.fork()
    if child == 0:
        keeps = sqlite3.connect(ledger.path)
        keeps.execute("SELECT count(*) FROM entries").fetchall()  # so that the log stays
        ledger.settle(ledger.reserve("people", pure_event(0.25)))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert ledger.path.with_name("budget.db-wal").stat().st_size > 0
    for end in removed:
        ledger.path.with_name(f"budget.db{end}").unlink()
    assert elsewhere(sqlite_url, "charge") == 0.25
    with pytest.raises(BudgetExceeded):
        ledger.reserve("people", pure_event(0.5))
    assert elsewhere(sqlite_url, "look") == 0.25
