"""Drafts: questions by default, and marked proposals when the data may be read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import DataError, DeclarationError
from privet.schema import Categorical, Label, Numeric, Schema, draft
from tests.schema.tables import CONTAINERS, TEXT

TABLE = {
    "age": [23, 67, 41, 38],
    "blood group": ["A", "B", None, "A"],
    "smoker": [True, False, True, None],
    "dose": [0.123, 17.0, math.nan, -4.56],
    "ill": ["yes", "no", "no", "yes"],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_draft_tells_names_and_types_and_no_cell(name: str, tmp_path: Path) -> None:
    text = draft(CONTAINERS[name](TABLE, tmp_path), "ill")
    for secret in ("23", "67", '"A"', "17", "0.12", "4.56", '"yes"', "from_data"):
        assert secret not in text
    for column in TABLE:
        assert column in text
    with pytest.raises(DeclarationError, match=r"line \d+, column 1: .*still (hold )?'\?'"):
        Schema.from_toml(text)


def test_a_draft_that_was_filled_in_is_a_schema(tmp_path: Path) -> None:
    text = draft(CONTAINERS["arrow_table"](TABLE, tmp_path), "ill")
    text = text.replace('low = "?"', "low = 0").replace('high = "?"', "high = 100")
    text = text.replace('classes = ["?"]', 'classes = ["no", "yes"]')
    text = text.replace('categories = ["?"]', 'categories = ["A", "B"]')
    schema = Schema.from_toml(text)
    assert list(schema.columns) == [name for name in TABLE if name != "ill"]
    assert schema.columns["smoker"] == Categorical([False, True], other=False)
    assert schema.unconfirmed == ()


def test_without_a_label_its_name_is_asked_for(tmp_path: Path) -> None:
    text = draft(CONTAINERS["csv_file"](TABLE, tmp_path))
    with pytest.raises(DeclarationError, match=r"label\.name, label\.classes"):
        Schema.from_toml(text)


@pytest.mark.parametrize("name", [n for n in CONTAINERS if not n.startswith("pandas")])
def test_proposals_from_the_data_are_marked(name: str, tmp_path: Path) -> None:
    schema = Schema.from_toml(draft(CONTAINERS[name](TABLE, tmp_path), "ill", from_data=True))
    assert schema.columns["age"] == Numeric(23, 67, from_data=True)
    assert schema.columns["dose"] == Numeric(-4.6, 17, from_data=True)
    assert schema.columns["blood group"] == Categorical(["A", "B"], from_data=True)
    assert schema.label == Label("ill", ["no", "yes"], from_data=True)
    assert schema.unconfirmed == ("age", "blood group", "dose", "ill")


def test_identifiers_dates_and_empty_columns_are_left_to_the_person() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(60)],
            "born": pd.Timestamp("1931-05-06"),
            "empty": [math.nan] * 60,
            "same": 5.0,
            "grade": [1, 2, 3] * 20,
        }
    )
    text = draft(table, "grade", from_data=True)
    assert "more than 50 different values" in text
    assert "p17" not in text
    assert "# [columns.born]" in text
    assert "1931" not in text
    text = text.replace('low = "?"', "low = 0").replace('high = "?"', "high = 1")
    schema = Schema.from_toml(text.replace('categories = ["?"]', 'categories = ["x"]'))
    assert schema.label == Label("grade", [1, 2, 3], from_data=True)
    assert schema.columns["same"] == Numeric(4, 6, from_data=True)


def test_a_label_that_is_not_there() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(
        DataError, match=r"no column 'ill' that could be the label. Its columns are 'a'"
    ):
        draft(pd.DataFrame({"a": [1]}), "ill")


@given(
    st.dictionaries(
        TEXT,
        st.lists(st.floats() | TEXT | st.none() | st.booleans(), min_size=3, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_a_draft_of_anything_can_be_parsed(table: dict[str, list[Any]]) -> None:
    import tomllib

    pd = pytest.importorskip("pandas")
    for from_data in (False, True):
        tomllib.loads(draft(pd.DataFrame(table), from_data=from_data))


def test_every_open_question_is_named_at_once() -> None:
    text = draft(pd.DataFrame({"age": [1.5], "ward": ["A"], "ill": ["no"]}), "ill")
    with pytest.raises(DeclarationError, match="4 answers") as found:
        Schema.from_toml(text)
    for name in ("label.classes", "columns.age.low", "columns.age.high", "columns.ward.categories"):
        assert name in str(found.value)


def test_a_csv_draft_says_that_cells_told_the_types(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,ward\n1,A\n")
    assert "was read from its first rows" in draft(tmp_path / "people.csv")
    assert "first rows" not in draft(pd.DataFrame({"age": [1], "ward": ["A"]}))
