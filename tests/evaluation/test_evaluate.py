"""``evaluate`` as users call it: what it tells, what it charges, what it refuses to do silently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from privet import ZCDP, ApproxDP, Ledger, LogisticRegression, PureDP, evaluate
from privet.errors import BudgetExceeded, DataError, DeclarationError, LedgerError
from privet.evaluation.allocation import count_tables, plan_evaluation, shares
from privet.evaluation.evaluation_files import evaluation_from_json
from privet.mechanisms.counts import HistogramDesign
from privet.privacy.compose import Composition
from privet.report.page import evaluation_section as fragment
from tests.evaluation.models import ROWS, model, table

LARGE = 300.0  # so little noise that a value must be right


def test_the_public_name_is_the_function_also_after_its_room_was_opened() -> None:
    import privet.evaluation

    assert callable(evaluate)
    assert privet.evaluation.evaluate is privet.evaluate is evaluate


def test_with_a_huge_budget_the_values_are_the_plain_ones() -> None:
    x, y, groups = table(ROWS, 2)
    fitted = model()
    found = evaluate(
        fitted, x, y, budget=LARGE, groups=groups, group_values=["many", "few", "nobody"]
    )
    predicted = fitted.predict(x)
    assert found.accuracy.estimate == pytest.approx((predicted == y).mean(), abs=2e-3)
    plain = [[((y == i) & (predicted == j)).sum() for j in (0, 1)] for i in (0, 1)]
    np.testing.assert_allclose(found.confusion, plain, atol=1.5)
    few = groups == "few"
    rate = found.get("true positive rate", "group few").estimate
    assert rate == pytest.approx(predicted[few & (y == 1)].mean(), abs=0.03)
    share = fitted.predict_proba(x)[:, 1]
    bins = np.minimum((10 * share).astype(int), 9)
    fullest = int(np.bincount(bins).argmax())
    there = found.calibration[fullest]
    assert there.of.startswith(f"probability 0.{fullest}")
    assert there.estimate == pytest.approx(y[bins == fullest].mean(), abs=0.02)
    from sklearn.metrics import roc_auc_score

    assert found.auc.estimate == pytest.approx(roc_auc_score(y, share), abs=0.02)
    for each in found.measures:
        assert each.estimate is None or each.lower <= each.estimate <= each.upper


@pytest.mark.parametrize(
    "budget", [1.0, PureDP(2.0), ZCDP(0.1), ApproxDP(1.0, 1e-6)], ids=["1", "p", "z", "a"]
)
def test_every_kind_of_budget_is_claimed_as_given(budget: Any) -> None:
    x, y, groups = table(ROWS, 2)
    found = evaluate(model(), x, y, budget=budget, groups=groups, group_values=["many", "few"])
    claim = found.guarantee.budget
    assert claim == (PureDP(1.0) if budget == 1.0 else budget)
    assert claim.keeps(Composition(found.guarantee.event.parts))
    assert len(found.guarantee.event.parts) == 3
    assert found.guarantee.private
    assert "evaluated" in found.guarantee.unit


def test_every_model_works_alone_and_in_a_pipeline() -> None:
    x, y, _ = table(ROWS, 2)
    svm = evaluate(model("svm"), x, y, budget=LARGE)
    assert not svm.calibration
    assert svm.note() == f"Positive class: {svm.classes[1]}."
    assert svm.auc.lower > 0.5
    three_x, three_y, groups = table(ROWS, 2, classes=3)
    many = evaluate(
        model(classes=3),
        three_x,
        three_y,
        budget=LARGE,
        measures=["accuracy", "confusion", "auc", "calibration", "groups"],
        groups=groups,
        group_values=["many", "few"],
    )
    assert len(many.all("AUC")) == 3
    assert len(many.all("confusion rate")) == 9
    few = groups == "few"
    right = (model(classes=3).predict(three_x) == three_y)[few].mean()
    assert many.get("accuracy", "group few").estimate == pytest.approx(right, abs=0.02)
    scaled = make_pipeline(Normalizer(), LogisticRegression(20.0))
    trained = scaled.fit(*table(2 * ROWS, 1)[:2])
    found = evaluate(trained, x, y, budget=LARGE, measures=["accuracy"])
    assert found.accuracy.estimate == pytest.approx(trained.score(x, y), abs=5e-3)
    assert any("pipeline" in told for told in found.guarantee.assumptions)


def test_a_step_that_may_look_at_other_rows_is_refused() -> None:
    """One replaced row would move every count; no sensitivity covers that."""
    x, y, _ = table(ROWS, 2)
    mixing = FunctionTransformer(lambda rows: rows - 5.0 * np.clip(rows.sum(0), -1.0, 1.0))
    with pytest.raises(DeclarationError, match="other rows"):
        evaluate(make_pipeline(mixing, model()), x, y, budget=1.0)


def test_a_step_s_own_error_is_not_quoted() -> None:
    x, y, _ = table(ROWS, 2)

    class Quoting(Normalizer):  # type: ignore[misc]
        def transform(self, X: Any, copy: Any = None) -> Any:
            raise ValueError("Found unknown categories ['Alice HIV+'] in column 0")

    with pytest.raises(DataError) as caught:
        evaluate(make_pipeline(Quoting(), model()), x, y, budget=1.0)
    assert "Alice" not in str(caught.value)
    assert caught.value.__context__ is None


def test_auc_and_calibration_agree_alone_and_from_one_table() -> None:
    x, y, _ = table(ROWS, 2)
    both = evaluate(model(), x, y, budget=LARGE, measures=["auc", "calibration"])
    area = evaluate(model(), x, y, budget=LARGE, measures=["auc"])
    bins = evaluate(model(), x, y, budget=LARGE, measures=["calibration"])
    assert (
        "of 30 bins. The interval of the calibration error covers in at least that share of cases."
        in str(bins)
    )
    assert both.auc.estimate == pytest.approx(area.auc.estimate, abs=0.01)
    for one, other in zip(both.calibration, bins.calibration, strict=True):
        if other.upper - other.lower < 0.5:
            assert one.estimate == pytest.approx(other.estimate, abs=0.05)
    assert list(both.counts) == ["ranks"]


@pytest.mark.parametrize("asked", [["auc", "calibration"], ["calibration"]])
def test_the_calibration_error_is_near_to_the_usual_one(asked: list[str]) -> None:
    """With the mean of the probabilities in each tenth, not with its middle."""
    x, y, _ = table(ROWS, 2)
    found = evaluate(model(), x, y, budget=LARGE, measures=asked).get("calibration error")
    given, hit = model().predict_proba(x)[:, 1], np.asarray(y) == model().classes_[1]
    tenth = np.minimum((10 * given).astype(int), 9)
    usual = np.abs(np.bincount(tenth, hit - given, minlength=10)).sum() / len(y)
    assert found.lower - 1e-3 <= usual
    assert found.estimate <= usual + 0.003  # the estimate takes off what sampling adds


def test_fewer_measures_are_more_exact() -> None:
    alone = plan_evaluation(PureDP(1.0), 1000, ("accuracy",), 2, 0, None)
    whole = plan_evaluation(
        PureDP(1.0), 1000, ("accuracy", "confusion", "auc", "calibration"), 2, 0, None
    )
    assert alone.mechanisms[0].scale == pytest.approx(1.0)  # a count: sensitivity one
    assert whole.mechanisms[0].scale > 4.0
    assert [table.name for table in whole.tables] == ["confusion", "ranks"]
    assert {part.mechanism for part in whole.event.parts} == {"histogram"}


def test_the_shares_minimize_the_predicted_noise() -> None:
    every = count_tables(("confusion", "auc", "calibration", "groups"), 2, 4, 32)
    for budget, power in ((PureDP(1.0), 2), (ZCDP(1.0), 1)):
        best = np.array(shares(budget, every))
        assert best.sum() == pytest.approx(1.0)

        def cost(each: Any, power: int = power) -> float:
            return sum(t.weight / s**power for t, s in zip(every, each, strict=True))

        for seed in range(20):
            other = best * np.exp(0.1 * np.random.default_rng(seed).normal(size=len(best)))
            assert cost(best) <= cost(other / other.sum()) * (1 + 1e-12)


def test_the_ledger_is_charged_once_and_before(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("held out", PureDP(1.0))
    x, y, _ = table(ROWS, 2)
    found = evaluate(model(), x, y, budget=0.75, ledger=ledger, dataset="held out")
    assert ledger.remaining("held out") == pytest.approx(0.25)
    assert [entry.kind for entry in ledger.entries("held out")] == ["open", "reserve", "settle"]
    assert found.guarantee.receipt is not None
    with pytest.raises(BudgetExceeded):
        evaluate(model(), x, y, budget=0.75, ledger=ledger, dataset="held out")
    with pytest.raises(DeclarationError, match="seed"):
        evaluate(model(), x, y, budget=0.1, ledger=ledger, dataset="held out", insecure_seed=1)
    with pytest.raises(LedgerError):
        evaluate(model(), x, y, budget=0.1, ledger=ledger, dataset="nowhere")
    assert ledger.remaining("held out") == pytest.approx(0.25)


def test_a_crash_while_noise_is_drawn_leaves_the_charge_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("held out", PureDP(1.0))
    x, y, _ = table(ROWS, 2)

    def crash(*_: Any) -> Any:
        raise RuntimeError("the machine stopped")

    monkeypatch.setattr(HistogramDesign, "perturb", crash)
    with pytest.raises(RuntimeError, match="stopped"):
        evaluate(model(), x, y, budget=0.75, ledger=ledger, dataset="held out")
    assert ledger.remaining("held out") == pytest.approx(0.25)
    assert len(ledger.orphans("held out")) == 1


def test_training_rows_are_refused_unless_said() -> None:
    x, y, _ = table(2 * ROWS, 1)
    with pytest.raises(DeclarationError, match="trained on"):
        evaluate(model(), x, y, budget=1.0)
    stamped = evaluate(model(), x, y, budget=1.0, training_rows=True)
    assert stamped.on_training_rows
    assert "optimistic" in str(stamped)
    assert "optimistic" in fragment(stamped)
    assert "training" in stamped.guarantee.unit
    declared = evaluate(model(), x, y, budget=1.0, training_rows=False)
    assert any("declared" in told for told in declared.guarantee.assumptions)
    with pytest.raises(DeclarationError, match="rows"):
        evaluate(model(), x[:-1], y[:-1], budget=1.0, training_rows=True)


def test_training_rows_are_charged_to_their_own_account(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("people", PureDP(3.0))
    ledger.open("others", PureDP(3.0))
    x, y, _ = table(ROWS, 1)
    fitted = LogisticRegression(1.0, ledger=ledger, dataset="people").fit(x, y)
    with pytest.raises(DeclarationError, match="trained on"):
        evaluate(fitted, x, y, budget=1.0, ledger=ledger, dataset="people")
    with pytest.raises(DeclarationError, match="account"):
        evaluate(fitted, x, y, budget=1.0, ledger=ledger, dataset="others", training_rows=True)
    assert ledger.remaining("people") == pytest.approx(2.0)
    another = Ledger(f"sqlite:///{tmp_path / 'another.db'}")
    another.open("people", PureDP(3.0))
    with pytest.raises(DeclarationError, match="not in this ledger"):
        evaluate(fitted, x, y, budget=1.0, ledger=another, dataset="people", training_rows=True)
    evaluate(fitted, x, y, budget=1.0, ledger=ledger, dataset="people", training_rows=True)
    assert ledger.remaining("people") == pytest.approx(1.0)
    with pytest.raises(DeclarationError, match="trained on"):  # no account, or another one
        evaluate(fitted, x, y, budget=1.0)
    with pytest.raises(DeclarationError, match="account"):
        evaluate(fitted, x, y, budget=1.0, training_rows=True)
    other = {"ledger": ledger, "dataset": "others", "training_rows": False}
    evaluate(fitted, x, y, budget=1.0, **other)  # other people's rows, as declared
    part = evaluate(fitted, x[:99], y[:99], budget=0.5, ledger=ledger, dataset="people")
    assert not part.on_training_rows


def test_the_result_is_frozen_and_reads_as_table_frame_json_and_page() -> None:
    x, y, _ = table(ROWS, 2)
    found = evaluate(model(), x, y, budget=1.0)
    with pytest.raises(AttributeError):
        found.n = 3  # type: ignore[misc]
    frame = found.to_frame()
    assert list(frame.columns) == ["measure", "of", "estimate", "lower", "upper"]
    assert len(frame) == len(found.measures)
    again = json.loads(found.dumps())
    assert len(again.pop("sha256")) == 64
    assert again["n"] == ROWS
    assert again["guarantee"]["event"]["claim"] == {"kind": "pure", "epsilon": 1.0}
    assert str(evaluation_from_json(again)) == str(found)
    assert evaluation_from_json(again).to_json() == again
    for broken in (None, [], {**again, "version": 3}, {**again, "n": "many"}):
        with pytest.raises(DataError, match="evaluation"):
            evaluation_from_json(broken)
    lines = str(found).splitlines()
    assert "epsilon = 1" in lines[1]
    assert len(lines) == 3 + len(found.measures) + 2  # the note
    page = fragment(found)
    assert page.count("<tr>") == 1 + len(found.measures)
    assert found.note() in page
    assert "http" not in page
    with pytest.raises(KeyError, match="accuracy"):
        found.get("happiness")


def test_names_in_a_page_are_escaped() -> None:
    x, y, _ = table(ROWS, 2)
    odd = "<script>alert(1)</script>"
    groups = np.where(y == 1, odd, "b")
    found = evaluate(model(), x, y, budget=1.0, groups=groups, group_values=[odd, "b"])
    assert "<script>" not in fragment(found)


def test_a_seed_repeats_and_is_stamped_and_without_one_noise_differs() -> None:
    x, y, _ = table(ROWS, 2)
    seeded = [evaluate(model(), x, y, budget=1.0, insecure_seed=7) for _ in range(2)]
    assert seeded[0].measures == seeded[1].measures
    assert not seeded[0].guarantee.private
    assert "Not private" in fragment(seeded[0])
    fresh = [evaluate(model(), x, y, budget=1.0, measures=["accuracy"]) for _ in range(2)]
    assert fresh[0].accuracy != fresh[1].accuracy


def test_tables_released_together_do_not_share_their_noise() -> None:
    x, y, groups = table(ROWS, 2)
    found = evaluate(
        model(), x, y, budget=0.01, groups=groups, group_values=["many", "few"], insecure_seed=3
    )
    first = np.ravel(found.counts["confusion"])
    assert not np.isclose(first[0], np.ravel(found.counts["ranks"])[0])
    drawn = plan_evaluation(ZCDP(1.0), 10, ("confusion", "auc", "calibration"), 3, 0, 3).mechanisms
    zero = [m.run(np.zeros(m.cells, dtype=np.int64), 10).values[:4] / m.scale for m in drawn]
    assert len({tuple(np.round(values, 6)) for values in zero}) == 3
