"""The positive class is the second one declared, wherever a model is used.

Old people died, and budgets are large, so the sign of every number about the age is known: it is
positive exactly where "died" is the second class. Each user of a model is asked in both orders.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as PlainLogistic

from privet import (
    ZCDP,
    Categorical,
    Label,
    LargeMarginGaussian,
    LinearSVC,
    LogisticRegression,
    Numeric,
    Schema,
    fit_table,
    load,
)
from privet.errors import DeclarationError
from privet.evaluation import choose_threshold, evaluate
from privet.handover.handed_model import HandedModel
from privet.handover.plain_model import plain_model
from privet.inference import confidence_intervals
from privet.kernels import InteractivePredictor, KernelLogisticRegression
from privet.report.released_numbers import ReportedModel
from privet.rows.door import stream
from privet.service.served_model import AskedQuestion, ServedRelease
from privet.tuning import PublicSearch

ORDERS = [("died", "survived"), ("survived", "died")]
BUDGET = 400.0


def people(n: int = 800) -> pd.DataFrame:
    generator = np.random.default_rng(7)
    age = generator.uniform(0, 100, n)
    return pd.DataFrame(
        {
            "age": age,
            "ward": generator.choice(["A", "B"], n),
            "end": np.where(age > 50, "died", "survived"),
        }
    )


def schema(order: tuple[str, str]) -> Schema:
    columns = {"age": Numeric(0, 100), "ward": Categorical(["A", "B"])}
    return Schema(columns, Label("end", list(order)))


OLD, YOUNG = (pd.DataFrame({"age": [age], "ward": ["A"]}) for age in (95.0, 5.0))


@pytest.fixture(scope="module", params=ORDERS, ids=["sorted", "unsorted"])
def order(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


@pytest.fixture(scope="module")
def sign(order: tuple[str, str]) -> float:
    return 1.0 if order[1] == "died" else -1.0


@pytest.fixture(scope="module")
def model(order: tuple[str, str]) -> Any:
    return fit_table(LogisticRegression(BUDGET), schema(order), people())


def signed(model: Any, order: tuple[str, str], sign: float, old: Any, young: Any) -> None:
    """Scores, predictions and probabilities speak of the classes in their order."""
    assert model.classes_.tolist() == list(order)
    assert sign * model.decision_function(old)[0] > 0 > sign * model.decision_function(young)[0]
    assert [model.predict(each)[0] for each in (old, young)] == ["died", "survived"]
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(old)[0, order.index("died")] > 0.5


@pytest.mark.parametrize("kind", [LinearSVC, LargeMarginGaussian, KernelLogisticRegression])
def test_every_model(kind: Any, order: tuple[str, str], sign: float) -> None:
    made = kind(BUDGET, insecure_seed=1) if kind is KernelLogisticRegression else kind(BUDGET)
    signed(fit_table(made, schema(order), people()), order, sign, OLD, YOUNG)


def test_a_model_from_arrays_numbers_streams_and_searches(
    order: tuple[str, str], sign: float, tmp_path: Path
) -> None:
    table = people()
    x, y = schema(order).encode(table)
    old, young = (schema(order).encode_features(each) for each in (OLD, YOUNG))
    signed(LogisticRegression(BUDGET, classes=list(order)).fit(x, y), order, sign, old, young)
    # "died" as 1: the positive class is the second one that is declared, not the larger number
    numbers = [1, 0] if order[1] == "survived" else [0, 1]
    coded = LogisticRegression(BUDGET, classes=numbers).fit(x, (y == "died").astype(int))
    assert coded.classes_.tolist() == numbers
    assert sign * coded.decision_function(old)[0] > 0
    assert coded.predict(old)[0] == 1
    table.to_csv(tmp_path / "people.csv", index=False)
    streamed = fit_table(LogisticRegression(BUDGET), schema(order), stream(tmp_path / "people.csv"))
    signed(streamed, order, sign, OLD, YOUNG)
    search = PublicSearch(
        LogisticRegression(classes=list(order)),
        [{"fit_intercept": True}, {"fit_intercept": False}],
        BUDGET,
        validation=schema(order).encode(people(200)),
    ).fit(x, y)
    signed(search, order, sign, old, young)


def test_weights_are_of_their_class(order: tuple[str, str]) -> None:
    """A class that weighs a hundred times as much takes the rows between."""
    x, y = schema(order).encode(people())
    weights = {"died": 100.0, "survived": 1.0}
    options: dict[str, Any] = {"classes": list(order), "class_weight": weights}
    fitted = LogisticRegression(BUDGET, regularization=0.1, **options).fit(x, y)
    middle = schema(order).encode_features(pd.DataFrame({"age": [45.0], "ward": ["A"]}))
    assert fitted.predict(middle)[0] == "died"


def test_interactive_answers(order: tuple[str, str], sign: float) -> None:
    x, y = schema(order).encode(people())
    old, young = (schema(order).encode_features(each) for each in (OLD, YOUNG))
    predictor = InteractivePredictor(ZCDP(BUDGET), classes=list(order)).fit(x, y)
    signed(predictor, order, sign, old, young)


def test_coefficients_effects_report_and_intervals(
    model: Any, order: tuple[str, str], sign: float
) -> None:
    signed(model, order, sign, OLD, YOUNG)
    assert sign * model.coef_[0, 0] > 0
    effect = schema(order).explain(model.coef_, model.intercept_)[1]
    assert effect.name == "age"
    assert sign * effect.changes[0] > 0
    page = ReportedModel(model, schema(order))
    assert page.score_name == f"log-odds of {order[1]}"
    assert sign * page.coefficients[0].value > 0
    assert page.coefficients[0].told.startswith("+" if sign > 0 else "-")
    found = confidence_intervals(model, people(), budget=BUDGET)
    for told in (found, found.in_units(schema(order))):
        assert told.named.target == f"log-odds of {order[1]}"
        row = told.to_frame().iloc[0]
        assert sign * row["estimate"] > 0
        assert min(sign * row["lower"], sign * row["upper"]) > 0


def test_rates_areas_and_thresholds(model: Any, order: tuple[str, str], sign: float) -> None:
    held_out = people(1000)
    wards = {"groups": "ward"}
    found = evaluate(model, held_out, budget=BUDGET, **wards)
    assert found.classes == order
    assert f"Positive class: {order[1]}." in str(found)
    assert found.auc.estimate > 0.95
    young = held_out[held_out["age"] < 40]
    told = evaluate(model, young, budget=BUDGET, **wards)
    for ward in ("group A", "group B"):
        selected = told.get("selection rate", ward).estimate
        assert selected is not None
        assert (selected < 0.2) == (sign > 0)
    costs = {"false_positive": 1.0, "false_negative": 1.0}
    limits = np.linspace(-3.0, 3.0, 13)
    chosen = choose_threshold(model, held_out, budget=BUDGET, candidates=limits, measure=costs)
    predicted = chosen.predict(model, pd.concat([OLD, YOUNG]))
    assert predicted.tolist() == ["died", "survived"]


def test_files_exports_and_the_service(
    model: Any, order: tuple[str, str], sign: float, tmp_path: Path
) -> None:
    model.save(tmp_path / "end.privet")
    signed(load(tmp_path / "end.privet"), order, sign, OLD, YOUNG)
    old, young = (schema(order).encode_features(each) for each in (OLD, YOUNG))
    handed = HandedModel(tmp_path / "end.privet")
    for plain in (model.to_sklearn(), plain_model(handed)):
        signed(plain, order, sign, old, young)
    served = ServedRelease(handed, rows=10)
    told = served.answer(AskedQuestion({"rows": [{"age": 95.0, "ward": "A"}]}, "me"))
    assert (told["predictions"], told["classes"]) == (["died"], list(order))
    assert told["probabilities"][0][order.index("died")] > 0.5


@pytest.mark.parametrize("theirs", ORDERS)
def test_a_center_is_turned_to_the_order_of_the_model(
    theirs: tuple[str, str], order: tuple[str, str], sign: float, tmp_path: Path
) -> None:
    """With next to no budget a model is its center, also read from its file."""
    x, y = schema(order).encode(people())
    old, young = (schema(order).encode_features(each) for each in (OLD, YOUNG))
    first = LogisticRegression(BUDGET, classes=list(theirs)).fit(x, y)
    for center in (first, PlainLogistic().fit(x, y)):
        options: dict[str, Any] = {"center": center, "regularization": 1e9}
        fitted = LogisticRegression(1.0, classes=list(order), **options).fit(x, y)
        signed(fitted, order, sign, old, young)
        fitted.save(tmp_path / "centered.privet", overwrite=True)
        kept = load(tmp_path / "centered.privet").center[0]
        assert sign * kept[0][0] > 0


def test_a_center_of_three_classes() -> None:
    generator = np.random.default_rng(3)
    x = generator.uniform(-0.5, 0.5, (300, 2))
    y = np.array(["a", "b", "c"])[np.digitize(x[:, 0], [-0.2, 0.2])]
    center = PlainLogistic(C=100.0).fit(x, y)
    ours = ["c", "a", "b"]
    fitted = LogisticRegression(1.0, classes=ours, center=center, regularization=1e9).fit(x, y)
    assert fitted.classes_.tolist() == ours
    np.testing.assert_allclose(
        fitted.coef_ - fitted.coef_.mean(axis=0),
        (center.coef_ - center.coef_.mean(axis=0))[[2, 0, 1]],
        atol=1e-4,
    )


def test_a_file_from_before_keeps_its_order(tmp_path: Path) -> None:
    """Files of earlier versions have sorted classes whatever was declared: all read them so."""
    declared = schema(("survived", "died"))
    fitted = fit_table(LogisticRegression(BUDGET), schema(("died", "survived")), people())
    fitted.classes, fitted.schema_ = ["survived", "died"], str(declared.to_toml())
    fitted.save(tmp_path / "old.privet")
    old = load(tmp_path / "old.privet")
    signed(old, ("died", "survived"), -1.0, OLD, YOUNG)
    assert ReportedModel(old, declared).score_name == "log-odds of survived"
    assert ReportedModel(old, declared).coefficients[0].value < 0
    told = confidence_intervals(old, people(), budget=BUDGET)
    assert told.named.target == "log-odds of survived"
    assert told.to_frame()["estimate"].iloc[0] < 0
    assert evaluate(old, people(500), budget=BUDGET).auc.estimate > 0.95


def test_two_orders_are_a_contradiction() -> None:
    with pytest.raises(DeclarationError, match="in its order"):
        fit_table(
            LogisticRegression(classes=["died", "survived"]),
            schema(("survived", "died")),
            people(),
        )
