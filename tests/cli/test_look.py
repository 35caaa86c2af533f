"""The curator's look before a charge: on a terminal a question, elsewhere only when asked for."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.people import CANARY, misused, refused, run
from tests.cli.test_process import ROOT

EYES = "A look at 1,500 rows"
QUESTION = "Spend the budget on this table?"


@pytest.fixture
def spelled(people: Path, tmp_path: Path) -> Path:
    """A folder with the people, every label in another case than the schema declares."""
    text = (people / "people.csv").read_text().replace("50k", "50K")
    (tmp_path / "people.csv").write_text(text)
    (tmp_path / "schema.toml").write_text((people / "schema.toml").read_text())
    assert run("ledger", "open", tmp_path / "b.db", "p", "--epsilon", 9).exit_code == 0
    return tmp_path


def training(folder: Path, *more: object) -> tuple[object, ...]:
    return (
        *("train", folder / "people.csv", "--schema", folder / "schema.toml", "--epsilon", 3),
        *("--ledger", folder / "b.db", "--dataset", "p", "--out", folder / "m.privet", *more),
    )


def left(folder: Path) -> float:
    return float(run("ledger", "remaining", folder / "b.db", "p").stdout)


def at_a_terminal(*arguments: object, answer: str = "") -> tuple[int, str, str]:
    """``privet`` with standard input and error on a terminal: code, standard output, terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "160", "TERM": "dumb"}
    process = subprocess.Popen(
        [sys.executable, "-m", "privet", *map(str, arguments)],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        env=environment,
    )
    os.close(theirs)
    seen, answered = b"", False
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # how Linux tells that the other side has closed the terminal
            more = b""
        if not more:
            break
        seen += more
        if QUESTION.encode() in seen and not answered:
            answered = True
            os.write(ours, answer.encode() + b"\n")
    assert process.stdout is not None
    with process.stdout as stream:
        out = stream.read().decode()
    os.close(ours)
    return process.wait(), out, seen.decode()


def test_misspelled_labels_stop_at_a_question_before_anything_is_charged(spelled: Path) -> None:
    code, out, seen = at_a_terminal(*training(spelled), answer="n")
    assert code == 1
    assert out == ""
    for words in (EYES, "income (label)", "1,500 undeclared", "another case", QUESTION, "Stopped"):
        assert words in seen
    assert CANARY not in seen
    assert left(spelled) == 9
    assert not (spelled / "m.privet").exists()


@pytest.mark.parametrize(("more", "answer"), [((), "y"), (("--yes",), "")])
def test_the_curator_may_go_on(spelled: Path, more: tuple[str, ...], answer: str) -> None:
    code, out, seen = at_a_terminal(*training(spelled, "--json", *more), answer=answer)
    assert code == 0
    assert EYES in seen
    assert (QUESTION in seen) is bool(answer)
    assert left(spelled) == 6
    # what was seen is in no document and no file
    assert "undeclared" not in json.dumps(json.loads(out)["guarantee"])
    assert b"1,500" not in (spelled / "m.privet").read_bytes()


def test_a_table_that_fits_is_shown_without_a_question(people: Path, tmp_path: Path) -> None:
    code, _, seen = at_a_terminal(
        *("train", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 1),
        *("--out", tmp_path / "m"),
    )
    assert code == 0
    assert EYES in seen
    assert QUESTION not in seen


def test_without_a_terminal_nobody_looks_unless_asked(spelled: Path) -> None:
    result = run(*training(spelled))
    assert result.exit_code == 0
    assert EYES not in result.output
    assert left(spelled) == 6
    assert "were not compared" in result.stderr
    assert "were not compared" not in run(*training(spelled, "--no-look", "--force")).stderr


def test_the_note_that_nobody_looked_does_not_depend_on_the_cells(
    people: Path, spelled: Path
) -> None:
    misfit = run(*training(spelled)).stderr
    (spelled / "people.csv").write_text((people / "people.csv").read_text())
    assert run(*training(spelled, "--force")).stderr == misfit


