"""Confidence intervals of the large-margin Gaussian classifier: do they cover what they say?

Replicates are drawn with replacement from a fixed population (made-up Gaussian classes, and
measurements of Covertype); each is fitted with intervals under one budget, with columns
standardized privately from the same budget. The target of a replicate is the minimizer of the
regularized risk over the whole population, in features made with the centers and scales that this
replicate released. Lengths are compared with the variability interval, 2 x 1.96 standard deviations
of ``estimate - target`` over the replicates. Noise is seeded, so that the page can be made again.
Each cell goes to ``gaussian_intervals.json`` when it is done, and what is there is not measured
again: delete that file after a change. Writes ``gaussian_intervals.md``.

Run: python reproduce/gaussian_intervals.py [replicates]   (needs PRIVET_DATA; half an hour)
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import tables
from _common import HERE, SEED, Array, table, write
from numpy.typing import NDArray

from privet import ZCDP, ApproxDP, LargeMarginGaussian, PureDP, fit_with_intervals
from privet.errors import RegularizationRaised
from privet.inference import Intervals
from privet.inference.released_model import released_model
from privet.minimize import minimize
from privet.privacy import Budget

POPULATION, POINTS = 100_000, 4
FEW = 15  # replicates of the cell with 396 parameters
NUMBERS = tables.COVERTYPE_NUMBERS
FOREST = ("Elevation", "Horizontal_Distance_To_Roadways", "Hillshade_9am")
FOREST_BOUNDS = ([1500.0, 0.0, 0.0], [4000.0, 8000.0, 255.0])
INTRO = """# Intervals of the Gaussian classifier

Written by `python reproduce/gaussian_intervals.py`: {replicates} replicates of each cell, drawn
with replacement from a population of {population:,} rows; one budget for standardization, fit and
intervals, the default share. "forest" is Covertype (elevation, distance to roads, shade; spruce and
lodgepole pine, and all else as a third class; with ten columns all its rows, measurements and
classes, {few} replicates), "made up" overlapping Gaussian classes. The target is the minimizer of
the regularized risk over the population for the released centers and scales.
Coverage of nominal 95 %: the mean over all coefficients with its standard error over replicates,
the least and the largest coefficient's; of decision values at {points} public points (for more
classes, differences of two classes' values). Length: the mean over coefficients of the mean length
over that of the variability interval.

