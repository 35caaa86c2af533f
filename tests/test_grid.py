"""The public grid: what is released is an exact multiple of a power of two."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from privet.grid import GRID_BITS, add_discrete_gaussian, grid_exponent, round_to_grid
from privet.randomness import SystemRandomness

numbers = st.floats(-1e9, 1e9)
exponents = st.integers(-60, 10)


@given(st.floats(1e-300, 1e300))
def test_the_grid_is_a_million_times_finer_than_the_noise(sd: float) -> None:
    step = Fraction(2) ** (grid_exponent(sd) + GRID_BITS)
    assert GRID_BITS == 20
    assert step * Fraction(999_999, 1_000_000) <= Fraction(sd) < 2 * step


@given(st.lists(numbers, min_size=1, max_size=5), exponents)
def test_rounding_goes_to_the_nearest_multiple(values: list[float], exponent: int) -> None:
    step = Fraction(2) ** exponent
    for value, rounded in zip(values, round_to_grid(np.array(values), exponent), strict=True):
        assert Fraction(float(rounded)) % step == 0
        assert abs(Fraction(float(rounded)) - Fraction(value)) <= step / 2


@given(st.lists(numbers, min_size=1, max_size=5), exponents)
def test_rounding_twice_is_rounding_once(values: list[float], exponent: int) -> None:
    once = round_to_grid(np.array(values), exponent)
    assert (round_to_grid(once, exponent) == once).all()


@given(st.floats(-0.5, 0.0), st.integers(0, 40))
def test_there_is_no_negative_zero(value: float, exponent: int) -> None:
    rounded = round_to_grid(np.array([value, -0.0, -1e-300]), exponent)
    assert not np.signbit(rounded).any()


def test_discrete_noise_stays_on_the_grid() -> None:
    values = np.array([[0.1, -7.3], [1e-9, 3.0]])
    noisy = add_discrete_gaussian(values, 0.5, -22, SystemRandomness())
    assert noisy.shape == values.shape
    assert (noisy * 2.0**22 == np.rint(noisy * 2.0**22)).all()
    assert not np.signbit(noisy[noisy == 0.0]).any()


def test_discrete_noise_has_its_variance_and_center() -> None:
    """Fresh draws; two-sided false alarm rate 1e-6 in all; 5 % less noise would be refused."""
    k, scale, center = 20_000, 0.75, 4.0
    noise = add_discrete_gaussian(np.full(k, center), scale, -12, SystemRandomness()) - center
    squares = float((noise**2).sum()) / scale**2
    assert chi2.ppf(1e-7, k) < squares < chi2.isf(1e-7, k)
    assert not chi2.ppf(1e-7, k) < squares * 0.9**2 < chi2.isf(1e-7, k)
    assert abs(noise.mean()) < norm.isf(1e-7) * scale / math.sqrt(k)


def test_a_coarse_grid_shows_the_discrete_law() -> None:
    """At sigma of one step: probabilities proportional to ``exp(-z^2/2)`` on the integers."""
    k = 20_000
    drawn = add_discrete_gaussian(np.zeros(k), 1.0, 0, SystemRandomness())
    support = np.arange(-12, 13)
    weights = np.exp(-0.5 * support**2)
    expected = weights[support == 0][0] / weights.sum()
    share = float((drawn == 0.0).mean())
    assert abs(share - expected) < 5.5 * math.sqrt(expected * (1.0 - expected) / k)


def test_the_far_end_of_the_integers_is_clipped_not_wrapped() -> None:
    """Clipping keeps distances, so the sensitivity; a wrapped integer would not."""
    noisy = add_discrete_gaussian(np.array([1e30, -1e30]), 1.0, 0, SystemRandomness())
    assert noisy[0] > 1e18
    assert noisy[1] < -1e18
