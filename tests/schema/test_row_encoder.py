"""Rows as requests bring them are encoded as tables are."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import DataError
from privet.schema import Categorical, Label, Numeric, Schema
from privet.schema.row_encoder import RowEncoder

COLUMNS = {
    "plain": Numeric(-3.0, 7.5),
    "gap": Numeric(0, 10, missing=4),
    "log": Numeric(0.5, 1e6, log=True),
    "log0": Numeric(0, 1e6, log=True, missing=0),
    "bent": Numeric(-3.0, 7.5, knots=4),
    "bent_log": Numeric(0, 1e6, log=True, missing=3, knots=3),
    "word": Categorical(("a", "b", "é")),
    "none": Categorical(("x", "y"), other=False),
    "whole": Categorical((1, 2, 30)),
    "truth": Categorical((True, False)),
}
NUMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["1", "1.0", " 30 ", "true", "", "-4e300"]),
)
CELLS = NUMBERS | st.sampled_from(["a", "b", "é", "e\u0301", "x", " y ", "TRUE", "4,5"])
ROWS = st.lists(
    st.fixed_dictionaries(
        {name: NUMBERS if isinstance(c, Numeric) else CELLS for name, c in COLUMNS.items()}
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("rows", ["scaled", "unit"])
@settings(max_examples=60, deadline=None)
@given(asked=ROWS)
def test_a_row_is_encoded_as_in_a_table(rows: Any, asked: list[dict[str, Any]]) -> None:
    schema = Schema(COLUMNS, Label("y", ("no", "yes")), rows=rows)
    table = pl.DataFrame(
        {name: pl.Series([row[name] for row in asked], dtype=pl.Object) for name in COLUMNS}
    )
    np.testing.assert_allclose(
        RowEncoder(schema)(asked), schema.encode_features(table), rtol=0, atol=1e-15
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"age": 3}, "no cell 'sex'"),
        ({"age": 3, "sex": "f", "name": "Ada"}, "does not declare"),
        ({"age": [3], "sex": "f"}, "'age' must be a finite number"),
        ({"age": 3, "sex": {"f": 1}}, "'sex' must be a finite number"),
        ({"age": "Ada", "sex": "f"}, "'age' must be a number; a text"),
        ({"age": "inf", "sex": "f"}, "'age' must be a number; a text"),
    ],
)
def test_a_row_of_another_shape_is_refused_without_its_values(
    row: dict[str, Any], words: str
) -> None:
    schema = Schema({"age": Numeric(0, 99), "sex": Categorical(("f", "m"))}, Label("y", (0, 1)))
    with pytest.raises(DataError, match=words) as caught:
        RowEncoder(schema)([row])
    assert "Ada" not in str(caught.value)
