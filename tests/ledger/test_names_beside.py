"""Files of other people under names that SQLite takes for its own: none is deleted or overwritten.

SQLite keeps a journal, a log and an index beside a file, by name, and removes or overwrites what it
finds there, also where the file itself is no database.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from privet import Ledger, LogisticRegression, PureDP
from privet._files import refuse_ledgers_place
from privet.errors import DeclarationError, LedgerError
from tests.strategies import pure_event

MINE = b"somebody's only copy, no part of any ledger\n"


def ledger_at(path: Path) -> Ledger:
    return Ledger(f"sqlite:///{path}")


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("content", [None, b"", b"notes of somebody\n", b"x" * 5000])
def test_a_file_beside_one_that_is_no_ledger_stays(
    tmp_path: Path, end: str, content: bytes | None
) -> None:
    file, mine = tmp_path / "notes", tmp_path / f"notes{end}"
    if content is not None:
        file.write_bytes(content)
    mine.write_bytes(MINE)
    for attempt in (
        lambda: ledger_at(file).datasets(),
        lambda: ledger_at(file).open("people", PureDP(1.0)),
    ):
        with pytest.raises(LedgerError):
            attempt()
        assert mine.read_bytes() == MINE
    assert content is None or file.read_bytes() == content


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_file_beside_a_ledger_stays_and_nothing_is_charged(sqlite_url: str, end: str) -> None:
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    mine = Path(f"{ledger.path}{end}")
    mine.write_bytes(MINE)
    for attempt in (ledger.datasets, lambda: ledger.reserve("people", pure_event(0.5))):
        with pytest.raises(LedgerError, match=end):
            attempt()
        assert mine.read_bytes() == MINE
    mine.unlink()
    assert ledger.remaining("people") == 1.0


@pytest.mark.skipif(os.name != "posix", reason="hard links")
@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm", "-head"])
def test_a_second_name_of_a_file_is_not_written_through(
    sqlite_url: str, tmp_path: Path, end: str
) -> None:
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    place, elsewhere = Path(f"{ledger.path}{end}"), tmp_path / "elsewhere"
    content = place.read_bytes() if place.exists() else bytes(1 << 15)
    elsewhere.write_bytes(content)
    place.unlink(missing_ok=True)
    os.link(elsewhere, place)
    with pytest.raises(LedgerError, match=f"{end} has 2 names"):
        ledger.reserve("people", pure_event(0.5))
    assert elsewhere.read_bytes() == content


@pytest.mark.parametrize(("mode", "end"), [("DELETE", "-journal"), ("WAL", "-wal")])
def test_nothing_is_played_back_into_a_file_that_is_no_database(
    tmp_path: Path, mode: str, end: str
) -> None:
    """It would overwrite the file before SQLite looks whether it is one."""
    other = sqlite3.connect(tmp_path / "other.db", isolation_level=None)
    other.execute(f"PRAGMA journal_mode = {mode}")
    other.execute("CREATE TABLE t (x)")
    other.execute("PRAGMA cache_size = 1")
    other.execute("BEGIN IMMEDIATE")
    other.executemany("INSERT INTO t VALUES (?)", [(b"x" * 3000,)] * 50)  # spills: a hot journal
    file, strange = tmp_path / "model.privet", tmp_path / f"model.privet{end}"
    strange.write_bytes((tmp_path / f"other.db{end}").read_bytes())
    other.close()
    file.write_bytes(MINE * 1000)
    for _ in range(2):
        with pytest.raises(LedgerError, match="not a database"):
            ledger_at(file).datasets()
        assert file.read_bytes() == MINE * 1000
        assert strange.exists()


def test_a_crash_while_a_ledger_is_created_is_undone_as_ever(tmp_path: Path) -> None:
    file = tmp_path / "budget.db"
    crashed = sqlite3.connect(tmp_path / "crashed.db", isolation_level=None)
    crashed.execute("PRAGMA application_id = 7")  # the file is there
    crashed.execute("BEGIN IMMEDIATE")
    crashed.execute("CREATE TABLE t (x)")
    journal = (tmp_path / "crashed.db-journal").read_bytes()
    crashed.close()
    assert journal  # with zeros in front, as SQLite writes it until it is synced
    Path(f"{file}-journal").write_bytes(journal)
    file.touch()
    ledger_at(file).open("people", PureDP(1.0))
    assert ledger_at(file).remaining("people") == 1.0


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm", "-head"])
def test_a_model_is_not_saved_where_a_ledger_would_lose_it(sqlite_url: str, end: str) -> None:
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    model = LogisticRegression(1.0, norm_bound=1.0, classes=[0, 1], insecure_seed=0)
    model.fit([[0.5], [-0.5]] * 50, [1, 0] * 50)
    with pytest.raises(DeclarationError, match="of a ledger"):
        model.save(f"{ledger.path}{end}", overwrite=True)
    assert ledger.remaining("people") == 1.0


@pytest.mark.parametrize("size", [3, 4096, 3 * 4096, 1 << 15])
def test_an_index_that_a_kill_left_half_made_is_no_stranger(sqlite_url: str, size: int) -> None:
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    Path(f"{ledger.path}-shm").write_bytes(bytes(size))
    ledger.settle(ledger.reserve("people", pure_event(0.5)))
    assert ledger.remaining("people") == 0.5


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm", "-head"])
def test_a_ledger_is_not_begun_under_the_name_of_a_part_of_another(
    sqlite_url: str, end: str
) -> None:
    """The other could not be charged any more, or its next charge overwrote this one."""
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    part = Path(f"{ledger.path}{end}")
    content = part.read_bytes() if part.exists() else None
    with pytest.raises(LedgerError, match=r"not called|cannot be opened"):
        ledger_at(part).open("people", PureDP(1.0))
    assert (part.read_bytes() if part.exists() else None) == content
    ledger.reserve("people", pure_event(0.5))


def test_what_is_remembered_of_answers_is_not_replaced(sqlite_url: str) -> None:
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    with pytest.raises(DeclarationError, match="a file of a ledger"):
        refuse_ledgers_place(f"{ledger.path}-answers-0123456789abcdef")
    refuse_ledgers_place(f"{ledger.path}-answers-of-mine")
