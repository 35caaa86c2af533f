"""The statement with a receipt and with a ledger: what is spent, what is left, what is wrong."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet.errors import LedgerError
from privet.privacy.guarantee import Receipt
from privet.statement import account, as_text, card, statement_facts
from privet.statement.writers import as_page
from tests.privacy.statements import KINDS, event, facts, guarantee, ledger_with_two


def test_without_a_ledger_nobody_knows_what_is_left() -> None:
    assert "no ledger was kept" in facts("pure")["summary"]["what_is_left"].text
    named = facts("pure", ledger="people")["summary"]["what_is_left"].text
    assert "'people'" in named
    assert "written without it" in named


def test_the_frozen_receipt_is_repeated() -> None:
    whole = facts("receipt")
    assert whole["composition"]["receipt"].value == Receipt("people", 3, "ab" * 32).to_json()
    assert "ab" * 32 in as_text(whole)
    assert "'people'" in whole["composition"]["scope"].text


def test_a_live_account_says_what_is_spent_and_left(tmp_path: Path) -> None:
    ledger = ledger_with_two(tmp_path)
    settled = ledger.entries("people")[2]
    receipt = Receipt("people", settled.sequence, settled.hash)
    found = guarantee(KINDS["pure"]().event, receipt=receipt)
    live = account(ledger, "people", found)
    whole = statement_facts(found, model="M", account=live)
    told = card(whole)["composition"]
    assert whole.alarms == ()
    assert told["cap"]["value"] == {"kind": "pure", "epsilon": 2.0}
    assert told["spent"]["value"] == {"epsilon": pytest.approx(0.6), "releases": 2}
    assert told["left"]["value"] == pytest.approx(1.4)
    assert "epsilon = 0.6 is spent and 1.4 is left" in whole["summary"]["what_is_left"].text
    assert told["orphans"]["value"] == [4]
    assert told["intact"]["value"] is True
    assert told["frozen_head"]["value"] is True
    assert told["recorded"]["value"] == [2]
    assert told["head"]["text"] == ledger.head()
    assert [row[-1] for row in told["spent"]["table"]["rows"]] == ["released", "never settled"]


@pytest.mark.parametrize("cap", [PureDP(3.0), ZCDP(3.0), ApproxDP(3.0, 1e-6)], ids=str)
def test_spent_and_left_are_the_cap(cap: Any, tmp_path: Path) -> None:
    ledger = Ledger("sqlite:///" + str(tmp_path / "b.db"))
    ledger.open("d", cap)
    found = KINDS["pure"]()
    ledger.reserve("d", found.event)
    live = account(ledger, "d", found)
    assert live.spent > 0
    name = "rho" if isinstance(cap, ZCDP) else "epsilon"
    assert live.spent + ledger.remaining("d") == pytest.approx(cap.facts()[name])
    if not isinstance(cap, ZCDP):
        assert live.spent == pytest.approx(0.5)


def test_another_or_rolled_back_ledger_is_shouted(tmp_path: Path) -> None:
    ledger = ledger_with_two(tmp_path)
    gone = guarantee(KINDS["pure"]().event, receipt=Receipt("people", 3, "ab" * 32))
    told = statement_facts(gone, model="M", account=account(ledger, "people", gone))
    assert any("NOT IN THE LEDGER" in alarm for alarm in told.alarms)
    assert told["composition"]["frozen_head"].value is False
    assert "Privacy officer" not in as_page(told)
    other = guarantee(event(PureDP(0.7)))
    told = statement_facts(other, model="M", account=account(ledger, "people", other))
    assert any("NOT IN THE LEDGER" in alarm for alarm in told.alarms)
    ledger.open("others", PureDP(1.0))
    told = statement_facts(gone, model="M", account=account(ledger, "others", gone))
    assert any("WRONG ACCOUNT" in alarm for alarm in told.alarms)
    with pytest.raises(LedgerError, match="not open"):
        account(ledger, "nobody", gone)


def test_a_ledger_that_does_not_verify_is_shouted(tmp_path: Path) -> None:
    ledger = ledger_with_two(tmp_path)
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute("UPDATE entries SET time = 'yesterday' WHERE sequence = 2")
    connection.close()
    found = KINDS["pure"]()
    told = statement_facts(found, model="M", account=account(ledger, "people", found))
    assert "DOES NOT VERIFY" in told.alarms[0]
    assert "Entry 2" in told.alarms[0]
    assert "see the alarm" in told["summary"]["what_is_left"].text
    assert told["composition"]["intact"].value is False


def test_parts_and_persons_of_an_account(tmp_path: Path) -> None:
    ledger = Ledger("sqlite:///" + str(tmp_path / "b.db"))
    ledger.open("d", PureDP(3.0), parts={"a": (0, 1_000), "b": (1_000, 2_000)})
    ledger.open("p", PureDP(3.0), group=3)
    found = KINDS["person"]()
    ledger.reserve("d", found.event, part="a")
    ledger.reserve("p", found.event)
    whole = statement_facts(found, model="M", account=account(ledger, "d", found))
    assert whole["composition"]["parts"].value == {"a": 2.5, "b": 3.0}
    assert "keeps its number over the account's life" in whole["composition"]["parts"].text
    assert "for one row" in whole["composition"]["ledger_unit"].text
    person = statement_facts(found, model="M", account=account(ledger, "p", found))
    assert person["composition"]["left"].value == pytest.approx(1.5)
    assert "with at most 3 rows" in person["composition"]["ledger_unit"].text


def test_many_releases_are_counted_and_the_last_are_listed(tmp_path: Path) -> None:
    ledger = Ledger("sqlite:///" + str(tmp_path / "b.db"))
    ledger.open("d", PureDP(10.0))
    found = guarantee(event(PureDP(0.1), "output"))
    for _ in range(53):
        ledger.reserve("d", found.event)
    whole = statement_facts(found, model="M", account=account(ledger, "d", found))
    table = whole["composition"]["spent"].table
    assert table is not None
    assert len(table.rows) == 50
    assert "by 53 releases" in whole["composition"]["spent"].text
    assert "5.3" in whole["summary"]["what_is_left"].text
