"""A choice by exact scores and steps that learn from rows: marked, or refused by a ledger."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, RFECV
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from privet import ZCDP, Ledger, LinearSVC, LogisticRegression, PureDP, load
from privet.errors import DeclarationError, PrivetWarning
from privet.kernels import (
    InteractivePredictor,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
)
from privet.models.row_wise import RowWise
from privet.tuning import PartitionSearch, RandomStoppingSearch

GRID = {"regularization": [0.1, 1.0]}


def rows(n: int = 300) -> tuple[Any, Any]:
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(n, 2))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize("jobs", [None, 2])
@pytest.mark.parametrize("kind", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV])
def test_the_winner_of_a_search_by_exact_scores_is_marked(
    kind: Any, jobs: int | None, tmp_path: Path
) -> None:
    x, y = rows()
    options = {"n_iter": 2} if kind is RandomizedSearchCV else {}
    search = kind(LogisticRegression(1.0), GRID, cv=2, scoring="accuracy", n_jobs=jobs, **options)
    with pytest.warns(PrivetWarning, match="marked as not private"):
        search.fit(x, y)
    best = search.best_estimator_
    assert not best.guarantee_.private
    assert kind.__name__ in str(best.guarantee_)
    best.save(tmp_path / "model.privet")
    assert not load(tmp_path / "model.privet").guarantee_.private
    assert "NOT PRIVATE" in best.statement().upper()


def test_with_a_ledger_the_winner_is_refused_and_only_the_folds_were_charged(
    tmp_path: Path,
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(10.0))
    x, y = rows()
    model = LogisticRegression(1.0, ledger=ledger, dataset="people")
    with pytest.raises(DeclarationError, match="GridSearchCV chose"):
        GridSearchCV(model, GRID, cv=2).fit(x, y)
    assert ledger.remaining("people") == 6.0  # four fits; the winner's was refused


def test_a_pipeline_whose_steps_learn_from_the_rows_is_marked() -> None:
    x, y = rows()
    for step in (
        StandardScaler(),
        SimpleImputer(),
        make_pipeline(Normalizer(), StandardScaler()),
        ColumnTransformer([("scale", StandardScaler(), [0, 1])]),
    ):
        with pytest.warns(PrivetWarning, match="learned from the rows"):
            made = make_pipeline(step, LogisticRegression(1.0)).fit(x, y)
        assert not made[-1].guarantee_.private


def by_other_roads() -> list[Any]:
    """Everything with a fit of its own: searches, and what answers with a kernel."""
    points = np.random.default_rng().uniform(-0.5, 0.5, size=(4, 2))
    return [
        PartitionSearch(LinearSVC(), [{"h": 0.5}, {"h": 0.4}], 1.0),
        RandomStoppingSearch(LinearSVC(), [{"h": 0.5}, {"h": 0.4}], 1.0),
        InteractivePredictor(budget=ZCDP(1.0)),
        SemiInteractiveClassifier(ZCDP(1.0), public_points=points),
        NonInteractiveClassifier(budget=ZCDP(1.0), net=points),
    ]


@pytest.mark.parametrize("place", range(5))
def test_searches_and_kernel_answers_are_marked_too(place: int) -> None:
    x, y = rows()
    model = by_other_roads()[place]
    with pytest.warns(PrivetWarning, match="learned from the rows"):
        made = make_pipeline(StandardScaler(), model).fit(x, y)
    assert not made[-1].guarantee_.private
    search = GridSearchCV(model, {"budget": [ZCDP(1.0), ZCDP(2.0)]}, cv=2, scoring="accuracy")
    with pytest.warns(PrivetWarning, match="GridSearchCV chose"):
        best = search.fit(x, y).best_estimator_
    assert not best.guarantee_.private
    assert by_other_roads()[place].fit(x, y).guarantee_.private


def test_a_search_with_a_ledger_is_refused_behind_a_step_that_learns(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(10.0))
    x, y = rows()
    for model in by_other_roads():
        model.set_params(ledger=ledger, dataset="people")
        with pytest.raises(DeclarationError, match="learned from the rows"):
            make_pipeline(StandardScaler(), model).fit(x, y)
    assert ledger.remaining("people") == 10.0


def test_columns_that_were_chosen_by_exact_scores_are_marked() -> None:
    x, y = rows()
    with pytest.warns(PrivetWarning, match="RFECV chose the columns"):
        found = RFECV(LogisticRegression(1.0), cv=2).fit(x, y)
    assert not found.estimator_.guarantee_.private


@pytest.mark.filterwarnings("error::privet.errors.PrivetWarning")
def test_steps_that_map_each_row_by_itself_are_not_marked() -> None:
    x, y = rows()
    for step in (
        Normalizer(),
        PolynomialFeatures(2),
        SimpleImputer(strategy="constant"),
        OneHotEncoder(categories=[[0, 1], [0, 1]], handle_unknown="ignore"),
    ):
        assert make_pipeline(step, LogisticRegression(1.0)).fit(x, y)[-1].guarantee_.private
    assert LogisticRegression(1.0).fit(x, y).guarantee_.private
    assert len(cross_val_score(LogisticRegression(1.0), x, y, cv=2)) == 2


class MyScaler(StandardScaler):  # type: ignore[misc]
    """Somebody's own step: what it does is not known."""


