"""``privet evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet import Ledger, PureDP
from privet._untrusted import sealed, unsealed
from privet.cli.demo import write_table
from privet.datasets import census_schema, census_table
from privet.schema import Categorical
from privet.store import load
from tests.cli.people import CANARY, misused, refused, run


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("held") / "held_out.csv"
    table = census_table(400, seed=2)
    table["region"][:3] = CANARY
    write_table(table, path)
    return path


def test_it_tells_measures_with_intervals(people: Path, held_out: Path) -> None:
    result = run("evaluate", people / "model.privet", held_out, "--epsilon", "1")
    assert result.exit_code == 0, result.output
    for word in ("accuracy", "confusion rate", "AUC", "observed frequency", "epsilon = 1"):
        assert word in result.stdout
    positive = load(people / "model.privet").classes_[1]
    assert f"class {positive} " in result.stdout  # the AUC's
    assert f"Positive class: {positive}." in result.stdout
    assert CANARY not in result.output


def test_it_names_the_column_of_the_groups(people: Path, held_out: Path) -> None:
    options = ("--epsilon", "1", "--measure", "groups", "--group", "region")
    result = run("evaluate", people / "model.privet", held_out, *options)
    assert result.exit_code == 0, result.output
    assert "Positive class: " in result.stdout
    assert "the column region." in result.stdout


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


def test_a_configuration_file(people: Path, held_out: Path, tmp_path: Path) -> None:
    for source in (people / "model.privet", held_out):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    config = tmp_path / "run.toml"
    config.write_text(
        'model = "model.privet"\ndata = "held_out.csv"\nepsilon = 1\nout = "found.json"\n'
        'measure = ["accuracy", "confusion"]\n'
    )
    result = run("evaluate", "--config", config, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {each["measure"] for each in told["measures"]} == {
        "accuracy",
        "confusion rate",
        "precision",
    }
    assert unsealed((tmp_path / "found.json").read_bytes()) == told
    again = run("evaluate", "--config", config, "--epsilon", 2, "--measure", "accuracy", "--force")
    assert again.exit_code == 0, again.output
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["guarantee"]["event"]["claim"]["epsilon"] == 2.0
    assert [each["measure"] for each in told["measures"]] == ["accuracy"]
    refused(run("evaluate", "--config", config), "already there")
    config.write_text("level = [0.9]\n")
    misused(run("evaluate", "--config", config), "single value")


def test_the_report_shows_the_evaluation_of_its_own_model(
    people: Path, held_out: Path, tmp_path: Path
) -> None:
    model, found, page = people / "model.privet", tmp_path / "e.json", tmp_path / "r.html"
    asked = ("evaluate", model, held_out, "--epsilon", "1", "--out", found)
    assert run(*asked).exit_code == 0
    assert run("report", model, "--evaluation", found, "--out", page).exit_code == 0
    record, text = unsealed(found.read_bytes()), page.read_text()
    assert text.count('<section class="evaluation">') == 1
    first = record["measures"][0]
    assert f"{first['lower']:.3f} to {first['upper']:.3f}" in text
    assert run("report", model, "--out", page, "--force").exit_code == 0
    assert '<section class="evaluation">' not in page.read_text()
    for broken in (
        {**record, "sha256_of_model": "0" * 64},
        {k: v for k, v in record.items() if k != "sha256_of_model"},
    ):
        found.write_text(sealed(broken))
        again = run("report", model, "--evaluation", found, "--out", page, "--force")
        refused(again, "another model file")
    for text in ("", "[]", "{}", json.dumps({**record, "measures": [{"lower": 2}]})):
        found.write_text(text)
        refused(run("report", model, "--evaluation", found, "--out", page, "--force"), "evaluation")


def test_wrong_usage(people: Path, held_out: Path) -> None:
    asked = ("evaluate", people / "model.privet", held_out)
    misused(run(*asked), "--epsilon")
    misused(run(*asked, "--epsilon", "1", "--ledger", "x.db"), "--dataset")
    misused(run("evaluate", "--epsilon", "1"), "MODEL")
    refused(run(*asked, "--epsilon", "1", "--group", "nothing"), "categorical")
    refused(run(*asked, "--epsilon", "1", "--measure", "happiness"), "measures")
    helped = run("evaluate", "--help")
    assert "Example" in helped.stdout
    assert "middle of a narrow bin" in " ".join(helped.stdout.replace("│", " ").split())
