"""A ledger on every database: charging, settling, keys, receipts, and what verify finds."""

from __future__ import annotations

import copy
import json
import pickle
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.ledger import Receipt
from privet.ledger.entry import GENESIS
from privet.privacy import Budget, Event
from privet.privacy.compose import add_costs, costs, together
from tests.strategies import admits, gaussian_event, pure_event

Tamper = Callable[[str], None]


@pytest.fixture
def people(ledger: Ledger) -> Ledger:
    """An open account of epsilon = 1."""
    ledger.open("people", PureDP(1.0))
    return ledger


def spend(ledger: Ledger, *epsilons: float) -> list[Receipt]:
    return [ledger.settle(ledger.reserve("people", pure_event(e))) for e in epsilons]


# -- charging ------------------------------------------------------------------------------------


def test_reserve_settle_and_what_is_left(people: Ledger) -> None:
    number = people.reserve("people", pure_event(0.25))
    assert people.remaining("people") == 0.75
    assert [entry.sequence for entry in people.orphans("people")] == [number]
    receipt = people.settle(number)
    assert people.remaining("people") == 0.75
    assert people.orphans("people") == []
    assert receipt == Receipt("people", number + 1, people.head())
    assert people.receipt(number) == receipt
    people.verify(receipt)


def test_18_ten_times_a_tenth_is_one(people: Ledger) -> None:
    spend(people, *[0.1] * 10)
    assert people.remaining("people") == 0.0
    with pytest.raises(BudgetExceeded, match="0 is left"):
        people.reserve("people", pure_event(1e-9))
    people.verify()


@pytest.mark.parametrize(
    ("cap", "made"),
    [
        (PureDP(1.0), pure_event(0.3)),
        (ZCDP(0.5), gaussian_event(0.1)),
        (ApproxDP(1.0, 1e-6), gaussian_event(0.002)),
    ],
    ids=["pure", "zcdp", "approx"],
)
def test_a_cap_is_a_filter(ledger: Ledger, cap: Budget, made: Event) -> None:
    ledger.open("people", cap)
    spent: list[Event] = []
    while admits(cap, spent, made):
        ledger.require("people", made)
        ledger.reserve("people", made)
        spent.append(made)
    assert len(spent) > 2
    before = ledger.entries()
    for refused in (ledger.reserve, ledger.require):
        with pytest.raises(BudgetExceeded):
            refused("people", made)
    assert ledger.entries() == before  # a refusal leaves no trace
    assert ledger.remaining("people") >= 0.0
    ledger.verify()


def test_a_composite_is_one_reservation(people: Ledger) -> None:
    whole = together([pure_event(0.25), pure_event(0.125)], PureDP(0.375), "study")
    people.settle(people.reserve("people", whole))
    assert people.remaining("people") == 0.625
    assert len(people.entries("people")) == 3
    people.verify()


def test_a_reservation_is_settled_once_and_must_exist(people: Ledger) -> None:
    number = people.reserve("people", pure_event(0.1))
    with pytest.raises(LedgerError, match="never settled"):
        people.receipt(number)
    people.settle(number)
    with pytest.raises(LedgerError, match="settled already"):
        people.settle(number)
    for wrong in (1, number + 1, 99, -1):  # an opening, a settlement, nothing
        with pytest.raises(LedgerError, match="no reservation"):
            people.settle(wrong)


def test_a_reservation_is_a_whole_number(people: Ledger) -> None:
    """2.0 and 2 are equal; a settlement of each would be one too many."""
    number = people.reserve("people", pure_event(0.1))
    for wrong in (float(number), str(number), None):
        with pytest.raises(DeclarationError, match="the number that reserve returned"):
            people.settle(wrong)  # type: ignore[arg-type]
        with pytest.raises(DeclarationError, match="the number that reserve returned"):
            people.receipt(wrong)  # type: ignore[arg-type]
    receipt = people.settle(np.int64(number))  # type: ignore[arg-type]
    assert people.receipt(number) == receipt
    people.verify(receipt)


