"""The cheap approach of many draws: it saves reads of the table and can spoil nothing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privet.losses import LOSSES, Logistic
from privet.minimize import batch, curvature_at, minimize, minimize_many
from privet.minimize.batch import Bent, Nearby, nearby_stride
from privet.minimize.descent import Endings, Limits, descend
from privet.minimize.mean_objective import Curvature, Curvatures, Memory, Objective, Scaling
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows
from privet.rows.arrays import ArrayBlock, checked_rows
from privet.rows.engine import Block
from tests.minimize.hostile_tables import TABLES, gradient, make_loss, problem

TOLERANCE = 1e-10
X, CODES = TABLES["census"][0][:, :14], TABLES["census"][1]


def draws(k: int, p: int, norm: float) -> Any:
    vectors = np.random.default_rng().normal(size=(k, p))
    return norm * vectors / np.linalg.norm(vectors, axis=1)[:, None]


def certified(risk: RegularizedRisk, x: Any, codes: Any, found: Any, linears: Any) -> bool:
    norms = [
        np.linalg.norm(gradient(risk, x, codes, theta, linear))
        for theta, linear in zip(found, linears, strict=True)
    ]
    return bool(max(norms) <= 1.01 * TOLERANCE * max(risk.row_gradient, 1.0))


@pytest.mark.parametrize("norm", [1e-3, 0.05, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_certified_for_every_loss(loss: str, norm: float) -> None:
    risk, rows, codes = problem(make_loss(loss), X, CODES, 1e-3)
    p = risk.parameters(rows.m)
    assert nearby_stride(rows.n, p) > 1
    linears = draws(9, p, norm)
    found = minimize_many(risk, rows, linears, tolerance=TOLERANCE)
    assert certified(risk, X, codes, found, linears)
    np.testing.assert_array_equal(minimize_many(risk, rows, linears, tolerance=TOLERANCE), found)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_it_saves_reads_of_the_table(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    risk, _, codes = problem(Logistic(), X, CODES, 1e-3)
    rows = ArrayRows(form(X), Logistic().targets(codes))
    linears, read = draws(32, rows.m, 0.05), []
    gradients = Objective.gradients

    def counted(self: Objective, thetas: Any, which: Any) -> Any:
        if self.stride == 1 and isinstance(self.rows, ArrayRows):
            read.append(len(thetas))
        return gradients(self, thetas, which)

    monkeypatch.setattr(Objective, "gradients", counted)
    start = minimize(risk, rows, tolerance=1e-6).certified()
    totals = []
    for _ in range(2):
        read.clear()
        minimize_many(risk, rows, linears, tolerance=TOLERANCE, start=start)
        totals.append(sum(read))
        monkeypatch.setattr(batch, "_nearby", lambda *_: None)
    assert totals[0] < 0.8 * totals[1]


def lost(self: Any, objective: Any, origin: Endings, memory: Any) -> Any:
    return origin.thetas + 1e3


def lying(self: ArrayBlock) -> ArrayBlock:
    return ArrayBlock(1.3 * self.x, 1.3 * self.transposed, None, None)


def silent(self: ArrayBlock) -> ArrayBlock:
    return ArrayBlock(0.0 * self.x, 0.0 * self.transposed, None, None)


class Flat:
    """Whatever the point, the gradient is nothing."""

    def gradients(self, thetas: Any, which: Any) -> Any:
        return np.zeros_like(thetas)


@pytest.mark.parametrize(
    ("owner", "name", "broken"),
    [
        (Nearby, "_walk", lost),
        (Nearby, "_curvatures", lambda self, thetas: Scaling(1.0)),
        (ArrayBlock, "rough", lying),
        (ArrayBlock, "rough", silent),
        (Objective, "rough", lambda self: Flat()),
        (ArrayBlock, "pull_squares", lambda self, weights: np.full((9, 14), 1e9)),
    ],
)
def test_no_step_on_the_way_can_spoil_a_certificate(
    owner: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk, rows, codes = problem(Logistic(), X, CODES, 1e-3)
    linears = draws(9, rows.m, 0.05)
    monkeypatch.setattr(owner, name, broken)
    found = minimize_many(risk, rows, linears, tolerance=TOLERANCE)
    assert certified(risk, X, codes, found, linears)


def test_a_rough_gradient_certifies_nothing() -> None:
    risk, rows, codes = problem(Logistic(), X, CODES, 1e-2)
    objective = Objective(risk, rows, np.zeros((1, rows.m)))
    nothing = np.zeros((1, rows.m))
    origin = Endings(nothing, nothing.copy(), np.zeros(1), [], rough=True)
    end = descend(objective, origin, objective.curvature(nothing[0]), Limits(TOLERANCE, 50, 5))
    assert certified(risk, X, codes, end.thetas, nothing)


def test_the_difference_to_a_rough_gradient_is_no_secant_pair() -> None:
    risk, rows, _ = problem(Logistic(), X, CODES, 1e-2)
    objective = Objective(risk, rows, np.zeros((1, rows.m)))
    thetas = np.zeros((1, rows.m))
    near = Endings.before(thetas, objective.gradients(thetas, slice(None)))
    for rough in (True, False):
        memory = Memory(1, 5, rows.m)
        origin = replace(near, rough=rough)
        descend(objective, origin, objective.curvature(thetas[0]), Limits(1e-99, 1, 5), memory)
        assert (memory.scale(np.arange(1), -1.0)[0] == -1.0) == rough


@pytest.mark.parametrize("norm_bound", [1e-60, 1e60])
def test_rows_beyond_single_precision(norm_bound: float) -> None:
    risk = RegularizedRisk(Logistic(), 1e-3 * norm_bound**2, norm_bound)
    rows = ArrayRows(norm_bound * X, Logistic().targets(CODES))
    linears = draws(9, rows.m, 0.05 * norm_bound)
    found = minimize_many(risk, rows, linears, tolerance=TOLERANCE * norm_bound)
    assert certified(risk, norm_bound * X, CODES, found, linears)


def test_the_bent_sample_agrees_at_the_start() -> None:
    risk, rows, _ = problem(Logistic(), X, CODES, 1e-3)
    whole = Objective(risk, rows, np.zeros((1, rows.m)))
    start = np.random.default_rng().normal(size=rows.m)
    (there,) = whole.gradients(start[None, :], slice(None))
    nearby = Nearby(whole, start, there, whole.curvature(start).cholesky, 16)
    bent = Bent(whole.thinned(16), start, nearby._slope, nearby._bend)
    steps = start + 1e-5 * np.eye(rows.m)
    exact = whole.gradients(steps, slice(None)) - there
    np.testing.assert_allclose(bent.gradients(steps, slice(None)) - there, exact, atol=1e-9)
    thinned = whole.thinned(16).gradients(steps, slice(None)) - there
    assert np.abs(thinned - exact).max() > 1e-7  # the sample alone does not


def test_the_factors_have_the_sampled_diagonals() -> None:
    risk, rows, _ = problem(Logistic(), X, CODES, 1e-3)
    whole = Objective(risk, rows, np.zeros((1, rows.m)))
    thetas = np.random.default_rng().normal(size=(3, rows.m))
    factor = whole.curvature(thetas[0]).cholesky
    model = Nearby(whole, thetas[0], np.zeros(rows.m), factor, 1)._curvatures(thetas)
    for theta, found in zip(thetas, model.factors, strict=True):
        lower = np.tril(found.cholesky)
        diagonal = np.diag(whole.hessian(theta)) + 1e-3
        np.testing.assert_allclose(np.diag(lower @ lower.T), diagonal, rtol=1e-2)
    np.testing.assert_allclose(np.tril(model.factors[0].cholesky), np.tril(factor), atol=1e-9)


def test_forgotten_pairs() -> None:
    memory, paths = Memory(2, 3, 2), np.arange(2)
    memory.add(paths, np.ones((2, 2)), np.full((2, 2), 2.0))
    memory.forget(np.array([1]))
    np.testing.assert_allclose(memory.scale(paths, 7.0), [0.5, 7.0])
    found = memory.solve(Scaling(1.0), np.ones((2, 2)), paths)
    np.testing.assert_allclose(found, [[0.5, 0.5], [1.0, 1.0]])


def test_each_path_has_its_factor() -> None:
    factors = [Curvature.factor(scale * np.eye(2), 0.0) for scale in (1.0, 2.0, 4.0)]
    found = Curvatures(factors).solve(np.ones((2, 2)), Memory(3, 1, 2), np.array([2, 1]))
    np.testing.assert_allclose(found, [[0.25, 0.25], [0.5, 0.5]])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("loss", LOSSES)
def test_diagonals_are_those_of_the_hessians(loss: str, form: Any, intercept: bool) -> None:
    made = make_loss(loss)
    codes = np.arange(len(X)) % made.classes
    rows = checked_rows(
        form(9.0 * X), made.targets(codes), norm_bound=2.0, constant=2.0 if intercept else None
    )
    risk = RegularizedRisk(made, 1e-3, 1.0)
    thetas = np.random.default_rng().normal(size=(3, risk.parameters(rows.m)))
    (found,) = rows.sum(risk.diagonals, thetas)
    wanted = [np.diag(rows.sum(risk.hessian, theta)[0]) for theta in thetas]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    block, _ = next(rows.blocks())
    weights = block.scores(thetas.reshape(-1, rows.m)[:3])
    np.testing.assert_allclose(
        block.pull_squares(weights), Block.pull_squares(block, weights), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", LOSSES)
def test_rough_rows_are_nearly_the_rows(loss: str, form: Any) -> None:
    made = make_loss(loss)
    codes = np.arange(len(X)) % made.classes
    rows = checked_rows(form(9.0 * X), made.targets(codes), norm_bound=2.0, constant=2.0)
    risk = RegularizedRisk(made, 1e-3, 1.0)
    thetas = np.random.default_rng().normal(size=(3, risk.parameters(rows.m)))
    (whole,), (rough,) = (each.sum(risk.gradients, thetas) for each in (rows, rows.rough()))
    difference = np.abs(rough - whole).max() / rows.n
    assert 1e-12 < difference < 1e-3
    assert whole.dtype == rough.dtype == np.float64


def test_a_start_that_is_a_minimum_already() -> None:
    risk, rows, codes = problem(Logistic(), X, CODES, 1e-2)
    start = minimize(risk, rows, tolerance=1e-12).certified()
    factor = curvature_at(risk, rows, start)
    linears = np.zeros((9, rows.m))
    found = minimize_many(risk, rows, linears, tolerance=1e-10, start=start, curvature=factor)
    assert certified(risk, X, codes, found, linears)
