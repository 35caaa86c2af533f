"""Would intervals without matrices be shorter? Private medians of little bootstraps, small tables.

Chadha, Duchi and Kuditipudi (2024, "Resampling methods for private statistical inference") cut the
table into ``s`` parts, let each part tell how far the estimate may be off (a bag of little
bootstraps: resamples of ``n`` rows from ``n/s``), and release the median of what they say. A row
is in one part, so the median costs little, however wild the parts are. For coefficients with known
noise a length is what is told; each coefficient needs a median of its own.

Here the rival gets more than any user would:

- every part tells the limit of endless resampling, the sandwich at the released parameters with the
  fit's noise in it; nothing is lost to a finite number of resamples or to another optimum
- the median is the exponential mechanism's on a logarithmic scale between public ends, which are
  those of the exact lengths, divided and multiplied by 10
- the number of parts, the fit's share, and one factor that makes the mean coverage exactly 0.95 are
  chosen in hindsight for each cell, by the exact answer

Ours is ``fit_with_intervals`` with defaults, nothing in hindsight. What is compared is the mean
length over that of non-private intervals at the same regularization.

Run: python reproduce/little_bootstraps.py   (needs PRIVET_DATA; some minutes)
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
import zlib
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from _common import HERE, table, tell, write
from _interval_cells import Cell
from interval_grid import CONSTANT, LEVEL, Setting, plain_sd, rows_for, setting_of
from scipy.optimize import brentq

from privet import PureDP
from privet._types import Array
from privet.errors import InfeasibleBudget
from privet.inference.budget_shares import prepared_intervals
from privet.inference.mixture import Parts, quantiles, tails
from privet.mechanisms.matrix import pair
from privet.minimize import minimize
from privet.randomness import InsecureSeed

RESULTS = HERE / "little_bootstraps.json"
REPLICATES = 60
SHARES = (0.5, 0.7, 0.85)
PARTS = (8, 16, 32, 64)
#: rows that a part needs for each parameter, to have a sandwich at all
LEAST_ROWS = 3
RANGE = 10.0
NORMAL = 1.959964

HEAD = """# Intervals from little bootstraps

Written by `python reproduce/little_bootstraps.py`. Chadha, Duchi and Kuditipudi (2024) need no
matrix: each of s parts of the table tells a length, and the median is released privately.
*Bootstraps* are these in hindsight: the number of parts, the fit's share and a factor that makes
the mean coverage exactly 0.95 are the best for each cell; resamples without end; public ends within
a factor of 10 of the exact lengths. *Ours* is `fit_with_intervals` with defaults and nothing in
hindsight; *ours, scaled* has the same factor in hindsight; *bare* is the coverage of the bootstraps
without their factor, where they are shorter than ours. Numbers are mean lengths over
non-private ones at the same regularization, over {replicates} replicates; coverage is
worked out from the law of the error with the exact matrices, to first order.

