"""TOML: what is written is read back, and a mistake is told with its line and column."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings

from privet.errors import DeclarationError
from privet.schema import Categorical, Label, Numeric, Person, Schema
from privet.schema.toml import locate
from tests.schema.tables import schemas

EXAMPLE = Path(__file__).parents[2] / "examples" / "adult.toml"

GOOD = """\
# a comment
rows = "unit"

[label]
name = "ill"
classes = ["no", "yes"]
missing = "yes"

[person]
column = "patient"
most_rows = 3

[columns.age]
low = 0
high = 110.5
missing = 40

[columns."blood group"]
categories = [
  "A", "B",
  "[columns.age]", "low = 1",
]
other = false

[columns.dose]
low = 1e-3
high = 500
log = true
from_data = true
"""

SCHEMA = Schema(
    {
        "age": Numeric(0, 110.5, missing=40),
        "blood group": Categorical(["A", "B", "[columns.age]", "low = 1"], other=False),
        "dose": Numeric(1e-3, 500, log=True, from_data=True),
    },
    Label("ill", ["no", "yes"], missing="yes"),
    Person("patient", 3),
    rows="unit",
)


def test_reading_text_and_files(tmp_path: Path) -> None:
    assert Schema.from_toml(GOOD) == SCHEMA
    path = tmp_path / "schema.toml"
    path.write_text(GOOD)
    assert Schema.from_toml(path) == Schema.from_toml(str(path)) == SCHEMA
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert Schema.from_toml(path) == SCHEMA


@given(schemas())
@settings(max_examples=100)
def test_what_is_written_is_read_back(schema: Schema) -> None:
    text = schema.to_toml()
    again = Schema.from_toml(text)
    assert again == schema
    assert again.to_toml() == text
    assert [type(c) for c in again.label.classes] == [type(c) for c in schema.label.classes]
    tomllib.loads(text)


def test_long_lists_are_broken_into_lines() -> None:
    schema = Schema({"c": Categorical([f"category {i}" for i in range(40)])}, SCHEMA.label)
    text = schema.to_toml()
    assert max(map(len, text.splitlines())) <= 100
    assert Schema.from_toml(text) == schema


def test_the_example_is_a_schema() -> None:
    schema = Schema.from_toml(EXAMPLE)
    assert schema.label.classes == ("<=50K", ">50K")
    assert len(schema.columns) == 12
    assert schema.unconfirmed == ()


def swap(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


MISTAKES = {
    "low above high": (
        swap("low = 0", "low = 200"),
        14,
        1,
        "Column 'age': low = 200 must be below",
    ),
    "open bound": (swap("low = 0", '  low = "?"'), 14, 3, "low is still '?'"),
    "text for a bound": (swap("high = 110.5", 'high = "x"'), 15, 1, "high must be a number"),
    "unknown key": (swap("missing = 40", "mising = 40"), 16, 1, "Unknown key 'mising'"),
    "unknown table": (GOOD + "[labels]\nx = 1\n", 30, 2, "Unknown key 'labels'"),
    "twice": (swap('"A", "B",', '"A", "A",'), 19, 1, "'A' is named twice"),
    "after a long list": (swap("other = false", "other = 0"), 23, 1, "other must be true or false"),
    "no high": (swap("high = 110.5\n", ""), 13, 10, "Column 'age' needs high"),
    "no kind": (swap("low = 0\nhigh = 110.5\n", ""), 13, 10, "needs low and high, or categories"),
    "both kinds": (swap("low = 0\n", "low = 0\ncategories = [1]\n"), 14, 1, "Unknown key 'low'"),
    "one class": (swap('["no", "yes"]', '["yes"]'), 6, 1, "classes must name at least 2"),
    "class for missing": (swap('missing = "yes"', 'missing = "x"'), 7, 1, "one of the classes"),
    "rows": (swap('rows = "unit"', 'rows = "units"'), 2, 1, "rows must be"),
    "most rows": (swap("most_rows = 3", "most_rows = 0"), 11, 1, "most_rows must be"),
    "label in columns": (
        GOOD + "[columns.ill]\nlow=0\nhigh=1\n",
        30,
        10,
        "label must not be among",
    ),
    "no table": (
        swap("[columns.age]", "[columns]\nage = 5\n[columns.other]"),
        14,
        1,
        "[columns.age]",
    ),
    "inline": ("label = {name = 'y',  classes = [1]}\n\n[columns]\n", 1, 23, "at least 2"),
    "no label": ("[columns.a]\nlow = 0\nhigh = 1\n", 4, 1, "needs the table [label]"),
    "no columns": ('[label]\nname = "y"\nclasses = [0, 1]\n', 4, 1, "needs the table [columns]"),
    "empty columns": (
        '[columns]\n[label]\nname="y"\nclasses=[0, 1]\n',
        1,
        2,
        "at least one column",
    ),
    "syntax": (swap("low = 0", "low = "), 14, 7, "Invalid value"),
    "key twice": (swap("low = 0", "low = 0\nlow = 1"), 15, 8, "overwrite"),
    "open text": (GOOD + 'x = "', 30, 6, "Unterminated string"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_place(name: str, tmp_path: Path) -> None:
    text, line, column, words = MISTAKES[name]
    with pytest.raises(DeclarationError, match=re.escape(words)) as error:
        Schema.from_toml(text)
    assert str(error.value).startswith(f"line {line}, column {column}: ")
    assert str(error.value).endswith(".")
    path = tmp_path / "hospital.toml"
    path.write_text(text)
    with pytest.raises(DeclarationError, match=rf"hospital\.toml, line {line}, column {column}: "):
        Schema.from_toml(path)


@given(schemas())
def test_every_key_of_a_written_schema_is_found(schema: Schema) -> None:
    """Against names and texts that look like headings and keys."""
    text = schema.to_toml()
    lines = text.split("\n")
    starts = [i + 1 for i, line in enumerate(lines) if line.startswith("[columns.")]
    found = [locate(text, ("columns", name))[0] for name in schema.columns]
    assert found == [i for i in starts if i in found]
    assert len(set(found)) == len(schema.columns)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"There is no schema .*schema draft"):
        Schema.from_toml(tmp_path / "none.toml")
    with pytest.raises(DeclarationError, match="There is no schema"):
        Schema.from_toml("none.toml")
    with pytest.raises(DeclarationError, match="cannot be read as a file"):
        Schema.from_toml(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DeclarationError, match="not UTF-8"):
        Schema.from_toml(path)
