"""A label that is a number on the command line: draft, look, train, predict, verify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import Ledger, PureDP, evaluate, load, stream
from privet.evaluation.evaluation_files import evaluation_from_json, read_evaluation
from tests.cli.people import misused, refused, run

SCHEMA = """
[label]
name = "stay"
low = 0
high = 30

[columns.age]
low = 20
high = 80
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, 1_500).round(1)
    stay = np.clip(age / 4.0 + rng.normal(size=len(age)), 0.0, 30.0).round(2)
    stay[0] = 77.7  # outside, and nowhere to be told but on the terminal
    lines = ["age,stay", *(f"{a},{s}" for a, s in zip(age, stay, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def train(folder: Path, model: str, *more: str) -> object:
    names = (folder / "people.csv", "--schema", folder / "schema.toml")
    return run("train", *names, "--out", folder / model, "--model", model, *more)


@pytest.mark.parametrize(
    ("model", "flags"),
    [
        ("linear", ["--epsilon", "2", "--mechanism", "statistics"]),
        ("huber", ["--rho", "0.5"]),
        ("poisson", ["--epsilon", "1", "--delta", "1e-6"]),
        ("linear", ["--mu", "1"]),
        ("poisson", ["--rho", "1", "--mechanism", "gradient"]),
        ("kernel-huber", ["--rho", "1", "--frequencies", "10"]),
    ],
)
def test_train_and_predict(folder: Path, model: str, flags: list[str]) -> None:
    told = train(folder, model, *flags, "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["columns"] == 1
    assert load(folder / model).target_bounds == [0.0, 30.0]
    assert b"77.7" not in (folder / model).read_bytes()
    found = run("predict", folder / model, folder / "people.csv")
    numbers = [float(line) for line in found.stdout.splitlines()[1:]]
    assert len(numbers) == 1_500
    assert 0.0 <= min(numbers) <= max(numbers) <= 30.0
    assert "a number from 0 to 30" in " ".join(run("statement", folder / model).stdout.split())
    assert run("verify", folder / model).exit_code == 0


@pytest.mark.parametrize("model", ["linear", "huber", "kernel-huber"])
def test_a_knee_is_in_the_units_of_the_target(folder: Path, model: str) -> None:
    told = train(folder, model, "--rho", "1", "--knee", "2.5")
    assert told.exit_code == 0, told.output
    assert load(folder / model).knee == 2.5
    for other in ("poisson", "svm"):
        misused(train(folder, other, "--rho", "1", "--knee", "2.5"), "--knee goes with")


def test_what_is_for_classifiers_says_so(folder: Path) -> None:
    told = train(folder, "linear", "--mu", "1")
    assert f"privet report {folder / 'linear'}" in told.stdout.replace("\n", "")
    size = ("--rows", "1000", "--columns", "3", "--epsilon", "1")
    misused(run("plan", *size, "--model", "huber"), "--schema")
    misused(run("plan", *size, "--error", "1"), "for regressions")
    named = ("--rows", "1000", "--schema", folder / "schema.toml", "--epsilon", "1")
    misused(run("plan", *named, "--model", "huber", "--kernel", ".1"), "for classifiers")
    export = run("export", folder / "linear", "--to", "sklearn", "--out", folder / "plain")
    assert export.exit_code == 0, export.output


def test_a_plan_and_a_report_are_in_the_units_of_the_target(folder: Path) -> None:
    named = ("--rows", "1500", "--schema", folder / "schema.toml", "--rho", "0.5")
    told = run("plan", *named, "--model", "huber", "--error", "0.5")
    assert told.exit_code == 0, told.output
    assert "a target from 0 to 30" in told.output
    assert "Rho needed: " in told.output
    found = json.loads(run("plan", *named, "--model", "huber", "--error", "0.5", "--json").stdout)
    assert found["rows_needed"] > 0
    train(folder, "huber", "--rho", "0.5")
    table, out = folder / "people.csv", folder / "e.json"
    flags = ("--rho", "0.5", "--measure", "residuals", "--other-rows", "--no-look")
    assert run("evaluate", folder / "huber", table, *flags, "--out", out).exit_code == 0
    page = folder / "page.html"
    made = run("report", folder / "huber", "--evaluation", out, "--out", page)
    assert made.exit_code == 0, made.output
    assert "Histogram of the residuals" in page.read_text()
    assert "declared from 0 to 30" in page.read_text()
    assert run("verify", out).exit_code == 0


def test_tune_among_regressions(folder: Path) -> None:
    (folder / "candidates.toml").write_text(
        "[[candidate]]\nknee = 3.0\n\n[[candidate]]\nregularization = 100.0\n"
    )
    out = folder / "chosen.privet"
    names = (folder / "people.csv", "--schema", folder / "schema.toml", "--rho", "2", "--out", out)
    flags = ("--model", "huber", "--search", "partition", "--no-look")
    told = run("tune", *names, *flags, "--candidates", folder / "candidates.toml")
    assert told.exit_code == 0, told.output
    assert run("verify", out).exit_code == 0
    assert load(out).predict([[0.1]]).shape == (1,)
    page = folder / "chosen.html"
    assert run("report", out, "--out", page).exit_code == 0
    assert "chosen by a search" in page.read_text()


def test_intervals_are_in_the_units_of_the_target(folder: Path) -> None:
    train(folder, "huber", "--rho", "20")
    names = (folder / "huber", folder / "people.csv")
    found = run("intervals", *names, "--rho", "20", "--out", folder / "i.json", "--no-look")
    assert found.exit_code == 0, found.output
    assert "prediction, counted from 15" in " ".join(found.output.split())
    verified = run("verify", folder / "i.json")
    assert verified.exit_code == 0, verified.output


def test_a_table_is_not_called_a_damaged_file(folder: Path) -> None:
    refused(run("verify", folder / "people.csv"), "is not a file that Privet wrote")


def test_a_draft_asks_for_the_bounds_and_a_look_counts(folder: Path) -> None:
    drafted = run("schema", "draft", folder / "people.csv", "--label", "stay")
    assert '[label]\nname = "stay"\nlow = "?"\nhigh = "?"' in drafted.stdout
    checked = run("schema", "check", folder / "schema.toml", folder / "people.csv", "--look")
    assert "stay: 0 to 30" in checked.output
    assert "1 out of bounds" in checked.output


def test_what_does_not_go_together_is_refused(folder: Path) -> None:
    refused(train(folder, "logistic", "--epsilon", "1"), "label is a number", "--model linear")
    misused(train(folder, "huber", "--epsilon", "1", "--class-weight", "1=2"), "a number has none")
    refused(train(folder, "huber", "--epsilon", "1", "--mechanism", "statistics"), "mechanism must")


def test_a_paid_evaluation_is_read_again(folder: Path) -> None:
    assert train(folder, "linear", "--epsilon", "2").exit_code == 0
    found = folder / "found.json"
    lines = (folder / "people.csv").read_text().splitlines()[:1_200]
    (folder / "held.csv").write_text("\n".join(lines) + "\n")
    names = ("evaluate", folder / "linear", folder / "held.csv", "--epsilon", "1", "--out", found)
    told = run(*names)
    assert told.exit_code == 0, told.output
    record = read_evaluation(found)
    again = evaluation_from_json(record).to_json()
    assert again == {name: record[name] for name in again}
    told = run("verify", found)
    assert told.exit_code == 0, told.output


def test_a_table_read_in_parts_is_evaluated_for_one_charge(folder: Path) -> None:
    assert train(folder, "linear", "--epsilon", "2").exit_code == 0
    ledger = Ledger(f"sqlite:///{folder / 'budget.db'}")
    ledger.open("held out", PureDP(1.0))
    account: Any = {"ledger": ledger, "dataset": "held out", "training_rows": False}
    told = evaluate(load(folder / "linear"), stream(folder / "people.csv"), budget=0.5, **account)
    assert told.get("RMSE").upper <= 30.0
    kinds = [entry.kind for entry in ledger.entries("held out")]
    assert kinds.count("reserve") == 1
