"""Reading a long ledger: a page at a time, and only what is new since it was verified."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privet import ApproxDP, Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger import entries as reading
from privet.ledger import guarded_sqlite
from privet.ledger.account import Terms
from privet.ledger.checkpoint import checkpoint_from_text
from privet.ledger.entry import COLUMNS, Entry, follow, totals_text
from privet.ledger.guarded_sqlite import GuardedConnection
from privet.ledger.stores import store_at
from tests.cli.people import refused, run
from tests.strategies import gaussian_event, pure_event

Tamper = Callable[[str], None]


@pytest.fixture
def long(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Two accounts, 17 entries, read by threes; entry 6 and the last reservation are open."""
    monkeypatch.setattr(reading, "PAGE", 3)
    ledger.open("people", PureDP(1.0))
    ledger.open("others", ApproxDP(1.0, 1e-6), parts={"a": (0, 500), "b": (500, 900)})
    for _ in range(3):
        ledger.settle(ledger.reserve("people", pure_event(0.0625)))
        ledger.reserve("others", gaussian_event(0.001), part="a")
        ledger.settle(ledger.reserve("people", pure_event(0.0625)))
    return ledger


@pytest.fixture
def edit(long: Ledger, tamper: Tamper) -> Callable[..., None]:
    """Edit an entry in place and give it the hash of its own."""

    def edited(number: int, **changed: Any) -> None:
        found = long.entries()[number - 1]._replace(**changed)
        values = dict(zip(COLUMNS, found._replace(hash=found.digest()), strict=True))
        names = [*(name.removesuffix("_text") for name in changed), "hash"]
        edits = ", ".join(f"{name} = '{values[name]}'" for name in names)
        edits = edits.replace("{", "{{").replace("}", "}}")  # only the table's name is filled in
        tamper(f"UPDATE {{table}} SET {edits} WHERE sequence = {number}")

    return edited


def test_pages_are_the_whole(long: Ledger) -> None:
    whole = long.entries()
    with store_at(long.url).reading() as seen:
        assert list(seen.pages()) == whole
        assert list(seen.pages(after=5)) == whole[5:]
        assert list(seen.pages("others")) == long.entries("others")
    assert [json.loads(line)["sequence"] for line in long.export()] == list(range(1, 18))
    assert long.datasets() == ["people", "others"]
    settled = {e.body["reservation"] for e in whole if e.kind == "settle"}
    for name in ("people", "others"):
        charges = [e for e in whole if e.kind == "reserve" and e.dataset == name]
        expected = [(e, e.sequence in settled) for e in charges]
        assert list(long.releases(name)) == expected
        for last in (0, 1, 2, 99):
            assert list(long.releases(name, last)) == expected[::-1][:last][::-1]
        assert long.orphans(name) == [e for e, done in expected if not done]
    with pytest.raises(LedgerError, match="not open"):
        list(long.releases("nobody"))


def test_only_what_is_new_is_read(long: Ledger, tamper: Tamper) -> None:
    since = long.verify()
    assert (since.sequence, since.head) == (17, long.head())
    assert long.verify(since=since) == since
    number = long.reserve("people", pure_event(0.0625))
    long.settle(long.orphans("others")[0].sequence)
    long.settle(number)
    # nothing is built on entry 3: it is read again by a full verify alone, and that is told
    tamper("UPDATE {table} SET time = 'x' WHERE sequence = 3")
    after = long.verify(since=since)
    assert after.sequence == 20
    assert long.verify(since=after) == after
    with pytest.raises(LedgerError, match=r"Entry 3 .* was changed"):
        long.verify()


def test_a_checkpoint_is_kept_as_text(long: Ledger) -> None:
    since = long.verify()
    assert checkpoint_from_text(since.to_text()) == since
    whole = json.loads(since.to_text())
    for damaged in ("", "[]", "{}", "nonsense", "[" * 5000):
        with pytest.raises(LedgerError, match="checkpoint is damaged"):
            checkpoint_from_text(damaged)
    for name in whole:
        with pytest.raises(LedgerError, match="checkpoint is damaged"):
            checkpoint_from_text(json.dumps({k: v for k, v in whole.items() if k != name}))


# -- what is found although little is read ------------------------------------------------------


def test_a_ledger_that_was_cut_off(long: Ledger, tamper: Tamper) -> None:
    since = long.verify()
    tamper("DELETE FROM {table} WHERE sequence > 16")
    with pytest.raises(LedgerError, match="entry 17 is not the one that was verified"):
        long.verify(since=since)
    long.adopt()  # another entry 17
    with pytest.raises(LedgerError, match="entry 17 is not the one that was verified"):
        long.verify(since=since)


