"""Pipelines of row-wise steps: fitted to a table, evaluated, saved, told, searched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

import privet
from privet import ZCDP, confidence_intervals, evaluate, fit_table
from privet.cli.demo import write_table
from privet.errors import DataError, DeclarationError
from privet.models import LinearSVC, LogisticRegression
from privet.models.encoder import SchemaEncoder
from privet.models.model_file import steps_from_json
from privet.models.row_wise import RowWise, last_of
from privet.report import render
from privet.tuning import PartitionSearch
from tests.cli.people import run
from tests.models.test_fit_table import PERSONS, PLAIN, table

STEPS: list[list[Any]] = [
    [Normalizer()],
    [PolynomialFeatures(2), Normalizer("l1")],
    [FunctionTransformer(np.tanh), Binarizer(threshold=0.1)],
    [],
]


class Unknown(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any = None) -> Unknown:
        return self

    def transform(self, X: Any) -> Any:
        return X - X.mean(axis=0)


@pytest.mark.parametrize("steps", STEPS)
def test_a_pipeline_means_persons_and_its_file_predicts_the_same(
    steps: list[Any], tmp_path: Path
) -> None:
    data = table(900)
    fitted = fit_table(make_pipeline(*steps, LogisticRegression(ZCDP(9.0))), PERSONS, data)
    guarantee = fitted[-1].guarantee_
    assert (guarantee.group, guarantee.private) == (3, True)
    assert guarantee.budget.facts()["rho"] == pytest.approx(9.0)
    assert any("each step before the model" in told for told in guarantee.assumptions) is bool(
        steps
    )
    assert fitted[-1].fit_intercept is bool(steps)
    privet.save(fitted, tmp_path / "m.privet")
    loaded = privet.load(tmp_path / "m.privet")
    raw = data[["ward", "age"]]
    assert np.array_equal(loaded.decision_function(raw), fitted.decision_function(raw))
    found = evaluate(loaded, table(600), budget=ZCDP(9.0))
    assert found.guarantee.group == 3
    assert "one person" in last_of(loaded).statement()


def test_the_steps_see_what_the_model_was_fitted_to() -> None:
    """Intervals read the rows of the fit through the same steps."""
    data = table(3000)
    model = make_pipeline(Normalizer(), LogisticRegression(ZCDP(90.0), regularization=0.1))
    fitted = fit_table(model, PERSONS, data)
    found = confidence_intervals(fitted, data, budget=ZCDP(90.0))
    assert found.guarantee.group == 3
    with pytest.raises(DataError, match="Intervals need the rows of the fit"):
        confidence_intervals(fitted, table(2000), budget=ZCDP(90.0))


def test_a_search_at_the_end_of_a_pipeline() -> None:
    candidates = [{"regularization": 0.3, "h": h} for h in (0.3, 0.5)]
    search = PartitionSearch(LinearSVC(), candidates, ZCDP(9.0))
    fitted = fit_table(make_pipeline(Normalizer(), search), PERSONS, table())
    assert last_of(fitted).guarantee_.group == 3
    assert len(fitted.predict(table(7)[["age", "ward"]])) == 7


def test_commands_take_a_file_with_steps(tmp_path: Path) -> None:
    data = table(600)
    model = make_pipeline(Normalizer(), LogisticRegression(9.0))
    privet.save(fit_table(model, PLAIN, data), tmp_path / "m.privet")
    write_table({name: data[name].to_numpy() for name in data}, tmp_path / "t.csv")
    write_table({name: data[name].to_numpy()[:450] for name in data}, tmp_path / "other.csv")
    for command in (
        ("predict", tmp_path / "m.privet", tmp_path / "t.csv", "--out", tmp_path / "p.csv"),
        ("statement", tmp_path / "m.privet"),
        ("report", tmp_path / "m.privet", "--out", tmp_path / "r.html"),
        ("evaluate", tmp_path / "m.privet", tmp_path / "other.csv", "--epsilon", 1),
    ):
        result = run(*command)
        assert result.exit_code == 0, (command, result.output)
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 601


def test_a_report_of_a_pipeline() -> None:
    fitted = fit_table(make_pipeline(Normalizer(), LogisticRegression(9.0)), PLAIN, table())
    assert "each step before the model" in render(fitted)


# -- what is not row-wise ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (StandardScaler(), "learns from the rows"),
        (FunctionTransformer(lambda rows: rows - rows.mean(axis=0)), "may look at other rows"),
        (make_pipeline(FunctionTransformer(lambda rows: rows)), "may look at other rows"),
        (Unknown(), "may look at other rows"),
    ],
)
def test_a_step_that_is_not_known_to_be_row_wise_is_refused(step: Any, words: str) -> None:
    model = Pipeline([("odd one", step), ("model", LogisticRegression(1.0))])
    with pytest.raises(DeclarationError, match=f"'odd one'.*{words}"):
        fit_table(model, PLAIN, table())


def test_a_declared_function_is_taken_and_named_but_not_saved(tmp_path: Path) -> None:
    halved = RowWise(lambda rows: rows / 2)
    fitted = fit_table(
        Pipeline([("halved", halved), ("m", LogisticRegression(9.0))]), PLAIN, table()
    )
    assert any("halved" in told for told in fitted[-1].guarantee_.assumptions)
    assert evaluate(fitted, table(450), budget=9.0).n == 450
    with pytest.raises(DeclarationError, match="'halved' cannot be written"):
        privet.save(fitted, tmp_path / "m.privet")
    assert not (tmp_path / "m.privet").exists()


def test_another_schema_in_the_pipeline_is_refused() -> None:
    model = make_pipeline(SchemaEncoder(PLAIN), LogisticRegression(1.0))
    with pytest.raises(DeclarationError, match="another schema"):
        fit_table(model, PERSONS, table())
    assert fit_table(model, PLAIN, table()).predict(table(5)).shape == (5,)


@pytest.mark.parametrize(
    "step",
    [
        ["n", "numpy", {"function": "load"}],
        ["n", "numpy", {"function": "add"}],
        ["n", "Pipeline", {}],
        ["n", "Normalizer", {"copy": True}],
        ["n", "PolynomialFeatures", {"degree": 9, "interaction_only": False, "include_bias": True}],
        [
            "n",
            "PolynomialFeatures",
            {"degree": 1e9, "interaction_only": True, "include_bias": True},
        ],
    ],
)
def test_a_file_cannot_name_what_is_not_on_the_list(step: list[Any]) -> None:
    x, y = PLAIN.encode(table())
    model = LogisticRegression(9.0, classes=["no", "yes"]).fit(x, y)
    record = {"schema": None, "steps": [step], "columns": x.shape[1], "name": "model"}
    with pytest.raises(DataError):
        steps_from_json(record, model)
    with pytest.raises(DataError):  # before anything of that size is allocated
        steps_from_json({**record, "steps": [], "columns": 10**15}, model)
