"""A released evaluation: measures with their intervals, as a table, a frame or JSON.

A ``CountTable`` reads its measures off noisy counts as post-processing. That is written for the
tables of R releases together: an evaluation is R = 1, a study of coverage any R.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from privet._types import Array
from privet._untrusted import sealed
from privet.errors import MissingExtra
from privet.evaluation.rates import Counts, Ratios
from privet.privacy.guarantee import Guarantee, released_digest


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


# -- the released evaluation ---------------------------------------------------------------------

TRAINING = "on training rows: optimistic"
FORMAT = "privet-evaluation"
VERSION = 2
#: measures that cannot be negative: near zero their intervals cover more often than the level
AT_LEAST = ("calibration error",)
#: measures of a regression: in the target's units, and the one that can be negative
ERRORS = ("mean absolute error", "RMSE")
R_SQUARED = "R^2"
#: measures of two classes that are about the second of them
OF_POSITIVE = (
    "selection rate",
    "true positive rate",
    "false positive rate",
    "AUC",
    "observed frequency",
    "calibration error",
)


@dataclass(frozen=True)
class Evaluation:
    """Private measures of a model on ``n`` rows, each with an interval at ``level``.

    An interval covers the value for fresh rows from the same population, with sampling error and
    noise both counted; each has the level on its own, not all together.

    Attributes
    ----------
    n : int
        The public number of rows.
    level : float
        Of each interval.
    measures : tuple of Measure
        Every released number with its interval.
    counts : dict
        The noisy tables by name, as nested lists, consistent with ``n`` and with each other.
    classes : tuple
        The model's classes in order; of two, the second is the positive one.
    guarantee : Guarantee
        What it cost, and what that relies on.
    on_training_rows : bool
        Whether the rows are the training rows, which makes the values optimistic.
    """

    n: int
    level: float
    measures: tuple[Measure, ...]
    counts: dict[str, Any]  # noisy tables, made consistent; nested lists
    classes: tuple[Any, ...]
    guarantee: Guarantee
    on_training_rows: bool = False

    def get(self, measure: str, of: str | None = None) -> Measure:
        """The first measure of this name.

        Parameters
        ----------
        measure : str
            Its name, for example "accuracy".
        of : str, optional
            What it is a measure of, for example "group north".

        Returns
        -------
        Measure
            The number with its interval.

        Raises
        ------
        KeyError
            Where there is none.
        """
        for each in self.measures:
            if each.measure == measure and of in (None, each.of):
                return each
        names = ", ".join(dict.fromkeys(each.measure for each in self.measures))
        raise KeyError(f"There is no {measure!r} of {of!r} here; there are {names}.")

    def all(self, measure: str) -> tuple[Measure, ...]:
        """Every measure of this name.

        Parameters
        ----------
        measure : str
            The name.

        Returns
        -------
        tuple of Measure
            Empty where there is none.
        """
        return tuple(each for each in self.measures if each.measure == measure)

    @property
    def accuracy(self) -> Measure:
        """Share of right predictions."""
        return self.get("accuracy", "all rows")

    @property
    def auc(self) -> Measure:
        """Area under the ROC curve of the binned score, of the positive class."""
        return self.get("AUC")

    @property
    def confusion(self) -> list[list[float]]:
        """Noisy counts, true classes down and predicted classes across."""
        table: list[list[float]] = self.counts["confusion"]
        return table

    @property
    def calibration(self) -> tuple[Measure, ...]:
        """Observed frequency in each bin of the predicted probability."""
        return self.all("observed frequency")

    def to_frame(self) -> Any:
        """A pandas frame with one row for each measure.

        Returns
        -------
        pandas.DataFrame
            With the columns measure, of, estimate, lower and upper.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("to_frame needs pandas; to_json does not.") from error
        columns = ["measure", "of", "estimate", "lower", "upper"]
        rows = pd.DataFrame([asdict(each) for each in self.measures], columns=columns)
        return rows.astype({"estimate": float})

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``json.dumps`` takes them.

        Returns
        -------
        dict
            Everything that is released; ``evaluation_from_json`` reads it.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "n": self.n,
            "level": self.level,
            "on_training_rows": self.on_training_rows,
            "classes": list(self.classes),
            "measures": [asdict(each) for each in self.measures],
            "counts": self.counts,
            "guarantee": self.guarantee.to_json(),
        }

    def digest(self) -> str:
        """The name of this evaluation in the entry of a ledger.

        Returns
        -------
        str
            SHA-256 of every released number and of the claim.
        """
        numbers = {name: value for name, value in self.to_json().items() if name != "guarantee"}
        return released_digest("evaluation", self.guarantee.event, numbers)

    def dumps(self) -> str:
        """``to_json`` as text.

        Returns
        -------
        str
            Indented JSON, with its digest in the first field.
        """
        return sealed(self.to_json())

    def note(self) -> str:
        """Which class the rates are about, what the calibration error is, what is left out.

        Returns
        -------
        str
            A few sentences, or nothing where no measure needs them.
        """
        told = []
        if self.all(ERRORS[0]) and not self.all(R_SQUARED):
            told.append("R^2 is left out: the noise hides how far the targets are spread.")
        if "residuals" in self.counts:
            told.append("A histogram of the residuals was released too: privet report draws it.")
        if len(self.classes) == 2 and any(self.all(name) for name in OF_POSITIVE):
            told.append(f"Positive class: {self.classes[1]}.")
        found = [name for name in AT_LEAST if self.all(name)]
        if found:
            binned = self.counts.get("ranks", self.counts.get("calibration", [[]]))
            told.append(
                "Calibration error: over tenths of the probability, with the probability of a row "
                f"rounded to the middle of one of {len(binned[0])} bins. "
                f"The interval of the {' and the '.join(found)} covers in at least that share of "
                "cases."
            )
        return " ".join(told)

    def headline(self) -> str:
        """What this is, in a line or two.

        Returns
        -------
        str
            Rows, level and guarantee.
        """
        stamp = f" ({TRAINING})" if self.on_training_rows else ""
        return (
            f"{self.n:,} rows{stamp}, {100 * self.level:g} % intervals for fresh rows\n"
            f"{self.guarantee}"
        )

    def __str__(self) -> str:
        wide = max(len(m.measure) for m in self.measures)
        what = max(len(m.of) for m in self.measures)
        lines = [f"{m.measure:<{wide}}  {m.of:<{what}}  {m}" for m in self.measures]
        lines += ["", self.note()] if self.note() else []
        return "\n".join([self.headline(), "", *lines])
