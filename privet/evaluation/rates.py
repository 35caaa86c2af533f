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
"""

from __future__ import annotations

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
