"""The statement says what was trained on what, when, and what holds for several rows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from privet import ZCDP, ApproxDP, Ledger, LogisticRegression, PureDP, load
from privet.datasets import census_schema
from privet.kernels import InteractivePredictor, NonInteractiveClassifier
from privet.models.model_display import trained
from privet.privacy.guarantee import Guarantee, guarantee_from_json
from privet.statement import account
from privet.statement.provenance import Trained
from tests.models.tables import two_classes
from tests.privacy.statements import KINDS, VOID, event, facts, guarantee
from tests.report.models import with_schema

FORMATS = ("text", "json", "html")


def words(model: Any, kind: str) -> str:
    return " ".join(model.statement(kind).split())


def card(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(model.statement("json"))
    return found


@pytest.mark.parametrize("kind", FORMATS)
def test_a_schema_names_the_label_the_columns_and_the_classes(kind: str) -> None:
    schema, told = census_schema(), words(with_schema(), kind)
    assert len(schema.columns) > 3
    for name in (schema.label.name, *schema.columns, *map(str, schema.label.classes)):
        assert name in told


def test_the_card_has_them_as_values() -> None:
    schema, model = census_schema(), with_schema()
    told = card(model)["making"]
    assert told["label"]["value"]["name"] == schema.label.name
    assert told["columns"]["value"]["names"] == list(schema.columns)
    assert told["columns"]["value"]["features"] == schema.width
    assert schema.label.name in card(model)["summary"]["what"]["text"]


def test_without_a_schema_it_is_an_array() -> None:
    x, y = two_classes()
    told = card(LogisticRegression(1.0).fit(x, y))
    assert "an array of 3 numbers per row" in told["summary"]["what"]["text"]
    assert "not recorded" in told["making"]["columns"]["text"]
    assert told["making"]["label"]["value"] == {"name": None, "classes": ["0", "1"]}


def test_a_frame_names_its_columns() -> None:
    pd = pytest.importorskip("pandas")
    x, y = two_classes()
    model = LogisticRegression(1.0).fit(pd.DataFrame(x, columns=["age", "height", "weight"]), y)
    assert "age, height, weight" in words(model, "text")


def test_many_columns_are_all_listed_once() -> None:
    names = tuple(f"column_{i:03}" for i in range(200))
    found = facts("pure", trained=Trained(200, ("0", "1"), names, "income", schema=True))
    assert "and 192 more" in found["summary"]["what"].text
    assert all(name in found["making"]["columns"].text for name in names)


# -- the date ------------------------------------------------------------------------------------


def test_the_date_is_that_of_the_fit_and_stays_with_the_file(tmp_path: Path) -> None:
    before = datetime.now(UTC).date()
    model = LogisticRegression(1.0).fit(*two_classes())
    day = date.fromisoformat(str(model.guarantee_.released))
    assert timedelta(0) <= day - before <= timedelta(days=1)
    model.guarantee_ = replace(model.guarantee_, released="2020-02-03")
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.guarantee_.released == "2020-02-03"
    for kind in FORMATS:
        assert "2020-02-03" in again.statement(kind)
        assert str(day) not in again.statement(kind)


def test_a_date_tells_no_time_of_day() -> None:
    assert len(str(guarantee(event(PureDP(0.5))).released)) == len("2020-02-03")


def test_a_file_from_before_dates_still_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Guarantee.to_json
    monkeypatch.setattr(
        Guarantee,
        "to_json",
        lambda self: {k: v for k, v in whole(self).items() if k != "released"},
    )
    model = LogisticRegression(1.0).fit(*two_classes())
    model.save(tmp_path / "m")
    monkeypatch.undo()
    old = load(tmp_path / "m")
    assert old.guarantee_.released is None
    assert old.guarantee_ == model.guarantee_
    told = card(old)
    assert told["making"]["released"]["text"] == "not recorded"
    assert "value" not in told["making"]["released"]
    assert "not recorded" in told["summary"]["what"]["text"]
    assert guarantee_from_json(old.guarantee_.to_json()).released is None


def test_a_guarantee_alone_says_that_nothing_is_recorded() -> None:
    found = facts("pure")["making"]
    assert found["label"].text == found["columns"].text == "not recorded"


# -- several rows of a person --------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_several_rows_are_never_promised_more_than_the_theorem_says(kind: str) -> None:
    found, promised = KINDS[kind](), facts(kind)["promise"]
    if kind in VOID:
        assert "several_rows" not in {fact.key for fact in promised.facts}
        return
    for each in promised["several_rows"].value:
        if each["guarantee"] is not None:
            assert each["guarantee"] == found.event.claim.for_group(each["rows"]).to_json()


def test_two_rows_square_the_odds() -> None:
    table = facts("pure")["promise"]["several_rows"].table
    assert table is not None
    odds = {int(row[0]): float(row[2]) for row in table.rows}
    assert set(odds) == {2, 5, 10}
    for rows, factor in odds.items():
        assert math.exp(0.5 * rows) <= factor <= 1.01 * math.exp(0.5 * rows)


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (PureDP(0.5), "epsilon is k times"),
        (ZCDP(0.5), "rho is k squared times"),
        (ApproxDP(1.0, 1e-6), "delta grows"),
    ],
    ids=["pure", "zcdp", "approx"],
)
def test_the_first_answer_says_how_it_grows(budget: Any, word: str) -> None:
    model = LogisticRegression(budget).fit(*two_classes())
    assert word in card(model)["summary"]["who"]["text"]


def test_a_person_is_told_that_more_rows_do_not_count() -> None:
    found = facts("person")
    assert "do not count" in found["summary"]["who"].text
    told = found["promise"]["several_rows"]
    assert told.table is None
    assert told.value == [{"rows": 3, "guarantee": {"kind": "pure", "epsilon": 1.5}}]


def test_a_ledger_for_persons_says_what_the_release_costs_them(tmp_path: Path) -> None:
    ledger = Ledger("sqlite:///" + str(tmp_path / "b.db"))
    ledger.open("people", PureDP(9.0), group=4)
    found = KINDS["pure"]()
    ledger.settle(ledger.reserve("people", found.event))
    told = facts("pure", account=account(ledger, "people", found))["promise"]["several_rows"]
    assert "at most 4 rows: for them this release is epsilon = 2" in told.text
    assert [each["rows"] for each in told.value] == [2, 4, 5, 10]


# -- who answers ---------------------------------------------------------------------------------


def test_a_model_that_answers_from_the_rows_says_so() -> None:
    x, y = two_classes()
    asked = InteractivePredictor(budget=ZCDP(1.0), regularization=0.1).fit(x, y)
    told = card(asked)
    assert told["trust"]["queries"]["value"] == "interactive"
    assert "the rows stay with the curator" in told["summary"]["what"]["text"]
    assert "3 numbers" in told["making"]["columns"]["text"]


def test_a_released_kernel_model_does_not() -> None:
    assert NonInteractiveClassifier.interactive is False
    assert trained(LogisticRegression(1.0).fit(*two_classes())).features == 3
