"""``privet evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet import Ledger, PureDP
from privet.cli.demo import _write
from privet.datasets import census_schema, census_table
from privet.schema import Categorical
from tests.cli.people import CANARY, misused, refused, run


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("held") / "held_out.csv"
    table = census_table(400, seed=2)
    table["region"][:3] = CANARY
    _write(table, path)
    return path


def test_it_tells_measures_with_intervals(people: Path, held_out: Path) -> None:
    result = run("evaluate", people / "model.privet", held_out, "--epsilon", "1")
    assert result.exit_code == 0, result.output
    for word in ("accuracy", "confusion rate", "AUC", "observed frequency", "epsilon = 1"):
        assert word in result.stdout
    assert CANARY not in result.output


def test_json_with_groups_and_a_ledger(people: Path, held_out: Path, tmp_path: Path) -> None:
    column = next(
        name for name, kind in census_schema().columns.items() if isinstance(kind, Categorical)
    )
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("held out", PureDP(1.0))
    result = run(
        "evaluate",
        people / "model.privet",
        held_out,
        "--epsilon",
        "0.5",
        "--group",
        column,
        "--measure",
        "accuracy",
        "--measure",
        "groups",
        "--ledger",
        tmp_path / "budget.db",
        "--dataset",
        "held out",
        "--json",
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["n"] == 400
    assert told["guarantee"]["event"]["claim"] == {"kind": "pure", "epsilon": 0.5}
    groups = {each["of"] for each in told["measures"] if each["measure"] == "selection rate"}
    declared = census_schema().columns[column]
    assert isinstance(declared, Categorical)
    assert groups == {f"group {name}" for name in (*declared.categories, "(other)")}
    assert ledger.remaining("held out") == pytest.approx(0.5)
    assert CANARY not in result.output


def test_the_training_table_is_refused_unless_said(people: Path) -> None:
    asked = ("evaluate", people / "model.privet", people / "people.csv", "--epsilon", "1")
    refused(run(*asked), "trained on")
    stamped = run(*asked, "--training-rows")
    assert stamped.exit_code == 0, stamped.output
    assert "optimistic" in stamped.stdout


def test_a_person_with_several_rows_is_what_the_budget_is_for(
    people: Path, held_out: Path, tmp_path: Path
) -> None:
    schema = tmp_path / "schema.toml"
    numeric = next(n for n, k in census_schema().columns.items() if not isinstance(k, Categorical))
    text = (people / "schema.toml").read_text()
    person = '[person]\ncolumn = "whose"\nmost_rows = 4\n\n'
    schema.write_text(person + text if text.startswith("[") else text + "\n" + person)
    lines = held_out.read_text().splitlines()
    table = tmp_path / "persons.csv"
    whose = ["whose", *(str(i // 4) for i in range(len(lines) - 1))]
    table.write_text("\n".join(f"{a},{b}" for a, b in zip(lines, whose, strict=True)) + "\n")
    asked = ("evaluate", people / "model.privet", table, "--schema", schema, "--epsilon", "2")
    result = run(*asked, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["guarantee"]
    assert told["group"] == 4
    assert told["event"]["claim"]["epsilon"] == pytest.approx(0.5)
    refused(run(*asked, "--group", numeric), "categorical")


def test_wrong_usage(people: Path, held_out: Path) -> None:
    asked = ("evaluate", people / "model.privet", held_out)
    misused(run(*asked), "--epsilon")
    misused(run(*asked, "--epsilon", "1", "--ledger", "x.db"), "--dataset")
    misused(run("evaluate", "--epsilon", "1"), "MODEL")
    refused(run(*asked, "--epsilon", "1", "--group", "nothing"), "categorical")
    refused(run(*asked, "--epsilon", "1", "--measure", "happiness"), "measures")
    helped = run("evaluate", "--help")
    assert "Example" in helped.stdout
