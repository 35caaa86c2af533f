"""The few histograms that every measure is read from.

    correct        right or not                                     accuracy alone
    confusion      true class x predicted class                     accuracy, rates, precisions
    groups         group x true class x predicted class             rates of each group
                   (more than two classes: group x right or not)
    scores         true class x bin of the score                    AUC
                   (more than two classes: one such table for each class against the rest)
    calibration    positive or not x thirtieth of its probability   frequencies, calibration error
                   (more than two classes: right or not x that of the predicted class)
    ranks          true class x finer bins of the probability       both, for two classes

A table pays for all that is read from it. Fewer tables leave more of the budget for each; a table
with more cells puts the noise of more cells into each sum. Under pure privacy AUC and calibration
are better off sharing a table than each with its own, under zCDP about the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from privet.errors import DeclarationError
from privet.evaluation.subject import Array, Codes, Subject

MEASURES = ("accuracy", "confusion", "auc", "calibration", "groups")
#: Bins of a probability, equally wide: 0 to 0.1 and so on.
BINS = 10
TENTHS = np.arange(1, BINS) / BINS
#: Parts of a tenth that are counted where no AUC needs finer bins: their middles stand for the
#: probabilities in them, and a third of the width has a ninth of the error.
FINER = 3
#: Bins of a score: between these, powers of two.
FEWEST_BINS, MOST_BINS = 16, 128
#: Accuracy is what everybody reads: its table's noise counts this many times.
EMPHASIS = 8.0


@dataclass(frozen=True)
class Table:
    """A histogram by its name and shape; a row is in exactly ``touched`` of its cells."""

    name: str
    shape: tuple[int, ...]
    weight: float  # predicted noise variance over sampling variance, up to a common factor
    touched: int = 1
    cuts: tuple[float, ...] = ()  # of a probability, where bins are not equally wide

    @property
    def edges(self) -> Array:
        """Ends of the bins of a probability, from 0 to 1."""
        if self.cuts:
            return np.array([0.0, *self.cuts, 1.0])
        return np.linspace(0.0, 1.0, self.shape[-1] + 1)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Seen:
    """Rows as the tables see them: codes and bins, held while an evaluation runs."""

    truth: Codes
    predicted: Codes
    group: Codes | None
    score: Array | None  # place of each score in its range, (n,) or (n, C) columns
    probability: Array | None

    def places(self, table: Table) -> NDArray[np.int_]:
        """The cells of each row, shape (n,) or (n, touched)."""
        right = (self.truth == self.predicted).astype(np.intp)
        if table.name == "correct":
            return np.flatnonzero(right) * 0
        if table.name == "confusion":
            return _cell(table.shape, self.truth, self.predicted)
        if table.name == "groups":
            assert self.group is not None
            rest = (self.truth, self.predicted) if len(table.shape) == 3 else (1 - right,)
            return _cell(table.shape, self.group, *rest)
        if table.name == "scores":
            return self._score_places(table)
        assert self.probability is not None
        if table.name == "ranks":
            bins = np.searchsorted(table.cuts, self.probability[:, 1], side="right")
            return _cell(table.shape, self.truth, bins)
        two = self.probability.shape[1] == 2
        sure = self.probability[:, 1] if two else self.probability.max(axis=1)
        return _cell(table.shape, self.truth if two else right, _bins(sure, table.shape[-1]))

    def _score_places(self, table: Table) -> NDArray[np.int_]:
        assert self.score is not None
        which = np.arange(table.shape[0])  # the class that stands against the rest
        positive = 1 if len(which) == 1 else which
        own = (self.truth[:, None] == positive).astype(np.intp)
        return _cell(table.shape, which + 0 * own, own, _bins(self.score, table.shape[-1]))


def _cell(shape: tuple[int, ...], *codes: NDArray[np.int_]) -> NDArray[np.int_]:
    return np.asarray(np.ravel_multi_index(codes, shape))


def _bins(share: Array, count: int) -> NDArray[np.int_]:
    """Which of ``count`` equal bins of [0, 1]."""
    return np.clip((share * count).astype(np.intp), 0, count - 1)


def score_bins(n: int, noise_variance: float) -> int:
    """How many score bins: as many as the noise allows, from public numbers.

    Noise in the AUC grows with the square root of the bins, what binning hides falls with their
    square: on the census-like table 16 lose about a hundredth, 32 three thousandths.
    """
    allowed = n / (16.0 * noise_variance)
    return int(np.clip(2 ** math.floor(math.log2(max(allowed, 1.0))), FEWEST_BINS, MOST_BINS))


def probability_cuts(bins: int, scores: tuple[float, float]) -> tuple[float, ...]:
    """Tenths of the probability, and ``bins`` equal parts of a range of scores in between."""
    parts = np.linspace(*scores, bins + 1)[1:-1]
    return tuple(np.sort(np.concatenate([expit(parts), TENTHS])).tolist())


def tables(
    measures: Sequence[str],
    classes: int,
    groups: int,
    bins: int,
    scores: tuple[float, float] = (-4.0, 4.0),
) -> tuple[Table, ...]:
    """The tables for these measures; ``scores`` is the public range that score bins divide.

    ``weight`` compares each table's noise with the sampling error of what is read from it, for a
    table of a given noise and ``n`` rows: a rate that adds up ``k`` cells and describes a share
    ``s`` of the rows has ``k/s``, an AUC about 1.2 for each bin.
    """
    found = []
    if "confusion" in measures:
        found.append(Table("confusion", (classes, classes), EMPHASIS * classes))
    elif "accuracy" in measures:
        found.append(Table("correct", (1,), EMPHASIS))
    if "groups" in measures:
        shape = (groups, 2, 2) if classes == 2 else (groups, 2)
        found.append(Table("groups", shape, 2.0 * groups * (2.0 if classes == 2 else 1.0)))
    if classes == 2 and {"auc", "calibration"} <= set(measures):
        cuts = probability_cuts(bins, scores)
        size = len(cuts) + 1
        # a tenth of the probability adds up a tenth of the bins
        found.append(Table("ranks", (2, size), (1.2 + 1.5) * size, cuts=cuts))
        return tuple(found)
    if "auc" in measures:
        tested = 1 if classes == 2 else classes
        found.append(Table("scores", (tested, 2, bins), 1.2 * bins, tested))
    if "calibration" in measures:
        size = FINER * BINS
        found.append(Table("calibration", (2, size), 1.5 * size))
    return tuple(found)


def wanted(measures: Any, model: Subject, *, grouped: bool) -> tuple[str, ...]:
    """The measures asked for, or all that make sense for this model."""
    if measures is None:
        two = len(model.classes) == 2
        possible = {
            "auc": two and model.has_scores,  # with more classes only when asked: it costs C times
            "calibration": model.has_probabilities,
            "groups": grouped,
        }
        return tuple(name for name in MEASURES if possible.get(name, True))
    if isinstance(measures, str) or not np.iterable(measures):
        raise DeclarationError(f"measures must be a list of {', '.join(MEASURES)}.")
    asked = tuple(dict.fromkeys(measures))
    unknown = [name for name in asked if name not in MEASURES]
    if unknown or not asked:
        raise DeclarationError(f"measures must be a list of {', '.join(MEASURES)}.")
    for name, there in (("auc", model.has_scores), ("calibration", model.has_probabilities)):
        if name in asked and not there:
            what = "scores" if name == "auc" else "probabilities"
            raise DeclarationError(
                f"{type(model.last).__name__} has no {what}, so it has no {name}. Leave it out."
            )
    if ("groups" in asked) != grouped:
        raise DeclarationError("The measure 'groups' and groups=... go together.")
    return asked
