"""Would intervals without matrices be shorter? Private medians of little bootstraps, small tables.

Chadha, Duchi and Kuditipudi (2024, "Resampling methods for private statistical inference") cut the
table into ``s`` parts, let each part tell how far the estimate may be off (a bag of little
bootstraps: resamples of ``n`` rows from ``n/s``), and release the median of what they say. A row
is in one part, so the median costs little, however wild the parts are. For coefficients with known
noise a length is what is told; each coefficient needs a median of its own.

Every part tells the limit of endless resampling, the sandwich at the released parameters with the
fit's noise in it; nothing is lost to a finite number of resamples or to another optimum. The median
is the exponential mechanism's on a logarithmic scale between public ends. Two ways:

- *by a rule*, as they would be released: parts, the fit's share and whether they are offered at all
  by a rule of rows, parameters and budget, and ends that no length can be beyond
- *in hindsight*: parts, share and a factor that makes the mean coverage exactly 0.95 are the best
  for each cell, and the ends are those of the exact lengths, divided and multiplied by 10

Ours is ``fit_with_intervals`` with defaults. What is compared is the mean length over that of
non-private intervals at the same regularization.

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
from _interval_cells import Cell, grid
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

#: what a median of 64 parts needs, as an epsilon, and the shares that a fit may be left with
MEDIAN_NEEDS, LEAST_SHARE, MOST_SHARE = 0.75, 0.4, 0.85

HEAD = """# Intervals from little bootstraps

Written by `python reproduce/little_bootstraps.py`. Chadha, Duchi and Kuditipudi (2024) need no
matrix: each of s parts of the table tells a length, and the median is released privately. Numbers
are mean lengths over non-private ones at the same regularization, over {replicates} replicates,
with the mean coverage, which is worked out from the law of the error with the exact matrices, to
first order; resamples are without end. *Ours* is `fit_with_intervals` with defaults as it was
before fit and matrices of logistic loss were one release: those intervals are shorter now (see
[interval_grid.md](interval_grid.md)).

Cells of hinges under a pure epsilon were measured while the floor of their regularization left a
tenth of epsilon to the determinant; since then it is up to .15 (`privet/losses/margin.py`).

- *By a rule*: as they would be released. The number of parts is the largest of {parts} that leaves
  each {rows} rows for every parameter; each median gets eps = {needs} times 64/s, and the fit the
  rest, in steps of 0.05; ends are those that no length can be beyond, by the fit's noise and the
  regularization. They are *offered* where that leaves the fit {least} of the budget or more; a cell
  without is shown with {least}.
- *In hindsight*: parts, share and a factor that makes the mean coverage exactly 0.95 are the best
  for each cell; ends within a factor of 10 of the exact lengths. *Bare* is their coverage without
  that factor, and *ours, scaled* has such a factor too. Not worked out for the cells of
  [interval_grid.md](interval_grid.md) below the first 24.

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


def other_cells() -> list[Cell]:
    """Pure ones of the grid with at most 2,000 rows and two classes, from eps = 4 on."""
    small = [one for one in grid() if one.n <= 2000 and one.kind == "pure" and one.classes == 2]
    return [cell for cell in small if cell not in cells() and cell.data != "adult4box"]


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


