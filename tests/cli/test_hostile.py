"""Files that are not what they should be: a sentence, exit code 1, no traceback, no value."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import pytest

from privet import load
from privet.cli import train as train_module
from privet.models.model_file import MAGIC
from tests.cli.people import CANARY, misused, refused, run


@pytest.mark.parametrize("command", ["statement", "report", "predict"])
@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 99, pickle.dumps({"a": 1}), MAGIC + b"\xff" * 64, b"PRIVET"]
)
def test_strange_model_files(people: Path, tmp_path: Path, command: str, content: bytes) -> None:
    path = tmp_path / "m.privet"
    path.write_bytes(content)
    more = [people / "people.csv"] if command == "predict" else []
    refused(run(command, path, *more))
    assert [each.name for each in tmp_path.iterdir()] == ["m.privet"]


def rewritten(path: Path, **changes: object) -> None:
    """The same model file with other header fields and a digest that fits again."""
    raw = path.read_bytes()[:-32]
    start = len(MAGIC) + 8
    length = int.from_bytes(raw[len(MAGIC) : start], "little")
    header = json.loads(raw[start : start + length]) | changes
    text = json.dumps(header).encode()
    body = MAGIC + len(text).to_bytes(8, "little") + text + raw[start + length :]
    path.write_bytes(body + hashlib.sha256(body).digest())


@pytest.mark.parametrize("schema", [7, "", "rows = 3\n[label]\n", "x = [\n1", "a\nb"])
def test_a_model_file_with_a_strange_schema(people: Path, tmp_path: Path, schema: object) -> None:
    path = tmp_path / "m.privet"
    path.write_bytes((people / "model.privet").read_bytes())
    rewritten(path, schema=schema)
    refused(run("predict", path, people / "people.csv"))
    refused(run("report", path))


def test_a_schema_of_another_width_is_refused(people: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.privet"
    path.write_bytes((people / "model.privet").read_bytes())
    narrow = '[label]\nname = "income"\nclasses = ["a", "b"]\n[columns.age]\nlow = 0\nhigh = 9\n'
    rewritten(path, schema=narrow)
    refused(run("predict", path, people / "people.csv"), "another number of columns")
    refused(run("report", path), "does not fit")


def test_names_in_a_model_file_cannot_write_on_the_terminal_or_into_the_page(
    people: Path, tmp_path: Path
) -> None:
    path = tmp_path / "m.privet"
    path.write_bytes((people / "model.privet").read_bytes())
    evil = "<script>alert(1)</script>\x1b[2J\x07$x$"
    raw = load(path).schema_
    rewritten(path, schema=raw.replace('"north"', json.dumps(evil)), feature_names=[])
    refused(run("report", path), "no control characters")
    shown = json.dumps(evil.replace("\x1b", "").replace("\x07", ""))
    rewritten(path, schema=raw.replace('"north"', shown), feature_names=[])
    assert run("report", path).exit_code == 0
    page = path.with_suffix(".html").read_text()
    assert "<script" not in page
    model = json.loads(run("statement", path, "--json").stdout)["guarantee"]
    rewritten(path, guarantee=model | {"unit": evil})
    text = run("statement", path).stdout
    assert "\x07" not in text
    assert "alert(1)" in text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b""),
        ("t.csv", b"\xff\xfe\x00\x01"),
        ("t.csv", b"age,income\n1,2,3\n4\n"),
        ("t.parquet", b"PAR1 nothing else"),
        ("t.xlsx", b"PK"),
        ("t.csv", b"age,income\n" + CANARY.encode() + b",1\n"),
    ],
)
def test_strange_tables(people: Path, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    fit = ("train", tmp_path / name, "--schema", people / "schema.toml", "--epsilon", 1)
    for command in (
        (*fit, "--out", tmp_path / "m"),
        ("predict", people / "model.privet", tmp_path / name),
    ):
        result = run(*command)
        refused(result)
        assert CANARY not in result.output
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_table_without_rows(people: Path, tmp_path: Path) -> None:
    head = (people / "people.csv").read_text().splitlines()[0]
    (tmp_path / "t.csv").write_text(head + "\n")
    fit = ("train", tmp_path / "t.csv", "--schema", people / "schema.toml", "--epsilon", 1)
    refused(run(*fit, "--out", tmp_path / "m"))
    refused(run("predict", people / "model.privet", tmp_path / "t.csv"))


def test_files_that_are_not_there(people: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.csv"
    for command in (
        ("statement", nothing),
        ("report", nothing),
        ("predict", nothing, people / "people.csv"),
        ("predict", people / "model.privet", nothing),
        ("schema", "check", nothing),
        ("schema", "draft", nothing),
    ):
        refused(run(*command), "nothing.csv")
    misused(run("train", "--config", nothing), "nothing.csv")
    refused(run("statement", tmp_path))


def test_an_unexpected_error_tells_its_kind_and_not_its_text(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError(f"could not convert {CANARY}")

    monkeypatch.setattr(train_module, "fit", broken)
    result = run(
        *("train", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 1),
        *("--out", tmp_path / "m"),
    )
    refused(result, "ValueError", unexpected=True)
    assert CANARY not in result.output


def test_warnings_are_notes(people: Path, tmp_path: Path) -> None:
    result = run(
        *("train", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 1),
        *("--regularization", 1e-9, "--out", tmp_path / "m"),
    )
    assert result.exit_code == 0
    assert "Note: regularization = 1e-09 is below the proven floor" in result.stderr


def test_the_canary_is_in_no_file(people: Path, tmp_path: Path) -> None:
    run("report", people / "model.privet", "--out", tmp_path / "r.html")
    for path in (people / "model.privet", tmp_path / "r.html"):
        assert CANARY.encode() not in path.read_bytes()
    assert CANARY.encode() in (people / "people.csv").read_bytes()
