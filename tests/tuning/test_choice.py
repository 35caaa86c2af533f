"""The choice by mistakes: the theorem's bound, its exact zCDP price, the noise on a score."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from privet.mechanisms.counts import Histogram
from privet.mechanisms.selection import EXPONENTIAL, PERMUTE_AND_FLIP, Selection
from privet.privacy import ZCDP, PureDP
from privet.randomness import SystemRandomness


@pytest.mark.parametrize("method", [EXPONENTIAL, PERMUTE_AND_FLIP])
def test_the_theorem_s_bound_on_the_mistakes_holds(method: Any) -> None:
    """With probability 1 - beta within 2 log(m/beta)/eps of the fewest (Chaudhuri et al. 2011)."""
    epsilon, beta, draws = 0.5, 0.1, 1000
    counts = list(range(0, 60, 3))
    bound = 2.0 * math.log(len(counts) / beta) / epsilon
    scores, randomness = [-count for count in counts], SystemRandomness()
    design = Selection(PureDP(epsilon), len(counts), method=method).design(1000)
    chosen = [counts[design.choose(scores, randomness)] for _ in range(draws)]
    # a binomial of rate beta is this large once in a million
    assert sum(count > bound for count in chosen) <= beta * draws + 4.9 * math.sqrt(beta * draws)


def test_the_zcdp_price_bounds_the_exact_renyi_divergence() -> None:
    rho = 0.5
    epsilon = Selection(ZCDP(rho), 3, method=EXPONENTIAL).epsilon

    def law(counts: Any) -> np.ndarray:
        weight = np.exp(-epsilon * (np.array(counts) - min(counts)) / 2.0)
        return np.asarray(weight / weight.sum())

    largest = 0.0
    for counts in ([0, 0, 0], [0, 2, 9], [1, 1, 0]):
        here = law(counts)
        for step in itertools.product((-1, 0, 1), repeat=3):
            there = law([c + s for c, s in zip(counts, step, strict=True)])
            for order in (1.1, 2.0, 5.0, 40.0):
                value = math.log((here**order * there ** (1.0 - order)).sum()) / (order - 1.0)
                largest = max(largest, value / (order * rho))
    assert 0.5 <= largest <= 1.0 + 1e-12


@pytest.mark.parametrize("budget", [PureDP(0.7), ZCDP(0.1)], ids=str)
def test_a_score_has_the_declared_noise(budget: Any) -> None:
    """One count moves by one: Laplace of scale 1/eps, Gaussian of 1/sqrt(2 rho)."""
    score, randomness = Histogram(1, budget).design(100), SystemRandomness()
    draws = score.perturb(np.full(6000, 40), randomness) - 40.0
    if isinstance(budget, PureDP):
        variance, spread = 2.0 / budget.epsilon**2, 5.0  # kurtosis minus one
    else:
        variance, spread = 1.0 / (2.0 * budget.rho), 2.0
    error = 1.5 * 4.9 * variance * math.sqrt(spread / len(draws))
    assert abs(float((draws**2).mean()) - variance) <= error
    assert error < variance * (1.0 - 4.0 / 9.0), "two thirds of the scale would pass"