def test_a_raised_cap(long: Ledger, edit: Callable[..., None]) -> None:
    since = long.verify()
    edit(1, body_text='{"epsilon":9.0,"kind":"pure"}')
    assert long.remaining("people") > 8.0  # a charge would believe it
    with pytest.raises(LedgerError, match=r"Entry 1 .* after it was verified"):
        long.verify(since=since)


def test_a_lowered_total(long: Ledger, edit: Callable[..., None]) -> None:
    since = long.verify()
    last = long.entries("others")[-1].sequence
    edit(last, totals_text=long.entries("others")[0].totals_text)
    with pytest.raises(LedgerError, match=rf"Entry {last} .* after it was verified"):
        long.verify(since=since)


def test_a_new_entry_that_does_not_add_up(long: Ledger) -> None:
    since = long.verify()
    newest = long.entries()[-1]
    made = follow(
        newest,
        "people",
        "reserve",
        key=None,
        part=None,
        body=pure_event(0.25).canonical(),
        totals=newest.totals_text,
    )
    write(long, made)
    for checkpoint in (since, None):
        with pytest.raises(LedgerError, match=r"Entry 18 .* does not add up"):
            long.verify(since=checkpoint)


def test_a_reservation_that_was_settled_before_the_checkpoint(long: Ledger) -> None:
    since = long.verify()
    newest = long.entries()[-1]
    made = follow(
        newest,
        "people",
        "settle",
        key="3 again",
        part=None,
        body='{"reservation":3}',
        totals=newest.totals_text,
    )
    write(long, made)
    with pytest.raises(LedgerError, match=r"Entry 18 .* settles what is not reserved"):
        long.verify(since=since)


def write(ledger: Ledger, entry: Entry) -> None:
    """As somebody with a database client and the rights of the owner."""
    with store_at(ledger.url).writing() as seen:
        seen._transaction.insert(entry)


def test_what_was_kept_from_before_and_after_the_checkpoint(long: Ledger) -> None:
    since = long.verify()
    long.settle(long.reserve("people", pure_event(0.0625)))
    for entry in long.entries():
        long.verify(entry.hash, since=since)
        long.verify(entry.receipt, since=since)
        wrong = replace(entry.receipt, head="0" * 64)
        with pytest.raises(LedgerError, match="rolled back"):
            long.verify(wrong, since=since)
    for missing in ("0" * 64, replace(entry.receipt, sequence=99)):
        with pytest.raises(LedgerError, match="rolled back"):
            long.verify(missing, since=since)


def test_an_entry_that_was_put_in_to_please_a_receipt(
    long: Ledger, edit: Callable[..., None]
) -> None:
    """The receipt is of a branch that was rolled back before the checkpoint."""
    since = long.verify()
    edit(4, time="2020-01-01T00:00:00+00:00")
    receipt = long.entries()[3].receipt
    with pytest.raises(LedgerError, match=r"Entry 5 .* was changed"):
        long.verify(receipt, since=since)


def test_a_charge_that_nobody_can_price_is_named_and_can_be_excused(long: Ledger) -> None:
    """What somebody with an analyst's role may write past Privet's code."""
    newest = long.entries()[-1]
    totals = long.entries("people")[-1].totals

    def grown(by: int) -> str:
        column = [None if t is None else t + by for t in totals[0]]
        return totals_text((tuple(column),))

    def entry(by: int) -> Entry:
        body = '{"anything":1}'
        return follow(newest, "people", "reserve", key=None, part=None, body=body, totals=grown(by))

    write(long, entry(10**28))
    with pytest.raises(LedgerError, match=r"Entry 18 .* cannot be understood"):
        long.verify()
    with pytest.raises(LedgerError, match=r"Entry 18 .* cannot be understood"):
        long.verify(excused=[17])
    since = long.verify(excused=[18])
    long.settle(long.reserve("people", pure_event(0.0625)))
    assert long.verify(since=since) == long.verify(excused=[18])  # it is said once


# -- costs: no query reads all entries ----------------------------------------------------------


