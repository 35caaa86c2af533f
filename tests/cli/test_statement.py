"""``privet statement``: text, card and page of a model file, with and without its ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet import load
from privet.datasets import census_schema
from tests.certificate.released import Opened
from tests.cli.people import CANARY, misused, refused, run


@pytest.fixture(scope="module")
def accounted(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a cap of 2 and two models charged to it."""
    folder = tmp_path_factory.mktemp("accounted")
    run("ledger", "open", folder / "b.db", "people 2026", "--epsilon", 2)
    for epsilon in (0.5, 0.25):
        done = run(
            *("train", people / "people.csv", "--schema", people / "schema.toml"),
            *("--epsilon", epsilon, "--ledger", folder / "b.db", "--dataset", "people 2026"),
            *("--out", folder / f"m{epsilon}"),
        )
        assert done.exit_code == 0, done.output
    return folder


def test_text_card_and_page_say_the_same(people: Path, tmp_path: Path) -> None:
    model = people / "model.privet"
    text = run("statement", model).stdout
    assert text.startswith("Privacy statement for LogisticRegression")
    told = json.loads(run("statement", model, "--json").stdout)
    assert told["guarantee"] == load(model).guarantee_.to_json()
    assert told["private"] is True
    assert told["making"]["file"]["text"] == "model.privet"
    assert run("statement", model, "--out", tmp_path / "s.txt").exit_code == 0
    assert (tmp_path / "s.txt").read_text() == text
    result = run("statement", model, "--html", tmp_path / "s.html")
    assert "s.html" in result.stdout
    assert "Privacy statement" not in result.stdout
    page = (tmp_path / "s.html").read_text()
    assert told["making"]["sha256"]["text"] in page
    both = run("statement", model, "--html", tmp_path / "t.html", "--json")
    assert json.loads(both.stdout) == told
    assert (tmp_path / "t.html").read_text() == page
    run("statement", model, "--out", tmp_path / "u.html")
    assert (tmp_path / "u.html").read_text() == page
    refused(run("statement", model, "--html", tmp_path / "s.html"), "already there")
    assert run("statement", model, "--html", tmp_path / "s.html", "--force").exit_code == 0


def test_the_numbers_are_computed_a_second_time(people: Path, tmp_path: Path) -> None:
    model = people / "model.privet"
    numbers = json.loads(run("statement", model, "--json").stdout)["verification"]["numbers"]
    assert set(numbers["value"]) == {"holds", "taken", "recomputed"}
    assert ["objective", "sensitivity", "2", "2", "holds"] in numbers["table"]["rows"]
    opened = Opened(model)
    place = ("guarantee", "event", "scale")
    forged = opened.changed(tmp_path / "forged.privet", place, 0.9 * opened.at(place))
    for shown in (model, forged):
        page = tmp_path / f"{shown.stem}.html"
        assert run("report", shown, "--out", page).exit_code == 0
        for text in (run("statement", shown).stdout, page.read_text()):
            convicted = "A SECOND COMPUTATION CONTRADICTS THIS FILE" in text
            assert convicted == (shown == forged)


def test_it_names_the_label_the_columns_and_the_day(people: Path, tmp_path: Path) -> None:
    model, schema = people / "model.privet", census_schema()
    text = " ".join(run("statement", model).stdout.split())
    assert run("report", model, "--out", tmp_path / "r.html").exit_code == 0
    page = " ".join((tmp_path / "r.html").read_text().split())
    for shown in (text, page):
        assert f"{', '.join(schema.columns)}; declared by the schema" in shown
        assert f"{schema.label.name}; classes" in shown
        assert f"{load(model).guarantee_.released} (UTC)" in shown
        assert "for a person with k rows, epsilon is k times as large" in shown


def test_a_recorded_release_says_so(accounted: Path, tmp_path: Path) -> None:
    model = accounted / "m0.5"
    words = " ".join(run("statement", model).stdout.split())
    assert "under the data set 'people 2026'" in words
    assert load(model).guarantee_.receipt.head in words
    run("report", model, "--out", tmp_path / "r.html")
    assert "under the data set &#39;people 2026&#39;" in (tmp_path / "r.html").read_text()


def test_with_the_ledger_it_says_what_is_left(accounted: Path) -> None:
    told = run("statement", accounted / "m0.5", "--ledger", accounted / "b.db", "--json")
    card = json.loads(told.stdout)
    assert card["alarms"] == []
    assert card["composition"]["left"]["value"] == 1.25
    assert card["composition"]["spent"]["value"] == {"epsilon": 0.75, "releases": 2}
    assert card["composition"]["recorded"]["value"] == [2]
    assert card["composition"]["frozen_head"]["value"] is True
    assert "1.25 is left" in card["summary"]["what_is_left"]["text"]


def test_another_ledger_or_account_is_shouted(
    accounted: Path, people: Path, tmp_path: Path
) -> None:
    model, other = accounted / "m0.5", tmp_path / "other.db"
    run("ledger", "open", other, "people 2026", "--epsilon", 9)
    text = run("statement", model, "--ledger", other).stdout
    assert "THIS RELEASE IS NOT IN THE LEDGER" in text[:800]
    run("ledger", "open", other, "others", "--epsilon", 9)
    told = run("statement", model, "--ledger", other, "--dataset", "others").stdout
    assert "WRONG ACCOUNT" in told[:800]
    refused(run("statement", model, "--ledger", other, "--dataset", "nobody"), "not open")
    refused(run("statement", model, "--ledger", tmp_path / "none.db"), "none.db")
    misused(run("statement", model, "--dataset", "people 2026"), "--ledger")
    misused(run("statement", people / "model.privet", "--ledger", other), "--dataset")
    told = run(
        *("statement", people / "model.privet", "--ledger", other, "--dataset", "people 2026")
    ).stdout
    assert "THIS RELEASE IS NOT IN THE LEDGER" in told[:800]


def test_who_declared(people: Path) -> None:
    told = run("statement", people / "model.privet", "--declared-by", "Dr. A. Person").stdout
    assert "Declared by  Dr. A. Person, as named" in told


def test_the_canary_is_in_no_statement(accounted: Path, tmp_path: Path) -> None:
    model, ledger = accounted / "m0.25", accounted / "b.db"
    shown = run("statement", model, "--ledger", ledger).stdout
    shown += run("statement", model, "--ledger", ledger, "--json").stdout
    run("statement", model, "--ledger", ledger, "--html", tmp_path / "s.html")
    shown += (tmp_path / "s.html").read_text()
    assert len(shown) > 10_000
    assert CANARY not in shown
