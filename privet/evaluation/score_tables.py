"""The histograms by score and by probability: AUC and calibration.

    Scores         true class x bin of the score                    AUC
                   (many classes: such a table for each class against the rest)
    Calibration    positive or not x thirtieth of its probability   frequencies, calibration error
                   (many classes: right or not x that of the predicted class)
    Ranks          true class x finer bins of the probability       both, for two classes

Under pure privacy AUC and calibration are better off sharing a table than each with its own,
under zCDP about the same.

The expected calibration error from noisy counts of hits in probability bins, with its interval.

A tenth ``b`` of the probability has several narrow bins ``f`` with middles ``m_f``. With
``g_b = sum_{f in b} (hits in f - m_f rows in f)/n`` the error is ``theta = sum_b |g_b|``: the usual
calibration error over tenths, of the probability rounded to the middles of the narrow bins. (The
middle of the tenth itself would be off by .003 to .013 for scores that are normal in log-odds with
standard deviations of 2 and 3, where the error is zero; the narrow bins' by .0005 and .002. They
are counted anyway for the AUC, so that this costs nothing; releasing the mean probability of each
tenth beside them would take a share of the budget that costs more than it mends.)

The observed gaps are about normal with known variances ``s_b^2`` (sampling and noise), so ``S``,
the sum of their sizes, is too large: a size has the mean and variance of a folded normal number,

    E|x| = g erf(u/sqrt 2) + 2 s phi(u),     u = g/s,     Var|x| = g^2 + s^2 - (E|x|)^2.

The interval holds every ``theta`` at which ``S`` is not too far from its mean. That depends on how
``theta`` is made up of the gaps; taken are, for each ``theta``, the gaps nearest to the observed
ones (in their own standard deviations) whose sizes add up to it. Least squares under that
constraint moves every size by a multiple of its variance, and to zero at least:

    |g_b| = max(|observed_b| - lambda s_b^2, 0).

The estimate is the ``theta`` at which ``S`` is the mean, so that no systematic error is left.
A ``theta`` is not negative, so values of ``S`` below all means are ordered as in ``rates``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from privet._types import Array, Flags
from privet.evaluation.auc import NoisyCurves
from privet.evaluation.count_tables import CodedRows, CountTable, NoisyTable
from privet.evaluation.rates import Counts, acceptance, merged
from privet.evaluation.released_evaluation import (
    Measures,
    PublicFacts,
    Rate,
    named,
    of_rates,
    side_by_side,
)

#: Parts of the probability whose gaps the error adds up.
TENTHS = 10
#: Bisections of lambda, whose range is a few hundred standard deviations.
STEPS = 40
#: How far above the observed sizes a candidate may be, in standard deviations of their sum: four
#: times what the largest level, 0.9999, asks for.
FARTHEST = 16.0
#: The variance of the sum is at least this share of what independent bins would have. The terms
#: that take something off are estimates to first order, and noise could make their sum negative.
LEAST_VARIANCE = 0.05
#: In place of a variance of exactly zero, which only tables without noise have.
TINY = 1e-24


@dataclass(frozen=True)
class Gaps:
    """Observed gaps of R releases in B bins, their variances (R, B) and shared noise (B, B)."""

    n: int
    found: Array
    variance: Array
    shared: Array  # covariances of the noise of different bins; zero on the diagonal

    @property
    def total(self) -> Array:
        """The sum of the observed sizes, (R,)."""
        return np.asarray(np.abs(self.found).sum(axis=1))

    def sizes(self, shift: Array) -> Array:
        """The candidate's sizes; ``shift`` is in standard deviations of the sum of all gaps."""
        step = self.variance / np.sqrt(self.variance.sum(axis=1, keepdims=True))
        return np.asarray(np.maximum(np.abs(self.found) - shift[:, np.newaxis] * step, 0.0))

    def largest_shift(self) -> Array:
        """Where every size has become zero."""
        step = self.variance / np.sqrt(self.variance.sum(axis=1, keepdims=True))
        return np.asarray((np.abs(self.found) / step).max(axis=1))

    def moments(self, sizes: Array) -> tuple[Array, Array, Array]:
        """Mean, standard deviation and skewness of the sum of the observed sizes."""
        s = np.sqrt(self.variance)
        u = sizes / s
        density = 2.0 * np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
        slope = erf(u / np.sqrt(2.0))  # of the mean by the size
        mean, square = u * slope + density, u * u + 1.0
        third = (u * u + 2.0) * density + (u**3 + 3.0 * u) * slope
        third = third - 3.0 * mean * square + 2.0 * mean**3
        signed = slope * np.sign(self.found)
        # to first order: the noise that bins share, and that a row is in one bin only
        shared = np.einsum("rb,bc,rc->r", signed, self.shared, signed)
        variance = (self.variance * (square - mean**2)).sum(axis=1)
        inside = shared - (slope * sizes).sum(axis=1) ** 2 / self.n
        variance = np.maximum(variance + inside, LEAST_VARIANCE * variance)
        sd = np.sqrt(variance)
        return (s * mean).sum(axis=1), sd, (s**3 * third).sum(axis=1) / (variance * sd)

    def accepts(self, shift: Array, level: float) -> Flags:
        """Whether each release's candidate, shape (R,), is inside its interval."""
        mean, sd, skew = self.moments(self.sizes(shift))
        least, _, _ = self.moments(np.zeros_like(self.found))
        below, above = np.maximum(mean - least, 0.0) / sd, np.full_like(sd, np.inf)
        zero = np.zeros_like(sd)
        # far below, the expansion for skew laws turns back; without it the lower end is safe
        low, _ = acceptance(below, above, zero, zero, level)
        _, high = acceptance(below, above, skew, zero, level)
        t = (self.total - mean) / sd
        return np.asarray((t >= low) & (t <= high))

    def estimate(self) -> Array:
        """The shift at which the observed sum is the mean; the largest where none is."""
        return _search(
            np.zeros(len(self.found)),
            self.largest_shift(),
            lambda shift: np.asarray(self.moments(self.sizes(shift))[0] >= self.total),
        )

    def edge(self, inside: Array, outside: Array, level: float) -> Array:
        """Where acceptance ends between two shifts."""
        return _search(inside, outside, lambda shift: self.accepts(shift, level))


