"""Selections have the probabilities that their theorems are about, and cost what they say."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri

from privet import GDP, ZCDP, ApproxDP, PureDP
from privet.audit.attacks import FALSE_ALARM
from privet.errors import DeclarationError
from privet.mechanisms.selection import (
    EXPONENTIAL,
    PERMUTE_AND_FLIP,
    Method,
    Selection,
)
from privet.privacy import event_from_json
from privet.randomness import InsecureSeed, Randomness, SystemRandomness

Array = NDArray[np.float64]
SCORES = np.array([3.0, 2.0, 2.5, 0.0])


def exponential(scores: Array, epsilon: float, sensitivity: float) -> Array:
    weights = np.exp(epsilon * (scores - scores.max()) / (2.0 * sensitivity))
    return np.asarray(weights / weights.sum())


def permute_and_flip(scores: Array, epsilon: float, sensitivity: float) -> Array:
    """By definition: in random order, each is taken with its probability."""
    keep = np.exp(epsilon * (scores - scores.max()) / (2.0 * sensitivity))
    total = np.zeros(len(scores))
    for order in permutations(range(len(scores))):
        left = 1.0
        for i in order:
            total[i] += left * keep[i]
            left *= 1.0 - keep[i]
    return total / math.factorial(len(scores))


LAWS = {EXPONENTIAL: exponential, PERMUTE_AND_FLIP: permute_and_flip}
DRAWS = 1500


def of(epsilon: float, method: Method) -> Selection:
    return Selection(PureDP(epsilon), len(SCORES), sensitivity=0.5, method=method)


@pytest.mark.parametrize("method", LAWS)
@pytest.mark.parametrize("secure", [True, False])
def test_the_law(method: Method, secure: bool) -> None:
    fresh = int(np.random.default_rng().integers(1 << 40))
    randomness: Randomness = SystemRandomness() if secure else InsecureSeed(fresh)
    design = of(1.0, method).design(100)
    drawn = [design.choose(SCORES, randomness) for _ in range(DRAWS)]
    counts, law = np.bincount(drawn, minlength=4), LAWS[method]
    assert stats.chisquare(counts, DRAWS * law(SCORES, 1.0, 0.5)).pvalue > FALSE_ALARM
    wrong = law(SCORES, 2.0, 0.5)  # the factor two forgotten
    assert stats.chisquare(counts, DRAWS * wrong).pvalue < FALSE_ALARM


@pytest.mark.parametrize("method", LAWS)
def test_neighbors_differ_by_epsilon_at_most(method: Method) -> None:
    """The exact laws of score lists that differ by the sensitivity, up or down, everywhere."""
    law = LAWS[method]
    first = law(SCORES, 1.0, 0.5)
    for signs in np.ndindex(2, 2, 2, 2):
        ratio = np.log(law(SCORES + 0.5 - np.array(signs), 1.0, 0.5) / first)
        assert np.abs(ratio).max() <= 1.0 + 1e-12
        if method == EXPONENTIAL:
            assert np.ptp(ratio) <= 1.0 + 1e-12  # bounded range, hence eps^2/8


def test_events_cost_the_budget() -> None:
    assert Selection(ZCDP(0.5), 4).epsilon == pytest.approx(2.0)
    assert Selection(ZCDP(0.5), 4, method=PERMUTE_AND_FLIP).epsilon == pytest.approx(1.0)
    for budget in (PureDP(0.7), ZCDP(0.2)):
        for method in LAWS:
            made = Selection(budget, 4, method=method)
            event = made.design(100).event
            assert event.curves[0].pure == pytest.approx(made.epsilon)
            if isinstance(budget, ZCDP):
                assert event.curves[0].zcdp == pytest.approx(budget.rho)
            assert event_from_json(event.to_json()) == event
            assert event.renyi(1e6) <= event.curves[0].pure


@pytest.mark.parametrize("method", LAWS)
@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_a_choice_keeps_a_gaussian_budget(mu: float, method: Method) -> None:
    """Two scores at their worst neighbors: no test tells them apart better than mu allows."""
    made = Selection(GDP(mu), 2, method=method)
    event = made.design(100).event
    assert event.gdp() <= mu * (1.0 + 1e-9)
    law = LAWS[method]
    first = law(np.array([-0.5, 0.5]), made.epsilon, 1.0)
    second = law(np.array([0.5, -0.5]), made.epsilon, 1.0)
    told_apart = ndtri(second[0]) - ndtri(first[0])
    assert told_apart <= mu * (1.0 + 1e-9)


def test_wrong_declarations_are_refused() -> None:
    rng = SystemRandomness()
    for scores in ([1.0, math.nan], [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(DeclarationError, match="finite score"):
            Selection(PureDP(1.0), 2).design(100).choose(scores, rng)
    with pytest.raises(DeclarationError, match="permute_and_flip"):
        Selection(PureDP(1.0), 4, method="report_noisy_max")  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="split"):
        Selection(ApproxDP(1.0, 1e-6), 4)
    with pytest.raises(DeclarationError, match="sensitivity"):
        Selection(PureDP(1.0), 4, sensitivity=0.0)
    with pytest.raises(DeclarationError, match="candidates"):
        Selection(PureDP(1.0), 0)
