"""Other ways to private least squares, with the declared bounds that Privet has.

Rows have norm at most ``R``, targets are in [-1, 1], neighbors replace one row. Each method spends
a budget given as ``mu`` (Gaussian noise; exact for (epsilon, delta)) or as a pure ``epsilon``
(spherical Laplace noise). Noise here is numpy's: these are peers in a benchmark, not releases.

    ada_ssp      Wang 2018, Algorithm 2: X'X, X'y and the smallest eigenvalue, a third each
    boosted      Tang et al. 2023, BoostedAdaSSP: X'X once, then X'(y - prediction), T rounds
    descent      full gradients clipped row by row, T steps, the mean of the second half
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: failure probability of AdaSSP's bound on the noise
RHO = 0.05


@dataclass(frozen=True)
class Spending:
    """A budget, Gaussian or pure, that can be cut into shares."""

    amount: float
    pure: bool

    def share(self, part: float) -> Spending:
        """Shares of mu add up in squares, of epsilon by themselves."""
        return Spending(self.amount * (part if self.pure else math.sqrt(part)), self.pure)

    def noise(self, rng: np.random.Generator, sensitivity: float, size: int) -> Array:
        """Noise that hides a vector of this L2 sensitivity."""
        scale = sensitivity / self.amount
        draw = rng.normal(size=size)
        if not self.pure:
            return scale * draw
        return draw * (rng.gamma(size, scale) / np.linalg.norm(draw))

    def spread(self, sensitivity: float, size: int) -> float:
        """Standard deviation of one coordinate."""
        return sensitivity / self.amount * (math.sqrt(size + 1.0) if self.pure else 1.0)


def noisy_gram(x: Array, bound: float, part: Spending, rng: np.random.Generator) -> Array:
    """``X'X`` with symmetric noise; two rows' products differ by at most ``sqrt2 R^2``."""
    m = x.shape[1]
    rows, columns = np.triu_indices(m)
    noise = part.noise(rng, math.sqrt(2.0) * bound**2, len(rows))
    whole = np.zeros((m, m))
    whole[rows, columns] = noise * np.where(rows == columns, 1.0, math.sqrt(0.5))
    return np.asarray(x.T @ x + whole + np.triu(whole, 1).T)


def ridge_of(x: Array, bound: float, part: Spending, rng: np.random.Generator) -> float:
    """AdaSSP's ridge: the size of the noise less a lower bound on the smallest eigenvalue."""
    m = x.shape[1]
    spread = part.spread(bound**2, 1)
    smallest = float(np.linalg.eigvalsh(x.T @ x)[0]) + float(part.noise(rng, bound**2, 1)[0])
    smallest = max(smallest - spread * math.sqrt(2.0 * math.log(2.0 / RHO)), 0.0)
    size = part.spread(math.sqrt(2.0) * bound**2, m * (m + 1) // 2)
    return max(0.0, math.sqrt(m * math.log(2.0 * m**2 / RHO)) * size - smallest)


def ada_ssp(
    x: Array, y: Array, bound: float, spending: Spending, rng: np.random.Generator
) -> Array:
    """The ridge solution of noisy equations."""
    third = spending.share(1.0 / 3.0)
    gram = noisy_gram(x, bound, third, rng)
    ridge = ridge_of(x, bound, third, rng)
    cross = x.T @ y + third.noise(rng, 2.0 * bound, x.shape[1])
    return _solved(gram, ridge, cross)


def boosted(
    x: Array, y: Array, bound: float, spending: Spending, rng: np.random.Generator, rounds: int = 10
) -> Array:
    """Gradients of the residual instead of one noisy ``X'y``; residuals are clipped to [-1, 1]."""
    third = spending.share(1.0 / 3.0)
    gram = noisy_gram(x, bound, third, rng)
    ridge = ridge_of(x, bound, third, rng)
    each = third.share(1.0 / rounds)
    theta = np.zeros(x.shape[1])
    for _ in range(rounds):
        residual = np.clip(y - x @ theta, -1.0, 1.0)
        cross = x.T @ residual + each.noise(rng, 2.0 * bound, x.shape[1])
        theta = theta + _solved(gram, ridge, cross)
    return theta


def descent(
    x: Array,
    y: Array,
    bound: float,
    spending: Spending,
    rng: np.random.Generator,
    steps: int = 30,
    clip: float = 0.5,
) -> Array:
    """Clipped gradients: residuals beyond ``clip`` count as ``clip``."""
    n, m = x.shape
    each, theta, late = spending.share(1.0 / steps), np.zeros(m), []
    rate = 1.0 / max(float(np.square(x).sum(axis=1).mean()) / 2.0, 1e-3)  # a kind gift to it
    for step in range(steps):
        residual = np.clip(x @ theta - y, -clip, clip)
        gradient = (x.T @ residual + each.noise(rng, 2.0 * clip * bound, m)) / n
        theta = theta - rate * gradient
        if step >= steps // 2:
            late.append(theta)
    return np.asarray(np.mean(late, axis=0))


def _solved(gram: Array, ridge: float, cross: Array) -> Array:
    whole = gram + ridge * np.eye(len(gram))
    values, vectors = np.linalg.eigh(whole)
    return np.asarray(vectors @ ((vectors.T @ cross) / np.maximum(values, 1e-3 * abs(values[-1]))))


PEERS = {"AdaSSP": ada_ssp, "BoostedAdaSSP": boosted, "gradient descent": descent}