def test_a_key_makes_a_charge_idempotent(people: Ledger) -> None:
    first = people.reserve("people", pure_event(0.4), key="job 7")
    assert people.reserve("people", pure_event(0.4), key="job 7") == first
    assert people.remaining("people") == 0.6
    with pytest.raises(LedgerError, match="another release"):
        people.reserve("people", pure_event(0.3), key="job 7")
    people.settle(first)
    with pytest.raises(LedgerError, match="made already"):
        people.reserve("people", pure_event(0.4), key="job 7")
    assert people.reserve("people", pure_event(0.4), key="job 8") != first
    people.open("others", PureDP(1.0))
    people.reserve("others", pure_event(0.4), key="job 7")  # keys belong to a data set
    people.verify()


def test_accounts_do_not_touch_each_other(people: Ledger) -> None:
    people.open("others", ZCDP(1.0))
    spend(people, 0.5)
    people.reserve("others", gaussian_event(0.25))
    assert people.remaining("people") == 0.5
    assert people.remaining("others") == 0.75
    assert people.datasets() == ["people", "others"]
    assert {entry.dataset for entry in people.entries("others")} == {"others"}
    people.verify()


def test_what_is_not_private_or_not_open_is_refused(people: Ledger) -> None:
    seeded = replace(pure_event(0.1), why_not_private="a seed")
    with pytest.raises(LedgerError, match="not private"):
        people.reserve("people", seeded)
    with pytest.raises(LedgerError, match="not open"):
        people.reserve("nobody", pure_event(0.1))
    with pytest.raises(LedgerError, match="already open"):
        people.open("people", PureDP(9.0))
    for name in ("", "a\x00b", "a\nb", "\ud800", 7):
        with pytest.raises(DeclarationError, match="printable"):
            people.open(name, PureDP(1.0))  # type: ignore[arg-type]
        with pytest.raises(DeclarationError, match="printable"):
            people.reserve("people", pure_event(0.1), key=name)  # type: ignore[arg-type]
    assert people.remaining("people") == 1.0


def test_copies_and_pickles_are_the_same_ledger(people: Ledger) -> None:
    for twin in (copy.deepcopy(people), pickle.loads(pickle.dumps(people)), Ledger(people.url)):
        assert twin == people
        twin.reserve("people", pure_event(0.1))
    assert people.remaining("people") == 0.7


def test_what_is_shown_is_the_ledger(people: Ledger) -> None:
    assert eval(repr(people)) == people


def test_names_of_any_alphabet(ledger: Ledger) -> None:
    ledger.open("données «2026» 数据", PureDP(1.0))
    ledger.reserve("données «2026» 数据", pure_event(0.5), key="clé")
    ledger.verify()


def test_replaying_the_entries_gives_the_totals(people: Ledger) -> None:
    made = [pure_event(e) for e in (0.1, 0.2, 0.05)]
    for each in made:
        people.reserve("people", each)
    totals = costs(made[0])
    for each in made[1:]:
        totals = add_costs(totals, costs(each))
    assert people.entries("people")[-1].totals == (totals,)


# -- parts and persons -----------------------------------------------------------------------------

PARTS = {"south": (0, 200), "north": (200, 400)}


def test_disjoint_parts_cost_the_maximum(ledger: Ledger) -> None:
    ledger.open("people", PureDP(1.0), parts=PARTS)
    ledger.reserve("people", pure_event(0.6), part="south")
    ledger.reserve("people", pure_event(0.7), part="north")
    assert ledger.remaining("people") == 0.3
    assert ledger.remaining("people", "south") == 0.4
    ledger.reserve("people", pure_event(0.3))  # the whole table: every part pays
    assert ledger.remaining("people", "north") == 0.0
    assert ledger.remaining("people", "south") == 0.1
    with pytest.raises(BudgetExceeded, match="part 'north'"):
        ledger.reserve("people", pure_event(0.1), part="north")
    with pytest.raises(BudgetExceeded, match="for 'people'"):
        ledger.reserve("people", pure_event(0.1))
    ledger.reserve("people", pure_event(0.1), part="south")
    ledger.verify()
    assert [entry.part for entry in ledger.entries()[1:]] == ["south", "north", None, "south"]


