"""Coverage and length of private confidence intervals (Wang, Kifer and Lee 2018, section 7).

As in the paper, the table stands for the population: ``theta0`` is its minimizer, each bootstrap
replicate is a sample, on which the model is fitted privately and its intervals are computed. The
variability interval of a coefficient is what its released values keep 95 times in 100: no interval
can be shorter. Replicates are multinomial weights on the distinct rows (``_weighted.py``); fits,
matrices and intervals come from the library's own mechanisms, on the weighted sums, seeded.

Each cell is stored in ``wang2018.json`` when it is done: a run can be stopped and continued.

Run: python reproduce/wang2018.py [measure] [write]   (needs PRIVET_DATA; about an hour of one core)
"""

from __future__ import annotations

import json
import math
import sys
import time
import zlib
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import tables
from _common import HERE, kdd99, tell
from _interval_page import EARLIER
from _weighted import Distinct, distinct, minimizers, moments
from tables.columns import Column, each
from two_matrices import TwoMatrices

from privet import ZCDP, PureDP
from privet._types import Array
from privet.inference.mixture import quantiles
from privet.inference.uncertainty import (
    HINGE,
    LIKELIHOOD,
    FitNoise,
    Uncertainty,
    WiderUncertainty,
)
from privet.losses import HuberHinge, Logistic
from privet.losses.margin import MarginLoss
from privet.mechanisms import MECHANISMS, Design
from privet.mechanisms.matrix import SecondMoments
from privet.randomness import InsecureSeed

RESULTS = HERE / "wang2018.json"
#: how much released coefficients vary, from more draws; it is about fits, not about their intervals
FITS = HERE / "wang2018_fits.json"
SEED = 2018
LAM = 0.002  # c = 0.001 of the paper, whose regularizer is c |theta|^2
LOSSES: dict[str, MarginLoss] = {"logistic": Logistic(), "Huber": HuberHinge(1.0)}
LEVEL = 0.95
BATCH = 250
#: Adult as in the paper, 37 columns: every category of five fields, numbers by declared bounds
_FULL = tables.ADULT_FULL
ADULT_37: dict[str, Column] = {
    **{name: _FULL[name] for name in ("age", "education-num", "capital-gain", "capital-loss")},
    **{name: _FULL[name] for name in ("hours-per-week", "workclass", "marital-status")},
    **{name: _FULL[name] for name in ("occupation", "sex")},
    "native-country": each("United-States", "another"),
}


@dataclass(frozen=True)
class Cell:
    """One setting: data, what is fitted how, and the budgets as epsilons (rho = eps^2/2)."""

    data: str
    d: int
    n: int
    mechanism: str
    loss: str
    kind: str  # "pure" or "zCDP"
    epsilon: float = 0.5
    matrices: tuple[float, float] = (0.25, 0.25)
    construction: str = "ours"  # or "wang2018"
    replicates: int = 1000
    draws: int = 4000  # for the variability interval

    @property
    def key(self) -> str:
        """A name for the file of results."""
        return "|".join(str(value) for value in asdict(self).values())

    @property
    def fit(self) -> str:
        """A name for what is fitted, whatever its intervals are."""
        names = ("data", "d", "n", "mechanism", "loss", "kind", "epsilon")
        return "|".join(str(getattr(self, name)) for name in names)

    def budgets(self) -> tuple[Any, Any]:
        """Of the fit, and of both matrices."""
        if self.kind == "pure":
            return PureDP(self.epsilon), PureDP(sum(self.matrices))
        rhos = [epsilon**2 / 2.0 for epsilon in self.matrices]
        return ZCDP(self.epsilon**2 / 2.0), ZCDP(sum(rhos))

    def design(self, n: int, m: int) -> Design:
        """The fit. The paper's zCDP objective perturbation is its pure one, converted."""
        budget, _ = self.budgets()
        theirs = self.construction == "wang2018" and self.mechanism == "objective"
        calibration = "wang2018" if theirs else None
        budget = PureDP(self.epsilon) if theirs else budget
        mechanism = MECHANISMS[self.mechanism](
            LOSSES[self.loss], budget, regularization=LAM, calibration=calibration, insecure_seed=0
        )
        return mechanism.design(n, m)


