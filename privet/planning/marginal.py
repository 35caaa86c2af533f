"""One coordinate of a fit's noise, alone or on top of a normal number: tails and quantiles.

A coordinate of the Gaussian is normal. The spherical Laplace law in ``R^p`` is a normal law with a
random variance: with ``g ~ Gamma((p + 1)/2)`` and ``z`` standard normal in ``R^p``, ``scale sqrt(2
g) z`` has density proportional to ``|b|^(1/2) K_(1/2)(|b|/scale)``, a multiple of
``exp(-|b|/scale)``. So ``X = sqrt(A) z + sqrt(spread) b_1`` has

    Pr(|X| > x) = E erfc(x / sqrt(2 (A + 2 B g))),   B = spread scale^2

a smooth integral over one variable. The trapezoidal rule in ``log g`` computes it to about nine
digits, and far into the tail to four.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import erfc, gammainccinv, gammaincinv, gammaln, ndtri

from privet._types import Array
from privet.noise import Noise

_NODES = 384
_STEPS = 40
# between these quantiles of the variance lies all that a tail above 1e-100 can see
_LOWEST, _HIGHEST = 1e-14, 1e-120


@lru_cache(maxsize=64)
def _variances(dimension: int) -> tuple[Array, Array]:
    """Nodes ``2 g`` and weights of the mixing law."""
    shape = (dimension + 1) / 2.0
    low, high = gammaincinv(shape, _LOWEST), gammainccinv(shape, _HIGHEST)
    t = np.linspace(math.log(low), math.log(high), _NODES)
    weights = np.exp(shape * t - np.exp(t) - gammaln(shape)) * (t[1] - t[0])
    return 2.0 * np.exp(t), weights / weights.sum()


def variances(normal: Array, spread: Array, noise: Noise) -> Array:
    """Total variance of each number."""
    return normal + spread * noise.coordinate_sd**2


def two_sided_tail(size: Array, normal: Array, spread: Array, noise: Noise) -> Array:
    """``Pr(|X| > size)`` for each number."""
    sizes = np.asarray(size, dtype=np.float64)
    if noise.kind == "gaussian":
        total = np.maximum(variances(normal, spread, noise), 1e-300)
        return np.asarray(erfc(sizes / np.sqrt(2.0 * total)))
    nodes, weights = _variances(noise.dimension)
    total = normal[:, None] + (spread * noise.scale**2)[:, None] * nodes
    return np.asarray(erfc(sizes[:, None] / np.sqrt(2.0 * np.maximum(total, 1e-300))) @ weights)


def quantile(tail: float, normal: Array, spread: Array, noise: Noise) -> Array:
    """The size that each number exceeds in absolute value with probability ``tail``."""
    sd = np.sqrt(variances(normal, spread, noise))
    if noise.kind == "gaussian":
        return np.asarray(-float(ndtri(tail / 2.0)) * sd)
    # the tail is convex and falls, so Newton's steps stay left of the root once they are there
    size = -float(ndtri(tail / 2.0)) * sd
    nodes, weights = _variances(noise.dimension)
    total = normal[:, None] + (spread * noise.scale**2)[:, None] * nodes
    inverse = 1.0 / np.sqrt(2.0 * np.maximum(total, 1e-300))
    for _ in range(_STEPS):
        scaled = size[:, None] * inverse
        above = erfc(scaled) @ weights - tail
        slope = (np.exp(-(scaled**2)) * inverse) @ weights * (2.0 / math.sqrt(math.pi))
        step = np.where(slope > 0.0, above / np.maximum(slope, 1e-300), 0.0)
        size = np.maximum(size + step, 0.0)
        if bool((np.abs(step) <= 1e-12 * sd).all()):
            break
    return size


def coordinate_quantile(noise: Noise, tail: float) -> float:
    """The size that one coordinate of the noise exceeds with probability ``tail``."""
    return float(quantile(tail, np.zeros(1), np.ones(1), noise)[0])
