"""Do intervals cover what they say? Tables of every kind, small and large, at every budget.

A cell is a table that stands for the population, a number of rows, a loss and a budget for the fit
and its intervals together; everything else is a default. Each replicate draws rows from the table
with replacement, fits and makes intervals as ``fit_with_intervals`` does: share, designs, weighing,
noise and intervals come from the library, seeded. ``theta0`` is the table's own minimizer, so
coverage is known. Where the sample is larger than the table its rows are counted, not repeated
(``_weighted.py``), which changes nothing but the time: some samples of each such cell are fitted by
the library too and compared.

Half of the cells are for choosing constants, the others only for showing (``_interval_cells.py``).
On the first half other constants are tried on the same releases. Each cell is stored in
``interval_grid.json`` when it is done: a run can be stopped and continued.

Run: python reproduce/interval_grid.py [measure] [write]   (needs PRIVET_DATA; an hour of one core)
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from _common import HERE, table, tell, write
from _interval_cells import Cell, grid
from _interval_page import EARLIER, USED
from _interval_tables import idle, population
from _weighted import Distinct, minimizers, moments
from scipy import stats

from privet._types import Array
from privet.errors import InfeasibleBudget
from privet.inference.budget_shares import PreparedIntervals, prepared_intervals
from privet.inference.mixture import quantiles, tails
from privet.inference.uncertainty import (
    HINGE,
    LIKELIHOOD,
    Caution,
    FitNoise,
    Uncertainty,
)
from privet.inference.usefulness import refuse_useless
from privet.losses import MarginLoss
from privet.mechanisms.matrix import NoisyMatrices, pair
from privet.mechanisms.objective import finish
from privet.minimize import minimize
from privet.randomness import InsecureSeed
from privet.rows import checked_rows

RESULTS = HERE / "interval_grid.json"
LEVEL, LIMIT, SURPRISE, MOST_FALSE = 0.95, 0.93, 1e-3, 0.06
CONSTANT = 0.5
#: replicates whose lengths are worked out (for Adult's four columns all), and on which other
#: constants are tried
LENGTHS, TRIED = 100, 200
#: parameters up to which other constants are tried: they cost most of the time
MOST_TRIED = 12
BATCH = 20
#: counted samples of each cell that are fitted by the library too
COMPARED = 2
#: other constants, by what they do
OTHERS: dict[str, Callable[[Caution], Caution]] = {
    USED: lambda used: used,
    "not lowered": lambda used: replace(used, lowered=0.0),
    "lowered by 1 sd": lambda used: replace(used, lowered=1.0),
    "nothing off across": lambda used: replace(used, across=False),
    "the other losses'": lambda used: HINGE if used == LIKELIHOOD else LIKELIHOOD,
    "more cautious": lambda _: Caution(1.0, 2.0, 3.0, 1.0, across=False),
}


@dataclass(frozen=True)
class Setting:
    """A cell with its table, its designs and what is true of it."""

    cell: Cell
    x: Array
    y: Any
    made: PreparedIntervals
    truth: Array
    exact: Array  # standard errors without privacy, at the same regularization

    @property
    def design(self) -> Any:
        """Of the fit."""
        return self.made.fit.design

    @property
    def caution(self) -> Caution:
        """As the library has it for the loss."""
        return HINGE if self.cell.loss == "Huber" else LIKELIHOOD

    @property
    def counted(self) -> bool:
        """Whether samples are counts of the table's rows."""
        design = self.design
        two_classes = isinstance(design.risk.loss, MarginLoss)
        return len(self.y) <= self.cell.n and two_classes and design.event.mechanism == "objective"

    def uncertainties(self) -> Iterator[Uncertainty]:
        """What each replicate releases."""
        design, noise = self.design, InsecureSeed(zlib.crc32(self.cell.key.encode()))
        moments_of, matrices = self.made.moments, self.made.moments.design(design.n, design.m)
        gap = 0.0 if design.gap is None else design.gap.coordinate_sd
        fit = FitNoise(design.event.mechanism, design.main, gap)
        generator = np.random.default_rng(zlib.crc32(self.cell.key.encode()))
        way = self._counted if self.counted else self._drawn
        for i, (theta, hessian, covariance) in enumerate(way(generator, noise)):
            weighing = moments_of.weigh(design.n, theta, matrices.noise.kind)
            noisy: NoisyMatrices = moments_of.perturb(
                hessian, covariance, weighing, matrices, noise
            )
            lam = design.risk.regularization
            yield Uncertainty(theta, noisy, lam, design.n, fit, i, self.caution)

    def _drawn(
        self, generator: np.random.Generator, noise: InsecureSeed
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Parameters and exact matrices of samples as tables of their own."""
        design, n = self.design, self.cell.n
        for _ in range(self.cell.replicates):
            rows = rows_for(self, generator.integers(0, len(self.y), n))
            theta = self.made.fit.mechanism.perturb(rows, design, noise)
            hessian, covariance = rows.sum(pair, design.risk, theta)
            yield theta, hessian / n, covariance / n

    def _counted(
        self, generator: np.random.Generator, noise: InsecureSeed
    ) -> Iterator[tuple[Array, Array, Array]]:
        """The same for samples that are larger than the table: how often each row is drawn."""
        design, loss = self.design, self.design.risk.loss
        for first in range(0, self.cell.replicates, BATCH):
            size = min(BATCH, self.cell.replicates - first)
            rows, weights = self._counts(generator, size)
            b = design.main.sample(noise, size) - design.shift
            found = minimizers(loss, rows, weights, design.risk.regularization, b, self.truth)
            thetas = finish(found, design, noise)
            yield from zip(thetas, *moments(loss, rows, weights, thetas), strict=True)

    def _counts(self, generator: np.random.Generator, size: int) -> tuple[Distinct, Array]:
        """The table's rows times their classes, and how often samples have each of them."""
        constant = np.full((len(self.y), 1), CONSTANT)
        signs = self.design.risk.loss.targets(self.y)[:, None]
        z = np.concatenate([self.x, constant], axis=1) * signs
        counts = generator.multinomial(self.cell.n, np.full(len(z), 1.0 / len(z)), size=size)
        return Distinct(z, counts[0]), counts.astype(np.float64)

    def compared(self) -> float:
        """How far counted samples are from the library's own fit of the same rows and noise.

        The largest difference of a parameter in non-private standard errors, and of an entry of a
        matrix relative to its largest one, over ``COMPARED`` samples.
        """
        design, loss, n = self.design, self.design.risk.loss, self.cell.n
        rows, weights = self._counts(np.random.default_rng(5), COMPARED)
        b = design.main.sample(InsecureSeed(5), COMPARED) - design.shift
        found = minimizers(loss, rows, weights, design.risk.regularization, b, self.truth)
        worst, unit = 0.0, np.where(self.exact > 0.0, self.exact, np.inf)
        for i, pairs in enumerate(zip(*moments(loss, rows, weights, found), strict=True)):
            table = rows_for(self, np.repeat(np.arange(len(self.y)), weights[i].astype(int)))
            theirs = minimize(design.risk, table, linear=b[i] / n, tolerance=1e-9).certified()
            worst = max(worst, float(np.abs((found[i] - theirs) / unit).max()))
            for ours, total in zip(pairs, table.sum(pair, design.risk, found[i]), strict=True):
                worst = max(worst, float(np.abs(ours - total / n).max() / np.abs(ours).max()))
        return worst


@lru_cache(maxsize=2)
def rows_of(data: str, d: int, classes: int) -> tuple[Array, Any]:
    """The population and its classes."""
    return population(data, d, classes)


def rows_for(setting: Setting, index: Any) -> Any:
    """Some rows of the table as the model sees them."""
    targets = setting.design.risk.loss.targets(setting.y[index])
    return checked_rows(setting.x[index], targets, norm_bound=1.0, constant=CONSTANT)


def setting_of(cell: Cell) -> Setting:
    """Designs by the library's public rules, or its refusal."""
    x, y = rows_of(cell.data, cell.d, cell.classes)
    sample = np.random.default_rng(0).integers(0, len(y), cell.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = prepared_intervals(cell.model(), x[sample], y[sample], cell.asked(), "auto")
        refuse_useless(made.moments, made.fit.design, LEVEL, made.fit.curvature_spread)
    bare = Setting(cell, x, y, made, np.zeros(0), np.zeros(0))
    everyone = rows_for(bare, slice(None))
    truth = minimize(made.fit.design.risk, everyone, tolerance=1e-9).certified()
    return Setting(cell, x, y, made, truth, plain_sd(made.moments, everyone, truth, cell.n))


def measure(cell: Cell) -> dict[str, Any]:
    """Coverage, lengths and false positives of one cell, or its refusal."""
    start = time.process_time()
    try:
        setting = setting_of(cell)
    except InfeasibleBudget as error:
        return {"refused": str(error)}
    truth, main, p = setting.truth, setting.design.main, len(setting.truth)
    point = np.kron(np.ones(p // setting.design.m), np.full(setting.design.m, 0.5 / cell.d**0.5))
    directions = np.concatenate([np.eye(p), point[None, :]])
    chances, halves, tried = [], [], {name: Tally() for name in OTHERS}
    for i, about in enumerate(setting.uncertainties()):
        parts = about.parts(directions)
        chances.append(tails(np.abs(directions @ (about.theta - truth)), parts, main))
        if i < LENGTHS or cell.data.startswith("adult4"):
            halves.append(quantiles(1.0 - LEVEL, parts, main)[:p])
        if cell.chooses and i < TRIED and p <= MOST_TRIED:
            for name, other in OTHERS.items():
                tried[name].add(replace(about, caution=other(about.caution)), setting)
    without = columns_without_effect(setting)
    return {
        "share": setting.made.fit.design.event.claim.amount / cell.budget,
        "matrix_noise": setting.made.moments.design(cell.n, setting.design.m).noise.kind,
        **summary(np.array(chances), without),
        "width": relative(np.mean(halves, axis=0), setting.exact),
        "tried": {name: one.result(without) for name, one in tried.items() if one.covered},
        "compared": setting.compared() if setting.counted else None,
        "seconds": time.process_time() - start,
    }


class Tally:
    """Coverage and length with other constants, on releases that were made anyway."""

    def __init__(self) -> None:
        self.covered: list[Any] = []
        self.lengths: list[float] = []

    def add(self, about: Uncertainty, setting: Setting) -> None:
        """One release more."""
        parts, main = about.parts(np.eye(len(setting.truth))), about.noise.main
        self.covered.append(tails(np.abs(about.theta - setting.truth), parts, main) >= 1.0 - LEVEL)
        if len(self.lengths) < LENGTHS // 4:
            self.lengths.append(relative(quantiles(1.0 - LEVEL, parts, main), setting.exact))

    def result(self, without: list[int]) -> dict[str, float]:
        """Plain numbers."""
        covered = np.array(self.covered)
        each = covered.mean(axis=1)
        error = max(each.std(ddof=1), 0.5 / len(each)) / math.sqrt(len(each))
        return {
            "coverage": float(each.mean()),
            "coverage_se": float(error),
            "false": float(1.0 - covered[:, without].mean()) if without else 0.0,
            "width": float(np.mean(self.lengths)),
        }


def relative(halves: Array, exact: Array) -> float:
    """The mean over coefficients of lengths over non-private ones; columns of zeros have none."""
    seen = exact > 0.0
    return float((halves[seen] / exact[seen]).mean() / stats.norm.ppf((1.0 + LEVEL) / 2.0))


def columns_without_effect(setting: Setting) -> list[int]:
    """Parameters that are zero in the population."""
    m = setting.design.m
    found = [
        score * m + column
        for score in range(len(setting.truth) // m)
        for column in idle(setting.cell.data, setting.cell.d)
    ]
    if np.any(np.abs(setting.truth[found]) > 0.01 * setting.exact[found]):
        raise RuntimeError("A column without effect has one.")
    return found


def plain_sd(moments_of: Any, everyone: Any, truth: Array, n: int) -> Array:
    """Standard errors without privacy, at the same regularization."""
    sums = everyone.sum(pair, moments_of.risk, truth)
    hessian, covariance = (part / everyone.n for part in sums)
    lam = moments_of.risk.regularization
    inverse = np.linalg.inv(hessian + lam * np.eye(len(truth)))
    sigma = covariance - lam**2 * np.outer(truth, truth)
    return np.asarray(np.sqrt(np.diag(inverse @ sigma @ inverse) / n))


def summary(chances: Array, without: list[int]) -> dict[str, Any]:
    """Means with standard errors over the replicates; the last direction is a decision value."""
    count, p = len(chances), chances.shape[1] - 1
    covered, root = chances >= 1.0 - LEVEL, math.sqrt(len(chances))
    each = covered[:, :p].mean(axis=1)
    false = 1.0 - covered[:, without].mean(axis=1) if without else np.zeros(count)
    return {
        "coverage": float(each.mean()),
        "coverage_se": float(max(each.std(ddof=1), 0.5 / count) / root),
        "coverages": covered[:, :p].mean(axis=0).round(4).tolist(),
        "decision": float(covered[:, p].mean()),
        "joint": float((chances[:, :p].min(axis=1) >= (1.0 - LEVEL) / p).mean()),
        "idle": len(without),
        "false": float(false.mean()),
        "false_se": float(max(false.std(ddof=1), 0.5 / count) / root),
    }


def short(found: dict[str, Any]) -> bool:
    """Significantly below the limit, one-sided."""
    z = (found["coverage"] - LIMIT) / found["coverage_se"]
    return bool(stats.norm.cdf(z) < SURPRISE)


def stored() -> dict[str, dict[str, Any]]:
    """Results so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def main() -> None:
    """Measure what is missing, then write the page."""
    wanted = set(sys.argv[1:]) or {"measure", "write"}
    if "measure" in wanted:
        for cell in grid():
            known = stored().get(cell.key, {EARLIER: True})
            if EARLIER not in known:
                continue
            found = measure(cell)
            about = {"chooses": cell.chooses, "replicates": cell.replicates}
            results = stored() | {cell.key: asdict(cell) | about | found}
            RESULTS.write_text(json.dumps(results, indent=0) + "\n")
            numbers = f"{found.get('coverage', 0.0):.4f} {found.get('width', 0):.3f}"
            told = found.get("refused", numbers)
            tell(f"{cell.key}: {told} ({found.get('seconds', 0.0):.0f} s)")
    if "write" in wanted:
        from _interval_page import page

        write("interval_grid.md", page(stored(), short, MOST_FALSE, table, len(grid())))


if __name__ == "__main__":
    main()
