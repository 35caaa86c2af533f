"""Which tables an evaluation counts, and one budget over them: all of it before a row is read.

The noise variance of a table with share ``s`` is proportional to ``1/s^2`` under pure privacy and
to ``1/s`` under zCDP, and to ``t^2`` or ``t`` where a row is in ``t`` cells. The shares minimize
the sum of ``weight x variance``:

    pure    s ~ (weight t^2)^(1/3)          zCDP    s ~ (weight t)^(1/2)

An (eps, delta) budget is spent as whichever of the two gives the smaller sum: eps alone with
Laplace noise, or the largest rho that converts to it with Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from privet.evaluation.count_tables import (
    Confusion,
    Correct,
    CountTable,
    GroupAccuracy,
    GroupConfusion,
)
from privet.evaluation.score_tables import TENTHS, Calibration, Ranks, Scores
from privet.mechanisms.counts import Histogram
from privet.privacy import Event
from privet.privacy.budget import Budget, PureDP
from privet.privacy.compose import together

NAME = "evaluation"
#: Accuracy is what everybody reads: its table's noise counts this many times.
EMPHASIS = 8.0
#: Noise over sampling variance of an AUC, and of calibration, for each bin of their table.
AUC_WEIGHT, CALIBRATION_WEIGHT = 1.2, 1.5
#: Parts of a tenth that are counted where no AUC needs finer bins: their middles stand for the
#: probabilities in them, and a third of the width has a ninth of the error.
FINER = 3
#: Bins of a score: between these, powers of two.
FEWEST_BINS, MOST_BINS = 16, 128
#: The range that the bins of a score divide where the model has no public one of its own.
SCORES = (-4.0, 4.0)


@dataclass(frozen=True)
class EvaluationPlan:
    """Every number of an evaluation that is fixed before a row is read."""

    n: int
    tables: tuple[CountTable, ...]
    mechanisms: tuple[Histogram, ...]
    event: Event


def plan_evaluation(
    budget: Budget,
    n: int,
    measures: Sequence[str],
    classes: int,
    groups: int,
    seed: int | None = None,
    scores: tuple[float, float] = SCORES,
) -> EvaluationPlan:
    """The tables for these measures, their mechanisms and what they cost together."""
    tried = histograms(budget, count_tables(measures, classes, groups, FEWEST_BINS, scores), seed)
    noise = max(mechanism.variance for mechanism in tried)
    tables = count_tables(measures, classes, groups, score_bins(n, noise), scores)
    mechanisms = histograms(budget, tables, seed)
    event = together([mechanism.event(n) for mechanism in mechanisms], budget, NAME)
    return EvaluationPlan(n, tables, mechanisms, event)


def count_tables(
    measures: Sequence[str],
    classes: int,
    groups: int,
    bins: int,
    scores: tuple[float, float] = SCORES,
) -> tuple[CountTable, ...]:
    """The tables for these measures; ``scores`` is the public range that score bins divide.

    ``weight`` compares each table's noise with the sampling error of what is read from it, for a
    table of a given noise and ``n`` rows: a rate that adds up ``k`` cells and describes a share
    ``s`` of the rows has ``k/s``, an AUC about 1.2 for each bin.
    """
    tables = list[CountTable]()
    if "confusion" in measures:
        tables.append(Confusion((classes, classes), EMPHASIS * classes))
    elif "accuracy" in measures:
        tables.append(Correct((1,), EMPHASIS))
    if "groups" in measures and classes == 2:
        tables.append(GroupConfusion((groups, 2, 2), 4.0 * groups))
    elif "groups" in measures:
        tables.append(GroupAccuracy((groups, 2), 2.0 * groups))
    if classes == 2 and {"auc", "calibration"} <= set(measures):
        cuts = probability_cuts(bins, scores)
        size = len(cuts) + 1
        # a tenth of the probability adds up a tenth of the bins
        tables.append(Ranks((2, size), (AUC_WEIGHT + CALIBRATION_WEIGHT) * size, cuts=cuts))
        return tuple(tables)
    if "auc" in measures:
        tested = 1 if classes == 2 else classes
        tables.append(Scores((tested, 2, bins), AUC_WEIGHT * bins, tested))
    if "calibration" in measures:
        size = FINER * TENTHS
        tables.append(Calibration((2, size), CALIBRATION_WEIGHT * size))
    return tuple(tables)


def score_bins(n: int, noise_variance: float) -> int:
    """How many score bins: as many as the noise allows, from public numbers.

    Noise in the AUC grows with the square root of the bins, what binning hides falls with their
    square: on the census-like table 16 lose about a hundredth, 32 three thousandths.
    """
    allowed = n / (16.0 * noise_variance)
    return int(np.clip(2 ** math.floor(math.log2(max(allowed, 1.0))), FEWEST_BINS, MOST_BINS))


def probability_cuts(bins: int, scores: tuple[float, float]) -> tuple[float, ...]:
    """Tenths of the probability, and ``bins`` equal parts of a range of scores in between."""
    parts, tenths = np.linspace(*scores, bins + 1)[1:-1], np.arange(1, TENTHS) / TENTHS
    return tuple(np.sort(np.concatenate([expit(parts), tenths])).tolist())


def shares(budget: Budget, tables: Sequence[CountTable]) -> list[float]:
    """The share of each table, adding up to one."""
    # the variance is proportional to the share to this power: Gaussian noise where it is allowed
    power = 1 if budget.allows_gaussian else 2
    raw = [(table.weight * table.touched**power) ** (1.0 / (1.0 + power)) for table in tables]
    return [value / sum(raw) for value in raw]


def histograms(
    budget: Budget, tables: Sequence[CountTable], insecure_seed: int | None = None
) -> tuple[Histogram, ...]:
    """A mechanism for each table, together within ``budget``."""
    ways: list[Budget] = [budget]
    if budget.additive != budget:  # it has a delta, which Laplace noise does not need
        ways.append(PureDP(budget.laplace_epsilon))
    found = []
    for way in ways:
        parts = way.split(shares(way, tables))
        found.append(
            tuple(
                Histogram(table.cells, part, table.touched, insecure_seed).with_seed(place)
                for place, (table, part) in enumerate(zip(tables, parts, strict=True))
            )
        )
    return min(found, key=lambda each: _predicted(each, tables))


def _predicted(mechanisms: Sequence[Histogram], tables: Sequence[CountTable]) -> float:
    pairs = zip(mechanisms, tables, strict=True)
    return sum(table.weight * mechanism.variance for mechanism, table in pairs)