def steps(url: str, pairs: int) -> dict[str, int]:
    """Instructions of SQLite's machine for each operation on a ledger of so many releases."""
    ledger, terms, made = Ledger(url), Terms(PureDP(1000.0)), pure_event(1e-4)
    ledger.open("people", terms.cap)
    totals = terms.nothing()
    with store_at(url).writing() as seen:
        newest = seen.newest()
        for _ in range(pairs):
            totals = terms.charged(totals, made, None)
            text, body = totals_text(totals), made.canonical()
            newest = seen.append(newest, "people", "reserve", body=body, totals=text)
            key, body = str(newest.sequence), f'{{"reservation":{newest.sequence}}}'
            newest = seen.append(newest, "people", "settle", key=key, body=body, totals=text)
    since, counted = ledger.verify(), [0]

    def count(connection: GuardedConnection) -> bool:
        counted[0] += 1
        return False

    found = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(guarded_sqlite, "_EACH", 1)
        patched.setattr(GuardedConnection, "_is_too_long", count)
        for name, operation in {
            "charge": lambda: ledger.settle(ledger.reserve("people", made, key="job")),
            "remaining": lambda: ledger.remaining("people"),
            "releases": lambda: list(ledger.releases("people", 20)),
            "verify": lambda: ledger.verify(since=since),
        }.items():
            counted[0] = 0
            operation()
            found[name] = counted[0]
    return found


def test_nothing_that_is_done_often_grows_with_the_ledger(tmp_path: Path) -> None:
    few = steps(f"sqlite:///{tmp_path}/few.db", 50)
    many = steps(f"sqlite:///{tmp_path}/many.db", 1000)
    assert all(many[name] < 2 * few[name] for name in few), (few, many)


# -- the command line ---------------------------------------------------------------------------


def test_the_command_reads_what_is_new(tmp_path: Path) -> None:
    place, kept = tmp_path / "b.db", tmp_path / "seen.json"
    ledger = Ledger(f"sqlite:///{place}")
    ledger.open("people", PureDP(1.0))
    for _ in range(3):
        ledger.settle(ledger.reserve("people", pure_event(0.125)))
    verify = ("ledger", "verify", place, "--checkpoint", kept, "--json")
    assert json.loads(run(*verify).stdout)["verified_before"] == 0
    assert kept.stat().st_mode & 0o777 == 0o600
    ledger.reserve("people", pure_event(0.125))
    told = json.loads(run(*verify).stdout)
    assert (told["entries"], told["verified_before"]) == (8, 7)
    assert json.loads(run(*verify, "--full").stdout)["verified_before"] == 0
    assert "8 of them by the checkpoint" in " ".join(run(*verify[:-1]).stdout.split())
    kept.write_text(kept.read_text()[:99])
    refused(run(*verify), "--full")
    assert run(*verify, "--full").exit_code == 0


def test_a_checkpoint_takes_no_other_files_place(tmp_path: Path) -> None:
    place = tmp_path / "b.db"
    ledger = Ledger(f"sqlite:///{place}")
    ledger.open("people", PureDP(1.0))
    for name, content in (
        ("m.privet", b"PRIVET\x01\nweights"),
        ("e.json", b'{\n  "sha256": "0"}'),
        ("b.db", place.read_bytes()),
        ("curator.key", b"-----BEGIN PRIVATE KEY-----"),
    ):
        (tmp_path / name).write_bytes(content)
        for more in ((), ("--full",)):
            told = run("ledger", "verify", place, "--checkpoint", tmp_path / name, *more)
            refused(told, "not a checkpoint")
        assert (tmp_path / name).read_bytes() == content


def test_the_newest_releases_are_shown(tmp_path: Path) -> None:
    place = tmp_path / "b.db"
    ledger = Ledger(f"sqlite:///{place}")
    ledger.open("people", PureDP(1.0))
    for _ in range(5):
        ledger.settle(ledger.reserve("people", pure_event(0.125)))

    def numbers(*options: Any) -> tuple[list[int], bool]:
        account = json.loads(run("ledger", "show", place, *options, "--json").stdout)["accounts"][0]
        return [release["number"] for release in account["releases"]], account["earlier_releases"]

    assert numbers() == ([2, 4, 6, 8, 10], False)
    assert numbers("people", "--last", 2) == ([8, 10], True)
    assert numbers("--last", 5) == ([2, 4, 6, 8, 10], False)
    assert numbers("--last", 1, "--all") == ([2, 4, 6, 8, 10], False)
    shown = run("ledger", "show", place, "--last", 2).stdout
    assert "The last 2 releases; --all" in shown
    assert "0.375" in shown
    refused(run("ledger", "show", place, "nobody"), "not open")
