"""Measures with their intervals, of one release and of many releases at once.

A ``CountTable`` reads its measures off noisy counts as post-processing. That is written for the
tables of R releases together: an evaluation is R = 1, a study of coverage any R.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from privet._types import Array
from privet.evaluation.consistency import Counts
from privet.evaluation.rates import Ratios


@dataclass(frozen=True)
class Measure:
    """One released number with its interval.

    Attributes
    ----------
    measure : str
        Its name, for example "accuracy".
    of : str
        What it is a measure of, for example "all rows" or "group north".
    estimate : float or None
        The value; None where noise hides it all.
    lower : float
        Lower end of the interval.
    upper : float
        Upper end of the interval.
    """

    measure: str
    of: str
    estimate: float | None
    lower: float
    upper: float

    def __str__(self) -> str:
        value = "     ?" if self.estimate is None else f"{self.estimate:6.3f}"
        return f"{value}  [{self.lower:.3f}, {self.upper:.3f}]"


class PublicFacts(NamedTuple):
    """What is known of an evaluation without its tables."""

    n: int
    level: float
    classes: tuple[Any, ...]
    groups: tuple[Any, ...] = ()


class Rate(NamedTuple):
    """The share of the rows in the cells ``whole`` that are in the cells ``inside``."""

    measure: str
    of: str
    inside: Array
    whole: Array


Names = tuple[tuple[str, str], ...]  # measure, and of what


@dataclass(frozen=True)
class Measures:
    """Measures by name, and their values in R releases, each array (R, measures)."""

    names: Names
    estimate: Array
    lower: Array
    upper: Array

    def released(self) -> tuple[Measure, ...]:
        """The measures of the first release; not a number becomes None."""
        values = zip(self.names, self.estimate[0], self.lower[0], self.upper[0], strict=True)
        return tuple(
            Measure(*name, None if math.isnan(value) else float(value), float(low), float(high))
            for name, value, low, high in values
        )


def side_by_side(parts: Sequence[Measures]) -> Measures:
    """All the measures of the same releases."""
    return Measures(
        tuple(name for part in parts for name in part.names),
        np.concatenate([part.estimate for part in parts], axis=1),
        np.concatenate([part.lower for part in parts], axis=1),
        np.concatenate([part.upper for part in parts], axis=1),
    )


def named(names: Names, estimate: Array, lower: Array, upper: Array) -> Measures:
    """Measures from values that run over the names of one release after the other."""
    return Measures(names, *(value.reshape(-1, len(names)) for value in (estimate, lower, upper)))


def of_ratios(names: Names, ratios: Ratios, level: float) -> Measures:
    """Rates with the intervals of their test."""
    lower, upper = ratios.intervals(level)
    # clipped: an estimate may stand outside of its interval by the precision of the search
    return named(names, np.clip(ratios.estimates(level), lower, upper), lower, upper)


def of_rates(counts: Counts, rates: Sequence[Rate], level: float) -> Measures:
    """Rates read off the cells of a table."""
    names = tuple((rate.measure, rate.of) for rate in rates)
    return of_ratios(names, counts.ratios([(rate.inside, rate.whole) for rate in rates]), level)
