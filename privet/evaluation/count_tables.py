"""The few histograms that every measure is read from, a class for each; those of right and wrong.

    Correct           right or not                             accuracy alone
    Confusion         true class x predicted class             accuracy, rates, precisions
    GroupConfusion    group x true class x predicted class     rates of each group
    GroupAccuracy     group x right or not                     accuracies, more than two classes
    Scores, Calibration, Ranks                                 in ``score_tables``

A table knows its cells (``shape``), the cells of each row (``places``) and what is read from them
(``read``). It pays for all that is read from it. Fewer tables leave more of the budget for each; a
table with more cells puts the noise of more cells into each sum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet._types import Array, Codes
from privet.evaluation.rates import Counts, Ratios, alone, as_drawn, joined
from privet.evaluation.released_evaluation import (
    Measures,
    PublicFacts,
    Rate,
    of_rates,
    of_ratios,
    side_by_side,
)
from privet.mechanisms.counts import Histogram


@dataclass(frozen=True)
class CodedRows:
    """Rows as the tables see them: codes and bins, held while an evaluation runs.

    ``score`` and ``probability`` have no columns where no table needs them.
    """

    truth: Codes
    predicted: Codes
    group: Codes
    score: Array  # place of each score in its range from 0 to 1, (n, 1) or (n, C)
    probability: Array  # (n, C)

    @property
    def right(self) -> Codes:
        """Whether each row is predicted right, as 0 or 1."""
        return np.asarray(self.truth == self.predicted, dtype=np.intp)


@dataclass(frozen=True)
class NoisyTable:
    """A table of R releases: as drawn, (R, cells), the noise's law, and the consistent counts."""

    drawn: Array
    law: Histogram
    counts: Counts


@dataclass(frozen=True)
class CountTable(ABC):
    """A histogram by its shape; a row is in exactly ``touched`` of its cells.

    ``weight`` compares the tables' noise with the sampling error of what is read from them (see
    ``allocation``).
    """

    name: ClassVar[str]  # of the counts that are released
    needs_scores: ClassVar[bool] = False
    needs_probabilities: ClassVar[bool] = False
    #: Whether the counts are moved so that they add up to the public number of rows.
    adds_up: ClassVar[bool] = True

    shape: tuple[int, ...]
    weight: float
    touched: int = 1

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @abstractmethod
    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """The cells of each row, shape (n,) or (n, touched)."""

    @abstractmethod
    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """All measures of this table, as post-processing."""

    def consistent(self, drawn: Array, law: Histogram, n: int) -> Counts:
        """The counts that the measures of this table alone are read from."""
        return (alone if self.adds_up else as_drawn)(drawn, n, law.variance, law.fourth)

    def _cell(self, *codes: NDArray[np.int_]) -> NDArray[np.int_]:
        return np.asarray(np.ravel_multi_index(codes, self.shape))

    def _cells(self, *where: tuple[Any, ...]) -> Array:
        """The indicator of some cells, as one vector."""
        inside = np.zeros(self.shape)
        for place in where:
            inside[place] = 1.0
        return inside.ravel()


class Correct(CountTable):
    """A single count of right predictions."""

    name = "correct"
    adds_up = False  # the wrong ones are not counted

    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """The one cell, of the rows that are right."""
        return np.flatnonzero(rows.right) * 0

    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """The accuracy; its denominator ``n`` is known."""
        size, n = len(table.drawn), float(public.n)
        ratios = Ratios(
            n,
            table.drawn[:, 0],
            np.full(size, n),
            np.tile([table.law.variance, 0.0, 0.0], (size, 1)),
            np.tile([table.law.fourth, 0.0, 0.0, 0.0, 0.0], (size, 1)),
        )
        return of_ratios((("accuracy", "all rows"),), ratios, public.level)


class Confusion(CountTable):
    """True class by predicted class."""

    name = "confusion"

    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """One cell for each row."""
        return self._cell(rows.truth, rows.predicted)

    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """Accuracy, rates of each true class, precision of each predicted one."""
        labels, every = public.classes, range(len(public.classes))
        rates = [Rate("accuracy", "all rows", np.eye(len(labels)).ravel(), np.ones(self.cells))]
        for i in every:
            row = self._cells((i,))
            for j in every:
                what = f"{labels[i]} predicted as {labels[j]}"
                rates.append(Rate("confusion rate", what, self._cells((i, j)), row))
        for j in every:
            column = self._cells((slice(None), j))
            rates.append(Rate("precision", f"predicted {labels[j]}", self._cells((j, j)), column))
        return of_rates(table.counts, rates, public.level)


class GroupConfusion(CountTable):
    """The confusion of two classes in each group."""

    name = "groups"

    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """One cell for each row."""
        return self._cell(rows.group, rows.truth, rows.predicted)

    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """Accuracy, selection rate and the rates of both mistakes, in each group."""
        rates, cells = list[Rate](), self._cells
        for g, group in enumerate(public.groups):
            what, rows = f"group {group}", cells((g,))
            rates += [
                Rate("accuracy", what, cells((g, 0, 0), (g, 1, 1)), rows),
                Rate("selection rate", what, cells((g, slice(None), 1)), rows),
                Rate("true positive rate", what, cells((g, 1, 1)), cells((g, 1))),
                Rate("false positive rate", what, cells((g, 0, 1)), cells((g, 0))),
            ]
        return of_rates(table.counts, rates, public.level)


class GroupAccuracy(CountTable):
    """Right and wrong predictions in each group, where there are more than two classes."""

    name = "groups"

    def places(self, rows: CodedRows) -> NDArray[np.int_]:
        """One cell for each row; right predictions come first."""
        return self._cell(rows.group, 1 - rows.right)

    def read(self, table: NoisyTable, public: PublicFacts) -> Measures:
        """The accuracy of each group."""
        rates = [
            Rate("accuracy", f"group {group}", self._cells((g, 0)), self._cells((g,)))
            for g, group in enumerate(public.groups)
        ]
        return of_rates(table.counts, rates, public.level)


def read_tables(
    tables: Sequence[CountTable],
    mechanisms: Sequence[Histogram],
    drawn: Sequence[Array],
    public: PublicFacts,
) -> tuple[Measures, dict[str, Array]]:
    """All measures of the tables, and their counts, (R, cells), consistent where that helps."""
    found = [
        NoisyTable(values, law, table.consistent(values, law, public.n))
        for table, law, values in zip(tables, mechanisms, drawn, strict=True)
    ]
    whole = [i for i, table in enumerate(tables) if isinstance(table, Confusion)]
    split = [i for i, table in enumerate(tables) if isinstance(table, GroupConfusion)]
    for i, j in zip(whole, split, strict=False):  # the groups add up to the whole
        both = joined(
            found[i].drawn,
            found[j].drawn,
            public.n,
            (found[i].law.variance, found[j].law.variance),
            (found[i].law.fourth, found[j].law.fourth),
        )
        for place, counts in zip((i, j), both, strict=True):
            found[place] = NoisyTable(found[place].drawn, found[place].law, counts)
    pairs = list(zip(tables, found, strict=True))
    measures = side_by_side([table.read(noisy, public) for table, noisy in pairs])
    return measures, {table.name: noisy.counts.values for table, noisy in pairs}
