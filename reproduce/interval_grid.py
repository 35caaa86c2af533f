"""Do intervals cover what they say? Tables of every kind, small and large, at every budget.

A cell is a table that stands for the population, a number of rows, a loss and a budget for the fit
and its intervals together; everything else is a default. Each replicate draws rows from the table
with replacement, fits and makes intervals as ``fit_with_intervals`` does: share, designs, weighing,
noise and intervals come from the library, seeded. ``theta0`` is the table's own minimizer, so
coverage is known. For coefficients that are zero there, P < 0.05 is counted too.

The constants of ``privet/inference`` were chosen before, on other draws. Each cell is stored in
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
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from _common import HERE, table, tell, write
from _interval_tables import population
from scipy import stats

from privet import ZCDP, LinearSVC, LogisticRegression, PureDP
from privet._types import Array
from privet.domain import Box
from privet.errors import InfeasibleBudget, PrivetError
from privet.inference.confidence import _prepared
from privet.inference.mixture import quantiles, tails
from privet.inference.uncertainty import FitNoise, Uncertainty
from privet.inference.usefulness import refuse_useless
from privet.mechanisms.matrix import pair
from privet.minimize import minimize
from privet.randomness import InsecureSeed
from privet.rows import checked_rows

RESULTS = HERE / "interval_grid.json"
LEVEL, LIMIT, SURPRISE, MOST_FALSE = 0.95, 0.93, 1e-3, 0.06
CONSTANT = 0.5
#: a coefficient of the population this far from zero, in standard errors, has no effect
IDLE = 0.1


@dataclass(frozen=True)
class Cell:
    """One setting; ``budget`` is an epsilon or a rho."""

    data: str
    d: int
    n: int
    loss: str
    kind: str  # "pure" or "rho"
    budget: float
    replicates: int = 400

    @property
    def key(self) -> str:
        """A name for the file of results."""
        return "|".join(str(value) for value in asdict(self).values())

    def model(self) -> Any:
        """With its defaults."""
        if self.data == "adult4box":
            return LogisticRegression(insecure_seed=0, classes=range(2), domain=Box(4, 0.5))
        if self.loss == "Huber":
            return LinearSVC(insecure_seed=0)
        return LogisticRegression(
            insecure_seed=0, classes=range(3 if self.loss == "softmax" else 2)
        )


def grid() -> list[Cell]:
    """Small tables first; a run takes every second cell, then the others."""
    cells = []
    for data, d in (("even", 1), ("skewed", 1), ("adult4", 4), ("skewed", 4), ("constant", 5)):
        for n, budgets in ((500, (4.0,)), (2000, (1.0, 8.0)), (8000, (0.5, 5.0, 8.0))):
            cells += [Cell(data, d, n, "logistic", "pure", budget) for budget in budgets]
    for data, d in (("even", 1), ("adult4", 4), ("constant", 5), ("correlated", 10)):
        for n, budget in ((500, 0.5), (2000, 2.0), (10_000, 0.01), (10_000, 0.3)):
            cells.append(Cell(data, d, n, "logistic", "rho", budget))
    for data, d in (("even", 1), ("skewed", 4), ("adult4", 4), ("onehot", 8)):
        for n, kind, budget in ((2000, "pure", 6.0), (8000, "rho", 0.05), (8000, "pure", 2.0)):
            cells.append(Cell(data, d, n, "Huber", kind, budget))
    for data, d in (("even", 2), ("correlated", 3), ("onehot", 8)):
        for n, kind, budget in ((2000, "pure", 8.0), (4000, "rho", 0.5), (8000, "pure", 4.0)):
            cells.append(Cell(data, d, n, "softmax", kind, budget))
    for data, d in (("correlated", 10), ("onehot", 20), ("skewed", 10), ("adult37", 37)):
        for n, kind, budget in ((5000, "pure", 8.0), (10_000, "rho", 0.2)):
            cells.append(Cell(data, d, n, "logistic", kind, budget))
    for data, d in (("even", 40), ("onehot", 40)):
        for n, kind, budget in ((20_000, "pure", 8.0), (20_000, "rho", 0.2)):
            cells.append(Cell(data, d, n, "logistic", kind, budget))
    for data, kind, budget in (("adult4", "pure", 0.5), ("skewed", "rho", 0.01)):
        cells.append(Cell(data, 4, 100_000, "logistic", kind, budget))
    for data, kind, budget in (("even", "pure", 0.5), ("adult4", "rho", 0.01)):
        d = 4 if data == "adult4" else 1
        cells.append(Cell(data, d, 1_000_000, "logistic", kind, budget, 100))
    cells += [Cell("adult4box", 4, n, "logistic", "pure", 8.0) for n in (2000, 8000)]
    return cells


@lru_cache(maxsize=2)
def rows_of(data: str, d: int, classes: int) -> tuple[Array, Any]:
    """The population and its classes."""
    return population(data, d, classes)


def measure(cell: Cell) -> dict[str, Any]:
    """Coverage, lengths and false positives of one cell, or its refusal."""
    x, y = rows_of(cell.data, cell.d, 3 if cell.loss == "softmax" else 2)
    start, seed = time.process_time(), zlib.crc32(cell.key.encode())
    generator, noise = np.random.default_rng(seed), InsecureSeed(seed)
    sample = generator.integers(0, len(y), cell.n)
    budget = PureDP(cell.budget) if cell.kind == "pure" else ZCDP(cell.budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = _prepared(cell.model(), x[sample], y[sample], budget, "auto")
            refuse_useless(made.moments, made.fit.design, LEVEL)
        except InfeasibleBudget as error:
            return {"refused": str(error)}
    design, matrices = made.fit.design, made.moments.design(made.fit.design.n, made.fit.design.m)
    loss, mechanism = design.risk.loss, made.fit.mechanism

    def rows(index: Any) -> Any:
        return checked_rows(x[index], loss.targets(y[index]), norm_bound=1.0, constant=CONSTANT)

    everyone = rows(slice(None))
    truth = minimize(design.risk, everyone, tolerance=1e-9).certified()
    gap = 0.0 if design.gap is None else design.gap.coordinate_sd
    fit = FitNoise(design.event.mechanism, design.main, gap)
    unit, exact = np.eye(len(truth)), plain_sd(made.moments, everyone, truth, cell.n)
    idle = np.flatnonzero(np.abs(truth) < IDLE * exact)
    covered, halves, values = [], [], []
    for i in range(cell.replicates):
        sampled = rows(generator.integers(0, len(y), cell.n))
        theta = mechanism.perturb(sampled, design, noise)
        hessian, covariance = (part / cell.n for part in sampled.sum(pair, design.risk, theta))
        weighing = made.moments.weigh(cell.n, theta, matrices.noise.kind)
        noisy = made.moments.perturb(hessian, covariance, weighing, matrices, noise)
        about = Uncertainty(theta, noisy, design.risk.regularization, cell.n, fit, i)
        parts = about.parts(unit)
        halves.append(quantiles(1.0 - LEVEL, parts, design.main))
        covered.append(np.abs(theta - truth) <= halves[-1])
        values.append(tails(np.abs(theta), parts, design.main)[idle])
    ratio = np.mean(halves, axis=0) / (exact * stats.norm.ppf((1.0 + LEVEL) / 2.0))
    return {
        "share": made.fit.design.event.claim.amount / budget.amount,
        "matrix_noise": matrices.noise.kind,
        **summary(np.array(covered), np.array(values)),
        "width": float(ratio.mean()),
        "typical_width": float((np.median(halves, axis=0) / exact / 1.96).mean()),
        "seconds": time.process_time() - start,
    }


def plain_sd(moments: Any, everyone: Any, truth: Array, n: int) -> Array:
    """Standard errors without privacy, at the same regularization."""
    hessian, covariance = (part / everyone.n for part in everyone.sum(pair, moments.risk, truth))
    lam = moments.risk.regularization
    inverse = np.linalg.inv(hessian + lam * np.eye(len(truth)))
    sigma = covariance - lam**2 * np.outer(truth, truth)
    return np.asarray(np.sqrt(np.diag(inverse @ sigma @ inverse) / n))


def summary(covered: Array, values: Array) -> dict[str, Any]:
    """Means with standard errors over the replicates, and of single coefficients."""
    count, each = len(covered), covered.mean(axis=1)
    false = (values < 0.05).mean(axis=1) if values.shape[1] else np.zeros(count)
    root = math.sqrt(count)
    return {
        "coverage": float(each.mean()),
        "coverage_se": float(max(each.std(ddof=1), 0.5 / count) / root),
        "coverages": covered.mean(axis=0).round(4).tolist(),
        "idle": int(values.shape[1]),
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
        cells = list(enumerate(grid()))
        for place, cell in cells[::2] + cells[1::2]:
            if cell.key in stored():
                continue
            try:
                found = measure(cell)
            except PrivetError as error:
                found = {"refused": str(error)}
            results = stored() | {cell.key: {"place": place} | asdict(cell) | found}
            RESULTS.write_text(json.dumps(results, indent=0) + "\n")
            told = found.get(
                "refused", f"{found.get('coverage', 0.0):.4f} {found.get('width', 0):.3f}"
            )
            tell(f"{place} {cell.key}: {told} ({found.get('seconds', 0.0):.0f} s)")
    if "write" in wanted:
        write_page(stored())


def write_page(results: dict[str, dict[str, Any]]) -> None:
    """The tables and the verdicts."""
    from _interval_page import page

    write("interval_grid.md", page(results, short, MOST_FALSE, table, len(grid())))


if __name__ == "__main__":
    main()
