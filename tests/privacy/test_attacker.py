"""How far odds can move: bounds that hold for real mechanisms, and the one that would not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from privet import ZCDP, ApproxDP, PureDP
from privet.privacy.attacker import detection, posterior, sure_odds
from privet.privacy.curves import gaussian_delta


def tail(shift: float, epsilon: float) -> float:
    """How often a Gaussian of this shift moves the odds by more than ``e^epsilon``, either way."""
    law = norm(loc=shift**2 / 2.0, scale=shift)
    return float(law.sf(epsilon) + law.cdf(-epsilon))


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
    # rise: m - e^epsilon m e^-(epsilon + t) = delta, and fall: the same with P and Q exchanged
    rise = delta / -math.expm1(-step)
    fall = rise * math.exp(-most)
    assert rise + fall == pytest.approx(rare)


def test_the_share_counts_odds_that_fall_too() -> None:
    """A symmetric release with four outcomes: the odds rise in one, fall in another, far enough."""
    epsilon, delta = 0.1, 0.01
    most, rare = sure_odds(ApproxDP(epsilon, delta))
    factor = math.exp(most)
    rise = delta / (1.0 - math.exp(epsilon - most))
    p = np.array([rise, rise / factor, 0.0, 0.0])
    q = p[[1, 0, 3, 2]]
    left = 1.0 - p.sum()
    p[2:], q[2:] = left / 2.0, left / 2.0
    for first, second in ((p, q), (q, p)):  # it keeps (epsilon, delta)
        assert np.maximum(first - math.exp(epsilon) * second, 0.0).sum() <= delta * (1 + 1e-9)
    ratios = np.log(p / q)
    beyond = float(p[np.abs(ratios) > most * (1 - 1e-9)].sum())
    assert beyond == pytest.approx(rare)
    assert beyond > 1.5 * rise  # a bound on one way alone would be far off


def test_a_pure_budget_has_no_exception() -> None:
    assert sure_odds(PureDP(1.5)) == (1.5, 0.0)


@pytest.mark.parametrize("budget", [PureDP(0.3), ApproxDP(1.0, 1e-3), ZCDP(0.4)], ids=str)
def test_beliefs_and_hits_grow_and_stay_probabilities(budget: PureDP | ApproxDP | ZCDP) -> None:
    grid = np.linspace(0.0, 1.0, 101)
    for found in (posterior(sure_odds(budget)[0], grid), detection(budget, grid)):
        assert (np.diff(found) >= -1e-12).all()
        assert (found >= grid - 1e-12).all()
        assert found.max() <= 1.0
