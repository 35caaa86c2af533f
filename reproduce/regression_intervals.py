"""Coverage of the intervals of regressions: how many of them hold the value they are for?

    python -m reproduce.regression_intervals [measure] [write]

A made-up table of 40,000 rows stands for the population, or a real one of 442 (scikit-learn's
diabetes). Each replicate draws rows from it with replacement and calls ``fit_with_intervals`` with
one budget for both and defaults for everything else, seeded. The value that an interval is for, the
table's own minimizer at the model's regularization, is known. Every third column has no effect. A
cell is stored in ``regression_intervals.json`` when it is done: a run can be stopped and continued.
"""

from __future__ import annotations

import json
import math
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from privet import (
    ZCDP,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    PureDP,
    fit_with_intervals,
)
from privet.errors import InfeasibleBudget, quietly
from privet.minimize import minimize
from privet.models.released import Released
from privet.rows.arrays import checked_rows

Array = NDArray[np.float64]
PAGE = Path(__file__).with_name("regression_intervals.md")
RESULTS = PAGE.with_suffix(".json")
POPULATION = 40_000
LEVEL, LIMIT, SURPRISE = 0.95, 0.93, 1e-3
#: replicates of a cell, and of one with a million rows
MANY, FEW, LARGE = 400, 100, 1_000_000
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "linear, normal": (LinearRegression, {"target_bounds": (0, 100), "mechanism": "objective"}),
    "linear, uneven": (LinearRegression, {"target_bounds": (0, 100), "mechanism": "objective"}),
    "Huber, skewed": (HuberRegressor, {"target_bounds": (0, 100), "knee": 10.0}),
    "Huber, heavy tails": (HuberRegressor, {"target_bounds": (0, 100), "knee": 5.0}),
    "Huber, diabetes": (HuberRegressor, {"target_bounds": (0, 350)}),
    "Poisson": (PoissonRegressor, {"target_bounds": (0, 20)}),
    "Poisson, overdispersed": (PoissonRegressor, {"target_bounds": (0, 20)}),
}
#: columns, rows, kind of budget and amount
SETTINGS = (
    (1, 500, "pure", 4.0), (1, 500, "rho", 0.5), (1, 2_000, "pure", 1.0), (1, 10_000, "rho", 0.01),
    (2, 2_000, "pure", 1.0), (2, 20_000, "rho", 0.1), (5, 2_000, "pure", 8.0),
    (5, 10_000, "rho", 0.1), (10, 10_000, "pure", 8.0), (10, 10_000, "rho", 0.5),
    (20, 20_000, "rho", 0.5), (40, 20_000, "rho", 2.0), (40, 20_000, "pure", 8.0),
    (5, 100_000, "pure", 0.5), (10, 100_000, "rho", 0.05), (5, LARGE, "pure", 0.5),
    (20, LARGE, "rho", 0.05),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One setting; ``budget`` is an epsilon or a rho, for the fit and its intervals."""

    kind: str
    d: int
    n: int
    unit: str
    budget: float

    @property
    def key(self) -> str:
        """A name for the file of results."""
        return "|".join(str(value) for value in asdict(self).values())

    @property
    def replicates(self) -> int:
        """How often it is repeated."""
        return MANY if self.n < LARGE else FEW


def grid() -> list[Cell]:
    """Every cell, the largest last, else in an order that is fair wherever a run is stopped."""
    cells = [
        Cell(kind, *setting)
        for kind in KINDS
        for setting in SETTINGS
        if kind != "Huber, diabetes" or (setting[0] == 10 and setting[1] < LARGE)
    ]
    return sorted(cells, key=lambda cell: (cell.n // 100_000, zlib.crc32(cell.key.encode())))


@lru_cache(maxsize=4)
def population(kind: str, d: int) -> tuple[Array, Array]:
    """Rows of norm at most one, and targets."""
    if kind == "Huber, diabetes":
        from sklearn.datasets import load_diabetes

        x, y = load_diabetes(return_X_y=True)
        return x / np.linalg.norm(x, axis=1).max(), y
    rng = np.random.default_rng(zlib.crc32(f"{kind} {d}".encode()))
    x = rng.uniform(-1.0, 1.0, (POPULATION, d)) / math.sqrt(d)
    effects = np.where(np.arange(d) % 3 == 2, 0.0, 1.0 / (1.0 + np.arange(d)))
    score = math.sqrt(d) * (x @ (effects / np.linalg.norm(effects)))  # of standard deviation 0.58
    if kind.startswith("Poisson"):
        rate = np.exp(1.2 + 0.8 * score)
        if kind == "Poisson, overdispersed":
            rate = rate * rng.gamma(2.0, 0.5, POPULATION)
        return x, rng.poisson(rate).astype(np.float64)
    residual = {
        "linear, normal": lambda: rng.normal(size=POPULATION),
        "linear, uneven": lambda: rng.normal(size=POPULATION) * (1.0 + score),
        "Huber, skewed": lambda: rng.exponential(size=POPULATION) - 1.0,
        "Huber, heavy tails": lambda: rng.standard_t(2, size=POPULATION),
    }[kind]()
    return x, 50.0 + 15.0 * score + 6.0 * residual


def truth_of(model: Any, x: Array, y: Array) -> Array:
    """Coefficients and intercept of the population at this model's regularization."""
    released = Released.of(model)
    design, view = released.design, released.view
    targets = design.risk.loss.targets(model._encoded_labels(y, model.classes_))
    rows = checked_rows(x, targets, norm_bound=view.bound, constant=view.constant)
    theta = minimize(design.risk, rows, tolerance=1e-10).certified() * released.unit
    return np.append(theta[:-1], theta[-1] * (view.constant or 0.0))


def measure(cell: Cell) -> dict[str, Any]:
    """Coverage, lengths and false positives of one cell, or its refusal."""
    (make, declared), (x, y) = KINDS[cell.kind], population(cell.kind, cell.d)
    budget = PureDP(cell.budget) if cell.unit == "pure" else ZCDP(cell.budget)
    start, key = time.process_time(), zlib.crc32(cell.key.encode())
    errors, halves, ps, truth = [], [], [], None
    for turn in range(cell.replicates):
        rows = np.random.default_rng([key, turn]).integers(0, len(y), cell.n)
        try:
            with quietly():
                model = make(insecure_seed=key + turn, **declared)
                fitted, found = fit_with_intervals(model, x[rows], y[rows], budget=budget)
                truth = truth_of(fitted, x, y) if truth is None else truth
        except InfeasibleBudget as refusal:
            return {"refused": str(refusal)}
        errors.append(found.estimate - truth)
        halves.append(found.half_width)
        ps.append(found.p_value)
    return summary(np.array(errors), np.array(halves), np.array(ps), cell) | {
        "seconds": time.process_time() - start
    }


def summary(errors: Array, halves: Array, ps: Array, cell: Cell) -> dict[str, Any]:
    """Means with standard errors over the replicates."""
    covered, count = np.abs(errors) <= halves, len(errors)
    each = covered.mean(axis=1)
    idle = [] if cell.kind == "Huber, diabetes" else list(range(2, cell.d, 3))
    shortest = stats.norm.ppf((1.0 + LEVEL) / 2.0) * errors.std(axis=0)
    return {
        "coverage": float(each.mean()),
        "coverage_se": float(max(each.std(ddof=1), 0.5 / count) / math.sqrt(count)),
        "lowest": float(covered.mean(axis=0).min()),
        "width": float((np.median(halves, axis=0) / shortest).mean()),
        "false": float((ps[:, idle] < 1.0 - LEVEL).mean()) if idle else None,
    }


def short(found: dict[str, Any]) -> bool:
    """Significantly below the limit, one-sided."""
    z = (found["coverage"] - LIMIT) / found["coverage_se"]
    return bool(stats.norm.cdf(z) < SURPRISE)


def stored() -> dict[str, dict[str, Any]]:
    """Results so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


HEAD = """# Coverage of the intervals of regressions

Made by `python -m reproduce.regression_intervals`. A table stands for the population; each
replicate draws rows from it, fits and makes intervals with one budget for both
(`fit_with_intervals`). 400 replicates, 100 with a million rows, nominal 0.95. *Coverage* is the
mean over the coefficients and the intercept with its standard error over the replicates,
*lowest* that of the worst of them; *length* is the median length over 1.96 standard deviations
of the released numbers (1 is as short as honest intervals can be), mean of the coefficients;
*false* is how often P < 0.05 for columns without effect. A cell is *short* when it is
significantly below 0.93 (one-sided p < 0.001). The rule for the second moment's trace
(`RESIDUAL` in `privet/inference/uncertainty.py`) was made on two columns, 2,000 rows and other
seeds; the constants are those of the hinge.

"""


def lines(results: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Of the page."""
    told = [found for found in results.values() if "refused" not in found]
    yield (
        f"{len(results)} of {len(grid())} planned cells were run: {len(results) - len(told)} "
        f"refused, {sum(map(short, told))} short; lowest coverage "
        f"{min(found['coverage'] for found in told):.3f}, mean "
        f"{sum(found['coverage'] for found in told) / len(told):.3f}.\n"
    )
    yield "| model | d | rows | budget | coverage | lowest | length | false | |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for found in sorted(results.values(), key=lambda one: (one["kind"], one["d"], one["n"])):
        name = "eps" if found["unit"] == "pure" else "rho"
        head = f"| {found['kind']} | {found['d']} | {found['n']:,} | {name} {found['budget']:g} |"
        if "refused" in found:
            yield f"{head} refused | | | | |"
            continue
        false = "" if found["false"] is None else f"{found['false']:.3f}"
        yield (
            f"{head} {found['coverage']:.3f} ± {found['coverage_se']:.3f} | {found['lowest']:.3f} "
            f"| {found['width']:.2f} | {false} | {'**short**' if short(found) else ''} |"
        )


def main() -> None:
    """Measure what is missing, then write the page."""
    wanted = set(sys.argv[1:]) or {"measure", "write"}
    if "measure" in wanted:
        for cell in grid():
            if cell.key in stored():
                continue
            found = measure(cell)
            results = stored() | {cell.key: asdict(cell) | found}
            RESULTS.write_text(json.dumps(results, indent=0) + "\n")
            print(cell.key, found.get("refused", found), flush=True)
    if "write" in wanted:
        PAGE.write_text(HEAD + "\n".join(lines(stored())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
