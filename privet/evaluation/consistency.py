"""Noisy tables made consistent with the public number of rows and with each other.

The true counts of a table add up to ``n``, and the groups' confusion tables to the whole one.
Weighted least squares under these constraints is post-processing, never makes an estimate noisier
(Gauss and Markov), and keeps every estimate linear in the noise, so its law stays known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet._types import Array
from privet.evaluation.rates import Ratios


@dataclass(frozen=True)
class Counts:
    """Consistent counts of R releases, (R, m), and how they depend on the noise.

    ``lift`` (m, o) maps the noise of the o released cells to the counts; None where it takes off
    the mean. ``variance`` and ``fourth`` are the cumulants of the noise, one number or (o,).
    """

    n: int
    values: Array
    variance: Array
    fourth: Array
    lift: Array | None = None

    def weights(self, cells: Array) -> Array:
        """What a sum over ``cells`` (.., m) takes of each released cell's noise."""
        if self.lift is None:
            return np.asarray(cells - cells.mean(axis=-1, keepdims=True))
        return np.asarray(cells @ self.lift)

    def ratios(self, parts: Sequence[tuple[Array, Array]]) -> Ratios:
        """``u.N/w.N`` for each pair of indicator vectors, release by release: (R P,) rates."""
        inside = np.array([u for u, _ in parts], dtype=np.float64)
        of = np.array([w for _, w in parts], dtype=np.float64)
        a, b = self.weights(inside), -self.weights(of)
        powers = [a * a, 2.0 * a * b, b * b]
        fourths = [a**4, 4.0 * a**3 * b, 6.0 * a**2 * b**2, 4.0 * a * b**3, b**4]
        variance = np.stack([(each * self.variance).sum(axis=1) for each in powers], axis=1)
        fourth = np.stack([(each * self.fourth).sum(axis=1) for each in fourths], axis=1)
        releases = len(self.values)
        return Ratios(
            float(self.n),
            (self.values @ inside.T).ravel(),
            (self.values @ of.T).ravel(),
            np.tile(variance, (releases, 1)),
            np.tile(fourth, (releases, 1)),
        )


def alone(noisy: Array, n: int, variance: float, fourth: float) -> Counts:
    """One table, (R, m), moved by equal amounts so that it adds up to ``n``."""
    excess = noisy.sum(axis=1, keepdims=True) - n
    values = noisy - excess / noisy.shape[1]
    return Counts(n, values, np.array(variance), np.array(fourth))


def as_drawn(noisy: Array, n: int, variance: float, fourth: float) -> Counts:
    """One table, (R, m), as it is: it does not add up to ``n``, or must keep independent noise."""
    return Counts(n, noisy, np.array(variance), np.array(fourth), np.eye(noisy.shape[1]))


def merged(counts: Counts, into: Array) -> Counts:
    """Cells added up by the matrix ``into`` (m, k) of zeros and ones."""
    lift = counts.weights(into.T)
    return Counts(counts.n, counts.values @ into, counts.variance, counts.fourth, lift)


def joined(
    whole: Array, parts: Array, n: int, variances: tuple[float, float], fourths: tuple[float, float]
) -> tuple[Counts, Counts]:
    """A table (R, m) and its split into G groups (R, G m), each improved by the other."""
    m, fine = whole.shape[1], parts.shape[1]
    groups = fine // m
    sums = np.tile(np.eye(m), (1, groups))  # the whole table as sums over groups
    design = np.concatenate([sums, np.eye(fine)])
    variance = np.repeat(variances, (m, fine))
    fourth = np.repeat(fourths, (m, fine))
    information = design.T @ (design / variance[:, None])
    inverse = np.linalg.inv(information)
    free = inverse @ (design / variance[:, None]).T
    toward = inverse.sum(axis=1) / inverse.sum()  # how a missing row is shared out
    lift = free - np.outer(toward, free.sum(axis=0))
    values = np.concatenate([whole, parts], axis=1) @ lift.T + n * toward
    small = Counts(n, values, variance, fourth, lift)
    large = Counts(n, values @ sums.T, variance, fourth, sums @ lift)
    return large, small
