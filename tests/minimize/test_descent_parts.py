"""The parts of the descent: line search, secant pairs, factors, thinned rows."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privet.losses import Logistic
from privet.minimize.descent import SHORT, LineSearch
from privet.minimize.mean_objective import Curvature, Memory, Objective, Scaling
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows, arrays
from tests.minimize.hostile_tables import TABLES


@pytest.mark.parametrize("minimum", [1e-9, 1e-3, 0.4, 1.0, 3.0, 1e5])
@pytest.mark.parametrize("power", [0.2, 1.0, 5.0])
def test_the_search_ends_with_a_wolfe_step(minimum: float, power: float) -> None:
    def slope(t: Any) -> Any:
        return np.sign(t - minimum) * np.abs(t / minimum - 1.0) ** power

    search = LineSearch(1)
    search.begin(np.array([0]), np.array([-1.0]))
    for _ in range(45):
        step = search.step.copy()
        if search.judge(slope(step), np.array([False]))[0]:
            break
    assert -SHORT <= slope(step)[0] <= 0.0
    assert not search.exhausted()[0]


def test_a_step_with_overflow_is_shortened() -> None:
    search = LineSearch(1)
    search.begin(np.array([0]), np.array([-1.0]))
    assert not search.judge(np.array([np.nan]), np.array([False]))[0]
    assert 0.0 < search.step[0] < 1.0


def test_searches_do_not_disturb_each_other() -> None:
    search = LineSearch(3)
    search.begin(np.arange(3), np.full(3, -1.0))
    taken = search.judge(np.array([-0.1, 2.0, -0.9]), np.zeros(3, dtype=bool))
    assert taken.tolist() == [True, False, False]
    assert search.step[0] == 1.0
    assert search.step[1] < 1.0 < search.step[2]
    search.keep(np.array([False, True, True]))
    assert len(search.step) == 2


def dense_bfgs(inverse: Any, s: Any, y: Any) -> Any:
    """Textbook update of the inverse Hessian."""
    rho = 1.0 / (s @ y)
    left = np.eye(len(s)) - rho * np.outer(s, y)
    return left @ inverse @ left.T + rho * np.outer(s, s)


def test_two_loops_are_the_dense_formula() -> None:
    rng = np.random.default_rng(0)
    p, size = 5, 3
    hessian = np.cov(rng.normal(size=(p, 50))) + np.eye(p)
    memory, pairs = Memory(2, size, p), []
    for _ in range(5):
        s = rng.normal(size=p)
        pairs.append((s, hessian @ s))
        memory.add(np.array([1]), s[None, :], (hessian @ s)[None, :])
    inverse = np.eye(p)
    for s, y in pairs[-size:]:
        inverse = dense_bfgs(inverse, s, y)
    vectors = rng.normal(size=(2, p))
    found = memory.solve(Curvature.factor(np.eye(p), 0.0), vectors, np.arange(2))
    np.testing.assert_allclose(found[1], inverse @ vectors[1], rtol=1e-10)
    np.testing.assert_allclose(found[0], vectors[0])  # a path without pairs


def test_spoilt_pairs_are_left_out() -> None:
    memory = Memory(1, 2, 2)
    memory.add(np.array([0]), np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    memory.add(np.array([0]), np.array([[0.0, 0.0]]), np.array([[0.0, 0.0]]))
    vectors = np.array([[1.0, 2.0]])
    np.testing.assert_array_equal(memory.solve(Scaling(2.0), vectors, np.arange(1)), vectors / 2.0)


def test_an_indefinite_matrix_is_lifted() -> None:
    matrix = np.diag([1.0, -1e-9])
    factor = Curvature.factor(matrix, 1e-12)
    assert np.isfinite(factor.solve(np.ones((1, 2)), Memory(1, 1, 2), np.arange(1))).all()


def test_blocks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    x, codes = TABLES["census"]
    theta = np.random.default_rng(0).normal(size=105)
    risk = RegularizedRisk(Logistic(), 1e-3, 1.0)
    forms = (x, sp.csr_array(x), np.asfortranarray(x))

    def derivatives(form: Any) -> tuple[Any, Any]:
        each = Objective(risk, ArrayRows(form, Logistic().targets(codes)), np.zeros((1, 105)))
        return each.gradients(theta[None, :], slice(None)), each.curvature(theta, 3).cholesky

    whole = derivatives(x)
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(arrays, "DENSE_ENTRIES", 1_000)
    monkeypatch.setattr(arrays, "MOST_BLOCK_ROWS", 301)
    for form in forms:
        for found, wanted in zip(derivatives(form), whole, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_thinned_rows_estimate_the_whole() -> None:
    x, codes = TABLES["census"]
    theta = np.random.default_rng(0).normal(size=105)
    risk = RegularizedRisk(Logistic(), 1e-3, 1.0)
    for form in (x, sp.csr_array(x), np.asfortranarray(x)):
        whole = Objective(risk, ArrayRows(form, Logistic().targets(codes)), np.zeros((1, 105)))
        every = Objective(
            risk, ArrayRows(x[::4], Logistic().targets(codes[::4])), np.zeros((1, 105))
        )
        np.testing.assert_allclose(
            whole.thinned(4).gradients(theta[None, :], slice(None)),
            every.gradients(theta[None, :], slice(None)),
            atol=1e-14,
        )
        np.testing.assert_allclose(
            np.tril(whole.curvature(theta, 4).cholesky),
            np.tril(every.curvature(theta).cholesky),
            atol=1e-12,
        )
    assert whole.tally.passes == 0.25
    assert whole.tally.hessians == 0.25
