"""The three searches: what they cost, what they see, what they refuse, what they release."""

from __future__ import annotations

import logging
import math
import threading
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from privet import GDP, ZCDP, ApproxDP, Ledger, LinearSVC, LogisticRegression, PureDP, load
from privet.errors import BudgetExceeded, DataError, DeclarationError, InfeasibleBudget, quietly
from privet.privacy.compose import costs, units
from privet.privacy.curves import renyi_epsilon
from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch, TuningAdvice
from reproduce.chaudhuri2008 import ChaudhuriMonteleoni2008
from tests.tuning.tables import CANDIDATES, Watched, separable

BUDGETS = [PureDP(1.0), ZCDP(0.1), ApproxDP(1.0, 1e-6)]
SEARCHES = [PartitionSearch, RandomStoppingSearch, PublicSearch]


def search(kind: Any, estimator: Any = None, candidates: Any = None, **given: Any) -> Any:
    if kind is PublicSearch and "validation" not in given:
        given["validation"] = separable(500)
    return kind(
        LogisticRegression() if estimator is None else estimator,
        CANDIDATES if candidates is None else candidates,
        **given,
    )


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("kind", SEARCHES)
def test_one_budget_in_and_exactly_that_out(kind: Any, budget: Any, tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    # the filter of an approximate cap keeps a part of it for choices that depend on answers
    cap = ApproxDP(1.6, 1e-6) if isinstance(budget, ApproxDP) else budget
    ledger.open("people", cap=cap)
    x, y = separable(4000)
    found = search(kind, budget=budget, ledger=ledger, dataset="people").fit(x, y)
    reserved = [entry for entry in ledger.entries("people") if entry.kind == "reserve"]
    assert len(reserved) == 1
    assert found.guarantee_.budget == budget
    assert found.best_estimator_.guarantee_ == found.guarantee_
    column = {"pure": 0, "zcdp": 1}.get(budget.kind)
    if column is not None:
        amount = budget.facts()["epsilon" if column == 0 else "rho"]
        assert costs(found.guarantee_.event)[column] == units(amount)
        assert ledger.remaining("people") == 0.0
    else:
        assert found.guarantee_.event.epsilon(budget.delta) <= budget.epsilon
    assert not ledger.orphans("people")
    with pytest.raises(BudgetExceeded):
        search(kind, budget=budget, ledger=ledger, dataset="people").fit(x, y)
    assert len(ledger.entries("people")) == 3


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_curve_proves_the_claim(kind: Any) -> None:
    """What the event records costs no more than it claims, in the claim's own calculus."""
    x, y = separable(3000)
    for budget in BUDGETS:
        event = search(kind, budget=budget).fit(x, y).guarantee_.event
        if isinstance(budget, PureDP):
            assert sum(curve.pure for curve in event.curves) <= budget.epsilon
        elif isinstance(budget, ZCDP):
            assert sum(curve.zcdp for curve in event.curves) <= budget.rho
        else:
            pure = sum(curve.pure for curve in event.curves)
            assert min(pure, renyi_epsilon(event.curves, budget.delta)) <= budget.epsilon


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_gaussian_budget_is_kept(kind: Any) -> None:
    """The Renyi curve of random stopping proves no mu: it pays by a pure epsilon within it."""
    x, y = separable(3000)
    event = search(kind, budget=GDP(1.0)).fit(x, y).guarantee_.event
    assert GDP(1.0).keeps(event)
    assert not GDP(0.9).keeps(event)


@pytest.mark.parametrize("kind", [PartitionSearch, RandomStoppingSearch])
def test_no_fit_sees_a_validation_row(kind: Any) -> None:
    """Every row has a mark; a run's training rows and the validation rows are disjoint."""
    x, y = separable(3000)
    x[:, -1] = np.arange(3000) / 6000.0
    Watched.seen.clear()
    Watched.predicted.clear()
    found = search(kind, Watched()).fit(x, y)
    assert Watched.seen
    held = found.guarantee_.event.validation_rows
    trained = set().union(*Watched.seen)
    validated = Watched.predicted[0]
    assert len(Watched.predicted) == len(Watched.seen)
    assert all(rows == validated for rows in Watched.predicted), "the validation rows changed"
    assert trained.isdisjoint(validated), "a validation row was trained on"
    assert len(validated) >= held
    # every row that some fit or the choice saw is one of the table's, and none is left out
    assert trained | validated == set(np.round(x[:, -1], 9).tolist())
    if kind is PartitionSearch:
        sizes = [len(seen) for seen in Watched.seen]
        assert sum(sizes) == len(trained), "two candidates share a row"
        assert len(trained) <= 3000 - held
    else:
        assert all(seen == trained for seen in Watched.seen), "the training rows changed"
        assert len(trained) == 3000 - held


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_search_is_a_classifier(kind: Any, tmp_path: Path) -> None:
    x, y = separable(4000)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    found = search(kind, budget=4.0).fit(frame, y)
    assert found.score(frame, y) > 0.8
    assert found.predict_proba(frame).shape == (4000, 2)
    assert found.decision_function(frame).shape == (4000,)
    assert found.best_params_ == CANDIDATES[found.best_index_]
    found.best_estimator_.save(tmp_path / "best.privet")
    again = load(tmp_path / "best.privet")
    assert again.guarantee_ == found.guarantee_
    np.testing.assert_array_equal(again.predict(frame), found.predict(frame))
    assert "candidates" in found.best_estimator_.statement()


def test_candidates_may_change_several_parameters_and_the_loss() -> None:
    x, y = separable(4000)
    candidates = [
        {"loss": "huber", "h": 0.5, "regularization": 0.01},
        {"loss": "smooth_hinge", "h": 1.0, "fit_intercept": False},
    ]
    found = PartitionSearch(LinearSVC(), candidates, 4.0).fit(x, y)
    assert found.best_estimator_.loss == candidates[found.best_index_]["loss"]
    assert not hasattr(found, "predict_proba")


def test_fits_run_side_by_side() -> None:
    x, y = separable(3000)
    assert PartitionSearch(LogisticRegression(), CANDIDATES, n_jobs=2).fit(x, y).best_params_


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_every_fit_draws_its_own_noise(backend: str) -> None:
    """The same candidate three times on the same rows: three different models."""
    from joblib import parallel_config

    x, y = separable(600)
    same = [{"regularization": 0.1, "norm_bound": 1.0 + 1e-12 * i} for i in range(4)]
    kept: list[Any] = []

    class Keeping(PublicSearch):
        def _fitted(self, *given: Any) -> list[Any]:
            kept.extend(super()._fitted(*given))
            return kept

    with parallel_config(backend=backend):
        Keeping(LogisticRegression(), same, validation=(x, y), n_jobs=2).fit(x, y)
    assert len({tuple(model.coef_[0]) for model in kept}) == 4


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize(
    ("candidates", "word"),
    [
        ([], "two candidates"),
        ([{"regularization": 0.1}], "two candidates"),
        ({"regularization": [0.1, 0.2]}, "list"),
        (["a", "b"], "dictionary"),
        ([{"C": 1.0}, {"C": 2.0}], "no parameter"),
        ([{"budget": 1.0}, {"budget": 9.0}], "belongs to the search"),
        ([{"insecure_seed": 1}, {}], "belongs to the search"),
    ],
)
def test_odd_candidates_are_refused(kind: Any, candidates: Any, word: str) -> None:
    x, y = separable(100)
    with pytest.raises(DeclarationError, match=word):
        search(kind, candidates=candidates).fit(x, y)


def test_a_generator_or_function_of_candidates_is_refused() -> None:
    x, y = separable(100)
    for odd in ((c for c in CANDIDATES), lambda: CANDIDATES, "regularization"):
        with pytest.raises(DeclarationError, match="list"):
            PartitionSearch(LogisticRegression(), odd).fit(x, y)


def test_a_candidate_cut_out_of_the_table_is_refused() -> None:
    class Landmarks(LogisticRegression):
        pass

    x, y = separable(100)
    candidates = [{"class_weight": x[:5]}, {"class_weight": None}]
    with pytest.raises(DeclarationError, match="part of the private table"):
        PartitionSearch(Landmarks(), candidates).fit(x, y)


def test_an_estimator_with_its_own_ledger_or_seed_is_refused(tmp_path: Path) -> None:
    x, y = separable(100)
    own = Ledger(f"sqlite:///{tmp_path}/budget.db")
    for estimator in (
        LogisticRegression(ledger=own, dataset="people"),
        LogisticRegression(insecure_seed=1),
    ):
        with pytest.raises(DeclarationError, match="to the search"):
            PartitionSearch(estimator, CANDIDATES).fit(x, y)
    with pytest.raises(DeclarationError, match="Privet model"):
        PartitionSearch(object(), CANDIDATES).fit(x, y)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"dataset": ""}, "must name the data set"),
        ({"dataset": None}, "must name the data set"),
        ({"ledger": "budget.db"}, "must be a Ledger"),
        ({"ledger": None}, "there is no ledger"),
        ({"insecure_seed": 1}, "seeded noise"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", SEARCHES)
def test_a_search_declares_what_a_fit_declares_for_a_ledger(
    kind: Any, wrong: dict[str, Any], told: str, tmp_path: Path
) -> None:
    """The same words; an empty name of a data set was taken for one."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", cap=PureDP(1.0))
    given = {"budget": 1.0, "ledger": ledger, "dataset": "people", **wrong}
    with pytest.raises(DeclarationError, match=told):
        search(kind, **given).fit(*separable(300))
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("kind", SEARCHES)
def test_what_a_fit_would_refuse_is_refused_before_the_charge(kind: Any, tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", cap=PureDP(1.0))
    x, y = separable(3000)
    given = {"budget": 1.0, "ledger": ledger, "dataset": "people"}
    holes = x.copy()
    holes[-1, 0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        search(kind, **given).fit(holes, y)
    infeasible = [{"calibration": "exact", "regularization": 1e-12}, {}]
    with pytest.raises(InfeasibleBudget):
        search(kind, candidates=infeasible, **given).fit(x, y)
    with pytest.raises(DeclarationError, match="seed"):
        search(kind, insecure_seed=3, **given).fit(x, y)
    assert ledger.remaining("people") == 1.0


@pytest.mark.parametrize("kind", SEARCHES)
def test_an_undeclared_label_is_charged_wherever_its_row_would_be(
    kind: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also in rows that are only counted: otherwise the draw of the parts would decide."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", cap=PureDP(1.0))
    x, y = separable(3000)
    x[:5] *= 1000.0
    given = {"budget": 1.0, "ledger": ledger, "dataset": "people"}
    one = search(kind, LogisticRegression(classes=[0, 1]), **given)
    with pytest.raises(DataError, match="declared classes"):
        one.fit(x, np.where(np.arange(3000) == 17, 7, y))
    assert not hasattr(one, "best_estimator_")
    assert ledger.remaining("people") == 0.0
    assert not caplog.records


@pytest.mark.parametrize("kind", SEARCHES)
def test_long_rows_are_told_once_and_after_the_charge(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    x, y = separable(3000)
    x[:5] *= 1000.0
    search(kind, LogisticRegression(classes=[0, 1])).fit(x, y)
    assert [record.getMessage()[:14] for record in caplog.records] == ["5 of 3000 rows"]


@pytest.mark.parametrize("kind", [PartitionSearch, RandomStoppingSearch])
@pytest.mark.parametrize("validation", [0, -5, 10**9, 2.5, "some", True])
def test_odd_validation_sizes_are_refused(kind: Any, validation: Any) -> None:
    x, y = separable(300)
    with pytest.raises(DeclarationError, match="validation"):
        search(kind, validation=validation).fit(x, y)


def test_too_few_rows_are_refused() -> None:
    x, _ = separable(2)
    with pytest.raises(DeclarationError, match="too few"):
        search(PartitionSearch).fit(x, np.array([0, 1]))


def test_a_seed_is_stamped() -> None:
    x, y = separable(500)
    found = search(PartitionSearch, insecure_seed=4).fit(x, y)
    assert not found.guarantee_.private
    assert not found.best_estimator_.guarantee_.private


def test_the_tuner_says_when_not_to_tune() -> None:
    x, y = separable(500)
    grid = [{"regularization": 0.1}, {"regularization": 0.2}]
    with pytest.warns(TuningAdvice, match="auto"):
        PartitionSearch(LogisticRegression(), grid).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PartitionSearch(LogisticRegression(), CANDIDATES).fit(x, y)


def test_many_classes() -> None:
    rng = np.random.default_rng()
    x = rng.normal(size=(6000, 2)) * 0.4
    y = np.floor((np.arctan2(x[:, 1], x[:, 0]) / (2.0 * np.pi) + 0.5) * 3.0).astype(int) % 3
    model = LogisticRegression(classes=[0, 1, 2])
    found = RandomStoppingSearch(model, CANDIDATES, 8.0).fit(x, y)
    assert found.score(x, y) > 0.6
    assert math.isfinite(found.best_score_)


class Unproved(LogisticRegression):
    """With almost no regularization it has the noise of a paper that forgot a term."""

    def _mechanism(self, *given: Any) -> Any:
        made = super()._mechanism(*given)
        if self.regularization != 1e-4:
            return made
        return ChaudhuriMonteleoni2008(made.loss, made.budget, made.norm_bound, 1e-4)


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_candidate_that_is_not_private_is_refused_uncharged(kind: Any, tmp_path: Path) -> None:
    """The search must not make it look private."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", cap=PureDP(1.0))
    x, y = separable(3000)
    candidates = [{}, {"regularization": 1e-4}]
    with pytest.raises(DeclarationError, match="not private"):
        search(kind, Unproved(), candidates, budget=0.1, ledger=ledger, dataset="people").fit(x, y)
    assert ledger.remaining("people") == 1.0


