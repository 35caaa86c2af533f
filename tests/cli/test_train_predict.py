"""From a raw table to a model and back to predictions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from privet import load
from privet.datasets import census_schema
from privet.schema import Schema
from tests.cli.people import CANARY, ROWS, misused, refused, run


def train(people: Path, out: Path, *more: object) -> object:
    return run(
        "train", people / "people.csv", "--schema", people / "schema.toml", "--out", out, *more
    )


def test_the_model_carries_its_schema_and_its_guarantee(people: Path) -> None:
    model = load(people / "model.privet")
    assert Schema.from_toml(model.schema_) == census_schema().with_knots(3)  # no --model was named
    assert model.guarantee_.budget.facts() == {"epsilon": 3.0}
    assert model.guarantee_.private
    assert any("schema" in text for text in model.guarantee_.assumptions)
    assert set(model.classes_) == {"over 50k", "up to 50k"}


def test_a_schema_survives_being_saved_again_and_not_a_new_fit(
    people: Path, tmp_path: Path
) -> None:
    model = load(people / "model.privet")
    model.save(tmp_path / "again")
    again = load(tmp_path / "again")
    assert again.schema_ == model.schema_
    x = np.zeros((20, 2))
    again.set_params(classes=[0, 1], domain=None).fit(x, np.arange(20) % 2)
    assert not hasattr(again, "schema_")


@pytest.mark.parametrize(
    ("flags", "facts"),
    [
        (["--epsilon", "1"], {"kind": "pure", "epsilon": 1.0}),
        (["--epsilon", "1", "--delta", "1e-6"], {"kind": "approx", "epsilon": 1.0, "delta": 1e-6}),
        (["--rho", "0.1", "--model", "svm"], {"kind": "zcdp", "rho": 0.1}),
        (["--epsilon", "2", "--mechanism", "output"], {"kind": "pure", "epsilon": 2.0}),
    ],
)
def test_budgets_and_mechanisms(
    people: Path, tmp_path: Path, flags: list[str], facts: dict[str, object]
) -> None:
    result = train(people, tmp_path / "m", *flags, "--json")
    told = json.loads(result.stdout)
    assert told["guarantee"]["event"]["claim"] == facts
    assert told["guarantee"]["event"]["n"] == ROWS
    assert told["columns"] == census_schema().width
    assert told["peak_memory_bytes"] > 1e6
    assert load(tmp_path / "m").guarantee_.to_json() == told["guarantee"]


def test_the_words_of_a_release(people: Path, tmp_path: Path) -> None:
    result = train(people, tmp_path / "m", "--epsilon", "1")
    assert result.exit_code == 0
    for word in ("Released", "epsilon = 1", "Theorem", "privet report"):
        assert word in result.stdout
    assert CANARY not in result.output


def test_unconfirmed_declarations_are_refused(people: Path, tmp_path: Path) -> None:
    text = (people / "schema.toml").read_text()
    schema = tmp_path / "schema.toml"
    schema.write_text(text.replace("[columns.age]\n", "[columns.age]\nfrom_data = true\n"))
    result = run(
        *("train", people / "people.csv", "--schema", schema, "--epsilon", 1),
        *("--out", tmp_path / "m"),
    )
    refused(result, "age", "confirmed")
    assert not (tmp_path / "m").exists()
    refused(run("schema", "check", schema), "age")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], ["--epsilon", "--rho"]),
        (["--epsilon", "1", "--rho", "1"], ["either"]),
        (["--rho", "1", "--delta", "1e-6"], ["--delta"]),
        (["--epsilon", "nan"], ["between"]),
        (["--epsilon", "0"], ["between"]),
        (["--epsilon", "-1"], ["between"]),
        (["--epsilon", "many"], ["--epsilon"]),
        (["--epsilon", "1", "--model", "forest"], ["logistic"]),
        (["--epsilon", "1", "--ledger", "b.db"], ["--dataset"]),
        (["--epsilon", "1", "--color", "red"], ["--color"]),
    ],
)
def test_wrong_usage_is_two(
    people: Path, tmp_path: Path, flags: list[str], words: list[str]
) -> None:
    misused(train(people, tmp_path / "m", *flags), *words)
    assert list(tmp_path.iterdir()) == []


def test_missing_flags_are_named(people: Path) -> None:
    misused(run("train", people / "people.csv", "--epsilon", 1, "--out", "m"), "--schema")
    misused(run("train", "--epsilon", 1, "--out", "m"), "DATA")
    misused(run("train", people / "people.csv"), "--schema, --out are missing")
    misused(run("predict", people / "model.privet"), "DATA")


def test_a_table_in_the_place_of_a_schema_or_a_model_is_told(people: Path, tmp_path: Path) -> None:
    table, schema = people / "people.csv", people / "schema.toml"
    swapped = ("train", schema, "--schema", table, "--epsilon", 1, "--out", tmp_path / "m")
    refused(run(*swapped), "name of a table")
    refused(run("predict", table, people / "model.privet"), "the model before the table")
    refused(run("train", schema, *swapped[4:], "--schema", schema), "save it as Parquet or CSV")


def test_nothing_is_spent_where_nothing_can_be_written(people: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "b.db"
    run("ledger", "open", ledger, "people", "--epsilon", 2)
    spend = ["--epsilon", 1, "--ledger", ledger, "--dataset", "people"]
    refused(train(people, people / "model.privet", *spend), "already there")
    refused(train(people, tmp_path / "no" / "m", *spend), "folder")
    told = json.loads(run("ledger", "show", ledger, "--json").stdout)
    assert told["accounts"][0]["remaining"] == 2.0
    assert train(people, tmp_path / "m", *spend).exit_code == 0
    assert train(people, tmp_path / "m", *spend, "--force").exit_code == 0
    refused(train(people, tmp_path / "m", *spend, "--force"), "cap")


def test_a_configuration_file_and_flags_that_win(people: Path, tmp_path: Path) -> None:
    for name in ("people.csv", "schema.toml"):
        (tmp_path / name).write_bytes((people / name).read_bytes())
    config = tmp_path / "run.toml"
    config.write_text(
        'data = "people.csv"\nschema = "schema.toml"\nepsilon = 1\n'
        'out = "m.privet"\nmodel = "svm"\n'
    )
    assert run("train", "--config", config).exit_code == 0
    first = load(tmp_path / "m.privet")
    assert type(first).__name__ == "LinearSVC"
    assert first.guarantee_.budget.facts() == {"epsilon": 1.0}
    assert run("train", "--config", config, "--epsilon", 2, "--force").exit_code == 0
    assert load(tmp_path / "m.privet").guarantee_.budget.facts() == {"epsilon": 2.0}


@pytest.mark.parametrize("text", ["epsilom = 1", "epsilon = [1, 2]", "epsilon = ", "\xff"])
def test_bad_configurations_are_wrong_usage(tmp_path: Path, text: str) -> None:
    config = tmp_path / "run.toml"
    config.write_bytes(text.encode("latin-1"))
    misused(run("train", "--config", config), "run.toml")


def test_predictions_need_the_model_file_alone(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    result = run("predict", people / "model.privet", people / "people.csv", "--out", out, "--json")
    assert json.loads(result.stdout)["rows"] == ROWS
    lines = out.read_text().splitlines()
    model, schema = load(people / "model.privet"), census_schema().with_knots(3)
    wanted = model.predict(schema.encode_features(people / "people.csv"))
    assert lines == ["prediction", *wanted.tolist()]
    assert len(set(lines)) == 3


def test_probabilities_on_the_screen_and_in_parquet(people: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    arguments = ("predict", people / "model.privet", people / "people.csv", "--probabilities")
    lines = run(*arguments).stdout.splitlines()
    assert lines[0] == "prediction,probability of up to 50k,probability of over 50k"
    assert all(abs(sum(map(float, line.split(",")[1:])) - 1) < 1e-5 for line in lines[1:])
    assert run(*arguments, "--out", tmp_path / "p.parquet").exit_code == 0
    table = parquet.read_table(tmp_path / "p.parquet")
    assert table.num_rows == ROWS
    assert [line.split(",")[0] for line in lines[1:]] == table["prediction"].to_pylist()


def test_a_model_without_schema_says_so(people: Path, tmp_path: Path) -> None:
    model, kept = load(people / "model.privet"), tmp_path / "kept.toml"
    kept.write_text(model.schema_)  # with the knots of its numbers
    del model.schema_
    model.save(tmp_path / "m")
    refused(run("predict", tmp_path / "m", people / "people.csv"), "schema")
    given = run("predict", tmp_path / "m", people / "people.csv", "--schema", kept)
    assert given.exit_code == 0


def test_a_named_model_keeps_numbers_straight(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "straight.privet"
    told = run(
        *("train", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 3),
        *("--model", "logistic", "--out", out),
    )
    assert told.exit_code == 0
    assert Schema.from_toml(load(out).schema_) == census_schema()


def test_a_person_with_several_rows_gets_the_whole_budget(people: Path, tmp_path: Path) -> None:
    rows = (people / "people.csv").read_text().splitlines()
    named = [f"{line},{i // 3}" for i, line in enumerate(rows[1:])]
    (tmp_path / "t.csv").write_text("\n".join([rows[0] + ",who", *named]))
    text = (people / "schema.toml").read_text()
    schema = tmp_path / "s.toml"
    schema.write_text(text + '\n[person]\ncolumn = "who"\nmost_rows = 3\n')
    result = run(
        *("train", tmp_path / "t.csv", "--schema", schema, "--epsilon", 3),
        *("--out", tmp_path / "m"),
    )
    assert result.exit_code == 0, result.output
    model = load(tmp_path / "m")
    assert model.guarantee_.event.claim.facts()["epsilon"] == pytest.approx(1.0)
    assert model.guarantee_.budget.facts()["epsilon"] == pytest.approx(3.0)
    told = run("statement", tmp_path / "m").stdout
    assert "Guarantee    epsilon = 3" in told
    assert "For one row  epsilon = 1" in told
    assert "a given person" in told
    assert any("3 rows of a person" in text for text in model.guarantee_.assumptions)
    assert any("epsilon = 3" in text for text in model.guarantee_.assumptions)
    assert run("report", tmp_path / "m", "--out", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert '<p class="guarantee">epsilon = 3</p>' in page
    assert "a given person" in page
    assert "told apart by who, at most 3 rows count" in page


def test_a_bound_from_the_data_stays_marked_in_the_statement(people: Path, tmp_path: Path) -> None:
    text = (people / "schema.toml").read_text()
    schema = tmp_path / "s.toml"
    marked = text.replace("[columns.age]", "[columns.age]\nfrom_data = true", 1)
    assert marked != text
    command = ("train", people / "people.csv", "--epsilon", 1, "--out", tmp_path / "m")
    schema.write_text(marked)
    refused(run(*command, "--schema", schema))
    schema.write_text(marked.replace("from_data = true", 'from_data = "confirmed"'))
    assert run(*command, "--schema", schema).exit_code == 0
    told = " ".join(run("statement", tmp_path / "m").stdout.split())
    assert "age, which were read from the data and taken over by a person" in told
