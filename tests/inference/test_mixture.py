"""Tails and quantiles of a normal number plus a coordinate of noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from privet.inference.mixture import Parts, above, at_least, quantiles, tails
from privet.noise import GaussianNoise, SphericalLaplace
from privet.planning.bounds import quantile, variances
from privet.randomness import InsecureSeed

NONE, ONE = np.zeros(1), np.ones(1)


@given(tail=st.floats(1e-8, 0.5), scale=st.floats(1e-3, 1e3))
def test_one_dimension_is_laplace(tail: float, scale: float) -> None:
    law = SphericalLaplace(scale, 1)
    assert quantile(tail, NONE, ONE, law)[0] == pytest.approx(-scale * math.log(tail), rel=1e-7)


def test_far_tails_of_laplace() -> None:
    sizes = np.array([0.1, 1.0, 10.0, 30.0])
    flat = np.zeros((1, 4)), np.ones((1, 4))
    np.testing.assert_allclose(
        tails(sizes, Parts(*flat, flat[1]), SphericalLaplace(1.0, 1)), np.exp(-sizes), rtol=1e-3
    )


@given(
    tail=st.floats(1e-6, 0.5),
    normal=st.floats(0.0, 100.0),
    spread=st.floats(1e-3, 100.0),
    dimension=st.integers(1, 400),
)
def test_the_quantile_has_its_tail(
    tail: float, normal: float, spread: float, dimension: int
) -> None:
    for law in (SphericalLaplace(0.7, dimension), GaussianNoise(0.7, dimension)):
        parts = np.array([normal]), np.array([spread])
        size = quantile(tail, *parts, law)
        one = Parts(parts[0][None], parts[1][None], np.ones((1, 1)))
        assert tails(size, one, law)[0] == pytest.approx(tail, rel=1e-3)
        np.testing.assert_allclose(quantiles(tail, one, law), size, rtol=1e-3)


def test_normal_limits() -> None:
    parts = np.array([4.0]), np.array([9.0])
    law = GaussianNoise(2.0, 3)
    assert variances(*parts, law)[0] == 40.0
    assert quantile(0.05, *parts, law)[0] == pytest.approx(norm.isf(0.025) * math.sqrt(40.0))
    nearly = SphericalLaplace(1e-9, 3)
    assert quantile(0.05, *parts, nearly)[0] == pytest.approx(norm.isf(0.025) * 2.0, rel=1e-6)


@pytest.mark.parametrize("dimension", [2, 12])
def test_against_draws(dimension: int) -> None:
    """The share of draws beyond the quantile, false alarm 1e-6."""
    law, k = SphericalLaplace(0.5, dimension), 200_000
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    noise = law.sample(InsecureSeed(seed), k)[:, 0]
    z = np.random.default_rng(seed).normal(size=k)
    parts = np.array([0.3]), np.array([2.0])
    size = quantile(0.1, *parts, law)[0]
    share = (np.abs(math.sqrt(0.3) * z + math.sqrt(2.0) * noise) > size).mean()
    assert abs(share - 0.1) < t.isf(5e-7, 1e6) * math.sqrt(0.09 / k)


def test_a_mixture_has_the_tails_of_its_members_by_their_weights() -> None:
    law, sizes = GaussianNoise(1.0, 2), np.array([2.0, 0.5])
    normal, weights = np.array([[1.0, 4.0], [9.0, 4.0]]), np.array([[3.0, 5.0], [1.0, 5.0]])
    parts = Parts(normal, np.zeros((2, 2)), weights)
    expected = [
        2.0 * (0.75 * norm.sf(2.0) + 0.25 * norm.sf(2.0 / 3.0)),
        2.0 * norm.sf(0.25),
    ]
    np.testing.assert_allclose(tails(sizes, parts, law), expected)
    for tail in (0.3, 0.05, 1e-8):
        np.testing.assert_allclose(tails(quantiles(tail, parts, law), parts, law), tail, rtol=1e-9)


def test_normal_laws_that_are_cut_off() -> None:
    """Against draws that are rejected below; a law far below its bound stays just above it."""
    rng, ranks = np.random.default_rng(), (np.arange(4000) + 0.5) / 4000.0
    drawn = rng.normal(1.0, 2.0, 400_000)
    kept = drawn[drawn > 0.5]
    found = above(np.full(4000, 1.0), np.full(4000, 2.0), np.full(4000, 0.5), ranks)
    assert abs(found.mean() - kept.mean()) < 5.0 * kept.std() / math.sqrt(len(kept)) + 1e-3
    far = above(np.full(1, -1e3), np.ones(1), np.zeros(1), np.full(1, 0.5))
    assert 0.0 <= far[0] < 1.0
    assert above(np.full(1, 3.0), np.zeros(1), np.ones(1), np.full(1, 0.2))[0] == 3.0


def test_normal_laws_that_are_raised_to_a_bound() -> None:
    """Against draws; a law far below its bound is the bound."""
    rng, ranks = np.random.default_rng(), (np.arange(4000) + 0.5) / 4000.0
    raised = np.maximum(rng.normal(1.0, 2.0, 400_000), 0.5)
    found = at_least(np.full(4000, 1.0), np.full(4000, 2.0), np.full(4000, 0.5), ranks)
    assert abs(found.mean() - raised.mean()) < 5.0 * raised.std() / math.sqrt(len(raised)) + 2e-3
    assert at_least(np.full(1, -1e3), np.ones(1), np.zeros(1), np.full(1, 0.5))[0] == 0.0
    assert at_least(np.full(1, 3.0), np.zeros(1), np.ones(1), np.full(1, 0.2))[0] == 3.0