"""
LEGEND = """
Mean coverage over the cells: {mean:.3f}. Part of what most cells lack is the noise in the
matrices: lengths are right on average but not each time, and a length that varies covers less often
than one that does not. More budget for the matrices (`share` below its default) helps a little.
"""


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    source: str
    d: int
    classes: int
    n: int
    budget: Budget
    loss: str = "softmax"
    covariance: str = "full"
    mechanism: str = "objective"

    @property
    def whole(self) -> bool:
        """Whether it is about the whole file."""
        return self.d == len(NUMBERS)

    def model(self, seed: int) -> LargeMarginGaussian:
        """As declared, seeded."""
        bounds: Any = (-8.0, 8.0)
        if self.source == "forest":
            bounds = tuple(end[: self.d] for end in FOREST_BOUNDS)
        if self.whole:
            bounds = tuple([getattr(c, end) for c in NUMBERS.values()] for end in ("low", "high"))
        return LargeMarginGaussian(
            classes=list(range(self.classes)),
            loss=self.loss,  # type: ignore[arg-type]
            covariance=self.covariance,  # type: ignore[arg-type]
            mechanism=self.mechanism,
            norm_bound=3.0 if self.whole else float(1.5 * np.sqrt(self.d)),
            standardize="private",
            column_bounds=bounds,
            insecure_seed=seed,
        )


CELLS = (
    Cell("made up", 2, 2, 20_000, ZCDP(0.5)),
    Cell("made up", 2, 3, 20_000, ZCDP(0.5)),
    Cell("made up", 2, 3, 20_000, ZCDP(0.5), "huber"),
    Cell("made up", 2, 3, 20_000, ZCDP(0.5), "huber", mechanism="output"),
    Cell("made up", 2, 2, 20_000, PureDP(4.0)),
    Cell("made up", 2, 3, 50_000, ApproxDP(4.0, 1e-6)),
    Cell("made up", 5, 2, 50_000, ZCDP(0.5)),
    Cell("made up", 5, 3, 50_000, ZCDP(1.0), covariance="diagonal"),
    Cell("forest", 2, 2, 50_000, ZCDP(0.5)),
    Cell("forest", 3, 3, 50_000, ZCDP(1.0)),
    Cell("forest", 3, 3, 50_000, ZCDP(1.0), "huber"),
    Cell("forest", 10, 7, 500_000, ZCDP(1.0)),
)


@cache
def population(source: str, d: int, classes: int) -> tuple[Array, NDArray[np.int_]]:
    """Rows and class indices."""
    rng = np.random.default_rng(SEED)
    if source == "made up":
        y = rng.integers(0, classes, POPULATION)
        middles = 0.8 * rng.normal(size=(classes, d))
        widths = rng.uniform(0.5, 1.5, size=(classes, d))
        return middles[y] + widths[y] * rng.normal(size=(POPULATION, d)), y
    raw, kinds = tables.covertype()
    if d == len(NUMBERS):
        return np.stack([raw[name].astype(np.float64) for name in NUMBERS], axis=1), kinds - 1
    x = np.stack([raw[name].astype(np.float64) for name in FOREST[:d]], axis=1)
    codes = np.where(kinds == 1, 0, np.where(kinds == 2, 1, 2))
    chosen = rng.permutation(np.flatnonzero(codes < classes))[:POPULATION]
    return x[chosen], codes[chosen]


def decisions(found: Intervals, points: Array) -> Intervals:
    """Decision values at public points; of many classes, the second's less the first's."""
    at, count = found.decision(points), len(points)
    if len(at.names) == count:
        return at
    one = np.eye(count)
    return at.contrast(np.hstack([-one, one, np.zeros((count, len(at.names) - 2 * count))]))


def measured(cell: Cell, replicates: int) -> dict[str, Any]:
    """Coverage and lengths of one cell."""
    x, y = population(cell.source, cell.d, cell.classes)
    rng = np.random.default_rng([SEED, CELLS.index(cell)])
    points, best = x[rng.integers(0, len(x), POINTS)], None
    covered, decided, errors, lengths = [], [], [], []
    for _ in range(replicates):
        sample, seed = rng.integers(0, len(x), cell.n), int(rng.integers(1 << 30))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RegularizationRaised)
            model, found = fit_with_intervals(
                cell.model(seed), x[sample], y[sample], budget=cell.budget
            )
        risk = released_model(model).design.risk
        everyone = model.revisit(x, y).rows
        best = minimize(risk, everyone, tolerance=1e-6, start=best).certified()
        for one, hits in ((found, covered), (decisions(found, points), decided)):
            truth = one.named.directions @ best
            hits.append((one.lower <= truth) & (truth <= one.upper))
        errors.append(found.estimate - found.named.directions @ best)
        lengths.append(2.0 * found.half_width)
    hits = np.array(covered)
    variability = 2.0 * 1.959964 * np.std(errors, axis=0)
    return {
        "parameters": len(best) if best is not None else 0,
        "coverage": float(hits.mean()),
        "error": float(hits.mean(axis=1).std(ddof=1) / np.sqrt(replicates)),
        "least": float(hits.mean(axis=0).min()),
        "largest": float(hits.mean(axis=0).max()),
        "decisions": float(np.mean(decided)),
        "length": float((np.mean(lengths, axis=0) / variability).mean()),
        "replicates": replicates,
    }


def line(cell: Cell, found: dict[str, Any]) -> list[str]:
    """A cell of the page."""
    return [
        f"{cell.source}, {cell.d} columns, {cell.classes} classes",
        f"{cell.loss}, {cell.covariance}, {cell.mechanism}",
        f"{cell.n:,}",
        str(cell.budget),
        str(found["parameters"]),
        f"{found['coverage']:.3f} ± {found['error']:.3f}",
        f"{found['least']:.2f} to {found['largest']:.2f}",
        f"{found['decisions']:.3f}",
        f"{found['length']:.2f}",
    ]


def main() -> None:
    """Measure what is not measured yet, write the page."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    place = HERE / "gaussian_intervals.json"
    done: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    for cell in CELLS:
        if str(cell) not in done:
            done[str(cell)] = measured(cell, min(FEW, replicates) if cell.whole else replicates)
            place.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
            print(" | ".join(line(cell, done[str(cell)])), flush=True)
    heads = ["table", "model", "n", "budget", "parameters"]
    heads += ["coverage", "by coefficient", "decisions", "length"]
    found = [line(cell, done[str(cell)]) for cell in CELLS]
    text = INTRO.format(replicates=replicates, population=POPULATION, points=POINTS, few=FEW)
    mean = float(np.mean([done[str(cell)]["coverage"] for cell in CELLS]))
    write("gaussian_intervals.md", text + table(heads, found) + LEGEND.format(mean=mean))


if __name__ == "__main__":
    main()
