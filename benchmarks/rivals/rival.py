"""What every rival is given and gives: one task, one promise, class probabilities for each setting.

The promise is about tables of the same size that differ in one row, for every rival: a mechanism
that its authors state for a row more or less is given half as much. Rows are what the schema
encodes, in the unit ball, with a constant column where they hold none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from privet.domain import Box, Domain

Array = NDArray[np.float64]
Codes = NDArray[np.int_]
CONSTANT = 0.5


@dataclass(frozen=True)
class Task:
    """Encoded training rows, their classes by place, and rows to predict."""

    x: Array
    y: Codes
    x_test: Array
    classes: int
    domain: Domain

    @property
    def sides(self) -> Array:
        """Rows and test rows together, with a constant column where the domain has none."""
        both = np.concatenate([self.x, self.x_test])
        if self.domain.has_constant:
            return both
        return np.concatenate([both, np.full((len(both), 1), CONSTANT)], axis=1)

    @property
    def numbers(self) -> NDArray[np.bool_]:
        """Which columns are numbers; the others are one-hot."""
        kinds = [np.full(block.width, isinstance(block, Box)) for block, _ in self.domain.parts()]
        return np.concatenate(kinds)


@dataclass(frozen=True)
class Promise:
    """``epsilon``, and ``delta`` (0: pure)."""

    epsilon: float
    delta: float = 0.0

    @property
    def mu(self) -> float:
        """Of the Gaussian mechanism that keeps it exactly (Balle and Wang 2018, Theorem 8)."""

        def excess(mu: float) -> float:
            near = norm.cdf(mu / 2.0 - self.epsilon / mu)
            far = math.exp(self.epsilon) * norm.cdf(-mu / 2.0 - self.epsilon / mu)
            return float(near - far) - self.delta

        return float(brentq(excess, 1e-4, 20.0))


#: Class probabilities (test rows x classes) for each setting of the knobs; the study takes the best
#: setting of each cell in hindsight, which no user could.
Rival = Callable[[Task, Promise, np.random.Generator], dict[str, Array]]


def softmax(scores: NDArray[np.floating]) -> Array:
    """Probabilities over the last axis."""
    grown = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


def two_sided(score: NDArray[np.floating]) -> Array:
    """Probabilities of two classes from the second one's score."""
    return softmax(np.stack([np.zeros_like(score), score], axis=-1))


def on_sphere(rng: np.random.Generator, count: int, dimension: int) -> Array:
    """Uniform directions, as columns."""
    drawn = rng.standard_normal((dimension, count))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=0))
