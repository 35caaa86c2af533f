"""Names, pipes, labels and damage in other people's files, seen from the command line."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from privet import Ledger, LogisticRegression, PureDP, Schema, fit_table, load
from privet.errors import DataError, DeclarationError, LedgerError
from privet.schema import draft
from tests.cli.people import misused, refused, run
from tests.cli.test_hostile import rewritten
from tests.cli.test_look import at_a_terminal

SCHEMA = '[label]\nname = "y"\nclasses = {classes}\n[columns.{column}]\nlow = 0\nhigh = 9\n'


def header(path: Path) -> dict[str, object]:
    raw = path.read_bytes()
    return dict(json.loads(raw[16 : 16 + int.from_bytes(raw[8:16], "little")]))


@pytest.fixture
def copied(people: Path, tmp_path: Path) -> Path:
    path = tmp_path / "m.privet"
    path.write_bytes((people / "model.privet").read_bytes())
    return path


# -- pipes -----------------------------------------------------------------------------------------


def test_no_command_waits_for_a_pipe(people: Path, tmp_path: Path) -> None:
    pipe, model = tmp_path / "pipe", people / "model.privet"
    os.mkfifo(pipe)
    page = tmp_path / "page.html"
    commands = [
        ["statement", pipe],
        ["report", pipe, "--out", page],
        ["predict", pipe, people / "people.csv"],
        ["predict", model, pipe],
        ["schema", "check", pipe],
        ["schema", "draft", pipe],
        ["report", model, "--evaluation", pipe, "--out", page],
        ["report", model, "--intervals", pipe, "--out", page],
        ["ledger", "show", pipe],
        ["ledger", "verify", pipe],
        ["train", "--config", pipe],
    ]
    code = (
        "import json, sys\nfrom tests.cli.people import run\n"
        "print(json.dumps([run(*each).exit_code for each in json.loads(sys.argv[1])]))"
    )
    listed = json.dumps([[str(word) for word in each] for each in commands])
    done = subprocess.run(
        [sys.executable, "-c", code, listed],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert json.loads(done.stdout) == [1] * 10 + [2]


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    ["g", "float", "<f16", "c16", "V8", "M8[s]", "O", "f8,f8", "(3,)f8", "S5", "i8" * 500, 7, None],
)
def test_types_of_labels_are_a_closed_list(copied: Path, dtype: object) -> None:
    rewritten(copied, classes={"dtype": dtype, "values": [0, 1]})
    with pytest.raises(DataError):
        load(copied)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("<i8", [0, 1]), (">i4", [0, 1]), ("|b1", [False, True]), ("<U3", ["a", "b"])],
)
def test_types_that_labels_have_are_read(copied: Path, dtype: str, values: list[object]) -> None:
    rewritten(copied, classes={"dtype": dtype, "values": values})
    assert load(copied).classes_.tolist() == values


@pytest.mark.parametrize(
    "values", [[], ["a"], ["a", "a"], ["x" * 1_000_000, *("a" * i for i in range(1, 200))], [1, 2]]
)
def test_labels_of_one_class_or_of_any_length_are_refused(
    copied: Path, values: list[object]
) -> None:
    """One wide label makes numpy's array as wide for all: ten megabytes would become terabytes."""
    rewritten(copied, classes={"dtype": "<U1", "values": values})
    refused(run("statement", copied))


def test_ten_megabytes_of_labels_are_refused(copied: Path) -> None:
    rewritten(copied, classes={"dtype": "<U7", "values": [f"{i:07d}" for i in range(1_000_000)]})
    refused(run("statement", copied))


# -- digests ---------------------------------------------------------------------------------------


