"""Intervals for rates read off noisy counts: sampling error and known noise in one test.

A rate is ``theta = P(u)/P(w)``, ``u`` a part of ``w``: an accuracy, a rate of a group, a frequency
in a bin. Released are ``a = u.N + noise`` and ``d = w.N + noise`` with ``N`` multinomial. For every
candidate ``theta`` the number ``T = a - theta d`` has mean zero and cumulants

    variance   D theta (1 - theta)                           + noise variance of a - theta d
    third      D theta (1 - theta)(1 - 2 theta)
    fourth     D theta (1 - theta)(1 - 3 theta (1 - theta)) - 3 (D theta (1 - theta))^2/n + noise's

with ``D = n P(w)``, estimated by ``d``. The interval holds every ``theta`` that this test does not
reject: Wilson's (1927) interval where there is no noise and ``d`` is known, Fieller's (1954) where
noise is all there is. Quantiles by the Cornish-Fisher expansion, because Laplace noise has heavy
tails and small counts are skew. Values outside [0, 1] are ordered by the likelihood ratio (Feldman
and Cousins 1998), so that coverage does not change near 0 and 1 and no interval is empty.

The true counts of a table add up to ``n``, and the groups' confusion tables to the whole one.
Weighted least squares under these constraints is post-processing, never makes an estimate
noisier (Gauss and Markov), and keeps every estimate linear in the noise, so its law stays known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from privet._types import Array, Flags

#: Bisections: 2^-14 of a tail probability, 2^-16 of the distance between two candidates.
TAIL_STEPS, EDGE_STEPS = 14, 16
#: Candidates, denser toward 0 and 1.
GRID = (1.0 - np.cos(np.linspace(0.0, np.pi, 17))) / 2.0
#: Cumulants beyond these are cut. One Laplace number has an excess kurtosis of 3, and a Poisson
#: count with one expected row has a skewness of 1: larger ones come from less than a row, where a
#: series in these numbers approximates no quantile.
LARGEST_SKEW, LARGEST_KURTOSIS = 1.0, 6.0
#: Normal quantiles are cut here: no level below 0.9999 asks for more, and infinity would spread.
FARTHEST_QUANTILE = 8.0


@dataclass(frozen=True)
class Ratios:
    """Noisy numerators and denominators of many rates, each array of shape (R,).

    ``noise_variance`` (R, 3) and ``noise_fourth`` (R, 5) are the coefficients of ``theta^0,
    theta^1, ...`` in the variance and the fourth cumulant of the noise in ``a - theta d``.
    """

    n: float
    numerator: Array
    denominator: Array
    noise_variance: Array
    noise_fourth: Array

    def estimates(self, level: float) -> Array:
        """``a/d`` within [0, 1]; not a number where the denominator is lost in its noise."""
        safe = np.where(self.usable(level), self.denominator, np.nan)
        return np.clip(self.numerator / safe, 0.0, 1.0)

    def accepts(self, theta: Array, level: float) -> Flags:
        """Whether each candidate, shape (R, k), is inside the interval of its rate."""
        rows = np.clip(self.denominator, 0.0, self.n)[:, None]
        spread = rows * theta * (1.0 - theta)
        variance = spread + _polynomial(self.noise_variance, theta)
        variance = np.maximum(variance, 1e-12)
        third = spread * (1.0 - 2.0 * theta)
        fourth = spread * (1.0 - 3.0 * theta * (1.0 - theta)) - 3.0 * spread**2 / self.n
        fourth = fourth + _polynomial(self.noise_fourth, theta)
        sd = np.sqrt(variance)
        t = (self.numerator[:, None] - theta * self.denominator[:, None]) / sd
        below, above = theta * rows / sd, (1.0 - theta) * rows / sd
        low, high = acceptance(
            below, above, third / (variance * sd), fourth / (variance * variance), level
        )
        return np.asarray((t >= low) & (t <= high)) | ~self.usable(level)[:, None]

    def usable(self, level: float) -> Flags:
        """Where the denominator stands out of its own noise; elsewhere nothing is known."""
        least = ndtri((1.0 + level) / 2.0) * np.sqrt(np.maximum(self.noise_variance[:, 2], 0.0))
        return np.asarray((self.denominator > least) & (self.denominator > 0.0))

    def intervals(self, level: float) -> tuple[Array, Array]:
        """The smallest and the largest candidate that is not rejected; [0, 1] where none is."""
        inside = self.accepts(np.broadcast_to(GRID, (len(self.numerator), len(GRID))), level)
        best = np.nan_to_num(self.estimates(level), nan=0.5)
        # a narrow interval may lie between two candidates: the estimate itself is never rejected
        first = np.where(inside.any(axis=1), GRID[inside.argmax(axis=1)], best)
        last = np.where(inside.any(axis=1), GRID[::-1][inside[:, ::-1].argmax(axis=1)], best)
        first, last = np.minimum(first, best), np.maximum(last, best)
        lower = self._edge(_neighbor(first, -1), first, level)
        upper = self._edge(_neighbor(last, +1), last, level)
        return lower, upper

    def _edge(self, outside: Array, inside: Array, level: float) -> Array:
        """Where acceptance begins between a candidate outside and one inside, for each rate."""
        end = self.accepts(outside[:, None], level)[:, 0]  # the boundary itself may be inside
        inside = np.where(end, outside, inside)
        for _ in range(EDGE_STEPS):
            middle = (outside + inside) / 2.0
            accepted = self.accepts(middle[:, None], level)[:, 0]
            inside, outside = (
                np.where(accepted, middle, inside),
                np.where(accepted, outside, middle),
            )
        return inside


def _neighbor(theta: Array, step: int) -> Array:
    """The nearest candidate of the grid on one side, or the end of the range."""
    if step < 0:
        place = np.searchsorted(GRID, theta, side="left") - 1
    else:
        place = np.searchsorted(GRID, theta, side="right")
    return np.asarray(GRID[np.clip(place, 0, len(GRID) - 1)])


def _polynomial(coefficients: Array, theta: Array) -> Array:
    """By Horner's rule; powers of arrays are slow."""
    total = np.zeros(theta.shape)
    for column in coefficients.T[::-1]:
        total = total * theta + column[:, None]
    return total


