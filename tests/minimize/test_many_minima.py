"""Many linear terms at once give what one at a time gives, each with its own certificate."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privet.errors import DeclarationError, NotConverged
from privet.losses import LOSSES, Logistic
from privet.minimize import batch, curvature_at, minimize, minimize_many
from privet.rows import ArrayRows
from tests.minimize.hostile_tables import TABLES, gradient, make_loss, problem

TOLERANCE = 1e-10


def draws(k: int, p: int, norm: float, seed: int = 0) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(k, p))
    return norm * vectors / np.linalg.norm(vectors, axis=1)[:, None]


@pytest.mark.parametrize("norm", [1e-3, 0.05, 5.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_one_at_a_time(loss: str, norm: float) -> None:
    x, codes = TABLES["census"]
    risk, rows, codes = problem(make_loss(loss), x[:1_000], codes[:1_000], 1e-3)
    linears = draws(5, risk.parameters(rows.m), norm)
    found = minimize_many(risk, rows, linears, tolerance=TOLERANCE)
    for theta, linear in zip(found, linears, strict=True):
        assert np.linalg.norm(gradient(risk, x[:1_000], codes, theta, linear)) <= 1.01 * TOLERANCE
        alone = minimize(risk, rows, linear=linear, tolerance=TOLERANCE).certified()
        assert np.linalg.norm(theta - alone) <= 2.01 * TOLERANCE / 1e-3


@pytest.mark.parametrize("table", TABLES)
def test_certified_on_hostile_tables(table: str) -> None:
    x, codes = TABLES[table]
    risk, rows, codes = problem(Logistic(), x, codes, 1e-4)
    linears = draws(3, rows.m, 0.2)
    for theta, linear in zip(
        minimize_many(risk, rows, linears, tolerance=TOLERANCE), linears, strict=True
    ):
        assert np.linalg.norm(gradient(risk, x, codes, theta, linear)) <= 1.05 * TOLERANCE


def test_batches_and_sparse_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(Logistic(), x, codes, 1e-2)
    linears = draws(7, rows.m, 0.01)
    whole = minimize_many(risk, rows, linears, tolerance=1e-12)
    sparse = ArrayRows(sp.csr_array(x), Logistic().targets(codes))
    np.testing.assert_allclose(
        minimize_many(risk, sparse, linears, tolerance=1e-12), whole, atol=1e-9
    )
    monkeypatch.setattr(batch, "LARGEST_BATCH", 3)
    np.testing.assert_allclose(
        minimize_many(risk, rows, linears, tolerance=1e-12), whole, atol=1e-9
    )


def test_slow_paths_get_a_factor_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    x, codes = TABLES["census"]
    risk, rows, codes = problem(Logistic(), x, codes, 1e-3)
    alone = []
    monkeypatch.setattr(batch, "PATIENCE", 1)
    monkeypatch.setattr(
        batch, "minimize", lambda *args, **terms: alone.append(1) or minimize(*args, **terms)
    )
    start = minimize(risk, rows, tolerance=1e-6).certified()
    linears = draws(4, rows.m, 1.0)
    found = minimize_many(risk, rows, linears, tolerance=TOLERANCE, start=start)
    assert alone
    for theta, linear in zip(found, linears, strict=True):
        assert np.linalg.norm(gradient(risk, x, codes, theta, linear)) <= 1.01 * TOLERANCE


def test_many_parameters_go_without_a_factor() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2_500)) / 60.0
    risk, rows, codes = problem(Logistic(), x, rng.integers(0, 2, 60), 1e-2)
    start = minimize(risk, rows, tolerance=1e-6).certified()
    assert curvature_at(risk, rows, start) is None
    linears = draws(3, rows.m, 0.1)
    found = minimize_many(risk, rows, linears, tolerance=TOLERANCE, start=start)
    for theta, linear in zip(found, linears, strict=True):
        assert np.linalg.norm(gradient(risk, x, codes, theta, linear)) <= 1.01 * TOLERANCE


def test_refusals() -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(Logistic(), x, codes, 1e-2)
    with pytest.raises(NotConverged):
        minimize_many(risk, rows, draws(2, rows.m, 0.1), tolerance=TOLERANCE, max_iter=1)
    with pytest.raises(DeclarationError, match=r"\(k, 105\)"):
        minimize_many(risk, rows, np.zeros(105), tolerance=TOLERANCE)
    assert minimize_many(risk, rows, np.zeros((0, 105)), tolerance=TOLERANCE).shape == (0, 105)
