"""Ledgers that somebody made to delete files, to have two faces, or to be read for ever."""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, LogisticRegression, PureDP
from privet.errors import LedgerError
from privet.ledger.entry import COLUMNS, Entry
from privet.ledger.guarded_sqlite import GuardedConnection
from privet.models.digest import model_digest
from tests.cli.people import refused, run
from tests.ledger.test_binding import table
from tests.strategies import pure_event

PAGE = 4096
NAMES = ", ".join(COLUMNS)


@pytest.fixture
def paid(tmp_path: Path) -> Ledger:
    """An account of which three quarters are spent."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("people", PureDP(1.0))
    for _ in range(3):
        ledger.settle(ledger.reserve("people", pure_event(0.25)))
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return ledger


# -- a journal that names another file -------------------------------------------------------------


def journal_that_names(ledger: Path, victim: Path) -> bytes:
    """A rollback journal as a transaction over several databases leaves it."""
    magic, seed = bytes.fromhex("d9d505f920a163d7"), 12345
    raw, number = ledger.read_bytes(), 2
    page = raw[PAGE : 2 * PAGE]
    head = magic + struct.pack(">5I", 1, seed, len(raw) // PAGE, 512, PAGE)
    check = (seed + sum(page[i] for i in range(PAGE - 200, 0, -200))) & 0xFFFFFFFF
    name = os.fsencode(victim)
    ending = struct.pack(">I", 0x40000000 // PAGE + 1) + name
    ending += struct.pack(">2I", len(name), sum(name)) + magic
    body = struct.pack(">I", number) + page + struct.pack(">I", check)
    return head.ljust(512, b"\0") + body + ending


@pytest.mark.parametrize("look", ["verify", "remaining", "show", "reserve"])
def test_to_look_at_a_ledger_deletes_no_file(paid: Ledger, tmp_path: Path, look: str) -> None:
    victim = tmp_path / "model.privet"
    victim.write_text("paid for")
    journal = Path(f"{paid.path}-journal")
    journal.write_bytes(journal_that_names(paid.path, victim))
    attempts: dict[str, Callable[[], Any]] = {
        "verify": paid.verify,
        "remaining": lambda: paid.remaining("people"),
        "show": paid.datasets,
        "reserve": lambda: paid.reserve("people", pure_event(0.25)),
    }
    with pytest.raises(LedgerError, match="names another file"):
        attempts[look]()
    assert victim.read_text() == "paid for"


def test_a_journal_of_one_file_is_played_back(paid: Ledger, tmp_path: Path) -> None:
    """What a program leaves that was killed while it wrote the ledger in another mode."""
    journal = Path(f"{paid.path}-journal")
    whole = journal_that_names(paid.path, tmp_path / "nobody")
    journal.write_bytes(whole[: 512 + 8 + PAGE])
    paid.verify()


# -- a ledger with two faces -----------------------------------------------------------------------


def two_faces(honest: Ledger, to: Path) -> Ledger:
    """Read in order it holds the opening alone; asked for a number it has what was there before."""
    connection = sqlite3.connect(honest.path)
    rows = connection.execute(f"SELECT {NAMES} FROM entries ORDER BY sequence").fetchall()
    connection.close()
    made = sqlite3.connect(to, isolation_level=None)
    made.execute(
        "CREATE TABLE entries (sequence INTEGER NOT NULL UNIQUE, dataset TEXT NOT NULL, "
        "kind TEXT NOT NULL, key TEXT, body TEXT NOT NULL, totals TEXT NOT NULL, "
        "time TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, part TEXT, ledger TEXT, "
        "nonce TEXT, UNIQUE (dataset, kind, key))"
    )
    first, *others = COLUMNS
    made.execute(f"CREATE INDEX entries_by_dataset ON entries ({', '.join((first, *others))})")
    made.execute(f"PRAGMA application_id = {int.from_bytes(b'priv', 'big')}")
    made.execute("PRAGMA user_version = 3")
    insert = f"INSERT INTO entries ({NAMES}) VALUES ({', '.join('?' * len(COLUMNS))})"
    made.execute(insert, rows[0])
    made.execute("PRAGMA writable_schema = ON")
    index = made.execute("SELECT * FROM sqlite_master WHERE name = 'entries_by_dataset'").fetchone()
    made.execute("DELETE FROM sqlite_master WHERE name = 'entries_by_dataset'")
    made.close()
    made = sqlite3.connect(to, isolation_level=None)  # which does not know of the index
    made.executemany(insert, rows[1:])
    made.execute("PRAGMA writable_schema = ON")
    made.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", index)
    made.close()
    return Ledger(f"sqlite:///{to}")


def test_a_ledger_has_one_face(paid: Ledger, tmp_path: Path) -> None:
    witness = [paid.witness_line()]
    other = two_faces(paid, tmp_path / "other.db")
    seen = sqlite3.connect(other.path)
    ordered = f"SELECT {NAMES} FROM entries WHERE sequence > 0 ORDER BY sequence LIMIT 500"
    assert len(seen.execute(ordered).fetchall()) == 1
    assert len(seen.execute(f"SELECT {NAMES} FROM entries WHERE sequence = 7").fetchall()) == 1
    seen.close()
    for attempt in (
        other.verify,
        lambda: other.verify_witness(witness),
        lambda: other.remaining("people"),
        other.adopt,
    ):
        with pytest.raises(LedgerError, match="is not a ledger"):
            attempt()


def test_an_index_hides_no_release(paid: Ledger) -> None:
    """What is shown of an account is found by an index, which is under no hash."""
    made = sqlite3.connect(paid.path, isolation_level=None)
    rows = made.execute(f"SELECT {NAMES} FROM entries WHERE sequence > 5").fetchall()
    made.execute("DELETE FROM entries WHERE sequence > 5")
    made.execute("PRAGMA writable_schema = ON")
    index = made.execute("SELECT * FROM sqlite_master WHERE name = 'entries_by_dataset'").fetchone()
    made.execute("DELETE FROM sqlite_master WHERE name = 'entries_by_dataset'")
    made.close()
    made = sqlite3.connect(paid.path, isolation_level=None)  # which does not know of the index
    insert = f"INSERT INTO entries ({NAMES}) VALUES ({', '.join('?' * len(COLUMNS))})"
    made.executemany(insert, rows)
    made.execute("PRAGMA writable_schema = ON")
    made.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", index)
    made.close()
    assert len(list(paid.releases("people"))) == 2
    with pytest.raises(LedgerError, match="missing from index"):
        paid.verify()


def test_an_entry_is_asked_for_its_own_hash(paid: Ledger) -> None:
    """The witness compares what an entry is, not the hash that stands beside it."""
    witness = [paid.witness_line()]
    assert paid.verify_witness(witness) == 1
    edited(paid.path, "UPDATE entries SET body = '{}' WHERE sequence = 7")
    with pytest.raises(LedgerError, match="another entry 7"):
        paid.verify_witness(witness)


def test_a_release_is_on_the_chain_with_its_charge(tmp_path: Path) -> None:
    """Also where nobody has verified the ledger: the hash on the receipt is of both entries."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("people", PureDP(8.0))
    made = LogisticRegression(4.0, ledger=ledger, dataset="people").fit(*table())
    digest = model_digest(made)
    assert all(each.holds for each in ledger.findings(made.guarantee_, digest))
    kept = ledger.path.read_bytes()
    reserve, settle = ledger.entries()[1:]
    lowered = reserve._replace(body_text=reserve.body_text.replace("4.0", "1.0"))
    other = settle._replace(body_text=settle.body_text.replace(digest, "0" * 64))
    for entry in (lowered, other):
        hashed = entry._replace(hash=Entry(*entry).digest())
        for forged in (entry, hashed):
            ledger.path.write_bytes(kept)
            edited(
                ledger.path,
                "UPDATE entries SET body = ?, hash = ? WHERE sequence = ?",
                (forged.body_text, forged.hash, forged.sequence),
            )
            try:
                found = ledger.findings(made.guarantee_, "0" * 64 if entry is other else digest)
            except LedgerError:
                continue
            assert False in [each.holds for each in found]