@lru_cache(maxsize=4)
def table(data: str, d: int, n: int) -> Distinct:
    """The first ``d`` permuted columns and ``n`` permuted rows, a constant added, norms 1."""
    x, y = _raw(data)
    generator = np.random.default_rng(SEED)
    columns = generator.permutation(x.shape[1])[:d]
    rows = generator.permutation(len(y))[:n]
    x = np.concatenate([x[rows][:, columns], np.ones((len(rows), 1))], axis=1)
    return distinct(x / np.linalg.norm(x, axis=1)[:, None], y[rows])


@lru_cache(maxsize=2)
def _raw(data: str) -> tuple[Array, Any]:
    if data == "KDD99":
        found = kdd99(450_000)
        return found.x, found.y
    columns, y = tables.adult()
    train = columns["split"] == "train"
    return tables.encode(columns, ADULT_37)[train], y[train]


def measure(cell: Cell) -> dict[str, Any]:
    """Coverage, lengths and variability of one cell."""
    start, rows, loss = time.process_time(), table(cell.data, cell.d, cell.n), LOSSES[cell.loss]
    n, m = rows.n, rows.z.shape[1]
    design = cell.design(n, m)
    seed = zlib.crc32(cell.key.encode())
    generator, noise = np.random.default_rng(seed), InsecureSeed(seed)
    everyone = rows.counts[None, :].astype(float)
    truth = minimizers(loss, rows, everyone, LAM, np.zeros((1, m)), np.zeros(m))[0]
    thetas, halves = [], []
    for first in range(0, cell.draws, BATCH):
        count = min(BATCH, cell.draws - first)
        weights = rows.replicates(generator, count)
        found = fitted(cell, design, rows, weights, truth, noise)
        thetas.append(found)
        wanted = min(cell.replicates - first, count)
        if wanted > 0:
            halves.append(half_widths(cell, design, rows, weights[:wanted], found[:wanted], noise))
    found = summary(np.concatenate(thetas), np.concatenate(halves), truth)
    known = json.loads(FITS.read_text()).get(cell.fit, {"draws": 0})
    if cell.construction == "ours" and known["draws"] > cell.draws:
        found |= known
    return found | {
        "distinct": len(rows.z),
        "seconds": time.process_time() - start,
    }


def fitted(
    cell: Cell, design: Design, rows: Distinct, weights: Array, truth: Array, noise: InsecureSeed
) -> Array:
    """The released parameters of each replicate."""
    loss, k = LOSSES[cell.loss], len(weights)
    b = design.main.sample(noise, k)
    if cell.mechanism == "output":
        return minimizers(loss, rows, weights, LAM, np.zeros_like(b), truth) + b
    found = minimizers(loss, rows, weights, LAM, b, truth)
    return found if design.gap is None else found + design.gap.sample(noise, k)


def half_widths(
    cell: Cell, design: Design, rows: Distinct, weights: Array, thetas: Array, noise: InsecureSeed
) -> Array:
    """Half the length of each coefficient's interval, by the library, for each replicate."""
    theirs = cell.construction == "wang2018"
    kind = TwoMatrices if theirs else SecondMoments
    released = kind(design.risk, cell.budgets()[1], insecure_seed=0)
    matrices = released.design(design.n, design.m)
    fit = FitNoise(
        cell.mechanism, design.main, 0.0 if design.gap is None else design.gap.coordinate_sd
    )
    caution = LIKELIHOOD if cell.loss == "logistic" else HINGE
    out, unit = np.empty_like(thetas), np.eye(design.m)
    pairs = zip(thetas, *moments(LOSSES[cell.loss], rows, weights, thetas), strict=True)
    for i, (theta, hessian, covariance) in enumerate(pairs):
        weighing = released.weigh(design.n, theta, matrices.noise.kind)
        noisy = released.perturb(hessian, covariance, weighing, matrices, noise)
        about = (WiderUncertainty if theirs else Uncertainty)(
            theta, noisy, LAM, design.n, fit, seed=i, caution=caution
        )
        parts = about.parts(unit)
        out[i] = quantiles(1.0 - LEVEL, parts, design.main)
    return out


