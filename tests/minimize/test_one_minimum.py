"""A certified minimum, on every loss and on tables made to break it."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from privet.datasets import census_like
from privet.errors import DeclarationError, NotConverged
from privet.losses import LOSSES, Logistic
from privet.minimize import Solution, Status, minimize, rounding_floor
from privet.minimize.certified import lbfgs, newton, prefers_newton, sample_stride
from privet.minimize.mean_objective import Objective
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows
from tests.minimize.hostile_tables import TABLES, gradient, make_loss, problem

TOLERANCE = 1e-10


def some_direction(p: int, norm: float, seed: int = 0) -> Any:
    vector = np.random.default_rng(seed).normal(size=p)
    return norm * vector / np.linalg.norm(vector)


def assert_certified(
    solution: Solution, risk: RegularizedRisk, x: Any, codes: Any, linear: Any = 0.0
) -> None:
    theta = solution.certified()
    norm = np.linalg.norm(gradient(risk, x, codes, theta, linear))
    beta = float(np.linalg.norm(linear))
    slack = rounding_floor(len(codes), x.shape[1], risk, beta * len(codes))
    assert solution.gradient_norm <= TOLERANCE
    assert abs(norm - solution.gradient_norm) <= 2.0 * slack


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("loss", LOSSES)
def test_certified_on_hostile_tables(loss: str, table: str) -> None:
    x, codes = TABLES[table]
    for regularization, strength in ((1e-6, 0.0), (1e-5, 0.05), (1e-3, 0.05), (1.0, 1.0)):
        risk, rows, codes = problem(make_loss(loss), x, codes, regularization)
        linear = some_direction(risk.parameters(rows.m), strength)
        solution = minimize(risk, rows, linear=linear, tolerance=TOLERANCE)
        assert_certified(solution, risk, x, codes, linear)


@pytest.mark.parametrize("solver", [newton, lbfgs])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_solvers_find_the_same_minimum(loss: str, solver: Any) -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(make_loss(loss), x[:800], codes[:800], 1e-3)
    objective = Objective(risk, rows, np.zeros((1, risk.parameters(rows.m))))
    ends = solver(objective, TOLERANCE, 10_000)
    assert ends.statuses == [Status.CONVERGED]
    reference = minimize(risk, rows, tolerance=1e-12).certified()
    # strong convexity: a gradient norm g is at most g/Lam away from the minimum
    assert np.linalg.norm(ends.thetas[0] - reference) <= (TOLERANCE + 1e-12) / 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_a_huge_linear_term(loss: str) -> None:
    x, codes = TABLES["census"]
    risk, rows, codes = problem(make_loss(loss), x, codes, 1e-2)
    linear = some_direction(risk.parameters(rows.m), 1e4)
    solution = minimize(risk, rows, linear=linear, tolerance=1e-8)
    norm = np.linalg.norm(gradient(risk, x, codes, solution.certified(), linear))
    assert norm <= 1e-8 + rounding_floor(rows.n, rows.m, risk, 1e4 * rows.n)


def test_agrees_with_scikit_learn() -> None:
    x, codes = TABLES["census"]
    for regularization in (1e-1, 1e-3, 1e-5):
        risk, rows, _ = problem(Logistic(), x, codes, regularization)
        theirs = LogisticRegression(
            solver="newton-cholesky", C=1 / (5_000 * regularization), fit_intercept=False, tol=1e-10
        ).fit(x, codes)
        ours = minimize(risk, rows, tolerance=1e-12).certified()
        np.testing.assert_allclose(ours, theirs.coef_[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_agrees_with_scipy(loss: str) -> None:
    x, codes = TABLES["census"]
    x, codes = x[:300, :12], codes[:300]
    risk, rows, codes = problem(make_loss(loss), x, codes, 1e-2)
    linear = some_direction(risk.parameters(12), 0.1)

    def value(theta: Any) -> float:
        z = x @ theta.reshape(risk.loss.scores, -1).T
        loss_mean = risk.loss.value(z, risk.loss.targets(codes)).mean()
        return loss_mean + 0.5e-2 * theta @ theta + linear @ theta

    start = np.zeros(risk.parameters(12))
    theirs = optimize.minimize(
        value, start, jac=lambda t: gradient(risk, x, codes, t, linear), tol=1e-9
    ).x
    ours = minimize(risk, rows, linear=linear, tolerance=TOLERANCE).certified()
    assert value(ours) <= value(theirs) + 1e-15
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_every_form_of_the_table_gives_the_same_minimum() -> None:
    x, codes = TABLES["census"]
    x = x.astype(np.float32)
    targets = Logistic().targets(codes)
    risk = RegularizedRisk(Logistic(), 1e-3, 1.0)
    forms = [x, x.astype(float), np.asfortranarray(x), sp.csr_array(x), sp.csr_array(x[::-1])[::-1]]
    forms += [np.repeat(x, 2, axis=1)[:, ::2], sp.csr_matrix(x.astype(float))]
    found = [minimize(risk, ArrayRows(f, targets), tolerance=1e-12).certified() for f in forms]
    for theta in found[1:]:
        np.testing.assert_allclose(theta, found[0], atol=2e-9)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_sampled_start_changes_nothing_but_the_time(ordered: bool) -> None:
    x, y = census_like(12_000, seed=3)
    x = x[:, :20]
    order = np.argsort(y, kind="stable") if ordered else np.arange(len(y))
    assert sample_stride(*x.shape) > 1
    risk, rows, codes = problem(Logistic(), x[order], y[order], 1e-4)
    solution = minimize(risk, rows, tolerance=TOLERANCE)
    assert_certified(solution, risk, x[order], codes)
    assert solution.passes != round(solution.passes)  # a sample was used
    exact = minimize(risk, rows, tolerance=1e-13, start=np.zeros(20)).certified()
    assert np.linalg.norm(solution.theta - exact) <= 2 * TOLERANCE / 1e-4


def test_work_stays_small_on_ordinary_data() -> None:
    x, codes = TABLES["census"]
    for regularization in (1e-3, 1e-4):
        risk, rows, _ = problem(Logistic(), x, codes, regularization)
        solution = minimize(risk, rows, tolerance=TOLERANCE)
        assert solution.passes + 4 * solution.hessians <= 24  # scikit-learn: 31 and 74 passes


def test_too_few_iterations_release_nothing() -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(Logistic(), x, codes, 1e-3)
    solution = minimize(risk, rows, tolerance=TOLERANCE, max_iter=1)
    assert solution.status is Status.EXHAUSTED
    assert solution.passes == 1
    with pytest.raises(NotConverged, match="max_iter") as refusal:
        solution.certified()
    assert not any(c.isdigit() for c in str(refusal.value))


@pytest.mark.parametrize("solver", [newton, lbfgs])
def test_the_number_of_gradients_is_kept(solver: Any) -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(make_loss("huber"), x, codes, 1e-4)
    for most in (1, 2, 7, 20):
        objective = Objective(risk, rows, np.zeros((1, rows.m)))
        assert solver(objective, 1e-30, most).statuses == [Status.EXHAUSTED]
        assert objective.tally.passes == most


@pytest.mark.parametrize("solver", [newton, lbfgs])
def test_not_a_number_ends_the_run(solver: Any) -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(Logistic(), x[:50], codes[:50], 1e-2)
    ends = solver(Objective(risk, rows, np.full((1, rows.m), np.nan)), TOLERANCE, 1_000)
    assert ends.statuses == [Status.STALLED]


@pytest.mark.parametrize("solver", [newton, lbfgs])
def test_a_tolerance_below_rounding_stalls_instead_of_running_on(solver: Any) -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(Logistic(), x, codes, 1e-3)
    objective = Objective(risk, rows, np.full((1, rows.m), 1e-3))
    ends = solver(objective, 1e-30, 100_000)
    assert ends.statuses == [Status.STALLED]
    assert objective.tally.passes < 5_000
    assert np.linalg.norm(ends.gradients[0]) < 1e-15


def test_a_good_start_and_factor_need_no_hessian() -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(Logistic(), x, codes, 1e-2)
    first = minimize(risk, rows, tolerance=1e-8)
    factor = Objective(risk, rows, np.zeros((1, rows.m))).curvature(first.theta).cholesky
    again = minimize(risk, rows, tolerance=TOLERANCE, start=first.theta, curvature=factor)
    assert again.hessians == 0
    assert again.passes <= 3


def test_a_useless_factor_is_replaced() -> None:
    x, codes = TABLES["census"]
    risk, rows, codes = problem(Logistic(), x, codes, 1e-3)
    for scale in (1e-6, 1e6):
        solution = minimize(risk, rows, tolerance=TOLERANCE, curvature=scale * np.eye(rows.m))
        assert_certified(solution, risk, x, codes)
        assert solution.hessians >= 1


def test_the_solver_is_chosen_by_public_shape() -> None:
    mild, weak = (RegularizedRisk(Logistic(), lam, 1.0) for lam in (1e-2, 1e-6))
    assert prefers_newton(mild, 45_000, 105)
    assert not prefers_newton(mild, 2_000, 1_500)
    assert prefers_newton(weak, 20_000, 1_000)
    assert not prefers_newton(weak, 10**7, 2_001)


@pytest.mark.parametrize(
    "wrong",
    [{"linear": np.zeros(3)}, {"linear": np.full(105, np.nan)}, {"start": np.zeros((1, 105))}],
)
def test_wrong_vectors_are_refused(wrong: dict[str, Any]) -> None:
    x, codes = TABLES["census"]
    risk, rows, _ = problem(Logistic(), x, codes, 1e-2)
    with pytest.raises(DeclarationError):
        minimize(risk, rows, tolerance=TOLERANCE, **wrong)
    for tolerance in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(DeclarationError):
            minimize(risk, rows, tolerance=tolerance)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 12),
    m=st.integers(1, 6),
    loss=st.sampled_from(sorted(LOSSES)),
    exponent=st.floats(-6.0, 1.0),
    spread=st.floats(0.0, 30.0),
    kind=st.sampled_from(["normal", "signs", "few"]),
    noise=st.sampled_from([0.0, 1e-3, 1.0, 10.0]),
    seed=st.integers(0, 10**6),
)
def test_any_small_table(
    n: int, m: int, loss: str, exponent: float, spread: float, kind: str, noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = {
        "normal": rng.normal(size=(n, m)),
        "signs": rng.choice([-1.0, 1.0], size=(n, m)),
        "few": rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.2),
    }[kind] * 10.0 ** rng.uniform(-spread, 0.0, size=(1, m))
    x /= np.maximum(np.linalg.norm(x, axis=1), 1e-300)[:, None].max()
    risk, rows, codes = problem(make_loss(loss), x, rng.integers(0, 2, n), 10.0**exponent)
    linear = some_direction(risk.parameters(m), noise, seed)
    solution = minimize(risk, rows, linear=linear, tolerance=TOLERANCE)
    assert_certified(solution, risk, x, codes, linear)
