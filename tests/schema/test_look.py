"""The look before a budget is spent: counted by hand, cell by cell, and its guesses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from privet.errors import DeclarationError
from privet.schema import Categorical, FileFormat, Label, Numeric, Person, Schema, Tolerance
from privet.schema.cells import lookup, number_of, text_of
from privet.schema.look import BEYOND, NOT_A_NUMBER, OUTSIDE, UNDECLARED
from tests.schema.tables import hostile_tables, schemas

pd = pytest.importorskip("pandas")


def seen(schema: Schema, table: Any) -> dict[str, Any]:
    return {column.name: column for column in schema.compare(table).columns}


@given(schemas().flatmap(lambda s: hostile_tables(s).map(lambda t: (s, t))))
def test_the_counts_are_those_of_the_cells(both: tuple[Schema, dict[str, list[Any]]]) -> None:
    schema, table = both
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in table.items()})
    found = seen(schema, frame)
    for name, declared in [(schema.label.name, schema.label), *schema.columns.items()]:
        missing = outside = words = unknown = 0
        for cell in table[name]:
            number = number_of(cell)
            if text_of(cell) is None and not (isinstance(declared, Numeric) and number == number):
                missing += 1
            elif isinstance(declared, Numeric):
                words += math.isnan(number)
                outside += not math.isnan(number) and not declared.low <= number <= declared.high
            else:
                values = declared.classes if isinstance(declared, Label) else declared.categories
                unknown += lookup(values)(cell) < 0
        counted = {NOT_A_NUMBER: words, OUTSIDE: outside, UNDECLARED: unknown}
        assert found[name].missing == missing
        assert found[name].misses == {kind: count for kind, count in counted.items() if count}
        assert found[name].rows == len(frame)


AGES = Schema(
    {"age": Numeric(0, 110), "dose": Numeric(0, 5, missing=1.0), "ward": Categorical(["A", "B"])},
    Label("ill", ["no", "yes"]),
    Person("who", 2),
)
FINE = {
    "age": ["50"] * 100,
    "dose": ["1.5"] * 100,
    "ward": ["A", "B"] * 50,
    "ill": ["no", "yes"] * 50,
    "who": [f"p{i}" for i in range(100)],
}


def test_a_table_that_fits_raises_no_question() -> None:
    assert AGES.compare(pd.DataFrame(FINE)).exceeding == ()


@pytest.mark.parametrize(
    ("name", "cells", "hint"),
    [
        ("ill", ["No", "Yes"] * 50, "another case"),
        ("ill", ["nein", "ja"] * 50, "no cell is one of the declared values"),
        ("ill", [""] * 100, "every cell is empty"),
        ("ward", ["a", "b"] * 50, "another case"),
        ("age", ["50,5"] * 100, 'decimal = ","'),
        ("age", ["0,125"] * 100, 'decimal = ","'),
        ("age", ["1,050"] * 100, "thousand separators"),
        ("age", ["1.050,25"] * 100, "thousand separators"),
        ("age", ["1\u202f050"] * 100, "thousand separators"),
        ("age", ["600"] * 100, "another unit"),
        ("age", ["old"] * 100, "no cell is a number"),
        ("age", [""] * 60 + ["50"] * 40, "declare what they count as, missing = "),
        ("age", ["NA"] * 60 + ["50"] * 40, "a word for a gap"),
    ],
)
def test_what_would_spend_the_budget_in_silence_is_told(
    name: str, cells: list[str], hint: str
) -> None:
    look = AGES.compare(pd.DataFrame({**FINE, name: cells}))
    assert look.exceeding == (name,)
    (column,) = (column for column in look.columns if column.name == name)
    assert hint in column.hint


def test_a_decimal_point_where_a_comma_was_declared(tmp_path: Path) -> None:
    schema = Schema({"a": Numeric(0, 9)}, Label("y", [0, 1]), file=FileFormat(decimal=","))
    path = tmp_path / "t.csv"
    path.write_text("a;y\n" + "1.25;0\n2.5;1\n" * 50)
    column = seen(schema, path)["a"]
    assert column.misses == {NOT_A_NUMBER: 100}
    assert 'decimal = "."' in column.hint


def test_gaps_with_a_declared_value_raise_no_question() -> None:
    empty = ["", "1.5"] * 50
    assert AGES.compare(pd.DataFrame({**FINE, "dose": empty})).exceeding == ()
    assert AGES.compare(pd.DataFrame({**FINE, "age": empty})).exceeding == ("age",)


def test_rows_that_do_not_count_for_their_person_are_told() -> None:
    look = AGES.compare(pd.DataFrame({**FINE, "who": ["p", "q"] * 50}))
    assert look.exceeding == ("who",)
    assert look.columns[-1].misses == {BEYOND: 96}


@pytest.mark.parametrize(("wrong", "asked"), [(1, False), (2, True)])
def test_the_share_of_labels_is_one_in_a_hundred(wrong: int, asked: bool) -> None:
    labels = ["never"] * wrong + FINE["ill"][wrong:]
    assert bool(AGES.compare(pd.DataFrame({**FINE, "ill": labels})).exceeding) is asked


@pytest.mark.parametrize(("wrong", "asked"), [(5, False), (6, True)])
def test_the_share_of_cells_is_five_in_a_hundred(wrong: int, asked: bool) -> None:
    wards = ["Z"] * wrong + FINE["ward"][wrong:]
    assert bool(AGES.compare(pd.DataFrame({**FINE, "ward": wards})).exceeding) is asked


def test_the_shares_are_declared() -> None:
    text = AGES.to_toml() + "\n[look]\ncells = 0.5\nlabels = 0.2\n"
    declared = Schema.from_toml(text)
    assert declared.look == Tolerance(0.5, 0.2)
    assert Schema.from_toml(declared.to_toml()) == declared
    table = pd.DataFrame({**FINE, "age": ["x"] * 50 + ["1"] * 50, "ill": ["x"] * 20 + ["no"] * 80})
    assert AGES.compare(table).exceeding == ("ill", "age")
    assert declared.compare(table).exceeding == ()
    for wrong in ("cells = 2", "labels = -0.1", 'cells = "x"', "cells = true"):
        with pytest.raises(DeclarationError, match="between 0 and 1"):
            Schema.from_toml(AGES.to_toml() + f"\n[look]\n{wrong}\n")
