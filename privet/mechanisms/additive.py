"""Noise on a value, on the public grid: the one place where a query's answer becomes a release."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.grid import add_discrete_gaussian, round_to_grid
from privet.noise import Noise
from privet.randomness import Randomness

Array = NDArray[np.float64]


def add_noise(values: Array, noise: Noise, exponent: int, randomness: Randomness) -> Array:
    """``values`` with fresh noise on the grid ``2^exponent``; one draw per ``noise.dimension``.

    Gaussian noise from the operating system's source is exact on the grid. Other noise, and that of
    a seeded source, is a floating-point sample, rounded together with the value.
    """
    if noise.kind == "gaussian" and randomness.secure:
        return add_discrete_gaussian(values, noise.scale, exponent)
    sample = noise.sample(randomness, values.size // noise.dimension)
    return round_to_grid(values + sample.reshape(values.shape), exponent)
