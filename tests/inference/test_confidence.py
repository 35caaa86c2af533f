"""What is charged, when, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import (
    ZCDP,
    ApproxDP,
    LargeMarginGaussian,
    Ledger,
    LinearSVC,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    fit_with_intervals,
    load,
    save,
)
from privet.errors import BudgetExceeded, DataError, DeclarationError, InfeasibleBudget
from privet.inference import confidence
from privet.inference.budget_shares import moments_for, prepared_intervals
from privet.inference.files import load_intervals
from privet.inference.uncertainty import WiderUncertainty
from privet.kernels import KernelSVC
from privet.losses.margin import share_of_determinant
from privet.mechanisms.matrix import NoisyMatrices, SecondMoments
from privet.privacy import Budget
from privet.privacy.compose import Composition
from tests.inference.tables import fitted, table
from tests.strategies import name_of

BUDGETS = (PureDP(3.0), ZCDP(1.0), ApproxDP(3.0, 1e-6))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    found = Ledger(f"sqlite:///{tmp_path}/budget.db")
    found.open("people", cap=ZCDP(2.0))
    return found


def test_a_hinge_before_intervals_keeps_the_floor_of_few_rows() -> None:
    """Less regularization, which predictions gain from, would make its intervals longer."""
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (20_000, 2))
    y = (x[:, 0] > 0.0).astype(int)
    model, budget = LinearSVC(PureDP(0.5), fit_intercept=False), PureDP(1.0)
    alone = prepared_intervals(model, x, y, budget, 0.5).fit.with_budget(PureDP(0.5)).design
    before = prepared_intervals(model, x, y, budget, 0.5).fit
    ratio = before.design.risk.regularization / alone.risk.regularization
    few, many = (math.expm1(s * 0.5) for s in (0.1, share_of_determinant(20_000 * 0.5)))
    assert ratio == pytest.approx(many / few, rel=0.01)
    assert before.event == before.design.event


# -- every kind of model ---------------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS, ids=name_of)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearSVC(),
        LinearSVC(loss="smooth_hinge"),
        LogisticRegression(class_weight={1: 2.0}, fit_intercept=False, norm_bound=3.0),
        LogisticRegression(classes=[0, 1, 2]),
        LinearSVC(classes=[0, 1, 2]),
    ],
    ids=["logistic", "huber", "smooth", "weighted", "softmax", "joint huber"],
)
def test_every_kind_has_intervals(model: Any, mechanism: str, budget: Budget) -> None:
    x, y = table(n=20_000, d=2, classes=3 if model.classes else 2)
    fit = model.set_params(budget=budget, mechanism=mechanism).fit(x, y)
    found = confidence_intervals(fit, x, y, budget=budget)
    assert found.guarantee.budget == budget
    assert found.guarantee.private
    assert (found.half_width > 0.0).all()
    assert np.isfinite(found.half_width).all()


def test_the_papers_construction_is_a_study_and_its_files_are_read(tmp_path: Path) -> None:
    x, y = table(n=20_000, d=2)
    model = LogisticRegression(ZCDP(0.5), regularization=0.02).fit(x, y)
    with pytest.raises(DeclarationError, match="reproduce folder"):
        confidence_intervals(model, x, y, budget=ZCDP(0.5), calibration="wang2018")
    ours = confidence_intervals(model, x, y, budget=ZCDP(0.5))
    about = ours.uncertainty
    fields = {field.name: getattr(about, field.name) for field in dataclasses.fields(about)}
    theirs = replace(ours, uncertainty=WiderUncertainty(**fields))
    theirs.save(tmp_path / "theirs")
    again = load_intervals(tmp_path / "theirs")
    assert type(again.uncertainty) is WiderUncertainty
    np.testing.assert_allclose(again.half_width, theirs.half_width, rtol=1e-9)


def test_a_standardized_model() -> None:
    x, y = table(n=20_000)
    model = LogisticRegression(ZCDP(1.0), standardize="private", column_bounds=(-1.0, 1.0)).fit(
        x, y
    )
    found = confidence_intervals(model, x, y, budget=ZCDP(1.0))
    np.testing.assert_allclose(found.estimate[:3], model.coef_[0], rtol=1e-9)
    np.testing.assert_allclose(found.decision(x[:2]).estimate, model.decision_function(x[:2]))


# -- only what was paid for ------------------------------------------------------------------------


def test_given_the_released_matrices_no_row_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables, the same releases: the same intervals, to the last bit."""
    model, x, y = fitted()
    kept: list[NoisyMatrices] = []
    real = SecondMoments.run

    def replayed(self: Any, rows: Any, theta: Any, design: Any) -> Any:
        if not kept:
            kept.append(real(self, rows, theta, design))
        return kept[0]

    class Always:
        def words(self, shape: Any) -> Any:
            return np.full(shape, 11, dtype=np.uint64)

    monkeypatch.setattr(SecondMoments, "run", replayed)
    monkeypatch.setattr(confidence, "source", lambda seed: Always())
    first = confidence_intervals(model, x, y, budget=1.0)
    second = confidence_intervals(model, -0.3 * x, 1 - y, budget=1.0)
    np.testing.assert_array_equal(first.lower, second.lower)
    np.testing.assert_array_equal(first.p_value, second.p_value)


