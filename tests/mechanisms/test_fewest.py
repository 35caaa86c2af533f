"""Private choice by counts: the law of the choice, its exact privacy loss, the theorem's bound."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from privet.errors import DeclarationError
from privet.mechanisms.fewest import fewest, noisy_count, selection_epsilon
from privet.privacy import ZCDP, ApproxDP, PureDP

COUNTS = [3, 1, 0, 5]


def exponential(counts: list[int], epsilon: float) -> np.ndarray:
    """P proportional to exp(-eps z/2)."""
    weight = np.exp(-epsilon * (np.array(counts) - min(counts)) / 2.0)
    return np.asarray(weight / weight.sum())


def permute_and_flip(counts: list[int], epsilon: float) -> np.ndarray:
    """Random order; the first that passes a coin with probability exp(-eps (z - z_min)/2)."""
    coins = np.exp(-epsilon * (np.array(counts) - min(counts)) / 2.0)
    out, orders = np.zeros(len(counts)), list(itertools.permutations(range(len(counts))))
    for order in orders:
        left = 1.0
        for i in order:
            out[i] += left * coins[i] / len(orders)
            left *= 1.0 - coins[i]
    return out


LAWS: dict[str, Any] = {"exponential": exponential, "permute_and_flip": permute_and_flip}


@pytest.mark.parametrize("name", sorted(LAWS))
def test_choices_follow_the_law_and_the_test_can_tell(name: Any) -> None:
    draws = 6000
    budget = PureDP(1.0)
    chosen = Counter(fewest(COUNTS, budget, name) for _ in range(draws))
    seen = [chosen[i] for i in range(len(COUNTS))]
    wanted = LAWS[name](COUNTS, 1.0)
    assert chisquare(seen, wanted * draws).pvalue > 1e-6
    for scale in (2.0 / 3.0, 3.0 / 2.0):
        assert chisquare(seen, LAWS[name](COUNTS, scale) * draws).pvalue < 1e-6


@pytest.mark.parametrize("name", sorted(LAWS))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_exact_loss_over_all_neighbours(name: str, epsilon: float) -> None:
    """Every count moves by one at most: all 3^m neighbours of several vectors."""
    worst = 0.0
    for counts in ([0, 0, 0], [0, 2, 9], [5, 5, 1]):
        here = LAWS[name](counts, epsilon)
        for step in itertools.product((-1, 0, 1), repeat=3):
            there = LAWS[name]([c + s for c, s in zip(counts, step, strict=True)], epsilon)
            worst = max(worst, float(np.abs(np.log(here / there)).max()))
    assert worst <= epsilon * (1.0 + 1e-12)
    assert worst >= 0.6 * epsilon


def test_a_concentrated_budget_pays_for_more() -> None:
    assert selection_epsilon(ZCDP(0.5), "exponential") == 2.0
    assert selection_epsilon(ZCDP(0.5), "permute_and_flip") == 1.0
    assert selection_epsilon(PureDP(0.5), "exponential") == 0.5
    with pytest.raises(DeclarationError):
        selection_epsilon(ApproxDP(1.0, 1e-6), "exponential")


def test_the_zcdp_claim_bounds_the_exact_renyi_divergence() -> None:
    rho = 0.5
    epsilon = selection_epsilon(ZCDP(rho), "exponential")
    largest = 0.0
    for counts in ([0, 0, 0], [0, 2, 9], [1, 1, 0]):
        here = exponential(counts, epsilon)
        for step in itertools.product((-1, 0, 1), repeat=3):
            there = exponential([c + s for c, s in zip(counts, step, strict=True)], epsilon)
            for order in (1.1, 2.0, 5.0, 40.0):
                value = math.log((here**order * there ** (1.0 - order)).sum()) / (order - 1.0)
                largest = max(largest, value / (order * rho))
    assert 0.5 <= largest <= 1.0 + 1e-12


@pytest.mark.parametrize("name", sorted(LAWS))
def test_the_theorem_s_bound_on_the_mistakes_holds(name: Any) -> None:
    """With probability 1 - beta within 2 log(m/beta)/eps of the fewest."""
    epsilon, beta, draws = 0.5, 0.1, 2000
    counts = list(range(0, 60, 3))
    bound = 2.0 * math.log(len(counts) / beta) / epsilon
    beyond = sum(counts[fewest(counts, PureDP(epsilon), name)] > bound for _ in range(draws))
    # a binomial of rate beta is this large once in a million
    assert beyond <= beta * draws + 4.9 * math.sqrt(beta * draws)


@pytest.mark.parametrize("budget", [PureDP(0.7), ZCDP(0.1)], ids=str)
def test_counts_have_the_declared_noise(budget: Any) -> None:
    draws = np.array([noisy_count(40, budget) - 40 for _ in range(6000)], dtype=float)
    if isinstance(budget, PureDP):
        k = np.arange(-200, 201)
        law = np.exp(-budget.epsilon * np.abs(k))
        variance = float((k**2 * law).sum() / law.sum())
        spread = 5.0  # kurtosis of a Laplace law minus one
    else:
        variance, spread = 1.0 / (2.0 * budget.rho), 2.0
    error = 4.9 * variance * math.sqrt(spread / len(draws))
    assert abs(float((draws**2).mean()) - variance) <= 1.5 * error
    assert 1.5 * error < variance * (1.0 - 4.0 / 9.0), "two thirds of the scale would pass"
    with pytest.raises(DeclarationError):
        noisy_count(1, ApproxDP(1.0, 1e-6))
