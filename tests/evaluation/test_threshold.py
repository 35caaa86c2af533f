"""Choosing a threshold privately."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score

from privet import Ledger, PureDP
from privet.errors import DeclarationError
from privet.evaluation import choose_threshold
from tests.evaluation.models import ROWS, model, table

CANDIDATES = np.linspace(-6.0, 6.0, 13)


def plain(measure: Any, y: Any, predicted: Any) -> float:
    if measure == "balanced_accuracy":
        return float(balanced_accuracy_score(y, predicted))
    if measure == "f1":
        return float(f1_score(y, predicted))
    wrong, missed = (predicted & (y == 0)).sum(), (~predicted & (y == 1)).sum()
    return float(-(measure["false_positive"] * wrong + measure["false_negative"] * missed) / len(y))


@pytest.mark.parametrize(
    "measure",
    ["balanced_accuracy", "f1", {"false_positive": 1.0, "false_negative": 20.0}],
    ids=["balanced", "f1", "cost"],
)
def test_with_a_huge_budget_every_candidate_has_its_plain_value(measure: Any) -> None:
    x, y, _ = table(ROWS, 2)
    fitted = model()
    found = choose_threshold(fitted, x, y, budget=500.0, candidates=CANDIDATES, measure=measure)
    scores = fitted.decision_function(x)
    values = [plain(measure, y, scores > t) for t in CANDIDATES]
    np.testing.assert_allclose(found.values, values, atol=0.02)
    assert values[list(CANDIDATES).index(found.threshold)] >= max(values) - 0.02
    np.testing.assert_array_equal(found.predict(fitted, x), (scores > found.threshold).astype(int))


def test_costly_misses_lower_the_threshold() -> None:
    x, y, _ = table(ROWS, 2)
    chosen = [
        choose_threshold(
            model(),
            x,
            y,
            budget=500.0,
            candidates=CANDIDATES,
            measure={"false_positive": a, "false_negative": b},
        ).threshold
        for a, b in ((20.0, 1.0), (1.0, 20.0))
    ]
    assert chosen[0] > chosen[1]


def test_it_is_charged_and_covered(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("held out", PureDP(1.0))
    x, y, _ = table(ROWS, 2)
    options: dict[str, Any] = {"ledger": ledger, "dataset": "held out"}
    found = choose_threshold(model(), x, y, budget=0.4, candidates=[0.0, 1.0], **options)
    assert ledger.remaining("held out") == pytest.approx(0.6)
    assert found.guarantee.budget == PureDP(0.4)
    assert found.guarantee.event.cells == 6
    assert found.guarantee.receipt is not None
    with pytest.raises(DeclarationError, match="trained on"):
        choose_threshold(model(), *table(2 * ROWS, 1)[:2], budget=0.1, candidates=[0.0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"candidates": []},
        {"candidates": [1.0, 0.0]},
        {"candidates": [0.0, 0.0]},
        {"candidates": [float("nan")]},
        {"candidates": "zero"},
        {"measure": "recall"},
        {"measure": {"false_positive": 1.0}},
        {"measure": {"false_positive": 1.0, "false_negative": -1.0}},
        {"budget": 0.0},
        {"budget": float("nan")},
    ],
    ids=str,
)
def test_wrong_declarations_are_refused(wrong: dict[str, Any]) -> None:
    x, y, _ = table(ROWS, 2)
    with pytest.raises(DeclarationError):
        choose_threshold(model(), x, y, **{"budget": 1.0, "candidates": [0.0], **wrong})


def test_many_classes_have_no_threshold() -> None:
    x, y, _ = table(ROWS, 2, classes=3)
    with pytest.raises(DeclarationError, match="two classes"):
        choose_threshold(model(classes=3), x, y, budget=1.0, candidates=[0.0])
