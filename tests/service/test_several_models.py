"""Several releases behind one address: classes, numbers, a kernel machine, an unknown charge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import ApproxDP, LinearRegression, PoissonRegressor, PureDP, load
from privet.datasets import census_schema, census_table
from privet.kernels import KernelSVC
from privet.models import fit_table
from privet.schema import Schema, Target
from privet.service.client import ServiceClient
from privet.service.served_model import prediction_noise
from tests.service.running import RunningService, running

COLUMNS = {name: c for name, c in census_schema().columns.items() if name != "commute"}
NUMBER = Schema(COLUMNS, Target("commute", 0, 240))
BUDGET = ApproxDP(3.0, 1e-6)


@pytest.fixture(scope="module")
def several(office: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder, table = tmp_path_factory.mktemp("several"), census_table(500, seed=4)
    kernel = KernelSVC(BUDGET, gamma=1.0, n_frequencies=20)
    fit_table(kernel, census_schema(), table).save(folder / "kernel.privet")
    fit_table(LinearRegression(PureDP(2.0)), NUMBER, table).save(folder / "minutes.privet")
    fit_table(PoissonRegressor(BUDGET), NUMBER, table).save(folder / "rate.privet")
    files = [office / "model.privet", *sorted(folder.glob("*.privet"))]
    with running(folder, *files, "--ledger", office / "budget.db") as service:
        yield service


def cells(columns: Any, n: int = 40) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    table = census_table(n, seed=8)
    taken = {name: np.asarray(table[name]).tolist() for name in columns}
    taken = {name: [None if c != c else c for c in column] for name, column in taken.items()}
    return [{name: taken[name][i] for name in columns} for i in range(n)], taken


def file_of(service: RunningService, name: str, office: Path) -> Path:
    return office / "model.privet" if name == "model" else service.log.parent / f"{name}.privet"


@pytest.mark.parametrize("name", ["model", "kernel", "minutes", "rate"])
def test_each_model_answers_by_its_name(several: RunningService, office: Path, name: str) -> None:
    model = load(file_of(several, name, office))
    regression = name in ("minutes", "rate")
    rows, table = cells(COLUMNS if regression else census_schema().columns)
    client = ServiceClient(several.url, several.token, model=name)
    found = client.predict(rows)
    told = client.describe()
    assert found["model"] == told["model"] == name
    if regression:
        np.testing.assert_allclose(found["predictions"], model.predict(table), rtol=1e-9)
        assert (found["target"], found["bounds"]) == ("commute", [0.0, 240.0])
        assert (told["target"], told["bounds"]) == ("commute", [0.0, 240.0])
        assert all(0 <= number <= 240 for number in found["predictions"])
        assert ("noise_at_most" in found) == (name == "minutes")  # of a rate no law tells
    else:
        assert found["predictions"] == model.predict(table).tolist()
    page = several.ask("GET", f"/?model={name}")
    assert page.status == 200
    assert page.raw.count(b'href="/?model=') == 3  # the others


def test_what_is_told_of_the_noise_in_a_prediction_is_so() -> None:
    """Output perturbation adds its noise as it is: 5 of 100 predictions are further off."""
    table = census_table(300, seed=4)
    row = {name: np.asarray(table[name])[:1] for name in NUMBER.columns}
    told, found = 0.0, []
    for _ in range(25):
        model = fit_table(LinearRegression(PureDP(4.0), mechanism="output"), NUMBER, table)
        found.append(float(model.predict(row)[0]))
        told = prediction_noise(model)["noise_at_most"]
    apart = abs(np.array(found) - np.median(found))
    assert (apart > told).sum() <= 12
    assert (apart > told / 4).sum() >= 2


def test_a_model_must_be_named_and_only_a_known_charge_has_an_account(
    several: RunningService,
) -> None:
    assert several.predict({}).status == 404
    assert several.ask("GET", "/budget?model=model").json["account"]["left"] == 2.0
    assert several.ask("GET", "/budget?model=minutes").json["account"] is None
    assert several.ask("GET", "/ledger?model=minutes").status == 404
    log = several.log.read_text()
    assert "nothing of minutes.privet: it was charged to no ledger" in " ".join(log.split())
    assert "model.privet:" not in log


def test_a_text_in_a_column_of_numbers_is_named_by_its_column(several: RunningService) -> None:
    rows, _ = cells(census_schema().columns, 1)
    body = {"rows": [{**rows[0], "hours": "secret-canary"}]}
    reply = several.ask("POST", "/predict?model=model", body)
    assert (reply.status, reply.code) == (422, "rows")
    assert b"'hours'" in reply.raw
    assert b"secret-canary" not in reply.raw
