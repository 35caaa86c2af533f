"""The histograms by score and by probability: AUC and calibration.

    Scores         true class x bin of the score                    AUC
                   (many classes: such a table for each class against the rest)
    Calibration    positive or not x thirtieth of its probability   frequencies, calibration error
                   (many classes: right or not x that of the predicted class)
    Ranks          true class x finer bins of the probability       both, for two classes

Under pure privacy AUC and calibration are better off sharing a table than each with its own, under
zCDP about the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.evaluation.auc import NoisyCurves
from privet.evaluation.calibration import TENTHS, calibration_error, tenth_of
from privet.evaluation.consistency import Counts, merged
from privet.evaluation.count_tables import CodedRows, CountTable, NoisyTable
from privet.evaluation.measures import Measures, PublicFacts, Rate, named, of_rates, side_by_side


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
