"""From noisy tables to measures with intervals: post-processing, written for many releases at once.

``read`` takes the tables of R releases and returns a ``Reading`` with arrays of shape (R,
measures); an evaluation is R = 1, a study of coverage any R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from privet.evaluation.calibration import calibration_error, tenth_of
from privet.evaluation.consistent import Counts, alone, joined, merged
from privet.evaluation.rates import Array, Ratios
from privet.evaluation.roc import NoisyCurves
from privet.evaluation.tables import BINS, Table
from privet.mechanisms.counts import Histogram

Part = tuple[str, str, Array, Array]  # measure, of what, cells of the numerator and denominator


@dataclass(frozen=True)
class Public:
    """What is known without the tables."""

    n: int
    level: float
    classes: tuple[Any, ...]
    groups: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Reading:
    """Measures by name, and their values in R releases, each (R, measures)."""

    names: tuple[tuple[str, str], ...]
    estimate: Array
    lower: Array
    upper: Array

    def beside(self, other: Reading) -> Reading:
        """Both, side by side."""
        return Reading(
            self.names + other.names,
            np.concatenate([self.estimate, other.estimate], axis=1),
            np.concatenate([self.lower, other.lower], axis=1),
            np.concatenate([self.upper, other.upper], axis=1),
        )


def read(
    tables: Sequence[Table],
    mechanisms: Sequence[Histogram],
    noisy: Sequence[Array],
    public: Public,
) -> tuple[Reading, dict[str, Array]]:
    """All measures of the tables, and their counts, (R, cells), consistent where that helps."""
    counts = _consistent(tables, mechanisms, noisy, public.n)
    readings, told = list[Reading](), dict[str, Array]()
    for table, law, values in zip(tables, mechanisms, noisy, strict=True):
        name = table.name
        told[name] = counts[name].values if name in counts else values
        if name == "correct":
            readings.append(_accuracy(values, law, public))
        if name in PARTS:
            readings.append(_rates(counts[name], PARTS[name](table, public), public))
        if name in ("scores", "ranks"):
            readings.append(_areas(table, values, law, public))
        if name in ("calibration", "ranks"):
            readings += _reliability(counts[name], table, public)
    return reduce(Reading.beside, readings), told


def _consistent(
    tables: Sequence[Table], mechanisms: Sequence[Histogram], noisy: Sequence[Array], n: int
) -> dict[str, Counts]:
    """Tables that add up to ``n``, and to each other; an AUC needs noise that is independent."""
    law = {table.name: each for table, each in zip(tables, mechanisms, strict=True)}
    seen = {table.name: values for table, values in zip(tables, noisy, strict=True)}
    found = {
        name: alone(values, n, law[name].variance, law[name].fourth)
        for name, values in seen.items()
        if name not in ("correct", "scores")
    }
    both = ("confusion", "groups")
    split = [table for table in tables if table.name == "groups" and len(table.shape) == 3]
    if split and "confusion" in seen:
        whole, parts = (law[name] for name in both)
        improved = joined(
            seen["confusion"],
            seen["groups"],
            n,
            (whole.variance, parts.variance),
            (whole.fourth, parts.fourth),
        )
        found |= zip(both, improved, strict=True)
    return found


def _named(names: tuple[tuple[str, str], ...], *values: Array) -> Reading:
    estimate, lower, upper = (value.reshape(-1, len(names)) for value in values)
    return Reading(names, estimate, lower, upper)


def _intervals(names: tuple[tuple[str, str], ...], ratios: Ratios, level: float) -> Reading:
    lower, upper = ratios.intervals(level)
    # clipped: an estimate may stand outside of its interval by the precision of the search
    return _named(names, np.clip(ratios.estimates(level), lower, upper), lower, upper)


def _accuracy(values: Array, law: Histogram, public: Public) -> Reading:
    """From a single count of right predictions; the denominator ``n`` is known."""
    size, n = len(values), float(public.n)
    ratios = Ratios(
        n,
        values[:, 0],
        np.full(size, n),
        np.tile([law.variance, 0.0, 0.0], (size, 1)),
        np.tile([law.fourth, 0.0, 0.0, 0.0, 0.0], (size, 1)),
    )
    return _intervals((("accuracy", "all rows"),), ratios, public.level)


def _rates(counts: Counts, parts: list[Part], public: Public) -> Reading:
    names = tuple((measure, what) for measure, what, _, _ in parts)
    ratios = counts.ratios([(u, w) for _, _, u, w in parts])
    return _intervals(names, ratios, public.level)


def _areas(table: Table, values: Array, law: Histogram, public: Public) -> Reading:
    tested, bins = 1 if table.name == "ranks" else table.shape[0], table.shape[-1]
    split = values.reshape(-1, 2, bins)  # each class of each release
    curves = NoisyCurves(split[:, 1], split[:, 0], law.variance)
    lower, upper = curves.intervals(public.level)
    positive = public.classes[1:] if tested == 1 else public.classes
    names = tuple(("AUC", f"class {label}") for label in positive)
    return _named(names, np.clip(curves.estimates(), lower, upper), lower, upper)


def _indicator(shape: tuple[int, ...], *where: tuple[Any, ...]) -> Array:
    cells = np.zeros(shape)
    for place in where:
        cells[place] = 1.0
    return cells.ravel()


def _confusion_parts(table: Table, public: Public) -> list[Part]:
    shape, labels = table.shape, public.classes
    every = range(len(labels))
    parts: list[Part] = [
        ("accuracy", "all rows", np.eye(len(labels)).ravel(), np.ones(table.cells))
    ]
    for i in every:
        row = _indicator(shape, (i,))
        for j in every:
            what = f"{labels[i]} predicted as {labels[j]}"
            parts.append(("confusion rate", what, _indicator(shape, (i, j)), row))
    for j in every:
        column = _indicator(shape, (slice(None), j))
        parts.append(("precision", f"predicted {labels[j]}", _indicator(shape, (j, j)), column))
    return parts


def _group_parts(table: Table, public: Public) -> list[Part]:
    shape, parts = table.shape, list[Part]()
    for g, group in enumerate(public.groups):
        what, rows = f"group {group}", _indicator(shape, (g,))
        if len(shape) == 2:
            parts.append(("accuracy", what, _indicator(shape, (g, 0)), rows))
            continue
        right = _indicator(shape, (g, 0, 0), (g, 1, 1))
        chosen = _indicator(shape, (g, slice(None), 1))
        parts += [
            ("accuracy", what, right, rows),
            ("selection rate", what, chosen, rows),
            (
                "true positive rate",
                what,
                _indicator(shape, (g, 1, 1)),
                _indicator(shape, (g, 1)),
            ),
            (
                "false positive rate",
                what,
                _indicator(shape, (g, 0, 1)),
                _indicator(shape, (g, 0)),
            ),
        ]
    return parts


def _reliability(counts: Counts, table: Table, public: Public) -> list[Reading]:
    """Observed frequencies in the tenths of the probability, and the calibration error."""
    shape, parts = (2, BINS), list[Part]()
    for b in range(BINS):
        what = f"probability {b / BINS:.1f} to {(b + 1) / BINS:.1f}"
        rows = _indicator(shape, (slice(None), b))
        parts.append(("observed frequency", what, _indicator(shape, (1, b)), rows))
    error = calibration_error(counts, table.edges, public.level)
    tenths = merged(counts, _into(table))
    return [_rates(tenths, parts, public), _named((("calibration error", "all bins"),), *error)]


def _into(table: Table) -> Array:
    """Which of the cells (class, tenth) each cell (class, finer bin) is a part of."""
    return np.asarray(np.kron(np.eye(2), np.eye(BINS)[tenth_of(table.edges)]), dtype=np.float64)


PARTS = {"confusion": _confusion_parts, "groups": _group_parts}