def test_asked_for_without_a_terminal_the_look_refuses(spelled: Path) -> None:
    result = run(*training(spelled, "--look"))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert EYES in result.stderr
    assert "nothing was charged" in result.stderr
    assert left(spelled) == 9
    went_on = run(*training(spelled, "--look", "--yes", "--json"))
    assert went_on.exit_code == 0
    assert EYES in went_on.stderr
    assert EYES not in went_on.stdout


def test_a_declared_share_is_what_counts(spelled: Path) -> None:
    schema = spelled / "schema.toml"
    schema.write_text(schema.read_text() + "\n[look]\nlabels = 1\n")
    assert run(*training(spelled, "--look")).exit_code == 0


def test_every_command_that_spends_looks_first(people: Path, spelled: Path) -> None:
    model, table, charge = people / "model.privet", spelled / "people.csv", ("--epsilon", 1)
    account = ("--ledger", spelled / "b.db", "--dataset", "p")
    (spelled / "c.toml").write_text(
        "[[candidate]]\nregularization = 0.1\n[[candidate]]\nregularization = 1\n"
    )
    listed = ("--candidates", spelled / "c.toml", "--schema", spelled / "schema.toml")
    for command in (
        ("evaluate", model, table, *charge),
        ("intervals", model, table, *charge),
        ("tune", table, *listed, *charge, "--out", spelled / "m.privet"),
    ):
        result = run(*command, *account, "--look")
        assert result.exit_code == 1, command
        assert "nothing was charged" in result.stderr
        assert left(spelled) == 9


def test_check_compares_the_cells_when_asked(people: Path, spelled: Path) -> None:
    good = run("schema", "check", people / "schema.toml", "--look", people / "people.csv")
    assert good.exit_code == 0
    assert EYES in good.stderr
    assert EYES not in good.stdout
    assert CANARY not in good.output
    plain = run("schema", "check", people / "schema.toml", people / "people.csv")
    assert EYES not in plain.output
    assert "--look" in plain.stdout
    bad = run("schema", "check", spelled / "schema.toml", spelled / "people.csv", "--look")
    assert bad.exit_code == 1
    assert "does not fit" in bad.stderr
    document = run(
        "schema", "check", spelled / "schema.toml", spelled / "people.csv", "--look", "--json"
    )
    assert "undeclared" not in document.stdout
    json.loads(document.stdout)
    misused(run("schema", "check", people / "schema.toml", "--look"), "needs a table")


def test_a_name_of_a_column_cannot_write_on_the_terminal(tmp_path: Path) -> None:
    name = "age\x1b[2J"
    (tmp_path / "t.csv").write_text(f"{name},y\nx,0\n")
    column = json.dumps(name)
    (tmp_path / "s.toml").write_text(
        f'[label]\nname = "y"\nclasses = [0, 1]\n[columns.{column}]\nlow = 0\nhigh = 1\n'
    )
    result = run("schema", "check", tmp_path / "s.toml", tmp_path / "t.csv", "--look")
    assert "\x1b" not in result.stderr
    assert result.exit_code == 1


def test_the_look_reads_what_train_would_refuse(people: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n1\n")
    refused(
        run("schema", "check", people / "schema.toml", tmp_path / "t.csv", "--look"), "'income'"
    )


def test_a_hopeless_fit_is_told_and_asked_about_before_the_charge(
    people: Path, tmp_path: Path
) -> None:
    for name in ("people.csv", "schema.toml"):
        text = (people / name).read_text().splitlines(keepends=True)
        (tmp_path / name).write_text("".join(text[:9] if name == "people.csv" else text))
    run("ledger", "open", tmp_path / "b.db", "p", "--epsilon", 3)
    code, _, shown = at_a_terminal(*training(tmp_path), answer="n")
    assert (code, left(tmp_path)) == (1, 3.0)
    for words in ("with 8 rows", "hopeless", QUESTION):
        assert words in shown
    told = run(*training(tmp_path), "--look", "--yes")  # nobody can be asked: a note
    assert told.exit_code == 0
    assert "hopeless" in told.stderr
