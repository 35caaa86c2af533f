"""Ledgers of earlier releases: brought up to date on request, with every hash kept."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger.entry import GENESIS
from privet.ledger.statx import birth
from privet.ledger.store import FIRST_FORMAT, FORMAT, SECOND_FORMAT
from tests.reference import ledger_format_1, ledger_format_2
from tests.strategies import pure_event

WRITTEN = Path(ledger_format_1.__file__).with_name("ledger-format-1.db")


@pytest.fixture
def old(tmp_path: Path) -> Ledger:
    """A copy of the file that the first release wrote."""
    shutil.copy(WRITTEN, tmp_path / "budget.db")
    return Ledger(f"sqlite:///{tmp_path}/budget.db")


def hashes(path: Path) -> list[tuple[int, str, str]]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT sequence, previous, hash FROM entries").fetchall()
    connection.close()
    return found


def test_the_kept_file_is_what_its_script_writes(tmp_path: Path) -> None:
    ledger_format_1.write(tmp_path / "again.db")
    assert hashes(tmp_path / "again.db") == hashes(WRITTEN)


def test_an_old_ledger_is_not_charged_and_names_the_way(old: Ledger) -> None:
    before = old.path.read_bytes()
    for attempt in (
        lambda: old.reserve("patients", pure_event(0.1)),
        lambda: old.open("others", PureDP(1.0)),
        lambda: old.remaining("patients"),
        old.verify,
    ):
        with pytest.raises(LedgerError, match="privet ledger migrate"):
            attempt()
    assert old.path.read_bytes() == before


def test_migration_keeps_the_chain_and_the_amounts(old: Ledger) -> None:
    kept = hashes(old.path)
    assert old.migrate() == FIRST_FORMAT
    assert hashes(old.path)[:-1] == kept
    noted = old.entries()[-1]
    assert (noted.kind, noted.body) == ("migrate", {"from": FIRST_FORMAT, "to": FORMAT})
    assert old.entries()[0].previous == GENESIS
    for _, _, head in kept:
        old.verify(head)
    assert old.datasets() == ["patients", "visits"]
    assert old.remaining("patients") == 0.5
    assert [entry.sequence for entry in old.orphans("patients")] == [5]
    old.settle(5)
    assert old.settle(old.reserve("patients", pure_event(0.5))).sequence == 11
    assert old.remaining("patients") == 0.0
    assert old.reserve("visits", pure_event(0.1), key="job 1")
    old.verify()


def test_migrating_twice_changes_nothing(old: Ledger) -> None:
    old.migrate()
    head = old.head()
    assert old.migrate() == FORMAT
    assert old.head() == head


def test_a_ledger_of_today_needs_none(ledger: Ledger) -> None:
    ledger.open("people", PureDP(1.0))
    head = ledger.head()
    assert ledger.migrate() == FORMAT
    assert ledger.head() == head


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE entries SET totals = replace(totals, '250000000', '1') WHERE sequence = 2",
        "UPDATE entries SET body = '{\"reservation\": ' WHERE sequence = 3",
        "DELETE FROM entries WHERE sequence = 3",
    ],
)
def test_a_changed_ledger_is_not_migrated(old: Ledger, edit: str) -> None:
    connection = sqlite3.connect(old.path, isolation_level=None)
    connection.execute(edit)
    connection.close()
    before = hashes(old.path)
    with pytest.raises(LedgerError, match=r"Entry [23] of the ledger"):
        old.migrate()
    assert hashes(old.path) == before
    with pytest.raises(LedgerError, match="privet ledger migrate"):  # still the old format
        old.verify()


def test_a_migration_that_is_interrupted_did_not_happen(
    old: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privet.ledger import ledger

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "verify_entries", killed)
        with pytest.raises(KeyboardInterrupt):
            old.migrate()
    with pytest.raises(LedgerError, match="privet ledger migrate"):
        old.verify()
    assert old.migrate() == FIRST_FORMAT
    old.verify()


def test_the_first_release_cannot_charge_a_ledger_of_today(sqlite_url: str) -> None:
    """It knows neither parts nor persons; its way of inserting no longer fits the table."""
    ledger = Ledger(sqlite_url)
    ledger.open("people", PureDP(1.0))
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.OperationalError, match="columns"):
        connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * 9)})", [None] * 9)
    connection.close()


# -- the second format: neither identity nor nonces ------------------------------------------------


@pytest.fixture
def second(url: str) -> Ledger:
    """A ledger as it was written before identities."""
    if url.startswith("sqlite"):
        ledger_format_2.write(Path(url.removeprefix("sqlite:///")))
    else:
        ledger_format_2.write_to_server(url)
    return Ledger(url)


def test_a_ledger_without_identity_is_read_and_verified(second: Ledger) -> None:
    second.verify()
    assert second.remaining("patients") == 0.75
    assert [entry.ledger for entry in second.entries()] == [None] * 3
    second.verify(second.receipt(2))
    with pytest.raises(LedgerError, match="privet ledger migrate"):
        second.reserve("patients", pure_event(0.25))
    assert len(second.entries()) == 3


def test_migration_gives_an_identity(second: Ledger) -> None:
    kept = [entry.hash for entry in second.entries()]
    assert second.migrate() == SECOND_FORMAT
    assert second.migrate() == FORMAT
    second.settle(second.reserve("patients", pure_event(0.25)))
    entries = second.entries()
    assert [entry.hash for entry in entries[:3]] == kept
    assert [entry.kind for entry in entries] == ["open", "reserve", "settle", "migrate", *KINDS]
    assert {entry.ledger for entry in entries[3:]} == {entries[3].ledger}
    assert entries[3].ledger
    for head in kept:
        second.verify(head)
    assert second.remaining("patients") == 0.5


KINDS = ["reserve", "settle"]


def test_a_ledger_that_was_put_back_is_not_brought_up_to_date_again(old: Ledger) -> None:
    """Else what was charged since the first time would be given back."""
    before = old.path.read_bytes()
    old.migrate()
    old.reserve("patients", pure_event(0.5))
    heads = Path(f"{old.path}-head")
    told = birth(old.path) is not None  # some file systems do not say which file it is
    for forgotten in (False, True)[: 1 + told]:  # in the same file; its heads are gone, too
        old.path.write_bytes(before)
        if forgotten:
            heads.unlink()
        with pytest.raises(LedgerError, match=r"rolled back.*copy the file"):
            old.migrate()
        assert old.path.read_bytes() == before
    shutil.copy(old.path, old.path.with_name("copy.db"))
    assert Ledger(f"sqlite:///{old.path.with_name('copy.db')}").migrate() == FIRST_FORMAT