def by_rule(n: int, p: int, epsilon: float) -> tuple[int, float, bool]:
    """Parts, the fit's share, and whether intervals are offered: by public numbers alone."""
    parts = max((s for s in PARTS if n // s >= LEAST_ROWS * p), default=PARTS[0])
    left = 1.0 - p * MEDIAN_NEEDS * PARTS[-1] / parts / epsilon
    share = round(min(max(left, LEAST_SHARE), MOST_SHARE) / 0.05) * 0.05
    return parts, share, left >= LEAST_SHARE


def public_ends(setting: Setting) -> tuple[float, float]:
    """Logarithms that no standard error is beyond: by declarations (slopes up to 1) and noise."""
    design, n = setting.design, setting.cell.n
    risk, noise = design.risk, design.main.coordinate_sd / n
    steepest = risk.norm_bound**2 * risk.loss.curvature_bound
    largest = math.sqrt(risk.norm_bound**2 / n + noise**2)
    return (
        math.log(noise / (risk.regularization + steepest)),
        math.log(largest / risk.regularization),
    )


def released(setting: Setting) -> dict[str, Any]:
    """Lengths and coverage as they would be released."""
    cell, p = setting.cell, len(setting.truth)
    parts, share, offered = by_rule(cell.n, p, cell.budget)
    other = with_share(setting, share)
    ends, each = public_ends(other), cell.budget * (1.0 - share) / p
    seed = zlib.crc32(cell.key.encode()) + 2
    generator, noise = np.random.default_rng(seed), InsecureSeed(seed)
    halves = []
    for _ in range(REPLICATES):
        theta, rows, signs = fitted(other, generator, noise)
        logs = told(other, rows, signs, theta, parts)
        medians = [private_median(logs[:, j], each, *ends, generator) for j in range(p)]
        halves.append(NORMAL * np.exp(medians))
    law, found = Truth(other), np.array(halves)
    return {
        "rule": law.width(found),
        "rule_coverage": law.coverage(found),
        "rule_parts": parts,
        "rule_share": share,
        "offered": offered,
    }


def fitted(
    setting: Setting, generator: np.random.Generator, noise: InsecureSeed
) -> tuple[Array, Array, Array]:
    """Released parameters of one sample, its rows with their constant, and its signs."""
    cell, design = setting.cell, setting.design
    index = generator.integers(0, len(setting.y), cell.n)
    theta = setting.made.fit.mechanism.perturb(rows_for(setting, index), design, noise)
    rows = np.concatenate([setting.x[index], np.full((cell.n, 1), CONSTANT)], axis=1)
    return theta, rows, design.risk.loss.targets(setting.y[index])


def rival(setting: Setting, epsilon: float) -> dict[int, Array]:
    """Half lengths of all replicates, for each number of parts."""
    cell = setting.cell
    seed = zlib.crc32(cell.key.encode()) + 1
    generator, noise = np.random.default_rng(seed), InsecureSeed(seed)
    p = len(setting.truth)
    possible = [parts for parts in PARTS if cell.n // parts >= LEAST_ROWS * p]
    out: dict[int, list[Array]] = {parts: [] for parts in possible}
    ends = np.log(setting.exact / RANGE), np.log(setting.exact * RANGE)
    for _ in range(REPLICATES):
        theta, rows, signs = fitted(setting, generator, noise)
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


def measure(cell: Cell, known: dict[str, Any]) -> dict[str, Any]:
    """Ours, theirs by a rule, and the best of theirs in hindsight where that is not known."""
    try:
        setting = setting_of(cell)
    except InfeasibleBudget:
        return {"refused": True}
    unit, main = np.eye(len(setting.truth)), setting.design.main
    some = itertools.islice(setting.uncertainties(), REPLICATES)
    halves = np.array([quantiles(1.0 - LEVEL, about.parts(unit), main) for about in some])
    truth = Truth(setting)
    ours = {"ours": truth.width(halves), "scaled": truth.scaled(halves)}
    found = {**ours, "coverage": truth.coverage(halves), **released(setting)}
    if cell in cells() and "bootstraps" not in known:
        found |= in_hindsight(setting)
    return known | found


def in_hindsight(setting: Setting) -> dict[str, Any]:
    """The best of theirs."""
    best: dict[str, Any] = {"bootstraps": math.inf}
    budget = PureDP(setting.cell.budget)
    for share in SHARES:
        other = with_share(setting, share)
        left = budget.split((share, 1.0 - share))[1].amount
        law = Truth(other)
        for parts, theirs in rival(other, left).items():
            width = law.scaled(theirs)
            if width < best["bootstraps"]:
                bare = law.coverage(theirs)
                best = {"bootstraps": width, "parts": parts, "share": share, "bare": bare}
    return best


def line(one: dict[str, Any]) -> tuple[Any, ...]:
    """Of the table."""
    ours = f"{one['ours']:.2f} ({one['coverage']:.3f})"
    rule = f"{one['rule']:.2f} ({one['rule_coverage']:.3f})"
    how = f"{one['rule_parts']}, {one['rule_share']:.2f}"
    hindsight = ("", "", "")
    if "bootstraps" in one:
        hindsight = (f"{one['scaled']:.2f}", f"{one['bootstraps']:.2f}", f"{one['bare']:.3f}")
    place = (one["data"], one["d"], f"{one['n']:,}", one["loss"], f"{one['budget']:g}")
    return (*place, ours, rule, how, "yes" if one["offered"] else "", *hindsight)


def verdict(results: list[dict[str, Any]]) -> str:
    """How often they are shorter, and by how much."""
    shown = [one for one in results if "refused" not in one]
    offered = [one for one in shown if one["offered"]]
    ratios = [one["rule"] / one["ours"] for one in offered]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    clearly = [one for one in offered if one["rule"] < 0.98 * one["ours"]]
    names = ", ".join(
        f"{one['data']} d = {one['d']}, n = {one['n']:,}, {one['loss']}, eps = {one['budget']:g} "
        f"({one['rule'] / one['ours'] - 1.0:+.0%}, coverage {one['rule_coverage']:.3f})"
        for one in clearly
    )
    others = [one for one in shown if not one["offered"]]
    below = sum(one["rule_coverage"] < 0.93 for one in others)
    known = [one for one in shown if "bootstraps" in one]
    hindsight = sum(one["bootstraps"] < one["ours"] for one in known)
    return (
        f"- {len(shown)} cells, {len(results) - len(shown)} refused. By a rule: offered in "
        f"{len(offered)}, where coverage is {min(one['rule_coverage'] for one in offered):.3f} or "
        f"more and lengths are {min(ratios):.2f} to {max(ratios):.2f} times ours, "
        f"{mean:.2f} on geometric average. More than 2 % shorter: {names or 'none'}. More than 2 % "
        f"longer: {sum(ratio > 1.02 for ratio in ratios)}.\n"
        f"- In the {len(others)} others their coverage is below 0.93 in {below} "
        f"(lowest {min(one['rule_coverage'] for one in others):.3f}).\n"
        f"- In hindsight they are shorter than ours in {hindsight} of {len(known)}.\n\n"
    )


def main() -> None:
    """Measure what is missing, then write the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for cell in [*cells(), *other_cells()]:
        known = results.get(cell.key, {})
        if "rule" not in known and "refused" not in known:
            results[cell.key] = asdict(cell) | measure(cell, known)
            RESULTS.write_text(json.dumps(results, indent=0) + "\n")
            tell(f"{cell.key}: {results[cell.key]}")
    found = list(results.values())
    heads = (
        "table", "d", "n", "loss", "eps", "ours (coverage)", "by a rule", "parts, share", "offered",
        "ours, scaled", "in hindsight", "bare",
    )  # fmt: skip
    lines = [line(one) for one in found if "refused" not in one]
    head = HEAD.format(
        replicates=REPLICATES,
        parts=", ".join(map(str, PARTS)),
        rows=LEAST_ROWS,
        needs=MEDIAN_NEEDS,
        least=LEAST_SHARE,
    )
    write("little_bootstraps.md", head + verdict(found) + table(heads, lines))


if __name__ == "__main__":
    main()
