"""Files that are not what a ledger's are: damaged where no hash reaches, or made by a stranger."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, PureDP
from privet._files import write_whole
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger.beside import Beside
from privet.ledger.memory import Heads
from tests.ledger.test_faults import in_a_child
from tests.ledger.test_others_files import needs_root
from tests.strategies import pure_event


@pytest.fixture
def people(sqlite_url: str) -> Ledger:
    """Two accounts; of ``people`` all is spent, and the newest entry is the other's."""
    ledger = Ledger(sqlite_url)
    for name in ("others", "people"):
        ledger.open(name, PureDP(1.0))
    for amount in (0.25, 0.25, 0.5):
        ledger.settle(ledger.reserve("people", pure_event(amount)))
    ledger.settle(ledger.reserve("others", pure_event(0.25)))
    return ledger


# -- damage in an index, which no hash covers ----------------------------------------------------


def index_page(path: Path) -> tuple[int, int]:
    """Where the index lies by which the last entry of an account is found."""
    connection = sqlite3.connect(path)
    query = "SELECT rootpage FROM sqlite_master WHERE name = 'entries_by_dataset'"
    (page,), (size,) = (connection.execute(each).fetchone() for each in (query, "PRAGMA page_size"))
    connection.close()
    return (page - 1) * size, page * size


def test_no_flipped_bit_in_the_file_returns_what_was_spent(people: Ledger) -> None:
    """An older entry that an index shows as the last one has lower totals."""
    whole, head = people.path.read_bytes(), Path(f"{people.path}-head").read_bytes()
    start, stop = index_page(people.path)
    starts = [place for page in range(0, len(whole), 4096) for place in range(page, page + 40)]
    spent = damaged = 0
    for place in sorted({*starts, *(i for i in range(start, stop) if whole[i])}):
        bad = bytearray(whole)
        bad[place] ^= 1 << place % 8
        for end, content in (("", bytes(bad)), ("-head", head)):
            Path(f"{people.path}{end}").write_bytes(content)
        for end in ("-wal", "-shm"):
            Path(f"{people.path}{end}").unlink(missing_ok=True)
        with pytest.raises((LedgerError, BudgetExceeded)) as refused:
            people.settle(people.reserve("people", pure_event(0.5)))
        spent += "does not fit" in str(refused.value)
        damaged += "An index of the ledger is damaged" in str(refused.value)
    assert spent > 10
    assert damaged > 10


def edited(path: Path, *statements: str) -> None:
    """As somebody does who knows SQLite."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        connection.executescript(statement)
    connection.close()


def test_a_settlement_does_not_return_what_was_spent(people: Ledger) -> None:
    """It writes the totals of the account's last entry once more."""
    number = people.reserve("others", pure_event(0.25))
    later = people.reserve("others", pure_event(0.25))
    people.open("third", PureDP(1.0))  # the newest of all is found without an index
    index = "UPDATE sqlite_master SET sql = {} WHERE name = 'entries_by_dataset'"
    lacks = f" WHERE sequence < {later}"
    edited(people.path, index.format(f"sql || '{lacks}'"))
    edited(people.path, "REINDEX", index.format(f"replace(sql, '{lacks}', '')"))
    with pytest.raises(LedgerError, match=f"does not lead to entry {later} of 'others'"):
        people.settle(number)
    edited(people.path, "REINDEX")
    people.settle(number)
    people.verify()
    assert people.remaining("others") == 0.25


# -- what is not a file --------------------------------------------------------------------------


def pipe(place: Path) -> None:
    os.mkfifo(place)


def folder(place: Path) -> None:
    place.mkdir()