"""


def cells() -> list[Cell]:
    """Small tables."""
    tables = (("even", 1), ("skewed", 1), ("adult4", 4), ("constant", 5))
    return [
        Cell(data, d, n, "logistic", "pure", budget)
        for data, d in tables
        for n in (500, 2000, 5000)
        for budget in (1.0, 8.0)
    ]


def with_share(setting: Setting, share: float) -> Setting:
    """The same with another share for the fit."""
    cell = setting.cell
    sample = np.random.default_rng(0).integers(0, len(setting.y), cell.n)
    x, y = setting.x[sample], setting.y[sample]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = prepared_intervals(cell.model(), x, y, cell.asked(), share)
    found = replace(setting, made=made)
    everyone = rows_for(found, slice(None))
    truth = minimize(made.fit.design.risk, everyone, tolerance=1e-9).certified()
    return replace(found, truth=truth, exact=plain_sd(made.moments, everyone, truth, cell.n))


def private_median(
    values: Array, epsilon: float, low: float, high: float, generator: np.random.Generator
) -> float:
    """The exponential mechanism for the rank of a median; one part moves ranks by one."""
    inside = np.sort(np.clip(values, low, high))
    ends = np.concatenate([[low], inside, [high]])
    ranks = np.abs(np.arange(len(values) + 1) - len(values) / 2.0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(ends)) - epsilon * ranks / 2.0
    gumbel = generator.gumbel(size=len(logs))
    at = int(np.argmax(logs + gumbel))
    return float(generator.uniform(ends[at], ends[at + 1]))


def told(setting: Setting, rows: Array, signs: Array, theta: Array, parts: int) -> Array:
    """What each part says of the logarithm of each length: (parts, p)."""
    design, n, p = setting.design, setting.cell.n, len(theta)
    size = n // parts
    z = (rows * signs[:, None])[: parts * size].reshape(parts, size, p)
    margins = z @ theta
    slope, curvature = (
        design.risk.loss.margin_slope(margins),
        design.risk.loss.margin_curvature(margins),
    )
    hessians = np.einsum("kip,ki,kiq->kpq", z, curvature, z) / size
    second = np.einsum("kip,ki,kiq->kpq", z, slope**2, z) / size
    inverse = np.linalg.inv(hessians + design.risk.regularization * np.eye(p))
    noise = (design.main.coordinate_sd / n) ** 2 * np.eye(p)
    spread = inverse @ (second / n + noise) @ inverse
    return np.asarray(0.5 * np.log(np.maximum(np.diagonal(spread, axis1=1, axis2=2), 1e-300)))


def rival(setting: Setting, epsilon: float) -> dict[int, Array]:
    """Half lengths of all replicates, for each number of parts."""
    cell, design = setting.cell, setting.design
    seed = zlib.crc32(cell.key.encode()) + 1
    generator, noise = np.random.default_rng(seed), InsecureSeed(seed)
    p = len(setting.truth)
    possible = [parts for parts in PARTS if cell.n // parts >= LEAST_ROWS * p]
    out: dict[int, list[Array]] = {parts: [] for parts in possible}
    ends = np.log(setting.exact / RANGE), np.log(setting.exact * RANGE)
    for _ in range(REPLICATES):
        index = generator.integers(0, len(setting.y), cell.n)
        theta = setting.made.fit.mechanism.perturb(rows_for(setting, index), design, noise)
        rows = np.concatenate([setting.x[index], np.full((cell.n, 1), CONSTANT)], axis=1)
        signs = design.risk.loss.targets(setting.y[index])
        for parts in possible:
            logs = told(setting, rows, signs, theta, parts)
            medians = [
                private_median(logs[:, j], epsilon / p, ends[0][j], ends[1][j], generator)
                for j in range(p)
            ]
            out[parts].append(NORMAL * np.exp(medians))
    return {parts: np.array(halves) for parts, halves in out.items()}


class Truth:
    """The law of the error with the exact matrices, to first order: what lengths are judged by."""

    def __init__(self, setting: Setting) -> None:
        design, n, p = setting.design, setting.cell.n, len(setting.truth)
        everyone = rows_for(setting, slice(None))
        sums = everyone.sum(pair, design.risk, setting.truth)
        hessian = sums[0] / everyone.n + design.risk.regularization * np.eye(p)
        through = np.linalg.inv(hessian) / n
        gap = 0.0 if design.gap is None else design.gap.coordinate_sd
        self.exact, self.main = setting.exact, design.main
        self._normal = setting.exact**2 + gap**2
        self._spread = np.asarray(design.main.relative_variance(through))

    def coverage(self, halves: Array) -> float:
        """The mean over replicates and coefficients."""
        normal, spread = (np.tile(v, len(halves))[None, :] for v in (self._normal, self._spread))
        parts = Parts(normal, spread, np.ones_like(normal))
        return 1.0 - float(tails(halves.reshape(-1), parts, self.main).mean())

    def width(self, halves: Array) -> float:
        """The mean length over the non-private one."""
        return float((halves.mean(axis=0) / self.exact).mean()) / NORMAL

    def scaled(self, halves: Array) -> float:
        """The same with the factor that makes the coverage 0.95."""
        found = brentq(lambda t: self.coverage(math.exp(t) * halves) - LEVEL, -5.0, 5.0, xtol=1e-4)
        return math.exp(found) * self.width(halves)


def measure(cell: Cell) -> dict[str, Any]:
    """Ours, and the best of theirs."""
    try:
        setting = setting_of(cell)
    except InfeasibleBudget:
        return {"refused": True}
    unit, main = np.eye(len(setting.truth)), setting.design.main
    some = itertools.islice(setting.uncertainties(), REPLICATES)
    halves = np.array([quantiles(1.0 - LEVEL, about.parts(unit), main) for about in some])
    truth = Truth(setting)
    best: dict[str, Any] = {"bootstraps": math.inf}
    for share in SHARES:
        other = with_share(setting, share)
        left = PureDP(cell.budget).split((share, 1.0 - share))[1].amount
        law = Truth(other)
        for parts, theirs in rival(other, left).items():
            width = law.scaled(theirs)
            if width < best["bootstraps"]:
                bare = law.coverage(theirs)
                best = {"bootstraps": width, "parts": parts, "share": share, "bare": bare}
    ours = {"ours": truth.width(halves), "scaled": truth.scaled(halves)}
    return {**ours, "coverage": truth.coverage(halves), **best}


def main() -> None:
    """Measure what is missing, then write the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for cell in cells():
        if cell.key not in results:
            results[cell.key] = asdict(cell) | measure(cell)
            RESULTS.write_text(json.dumps(results, indent=0) + "\n")
            tell(f"{cell.key}: {results[cell.key]}")
    shown = [one for one in results.values() if "refused" not in one]
    shorter = [one for one in shown if one["bootstraps"] < one["ours"]]
    heads = (
        "table",
        "d",
        "n",
        "eps",
        "ours",
        "coverage",
        "ours, scaled",
        "bootstraps",
        "parts",
        "bare",
    )
    lines = [
        (
            one["data"], one["d"], f"{one['n']:,}", f"{one['budget']:g}", f"{one['ours']:.2f}",
            f"{one['coverage']:.3f}", f"{one['scaled']:.2f}", f"{one['bootstraps']:.2f}",
            one.get("parts", ""), f"{one['bare']:.3f}" if "bare" in one else "",
        )
        for one in shown
    ]  # fmt: skip
    verdict = (
        f"- {len(shown)} cells, {len(results) - len(shown)} refused. Bootstraps in hindsight are "
        f"shorter than ours in {len(shorter)}.\n\n"
    )
    head = HEAD.format(replicates=REPLICATES)
    write("little_bootstraps.md", head + verdict + table(heads, lines))


if __name__ == "__main__":
    main()