def test_a_changed_evaluation_is_found(people: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "e.json", tmp_path / "p.html"
    model, table = people / "model.privet", people / "people.csv"
    measured = run("evaluate", model, table, "--epsilon", 2, "--training-rows", "--out", out)
    assert measured.exit_code == 0, measured.output
    assert run("report", model, "--evaluation", out, "--out", page).exit_code == 0
    text = out.read_text()
    record = json.loads(text)
    for old, new in (('"n": 1500', '"n": 1501'), ('"sha256"', '"sha257"'), (" 2,\n", " 1,\n")):
        assert old in text
        out.write_text(text.replace(old, new, 1))
        refused(run("report", model, "--evaluation", out, "--out", page, "--force"))
    record.pop("sha256")
    out.write_text(json.dumps(record | {"version": 1}))  # as files were before
    assert run("report", model, "--evaluation", out, "--out", page, "--force").exit_code == 0


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["\x1b[2J", "\x9b2J", "\u202e", "\u2066", "\x07", "\x7f", "\r"])
def test_signs_that_a_terminal_obeys_are_in_no_declared_name(sign: str) -> None:
    name = json.dumps(f"a{sign}b")
    for text in (
        SCHEMA.format(classes=f'["a", {name}]', column="x"),
        SCHEMA.format(classes='["a", "b"]', column=name),
    ):
        with pytest.raises(DeclarationError, match="control characters") as caught:
            Schema.from_toml(text)
        assert sign not in str(caught.value)
    written = draft({"y": ["a", "b"], f"a{sign}b": [1, 2]}, label="y")
    assert sign not in written


@pytest.mark.parametrize(
    ("one", "other"), [("x", "X"), ("x", "ｘ"), ("caf\u00e9", "cafe\u0301"), ("x", "\u0445")]
)
def test_names_that_look_the_same_are_refused(one: str, other: str, tmp_path: Path) -> None:
    more = f'[columns."{other}"]\nlow = 0\nhigh = 1\n'
    with pytest.raises(DeclarationError, match=r"line 7, column \d+: .* look the same"):
        Schema.from_toml(SCHEMA.format(classes='["a", "b"]', column=f'"{one}"') + more)
    ledger = Ledger(f"sqlite:///{tmp_path / 'l.db'}")
    ledger.open(f"{one} 1", cap=PureDP(1.0))
    with pytest.raises(LedgerError, match="looks the same"):
        ledger.open(f"{other} 1", cap=PureDP(1.0))
    ledger.open("something else", cap=PureDP(1.0))


def test_an_accent_is_the_same_sign_however_a_file_writes_it() -> None:
    text = SCHEMA.format(classes='["caf\u00e9", "tea"]', column="x")
    table = {"x": [1, 2, 3], "y": ["caf\u00e9", "cafe\u0301", "tea"]}
    assert Schema.from_toml(text).encode(table).y.tolist() == ["caf\u00e9", "caf\u00e9", "tea"]


def test_what_is_printed_from_a_model_file_moves_no_cursor(copied: Path, people: Path) -> None:
    evil = "\x1b]0;t\x07\x9b2J\u202eevil"
    guarantee = dict(header(copied)["guarantee"])  # type: ignore[call-overload]
    rewritten(
        copied,
        classes={"dtype": "<U9", "values": [evil, "b"]},
        guarantee={**guarantee, "unit": evil, "assumptions": [evil]},
    )
    for command in (
        ("statement", copied),
        ("statement", copied, "--json"),
        ("predict", copied, people / "people.csv", "--probabilities"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert "evil" in result.stdout
        assert not set("\x1b\x07\x9b\u202e") & set(result.output)


# -- spreadsheets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("@SUM(1)", "'@SUM(1)"),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("＝1+1", "'＝1+1"),
        ("-", "-"),
        ("+", "+"),
        ("-1.5", "-1.5"),
        ("<=50K", "<=50K"),
    ],
)
def test_a_class_is_no_formula_in_a_spreadsheet(
    copied: Path, people: Path, tmp_path: Path, label: str, cell: str
) -> None:
    rewritten(copied, classes={"dtype": "<U9", "values": [label, "zz"]})
    out = tmp_path / "p.csv"
    assert run("predict", copied, people / "people.csv", "--out", out).exit_code == 0
    found = {row[0] for row in csv.reader(io.StringIO(out.read_text()))}
    assert cell in found
    assert found <= {"prediction", cell, "zz"}


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1])
@pytest.mark.parametrize("kind", ["arrow", "gaps", "dictionary", "dict"])
def test_whole_numbers_beyond_floats_are_quoted_nowhere(number: int, kind: str) -> None:
    """Arrow's own cast refuses them with the value in its text."""
    values = [number] * 59
    columns = {
        "arrow": pa.array([*values, 1]),
        "gaps": pa.array([*values, None]),
        "dictionary": pa.array([*values, 1]).dictionary_encode(),
        "dict": [*values, 1],
    }
    schema = Schema.from_toml(SCHEMA.format(classes="[0, 1]", column="x"))
    table = {"x": columns[kind], "y": [0, 1] * 30}
    frame = table if kind == "dict" else pa.table(table)
    assert np.isfinite(schema.encode(frame).x).all()
    fit_table(LogisticRegression(1.0), schema, frame)
    assert str(number) not in draft(frame, label="y")
    assert schema.compare(frame).exceeding == ("x",)