def link(place: Path) -> None:
    place.with_name("mine").write_text("my own")
    place.symlink_to(place.with_name("mine"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("made", [pipe, folder, link])
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal", "-head"])
def test_only_files_are_opened(people: Ledger, end: str, made: Callable[[Path], None]) -> None:
    if (end, made) == ("", link):
        pytest.skip("a link to a ledger is that ledger")
    place = Path(f"{people.path}{end}")
    place.unlink(missing_ok=True)
    made(place)
    for attempt in (
        people.verify,
        lambda: people.reserve("others", pure_event(0.5)),
        lambda: people.open("more", PureDP(1.0)),
    ):
        told = in_a_child(lambda attempt=attempt: repr(attempt()))
        assert told.startswith(f"LedgerError: budget.db{end} is a link, a pipe")


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(LedgerError, match="cannot be reached"):
        Ledger(f"sqlite:///{tmp_path}/{name}").open("people", PureDP(1.0))


# -- what a stranger's file would have us run ----------------------------------------------------

COLUMNS = "sequence, dataset, kind, key, body, totals, time, previous, hash, part, ledger, nonce"
SCHEMAS = {
    "a view": f"ALTER TABLE entries RENAME TO others; "
    f"CREATE VIEW entries AS SELECT {COLUMNS} FROM others",
    "a trigger": "CREATE TRIGGER low AFTER INSERT ON entries "
    "BEGIN UPDATE entries SET totals = replace(totals, '0.25', '0.1'); END",
    "a trigger with a name of SQLite's": "CREATE TRIGGER low AFTER INSERT ON entries "
    "BEGIN DELETE FROM entries; END; UPDATE sqlite_master SET name = 'sqlite_stat1', sql = "
    "replace(sql, 'low', 'sqlite_stat1') WHERE name = 'low'",
    "a condition": "UPDATE sqlite_master SET sql = replace(sql, 'UNIQUE', "
    "'CHECK (length(hex(zeroblob(9))) > 1), UNIQUE') WHERE name = 'entries'",
    "a column that is computed": "UPDATE sqlite_master SET sql = replace(sql, 'nonce TEXT', "
    "'nonce TEXT AS (hash)') WHERE name = 'entries'",
    "another order": "UPDATE sqlite_master SET sql = replace(sql, 'dataset TEXT', "
    "'dataset TEXT COLLATE NOCASE') WHERE name = 'entries'",
    "an index less": "DROP INDEX entries_by_dataset",
    "two indices in one tree": "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM "
    "sqlite_master WHERE name = 'sqlite_autoindex_entries_1') WHERE name = 'entries_by_dataset'",
    "an index of another table": "UPDATE sqlite_master SET tbl_name = 'Entries' WHERE "
    "name = 'entries_by_dataset'",
    "a text that is none": "UPDATE sqlite_master SET sql = CAST(sql AS BLOB) WHERE "
    "name = 'entries_by_dataset'",
    "pages that move": "PRAGMA auto_vacuum = 1; VACUUM",
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_nothing_in_a_strangers_schema_is_run(people: Ledger, schema: str) -> None:
    edited(people.path, SCHEMAS[schema])
    for attempt in (
        people.verify,
        lambda: people.remaining("others"),
        lambda: people.reserve("others", pure_event(0.25)),
        people.migrate,
        people.adopt,
    ):
        with pytest.raises(LedgerError, match=r"is not a ledger|malformed"):
            attempt()


def test_statistics_of_sqlite_may_be_there(people: Ledger) -> None:
    edited(people.path, "ANALYZE")
    people.reserve("others", pure_event(0.25))
    people.verify()


def test_a_text_as_large_as_memory_is_not_read(people: Ledger) -> None:
    edited(
        people.path,
        f"INSERT INTO entries ({COLUMNS}) SELECT 11, dataset, kind, NULL, CAST(zeroblob(20000000) "
        "AS TEXT), totals, time, hash, 'h', part, ledger, 'n' FROM entries WHERE sequence = 10",
    )
    for attempt in (people.verify, lambda: people.remaining("others"), lambda: [*people.export()]):
        with pytest.raises(LedgerError, match="too big"):
            attempt()


# -- a folder in which somebody else may write ---------------------------------------------------


def test_a_link_in_the_place_of_a_file_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, made = tmp_path / "victim", tempfile.mkstemp
    victim.write_text("my own")

    def exchanged(**where: Any) -> tuple[int, str]:
        handle, name = made(**where)
        os.unlink(name)
        os.symlink(victim, name)
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", exchanged)
    before = victim.stat()
    write_whole(tmp_path / "out", "another's", mode=0o666)
    assert (victim.read_text(), victim.stat().st_mode) == ("my own", before.st_mode)


@needs_root
def test_a_link_in_the_place_of_new_heads_is_not_given_away(
    people: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(people.path, 1001, 2000)
    heads, newest = Path(f"{people.path}-head"), people.entries()[-1]
    victim = people.path.with_name("victim")
    victim.write_text("my own")
    start = Heads.start

    def exchanged(self: Heads, *arguments: Any, **options: Any) -> None:
        start(self, *arguments, **options)
        heads.unlink()
        heads.symlink_to(victim)

    monkeypatch.setattr(Heads, "start", exchanged)
    Beside(people.path).begin(newest)
    assert victim.stat().st_uid == 0
    with pytest.raises(OSError, match="symbolic links"):
        Heads(heads).note(newest)
    assert victim.read_text() == "my own"
