"""Every step from a file of an office: semicolons, Latin-1 and decimal commas."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.cli.people import misused, refused, run
from tests.cli.test_intervals import trained

SCHEMA = """
[label]
name = "Befund"
classes = ["nein", "ja"]
[columns."Größe"]
low = 0
high = 2.5
[columns."Straße"]
categories = ["Süd", "Nord"]
"""
HOW = ("--separator", ";", "--encoding", "latin-1", "--decimal", ",")


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """A folder with a table as Excel writes it in Germany, and a schema that says nothing of it."""
    draw = random.Random()
    lines = ["Größe;Straße;Befund"]
    for _ in range(2000):
        size = draw.uniform(0, 2.5)
        found = "ja" if size + draw.gauss(0, 0.2) > 1.25 else "nein"
        lines.append(f"{size:.3f};{draw.choice(['Süd', 'Nord'])};{found}".replace(".", ","))
    (tmp_path / "t.csv").write_bytes("\r\n".join([*lines, ""]).encode("latin-1"))
    (tmp_path / "s.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def test_the_road_by_flags(office: Path) -> None:
    model = office / "m.privet"
    fitted = run(
        *("train", office / "t.csv", "--schema", office / "s.toml", "--epsilon", 50, *HOW),
        *("--look", "--out", model),
    )
    assert fitted.exit_code == 0, fitted.output
    # the model file keeps how its table was written
    found = run("predict", model, office / "t.csv")
    truth = [
        line.split(";")[2] for line in (office / "t.csv").read_text("latin-1").split("\n")[1:-1]
    ]
    told = found.stdout.splitlines()[1:]
    right = sum(guess == truth.strip() for guess, truth in zip(told, truth, strict=True))
    assert right > 0.8 * len(truth)
    # another file of the same people, written in another way
    (office / "u.csv").write_text(
        (office / "t.csv").read_text("latin-1").replace(",", ".").replace(";", "\t"), "utf-8"
    )
    other = ("--separator", "tab", "--encoding", "utf-8", "--decimal", ".")
    assert run("predict", model, office / "u.csv", *other).stdout == found.stdout
    refused(run("predict", model, office / "u.csv"), "separator")
    measured = run("evaluate", model, office / "u.csv", "--epsilon", 5, "--other-rows", *other)
    assert measured.exit_code == 0, measured.output


def test_the_road_by_the_schema(office: Path) -> None:
    drafted = run("schema", "draft", office / "t.csv", "--label", "Befund", *HOW, "--out", "-")
    assert drafted.exit_code == 0
    assert "low =" in drafted.stdout
    plain = run("schema", "draft", office / "t.csv", "--encoding", "latin-1")
    assert "low =" not in plain.stdout
    assert "decimal comma" in plain.stdout  # why numbers became categories
    start = drafted.stdout.index("[file]")
    declared = drafted.stdout[start : drafted.stdout.index("[label]")]
    (office / "s.toml").write_text(declared + SCHEMA, encoding="utf-8")
    fitted = run(
        *("train", office / "t.csv", "--schema", office / "s.toml", "--epsilon", 5, "--look"),
        *("--out", office / "m.privet"),
    )
    assert fitted.exit_code == 0, fitted.output
    assert "guessed" not in fitted.stderr


def test_a_guessed_separator_is_told_once(office: Path) -> None:
    result = run(
        *("train", office / "t.csv", "--schema", office / "s.toml", "--epsilon", 5, "--look"),
        *("--encoding", "latin-1", "--decimal", ",", "--out", office / "m.privet"),
    )
    assert result.exit_code == 0, result.output
    assert result.stderr.count("the separator of t.csv is ';', guessed from its first line") == 1


def test_what_is_wrong_is_said_before_anything_is_spent(office: Path) -> None:
    fit = ("train", office / "t.csv", "--schema", office / "s.toml", "--epsilon", 1)
    out = ("--out", office / "m.privet")
    refused(run(*fit, *out), "not UTF-8 text", "latin-1")
    forgotten = run(*fit, "--encoding", "latin-1", "--look", *out)
    assert forgotten.exit_code == 1
    assert 'decimal = ","' in forgotten.stderr
    misused(run(*fit, "--separator", "abc", *out), "separator must be a single sign")
    misused(run(*fit, "--encoding", "klingon", *out), "encoding must name")
    assert not (office / "m.privet").exists()


# -- standard output and flags given twice -----------------------------------------------------


def test_a_minus_is_standard_output_where_there_is_text(people: Path, tmp_path: Path) -> None:
    model, table = people / "model.privet", people / "people.csv"
    before = {path.name for path in Path().iterdir()}
    text = run("statement", model, "--out", "-")
    assert text.stdout == run("statement", model).stdout
    paid = ("--epsilon", 1, "--other-rows")
    assert "accuracy" in json.dumps(
        json.loads(run("evaluate", model, table, *paid, "--out", "-").stdout)
    )
    json.loads(
        run("intervals", trained(people, tmp_path), table, "--rho", 500, "--out", "-").stdout
    )
    config = tmp_path / "run.toml"
    config.write_text('out = "-"\n')
    assert run("predict", model, table, "--config", config).stdout.startswith("prediction\n")
    assert {path.name for path in Path().iterdir()} == before
    assert "-" not in [path.name for path in tmp_path.iterdir()]


def test_a_minus_is_refused_where_there_are_bytes_or_pages(people: Path) -> None:
    model, table = people / "model.privet", people / "people.csv"
    fit = ("--schema", people / "schema.toml", "--epsilon", 1)
    for command in (
        ("train", table, *fit, "--out", "-"),
        ("tune", table, *fit, "--candidates", "c.toml", "--out", "-"),
        ("intervals", model, table, "--epsilon", 1, "--plot", "-"),
    ):
        refused(run(*command), "standard output")
    misused(run("statement", model, "--html", "-"), ".html")
    misused(run("report", model, "--out", "-"), ".html")
    assert not Path("-").exists()


def test_a_flag_given_twice_is_refused(people: Path, tmp_path: Path) -> None:
    """The last one used to win without a word."""
    evaluation = ("evaluate", people / "model.privet", people / "people.csv", "--epsilon", 1)
    misused(run(*evaluation, "--group", "region", "--group", "sex"), "--group was given twice")
    misused(run(*evaluation, "--epsilon", 2), "--epsilon was given twice")
    opening = ("ledger", "open", tmp_path / "b.db", "p", "--epsilon", 1)
    misused(run(*opening, "--group", 2, "--group", 3), "--group was given twice")
    assert run(*opening, "--part", "a=0:5", "--part", "b=5:9").exit_code == 0
    measures = ("--measure", "accuracy", "--measure", "auc", "--other-rows")
    assert run(*evaluation, *measures).exit_code == 0


def test_all_missing_columns_are_named_at_once(people: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,region\n1,north\n")
    fit = ("train", tmp_path / "t.csv", "--schema", people / "schema.toml", "--epsilon", 1)
    refused(run(*fit, "--out", tmp_path / "m"), "'income'", "'hours", "Its columns are 'age'")