def test_the_release_hides_which_neighbor_it_came_from() -> None:
    """Draws on two opposite neighbors overlap: the test statistic stays within the budget.

    A blunt check of the whole path: one row among 20 is turned round, and the trace of the released
    Hessian is compared. Without noise the two would be told apart every time.
    """
    x = np.tile([[0.9, 0.0]], (20, 1))
    other = x.copy()
    other[0] = [0.0, 0.0]
    y = np.tile([0, 1], 10)
    model = LogisticRegression(5.0, regularization=1.0, fit_intercept=False).fit(x, y)
    k, traces = 400, []
    about = confidence.released_model(model)
    moments = moments_for(about.design.risk, PureDP(0.5), None, model)
    design = moments.design(20, 2)
    for rows in (model.revisit(x, y).rows, model.revisit(other, y).rows):
        released = (moments.run(rows, about.theta, design) for _ in range(k))
        traces.append(np.array([np.trace(each.hessian) for each in released]))
    split = np.median(np.concatenate(traces))
    hits = (traces[0] > split).mean(), (traces[1] > split).mean()
    most = np.exp(0.5)
    slack = 5.0 * np.sqrt(0.25 / k)
    assert hits[0] <= most * hits[1] + (1.0 + most) * slack


def test_the_charge_comes_before_the_rows_are_summed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x, y = fitted(ledger=ledger, dataset="people")

    def broken(*_: Any) -> Any:
        raise RuntimeError("the machine stopped")

    monkeypatch.setattr(SecondMoments, "run", broken)
    with pytest.raises(RuntimeError, match="stopped"):
        confidence_intervals(model, x, y, budget=ZCDP(0.25))
    assert ledger.remaining("people") == pytest.approx(1.25)
    assert len(ledger.orphans("people")) == 1


def test_the_ledger_adds_up_exactly(ledger: Ledger) -> None:
    model, x, y = fitted(ledger=ledger, dataset="people")
    found = confidence_intervals(model, x, y, budget=ZCDP(0.25))
    assert ledger.remaining("people") == pytest.approx(2.0 - 0.5 - 0.25, abs=2e-9)
    assert Composition((model.guarantee_.event, found.guarantee.event)).zcdp() == 0.75
    assert found.guarantee.receipt is not None
    assert found.guarantee.receipt.dataset == "people"
    ledger.verify()
    with pytest.raises(BudgetExceeded):
        confidence_intervals(model, x, y, budget=ZCDP(1.3))


def test_one_budget_is_one_reservation(ledger: Ledger) -> None:
    x, y = table()
    template = LogisticRegression(123.0, ledger=ledger, dataset="people")
    model, found = fit_with_intervals(template, x, y, budget=ZCDP(1.0), share=0.8)
    kinds = [entry.kind for entry in ledger.entries("people")]
    assert kinds == ["open", "reserve", "settle"]
    assert ledger.remaining("people") == pytest.approx(1.0, abs=2e-9)
    assert model.guarantee_.budget.rho == pytest.approx(0.8)
    assert found.guarantee.budget.rho == pytest.approx(0.2)
    assert model.guarantee_.receipt == found.guarantee.receipt
    assert model.guarantee_.receipt is not None
    assert template.budget == 123.0
    assert not hasattr(template, "coef_")