def test_a_part_must_be_declared_and_large_enough(ledger: Ledger) -> None:
    ledger.open("people", PureDP(1.0), parts={"few": (0, 99), "many": (99, 1000)})
    ledger.open("whole", PureDP(1.0))
    with pytest.raises(LedgerError, match="no part 'east'"):
        ledger.reserve("people", pure_event(0.1), part="east")
    with pytest.raises(LedgerError, match="has no parts"):
        ledger.reserve("whole", pure_event(0.1), part="few")
    with pytest.raises(LedgerError, match="99 rows"):
        ledger.reserve("people", pure_event(0.1), part="few")  # made from 100 rows
    ledger.reserve("people", pure_event(0.1), part="many", key="k")
    with pytest.raises(LedgerError, match="another release"):
        ledger.reserve("people", pure_event(0.1), key="k")  # the same event, another part


def test_a_cap_for_persons(ledger: Ledger) -> None:
    ledger.open("pure", PureDP(1.0), group=4)
    ledger.reserve("pure", pure_event(0.2))
    assert ledger.remaining("pure") == 0.2
    with pytest.raises(BudgetExceeded, match="4 rows"):
        ledger.reserve("pure", pure_event(0.1))
    ledger.open("zcdp", ZCDP(1.0), group=4)
    ledger.reserve("zcdp", gaussian_event(0.05))
    assert ledger.remaining("zcdp") == 0.2
    assert ledger.terms("zcdp").group == 4
    ledger.verify()


# -- what verify finds -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        "SET time = '2020-01-01T00:00:00+00:00'",
        "SET dataset = 'people '",
        "SET part = 'a'",
        "SET key = 'k'",
        "SET body = replace(body, '0.25', '0.05')",
        "SET body = replace(body, ',', ', ')",
        "SET totals = replace(totals, '0.25', '0.05')",
        "SET hash = previous",
    ],
)
def test_16_an_edited_entry_is_named(people: Ledger, tamper: Tamper, edit: str) -> None:
    spend(people, 0.25, 0.25)
    tamper(f"UPDATE {{table}} {edit} WHERE sequence = 2")
    with pytest.raises(LedgerError, match="Entry 2 of the ledger was changed"):
        people.verify()


def test_16_a_deleted_entry_is_named(people: Ledger, tamper: Tamper) -> None:
    spend(people, 0.25, 0.25)
    tamper("DELETE FROM {table} WHERE sequence = 3")
    with pytest.raises(LedgerError, match="Entry 3 of the ledger is missing"):
        people.verify()


def test_16_a_cut_tail_is_named_by_what_was_kept_elsewhere(
    people: Ledger, tamper: Tamper, elsewhere: Callable[[Ledger], None]
) -> None:
    _, kept = spend(people, 0.25, 0.25)
    tamper("DELETE FROM {table} WHERE sequence > 3")
    with pytest.raises(LedgerError, match="rolled back"):  # this machine remembers
        people.verify()
    elsewhere(people)
    people.verify()  # a shorter chain is a chain
    with pytest.raises(LedgerError, match="cut off at its end: the receipt is of entry 5"):
        people.verify(kept)
    with pytest.raises(LedgerError, match="rolled back, cut off"):
        people.verify(kept.head)


def test_16_a_tail_that_was_cut_and_grown_anew_is_named(
    people: Ledger, tamper: Tamper, elsewhere: Callable[[Ledger], None]
) -> None:
    first, kept = spend(people, 0.25, 0.25)
    tamper("DELETE FROM {table} WHERE sequence > 3")
    with pytest.raises(LedgerError, match="rolled back"):  # this machine remembers
        spend(people, 0.5)
    elsewhere(people)
    spend(people, 0.5)
    people.verify(first)
    with pytest.raises(LedgerError, match="its entry 5 is not the one on the receipt"):
        people.verify(kept)
    with pytest.raises(LedgerError, match="rolled back"):
        people.verify(kept.head)


