"""The three ways of answering are models like the others: one order, one vocabulary, defaults."""

from __future__ import annotations

import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from privet import ZCDP, ApproxDP, PureDP
from privet.answers import records
from privet.errors import DataError, DeclarationError
from privet.kernels import (
    Gaussian,
    InteractivePredictor,
    KernelSVC,
    Linear,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
)
from tests.kernels.people import queries, table

X, Y = table(60)
Z = queries(6)
MODELS: dict[str, Any] = {
    "interactive": InteractivePredictor,
    "semi-interactive": SemiInteractiveClassifier,
    "non-interactive": NonInteractiveClassifier,
}


def declared(kind: Any, **more: Any) -> Any:
    """A model with nothing declared that has a default."""
    return kind(**({"public_points": Z} if kind is SemiInteractiveClassifier else {}), **more)


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_defaults_can_fit(kind: Any) -> None:
    model = declared(kind).fit(X, Y)
    assert model.guarantee_.budget == PureDP(1.0)
    assert np.isfinite(model.decision_function(Z)).all()


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({}, "sparse_vector"),
        ({"budget": ZCDP(1.0)}, "function"),
        ({"budget": ApproxDP(1.0, 1e-6)}, "function"),
        ({"kernel": Linear()}, "output"),  # few explicit features: a vector, pure or not
        ({"kernel": Linear(), "mechanism": "sparse_vector"}, "sparse_vector"),
        ({"budget": ZCDP(1.0), "mechanism": "sparse_vector"}, "sparse_vector"),
    ],
)
def test_the_mechanism_follows_the_budget(told: dict[str, Any], kind: str) -> None:
    assert InteractivePredictor(**told).fit(X, Y).guarantee_.event.mechanism == kind


def test_h_has_one_default() -> None:
    """Of all models with a kernel; where the loss has no knee it ties no transcript."""
    kinds = (*MODELS.values(), KernelSVC)
    assert {inspect.signature(kind).parameters["h"].default for kind in kinds} == {1.0}
    told: dict[str, Any] = {"budget": ZCDP(5.0), "classes": [0, 1]}
    first = InteractivePredictor(h=0.5, **told).fit(X, Y)
    InteractivePredictor(**told).resume(X, Y, first.transcript_)
    knee = InteractivePredictor(h=0.5, loss="huber", **told).fit(X, Y)
    with pytest.raises(DeclarationError, match=r"other declarations \(h\)"):
        InteractivePredictor(loss="huber", **told).resume(X, Y, knee.transcript_)


def test_a_release_may_say_auto_or_what_auto_is(tmp_path: Path) -> None:
    """Transcripts of before, whose default was a function release, are resumed with the default."""
    told: dict[str, Any] = {"budget": ZCDP(5.0), "kernel": Gaussian(0.5), "classes": [0, 1]}
    first = InteractivePredictor(mechanism="function", **told).fit(X, Y)
    known = first.answer(Z)
    first.save(tmp_path / "said")
    again = InteractivePredictor(**told).resume(X, Y, tmp_path / "said")
    assert (again.answer(Z) == known).all()
    assert InteractivePredictor.load(tmp_path / "said").mechanism == "function"


@pytest.mark.parametrize("loss", ["logistic", "huber", "smooth_hinge"])
@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_one_vocabulary_of_losses(kind: Any, loss: str) -> None:
    model = declared(kind, budget=ZCDP(5.0), loss=loss, kernel=Linear(2.0)).fit(X, Y)
    assert np.isfinite(model.decision_function(Z)).all()
    with pytest.raises(DeclarationError, match="'logistic', 'huber' or 'smooth_hinge'"):
        declared(kind, loss="hinge").fit(X, Y)


FORMER: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (InteractivePredictor, ("kernel",), {}),
    (InteractivePredictor, ("kernel",), {"budget": ZCDP(5.0)}),
    (InteractivePredictor, ("kernel", "budget"), {"h": 1.0}),
    (InteractivePredictor, ("kernel", "budget", "regularization"), {"classes": [0, 1]}),
    (SemiInteractiveClassifier, ("public_points",), {"budget": ZCDP(5.0)}),
    (NonInteractiveClassifier, ("kernel", "budget"), {"net": 0.5}),
]
VALUES = {"kernel": Gaussian(0.5), "budget": ZCDP(5.0), "regularization": 0.1, "public_points": Z}


