"""Models from noisy class means: who takes them, what is refused, what their files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import (
    ApproxDP,
    LinearSVC,
    LogisticRegression,
    PureDP,
    Schema,
    confidence_intervals,
    fit_table,
    load,
    plan,
)
from privet.certificate.recompute import recompute
from privet.errors import DeclarationError
from privet.models.raw_tables import planned_table
from privet.schema import Categorical, Label, Numeric

CLASSES = ("red", "green", "blue")


def schema(numbers: int = 2, categories: int = 0, classes: Any = CLASSES) -> Schema:
    columns: dict[str, Any] = {f"n{i}": Numeric(-3.0, 3.0) for i in range(numbers)}
    columns |= {f"k{i}": Categorical((0, 1, 2, 3), other=False) for i in range(categories)}
    return Schema(columns, Label("y", classes))


def table(n: int, numbers: int = 2, categories: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, n)
    centers = np.array([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])
    x = centers[y] + 0.5 * rng.normal(size=(n, 2))
    out: dict[str, Any] = {f"n{i}": x[:, i] for i in range(numbers)}
    likely = rng.uniform(size=(categories, n)) < 0.8
    out |= {f"k{i}": np.where(likely[i], y, 3) for i in range(categories)}
    return {**out, "y": np.array(CLASSES)[y]}


@pytest.mark.parametrize(
    ("rows", "numbers", "categories", "expected"),
    [
        (300, 2, 0, ("means", "unit")),
        (300, 0, 3, ("means", None)),
        (300, 1, 4, ("means", None)),
        (100_000, 2, 0, ("objective", "unit")),
        (100_000, 0, 3, ("objective", None)),
        (1500, 2, 0, ("objective", "unit")),  # categories alone keep means for longer
        (1500, 0, 3, ("means", None)),
    ],
    ids=str,
)
def test_a_table_takes_them_by_the_public_rule(
    rows: int, numbers: int, categories: int, expected: tuple[str, Any]
) -> None:
    declared = schema(numbers, categories)
    planned = planned_table(LogisticRegression(PureDP(1.0)), declared, rows)
    assert planned.mechanism.name == expected[0]
    assert (planned.mechanism.domain is None) == (expected[1] == "unit")


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(ApproxDP(1.0, 1e-6)),
        LogisticRegression(1.0, standardize=None),
        LogisticRegression(1.0, mechanism="objective"),
        LogisticRegression(1.0, regularization=5.0),
        LogisticRegression(1.0, noise="laplace"),
        LogisticRegression(1.0, calibration="exact"),
        LogisticRegression(1.0, class_weight={"red": 2.0}),
        LinearSVC(1.0),
    ],
    ids=str,
)
def test_whoever_says_something_else_gets_it(model: Any) -> None:
    assert planned_table(model, schema(), 60).mechanism.name != "means"


def test_two_classes_have_a_minimum() -> None:
    found = planned_table(LogisticRegression(1.0), schema(classes=("no", "yes")), 60)
    assert found.mechanism.name == "objective"


@pytest.mark.parametrize(("numbers", "categories"), [(2, 0), (0, 3), (2, 2)])
def test_a_release_is_useful_and_its_file_is_verified(
    numbers: int, categories: int, tmp_path: Path
) -> None:
    rows = table(400, numbers, categories)
    asked = LogisticRegression(20.0, mechanism="means")  # how rows are prepared is left open
    model = fit_table(asked, schema(numbers, categories), rows)
    assert model.standardize == (None if categories else "unit")
    labels = rows.pop("y")
    assert (model.predict(rows) == labels).mean() > 0.85
    assert model.regularization_ == 0.0
    model.save(path := tmp_path / "m.privet")
    assert [each.name for each in recompute(path) if each.holds is False] == []
    again = load(path)
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert "noisy class means" in str(again.guarantee_)
    assert again.guarantee_.event.sensitivity == pytest.approx(2.0, rel=1e-6)


def test_intervals_and_plans_are_refused_in_words() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.5, 0.5, (90, 2)), np.arange(90) % 3
    model = LogisticRegression(1.0, mechanism="means", classes=[0, 1, 2]).fit(x, y)
    with pytest.raises(DeclarationError, match="no intervals for a model by 'means'"):
        confidence_intervals(model, x, y, budget=1.0)
    with pytest.raises(DeclarationError, match="no noise of a known law"):
        plan(model, n=90, d=2)
    with pytest.raises(DeclarationError, match="mechanism must be one of"):
        LinearSVC(1.0, mechanism="means", classes=[0, 1, 2]).fit(x, y)
    with pytest.raises(DeclarationError, match="more than two classes"):
        LogisticRegression(1.0, mechanism="means").fit(x, y % 2)


def test_arrays_are_left_to_the_minimum() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.5, 0.5, (30, 2)), np.arange(30) % 3
    model = LogisticRegression(0.1, classes=[0, 1, 2]).fit(x, y)
    assert model.guarantee_.event.mechanism == "objective"
