"""The best of a random number of runs: its law and its price, against dp-accounting and exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import dp_event, rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from scipy.stats import chisquare

from privet.errors import DeclarationError
from privet.privacy.kinds import curve_from_json
from privet.privacy.stopping import Runs, StoppingCurve, runs_with_mean
from privet.randomness import SystemRandomness

LAWS = [Runs(0.0, 0.1), Runs(1.0, 0.2), Runs(-0.5, 0.05), Runs(2.5, 0.3)]


def masses(law: Runs, most: int) -> np.ndarray:
    """P[K = k] for k = 1..most straight from the formula, normalized by a long sum."""
    k = np.arange(1, 200_000)
    if law.eta == 0.0:
        log = k * math.log1p(-law.gamma) - np.log(k)
    else:
        log = gammaln(k + law.eta) - gammaln(k + 1.0) + k * math.log1p(-law.gamma)
    weight = np.exp(log - log.max())
    return np.asarray(weight[:most] / weight.sum())


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_mean_and_the_draws_follow_the_law(law: Runs) -> None:
    wanted = masses(law, 100_000)
    assert math.isclose(law.mean, float((np.arange(1, 100_001) * wanted).sum()), rel_tol=1e-6)
    words = SystemRandomness().words((20_000,))
    draws = np.array([law.quantile(float(w >> np.uint64(11)) * 2.0**-53) for w in words])
    edges = [k for k in range(1, 60) if wanted[k - 1] * len(draws) > 10]
    counts = np.array([*(np.sum(draws == k) for k in edges), np.sum(draws > edges[-1])])
    expected = np.array([*(wanted[k - 1] for k in edges), 0.0])
    expected[-1] = 1.0 - expected.sum()
    assert chisquare(counts, expected * len(draws)).pvalue > 1e-6
    # power: the law with another shape is told apart
    other = masses(Runs(law.eta + 1.0, law.gamma), 100_000)
    wrong = np.array([*(other[k - 1] for k in edges), 0.0])
    wrong[-1] = max(1.0 - wrong.sum(), 1e-12)
    assert chisquare(counts, wrong / wrong.sum() * len(draws)).pvalue < 1e-6


@given(mean=st.floats(1.01, 1e3), eta=st.sampled_from([-0.5, 0.0, 1e-12, 0.5, 1.0, 3.0]))
def test_a_law_with_any_mean_is_found(mean: float, eta: float) -> None:
    assert math.isclose(runs_with_mean(mean, eta).mean, mean, rel_tol=1e-6)


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("rho", [0.001, 0.02, 0.5])
def test_never_above_the_library_s_curve(eta: float, rho: float) -> None:
    law = runs_with_mean(10.0, eta)
    orders = [1.5, 2.0, 5.0, 20.0, 100.0]
    run = dp_event.GaussianDpEvent(1.0 / math.sqrt(2.0 * rho))
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_event.RepeatAndSelectDpEvent(run, mean=10.0, shape=eta))
    ours = StoppingCurve(law.eta, law.gamma, rho)
    for order, theirs in zip(orders, accountant._rdp, strict=True):
        # theirs picks the second order from a list, ours from all
        assert ours.renyi(order) <= theirs * (1.0 + 1e-6) + 1e-9


def theorem(law: Runs, rho: float, order: float) -> float:
    """Papernot and Steinke 2022, Theorem 2, minimized over its second order and over higher ones.

    ``a rho + (1 + eta) ((1 - 1/b) b rho + log(1/gamma)/b) + log E[K]/(a - 1)`` at ``a >= order``.
    """

    def choice(log_b: float) -> float:
        b = 1.0 + math.exp(log_b)
        return (1.0 + law.eta) * ((1.0 - 1.0 / b) * b * rho - math.log(law.gamma) / b)

    def repeats(log_more: float) -> float:
        a = order + math.exp(log_more)
        return a * rho + math.log(float(masses(law, 199_999) @ np.arange(1, 200_000))) / (a - 1.0)

    return sum(
        minimize_scalar(term, bounds=(-40.0, 20.0), method="bounded", options={"xatol": 1e-10}).fun
        for term in (choice, repeats)
    )


@pytest.mark.parametrize("law", [*LAWS, runs_with_mean(10.0), runs_with_mean(40.0, 1.0)])
@pytest.mark.parametrize("rho", [0.001, 0.02, 0.5])
@pytest.mark.parametrize("order", [1.5, 5.0, 100.0])
def test_the_price_is_the_theorem_s(law: Runs, rho: float, order: float) -> None:
    """Neither below the formula at its best second order nor above it."""
    found = StoppingCurve(law.eta, law.gamma, rho).renyi(order)
    assert found == pytest.approx(theorem(law, rho, order), rel=1e-6)


def test_the_price_bounds_a_search_that_is_computed_exactly() -> None:
    """Randomized response as the run, its answer as the score: the best of K in closed form."""
    rho = 0.05
    epsilon = math.sqrt(2.0 * rho)
    p = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    for law in LAWS:
        weights = masses(law, 100_000)
        k = np.arange(1, 100_001)
        # the best is "no" only if all K runs say "no"
        low = [float((weights * (1.0 - q) ** k).sum()) for q in (p, 1.0 - p)]
        pairs = [(low[0], low[1]), (1.0 - low[0], 1.0 - low[1])]
        for order in (1.5, 2.0, 8.0, 32.0):
            total = sum(a**order * b ** (1.0 - order) for a, b in pairs)
            exact = math.log(total) / (order - 1.0)
            assert exact <= StoppingCurve(law.eta, law.gamma, rho).renyi(order)
        worst = max(abs(math.log(a / b)) for a, b in pairs)
        assert worst <= (2.0 + law.eta) * epsilon + 1e-12


@given(
    eta=st.floats(-0.5, 5.0),
    gamma=st.floats(0.001, 0.9),
    rho=st.floats(1e-6, 1.0),
    order=st.floats(1.001, 1e4),
)
def test_the_curve_grows_with_the_order_and_stays_below_its_rho(
    eta: float, gamma: float, rho: float, order: float
) -> None:
    curve = StoppingCurve(eta, gamma, rho)
    assert curve.renyi(order) <= curve.renyi(1.5 * order) * (1.0 + 1e-12)
    assert curve.renyi(order) <= order * curve.zcdp * (1.0 + 1e-12)
    assert curve.renyi(order) >= order * rho
    assert curve_from_json(curve.to_json()) == curve


@pytest.mark.parametrize("mean", [1.0, 0.5, math.nan, 1e9])
def test_odd_means_are_refused(mean: float) -> None:
    with pytest.raises(DeclarationError, match="runs"):
        runs_with_mean(mean)
