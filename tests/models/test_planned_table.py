"""What a fit will cost is known without its table: declarations and the number of rows say it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from privet import GDP, ZCDP, ApproxDP, PureDP, fit_table
from privet._model_names import MODELS, NUMBERS, model_class
from privet.datasets import census_schema, census_table
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.ledger.charge import charged_first
from privet.models import LogisticRegression
from privet.models.raw_tables import planned_table
from privet.privacy.budget import Budget
from privet.schema import Numeric, Schema
from privet.schema.target import Target

ROWS = 200


def table_for(model: str) -> tuple[Schema, dict[str, Any]]:
    if model not in NUMBERS:
        return census_schema(), census_table(ROWS, seed=1)
    schema = Schema({"a": Numeric(0, 1)}, Target("b", 0, 1))
    return schema, {"a": np.linspace(0, 1, ROWS), "b": np.linspace(0, 1, ROWS)}


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5), GDP(1.0)], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_the_plan_of_a_table_is_what_its_fit_charges(name: str, budget: Budget) -> None:
    schema, table = table_for(name)
    model = model_class(name)(budget, insecure_seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            planned = planned_table(model, schema, ROWS).event
        except DeclarationError:  # this model does not take this kind of budget
            with pytest.raises(DeclarationError):
                fit_table(model, schema, table)
            return
        fitted = fit_table(model, schema, table)
    assert planned.canonical() == fitted.guarantee_.event.canonical()


def test_a_charge_that_was_made_first_pays_for_one_release(ledger: Ledger) -> None:
    schema, table = table_for("logistic")
    model = LogisticRegression(0.5, ledger=ledger, dataset="people")
    event = planned_table(model, schema, ROWS).event
    with charged_first(ledger, "people", event) as charge:
        assert ledger.remaining("people") == 0.5
        fitted = fit_table(model, schema, table)
        with pytest.raises(DeclarationError, match="not the one that was charged"):
            fit_table(model, schema, table)
    assert ledger.remaining("people") == 0.5
    assert ledger.orphans("people") == []
    assert fitted.guarantee_.receipt == ledger.receipt(int(charge.facts["entry"]))
    larger = planned_table(model, schema, ROWS + 1).event
    with (
        pytest.raises(DeclarationError, match="not the one that was charged"),
        charged_first(ledger, "people", larger),
    ):
        fit_table(model, schema, table)
    assert ledger.remaining("people") == 0.0


@pytest.fixture
def ledger(tmp_path: Any) -> Ledger:
    made = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    made.open("people", cap=PureDP(1.0))
    return made
