"""The public floor bounds the rounding that really happens."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privet.losses import LOSSES, HuberHinge, Logistic, Loss
from privet.minimize import minimize, minimizer_norm, rounding_floor
from privet.minimize.mean_objective import Objective
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows
from tests.minimize.hostile_tables import TABLES, make_loss, problem


def exact_gradient(risk: RegularizedRisk, x: Any, codes: Any, theta: Any, linear: Any) -> Any:
    """The mean gradient for two-class losses in extended precision."""
    wide = np.longdouble
    signs = np.where(codes > 0, 1, -1).astype(wide)
    margins = signs * (x.astype(wide) @ theta.astype(wide))
    if isinstance(risk.loss, Logistic):
        slopes = -1 / (1 + np.exp(np.minimum(margins, 11_000)))
    else:
        slopes = -np.clip((1 + wide(risk.loss.h) - margins) / (2 * wide(risk.loss.h)), 0, 1)
    mean = (signs * slopes) @ x.astype(wide) / len(x)
    return mean + wide(risk.regularization) * theta.astype(wide) + linear.astype(wide)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs extended precision")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.1)])
def test_the_floor_bounds_the_error(loss: Loss, table: str) -> None:
    x, codes = TABLES[table]
    for regularization in (1e-6, 1e-2):
        for beta in (0.0, 1.0):
            risk, rows, codes = problem(loss, x, codes, regularization)
            linear = np.full(rows.m, beta / math.sqrt(rows.m))
            theta = minimize(risk, rows, linear=linear, tolerance=1e-9).certified()
            floor = rounding_floor(rows.n, rows.m, risk, beta * rows.n)
            for form in (x, sp.csr_array(x)):
                each = Objective(risk, ArrayRows(form, loss.targets(codes)), linear[None, :])
                (computed,) = each.gradients(theta[None, :], slice(None))
                error = computed - exact_gradient(risk, x, codes, theta, linear)
                assert np.linalg.norm(error.astype(float)) <= floor / 4


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("loss", LOSSES)
def test_no_minimizer_is_larger_than_the_bound(loss: str, table: str) -> None:
    x, codes = TABLES[table]
    for regularization in (1e-4, 1e-1):
        risk, rows, _ = problem(make_loss(loss), x, codes, regularization)
        p = risk.parameters(rows.m)
        for beta in (0.0, 0.3):
            linear = np.full(p, beta / math.sqrt(p))
            theta = minimize(risk, rows, linear=linear, tolerance=1e-9).certified()
            bound = minimizer_norm(risk, rows.n, beta * rows.n)
            assert np.linalg.norm(theta) <= bound + 1e-9 / regularization


def test_the_bound_is_reached_where_it_should_be() -> None:
    risk = RegularizedRisk(Logistic(), 10.0, 1.0)
    linear = np.array([0.0, 3.0])
    theta = minimize(
        risk, ArrayRows(np.zeros((1, 2)), np.ones(1)), linear=linear, tolerance=1e-12
    ).certified()
    assert np.linalg.norm(theta) == pytest.approx(0.3)
    assert minimizer_norm(risk, 1, 3.0) == pytest.approx(0.4)  # one row may add L R/Lam


def test_the_floor_is_far_below_the_tolerances_in_use() -> None:
    for n in (1_000, 45_000, 10**6):
        risk = RegularizedRisk(Logistic(), 1e-3, 1.0)
        assert rounding_floor(n, 105, risk, 2_000.0) < 2e-11
    assert rounding_floor(100, 5, RegularizedRisk(Logistic(), 1e-2, 1.0), 0.0) < 1e-13


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ((100, 5, 1e-2, 1.0, 0.0), (10**6, 5, 1e-2, 1.0, 0.0)),
        ((100, 5, 1e-2, 1.0, 0.0), (100, 500, 1e-2, 1.0, 0.0)),
        ((100, 5, 1e-2, 1.0, 0.0), (100, 5, 1e-5, 1.0, 0.0)),
        ((100, 5, 1e-2, 1.0, 0.0), (100, 5, 1e-2, 9.0, 0.0)),
        ((100, 5, 1e-2, 1.0, 0.0), (100, 5, 1e-2, 1.0, 1e4)),
    ],
)
def test_the_floor_grows_with_each_argument(small: Any, large: Any) -> None:
    floors = [
        rounding_floor(n, m, RegularizedRisk(Logistic(), lam, bound), noise)
        for n, m, lam, bound, noise in (small, large)
    ]
    assert floors[1] > floors[0]
