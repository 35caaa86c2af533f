"""The other commands: schema, plan, statement, report, ledger, doctor, help."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import privet
from privet.cli.app import app
from privet.cli.doctor import PACKAGES
from tests.cli.people import CANARY, misused, refused, run


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from _commands(each, (*path, name))
        else:
            yield (*path, name), each


COMMANDS = dict(_commands(typer.main.get_command(app)))


def test_the_commands_are_found() -> None:
    assert {("train",), ("tune",), ("recover",), ("schema", "draft"), ("ledger", "open")} < set(
        COMMANDS
    )


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...]) -> None:
    result = run(*path, "--help", env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "Example: privet " + " ".join(path) in result.stdout


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_example_is_right_usage(path: tuple[str, ...]) -> None:
    words = shlex.split(COMMANDS[path].epilog.removeprefix("Example: "))
    assert tuple(words[: len(path) + 1]) == ("privet", *path)
    given = words[len(path) + 1 : words.index(">") if ">" in words else None]
    parsed = COMMANDS[path].make_context(path[-1], list(given)).params
    for flag in (word for word in given if word.startswith("--")):
        assert parsed[flag.removeprefix("--").replace("-", "_")] not in (None, False)


def test_version_and_wrong_commands() -> None:
    assert run("--version").stdout == f"privet {privet.__version__}\n"
    misused(run("trian"))
    misused(run("ledger", "destroy"))
    wrong = run("train", "t.csv", "--model", "kernel")
    misused(wrong, "not one of", "kernel-logistic")
    assert "Value error" not in wrong.output  # the name of a Python exception


def test_completion_is_offered() -> None:
    assert "--install-completion" in run("--help").stdout


# -- schema --------------------------------------------------------------------------------------


def test_a_draft_asks_and_check_refuses_until_it_is_answered(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.toml"
    result = run("schema", "draft", people / "people.csv", "--label", "income", "--out", out)
    assert result.exit_code == 0, result.output
    assert '"?"' in out.read_text()
    assert CANARY not in out.read_text() + result.output
    refused(run("schema", "check", out), "?")
    refused(run("schema", "draft", people / "people.csv", "--out", out), "already there")
    refused(run("schema", "draft", people / "people.csv", "--label", "nobody"), "nobody")


def test_proposals_from_the_data_are_marked(people: Path) -> None:
    result = run("schema", "draft", people / "people.csv", "--label", "income", "--from-data")
    assert result.exit_code == 0
    assert result.stdout.count("from_data = true") > 5


def test_check_shows_what_is_declared(people: Path) -> None:
    result = run("schema", "check", people / "schema.toml", people / "people.csv")
    assert result.exit_code == 0
    assert "17 to 90" in result.stdout
    assert "70 columns" in result.stdout
    told = json.loads(run("schema", "check", people / "schema.toml", "--json").stdout)
    assert told["unconfirmed"] == []
    assert len(told["encoded_columns"]) == 70


def test_check_wants_the_declared_columns(people: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n1\n")
    refused(run("schema", "check", people / "schema.toml", tmp_path / "t.csv"), "income")


# -- plan ----------------------------------------------------------------------------------------


def test_plan_in_words_json_and_a_picture(people: Path, tmp_path: Path) -> None:
    size = ("--rows", 20_000, "--columns", 10, "--epsilon", 1)
    assert "Verdict" in run("plan", *size).stdout
    told = json.loads(run("plan", *size, "--json").stdout)
    assert told["verdict"] == "comfortable"
    by_schema = ("--rows", 500, "--schema", people / "schema.toml", "--epsilon", 0.1)
    assert json.loads(run("plan", *by_schema, "--json").stdout)["declared"]["d"] == 70
    assert "frequencies" in run("plan", *size, "--kernel", 0.4).stdout
    assert json.loads(run("plan", *size, "--kernel", 0.4, "--json").stdout)["kernel"]["rows"]
    assert run("plan", *size, "--picture", tmp_path / "p.png").exit_code == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_plan_refuses_and_misuse() -> None:
    misused(run("plan", "--rows", 100, "--epsilon", 1), "--columns")
    misused(run("plan", "--columns", 100, "--epsilon", 1), "--rows")
    misused(run("plan", "--rows", 100, "--columns", 3), "--epsilon")
    refused(run("plan", "--rows", 0, "--columns", 3, "--epsilon", 1))


# -- report --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.pdf", "x.docx", "x"])
def test_a_page_is_not_written_under_another_name(people: Path, tmp_path: Path, name: str) -> None:
    model, out = people / "model.privet", tmp_path / name
    asked = [run("report", model, "--out", out), run("statement", model, "--html", out)]
    if name != "x":
        asked.append(run("statement", model, "--out", out))
    for each in asked:
        assert each.exit_code == 2
        assert ".html" in each.stderr
    assert not (tmp_path / name).exists()


def test_report_goes_beside_the_model(people: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.privet"
    model.write_bytes((people / "model.privet").read_bytes())
    told = json.loads(run("report", model, "--json").stdout)
    assert told["report"] == str(tmp_path / "m.html")
    assert (tmp_path / "m.html").stat().st_size > 10_000
    refused(run("report", model), "already there")


# -- ledger --------------------------------------------------------------------------------------


def test_a_ledger_from_opening_to_a_forged_entry(people: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "b.db"
    opened = run("ledger", "open", ledger, "people", "--epsilon", 2, "--json")
    assert json.loads(opened.stdout)["cap"] == {"kind": "pure", "epsilon": 2.0}
    refused(run("ledger", "open", ledger, "people", "--epsilon", 9), "already open")
    run(
        *("train", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 0.5),
        *("--ledger", ledger, "--dataset", "people", "--out", tmp_path / "m"),
    )
    shown = run("ledger", "show", ledger).stdout
    assert "epsilon = 0.5" in shown
    assert "released" in shown
    told = json.loads(run("ledger", "show", ledger, "people", "--json").stdout)
    assert told["accounts"][0]["remaining"] == 1.5
    refused(run("ledger", "show", ledger, "nobody"), "nobody")
    checked = json.loads(run("ledger", "verify", ledger, "--json").stdout)
    assert checked["intact"] is True
    assert checked["entries"] == 3
    assert run("ledger", "verify", ledger, "--head", told["head"]).exit_code == 0
    refused(run("ledger", "verify", ledger, "--head", "0" * 64), "rolled back")
    lines = run("ledger", "export", ledger).stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["open", "reserve", "settle"]
    _forge(ledger)
    refused(run("ledger", "verify", ledger), "Entry 2")


def _forge(ledger: Path) -> None:
    connection = sqlite3.connect(ledger)
    connection.execute("UPDATE entries SET time = 'never' WHERE sequence = 2")
    connection.commit()
    connection.close()


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    refused(run("ledger", "show", tmp_path / "b.db"), "no ledger")
    assert list(tmp_path.iterdir()) == []
    refused(run("ledger", "show", "mysql://b"), "sqlite:///")
    (tmp_path / "odd.db").write_bytes(b"not a ledger at all, but long enough to look at" * 50)
    refused(run("ledger", "show", tmp_path / "odd.db"))


# -- doctor --------------------------------------------------------------------------------------


def test_doctor_is_well_here_and_notices_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(run("doctor", "--json").stdout)
    assert told["healthy"] is True
    assert "Everything works." in run("doctor").stdout

    from importlib import metadata

    real = metadata.version

    def without(name: str) -> Any:
        if name in ("scipy", "jinja2"):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without)
    sick = run("doctor", "--json")
    assert sick.exit_code == 1
    states = {one["what"]: one["state"] for one in json.loads(sick.stdout)["findings"]}
    assert states["scipy"] == "bad"
    assert states["jinja2"] == "missing"


def test_doctor_names_every_extra() -> None:
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    told = " ".join(purpose for _, purpose, _ in PACKAGES)
    for name, needs in extras["optional-dependencies"].items():
        assert not needs or name == "all" or re.search(rf"\bextra [^)]*\b{name}\b", told), name