@pytest.mark.parametrize("budget", BUDGETS, ids=name_of)
def test_a_fit_with_intervals_keeps_its_claim(budget: Budget) -> None:
    x, y = table(n=20_000, d=2)
    model, found = fit_with_intervals(LogisticRegression(), x, y, budget=budget)
    parts = Composition((model.guarantee_.event, found.guarantee.event))
    if isinstance(budget, PureDP):
        assert found.with_model  # one release, with the fit's event in it
        assert found.guarantee.event.parts[0] == model.guarantee_.event
        parts = Composition((found.guarantee.event,))
        assert parts.zcdp() >= 0.999 * budget.epsilon**2 / 2.0  # not the sum of two parts' rhos
        assert f"epsilon = {budget.epsilon:g} for each row" in found.price()
        assert "together, as one release" in found.price()
        assert 0.999 * budget.epsilon < parts.pure() <= budget.epsilon
    elif isinstance(budget, ZCDP):
        assert 0.999 * budget.rho < parts.zcdp() <= budget.rho
    else:
        assert isinstance(budget, ApproxDP)
        assert parts.epsilon(budget.delta) <= budget.epsilon
    for share in (0.0, 1.0, "half", -1.0):
        with pytest.raises(DeclarationError, match="share"):
            fit_with_intervals(LogisticRegression(), x, y, budget=budget, share=share)  # type: ignore[arg-type]


def test_the_budget_is_for_the_models_unit() -> None:
    model, x, y = fitted()
    model.guarantee_ = replace(model.guarantee_, group=3, unit="one person, with 3 rows")
    found = confidence_intervals(model, x, y, budget=ZCDP(0.9))
    assert found.guarantee.budget.rho == pytest.approx(0.9)
    assert found.guarantee.event.claim.facts()["rho"] == pytest.approx(0.1)
    assert found.guarantee.unit == "one person, with 3 rows"


# -- stamps ----------------------------------------------------------------------------------------


def test_a_seeded_model_gives_stamped_intervals() -> None:
    model, x, y = fitted(insecure_seed=5)
    first = confidence_intervals(model, x, y, budget=1.0)
    second = confidence_intervals(model, x, y, budget=1.0)
    assert not first.guarantee.private
    assert "NOT PRIVATE" in str(first)
    np.testing.assert_array_equal(first.lower, second.lower)
    fit, found = fit_with_intervals(LogisticRegression(insecure_seed=5), x, y, budget=2.0)
    assert not fit.guarantee_.private
    assert not found.guarantee.private


def test_an_unproved_fit_is_stamped_too() -> None:
    x, y = table(n=300)
    model = LinearSVC(0.5, insecure_seed=3).fit(x, y)
    assert not model.guarantee_.private
    about = confidence.released_model(model)
    moments = moments_for(about.design.risk, PureDP(1.0), None, model)
    event = moments.design(300, 4).event
    assert not event.private
    assert "seed" in event.why_not_private


# -- refusals --------------------------------------------------------------------------------------


def test_small_tables_get_a_larger_share_for_the_intervals() -> None:
    x, y = table()
    shares = []
    for rows, budget in ((x, 2.0), (np.tile(x, (100, 1)), 2.0), (x, 8.0), (x[:500], 4.0)):
        labels = np.resize(y, len(rows))
        fit, _ = fit_with_intervals(LogisticRegression(), rows, labels, budget=budget)
        shares.append(fit.guarantee_.budget.epsilon / budget)
    np.testing.assert_allclose(shares, [0.85, 0.9, 0.8, 0.65], atol=1e-9)
    with pytest.raises(InfeasibleBudget):
        fit_with_intervals(LogisticRegression(), x, y, budget=2.0, share=0.98)


def test_a_share_that_cannot_be_had_is_passed_over() -> None:
    """With this little regularization a small share is less than the Jacobian costs."""
    x, y = table(n=8000, d=2)
    model = LogisticRegression(regularization=1.5e-4, calibration="exact")
    with pytest.raises(InfeasibleBudget, match="Jacobian"):
        fit_with_intervals(model, x, y, budget=0.6, share=0.3)
    fit, found = fit_with_intervals(model, x, y, budget=0.6)
    parts = found.guarantee.event.parts or (fit.guarantee_.event, found.guarantee.event)
    assert sum(part.claim.facts()["epsilon"] for part in parts) == pytest.approx(0.6)
    with pytest.raises(InfeasibleBudget, match="Jacobian"):
        fit_with_intervals(model.set_params(regularization=1e-6), x, y, budget=0.6)


def test_models_that_cannot_have_them() -> None:
    x, y = table(n=500, d=2)
    mixture = LargeMarginGaussian(5.0, components=2)
    with pytest.raises(DeclarationError, match="mixtures"):
        confidence_intervals(mixture.fit(x, y), x, y, budget=100.0)
    with pytest.raises(DeclarationError, match="mixtures"):
        fit_with_intervals(mixture, x, y, budget=100.0)
    kernel = KernelSVC(5.0, n_frequencies=2).fit(x, y)
    with pytest.raises(DeclarationError, match="no intervals for KernelSVC"):
        confidence_intervals(kernel, x, y, budget=100.0)
    with pytest.raises(DeclarationError, match="LogisticRegression"):
        fit_with_intervals(object(), x, y, budget=1.0)
    with pytest.raises(ValueError, match="not fitted"):
        confidence_intervals(LogisticRegression(), x, y, budget=1.0)


