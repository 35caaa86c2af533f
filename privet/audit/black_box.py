"""Black-box lower bounds on epsilon: sample both sides, count an event, bound the odds.

Half of the draws choose the event (a threshold on one statistic); the other half count it, and
Clopper and Pearson (1934) bound both probabilities. The result is below the true epsilon except
with the stated probability, whatever the mechanism is. In one or two dimensions it comes close; in
many it has no power, and the tests of ``samplers.py`` on recovered noise take its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from privet._types import Array
from privet.audit.attacks import FALSE_ALARM, Pair, WeightedTable, minimizers
from privet.audit.exact import noise_vector
from privet.mechanisms import Design
from privet.randomness import Randomness

CANDIDATES = 400
BATCH = 20_000


def epsilon_lower_bound(first: Array, second: Array, false_alarm: float = FALSE_ALARM) -> float:
    """A bound that the true epsilon is below with probability at most ``false_alarm``.

    ``first`` and ``second`` hold the statistic of each draw from either table, in any order of the
    two tables and with the interesting tail on either side.
    """
    chosen, kept = ([part[start::2] for part in (first, second)] for start in (0, 1))
    return _chosen_event(chosen[0], chosen[1], false_alarm).bound(kept[0], kept[1], false_alarm)


@dataclass(frozen=True)
class TailEvent:
    """``sign s > threshold``, and which of the two sides makes it more probable."""

    threshold: float
    sign: float
    order: int

    def bound(self, first: Array, second: Array, false_alarm: float) -> float:
        """A lower bound on epsilon from draws that did not choose the event."""
        sides, at = (self.sign * first, self.sign * second), np.array([self.threshold])
        return float(_bounds(sides[self.order], sides[1 - self.order], at, false_alarm)[0])


def _chosen_event(first: Array, second: Array, false_alarm: float) -> TailEvent:
    """The event whose bound would be largest on these draws."""
    chosen = first, second
    best = (-np.inf, 0.0, 1.0, 0)
    for sign in (1.0, -1.0):
        both = np.concatenate(chosen)
        thresholds = np.quantile(sign * both, np.linspace(0.0005, 0.9995, CANDIDATES))
        for order in (0, 1):
            bounds = _bounds(
                sign * chosen[order], sign * chosen[1 - order], thresholds, false_alarm
            )
            i = int(np.argmax(bounds))
            best = max(best, (float(bounds[i]), float(thresholds[i]), sign, order))
    _, threshold, sign, order = best
    return TailEvent(threshold, sign, order)


@dataclass(frozen=True)
class WatchedBound:
    """What was certified, from how many draws a side, and with which confidence."""

    epsilon: float
    draws: int
    confidence: float


def watched_bound(
    draw: Callable[[int, int], Array],
    *,
    most: int,
    enough: float,
    false_alarm: float,
    tell: Callable[[WatchedBound], None] = lambda bound: None,
) -> WatchedBound:
    """A certified lower bound on epsilon that looks at every doubling and stops when it is enough.

    ``draw(side, k)`` gives the statistic of ``k`` releases from table 0 or 1. The first sixteenth
    chooses the event and is not counted. Every look has its share of the false-alarm rate, so the
    largest of their bounds holds with the stated confidence, wherever one stops.
    """
    part = max(most // 16, 50)
    event = _chosen_event(draw(0, part), draw(1, part), false_alarm)
    looks = max(math.ceil(math.log2(most / part)), 1) + 1
    kept = [np.empty(0), np.empty(0)]
    best = WatchedBound(0.0, part, 1.0 - false_alarm)
    for look in range(looks):
        more = part if look == 0 else len(kept[0])
        kept = [np.concatenate([old, draw(side, more)]) for side, old in enumerate(kept)]
        found = event.bound(kept[0], kept[1], false_alarm / looks)
        best = WatchedBound(max(best.epsilon, found), part + len(kept[0]), 1.0 - false_alarm)
        tell(best)
        if best.epsilon >= enough:
            break
    return best


def _bounds(first: Array, second: Array, thresholds: Array, false_alarm: float) -> Array:
    """Lower bounds on ``log P(s > t)/P'(s > t)`` at each threshold."""
    above = [
        len(part) - np.searchsorted(np.sort(part), thresholds, "right") for part in (first, second)
    ]
    lower = _clopper_pearson(above[0], len(first), false_alarm / 2.0, upper=False)
    upper = _clopper_pearson(above[1], len(second), false_alarm / 2.0, upper=True)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(lower) - np.log(upper))


def _clopper_pearson(hits: NDArray[np.int_], n: int, alpha: float, *, upper: bool) -> Array:
    """One-sided bounds on a probability after ``hits`` of ``n`` (exact, for any probability)."""
    k = np.asarray(hits, dtype=np.float64)
    if upper:
        return np.asarray(
            np.where(k >= n, 1.0, betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - alpha))
        )
    return np.asarray(np.where(k <= 0, 0.0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, alpha)))


def table_releases(design: Design, table: WeightedTable, k: int, randomness: Randomness) -> Array:
    """``k`` exact minimizers under the design's noise, (k, K, m), from a table with counts.

    The vectorized path for tables whose crowds are too large to write out; it follows the theorem's
    definition (draw, minimize), not the mechanism's solver.
    """
    shape = (design.risk.loss.scores, design.m)
    parts = []
    for first in range(0, k, BATCH):
        count = min(BATCH, k - first)
        noise = design.main.sample(randomness, count).reshape(count, *shape)
        start = -noise / (design.n * design.risk.regularization)
        parts.append(minimizers(design, table, start, noise))
    return np.concatenate(parts)


def likelihood_ratio(design: Design, pair: Pair, weights: Array) -> Array:
    """The best statistic there is: the exact log-ratio of the two densities at each output."""
    loss, ridge = design.risk.loss, design.n * design.risk.regularization
    first, second = (
        design.main.log_density(noise_vector(design, table, weights))
        + table.log_determinant(loss, weights, ridge)
        for table in (pair.first, pair.second)
    )
    return np.asarray(first - second)
