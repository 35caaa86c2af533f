"""Encoded rows: in the unit ball whatever the table holds, and each a function of its own row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import DataError, DeclarationError
from privet.rows.ball import in_ball
from privet.schema import Categorical, Encoded, Label, Numeric, Person, Schema
from privet.schema import tables as opened
from tests.schema.tables import hostile_tables, schemas

pd = pytest.importorskip("pandas")

TINY = Schema(
    {"age": Numeric(0, 100), "ward": Categorical(["A", "B"])}, Label("ill", ["no", "yes"])
)
S = TINY.factor


def frame(table: dict[str, list[Any]]) -> Any:
    """Each column with the type that pandas infers from all of its cells."""
    return pd.DataFrame({name: pd.Series(cells) for name, cells in table.items()})


def same(one: Encoded, other: Encoded) -> bool:
    return np.array_equal(one.x, other.x) and list(one.y) == list(other.y)


# -- the unit ball -----------------------------------------------------------------------------


@given(st.data(), schemas(), st.sampled_from([np.float64, np.float32]))
@settings(max_examples=80)
def test_every_row_is_in_the_unit_ball(data: st.DataObject, schema: Schema, dtype: Any) -> None:
    table = frame(data.draw(hostile_tables(schema)))
    x, y = schema.encode(table, dtype=dtype, as_rows=True)
    assert x.shape == (len(table), schema.width)
    assert x.dtype == dtype
    assert np.isfinite(x).all()
    assert (np.linalg.norm(x, axis=1) <= 1.0).all()
    assert ((x * x).sum(axis=1) <= 1.0).all()
    assert not len(x) or in_ball(x, 1.0)[1] is None
    assert set(y.tolist()) <= set(schema.label.classes)


@pytest.mark.parametrize("rows", ["scaled", "unit"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 7, 10, 11, 14, 49, 99, 300, 1000])
def test_no_corner_passes_one_by_rounding(k: int, dtype: Any, rows: Any) -> None:
    """The longest rows there are: every number at a bound, every category declared."""
    columns = {f"c{i}": Categorical(["a"]) if i % 2 else Numeric(0.1, 0.3) for i in range(k)}
    schema = Schema(columns, Label("y", [0, 1]), rows=rows)
    table = {name: ["a" if i % 2 else 9.0] * 2 for i, name in enumerate(columns)}
    x = schema.encode_features(frame(table), dtype=dtype)
    assert 0.999 < np.linalg.norm(x, axis=1).max() <= 1.0
    assert (np.einsum("ij,ij->i", x, x) <= 1.0).all()
    assert sum(float(v) ** 2 for v in x[0]) <= 1.0
    assert in_ball(x, 1.0)[1] is None


def test_unit_rows_have_norm_one_and_zero_rows_stay() -> None:
    schema = Schema({"a": Numeric(-1, 1), "b": Numeric(-1, 1)}, TINY.label, rows="unit")
    x = schema.encode_features(frame({"a": [3e-16, 1.0, 0.0], "b": [0.0, 1.0, 0.0]}))
    assert np.linalg.norm(x, axis=1) == pytest.approx([1, 1, 0], abs=1e-5)
    assert x[2].tolist() == [0.0, 0.0]


# -- a function of the row alone ---------------------------------------------------------------


@given(st.data(), schemas())
@settings(max_examples=80)
def test_a_row_is_encoded_as_if_it_were_alone(data: st.DataObject, schema: Schema) -> None:
    """Also when the types that pandas infers change with the company."""
    schema = Schema(schema.columns, schema.label, None, schema.rows)
    table = data.draw(hostile_tables(schema))
    whole = schema.encode(frame(table), as_rows=True)
    assert np.array_equal(
        schema.encode_features(frame(table))[whole.x.any(axis=1)], whole.x[whole.x.any(axis=1)]
    )
    for i in range(len(whole.y)):
        alone = schema.encode(
            frame({name: [cells[i]] for name, cells in table.items()}), as_rows=True
        )
        assert same(alone, Encoded(whole.x[[i]], whole.y[[i]]))


@given(st.data(), schemas())
def test_permuted_split_and_joined_tables_encode_alike(data: st.DataObject, schema: Schema) -> None:
    schema = Schema(schema.columns, schema.label, None, schema.rows)
    table = pd.DataFrame(data.draw(hostile_tables(schema)), dtype=object)
    order = data.draw(st.permutations(range(len(table))))
    cut = data.draw(st.integers(0, len(table)))
    whole = schema.encode(table, as_rows=True)
    shuffled = schema.encode(table.iloc[list(order)], as_rows=True)
    assert same(shuffled, Encoded(whole.x[list(order)], whole.y[list(order)]))
    head, tail = (
        schema.encode(table.iloc[:cut], as_rows=True),
        schema.encode(table.iloc[cut:], as_rows=True),
    )
    assert same(whole, Encoded(np.concatenate([head.x, tail.x]), np.concatenate([head.y, tail.y])))


@pytest.mark.parametrize("rows", ["scaled", "unit"])
def test_the_size_of_batches_changes_nothing(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema(TINY.columns, TINY.label, Person("id", 2), rows)
    table = {
        "age": [*range(9)],
        "ward": list("ABCABCABC"),
        "ill": ["yes"] * 9,
        "id": [1, 1, 2, 1, 2, 2, 3, 1, 4],
    }
    whole = schema.encode(frame(table), as_rows=True)
    monkeypatch.setattr(opened, "BATCH", 2)
    assert same(schema.encode(frame(table), as_rows=True), whole)


# -- values ------------------------------------------------------------------------------------


def test_numbers_are_clipped_and_centered() -> None:
    table = frame({"age": [0, 25, 50, 100, -5, 1e9, math.inf, -math.inf], "ward": ["A"] * 8})
    assert TINY.encode_features(table)[:, 0] / S == pytest.approx([-1, -0.5, 0, 1, -1, 1, 1, -1])


@pytest.mark.parametrize("gap", [None, math.nan, "unknown", "", "?", "1O", [5], b"5", 1j])
def test_what_is_no_number_takes_the_declared_value(gap: Any) -> None:
    table = pd.DataFrame({"age": pd.Series([gap, "75"], dtype=object), "ward": ["A", "A"]})
    assert TINY.encode_features(table)[:, 0] / S == pytest.approx([0, 0.5])
    declared = Schema({**TINY.columns, "age": Numeric(0, 100, missing=100)}, TINY.label)
    assert declared.encode_features(table)[:, 0] / S == pytest.approx([1, 0.5])


def test_logarithms() -> None:
    table = frame({"a": [1, 10, 100, 0], "b": [0, 9, 99, -1]})
    columns = {"a": Numeric(1, 100, log=True), "b": Numeric(0, 99, log=True)}
    schema = Schema(columns, TINY.label)
    expected = np.array([[-1, -1], [0, 0], [1, 1], [-1, -1]])
    assert schema.encode_features(table) / schema.factor == pytest.approx(expected)
    assert [column.middle for column in columns.values()] == pytest.approx([10, 9])


def test_categories_are_one_hot_and_the_rest_is_other() -> None:
    wards = ["A", " B ", "C", None, math.nan, "", 5, "a"]
    table = pd.DataFrame({"age": [50] * 8, "ward": pd.Series(wards, dtype=object)})
    hot = [0, 1, 2, 2, 2, 2, 2, 2]
    assert np.array_equal(TINY.encode_features(table)[:, 1:] / S, np.eye(3)[hot])
    columns = {"age": Numeric(0, 100), "ward": Categorical(["A", "B"], other=False)}
    strict = Schema(columns, TINY.label)
    assert np.array_equal(strict.encode_features(table)[:, 1:] / S, np.eye(4)[hot][:, :2] * 1.0)


@pytest.mark.parametrize(
    ("declared", "cells"),
    [
        ([0, 1], [0, 1.0, "1", "1.0", "01", True, False, "true", np.int8(1), "FALSE"]),
        ([False, True], [0, 1.0, "1", "1.0", "01", True, False, "true", np.int8(1), "False"]),
        (
            ["false", "true"],
            [False, True, "true", "true", "true", True, False, "true", np.True_, False],
        ),
    ],
)
def test_one_value_in_many_spellings(declared: Any, cells: list[Any]) -> None:
    """True in a column of booleans is 1 in a column of numbers and "1" in a file."""
    schema = Schema({"c": Categorical(declared, other=False)}, Label("y", declared))
    table = pd.DataFrame({"c": pd.Series(cells, dtype=object), "y": pd.Series(cells, dtype=object)})
    x, y = schema.encode(table, as_rows=True)
    expected = [0, 1, 1, 1, 1, 1, 0, 1, 1, 0]
    assert x.argmax(axis=1).tolist() == expected
    assert x.any(axis=1).all()
    assert y.tolist() == [declared[i] for i in expected]


def test_a_true_among_numbers_is_not_the_number_one() -> None:
    """They are equal as keys of a dictionary, so which came first must not decide."""
    schema = Schema({"c": Categorical(["1", "true"], other=False)}, TINY.label)
    for cells in ([1, True], [True, 1], [1.0, True, 1]):
        x = schema.encode_features(pd.DataFrame({"c": pd.Series(cells, dtype=object)}))
        assert x.argmax(axis=1).tolist() == [int(cell is True) for cell in cells]


def test_objects_hidden_behind_a_hundred_texts_are_told_apart() -> None:
    """A pandas column passes for text when its first rows do, whatever comes later."""
    schema = Schema({"c": Categorical(["1", "true"], other=False)}, TINY.label)
    for last in ([1, True], [True, 1]):
        cells = pd.Series(["text"] * 150 + last, dtype=object)
        x = schema.encode_features(pd.DataFrame({"c": cells}))[150:]
        assert x.any(axis=1).all()
        assert x.argmax(axis=1).tolist() == [int(cell is True) for cell in last]


# -- labels and persons ------------------------------------------------------------------------


def test_a_row_without_a_declared_label_is_constant_and_kept() -> None:
    table = frame({"age": [90] * 4, "ward": ["A"] * 4, "ill": ["yes", None, "maybe", "no"]})
    x, y = TINY.encode(table, as_rows=True)
    assert y.tolist() == ["yes", "no", "no", "no"]
    assert x.any(axis=1).tolist() == [True, False, False, True]
    other = Schema(TINY.columns, Label("ill", ["no", "yes"], missing="yes"))
    assert other.encode(table, as_rows=True).y.tolist() == ["yes", "yes", "yes", "no"]


def test_rows_beyond_a_persons_allowance_are_constant() -> None:
    people = ["a", "b", "a", None, "a", math.nan, "b", "", "c"]
    table = frame({"age": [90] * 9, "ward": ["A"] * 9, "ill": ["yes"] * 9, "id": people})
    schema = Schema(TINY.columns, TINY.label, Person("id", 2))
    x, y = schema.encode(table, as_rows=True)
    kept = [True, True, True, False, False, False, True, False, True]
    assert x.any(axis=1).tolist() == kept
    assert (y == "yes").tolist() == kept
    assert schema.group_size == 2
    assert schema.encode_features(table).any(axis=1).all()


@given(st.lists(st.sampled_from([None, 1, "1", 2.0, "x", "y"]), max_size=30), st.integers(1, 4))
def test_no_person_has_more_rows_than_declared(people: list[Any], most: int) -> None:
    schema = Schema({"a": Numeric(0, 1)}, Label("y", [0, 1]), Person("id", most))
    table = {"a": [1] * len(people), "y": [1] * len(people), "id": pd.Series(people, dtype=object)}
    x = schema.encode(pd.DataFrame(table), as_rows=True).x
    names = ["" if p is None else str(p).removesuffix(".0") for p in people]
    for name in set(names):
        used = [bool(row.any()) for row, own in zip(x, names, strict=True) if own == name]
        assert used == [bool(name) and i < most for i in range(len(used))]


@given(st.data(), schemas())
def test_replacing_a_persons_rows_changes_at_most_group_size_rows(
    data: st.DataObject, schema: Schema
) -> None:
    schema = Schema(schema.columns, schema.label, Person("whose", 2), schema.rows)
    table = data.draw(hostile_tables(schema))
    n = len(table["whose"])
    table["whose"] = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    fresh = {k: data.draw(st.permutations(cells)) for k, cells in table.items()}
    mine = [who == "a" for who in table["whose"]]
    changed = {
        name: [new if own else old for old, new, own in zip(cells, fresh[name], mine, strict=True)]
        for name, cells in table.items()
    }
    changed["whose"] = [
        "new" if own else who for who, own in zip(table["whose"], mine, strict=True)
    ]
    one = schema.encode(pd.DataFrame(table, dtype=object), as_rows=True)
    two = schema.encode(pd.DataFrame(changed, dtype=object), as_rows=True)
    differ = (one.x != two.x).any(axis=1) | (one.y != two.y)
    assert differ.sum() <= schema.group_size


# -- refusals ----------------------------------------------------------------------------------


def test_a_missing_column_is_named() -> None:
    with pytest.raises(DataError, match=r"no columns 'age', 'ill', which the schema declares\."):
        TINY.encode(frame({"ward": ["secret"]}), as_rows=True)
    with pytest.raises(DataError, match="no column 'age'"):
        TINY.encode_features(frame({"ward": ["secret"]}))


def test_dates_and_nested_values_are_refused_by_type() -> None:
    for cells in ([pd.Timestamp("2031-01-02")], [pd.Timedelta(9, "h")], [2031j]):
        with pytest.raises(DataError, match="Column 'age' holds ") as error:
            TINY.encode_features(frame({"age": cells, "ward": ["A"]}))
        assert "2031" not in str(error.value)


def test_other_types_are_refused() -> None:
    with pytest.raises(DeclarationError, match="float64 or float32"):
        TINY.encode_features(frame({"age": [1], "ward": ["A"]}), dtype=np.int32)
    for table in (np.zeros((2, 2)), [1, 2], None, 5, pd.Series([1.0])):
        with pytest.raises(DataError, match="The table must be a pandas"):
            TINY.encode_features(table)
    twice = pd.DataFrame([[1, 2, "A"]], columns=["age", "age", "ward"])
    with pytest.raises(DataError, match="a different name for each column"):
        TINY.encode_features(twice)


def test_columns_by_name_are_a_table_and_a_refused_one_is_not_quoted() -> None:
    columns = {"age": [40, None], "ward": ["A", None], "ill": ["yes", "no"]}
    assert same(TINY.encode(columns, as_rows=True), TINY.encode(frame(columns), as_rows=True))
    for wrong in ({"age": [1, 2031], "ward": ["A"]}, {"age": ["x", 2031], "ward": ["A", "A"]}):
        with pytest.raises(DataError, match="do not make a table") as error:
            TINY.encode_features(wrong)
        assert "2031" not in str(error.value)


def test_a_table_without_rows() -> None:
    x, y = TINY.encode(frame({"age": [], "ward": [], "ill": []}), as_rows=True)
    assert x.shape == (0, 4)
    assert y.shape == (0,)


# -- numbers with knots ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [Numeric(-3, 7, knots=3), Numeric(0.5, 1e4, log=True, knots=6), Numeric(0, 9, knots=4)],
)
def test_shares_of_two_knots_add_up_to_the_number(column: Numeric) -> None:
    """A line through the values at the knots, on the column's own scale, gives the number back."""
    schema = Schema({"v": column}, Label("y", (0, 1)))
    v = np.random.default_rng(3).uniform(column.low, column.high, 400)
    x = schema.encode_features({"v": np.concatenate([v, column.knot_values])})
    scale = np.log if column.log else np.asarray
    found = x @ scale(np.array(column.knot_values)) / schema.factor
    np.testing.assert_allclose(found[:400], scale(v), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(x[400:], schema.factor * np.eye(column.width), atol=1e-12)


def test_a_number_with_knots_says_where_they_are() -> None:
    schema = Schema({"age": Numeric(20, 80, knots=3), "b": Numeric(0, 1)}, Label("y", (0, 1)))
    assert schema.feature_names == ("age@20", "age@50", "age@80", "b")
    effects = schema.explain(np.array([[1.0, 2.0, 4.0, 3.0]]))
    assert [effect.name for effect in effects] == ["(baseline)", *schema.feature_names]
    assert effects[1].unit == "at this value"
    assert schema.with_knots(4).columns["age"] == schema.columns["age"]  # declared: kept
    assert schema.with_knots(4).columns["b"] == Numeric(0, 1, knots=4)
    assert Schema.from_text(schema.to_toml()) == schema
    for wrong in (2, 1.5, True, 1000):
        with pytest.raises(DeclarationError, match="knots must be a whole number"):
            Numeric(0, 1, knots=wrong)  # type: ignore[arg-type]
    close = Numeric(1_000_000, 1_000_001, knots=3)
    assert close.names("v") == ("v@1", "v@2", "v@3")