def edited(path: Path, statement: str, values: tuple[Any, ...] = ()) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


# -- ledgers that are read for ever ----------------------------------------------------------------


def many_ways(path: Path, root: int, leaf: bytes) -> None:
    """A tree of five levels in which every page leads to the next one five hundred times."""
    raw = bytearray(path.read_bytes())
    raw += leaf
    for level in range(4):
        child = len(raw) // PAGE
        page = bytearray(_inner(child, 100 if root == 1 and level == 3 else 0))
        if level < 3:
            raw += page
        elif root == 1:
            raw[100:PAGE] = page[100:]
        else:
            raw[(root - 1) * PAGE : root * PAGE] = page
    struct.pack_into(">I", raw, 28, len(raw) // PAGE)
    path.write_bytes(raw)


def _inner(child: int, start: int) -> bytes:
    page, count = bytearray(PAGE), 500
    first = PAGE - 5 * count
    struct.pack_into(">BHHHBI", page, start, 5, 0, count, first, 0, child)
    for i in range(count):
        struct.pack_into(">IB", page, first + 5 * i, child, i % 100)
        struct.pack_into(">H", page, start + 12 + 2 * i, first + 5 * i)
    return bytes(page)


def _root(path: Path) -> tuple[int, bytes]:
    connection = sqlite3.connect(path)
    query = "SELECT rootpage FROM sqlite_master WHERE name = 'entries'"
    number = int(connection.execute(query).fetchone()[0])
    connection.close()
    return number, path.read_bytes()[(number - 1) * PAGE : number * PAGE]


def test_a_small_file_with_endless_rows_is_refused(paid: Ledger) -> None:
    many_ways(paid.path, *_root(paid.path))
    assert paid.path.stat().st_size < 60_000
    for attempt in (
        paid.datasets,
        paid.entries,
        lambda: list(paid.export()),
        paid.verify,
    ):
        with pytest.raises(LedgerError, match=r"damaged|not in order"):
            attempt()


def test_a_schema_with_endless_rows_is_refused(paid: Ledger) -> None:
    """Before anybody can look at a schema SQLite has read it."""
    page = paid.path.read_bytes()[:PAGE]
    cells = struct.unpack_from(">H", page, 103)[0]
    moved = page[100 : 108 + 2 * cells].ljust(100, b"\0") + page[100:]  # its pointers as they were
    many_ways(paid.path, 1, moved)
    with pytest.raises(LedgerError, match=r"damaged|malformed"):
        paid.remaining("people")


@pytest.mark.parametrize(
    "expression",
    ["hex(zeroblob(400000000))", "replace(hex(zeroblob(30000)), '0', 'ab') LIKE '%a%c'"],
)
def test_statistics_are_no_programs(paid: Ledger, expression: str) -> None:
    """Tables of statistics are read with the schema, by the expressions that they declare."""
    edited(paid.path, "ANALYZE")
    made = sqlite3.connect(paid.path, isolation_level=None)
    made.execute("PRAGMA writable_schema = ON")
    made.execute(
        "UPDATE sqlite_master SET sql = ? WHERE name = 'sqlite_stat1'",
        (f"CREATE TABLE sqlite_stat1(tbl,idx,stat AS ({expression}))",),
    )
    made.close()
    with pytest.raises(LedgerError, match="is not a ledger"):
        paid.verify()


def test_an_honest_ledger_stays_far_below_the_limits(
    paid: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is allowed grows with the file: here it needs a hundredth of what it is allowed."""
    left: list[float] = []
    close = GuardedConnection.close

    def closed(self: GuardedConnection) -> None:
        left.append(self._left / (20_000_000 + self._size))
        close(self)

    for _ in range(20):
        paid.settle(paid.reserve("people", pure_event(0.01)))
    monkeypatch.setattr(GuardedConnection, "close", closed)
    paid.verify()
    list(paid.releases("people"))
    list(paid.export())
    assert min(left) > 0.99


# -- beside a ledger -------------------------------------------------------------------------------


def test_what_waits_beside_a_ledger_may_be_anything(paid: Ledger, tmp_path: Path) -> None:
    kept = Path(f"{paid.path}.kept")
    kept.mkdir()
    os.mkfifo(kept / "a.charged")
    os.mkfifo(kept / "b.kept")
    lead = '{"format": "privet-charged-1", "out": "", "charges": '
    for name, charges in {"c": "[{}]", "d": "[7]", "e": "7", "f": '["price"]'}.items():
        (kept / f"{name}.charged").write_text(f"{lead}{charges}}}")
    for more in ((), ("--json",)):
        assert run("recover", "--ledger", paid.path, *more).exit_code == 0


@pytest.mark.parametrize("number", ['"7"', "1e400", "123456789012345678901", "7.5", "[]", "true"])
def test_a_checkpoint_has_numbers_of_entries(paid: Ledger, tmp_path: Path, number: str) -> None:
    place = tmp_path / "seen.json"
    text = paid.verify().to_text()
    place.write_text(text.replace('"sequence":7', f'"sequence":{number}'))
    refused(run("ledger", "verify", paid.path, "--checkpoint", place), "checkpoint")


def test_totals_of_another_length_are_refused(paid: Ledger) -> None:
    rows = paid.entries()
    forged = Entry(*rows[-1]._replace(totals_text='["0.5","0.1","0"]'))
    edited(
        paid.path,
        "UPDATE entries SET totals = ?, hash = ? WHERE sequence = 7",
        (forged.totals_text, forged.digest()),
    )
    refused(run("ledger", "remaining", paid.path, "people"))