def _search(inside: Array, outside: Array, holds: Callable[[Array], Flags]) -> Array:
    """The last place from ``inside`` toward ``outside`` where something still holds."""
    inside = np.where(holds(outside), outside, inside)
    for _ in range(STEPS):
        middle = (inside + outside) / 2.0
        held = holds(middle)
        inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
    return inside


def gaps(counts: Counts, edges: Array) -> Gaps:
    """The gaps of the tenths, from a table of misses and hits by narrow bin, (R, 2 F).

    ``edges`` (F + 1,) are the narrow bins' ends; the tenths are among them.
    """
    middle = (edges[1:] + edges[:-1]) / 2.0
    inside = np.eye(TENTHS)[tenth_of(edges)].T
    # one row of coefficients for each gap: -m_f on misses, 1 - m_f on hits
    into = np.concatenate([-middle * inside, (1.0 - middle) * inside], axis=1)
    weights = counts.weights(into)
    noise = (weights * counts.variance) @ weights.T / counts.n**2
    # a variance is not negative; what noise makes look so is taken off the other bins
    raw = counts.values @ (into**2).T / counts.n**2
    rows = np.maximum(raw, 0.0)
    whole = np.maximum(rows.sum(axis=1), TINY)
    rows = rows * np.clip(raw.sum(axis=1) / whole, 0.0, 1.0)[:, np.newaxis]
    found, own = counts.values @ into.T / counts.n, np.diag(noise)
    return Gaps(counts.n, found, np.maximum(rows + own, TINY), noise - np.diag(own))


def tenth_of(edges: Array) -> NDArray[np.intp]:
    """Which tenth each narrow bin is a part of."""
    middle = (edges[1:] + edges[:-1]) / 2.0
    return np.minimum((TENTHS * middle + 1e-9).astype(np.intp), TENTHS - 1)