def summary(thetas: Array, halves: Array, truth: Array) -> dict[str, Any]:
    """Per coefficient and on average, with standard errors over the replicates."""
    count = len(halves)
    covered = np.abs(thetas[:count] - truth) <= halves
    each_one = covered.mean(axis=1)
    ends = np.quantile(thetas, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    lengths = 2.0 * halves
    variability = (ends[1] - ends[0]).mean()
    return {
        "coverage": float(covered.mean()),
        "coverage_se": float(each_one.std(ddof=1) / math.sqrt(count)),
        "coverages": covered.mean(axis=0).round(4).tolist(),
        "length": float(lengths.mean()),
        "length_sd": float(lengths.mean(axis=1).std(ddof=1)),
        "first_length": float(lengths[:, 0].mean()),
        "variability": float(variability),
        "variability_se": _variability_se(thetas),
        "first_variability": float(ends[1, 0] - ends[0, 0]),
    }


def _variability_se(thetas: Array) -> float:
    """Of the mean length of the variability intervals, from ten groups of draws."""
    groups = np.array_split(thetas, 10)
    ends = [np.quantile(g, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0) for g in groups]
    means = [(e[1] - e[0]).mean() for e in ends]
    return float(np.std(means, ddof=1) / math.sqrt(10))


def grid() -> list[Cell]:
    """Every cell, the ones that decide first."""
    return [*ours(), *theirs(), *trends()]


def ours() -> list[Cell]:
    """The intervals as they are, at the paper's settings."""
    cells = []
    for d in (10, 1, 37, 5, 2):
        replicates = {1: 600, 2: 600, 37: 150}.get(d, 400)
        for kind in ("zCDP", "pure"):
            for loss in LOSSES:
                for mechanism in ("objective", "output"):
                    cell = Cell("Adult", d, 30_162, mechanism, loss, kind)
                    cells.append(_with(cell, replicates=replicates, draws=replicates))
    return cells


def theirs() -> list[Cell]:
    """The paper's construction, at its settings."""
    cells = []
    for d in (10, 1, 2, 5, 37):
        for kind in ("zCDP", "pure"):
            for loss in LOSSES:
                for mechanism in ("objective", "output"):
                    cell = Cell("Adult", d, 30_162, mechanism, loss, kind)
                    cells.append(_with(cell, construction="wang2018", replicates=250, draws=1000))
    return cells


def trends() -> list[Cell]:
    """Figures 1-4: more rows of KDD99, other budgets on Adult."""
    cells = []
    ways = [(m, k) for m in ("objective", "output") for k in ("pure", "zCDP")]
    for n in (50_000, 150_000, 450_000):
        for loss in LOSSES:
            for mechanism, kind in ways:
                for construction in ("ours", "wang2018"):
                    cell = Cell("KDD99", 10, n, mechanism, loss, kind)
                    counts = (200, 400) if construction == "wang2018" else (100, 100)
                    more = {"replicates": counts[0], "draws": counts[1]}
                    cells.append(_with(cell, construction=construction, **more))
    for epsilon in (0.3, 1.0):
        for loss in LOSSES:
            for mechanism, kind in ways:
                cell = Cell("Adult", 10, 30_162, mechanism, loss, kind, epsilon)
                cells.append(_with(cell, replicates=100, draws=100))
    for share in (0.1, 1.0):
        for loss in LOSSES:
            for mechanism, kind in ways:
                cell = Cell("Adult", 10, 30_162, mechanism, loss, kind, 0.5, (share, share))
                cells.append(_with(cell, replicates=100, draws=100))
    return cells


def _with(cell: Cell, **changes: Any) -> Cell:
    return Cell(**(asdict(cell) | changes))


def stored() -> dict[str, dict[str, Any]]:
    """Results so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def main() -> None:
    """Measure what is missing, then write the page and the pictures."""
    wanted = set(sys.argv[1:]) or {"measure", "write"}
    if "measure" in wanted:
        for cell in grid():
            if EARLIER not in stored().get(cell.key, {EARLIER: True}):
                continue
            found = measure(cell)
            results = stored() | {cell.key: asdict(cell) | found}
            RESULTS.write_text(json.dumps(results, indent=0) + "\n")
            ratio = found["length"] / found["variability"]
            tell(
                f"{cell.key}: coverage {found['coverage']:.4f} ± {found['coverage_se']:.4f}, "
                f"length {ratio:.3f} of the variability, {found['seconds']:.0f} s"
            )
    if "write" in wanted:
        from _wang2018_page import write_all

        write_all(stored())


if __name__ == "__main__":
    main()
