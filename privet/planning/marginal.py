"""One coordinate of the noise: how far it goes 95 times in 100.

A coordinate of the Gaussian is normal. The spherical Laplace law is a normal law with a random
variance: with ``G ~ Gamma((p + 1)/2)`` and ``z`` standard normal in ``R^p``, ``scale sqrt(2 G) z``
has density proportional to ``|b|^(1/2) K_(1/2)(|b|/scale)``, a multiple of ``exp(-|b|/scale)``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, gammaincinv

from privet.noise import Gaussian, Noise

_NODES = 4000


def coordinate_tail(noise: Noise, size: float) -> float:
    """The probability that one coordinate is larger than ``size`` in absolute value."""
    t = size / noise.scale
    if isinstance(noise, Gaussian):
        return float(erfc(t / math.sqrt(2.0)))
    middles = (np.arange(_NODES) + 0.5) / _NODES
    variances = 2.0 * gammaincinv((noise.dimension + 1) / 2.0, middles)
    return float(erfc(t / np.sqrt(2.0 * variances)).mean())


def coordinate_quantile(noise: Noise, tail: float) -> float:
    """The size that one coordinate exceeds with probability ``tail``."""
    high = 20.0 * noise.coordinate_sd / math.sqrt(tail)
    found = brentq(lambda size: coordinate_tail(noise, size) - tail, 0.0, high, rtol=1e-10)
    return float(found)