def calibration_error(counts: Counts, edges: Array, level: float) -> tuple[Array, Array, Array]:
    """Estimate, lower and upper end of each release, (R,)."""
    found = gaps(counts, edges)
    best = found.estimate()
    lower = found.edge(best, found.largest_shift(), level)
    upper = found.edge(best, np.full_like(best, -FARTHEST), level)
    told, low, high = (found.sizes(shift).sum(axis=1) for shift in (best, lower, upper))
    return np.minimum(told, 1.0), np.minimum(low, 1.0), np.minimum(high, 1.0)


# -- the tables ----------------------------------------------------------------------------------


class Scores(CountTable):
    """Score bins of the rows of a class and of the rest, for each tested class."""

    name = "scores"
    needs_scores = True
    adds_up = False  # an AUC needs noise that is independent

    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """One cell for each row and tested class."""
        which = np.arange(self.touched)  # the class that stands against the rest
        positive = 1 if self.touched == 1 else which
        own = (rows.truth[:, None] == positive).astype(np.intp)
        return self._cell(which + 0 * own, own, equal_bins(rows.score, self.shape[-1]))

    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """The AUC of each tested class."""
        positive = public.classes[1:] if self.touched == 1 else public.classes
        return _areas(table, positive, public.level)


class Calibration(CountTable):
    """Misses and hits in narrow bins of the probability."""

    name = "calibration"
    needs_probabilities = True

    @property
    def edges(self) -> Array:
        """Ends of the bins, from 0 to 1."""
        return np.linspace(0.0, 1.0, self.shape[1] + 1)

    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """By the positive class's probability, or by that of the predicted one of many."""
        two = rows.probability.shape[1] == 2
        sure = rows.probability[:, 1] if two else rows.probability.max(axis=1)
        hit = rows.truth if two else rows.right
        return self._cell(hit, equal_bins(sure, self.shape[1]))

    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """Observed frequencies and the calibration error."""
        return _reliability(table.counts, self.edges, public.level)


@dataclass(frozen=True)
class Ranks(CountTable):
    """True class of two by bins of the probability that serve the AUC and the calibration."""

    name = "ranks"
    needs_probabilities = True
    cuts: tuple[float, ...] = ()

    @property
    def edges(self) -> Array:
        """Ends of the bins, from 0 to 1."""
        return np.array([0.0, *self.cuts, 1.0])

    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """One cell for each row."""
        bins = np.searchsorted(self.cuts, rows.probability[:, 1], side="right")
        return self._cell(rows.truth, bins)

    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """The AUC from the counts as drawn, the rest from those that add up."""
        areas = _areas(table, public.classes[1:], public.level)
        return side_by_side([areas, _reliability(table.counts, self.edges, public.level)])


def equal_bins(share: Array, count: int) -> NDArray[np.int_]:
    """Which of ``count`` equal bins of [0, 1]."""
    return np.clip((share * count).astype(np.intp), 0, count - 1)


def _areas(table: NoisyTable, positive: Sequence[Any], level: float) -> Measures:
    """AUCs, one for each class that stands against the rest."""
    bins = table.drawn.shape[1] // (2 * len(positive))
    split = table.drawn.reshape(-1, 2, bins)  # each class of each release
    curves = NoisyCurves(split[:, 1], split[:, 0], table.law.variance)
    lower, upper = curves.intervals(level)
    names = tuple(("AUC", f"class {label}") for label in positive)
    return named(names, np.clip(curves.estimates(), lower, upper), lower, upper)


def _reliability(counts: Counts, edges: Array, level: float) -> Measures:
    """Observed frequencies in the tenths of the probability, and the calibration error."""
    rates = []
    for b in range(TENTHS):
        hits, rows = np.zeros((2, TENTHS)), np.zeros((2, TENTHS))
        hits[1, b], rows[:, b] = 1.0, 1.0
        what = f"probability {b / TENTHS:.1f} to {(b + 1) / TENTHS:.1f}"
        rates.append(Rate("observed frequency", what, hits.ravel(), rows.ravel()))
    # which of the cells (class, tenth) each cell (class, finer bin) is a part of
    into = np.asarray(np.kron(np.eye(2), np.eye(TENTHS)[tenth_of(edges)]), dtype=np.float64)
    error = named((("calibration error", "all bins"),), *calibration_error(counts, edges, level))
    return side_by_side([of_rates(merged(counts, into), rates, level), error])
