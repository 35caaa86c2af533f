"""The area under the ROC curve from noisy counts of two classes in score bins, with its interval.

With ``p_b``, ``q_b`` the counts of positive and negative rows in bin ``b`` and ``k(b, b') = 1, 1/2,
0`` where the positive row's bin is above, the same, below:

    U = sum_{b,b'} k(b, b') p_b q_b',        AUC = E U / E (p q),   p = sum p_b, q = sum q_b

This is the AUC of the *binned* score: ties count one half. Noise in ``p_b`` and ``q_b`` is
independent with mean zero, so ``T(A) = U - A p q`` computed from noisy counts has mean zero at the
true ``A``, whatever the noise. The interval holds every ``A`` at which ``T(A)`` is not too large
for its variance; values beyond 0 and 1 are ordered as in ``rates``.

The variance. ``T(A)`` is bilinear in the counts ``P`` and ``Q`` of the two classes,
each a Poisson count with noise of variance ``v``. With ``K = k - A``, ``h = K Q`` and ``g = P K``,

    V = sum (P + v) h^2 + sum (Q + v) g^2 - v sum K^2 (P + Q) - v^2 sum K^2

estimates the variance of ``T`` without bias (Hoeffding's projection and the noise; it counts the
pairs' own part twice, which is small). But in a bin with hardly a row and a large ``|h|`` the
noise moves ``T`` and ``V`` together, and ``T/sqrt(V)`` is skew. Under the candidate ``T`` has mean
zero, so ``V - (c/V) T`` with ``c`` the covariance of the two is just as unbiased, and uncorrelated
with ``T``: what leads from Wald's interval of a rate to Wilson's. What is left of the error in the
variance, of relative size ``s^2``, widens the quantiles as Student's with ``2/s^2`` degrees of
freedom (Satterthwaite 1946).

Where rows and not noise make the error, ``c`` is a third moment of few rows; there the variance
follows ``A (1 - A)`` from the estimate to the candidate. The two are mixed by the noise's share.
Neither falls far below the variance of two normal classes of this area, ``pq (p + q) (Q1 - A^2)``
with ``Q1 = A - 2 OwenT(z, 3^-1/2)``, ``A`` the normal probability of ``z`` (Owen 1956): few rows,
or much noise, may show no variance at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, owens_t

from privet._types import Array, Flags
from privet.evaluation.rates import EDGE_STEPS, acceptance

# The numbers below decide how often an interval covers, and no theorem gives them: coverage with
# them, over populations, sizes and budgets, is measured by ``reproduce/evaluate_coverage.py --auc``
# (``evaluate_coverage_auc.md``). Whoever changes one has to run that again.

#: A class is used where its noisy number of rows is this many standard deviations of its own noise
#: above zero. Below, ``p q`` may have any sign, and the interval is [0, 1].
STANDS_OUT = 3.0
#: A corrected variance is not believed below this share of the variance of two normal classes of
#: the same area: noise can make it anything, and with zero no candidate would be accepted.
BELIEVED = 0.5
#: The rows' own variance is seen in the rows that stand on the wrong side, ``k`` of them. Its
#: relative error is a multiple of ``1/sqrt(k)``; this multiple of ``1/sqrt(k)`` is the share of the
#: normal classes' variance that it may not fall below. Up to 25 such rows that is all of it.
DOUBTED = 5.0
#: Largest relative variance ``s^2`` of the variance: Student's law with ``2/s^2 = 4`` degrees of
#: freedom. ``wider`` is an expansion in ``s^2``: at 95 % it is 1 % short of Student's quantile for
#: 10 degrees, 8 % for 4 and 14 % for 3.
LARGEST_DOUBT = 0.5
#: Bisections of an end beyond those of a rate, since a search starts at 0 or 1 and not on a grid.
MORE_STEPS = 4


def normal_classes(area: Array) -> Array:
    """``Q1 - A^2`` of two normal classes of equal width: variance of the place of a row."""
    return np.asarray(area * (1.0 - area) - 2.0 * owens_t(ndtri(area), 1.0 / np.sqrt(3.0)))


def wider(z: Array, doubt: Array) -> Array:
    """Student's quantile at the normal one's, to first order in ``doubt = 2/degrees``."""
    return np.asarray(z * (1.0 + doubt * (z * z + 1.0) / 8.0))


@dataclass(frozen=True)
class StatisticMoments:
    """Of ``T`` at one candidate of each release: variance, its noise part and its covariances."""

    statistic: Array  # T
    pairs: Array  # p q, positive
    rows_in_all: Array  # p + q
    fewer: Array  # the smaller of p and q
    area: Array
    variance: Array  # V, may come out below its noise
    noise: Array
    covariance: Array  # of T and V
    variance_of_variance: Array

    def believed(self, estimate: Array, at_estimate: Array) -> tuple[Array, Array]:
        """The variance under the candidate, and its own relative variance.

        ``at_estimate`` is the rows' part of the variance at the area ``estimate``.
        """
        normal = self.pairs * self.rows_in_all
        least = self.noise + BELIEVED * normal * normal_classes(self.area)
        total = np.maximum(self.variance, least)
        corrected = np.maximum(self.variance - self.covariance / total * self.statistic, least)
        # the more rows are misplaced, the more the rows themselves are believed
        misplaced = self.fewer * np.minimum(estimate, 1.0 - estimate)
        share = np.minimum(1.0, DOUBTED / np.sqrt(np.maximum(misplaced, 1.0)))
        seen = np.maximum(at_estimate, share * normal * normal_classes(estimate))
        # the place of a row is between 0 and 1 with mean A: no rows have more variance, and noise
        # that shows more at an estimate near 0 or 1 would say it of every candidate, magnified
        seen = np.minimum(seen, normal * estimate * (1.0 - estimate))
        followed = seen * self.area * (1.0 - self.area) / (estimate * (1.0 - estimate))
        noisy = self.noise / np.maximum(self.variance, np.maximum(self.noise, 1e-12))
        variance = noisy * corrected + (1.0 - noisy) * (followed + self.noise)
        variance = np.maximum(variance, 1e-12)
        left = self.variance_of_variance - self.covariance**2 / np.maximum(total, 1e-12)
        return variance, np.clip(left / variance**2, 0.0, LARGEST_DOUBT)


def statistic_moments(
    positive: Array, negative: Array, noise_variance: float, area: Array
) -> StatisticMoments:
    """Moments of ``T`` at ``area`` (R,), from noisy counts (R, K) of the two classes by bin."""
    v, a, size = noise_variance, area[:, np.newaxis], positive.shape[1]
    h, g = above(negative, a), above(positive[:, ::-1], a)[:, ::-1]
    # sums over the other class's bins of K^2
    bins = np.arange(size)
    below = bins - 2.0 * a * (bins + 0.5) + 0.25 + size * a**2
    over, unseen = below[:, ::-1], v * v * below.sum(axis=1)
    noise = v * ((h**2).sum(axis=1) + (g**2).sum(axis=1)) - unseen
    rows = (positive * (h**2 - v * below)).sum(axis=1) + (negative * (g**2 - v * over)).sum(axis=1)
    p_h, q_g = (positive + v) * h, (negative + v) * g
    # derivatives of V by the counts of the two classes
    by_p = h**2 + 2.0 * above(q_g, a) - v * below
    by_q = g**2 + 2.0 * above(p_h[:, ::-1], a)[:, ::-1] - v * over
    p, q = positive.sum(axis=1), negative.sum(axis=1)
    return StatisticMoments(
        statistic=(positive * h).sum(axis=1),
        pairs=np.maximum(p * q, 1e-9),
        rows_in_all=p + q,
        fewer=np.minimum(p, q),
        area=area,
        variance=rows + noise,
        noise=np.maximum(noise, unseen),
        covariance=(p_h * by_p).sum(axis=1) + (q_g * by_q).sum(axis=1),
        variance_of_variance=((positive + v) * by_p**2 + (negative + v) * by_q**2).sum(axis=1),
    )


def above(counts: Array, area: Array) -> Array:
    """``sum_b' (k(b, b') - A) counts_b'`` of each bin: the rows below, half of those beside it."""
    below = np.cumsum(counts, axis=1)
    return np.asarray(below - counts / 2.0 - area * below[:, -1:])


