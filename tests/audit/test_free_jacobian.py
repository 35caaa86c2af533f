"""Logistic loss under (epsilon, delta): the Jacobian is free up to a limit, and not beyond it.

Exact densities in one dimension, with nothing of the library's audits: the output solves ``lam f +
G - w x t(x f + o) = -b``, where ``o`` is what the row's other columns add to its margin, ``w`` its
weight and ``G`` the gradient of the rows that both tables share. The hockey-stick divergence is an
integral over ``f``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from privet._types import Array
from privet.losses import Logistic, Loss, Softmax
from privet.losses.loss import JACOBIAN_SHARE
from privet.losses.weighted import Weighted
from privet.privacy import ApproxDP
from tests.strategies import name_of

BUDGETS = [ApproxDP(0.3, 1e-3), ApproxDP(1.0, 1e-2), ApproxDP(1.0, 1e-6), ApproxDP(3.0, 1e-4)]
OFFSETS = np.array([-5.0, -3.0, -2.0, -1.0, 0.0])
TRIPLED = Weighted(Logistic(), (1.0, 3.0))
#: what the quadrature may be wrong by, relative to delta
ROUNDING = 1e-4
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=name_of)


def log_density(
    f: Array, ridge: float, sigma: float, x: float, o: Array, g: Array, w: float
) -> Array:
    """Of the output, for the row ``x`` beside the shared gradient ``g``."""
    t = expit(-(x * f + o))
    b = ridge * f + g - w * x * t
    normal = -b * b / (2.0 * sigma**2) - 0.5 * math.log(2.0 * math.pi * sigma**2)
    return np.asarray(normal + np.log(ridge + w * x * x * t * (1.0 - t)))


def worst_delta(epsilon: float, q: float, shift: float, weight: float = 1.0) -> float:
    """Largest delta over the removed row's offset and the shared gradient; rows at the bound."""
    ridge, sigma = 1.0 / q, 2.0 * weight / shift
    width = (9.0 * sigma + 3.0 * weight) / ridge
    f = np.linspace(-width, width, 6001)
    shared = np.linspace(-4.0, 4.0, 25)[:, None] * sigma
    far = -40.0 - width
    offsets = np.append(OFFSETS, far)[:, None, None]
    worst = 0.0
    p = log_density(f, ridge, sigma, 1.0, offsets, shared, weight)
    for other in (-1.0, 1.0):
        saturated = log_density(f, ridge, sigma, other, np.array(far), shared, weight)
        for one, two in ((p, saturated), (saturated, p)):
            excess = np.maximum(np.exp(one) - np.exp(epsilon + two), 0.0).sum(axis=-1)
            worst = max(worst, float(excess.max()) * (f[1] - f[0]))
    return worst


def limit(budget: ApproxDP) -> float:
    """The largest ``q`` with a free Jacobian."""
    return budget.epsilon / 2.0 + budget.gaussian_rho() / 4.0


@every_budget
@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize("times", [0.5, 1.0, 1.5, 3.0])
def test_delta_is_kept_at_every_regularization(
    budget: ApproxDP, weight: float, times: float
) -> None:
    loss: Loss = Logistic() if weight == 1.0 else Weighted(Logistic(), (weight, 1.0))
    q = times * limit(budget) / weight
    found = worst_delta(budget.epsilon, q, budget.objective_shift(loss, q), weight)
    assert found <= budget.delta * (1.0 + ROUNDING)
    if times <= 1.0:
        assert found >= 0.99 * budget.delta
        free = math.sqrt(2.0 * budget.gaussian_rho())
        assert budget.objective_shift(loss, q) == pytest.approx(free, rel=1e-9)


@every_budget
def test_a_free_jacobian_beyond_its_limit_is_found(budget: ApproxDP) -> None:
    """The planted bug: noise as at the limit, with a tenth of the regularization."""
    shift = math.sqrt(2.0 * budget.gaussian_rho())
    assert worst_delta(budget.epsilon, 10.0 * limit(budget), shift) > 1.2 * budget.delta


@every_budget
def test_a_tenth_less_noise_is_found(budget: ApproxDP) -> None:
    q = limit(budget)
    shift = budget.objective_shift(Logistic(), q) / 0.9
    assert worst_delta(budget.epsilon, q, shift) > 1.1 * budget.delta


@every_budget
@pytest.mark.parametrize(
    ("loss", "times"), [(Logistic(), 1.0), (Softmax(2), 2.0), (TRIPLED, 3.0)], ids=name_of
)
def test_the_floor_is_the_limit(budget: ApproxDP, loss: Loss, times: float) -> None:
    """Softmax with two classes is logistic loss of rows ``sqrt2`` longer."""
    floor = budget.objective_floor(loss, JACOBIAN_SHARE)
    assert floor == pytest.approx(limit(budget) / times, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_what_the_limit_saves(epsilon: float) -> None:
    """Against a tenth of epsilon for the Jacobian: 8 to 10 % of sigma, 9 to 20 % of the floor."""
    budget, rest = ApproxDP(epsilon, 1e-6), ApproxDP(0.9 * epsilon, 1e-6)
    sigma = math.sqrt(rest.gaussian_rho() / budget.gaussian_rho())
    floor = 4.0 * math.expm1(0.1 * epsilon) / limit(budget)
    assert 0.90 <= sigma <= 0.93
    assert 0.79 <= floor <= 0.91