def test_identifiers_beyond_floats_stay_apart() -> None:
    ids = [2**53, 2**53 + 1, 2**53, 2**53 + 1]
    text = SCHEMA.format(classes="[0, 1]", column="x") + '[person]\ncolumn = "p"\nmost_rows = 1\n'
    table = pa.table({"x": [9, 9, 9, 9], "y": [1, 1, 1, 1], "p": ids})
    encoded = Schema.from_toml(text).encode(table, as_rows=True)
    assert (encoded.x[:, 0] != 0).tolist() == [True, True, False, False]


def test_a_parquet_file_that_claims_any_number_of_rows_asks_for_no_memory(tmp_path: Path) -> None:
    from privet.schema.encode import _Growing

    grown = _Growing(1 << 60, (3,), np.float64)
    grown.take(2)[:] = 1.0
    assert grown.finished().shape == (2, 3)


# -- a look at what is predicted -------------------------------------------------------------------


def test_a_decimal_comma_in_a_table_to_predict_is_noted_at_a_terminal(
    people: Path, tmp_path: Path
) -> None:
    lines = (people / "people.csv").read_text().splitlines()
    place = lines[0].split(",").index("age")
    rows = [line.split(",") for line in lines[1:50]]
    changed = [[*row[:place], f'"{row[place]},5"', *row[place + 1 :]] for row in rows]
    table = tmp_path / "t.csv"
    table.write_text("\n".join([lines[0], *map(",".join, changed)]) + "\n")
    predict = ("predict", people / "model.privet", table, "--out", tmp_path / "p.csv", "--force")
    code, _, seen = at_a_terminal(*predict)
    told = " ".join(seen.split())
    assert code == 0
    assert "of age, 100.0 % of the cells are not as declared" in told
    assert "decimal comma" in told
    quiet = run(*predict)
    assert quiet.exit_code == 0
    assert "declared" not in quiet.stderr
    good = tmp_path / "g.csv"
    good.write_text("\n".join([lines[0], *lines[10:60]]) + "\n")
    assert (
        "declared" not in at_a_terminal("predict", people / "model.privet", good, "--out", "-")[2]
    )


# -- other texts -----------------------------------------------------------------------------------


def test_hostile_configurations_and_candidates_are_refused(people: Path, tmp_path: Path) -> None:
    place = tmp_path / "c.toml"
    for text in ("x = " + "[" * 9000, "x = " + "9" * 5000, ".".join("a" * 9000) + " = 1", "\ufffe"):
        place.write_text(text)
        misused(run("train", "--config", place), "is not a TOML file")
        tune = ("tune", people / "people.csv", "--schema", people / "schema.toml", "--epsilon", 1)
        refused(run(*tune, "--candidates", place, "--out", tmp_path / "m"), "is not a TOML file")


def test_a_mistake_in_a_long_list_is_found_at_once() -> None:
    """To find its line took one parse for each line of the list before."""
    text = SCHEMA.format(classes='["a", "b"]', column="x")
    text += "categories = [\n" + '"a",\n' * 20_000 + "]\n"
    with pytest.raises(DeclarationError, match="line 5, column 1: Unknown key 'low'"):
        Schema.from_toml(text)


def test_a_terminal_without_umlauts_ends_no_command(people: Path, tmp_path: Path) -> None:
    schema = tmp_path / "s.toml"
    schema.write_text(SCHEMA.format(classes='["a", "b"]', column='"größer"'))
    done = subprocess.run(
        [sys.executable, "-m", "privet", "schema", "check", str(schema)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"gr\\xf6\\xdfer" in done.stdout
