"""How far odds can move: bounds that hold for real mechanisms, and the one that would not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from privet import ZCDP, ApproxDP, PureDP
from privet.privacy.curves import gaussian_delta
from privet.privacy.odds import detection, posterior, sure_odds


def tail(shift: float, epsilon: float) -> float:
    """How often a Gaussian of this shift changes the odds by more than ``e^epsilon``."""
    return float(norm.sf(epsilon, loc=shift**2 / 2.0, scale=shift))


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.2, 1.0, 5.0])
def test_concentrated_odds_hold_for_a_gaussian(rho: float) -> None:
    epsilon, rare = sure_odds(ZCDP(rho))
    assert tail(math.sqrt(2.0 * rho), epsilon) <= rare
    # and the bound is no larger than it has to be by more than a factor of two
    assert tail(math.sqrt(2.0 * rho), rho + (epsilon - rho) / 2.0) > rare


@pytest.mark.parametrize("shift", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
def test_approximate_odds_hold_for_a_gaussian(shift: float, epsilon: float) -> None:
    delta = gaussian_delta(shift, epsilon)
    if not 1e-14 < delta < 0.5:
        return
    most, rare = sure_odds(ApproxDP(epsilon, delta))
    assert tail(shift, most) <= rare < 1.0
    # "except with probability delta by at most e^epsilon" would be false
    assert tail(shift, epsilon) > delta


@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.1, 0.49])
def test_approximate_odds_hold_for_the_worst_release(delta: float) -> None:
    """Nothing but the two inequalities: mass m where P = e^(epsilon + t) Q, as large as allowed."""
    epsilon = 0.7
    most, rare = sure_odds(ApproxDP(epsilon, delta))
    step = most - epsilon
    worst = delta / -math.expm1(-step)  # m - e^epsilon m e^-(epsilon + t) = delta
    assert worst == pytest.approx(rare)


def test_a_pure_budget_has_no_exception() -> None:
    assert sure_odds(PureDP(1.5)) == (1.5, 0.0)


@pytest.mark.parametrize("budget", [PureDP(0.3), ApproxDP(1.0, 1e-3), ZCDP(0.4)], ids=str)
def test_beliefs_and_hits_grow_and_stay_probabilities(budget: PureDP | ApproxDP | ZCDP) -> None:
    grid = np.linspace(0.0, 1.0, 101)
    for found in (posterior(sure_odds(budget)[0], grid), detection(budget, grid)):
        assert (np.diff(found) >= -1e-12).all()
        assert (found >= grid - 1e-12).all()
        assert found.max() <= 1.0
