"""The public grid that released numbers are rounded to, and exact noise on it.

A double-precision sample carries its input in its last bits. So every release is rounded to
multiples of ``2^j``, with ``j`` computed from public quantities, as the last step; and where the
Gaussian noise is added to a value, it is drawn as an exact discrete Gaussian on that grid
(Canonne, Kamath and Steinke 2020; ``privet.exact_draws``) and added as a whole number.
"""

from __future__ import annotations

import math

import numpy as np

from privet import exact_draws
from privet._types import Array
from privet.randomness import Randomness

# A grid a million times finer than the noise costs no accuracy.
GRID_BITS = 20
# A double has 53 bits; a step of the grid is at least this many spacings of the largest value, in
# bits, or rounding to it would leave the last bits of a sample as they are.
DOUBLE_BITS = 53
SPARE_BITS = 2
# The noise on either side of this still fits 64 bits.
LARGEST_STEP = 2.0**62


def grid_exponent(noise_sd: float, largest: float = 0.0) -> int:
    """``j = floor(log2(noise sd)) - 20``, from the public size of the noise in a coordinate.

    Where the noise is a floating-point sample, ``largest`` is a public bound on what is rounded,
    and ``j`` is not below ``ceil(log2(largest)) - 51``: doubles of that size lie ``2^-53`` of it
    apart, and a finer grid would round nothing. That is so from about epsilon n = 1e9.
    """
    fine = math.floor(math.log2(noise_sd)) - GRID_BITS
    if largest == 0.0:
        return fine
    return max(fine, math.frexp(largest)[1] - DOUBLE_BITS + SPARE_BITS)


def round_to_grid(values: Array, exponent: int) -> Array:
    """The nearest multiples of ``2^exponent``."""
    # ldexp is exact; adding 0.0 turns a negative zero, which carries a sign bit, into zero
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent) + 0.0)


def add_discrete_gaussian(
    values: Array, scale: float, exponent: int, randomness: Randomness
) -> Array:
    """``values`` rounded to the grid plus exact discrete Gaussian noise of that ``scale``.

    The noise on the integers has parameter ``scale / 2^exponent``; rounding moves each coordinate
    by at most half a grid step, so the caller widens its sensitivity by ``2^exponent sqrt p``.
    """
    noise = exact_draws.discrete_gaussian(math.ldexp(scale, -exponent), values.size, randomness)
    return _on_the_grid(values, noise, exponent)


def add_discrete_laplace(
    values: Array, scale: float, exponent: int, randomness: Randomness
) -> Array:
    """``values`` rounded to the grid plus exact discrete Laplace noise of that ``scale``.

    Independent coordinates, ``P(noise = k 2^exponent)`` proportional to ``exp(-|k|
    2^exponent/scale)`` (Ghosh, Roughgarden and Sundararajan 2009). Values on the grid are not
    moved: a query of whole numbers needs no wider sensitivity where the exponent is at most 0.
    """
    noise = exact_draws.discrete_laplace(math.ldexp(scale, -exponent), values.size, randomness)
    return _on_the_grid(values, noise, exponent)


def _on_the_grid(values: Array, noise: exact_draws.Whole, exponent: int) -> Array:
    """Steps of the grid plus steps of noise, added as whole numbers."""
    steps = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), -exponent))
    # beyond the integers' range: clipping brings no two values further apart, wrapping would
    integers = np.clip(steps, -LARGEST_STEP, LARGEST_STEP).astype(np.int64)
    noisy = (integers.ravel() + noise).astype(np.float64)
    return np.ldexp(noisy, exponent).reshape(integers.shape)
