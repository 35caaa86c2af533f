from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from privet import LogisticRegression, PureDP
from privet.cli.demo import write_table
from privet.datasets import census_schema, census_table
from privet.ledger import Ledger
from privet.models import fit_table
from tests.service.running import RunningService, running

#: in the rows, and nowhere else
CANARY = "Xq7canary"
CANARY_NUMBER = 61.93847156


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its schema, a ledger, and a model that was charged to it."""
    folder = tmp_path_factory.mktemp("office")
    table = census_table(800, seed=1)
    table["region"][:3] = CANARY
    table["hours"][:3] = CANARY_NUMBER
    write_table(table, folder / "people.csv")
    schema = census_schema()
    (folder / "schema.toml").write_text(schema.to_toml())
    ledger = Ledger(f"sqlite:///{folder / 'budget.db'}")
    ledger.open("people", cap=PureDP(5.0))
    model = LogisticRegression(3.0, ledger=ledger, dataset="people")
    fit_table(model, schema, folder / "people.csv").save(folder / "model.privet")
    return folder


@pytest.fixture(scope="session")
def service(office: Path) -> Iterator[RunningService]:
    """The model of the office, served by one worker."""
    with running(office, office / "model.privet", "--ledger", office / "budget.db") as found:
        yield found
