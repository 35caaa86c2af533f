"""``fit_table``: a schema means the same from Python as on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privet
from privet import (
    ZCDP,
    Categorical,
    Label,
    Ledger,
    Numeric,
    Person,
    PureDP,
    Schema,
    Target,
    fit_table,
)
from privet.errors import DeclarationError
from privet.evaluation import choose_threshold, evaluate
from privet.inference import confidence_intervals, fit_with_intervals
from privet.kernels import KernelLogisticRegression
from privet.models import LargeMarginGaussian, LinearRegression, LinearSVC, LogisticRegression
from privet.models.encoder import SchemaEncoder
from privet.tuning import PartitionSearch, PublicSearch, RandomStoppingSearch

COLUMNS = {"age": Numeric(0, 100), "ward": Categorical(["A", "B"])}
PLAIN = Schema(COLUMNS, Label("ill", ["no", "yes"]))
PERSONS = Schema(COLUMNS, PLAIN.label, Person("who", 3))
MODELS = [LogisticRegression, LinearSVC, LargeMarginGaussian, KernelLogisticRegression]


def table(n: int = 600) -> pd.DataFrame:
    generator = np.random.default_rng()
    age = generator.uniform(0, 100, n)
    return pd.DataFrame(
        {
            "age": age,
            "ward": generator.choice(["A", "B"], n),
            "ill": np.where(age > 50, "yes", "no"),
            "who": np.arange(n) // 3,
        }
    )


@pytest.mark.parametrize("kind", MODELS)
def test_the_budget_is_the_persons_and_the_schema_is_kept(kind: Any) -> None:
    given = kind(ZCDP(9.0), insecure_seed=None)
    fitted = fit_table(given, PERSONS, table())
    assert not hasattr(given, "guarantee_")
    guarantee = fitted.guarantee_
    assert guarantee.group == 3
    assert guarantee.unit.startswith("one person")
    assert guarantee.event.claim.facts()["rho"] == pytest.approx(1.0)
    assert guarantee.budget.facts()["rho"] == pytest.approx(9.0)
    assert guarantee.budget.facts()["rho"] <= 9.0
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert Schema.from_toml(fitted.schema_) == PERSONS
    for told in (" ".join(fitted.statement().split()), fitted._repr_html_()):
        assert "share one value of who that no other row has, or all have none" in told
        assert "at most 3 rows count" in told


def test_a_budget_is_divided_among_rows_once() -> None:
    """A fitted model's budget is a row's share: to divide it again would waste most of it."""
    fitted = fit_table(LogisticRegression(1.0), PERSONS, table())
    with pytest.raises(DeclarationError, match="Pass an unfitted model"):
        fit_table(fitted, PERSONS, table())
    fit_table(fit_table(LogisticRegression(1.0), PLAIN, table()), PLAIN, table())


def test_without_persons_the_budget_is_a_rows() -> None:
    guarantee = fit_table(LogisticRegression(1.0), PLAIN, table()).guarantee_
    assert (guarantee.group, guarantee.budget) == (1, PureDP(1.0))
    assert any("the schema" in text for text in guarantee.assumptions)


def test_an_intercept_beside_a_constant_is_dropped_and_its_noise_saved() -> None:
    """The constant column makes rows longer by sqrt(1.25), and so the noise."""
    data = table()
    dropped = fit_table(LogisticRegression(1.0, regularization=0.1), PLAIN, data)
    x, y = PLAIN.encode(data)
    kept = LogisticRegression(1.0, regularization=0.1, classes=["no", "yes"]).fit(x, y)
    assert not dropped.fit_intercept
    assert dropped.intercept_.tolist() == [0.0]
    scales = [model.guarantee_.event.scale for model in (kept, dropped)]
    assert scales[0] / scales[1] == pytest.approx(np.sqrt(1.25), rel=0.05)


def test_an_intercept_stays_where_no_constant_is_left() -> None:
    numbers = Schema({"age": Numeric(0, 100)}, PLAIN.label)
    assert fit_table(LogisticRegression(1.0), numbers, table()).fit_intercept
    centered = LogisticRegression(9.0, standardize="private", column_bounds=(-1.0, 1.0))
    assert fit_table(centered, PLAIN, table()).fit_intercept
    mapped = KernelLogisticRegression(1.0, fit_intercept=True)
    assert fit_table(mapped, PLAIN, table()).fit_intercept


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_carries_a_schema_predicts_raw_tables(kind: Any, tmp_path: Path) -> None:
    data = table()
    fitted = fit_table(kind(9.0), PERSONS, data)
    fitted.save(tmp_path / "m.privet")
    loaded = privet.load(tmp_path / "m.privet")
    raw = data[["ward", "age"]]
    raw.to_csv(tmp_path / "raw.csv", index=False)
    expected = fitted.predict(PERSONS.encode_features(raw))
    for model in (fitted, loaded):
        for same in (raw, tmp_path / "raw.csv", raw.to_dict("list")):
            assert model.predict(same).tolist() == expected.tolist()
            assert model.decision_function(same).shape == (len(raw),)
        assert model.predict(PERSONS.encode_features(raw)).tolist() == expected.tolist()
    if hasattr(loaded, "predict_proba"):
        assert loaded.predict_proba(raw).shape == (len(raw), 2)


@pytest.mark.parametrize("kind", [PartitionSearch, RandomStoppingSearch, PublicSearch])
def test_a_search_means_persons_too(kind: Any) -> None:
    candidates = [{"regularization": 0.3, "h": h} for h in (0.3, 0.5)]
    options = {"validation": table(50)} if kind is PublicSearch else {}
    search = kind(LinearSVC(), candidates, ZCDP(9.0), **options)
    found = fit_table(search, PERSONS, table())
    for guarantee in (found.guarantee_, found.best_estimator_.guarantee_):
        assert guarantee.group == 3
        assert guarantee.budget.facts()["rho"] == pytest.approx(9.0)
    assert not found.best_estimator_.fit_intercept
    assert len(found.predict(table(7)[["age", "ward"]])) == 7


def test_an_evaluation_of_a_raw_table_is_for_persons(tmp_path: Path) -> None:
    fitted = fit_table(LogisticRegression(ZCDP(9.0)), PERSONS, table())
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.open("people", cap=ZCDP(100.0), group=3)
    ledger.open("rows", cap=ZCDP(100.0))
    found = evaluate(fitted, table(450), budget=ZCDP(9.0), ledger=ledger, dataset="people")
    assert (found.n, found.guarantee.group) == (450, 3)
    assert found.guarantee.unit.startswith("one person")
    assert found.guarantee.budget.facts()["rho"] == pytest.approx(9.0)
    assert ledger.remaining("people") == pytest.approx(91.0)
    with pytest.raises(DeclarationError, match="--group 3"):
        evaluate(fitted, table(450), budget=ZCDP(9.0), ledger=ledger, dataset="rows")
    assert ledger.remaining("rows") == 100.0
    with pytest.raises(DeclarationError, match="Pass the raw table alone"):
        evaluate(fitted, table(450), table(450)["ill"], budget=1.0)
    with pytest.raises(DeclarationError, match="Groups are not offered"):
        evaluate(fitted, table(450), budget=1.0, groups="ward")


def test_the_errors_of_a_regression_are_for_persons_too() -> None:
    numbers = Schema(COLUMNS, Target("cost", 0, 100), Person("who", 3))
    data = table(450).assign(cost=np.linspace(0.0, 100.0, 450))
    fitted = fit_table(LinearRegression(ZCDP(9.0)), numbers, data)
    found = evaluate(fitted, data[::-1], budget=ZCDP(9.0), training_rows=False)
    assert found.guarantee.group == 3
    assert found.guarantee.event.claim.facts()["rho"] == pytest.approx(1.0)
    assert found.guarantee.budget.facts()["rho"] == pytest.approx(9.0)


def test_a_threshold_takes_the_raw_table_and_is_about_persons() -> None:
    fitted = fit_table(LogisticRegression(ZCDP(9.0)), PERSONS, table())
    found = choose_threshold(fitted, table(450), budget=ZCDP(9.0), candidates=[-1.0, 0.0, 1.0])
    assert found.guarantee.group == 3
    assert found.guarantee.event.claim.facts()["rho"] == pytest.approx(1.0)
    assert found.guarantee.budget.facts()["rho"] == pytest.approx(9.0)
    with pytest.raises(DeclarationError, match="raw table alone"):
        choose_threshold(fitted, table(450), table(450)["ill"], budget=1.0, candidates=[0.0])


def test_a_threshold_on_a_raw_table_is_for_persons(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("rows", PureDP(9.0))
    ledger.open("persons", PureDP(9.0), group=3)
    model, held = fit_table(LogisticRegression(4.0), PERSONS, table()), table(500)
    asked: dict[str, Any] = {"budget": 3.0, "candidates": [-1.0, 0.0, 1.0], "ledger": ledger}
    with pytest.raises(DeclarationError, match="counts for one row"):
        choose_threshold(model, held, **asked, dataset="rows")
    with pytest.raises(DeclarationError, match="names the label's column"):
        # features alone: nobody would bound the rows of a person
        choose_threshold(model, held[list(COLUMNS)], held["ill"], **asked, dataset="rows")
    assert ledger.remaining("rows") == 9.0
    found = choose_threshold(model, held, **asked, dataset="persons")
    assert found.guarantee.unit.startswith("one person")
    assert found.guarantee.group == 3
    assert ledger.remaining("persons") == pytest.approx(6.0)


def test_groups_of_a_raw_table_are_a_column() -> None:
    fitted = fit_table(LogisticRegression(9.0), PLAIN, table())
    found = evaluate(fitted, table(450), budget=9.0, groups="ward")
    assert found.guarantee.unit == "one row of the evaluated table"
    told = str(found)
    assert all(group in told for group in ("A", "B", "(other)"))
    with pytest.raises(DeclarationError, match="name of a categorical column"):
        evaluate(fitted, table(450), budget=9.0, groups="age")
    x, y = PLAIN.encode(table())
    with pytest.raises(DeclarationError, match="y is missing"):
        evaluate(LogisticRegression(9.0, classes=["no", "yes"]).fit(x, y), table(450), budget=9.0)


def test_intervals_of_a_raw_table_are_for_persons() -> None:
    data, small = table(3000), LogisticRegression(ZCDP(90.0), regularization=0.1, standardize=None)
    fitted = fit_table(small, PERSONS, data)
    found = confidence_intervals(fitted, data, budget=ZCDP(90.0))
    assert found.guarantee.group == 3
    assert found.guarantee.budget.facts()["rho"] == pytest.approx(90.0)
    fitted.schema_ = PLAIN.to_toml()
    with pytest.raises(DeclarationError, match="Use the schema of the fit"):
        confidence_intervals(fitted, data, budget=ZCDP(90.0))
    both, beside = fit_with_intervals(small, data, budget=ZCDP(180.0), schema=PERSONS)
    for guarantee in (both.guarantee_, beside.guarantee):
        assert guarantee.group == 3
        assert guarantee.unit.startswith("one person")
    together = both.guarantee_.budget.facts()["rho"] + beside.guarantee.budget.facts()["rho"]
    assert together == pytest.approx(180.0, rel=1e-6)
    assert both.predict(data[["ward", "age"]]).shape == (3000,)
    for wrong in ({"schema": PERSONS, "y": data["ill"]}, {}):
        with pytest.raises(DeclarationError, match="Pass either rows and their labels"):
            fit_with_intervals(small, data, budget=1.0, **wrong)


def test_a_refit_forgets_the_schema() -> None:
    fitted = fit_table(LogisticRegression(1.0), PLAIN, table())
    x, y = PLAIN.encode(table())
    assert not hasattr(fitted.fit(x, y), "schema_")


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [1, 2])
def test_an_account_that_counts_for_fewer_rows_is_refused_uncharged(
    tmp_path: Path, counted: int
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.open("people", cap=ZCDP(100.0), group=counted)
    with pytest.raises(DeclarationError, match="--group 3"):
        fit_table(LogisticRegression(ZCDP(1.0), ledger=ledger, dataset="people"), PERSONS, table())
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def test_an_account_for_persons_is_charged_the_persons_budget(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.open("people", cap=ZCDP(100.0), group=3)
    model = LogisticRegression(ZCDP(9.0), ledger=ledger, dataset="people")
    receipt = fit_table(model, PERSONS, table()).guarantee_.receipt
    assert receipt is not None
    assert receipt.dataset == "people"
    assert ledger.remaining("people") == pytest.approx(91.0)


def test_arrays_of_persons_are_given_only_as_rows() -> None:
    with pytest.raises(DeclarationError, match="fit_table"):
        PERSONS.encode(table())
    assert len(PERSONS.encode(table(), as_rows=True).x) == 600
    with pytest.raises(DeclarationError, match="fit_table"):
        SchemaEncoder(PERSONS).fit(table())


def test_contradictions_are_refused() -> None:
    with pytest.raises(DeclarationError, match="not the schema's"):
        fit_table(LogisticRegression(classes=["no", "perhaps"]), PLAIN, table())
    with pytest.raises(DeclarationError, match="not the schema's"):
        fit_table(LogisticRegression(classes="observed"), PLAIN, table())
    with pytest.raises(DeclarationError, match="must be a Schema"):
        fit_table(LogisticRegression(), COLUMNS, table())  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="cannot be fitted to a table"):
        fit_table(PLAIN, PLAIN, table())
    drafted = Schema({"age": Numeric(0, 99, from_data=True)}, PLAIN.label)
    with pytest.raises(DeclarationError, match="nobody has confirmed"):
        fit_table(LogisticRegression(), drafted, table())
