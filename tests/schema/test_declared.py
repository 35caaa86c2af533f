"""Declarations: what is refused, what is frozen, and coefficients in original units."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privet
from privet.errors import DeclarationError
from privet.schema import Categorical, Effect, Label, Numeric, Person, Schema
from tests.schema.tables import schemas

pd = pytest.importorskip("pandas")

LABEL = Label("y", ["a", "b"])
AGE = Numeric(0, 100)
BAD_NUMBERS: tuple[Any, ...] = (math.nan, math.inf, -math.inf, "1", None, True, 1e200, 1j, [1])
BAD_LISTS: tuple[Any, ...] = ("ab", 5, None, {"a"}, ["a", ""], ["a", " "], ["a", 1.5], ["a", None])
BAD_LISTS += (
    ["a", "a "],
    [1, "1"],
    ["a", "(other)"],
    ["a\0", "b"],
    ["\ud800", "b"],
    [2**70, 1],
    ["?"],
)


def refuses(word: str, make: Any, *args: Any, **named: Any) -> None:
    with pytest.raises(DeclarationError) as error:
        make(*args, **named)
    assert word in str(error.value)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
def test_bounds_are_numbers(bad: Any) -> None:
    refuses("low must be a number", Numeric, bad, 1)
    refuses("high must be a number", Numeric, 0, bad)
    if bad is not None:
        refuses("missing must be a number", Numeric, 0, 1, missing=bad)


def test_bounds_make_sense() -> None:
    refuses("must be below", Numeric, 1, 1)
    refuses("must be below", Numeric, 2, 1)
    refuses("zero or more", Numeric, -1, 1, log=True)
    refuses("too close", Numeric, 1e16, 1e16 + 2, log=True)
    refuses("between low and high", Numeric, 0, 1, missing=2)
    refuses("log must be true or false", Numeric, 0, 1, log="yes")
    refuses("still '?'", Numeric, "?", 1)
    assert Numeric(np.int64(1), np.float32(2)) == Numeric(1.0, 2.0)


@pytest.mark.parametrize("bad", [*BAD_LISTS, []], ids=ascii)
def test_categories_are_a_list_of_different_values(bad: Any) -> None:
    refuses("categories", Categorical, bad)
    refuses("classes", Label, "y", bad)


def test_labels_and_persons() -> None:
    refuses("at least 2", Label, "y", ["a"])
    refuses("all text", Label, "y", ["a", 1])
    refuses("all text", Label, "y", [True, 2])
    refuses("one of the classes", Label, "y", ["a", "b"], "c")
    refuses("name", Label, "", ["a", "b"])
    for bad in (0, -1, 1.5, True, "2", None, 10**9):
        refuses("most_rows", Person, "id", bad)
    refuses("column", Person, None, 1)
    assert Label("y", (0, 1), missing=1).missing_code == 1
    assert Label("y", np.array([0, 1])).classes == (0, 1)


def test_schemas_make_sense() -> None:
    refuses("at least one column", Schema, {}, LABEL)
    refuses("must be Numeric or Categorical", Schema, {"a": 5}, LABEL)
    refuses("plain text", Schema, {"": AGE}, LABEL)
    refuses("plain text", Schema, {3: AGE}, LABEL)
    refuses("label must be", Schema, {"a": AGE}, "y")
    refuses("person must be", Schema, {"a": AGE}, LABEL, "id")
    refuses("rows must be", Schema, {"a": AGE}, LABEL, rows="row")
    refuses("label must not", Schema, {"y": AGE}, LABEL)
    refuses("person must not be among", Schema, {"a": AGE}, LABEL, Person("a", 1))
    refuses("person must not be the label", Schema, {"a": AGE}, LABEL, Person("y", 1))
    refuses("would be called 'a=b'", Schema, {"a": Categorical(["b"]), "a=b": AGE}, LABEL)


def test_a_schema_is_frozen_and_does_not_follow_its_arguments() -> None:
    columns = {"a": AGE}
    schema = Schema(columns, LABEL)
    columns["b"] = AGE
    assert list(schema.columns) == ["a"]
    with pytest.raises(TypeError):
        schema.columns["c"] = AGE  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        schema.rows = "unit"  # type: ignore[misc]


@given(schemas())
def test_copies_are_equal_and_order_counts(schema: Schema) -> None:
    for other in (pickle.loads(pickle.dumps(schema)), copy.deepcopy(schema), copy.copy(schema)):
        assert other == schema
        assert hash(other) == hash(schema)
        assert list(other.columns) == list(schema.columns)
    if len(schema.columns) > 1:
        turned = dict(reversed(schema.columns.items()))
        assert Schema(turned, schema.label, schema.person, schema.rows) != schema
    assert len(schema.feature_names) == schema.width
    assert schema != "schema"


def test_public_names() -> None:
    assert privet.Schema is Schema
    assert {"Schema", "Numeric", "Categorical", "Label"} <= set(privet.__all__)


def test_unconfirmed_declarations_are_listed() -> None:
    columns = {
        "a": AGE,
        "b": Numeric(0, 1, from_data=True),
        "c": Categorical(["x"], from_data=True),
    }
    assert Schema(columns, LABEL).unconfirmed == ("b", "c")
    assert Schema({"a": AGE}, Label("y", ["a", "b"], from_data=True)).unconfirmed == ("y",)
    assert Schema({"a": AGE}, LABEL).unconfirmed == ()


# -- original units ----------------------------------------------------------------------------

FOUR = Schema(
    {
        "age": Numeric(20, 80),
        "dose": Numeric(1, 1000, log=True),
        "visits": Numeric(0, 50, log=True),
        "ward": Categorical(["A", "B"]),
    },
    LABEL,
)


def score_in_words(effects: list[Effect], row: dict[str, Any], which: int) -> float:
    """The score as a reader of the table of effects would compute it."""
    score = 0.0
    for effect in effects:
        change = effect.changes[which]
        match effect.unit:
            case "score":
                score += change
            case "per unit":
                score += change * (row[effect.name] - effect.middle)
            case "per doubling":
                score += change * math.log2(row[effect.name] / effect.middle)
            case "per doubling of 1 + value":
                score += change * math.log2((1 + row[effect.name]) / (1 + effect.middle))
            case _:
                score += change * (f"ward={row['ward']}" == effect.name)
    return score


@given(
    st.lists(st.floats(-9, 9), min_size=12, max_size=12),
    st.floats(20, 80),
    st.floats(1, 1000),
    st.floats(0, 50),
    st.sampled_from(["A", "B", "(other)"]),
)
def test_effects_give_the_models_score(
    weights: list[float], age: float, dose: float, visits: float, ward: str
) -> None:
    coef, intercept = np.array(weights).reshape(2, 6), np.array([0.5, -2.0])
    row = {"age": age, "dose": dose, "visits": visits, "ward": ward}
    x = FOUR.encode_features(pd.DataFrame([row]))
    effects = FOUR.explain(coef, intercept)
    for which in (0, 1):
        expected = (x @ coef[which])[0] + intercept[which]
        assert score_in_words(effects, row, which) == pytest.approx(expected, abs=1e-9)


def test_effects_are_named_in_units() -> None:
    effects = FOUR.explain(np.ones(6), [0.25])
    assert [effect.name for effect in effects][:2] == ["(baseline)", "age"]
    assert [effect.change for effect in effects[:2]] == pytest.approx([0.25, FOUR.factor / 30])
    assert str(effects[0]) == "(baseline): +0.25 score"
    assert effects[1].middle == 50
    assert effects[-1] == Effect("ward=(other)", "in this category", (FOUR.factor,))


def test_effects_are_refused_where_they_mean_nothing() -> None:
    refuses("6 columns", FOUR.explain, np.ones(5))
    refuses("6 columns", FOUR.explain, np.ones((1, 1, 6)))
    unit = Schema(FOUR.columns, LABEL, rows="unit")
    refuses("rows='scaled'", unit.explain, np.ones(6))
