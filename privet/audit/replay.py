"""Sensitivity by replay: run on one table, freeze the random source, run again on a neighbor.

With the same random words only the rows differ, so the distance of the two releases is the
distance of what noise was added to (output perturbation), or of the minimizers under the same
linear term (objective perturbation). It must never exceed what the design declares. The gap to the
exact minimum is measured too, with a gradient that is computed apart from the library's kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.audit.attacks import Labels, WeightedTable, allows_opposite_rows, minimizers
from privet.audit.exact import worst_loss
from privet.losses import Loss
from privet.mechanisms import Design, Mechanism, Trainer
from privet.minimize import minimize, rounding_floor
from privet.privacy.curves import GaussianCurve
from privet.randomness import InsecureSeed
from privet.rows import Rows, checked_rows

#: rows (n, m) and targets of one table
Data = tuple[Array, NDArray[Any]]
MakeRows = Callable[..., Rows]

NEGLIGIBLE = 1e-18


def replay_distance(
    mechanism: Mechanism, first: Data, second: Data, *, seed: int, make_rows: MakeRows
) -> float:
    """Distance of two releases made with the same random words."""
    rows = [make_rows(x, y, **door(mechanism)) for x, y in (first, second)]
    design = mechanism.design(rows[0].n, rows[0].m)
    ends = [mechanism.perturb(part, design, InsecureSeed(seed)) for part in rows]
    return float(np.linalg.norm(ends[0] - ends[1]))


def door(declared: Trainer | Design) -> dict[str, Any]:
    """What rows are checked by: a norm bound, and the domain where there is one."""
    bound = declared.risk.norm_bound if isinstance(declared, Design) else declared.norm_bound
    if declared.domain is None:
        return {"norm_bound": bound}
    return {"norm_bound": bound, "domain": declared.domain}


def declared_distance(design: Design) -> float:
    """The largest distance that the design allows between neighbors' releases.

    The event's sensitivity of the minimizer (or of the moments that a solution is computed from),
    or that of the gradient's sum, the certified gap on either side where it does not contain it,
    and rounding to the grid.
    """
    grid = math.ldexp(math.sqrt(design.main.dimension), design.exponent)
    if design.event.mechanism in ("output", "statistics"):
        return design.event.sensitivity + grid
    gap = 2.0 * gap_bound(design)
    moved = design.risk.gradient_difference / (design.n * design.risk.regularization)
    return moved + gap + grid


def worst_replay(
    mechanism: Mechanism, n: int, m: int, *, seed: int = 0, make_rows: MakeRows = checked_rows
) -> tuple[float, float]:
    """Largest replayed distance over adversarial and random neighbors, and what is declared."""
    design = mechanism.design(n, m)
    signed = allows_opposite_rows(mechanism.loss)
    distances = [
        replay_distance(mechanism, first, second, seed=seed, make_rows=make_rows)
        for first, second in replay_neighbors(design, np.random.default_rng(seed), signed=signed)
    ]
    return max(distances), declared_distance(design)


def replay_neighbors(
    design: Design, rng: np.random.Generator, *, signed: bool = True, randoms: int = 10
) -> Iterator[tuple[Data, Data]]:
    """Pairs of tables with ``n`` rows, as raw arrays: some rows are far too long.

    One row that stands alone on an axis and turns round; the structured attack where ``n`` allows
    it; random tables, a third of whose rows must be clipped.
    """
    loss, bound, n, m = design.risk.loss, design.risk.norm_bound, design.n, design.m
    for axis in range(m):
        x = np.zeros((n, m))
        x[0, axis] = bound
        y = np.zeros(n, dtype=np.int_)
        turned, relabeled = x.copy(), y.copy()
        turned[0] *= -1.0
        relabeled[0] = 1
        yield (x, loss.targets(y)), (x, loss.targets(relabeled))
        if signed:
            yield (x, loss.targets(y)), (turned, loss.targets(y))
    if m == 2 and design.event.mechanism == "output":
        pair = worst_loss(design, signed=signed).pair
        if bool(pair.fits):
            yield pair.first.explicit(loss), pair.second.explicit(loss)
    for _ in range(randoms):
        yield random_neighbors(rng, loss, bound, n, m, signed=signed)


def random_neighbors(
    rng: np.random.Generator, loss: Loss, bound: float, n: int, m: int, *, signed: bool = True
) -> tuple[Data, Data]:
    """A random table and the same with its first row replaced; a third of the rows too long."""
    x, y = random_table(rng, loss, bound, n, m, signed=signed)
    other, labels = random_table(rng, loss, bound, 1, m, signed=signed)
    replaced, relabeled = x.copy(), y.copy()
    # the replacement is as different as it can be: long, and in a place of its own
    replaced[0], relabeled[0] = 3.0 * other[0], labels[0]
    return (x, loss.targets(y)), (replaced, loss.targets(relabeled))


def random_table(
    rng: np.random.Generator, loss: Loss, bound: float, n: int, m: int, *, signed: bool = True
) -> tuple[Array, Labels]:
    """Random directions with norms up to 1.5 times the bound, and random classes."""
    x = rng.normal(size=(n, m))
    x = x if signed else np.abs(x)
    x *= bound * 1.5 * rng.random((n, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    return x, rng.integers(0, loss.classes, size=n)


# -- the gap to the exact minimum ------------------------------------------------------------------


def gap_bound(design: Design) -> float:
    """``(tolerance + rounding)/Lam``: how far the computed minimum may be from the exact one."""
    norm = 0.0 if design.event.mechanism == "output" else design.main.norm_quantile(NEGLIGIBLE)
    norm += float(np.linalg.norm(design.shift))
    rounding = rounding_floor(design.n, design.m, design.risk, norm)
    return (design.tolerance + rounding) / design.risk.regularization


def measured_gap(design: Design, table: WeightedTable, seed: int) -> float:
    """Distance between the library's minimum and the auditor's own, under one draw of noise."""
    x, y = table.explicit(design.risk.loss)
    rows = checked_rows(x, y, **door(design))
    b = np.zeros(design.parameters)
    if design.event.mechanism != "output":
        b = design.main.sample(InsecureSeed(seed), 1)[0]
    linear = (b - design.shift) / rows.n
    found = minimize(design.risk, rows, linear=linear, tolerance=design.tolerance).certified()
    shape = (design.risk.loss.scores, design.m)
    exact = minimizers(design, table, found.reshape(shape), b.reshape(shape))
    return float(np.linalg.norm(exact.reshape(-1) - found))


def gap_price(design: Design) -> tuple[float, float]:
    """What hiding the gap costs, and what the event charges for it.

    Output perturbation must have widened its sensitivity; otherwise the extra noise must be in the
    design, and its curve in the event.
    """
    if design.event.mechanism == "output":
        needed = design.risk.gradient_difference / (design.n * design.risk.regularization)
        return needed + 2.0 * gap_bound(design), design.event.sensitivity
    curves = design.event.curves[1:]
    if design.gap is None:
        return math.inf, sum(curve.zcdp for curve in curves)
    relative = 2.0 * gap_bound(design) / design.gap.scale
    if design.gap.kind == "gaussian":
        charged = sum(curve.rho for curve in curves if isinstance(curve, GaussianCurve))
        return 0.5 * relative**2, charged
    return relative, sum(curve.pure for curve in curves)