def test_16_receipts_of_other_ledgers_are_not_in_this_one(people: Ledger) -> None:
    (kept,) = spend(people, 0.25)
    people.verify(kept.head)
    people.verify(GENESIS)
    for wrong in (replace(kept, dataset="others"), replace(kept, sequence=2)):
        with pytest.raises(LedgerError, match="receipt"):
            people.verify(wrong)
    with pytest.raises(LedgerError, match="receipt"):
        people.verify(replace(kept, sequence=0))


def test_16_an_entry_hashed_anew_breaks_the_chain(people: Ledger, tamper: Tamper) -> None:
    spend(people, 0.25)
    second = people.entries()[1]._replace(time="2020-01-01T00:00:00+00:00")
    tamper(
        f"UPDATE {{table}} SET time = '{second.time}', hash = '{second.digest()}' "
        "WHERE sequence = 2"
    )
    with pytest.raises(LedgerError, match="Entry 3 of the ledger was changed"):
        people.verify()


def rehash(ledger: Ledger, tamper: Tamper, changes: dict[int, dict[str, Any]]) -> None:
    """Rewrite entries and hash the chain anew, as somebody who knows how would."""
    previous = GENESIS
    for entry in ledger.entries():
        made = entry._replace(**changes.get(entry.sequence, {}), previous=previous)
        previous = made.digest()
        body = made.body_text.replace("{", "{{").replace("}", "}}")
        tamper(
            f"UPDATE {{table}} SET body = '{body}', totals = '{made.totals_text}', "
            f"kind = '{made.kind}', previous = '{made.previous}', hash = '{previous}' "
            f"WHERE sequence = {entry.sequence}"
        )


def test_16_a_chain_hashed_anew_must_still_add_up(people: Ledger, tamper: Tamper) -> None:
    (kept,) = spend(people, 0.25)
    nothing = people.entries()[0].totals_text
    rehash(people, tamper, {2: {"totals_text": nothing}, 3: {"totals_text": nothing}})
    with pytest.raises(LedgerError, match="Entry 2 of the ledger does not add up"):
        people.verify()
    assert kept.head != people.head()


@pytest.mark.parametrize(("less", "adds_up"), [(1e-11, True), (1e-8, False), (5e-7, False)])
def test_16_no_more_than_a_billionth_of_a_step_is_forgiven(
    people: Ledger,
    tamper: Tamper,
    elsewhere: Callable[[Ledger], None],
    less: float,
    adds_up: bool,
) -> None:
    """Another machine may round a price otherwise; nobody may charge a millionth less."""
    spend(people, 0.25)
    totals = people.entries()[1].totals_text
    assert "0.25" in totals
    smaller = totals.replace("0.25", f"{0.25 * (1.0 - less):.20f}")
    rehash(people, tamper, {2: {"totals_text": smaller}, 3: {"totals_text": smaller}})
    if adds_up:
        elsewhere(people)
        people.verify()
        return
    with pytest.raises(LedgerError, match="Entry 2 of the ledger does not add up"):
        people.verify()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({3: {"body_text": '{"reservation":1}'}}, "Entry 3 .* settles what is not reserved"),
        ({3: {"body_text": "{}"}}, "Entry 3 .* cannot be understood"),
        ({3: {"body_text": "[]"}}, "Entry 3 .* cannot be read"),
        ({3: {"kind": "refund"}}, "Entry 3 .* does not know: 'refund'"),
        ({2: {"body_text": "{}"}}, "Entry 2 .* cannot be understood"),
        ({2: {"totals_text": "[250000000]"}}, "Entry 2 .* cannot be understood"),
        ({1: {"body_text": '{"epsilon":0.1,"kind":"pure"}'}}, "Entry 2 .* exceeds the cap"),
        ({1: {"body_text": '{"kind":"pure"}'}}, "Entry 1 .* cannot be understood"),
        ({1: {"totals_text": "[[0]]"}}, "Entry 1 .* does not add up"),
    ],
    ids=str,
)
def test_16_a_forged_chain_must_make_sense(
    people: Ledger, tamper: Tamper, change: dict[int, dict[str, Any]], found: str
) -> None:
    spend(people, 0.25)
    rehash(people, tamper, change)
    with pytest.raises(LedgerError, match=found):
        people.verify()