def cornish_fisher(z: Array, skew: Array, kurtosis: Array) -> Array:
    """The quantile at normal quantile ``z`` of a law with unit variance and these cumulants.

    ``z + g (z^2 - 1)/6 + k (z^3 - 3 z)/24 - g^2 (2 z^3 - 5 z)/36`` (Cornish and Fisher 1938); 6
    and 24 are 3! and 4!, 36 is 6^2.
    """
    g = np.clip(skew, -LARGEST_SKEW, LARGEST_SKEW)
    k = np.clip(kurtosis, -1.0, LARGEST_KURTOSIS)
    squared = z * z
    odd = 1.0 + k * (squared - 3.0) / 24.0 - g * g * (2.0 * squared - 5.0) / 36.0
    return np.asarray(z * odd + g * (squared - 1.0) / 6.0)


def acceptance(
    below: Array, above: Array, skew: Array, kurtosis: Array, level: float
) -> tuple[Array, Array]:
    """Between which standardized values a candidate is accepted, with probability ``level``.

    ``below`` and ``above`` are the distances, in standard deviations, to the ends of the range of
    the parameter. The values accepted first are those with the smallest

        r(t) = t^2 - (t - nearest possible)^2,

    twice the log-likelihood ratio of the best possible parameter to this one.
    """
    # the chance left below the accepted values, between 0 and 1 - level
    shape = np.broadcast_shapes(below.shape, above.shape, skew.shape, kurtosis.shape)
    least, most = np.zeros(shape), np.full(shape, 1.0 - level)
    low = high = np.zeros(shape)
    for _ in range(TAIL_STEPS):
        tail = (least + most) / 2.0
        low = cornish_fisher(_quantile(tail), skew, kurtosis)
        high = cornish_fisher(_quantile(tail + level), skew, kurtosis)
        # too unlikely a value is still accepted below: leave more out there
        more = _ratio(-low, below) > _ratio(high, above)
        least, most = np.where(more, tail, least), np.where(more, most, tail)
    return low, high


def _quantile(chance: Array) -> Array:
    return np.clip(ndtri(chance), -FARTHEST_QUANTILE, FARTHEST_QUANTILE)


def _ratio(t: Array, room: Array) -> Array:
    """``r`` on one side: ``t^2`` within the range, linear beyond it."""
    t = np.maximum(t, 0.0)
    return np.where(t <= room, t * t, room * (2.0 * t - room))


# -- consistent tables ---------------------------------------------------------------------------


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