def test_a_step_that_nobody_declared_is_marked() -> None:
    x, y = rows()
    centered = FunctionTransformer(lambda x: x - x.mean(axis=0))
    for step in (MyScaler(), centered):
        with pytest.warns(PrivetWarning, match="may have looked at other rows"):
            made = make_pipeline(step, LogisticRegression(1.0)).fit(x, y)
        assert not made[-1].guarantee_.private
    assert make_pipeline(RowWise(np.abs), LogisticRegression(1.0)).fit(x, y)[-1].guarantee_.private


@pytest.mark.parametrize(
    "wrapped",
    [
        BaggingClassifier(LogisticRegression(1.0), n_estimators=1),
        RFE(LogisticRegression(1.0), n_features_to_select=1),
    ],
    ids=["bagging", "rfe"],
)
def test_a_model_on_repeated_or_chosen_rows_and_columns_is_marked(wrapped: Any) -> None:
    x, y = rows()
    with pytest.warns(PrivetWarning, match="had chosen or repeated"):
        wrapped.fit(x, y)
    inner = wrapped.estimator_ if isinstance(wrapped, RFE) else wrapped.estimators_[0]
    assert not inner.guarantee_.private


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_what_is_sent_to_workers_is_marked_where_its_caller_cannot_be_seen(backend: str) -> None:
    """Bagging repeats rows, voting does not; in a worker both look the same."""
    x, y = rows()
    sent = [
        BaggingClassifier(LogisticRegression(1.0), n_estimators=2, n_jobs=2),
        VotingClassifier([("a", LogisticRegression(1.0)), ("b", LinearSVC(1.0))], n_jobs=2),
    ]
    for model in sent:
        with joblib.parallel_backend(backend), warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivetWarning)
            model.fit(x, y)
        for member in model.estimators_:
            assert not member.guarantee_.private
            assert "in a worker" in str(member.guarantee_)
    here = VotingClassifier([("a", LogisticRegression(1.0))]).fit(x, y)
    assert here.estimators_[0].guarantee_.private


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_in_a_worker_a_ledger_is_not_charged_for_what_cannot_be_seen(
    backend: str, tmp_path: Path
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(10.0))
    model = LogisticRegression(1.0, ledger=ledger, dataset="people")
    x, y = rows()
    with (
        joblib.parallel_backend(backend),
        pytest.raises(DeclarationError, match="n_jobs=None"),
    ):
        BaggingClassifier(model, n_estimators=2, n_jobs=2).fit(x, y)
    assert ledger.remaining("people") == 10.0
    with joblib.parallel_backend(backend):
        cross_val_score(model, x, y, cv=2, n_jobs=2)
        cross_val_predict(model, x, y, cv=2, n_jobs=2)
    assert ledger.remaining("people") == 6.0  # every fold is charged