def test_nothing_on_the_terminal_tells_how_many_runs_there_were(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The theorem hides the number of runs; a line for each of them would tell it."""
    x, y = separable(500)
    lines = set()
    for _ in range(4):
        caplog.clear()
        search(RandomStoppingSearch, runs=20.0).fit(3.0 * x, y)  # long rows: clipped, and told
        lines.add(len(caplog.records))
    assert len(lines) == 1


class Listening(LogisticRegression):  # type: ignore[misc]
    """Notes the level of the process's logger while it fits."""

    levels: ClassVar[list[int]] = []

    def _publish(self, release: Any, fit: Any) -> None:
        self.levels.append(logging.getLogger("privet").level)
        super()._publish(release, fit)


def test_a_search_leaves_the_log_of_other_threads_alone() -> None:
    """The level of the logger belongs to the process: other threads' lines would be lost."""
    x, y = separable(500)
    search(RandomStoppingSearch, Listening()).fit(x, y)
    assert set(Listening.levels) == {logging.getLogger("privet").level}


def test_quiet_is_for_one_thread() -> None:
    """Warnings of a fit in another thread are still shown."""
    x, y = separable(500)
    told: list[str] = []

    def fit() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            LogisticRegression(1.0, regularization=1e-9).fit(x, y)
        told.extend(str(each.message) for each in caught)

    other = threading.Thread(target=fit)
    with quietly():
        other.start()
        other.join()
    assert any("raised" in each for each in told)


@pytest.mark.parametrize("kind", SEARCHES)
def test_nothing_of_an_earlier_search_survives_a_refused_one(kind: Any) -> None:
    x, y = separable(3000)
    found = search(kind, LogisticRegression(classes=[0, 1]), budget=1.0).fit(x, y)
    with pytest.raises(DataError, match="declared classes"):
        found.fit(x, np.where(np.arange(3000) == 17, 7, y))
    assert not [name for name in vars(found) if name.endswith("_") and not name.startswith("_")]
