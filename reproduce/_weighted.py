"""Many bootstrap replicates at once: distinct rows, and how often each replicate has them.

A bootstrap replicate is the table with multinomial weights. For two-class losses a row and its
class enter through ``z = y x`` alone, so equal ``z`` are counted, not repeated, and all replicates
of a batch go through the same matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.losses.margin import MarginLoss

Array = NDArray[np.float64]
#: of the gradient, relative to L R = 1; far below the noise of any release
TOLERANCE = 1e-9
CHORD_STEPS = 40
NEWTON_STEPS = 60


@dataclass(frozen=True)
class Distinct:
    """Distinct ``z = y x`` (u, m) and their counts, which add up to ``n``."""

    z: Array
    counts: NDArray[np.int_]

    @property
    def n(self) -> int:
        """Rows of the table."""
        return int(self.counts.sum())

    def replicates(self, generator: np.random.Generator, k: int) -> Array:
        """``k`` bootstrap replicates as weights (k, u)."""
        if len(self.counts) < 2000:
            return generator.multinomial(self.n, self.counts / self.n, size=k).astype(float)
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        drawn = (rows[generator.integers(0, self.n, self.n)] for _ in range(k))
        return np.array([np.bincount(d, minlength=len(self.counts)) for d in drawn], dtype=float)


def distinct(x: Array, y: NDArray[np.int_]) -> Distinct:
    """Equal rows of the same class counted."""
    z, counts = np.unique(x * np.where(y > 0, 1.0, -1.0)[:, None], axis=0, return_counts=True)
    return Distinct(z, counts)


def grams(z: Array, weights: Array) -> Array:
    """``Z^T diag(w_k) Z`` for each row of ``weights`` (k, u), none negative: (k, m, m)."""
    out = np.empty((len(weights), z.shape[1], z.shape[1]))
    for k, row in enumerate(weights):
        root = z * np.sqrt(row)[:, None]
        out[k] = root.T @ root
    return out


def moments(
    loss: MarginLoss, table: Distinct, weights: Array, thetas: Array
) -> tuple[Array, Array]:
    """Mean Hessians and mean outer products of the gradients at each replicate's ``theta``."""
    margins = thetas @ table.z.T
    n = table.n
    hessians = grams(table.z, weights * loss.margin_curvature(margins) / n)
    return hessians, grams(table.z, weights * loss.margin_slope(margins) ** 2 / n)


def minimizers(
    loss: MarginLoss, table: Distinct, weights: Array, lam: float, noise: Array, start: Array
) -> Array:
    """The minimizer of each replicate's objective with linear term ``noise/n``: (k, m)."""
    z, n, m = table.z, table.n, table.z.shape[1]

    def gradient(thetas: Array, index: Array) -> Array:
        slopes = loss.margin_slope(thetas @ z.T) * weights[index]
        return slopes @ z / n + lam * thetas + noise[index] / n

    full = grams(z, (table.counts * loss.margin_curvature(z @ start) / n)[None, :])[0]
    inverse = np.linalg.inv(full + lam * np.eye(m))
    thetas, todo = np.repeat(start[None, :], len(weights), axis=0), np.arange(len(weights))
    for _ in range(CHORD_STEPS):
        g = gradient(thetas[todo], todo)
        far = np.linalg.norm(g, axis=1) > TOLERANCE
        todo, g = todo[far], g[far]
        if not len(todo):
            return thetas
        thetas[todo] -= g @ inverse
    for one in todo:  # large noise: its own Newton steps
        thetas[one] = _newton(loss, table, weights[one], lam, noise[one], start)
    return thetas


def _newton(
    loss: MarginLoss, table: Distinct, weights: Array, lam: float, noise: Array, start: Array
) -> Array:
    """Damped Newton for one replicate."""
    z, n = table.z, table.n

    def value(theta: Array) -> float:
        fit = weights @ loss.margin_value(z @ theta) / n
        return float(fit + lam / 2.0 * theta @ theta + noise @ theta / n)

    theta = start.copy()
    for _ in range(NEWTON_STEPS):
        margins = z @ theta
        g = (weights * loss.margin_slope(margins)) @ z / n + lam * theta + noise / n
        if np.linalg.norm(g) <= TOLERANCE:
            return theta
        hessian = grams(z, (weights * loss.margin_curvature(margins) / n)[None, :])[0]
        step = np.linalg.solve(hessian + lam * np.eye(len(g)), g)
        size, here = 1.0, value(theta)
        while value(theta - size * step) > here - 1e-4 * size * float(step @ g) and size > 1e-6:
            size /= 2.0
        theta = theta - size * step
    raise RuntimeError("A replicate did not converge.")
