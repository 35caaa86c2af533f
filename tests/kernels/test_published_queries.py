"""What an interactive predictor is asked becomes public: nothing hands it private rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from privet import ZCDP, Ledger, confidence_intervals, evaluate
from privet.errors import DeclarationError
from privet.evaluation import choose_threshold
from privet.kernels import Gaussian, InteractivePredictor, Linear
from privet.tuning import PartitionSearch
from tests.kernels.people import holds_a_row, queries, table

X, Y = table()
TESTED, LABELS = queries(100), np.array([0, 1] * 50)
MECHANISMS = ["function", "sparse_vector"]


def fitted(mechanism: str, path: Path | None = None, **changed: Any) -> InteractivePredictor:
    told: dict[str, Any] = {
        "kernel": Gaussian(0.5),
        "budget": ZCDP(50.0),
        "regularization": 0.01,
        "mechanism": mechanism,
        "journal": path,
        "classes": [0, 1],
    }
    model = InteractivePredictor(**{**told, **changed})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y)


def ways(model: Any) -> dict[str, Any]:
    """Everything in and around Privet that asks a model about rows to measure it."""
    piped = make_pipeline(StandardScaler().set_output(), model)
    piped[0].fit(queries(5))
    counted = {"budget": ZCDP(1.0), "training_rows": False}
    return {
        "evaluate": lambda: evaluate(model, TESTED, LABELS, **counted),
        "evaluate a pipeline": lambda: evaluate(piped, TESTED, LABELS, **counted),
        "evaluate a frozen one": lambda: evaluate(
            FrozenEstimator(model), TESTED, LABELS, **counted
        ),
        "evaluate training rows": lambda: evaluate(
            model, X, Y, budget=ZCDP(1.0), training_rows=True
        ),
        "choose_threshold": lambda: choose_threshold(
            model, TESTED, LABELS, candidates=[0.0, 0.5], **counted
        ),
        "score": lambda: model.score(X, Y),
        "score a pipeline": lambda: piped.score(TESTED, LABELS),
        "permutation_importance": lambda: permutation_importance(model, TESTED, LABELS),
        "confidence_intervals": lambda: confidence_intervals(model, X, Y, budget=ZCDP(1.0)),
        "a search": lambda: PartitionSearch(
            model, [{"regularization": 0.1}, {"regularization": 1.0}]
        ).fit(X, Y),
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("way", ways(InteractivePredictor()))
def test_no_evaluated_row_lands_in_the_transcript(mechanism: str, way: str, tmp_path: Path) -> None:
    model = fitted(mechanism, tmp_path / "journal")
    with pytest.raises(DeclarationError) as refused:
        ways(model)[way]()
    if "search" not in way and "intervals" not in way:
        assert "KernelSVC" in str(refused.value)  # what to do instead
    assert len(model.transcript_) == 0
    text = (tmp_path / "journal").read_text()
    assert not holds_a_row(text, np.concatenate([X, TESTED]))
    model.save(tmp_path / "saved")  # and of one that only repeats its answers
    with pytest.raises(DeclarationError):
        ways(InteractivePredictor.load(tmp_path / "saved"))[way]()


def test_cross_validation_asks_nothing() -> None:
    model = InteractivePredictor(
        ZCDP(50.0), kernel=Gaussian(0.5), regularization=0.01, classes=[0, 1]
    )
    with pytest.raises(DeclarationError, match="transcript"):
        cross_val_score(model, X, Y, cv=2, error_score="raise")


def test_the_refusal_costs_nothing(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("tested", ZCDP(100.0))
    with pytest.raises(DeclarationError):
        evaluate(
            fitted("function"), TESTED, LABELS, budget=ZCDP(1.0), ledger=ledger, dataset="tested"
        )
    assert [entry.kind for entry in ledger.entries("tested")] == ["open"]


def test_a_released_vector_may_be_measured() -> None:
    """It notes nothing: its answers are functions of one row each."""
    model = fitted("function", kernel=Linear(2.0))
    evaluate(model, TESTED, LABELS, budget=ZCDP(1.0), training_rows=False)
    model.score(TESTED, LABELS)
    assert len(model.transcript_) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_queries_are_answered_as_before(mechanism: str) -> None:
    model = fitted(mechanism)
    model.predict(TESTED[:3])
    assert len(model.transcript_) == 3