def test_other_rows_are_refused_by_their_number(ledger: Ledger) -> None:
    model, x, y = fitted(ledger=ledger, dataset="people")
    with pytest.raises(DataError, match="3999 rows but the model was trained on 4000"):
        confidence_intervals(model, x[1:], y[1:], budget=ZCDP(0.1))
    with pytest.raises(ValueError, match="2 features"):
        confidence_intervals(model, x[:, :2], y, budget=ZCDP(0.1))
    with pytest.raises(DataError):
        confidence_intervals(model, np.full_like(x, np.nan), y, budget=ZCDP(0.1))
    assert ledger.remaining("people") == pytest.approx(1.5)
    assert "only their number" in " ".join(
        confidence_intervals(model, x, y, budget=ZCDP(0.1)).guarantee.assumptions
    )


def test_a_useless_budget_is_refused_with_the_width(ledger: Ledger) -> None:
    model, x, y = fitted(ledger=ledger, dataset="people")
    with pytest.raises(InfeasibleBudget, match=r"half of a .* about .* would do"):
        confidence_intervals(model, x, y, budget=ZCDP(1e-8))
    assert ledger.remaining("people") == pytest.approx(1.5)
    with pytest.raises(InfeasibleBudget):
        fit_with_intervals(LogisticRegression(), x, y, budget=ZCDP(0.5), share=1.0 - 1e-9)


def test_the_named_sufficient_budget_suffices() -> None:
    model, x, y = fitted()
    with pytest.raises(InfeasibleBudget) as refusal:
        confidence_intervals(model, x, y, budget=PureDP(0.001))
    named = str(refusal.value).split("about epsilon = ")[1].split(" ")[0]
    confidence_intervals(model, x, y, budget=PureDP(float(named)))


def test_a_refusal_speaks_of_the_person_whose_budget_was_asked_for() -> None:
    model, x, y = fitted()
    model.guarantee_ = replace(model.guarantee_, group=3, unit="one person, with 3 rows")
    with pytest.raises(InfeasibleBudget, match=r"epsilon = 0\.003 for a person with 3") as refusal:
        confidence_intervals(model, x, y, budget=PureDP(0.003))
    named = str(refusal.value).split("about epsilon = ")[1].split(" ")[0]
    confidence_intervals(model, x, y, budget=PureDP(float(named)))


def test_ledgers_and_words(ledger: Ledger, tmp_path: Path) -> None:
    model, x, y = fitted(ledger=ledger, dataset="people")
    save(model, tmp_path / "m.privet")
    loaded = load(tmp_path / "m.privet")
    with pytest.raises(DeclarationError, match="ledger="):
        confidence_intervals(loaded, x, y, budget=ZCDP(0.1))
    found = confidence_intervals(loaded, x, y, budget=ZCDP(0.1), ledger=ledger)
    assert found.guarantee.receipt is not None
    another = Ledger(f"sqlite:///{tmp_path / 'another.db'}")
    another.open("people", ZCDP(9.0))
    with pytest.raises(DeclarationError, match="not in this ledger"):
        confidence_intervals(loaded, x, y, budget=ZCDP(0.1), ledger=another)
    assert another.remaining("people") == 9.0
    with pytest.raises(DeclarationError, match="calibration"):
        confidence_intervals(model, x, y, budget=ZCDP(0.1), calibration="other")
    plain, _, _ = fitted()
    with pytest.raises(DeclarationError, match="no ledger"):
        confidence_intervals(plain, x, y, budget=ZCDP(0.1), dataset="people")


@pytest.mark.parametrize("standardize", ["unit", "whiten"])
def test_rows_at_norm_one_are_refused_by_their_own_name(standardize: Any) -> None:
    x, y = table(n=2000, d=2)
    model = LogisticRegression(ZCDP(1.0), standardize=standardize)
    for refused in (
        lambda: confidence_intervals(model.fit(x, y), x, y, budget=ZCDP(1.0)),
        lambda: fit_with_intervals(model, x, y, budget=ZCDP(1.0)),
    ):
        with pytest.raises(DeclarationError, match=r"this LogisticRegression.*'private'"):
            refused()
