"""Hostile inputs: refused with a sentence and without a word about a row.

Uncharged where the refusal is public or the row holds no number, charged where it tells of a row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from privet import Ledger, LogisticRegression, PureDP, evaluate
from privet.errors import DataError, DeclarationError, PrivetError
from privet.evaluation import choose_threshold
from tests.evaluation.models import ROWS, model, table

CANARY = 918273.25
WORD = "Xq7canary"


@pytest.fixture
def account(tmp_path: Path) -> dict[str, Any]:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("held out", PureDP(1.0))
    return {"ledger": ledger, "dataset": "held out"}


def spoiled(kind: str) -> dict[str, Any]:
    x, y, groups = table(ROWS, 2)
    given: dict[str, Any] = {"X": x, "y": y, "groups": groups, "group_values": ["many", "few"]}
    x[5, 1] = CANARY if kind == "width" else x[5, 1]
    if kind in ("nan", "inf"):
        x[3] = (float(kind), CANARY, 0.0)
    elif kind == "label":
        y[7] = int(CANARY)
    elif kind == "label nan":
        given["y"] = np.where(np.arange(ROWS) == 7, np.nan, y)
    elif kind == "label text":
        given["y"] = np.where(np.arange(ROWS) == 7, WORD, "0")
    elif kind == "group":
        given["groups"] = np.where(np.arange(ROWS) == 7, WORD, groups)
    elif kind == "short":
        given["X"] = x[:-1]
    elif kind == "short groups":
        given["groups"] = groups[:-1]
    elif kind == "width":
        given["X"] = x[:, :2]
    elif kind == "text":
        given["X"] = np.where(x == x[3, 0], WORD, "1.0")
    elif kind == "table of labels":
        given["y"] = np.stack([y, y], axis=1)
    elif kind == "masked":
        given["y"] = np.ma.masked_equal(y, 1)
    return given


@pytest.mark.parametrize(
    "kind",
    [
        "nan",
        "inf",
        "short",
        "short groups",
        "width",
        "text",
        "table of labels",
        "masked",
    ],
)
def test_bad_rows_are_refused_uncharged_and_unquoted(kind: str, account: dict[str, Any]) -> None:
    refuse(spoiled(kind), account)
    assert account["ledger"].remaining("held out") == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["label", "label nan", "label text", "group"])
def test_an_undeclared_label_or_group_is_charged_and_unquoted(
    kind: str, account: dict[str, Any]
) -> None:
    """Whether a row has it is private: a refusal for nothing would tell."""
    refuse(spoiled(kind), account)
    assert account["ledger"].remaining("held out") == pytest.approx(0.5)
    assert len(account["ledger"].orphans("held out")) == 1


def test_a_threshold_charges_for_an_undeclared_label(account: dict[str, Any]) -> None:
    x, y, _ = table(ROWS, 2)
    y[7] = int(CANARY)
    with pytest.raises(DataError, match="outside the declared classes"):
        choose_threshold(model(), x, y, budget=0.5, candidates=[-1.0, 0.0, 1.0], **account)
    assert account["ledger"].remaining("held out") == pytest.approx(0.5)
    x[3, 0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        choose_threshold(model(), x, y, budget=0.5, candidates=[-1.0, 0.0, 1.0], **account)
    assert account["ledger"].remaining("held out") == pytest.approx(0.5)


def test_what_a_step_refuses_in_a_row_is_charged(account: dict[str, Any]) -> None:
    """A step that knows no such category tells of a row as an undeclared label does."""
    _, y, _ = table(ROWS, 2)
    text = np.where(np.arange(ROWS) % 2, "a", "b")[:, None]
    encoder = OneHotEncoder(sparse_output=False).fit([["a"], ["b"], ["c"]])
    whole = Pipeline([("one hot", encoder), ("model", model())])
    text[7] = WORD[:1]
    with pytest.raises(DataError, match="refused a row"):
        evaluate(whole, text, y, budget=0.5, **account)
    assert account["ledger"].remaining("held out") == pytest.approx(0.5)


def refuse(given: dict[str, Any], account: dict[str, Any]) -> None:
    """Refused, and nothing in the error or behind it quotes a row."""
    with pytest.raises((PrivetError, ValueError)) as refusal:
        evaluate(model(), given.pop("X"), given.pop("y"), budget=0.5, **given, **account)
    told: BaseException | None = refusal.value
    while told is not None:
        assert str(int(CANARY)) not in str(told)
        assert WORD not in str(told)
        told = told.__cause__ or (None if told.__suppress_context__ else told.__context__)


def test_no_rows_and_one_row() -> None:
    x, y, _ = table(ROWS, 2)
    with pytest.raises(DataError, match="no rows"):
        evaluate(model(), x[:0], y[:0], budget=1.0)
    one = evaluate(model(), x[:1], y[:1], budget=1.0)
    assert one.n == 1
    same = evaluate(model(), x, np.zeros(ROWS, dtype=int), budget=1.0)  # one class only
    for each in (*one.measures, *same.measures):
        assert 0.0 <= each.lower <= each.upper <= 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0.0},
        {"budget": -1.0},
        {"budget": float("nan")},
        {"budget": float("inf")},
        {"budget": "1"},
        {"budget": True},
        {"level": 1.0},
        {"level": 0.0},
        {"level": "0.95"},
        {"measures": []},
        {"measures": "accuracy"},
        {"measures": ["happiness"]},
        {"measures": ["groups"]},
        {"groups": np.zeros(ROWS)},
        {"groups": np.zeros(ROWS), "group_values": []},
        {"groups": np.zeros(ROWS), "group_values": [0, 0]},
        {"group_values": [0]},
        {"training_rows": "no"},
        {"dataset": "somewhere"},
        {"ledger": "budget.db", "dataset": "a"},
        {"insecure_seed": -1},
    ],
    ids=lambda wrong: "-".join(f"{name}-{str(value)[:12]}" for name, value in wrong.items()),
)
def test_wrong_declarations_are_refused(wrong: dict[str, Any]) -> None:
    x, y, _ = table(ROWS, 2)
    with pytest.raises(DeclarationError):
        evaluate(model(), x, y, **{"budget": 1.0, **wrong})


def test_measures_that_a_model_does_not_have_are_refused() -> None:
    x, y, _ = table(ROWS, 2)
    with pytest.raises(DeclarationError, match="probabilities"):
        evaluate(model("svm"), x, y, budget=1.0, measures=["calibration"])


def test_only_a_released_model_is_evaluated() -> None:
    x, y, _ = table(ROWS, 2)
    with pytest.raises(DeclarationError, match="guarantee"):
        evaluate(Plain().fit(x, y), x, y, budget=1.0)
    with pytest.raises(ValueError, match="fitted"):
        evaluate(LogisticRegression(), x, y, budget=1.0)
    with pytest.raises(DeclarationError):
        evaluate(object(), x, y, budget=1.0)


def test_the_canary_is_in_no_result() -> None:
    x, y, groups = table(ROWS, 2)
    x[4] = CANARY
    found = evaluate(model(), x, y, budget=1.0, groups=groups, group_values=["many", "few"])
    assert str(int(CANARY)) not in found.dumps() + str(found)