@pytest.mark.parametrize(("kind", "order", "named"), FORMER)
def test_the_old_order_of_arguments_still_works(
    kind: Any, order: tuple[str, ...], named: dict[str, Any]
) -> None:
    with pytest.warns(FutureWarning, match="budget comes first"):
        old = kind(*(VALUES[name] for name in order), **named)
    new = kind(**{name: VALUES[name] for name in order}, **named)
    assert str(old.get_params()) == str(new.get_params())
    with pytest.raises(TypeError, match="more values than parameters"):
        kind(*(VALUES[name] for name in order), **{order[0]: VALUES[order[0]]})
    with pytest.raises(TypeError, match="more values than parameters"):
        kind(Gaussian(), 1.0, 0.1, 0.2)


def test_the_budget_comes_first() -> None:
    for kind in MODELS.values():
        for budget in (2.0, np.float64(2.0), 2, ZCDP(2.0)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert kind(budget).budget == budget


def test_method_is_mechanism_now(tmp_path: Path) -> None:
    with pytest.warns(FutureWarning, match="method= is now mechanism="):
        old = SemiInteractiveClassifier(ZCDP(5.0), public_points=Z, method="tddl")
    assert old.mechanism == "tddl"
    old.fit(X, Y).save(tmp_path / "model")
    head, body = records.read(tmp_path / "model")[0]
    head["parameters"]["method"] = head["parameters"].pop("mechanism")
    records.write(tmp_path / "former", [head, body])  # as earlier versions wrote it
    again = SemiInteractiveClassifier.load(tmp_path / "former")
    assert again.mechanism == "tddl"
    assert (again.decision_function(X) == old.decision_function(X)).all()


def documented(kind: Any) -> list[str]:
    """The names in the section Attributes of a docstring."""
    section = kind.__doc__.split("Attributes\n    ----------\n")[1].split("\n\n")[0]
    lines = [line[4:] for line in section.splitlines() if line[4:5] not in ("", " ")]
    return [name.strip() for line in lines for name in line.split(" : ")[0].split(",")]


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_documented_attributes_exist(kind: Any) -> None:
    names = documented(kind)
    assert len(names) >= 5
    models = [declared(kind).fit(X, Y), declared(kind, budget=ZCDP(1.0)).fit(X, Y)]
    for name in names:
        assert any(hasattr(model, name) for model in models), name


def test_the_sparse_vector_tells_what_it_promises() -> None:
    model = InteractivePredictor(PureDP(50.0), queries=20).fit(X, Y)
    assert model.error_bound_ == model.sparse_vector_.error > 0.0
    assert model.updates_allowed_ == model.sparse_vector_.epochs >= 1
    function = InteractivePredictor(ZCDP(1.0)).fit(X, Y)
    for name in ("error_bound_", "updates_allowed_", "exhausted_"):
        assert not hasattr(function, name)


# -- scikit-learn --------------------------------------------------------------------------------


class WithPoints(SemiInteractiveClassifier):
    """Public points for tables of any number of columns: the checks have many."""

    def _points(self, d: int) -> Any:
        return np.random.default_rng(d).normal(size=(50, d), scale=3.0)


ASKS = "score would write private rows into the public transcript and is refused"
#: Checks that are not passed, and why.
EXCEPTED: dict[str, dict[str, str]] = {
    "interactive": {
        "check_fit_score_takes_y": ASKS,
        "check_n_features_in_after_fitting": ASKS,
        "check_pipeline_consistency": ASKS,
        "check_estimators_pickle": "a running release holds training rows and is not pickled",
    },
    "semi-interactive": {},
    "non-interactive": {},
}


@pytest.mark.parametrize("name", MODELS)
def test_scikit_learns_own_checks(name: str) -> None:
    told: dict[str, Any] = {"classes": "observed", "insecure_seed": 0}
    model = {
        "interactive": InteractivePredictor(ZCDP(1000.0), **told),
        "semi-interactive": WithPoints(ZCDP(1000.0), **told),
        "non-interactive": NonInteractiveClassifier(ZCDP(1000.0), kernel=Linear(10.0), **told),
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert len(results) > 40
    assert set(failed) == set(EXCEPTED[name]), failed


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_prediction_for_what_is_no_number(kind: Any, value: float) -> None:
    model = declared(kind, budget=ZCDP(5.0)).fit(X, Y)
    with pytest.raises(DataError, match=r"NaN|infinit"):
        model.predict(np.where(np.arange(3) == 1, value, Z[:1]))


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_clones_are_the_same_declarations(kind: Any) -> None:
    model = declared(kind, budget=ZCDP(3.0), h=0.7).set_params(loss="huber")
    assert json.dumps(clone(model).get_params(), default=str) == json.dumps(
        model.get_params(), default=str
    )