def test_16_a_changed_account_is_not_charged(people: Ledger, tamper: Tamper) -> None:
    spend(people, 0.25)
    for edit, number in (("replace(totals, '0.25', '0')", 3), ("totals", 1)):
        tamper(f"UPDATE {{table}} SET totals = {edit}, time = 'x' WHERE sequence = {number}")
        with pytest.raises(LedgerError, match=f"Entry {number} .* was changed; run verify"):
            people.reserve("people", pure_event(0.1))


def test_17_a_clock_set_back_refills_nothing(
    people: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(people, 0.25)
    monkeypatch.setattr(time, "time", lambda: 922_924_800.5)
    spend(people, 0.5)
    monkeypatch.undo()
    assert people.entries()[-1].time == "1999-04-01T00:00:00+00:00"
    assert [each.sequence for each in people.entries()] == [1, 2, 3, 4, 5]
    assert people.remaining("people") == 0.25
    people.verify()


# -- export --------------------------------------------------------------------------------------


def test_no_entry_tells_how_long_a_release_took(
    people: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seconds of a search would tell the number of runs, which random stopping must hide."""
    number = people.reserve("people", pure_event(0.25))
    monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)
    people.settle(number)
    reserved, settled = people.entries("people")[-2:]
    assert settled.kind == "settle"
    assert settled.time == reserved.time
    people.verify()


def test_exported_lines_can_be_checked_without_privet(ledger: Ledger) -> None:
    import hashlib

    ledger.open("people", PureDP(1.0), parts=PARTS)
    ledger.settle(ledger.reserve("people", pure_event(0.5), part="south", key="clé"))
    previous = GENESIS
    for line in ledger.export():
        record = json.loads(line)
        told = record.pop("hash")
        text = json.dumps(record, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == told
        assert record["previous"] == previous
        previous = told
    assert previous == ledger.head()


def test_a_password_is_not_shown() -> None:
    hidden = Ledger("postgresql://me:s3cret@host:5432/db?sslmode=require")
    assert "s3cret" not in repr(hidden) + str(hidden) + hidden.place
    assert "me:***@host:5432/db?sslmode=require" in repr(hidden)
    assert "s3cret" not in repr(Ledger("postgresql://host/db?password=s3cret"))
    with pytest.raises(DeclarationError, match="looks like") as caught:
        Ledger("mysql://me:s3cret@host/db")
    assert "s3cret" not in str(caught.value)
    with pytest.raises(DeclarationError, match="no file"):
        _ = hidden.path


def test_the_page_about_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "ledger.md"
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
    assert len(blocks) == 3
    exec("".join(blocks), {})
    ledger = Ledger("sqlite:///budget.db")
    assert ledger.remaining("patients") == 1.5
    assert ledger.terms("visits").group == 4


@pytest.mark.parametrize("name", ["Entry", "Ledger", "Part", "Receipt", "Terms"])
def test_the_old_door_says_where_the_names_went(name: str) -> None:
    import privet.ledger
    import privet.privacy.ledger as door

    with pytest.warns(FutureWarning, match=f"privet.ledger.{name}"):
        assert getattr(door, name) is getattr(privet.ledger, name)
    with pytest.raises(AttributeError, match="Book"):
        _ = door.Book