@dataclass(frozen=True)
class NoisyCurves:
    """Noisy counts of positive and negative rows by score bin, arrays (R, K) of R releases."""

    positive: Array
    negative: Array
    noise_variance: float

    @property
    def totals(self) -> tuple[Array, Array]:
        """Noisy numbers of positive and negative rows."""
        return self.positive.sum(axis=1), self.negative.sum(axis=1)

    @property
    def usable(self) -> Flags:
        """Where both classes stand out of the noise of their own counts."""
        least = STANDS_OUT * np.sqrt(self.positive.shape[1] * self.noise_variance)
        p, q = self.totals
        return np.asarray((p > least) & (q > least))

    def wins(self) -> Array:
        """``U``: how often a positive row stands above a negative one, unbiased."""
        return np.asarray((self.positive * above(self.negative, np.zeros((1, 1)))).sum(axis=1))

    def estimates(self) -> Array:
        """``U/(p q)`` within [0, 1]; not a number where a class does not stand out."""
        p, q = self.totals
        safe = np.where(self.usable, p * q, np.nan)
        return np.clip(self.wins() / safe, 0.0, 1.0)

    def accepts(self, area: Array, level: float) -> Flags:
        """Whether each release's candidate, shape (R,), is inside its interval."""
        found = self._moments(area)
        best = np.nan_to_num(self.estimates(), nan=0.5)
        # half a win on either side, so that a perfect curve keeps a variance
        shrunk = (best * found.pairs + 0.5) / (found.pairs + 1.0)
        there = self._moments(shrunk)
        variance, doubt = found.believed(shrunk, there.variance - there.noise)
        sd = np.sqrt(variance)
        zero = np.zeros_like(sd)
        room = area * found.pairs / sd, (1.0 - area) * found.pairs / sd
        low, high = (wider(end, doubt) for end in acceptance(*room, zero, zero, level))
        t = found.statistic / sd
        return np.asarray((t >= low) & (t <= high)) | ~self.usable

    def _moments(self, area: Array) -> StatisticMoments:
        return statistic_moments(self.positive, self.negative, self.noise_variance, area)

    def intervals(self, level: float) -> tuple[Array, Array]:
        """The smallest and the largest area that is not rejected; [0, 1] where nothing is known."""
        best = np.nan_to_num(self.estimates(), nan=0.5)
        return self._edge(np.zeros_like(best), best, level), self._edge(
            np.ones_like(best), best, level
        )

    def _edge(self, outside: Array, inside: Array, level: float) -> Array:
        inside = np.where(self.accepts(outside, level), outside, inside)
        for _ in range(EDGE_STEPS + MORE_STEPS):
            middle = (outside + inside) / 2.0
            accepted = self.accepts(middle, level)
            inside, outside = (
                np.where(accepted, middle, inside),
                np.where(accepted, outside, middle),
            )
        return inside
