"""The plan as a value: it agrees with the fit, refuses in words, prints, draws and stays light."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as PlainRegression

from privet import ZCDP, ApproxDP, LargeMarginGaussian, LinearSVC, LogisticRegression
from privet.errors import DeclarationError
from privet.kernels import KernelLogisticRegression, KernelSVC
from privet.models import Released
from privet.planning import plan
from tests.strategies import EACH_BUDGET, name_of

CASES = [
    (LogisticRegression, {}, "logistic", 2),
    (LogisticRegression, {}, "logistic", 3),
    (LinearSVC, {"loss": "huber", "h": 0.7}, "huber", 2),
    (LinearSVC, {"loss": "huber", "h": 0.7}, "huber", 3),
    (LinearSVC, {"loss": "smooth_hinge", "h": 0.7}, "smooth_hinge", 2),
]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", EACH_BUDGET, ids=name_of)
@pytest.mark.parametrize(("model", "options", "loss", "classes"), CASES)
def test_a_plan_says_what_the_fit_will_do(  # type: ignore[no-untyped-def]
    model,  # noqa: ANN001
    options,  # noqa: ANN001
    loss: str,
    classes: int,
    budget,  # noqa: ANN001
    mechanism: str,
    intercept: bool,
) -> None:
    same = {"mechanism": mechanism, "norm_bound": 2.0, "fit_intercept": intercept}
    made = plan(n=90, d=2, budget=budget, loss=loss, classes=classes, h=0.7, **same)  # type: ignore[arg-type]
    fitted = model(budget, classes=list(range(classes)), insecure_seed=1, **options, **same)
    x = np.random.default_rng(0).normal(size=(90, 2))
    fitted.fit(x, np.arange(90) % classes)
    event = fitted.guarantee_.event
    assert made.regularization == fitted.regularization_
    assert (made.main.kind, made.main.scale) == (event.noise, event.scale)


def test_a_plan_is_a_frozen_value_without_data() -> None:
    made = plan(n=1000, d=4, budget=1.0)
    assert made == plan(n=np.int64(1000), d=4, budget=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.design = None  # type: ignore[misc, assignment]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n": 0}, "n must be an integer of at least 1"),
        ({"n": 10.5}, "n must be an integer"),
        ({"n": True}, "n must be an integer"),
        ({"d": 0}, "d must be an integer of at least 1"),
        ({"classes": 1}, "classes must be an integer of at least 2"),
        ({"budget": -1.0}, "epsilon must be between"),
        ({"budget": math.nan}, "budget must be a number"),
        ({"budget": "1"}, "budget must be a number"),
        ({"loss": "hinge"}, "loss must be 'huber' or 'logistic' or 'smooth_hinge'"),
        ({"loss": "smooth_hinge", "classes": 3}, "More than two classes need loss='huber'"),
        ({"loss": "huber", "h": 0.0}, "h must be a positive finite number"),
        (
            {"mechanism": "sideways"},
            "mechanism must be one of 'output', 'objective', 'gradient'",
        ),
        (
            {"mechanism": "gradient", "budget": ZCDP(0.1)},
            "has no noise of a known law",
        ),
        ({"noise": "uniform"}, "noise must be"),
        ({"noise": "gaussian"}, "Gaussian noise has no pure epsilon"),
        ({"regularization": "none"}, "regularization must be a positive finite number"),
        ({"regularization": -1.0}, "regularization must be a positive finite number"),
        ({"norm_bound": 0.0}, "norm_bound must be a positive finite number"),
    ],
)
def test_refusals_are_sentences(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        plan(**{"n": 100, "d": 2, "budget": 1.0, **wrong})  # type: ignore[arg-type]


def test_questions_are_checked_too() -> None:
    made = plan(n=100, d=2, budget=1.0)
    for wrong in ({"excess": 0.0}, {"reference_norm": -1.0}, {"beta": 1.0}, {"score_noise": 0.0}):
        with pytest.raises(DeclarationError):
            made.rows_needed(**wrong)
    with pytest.raises(DeclarationError, match="beta"):
        made.excess_risk(0.0)
    with pytest.raises(DeclarationError, match="over must be one of"):
        made.curve("h", [1.0])
    with pytest.raises(DeclarationError, match="use over='epsilon'"):
        made.curve("rho", [1.0])


def test_a_declared_value_below_the_floor_is_told_not_warned() -> None:
    made = plan(n=100, d=2, budget=1.0, regularization=1e-9)
    assert made.raised
    assert "raised from 1e-09 to the floor" in str(made)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", EACH_BUDGET, ids=name_of)
def test_text_and_json(mechanism: str, budget) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    made = plan(n=2500, d=7, budget=budget, mechanism=mechanism)
    text = str(made)
    assert max(map(len, text.splitlines())) <= 88
    assert f"{made.regularization:.4g}" in text
    assert f"Verdict: {made.verdict}" in text
    record = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert record["declared"]["budget"] == budget.to_json()
    assert record["excess_risk"]["bound"] == made.excess_risk()
    needed = made.rows_needed()
    assert json.loads(json.dumps(needed.to_dict()))["for_comfort"] == needed.for_comfort
    assert "unnamed constant" in str(needed)
    assert max(map(len, str(needed).splitlines())) <= 88


def test_curves_change_one_thing() -> None:
    made = plan(n=100, d=2, budget=ApproxDP(1.0, 1e-5))
    curve = made.curve("epsilon", [0.5, 2.0])
    assert [each.declared.budget for each in curve] == [ApproxDP(0.5, 1e-5), ApproxDP(2.0, 1e-5)]
    assert [each.design.parameters for each in made.curve("d", [1, 9])] == [2, 10]
    assert plan(n=100, d=2, budget=ZCDP(1.0)).curve("rho", [0.5])[0].declared.budget == ZCDP(0.5)


@pytest.mark.parametrize("over", [None, "epsilon"])
def test_a_picture_is_drawn(tmp_path: Path, over: str | None) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "plan.png"
    plan(n=3000, d=5, budget=1.0).plot(path, over)
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_planning_is_light() -> None:
    code = (
        "import sys; from privet import plan; loaded = [];"
        "loaded += [m for m in ('sklearn', 'pandas') if m in sys.modules];"
        "str(plan(n=100, d=3, budget=1.0).rows_needed());"
        "loaded += [m for m in ('matplotlib', 'dp_accounting', 'opendp') if m in sys.modules];"
        "print(loaded)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- the estimator is the declaration ------------------------------------------------------------

ESTIMATORS = [
    LogisticRegression(1.0),
    LogisticRegression(ZCDP(0.5), standardize="private", column_bounds=(-1.0, 1.0)),
    LogisticRegression(1.0, classes=["a", "b"], class_weight={"a": 1.0, "b": 3.0}),
    LinearSVC(ApproxDP(1.0, 1e-6), loss="smooth_hinge", mechanism="output"),
    LargeMarginGaussian(1.0),
    LargeMarginGaussian(ZCDP(0.5), covariance="diagonal", components=2),
    KernelLogisticRegression(ApproxDP(1.0, 1e-6), n_frequencies=20),
    KernelSVC(1.0, n_frequencies=5, fit_intercept=True),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: str(model).split("(")[0])
def test_a_plan_of_an_estimator_is_its_fit(model) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    before = dict(vars(model))
    made = plan(model, n=200, d=3)
    assert vars(model) == before
    labels = np.array(model.classes or [0, 1])[np.arange(200) % 2]
    fitted = clone(model).fit(np.random.default_rng().uniform(-1.0, 1.0, (200, 3)), labels)
    event = Released.of(fitted).fit
    assert made.regularization == fitted.regularization_
    assert (made.main.kind, made.main.scale) == (event.noise, event.scale)
    assert (made.design.m, made.declared.budget) == (event.columns, fitted.guarantee_.budget)
    assert f"({made.design.m} features)" in str(made) or not model.maps_rows
    json.dumps(made.to_dict(), allow_nan=False)
    assert made.curve("n", [400])[0].main.scale > 0.0
    assert vars(model) == before


def test_an_estimator_and_keywords_are_one_plan() -> None:
    by_keywords = plan(n=500, d=4, budget=2.0, loss="huber", h=0.3, classes=3, norm_bound=2.0)
    model = LinearSVC(2.0, h=0.3, norm_bound=2.0, classes=[0, 1, 2])
    assert plan(model, n=500, d=4) == by_keywords
    assert plan(model, n=500, d=4, classes=3) == by_keywords
    assert plan(model, n=500, d=5) != by_keywords


def test_what_is_declared_twice_or_cannot_be_planned_is_refused() -> None:
    with pytest.raises(DeclarationError, match="Declare budget, loss in the estimator"):
        plan(LogisticRegression(1.0), n=10, d=2, budget=1.0, loss="huber")
    with pytest.raises(DeclarationError, match="names 3 of them"):
        plan(LogisticRegression(1.0, classes=[0, 1, 2]), n=10, d=2, classes=2)
    with pytest.raises(DeclarationError, match="names 3 of them"):
        plan(LogisticRegression(1.0, class_weight={0: 1.0, 1: 2.0, 2: 1.0}), n=10, d=2, classes=2)
    for wrong in (PlainRegression(), LogisticRegression, "logistic"):
        with pytest.raises(DeclarationError, match="There is no plan for"):
            plan(wrong, n=10, d=2)


def test_only_what_is_proved_is_called_proved() -> None:
    """With objective perturbation the noise of one coefficient is bounded to first order."""
    for options in ({"budget": 1.0}, {"budget": ZCDP(0.5)}):
        proved, rest = str(plan(n=100, d=2, **options)).split("To first order in the noise")
        assert "noise in a coefficient" not in proved
        assert "noise in a coefficient" in rest.split("Rough")[0]
    output = str(plan(n=100, d=2, budget=1.0, mechanism="output"))
    assert "first order" not in output
    assert "noise in a coefficient" in output.split("Rough")[0]


def test_no_bound_on_new_rows_where_rows_shape_the_features() -> None:
    scaled = LogisticRegression(1.0, standardize="private", column_bounds=(-1.0, 1.0))
    assert plan(scaled, n=100, d=2).excess_true_risk is None
    assert "new rows" not in str(plan(scaled, n=100, d=2))
    assert "excess risk on new rows" in str(plan(LogisticRegression(1.0), n=100, d=2))
