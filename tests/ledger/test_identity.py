"""One ledger, one identity: copies part for good, and no entry passes from one to another."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, PureDP
from privet.errors import DeclarationError, LedgerError
from privet.ledger.checkpoint import Checkpoint, verify_ledger
from privet.ledger.memory import Heads
from tests.strategies import pure_event

Tamper = Callable[[str], None]


@pytest.fixture
def people(ledger: Ledger) -> Ledger:
    """One release."""
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.25)))
    return ledger


def test_two_ledgers_made_alike_in_one_second_share_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    both = []
    for name in ("one", "two"):
        ledger = Ledger(f"sqlite:///{tmp_path}/{name}.db")
        ledger.open("people", PureDP(1.0))
        ledger.settle(ledger.reserve("people", pure_event(0.25)))
        both.append(ledger)
    one, two = ([entry.hash for entry in ledger.entries()] for ledger in both)
    assert not set(one) & set(two)
    assert len({entry.ledger for ledger in both for entry in ledger.entries()}) == 2
    nonces = [entry.nonce for ledger in both for entry in ledger.entries()]
    assert len(set(nonces)) == len(nonces) == 6


def test_a_receipt_names_one_release_though_the_clock_stands_still(
    people: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same reservation, settled in two worlds in the same second."""
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    from privet.ledger.entry import follow

    newest = people.entries()[-1]
    same = {"key": "4", "part": None, "body": '{"reservation":4}', "totals": newest.totals_text}
    one, two = (follow(newest, "people", "settle", **same) for _ in range(2))
    assert one.ledger == two.ledger == newest.ledger
    assert one.hash != two.hash


@pytest.mark.parametrize("column", ["ledger", "nonce"])
@pytest.mark.parametrize("value", ["NULL", "''", "'00000000000000000000000000000000'"])
def test_identity_and_nonce_are_in_the_hash(
    people: Ledger, tamper: Tamper, column: str, value: str
) -> None:
    tamper(f"UPDATE {{table}} SET {column} = {value} WHERE sequence = 2")
    with pytest.raises(LedgerError, match="Entry 2 of the ledger was changed"):
        people.verify()


def test_an_identity_stays_even_if_the_chain_is_hashed_anew(people: Ledger, tamper: Tamper) -> None:
    last = people.entries()[-1]
    for change in ({"ledger": "f" * 32}, {"ledger": None, "nonce": None}, {"nonce": ""}):
        made = last._replace(**change)
        told = {k: "NULL" if v is None else f"'{v}'" for k, v in made._asdict().items()}
        tamper(
            f"UPDATE {{table}} SET ledger = {told['ledger']}, nonce = {told['nonce']}, "
            f"hash = '{made.digest()}' WHERE sequence = {last.sequence}"
        )
        with pytest.raises(LedgerError, match=r"Entry 3 .* another ledger's identity"):
            people.verify()


def test_a_settlement_names_what_was_released(people: Ledger) -> None:
    digests = ["a" * 64, "b" * 64]
    number = people.reserve("people", pure_event(0.25))
    for wrong in ("a" * 64, ["a" * 63], [None], ["A" * 64]):
        with pytest.raises(DeclarationError, match="SHA-256"):
            people.settle(number, wrong)  # type: ignore[arg-type]
    people.settle(number, digests)
    assert people.entries()[-1].body == {"reservation": number, "released": digests}
    people.verify()


def test_who_verifies_while_others_charge_raises_no_alarm(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A charge is remembered that came after the look at the ledger: it was called a roll-back."""
    ledger.open("people", PureDP(1.0))
    ledger.reserve("people", pure_event(0.25))

    def overtaken(*arguments: Any) -> Checkpoint:
        seen = verify_ledger(*arguments)
        ledger.reserve("people", pure_event(0.25))
        return seen

    monkeypatch.setattr("privet.ledger.ledger.verify_ledger", overtaken)
    assert ledger.verify().sequence == 2
    assert ledger.verify().sequence == 3
    monkeypatch.undo()
    assert ledger.verify().sequence == 4


def test_a_later_look_at_another_ledger_is_no_excuse(tmp_path: Path) -> None:
    """What is remembered must follow all that was verified, not something else."""
    one, other = (Ledger(f"sqlite:///{tmp_path}/{name}.db") for name in ("one", "other"))
    one.open("people", PureDP(1.0))
    other.open("people", PureDP(1.0))
    other.reserve("people", pure_event(0.25))
    heads = Heads(tmp_path / "heads")
    heads.start("-", [other.entries()[-1]])
    for later in (one, other):
        with one._store.reading() as seen, pytest.raises(LedgerError, match="rolled back"):
            heads.check(seen, later._store.reading)
    with other._store.reading() as seen:
        heads.check(seen)
