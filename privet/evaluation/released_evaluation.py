"""The released evaluation: values with intervals, as a table, a frame or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from privet.errors import DataError, MissingExtra
from privet.evaluation.measures import Measure
from privet.privacy.guarantee import Guarantee, guarantee_from_json

TRAINING = "on training rows: optimistic"
FORMAT = "privet-evaluation"
VERSION = 1
#: measures that cannot be negative: near zero their intervals cover more often than the level
AT_LEAST = ("calibration error",)


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
        return pd.DataFrame(
            [(m.measure, m.of, m.estimate, m.lower, m.upper) for m in self.measures],
            columns=["measure", "of", "estimate", "lower", "upper"],
        ).astype({"estimate": float})

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
            "classes": [_plain(label) for label in self.classes],
            "measures": [asdict(each) for each in self.measures],
            "counts": self.counts,
            "guarantee": self.guarantee.to_json(),
        }

    def dumps(self) -> str:
        """``to_json`` as text.

        Returns
        -------
        str
            Indented JSON.
        """
        return json.dumps(self.to_json(), indent=2, allow_nan=False)

    def note(self) -> str:
        """What the calibration error is, and which intervals cover more often than the level.

        Returns
        -------
        str
            Two sentences, or nothing without a calibration error.
        """
        found = [name for name in AT_LEAST if self.all(name)]
        if not found:
            return ""
        binned = self.counts.get("ranks", self.counts.get("calibration", [[]]))
        return (
            "Calibration error: over tenths of the probability, with the probability of a row "
            f"rounded to the middle of one of {len(binned[0])} bins. "
            f"The interval of the {' and the '.join(found)} covers at least that often."
        )

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
        note = self.note()
        return "\n".join([self.headline(), "", *lines, *(("", note) if note else ())])


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def evaluation_from_json(record: Any) -> Evaluation:
    """The inverse of ``Evaluation.to_json``; refuses anything else with a sentence."""
    try:
        if (record["format"], record["version"]) != (FORMAT, VERSION):
            raise ValueError("another format")
        found = Evaluation(
            n=int(record["n"]),
            level=float(record["level"]),
            measures=tuple(_measure(each) for each in record["measures"]),
            counts=dict(record["counts"]),
            classes=tuple(record["classes"]),
            guarantee=guarantee_from_json(record["guarantee"]),
            on_training_rows=bool(record["on_training_rows"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(
            "This is not an evaluation that this Privet wrote: privet evaluate --out writes one."
        ) from error
    return found


def _measure(record: dict[str, Any]) -> Measure:
    told = record["estimate"]
    found = Measure(
        str(record["measure"]),
        str(record["of"]),
        None if told is None else float(told),
        float(record["lower"]),
        float(record["upper"]),
    )
    if not 0.0 <= found.lower <= found.upper <= 1.0:
        raise ValueError("not an interval")
    return found
