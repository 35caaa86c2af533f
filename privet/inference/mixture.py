"""Tails and quantiles of a number whose law is a mixture over plausible matrices.

Each member is a normal number plus a coordinate of the fit's noise, itself normal given a random
variance (``planning.bounds``). So all tails are sums of normal ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfc, ndtr, ndtri

from privet._checks import is_number
from privet._types import Array
from privet.errors import DeclarationError
from privet.noise import Noise
from privet.planning.bounds import mixing_nodes

#: the share of a normal law within one standard deviation
WITHIN_ONE = math.erf(math.sqrt(0.5))
_STEPS = 60
#: numbers at a time: memory for them times draws times nodes
_AT_ONCE = 16


@dataclass(frozen=True)
class Parts:
    """Variances along directions for each plausible matrix, (k, q), and how much each counts.

    ``normal``, and ``spread`` times a noise coordinate's variance: the mean one, where the noise's
    coordinates differ.
    """

    normal: Array
    spread: Array
    weights: Array

    def columns(self) -> Iterator[slice]:
        """Some directions at a time."""
        for start in range(0, self.normal.shape[1], _AT_ONCE):
            yield slice(start, start + _AT_ONCE)

    def rates(self, noise: Noise, at: slice) -> tuple[Array, Array]:
        """``1/sqrt(2 variance)`` and the probability of each normal law: (q, laws)."""
        nodes, chances = mixing_nodes(noise.mixing)
        spread = self.spread[:, at] * noise.coordinate_sd**2
        total = self.normal[:, at, None] + spread[..., None] * nodes
        counts = self.weights[:, at] / np.maximum(self.weights[:, at].sum(axis=0), 1e-300)
        weights = counts[..., None] * chances
        rates = 1.0 / np.sqrt(2.0 * np.maximum(total, 1e-300))
        width = total.shape[1]
        return (
            rates.transpose(1, 0, 2).reshape(width, -1),
            weights.transpose(1, 0, 2).reshape(width, -1),
        )


def tails(sizes: Array, parts: Parts, noise: Noise) -> Array:
    """``Pr(|X| > size)`` for each number."""
    out = np.empty(len(sizes))
    for at in parts.columns():
        rates, weights = parts.rates(noise, at)
        out[at] = (erfc(sizes[at, None] * rates) * weights).sum(axis=1)
    return out


def quantiles(tail: float, parts: Parts, noise: Noise) -> Array:
    """The size that each number exceeds in absolute value with probability ``tail``.

    The tail is convex and falls, so Newton's steps from below stay below and rise to the root, and
    the first one from above ends below. The start is right for one normal law.
    """
    out = np.empty(parts.normal.shape[1])
    for at in parts.columns():
        rates, weights = parts.rates(noise, at)
        size = -float(ndtri(tail / 2.0)) * np.sqrt((weights / (2.0 * rates**2)).sum(axis=1))
        for _ in range(_STEPS):
            scaled = size[:, None] * rates
            over = (erfc(scaled) * weights).sum(axis=1) - tail
            slope = (np.exp(-(scaled**2)) * rates * weights).sum(axis=1) * 2.0 / math.sqrt(math.pi)
            step = np.where(slope > 0.0, over / np.maximum(slope, 1e-300), 0.0)
            size = np.maximum(size + step, 0.0)
            if bool((np.abs(step) <= 1e-12 * np.maximum(size, 1e-300)).all()):
                break
        out[at] = size
    return out


def above(mean: Array, sd: Array, low: Array, ranks: Array) -> Array:
    """Quantiles at ``ranks`` of normal laws cut off below ``low``."""
    start = (low - mean) / np.maximum(sd, 1e-300)
    drawn = -ndtri(np.maximum(ndtr(-start) * ranks, 1e-300))
    exact = sd <= 1e-12 * np.abs(mean)
    return np.asarray(np.maximum(np.where(exact, mean, mean + sd * drawn), low))


def at_least(mean: Array, sd: Array, low: Array, ranks: Array) -> Array:
    """Quantiles at ``ranks`` of normal laws, raised to ``low`` where they are below."""
    return np.asarray(np.maximum(mean + sd * ndtri(ranks), low))


def confidence_level(level: Any) -> float:
    """A level of at least a half and below one."""
    if not is_number(level) or not 0.5 <= level < 1.0:
        raise DeclarationError(f"level must be at least 0.5 and below 1, got {level!r}.")
    if level > 1.0 - 1e-9:
        raise DeclarationError("level must be below 1 - 1e-9.")
    return float(level)
