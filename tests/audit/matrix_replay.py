"""Replay audit of the intervals' matrices: neighbors, the same random words, the distance.

The release is in units of its declared sensitivity, so the distance of two neighbors' releases
under the same noise must not exceed the event's number, which is one and what rounding adds. The
attack is the proof's equality case: two rows at right angles, both at the scores where slope and
curvature together are largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from privet._types import Array
from privet.audit.attacks import allows_opposite_rows
from privet.audit.replay import Data, MakeRows, random_neighbors
from privet.losses import Loss
from privet.mechanisms.matrix import MatrixDesign, SecondMoments
from privet.noise import ConeLaplace
from privet.noise.cone_noise import half_vector
from privet.rows import checked_rows

#: scores at which a pair of rows is tried
MARGINS = (-12.0, -6.0, -3.0, -1.5, -0.8, -0.4, 0.0, 0.25, 0.5, 1.0)


def matrix_distance(
    moments: SecondMoments,
    theta: Array,
    first: Data,
    second: Data,
    *,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
) -> float:
    """Distance of two releases under the same noise, in units of the declared sensitivity."""
    seeded = replace(moments, insecure_seed=seed)
    ends = []
    for x, y in (first, second):
        rows = make_rows(x, y, norm_bound=moments.risk.norm_bound)
        found = seeded.run(rows, theta, seeded.design(rows.n, rows.m))
        pair = half_vector(found.hessian) * found.weighing.eta, half_vector(found.covariance)
        ends.append(np.concatenate(pair) / found.weighing.sensitivity)
    return float(np.linalg.norm(ends[0] - ends[1]))


def nuclear_distance(moments: SecondMoments, theta: Array, first: Data, second: Data) -> float:
    """The same in nuclear norm, under the noise that it is for, in units of the declared one."""
    seeded, ends = replace(moments, insecure_seed=0), []
    for x, y in (first, second):
        rows = checked_rows(x, y, norm_bound=moments.risk.norm_bound)
        design = seeded.design_with(ConeLaplace.kind, rows.n, rows.m)
        found = seeded.run(rows, theta, design)
        unit = found.weighing.sensitivity
        ends.append((found.hessian * found.weighing.eta / unit, found.covariance / unit))
    pairs = zip(*ends, strict=True)
    return float(sum(np.linalg.norm(one - two, "nuc") for one, two in pairs))


def worst_nuclear_replay(moments: SecondMoments, n: int, m: int) -> float:
    """The largest one over the same neighbors."""
    rng = np.random.default_rng(0)
    return max(nuclear_distance(moments, *one) for one in matrix_neighbors(moments, n, m, rng))


def declared_matrix_distance(design: MatrixDesign) -> float:
    """What the event allows, and rounding to the grid where it is not in it."""
    grid = math.ldexp(math.sqrt(design.noise.dimension), design.exponent)
    return design.event.sensitivity + grid


def worst_matrix_replay(
    moments: SecondMoments, n: int, m: int, *, seed: int = 0, make_rows: MakeRows = checked_rows
) -> tuple[float, float]:
    """Largest distance over adversarial and random neighbors, and what is declared."""
    distances = [
        matrix_distance(moments, theta, first, second, seed=seed, make_rows=make_rows)
        for theta, first, second in matrix_neighbors(moments, n, m, np.random.default_rng(seed))
    ]
    return max(distances), declared_matrix_distance(moments.design(n, m))


def matrix_neighbors(
    moments: SecondMoments, n: int, m: int, rng: np.random.Generator, randoms: int = 5
) -> Iterator[tuple[Array, Data, Data]]:
    """Released parameters with neighbors to tell apart at them."""
    risk = moments.risk
    for margin in MARGINS:
        theta = _parameters(risk.loss, margin / risk.norm_bound, m)
        for label in range(risk.loss.classes):
            yield theta, *_right_angle(risk.loss, risk.norm_bound, n, m, label)
    signed = allows_opposite_rows(risk.loss)
    for _ in range(randoms):
        theta = rng.normal(size=risk.parameters(m)) * 3.0 / risk.norm_bound
        first, second = random_neighbors(rng, risk.loss, risk.norm_bound, n, m, signed=signed)
        yield theta, first, second


def _parameters(loss: Loss, size: float, m: int) -> Array:
    """Every score ``size`` times the sum of the first two columns."""
    weights = np.zeros((loss.scores, m))
    weights[0, : min(m, 2)] = size
    return weights.reshape(-1)


def _right_angle(loss: Loss, bound: float, n: int, m: int, label: int) -> tuple[Data, Data]:
    """Zero rows but one, which stands on the first axis or on the last."""
    x, y = np.zeros((n, m)), np.full(n, label)
    other = x.copy()
    x[0, 0], other[0, min(m, 2) - 1] = bound, bound
    return (x, loss.targets(y)), (other, loss.targets(y))
