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
from privet.mechanisms.matrix import MatrixDesign, NoisyMatrices, SecondMoments
from privet.noise import ConeLaplace
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
    kind: str | None = None,
) -> float:
    """Distance of two releases under the same noise, in its norm and in units of the declared one.

    ``kind`` is that of the noise; None is the one that the release would take.
    """
    seeded = replace(moments, insecure_seed=seed)
    ends = []
    for x, y in (first, second):
        rows = make_rows(x, y, norm_bound=moments.risk.norm_bound)
        design = matrix_design(seeded, rows.n, rows.m, kind)
        ends.append(in_units(seeded.run(rows, theta, design)))
    return size_of_pair(ends[0] - ends[1], design)


def matrix_design(moments: SecondMoments, n: int, m: int, kind: str | None) -> MatrixDesign:
    """For one kind of noise, or for the one that the release would take."""
    return moments.design(n, m) if kind is None else moments.design_with(kind, n, m)


def in_units(found: NoisyMatrices) -> Array:
    """Both matrices in units of the declared sensitivity, shape (2, p, p)."""
    unit = found.weighing.sensitivity
    return np.array([found.hessian * (found.weighing.eta / unit), found.covariance / unit])


def size_of_pair(pair: Array, design: MatrixDesign) -> float:
    """In the norm of its noise: singular values added for cone noise, else squares of entries."""
    if design.noise.kind == ConeLaplace.kind:
        return float(np.linalg.svd(pair, compute_uv=False).sum())
    return float(np.linalg.norm(pair))


def declared_matrix_distance(design: MatrixDesign) -> float:
    """What the event allows, and rounding to the grid where it is not in it."""
    entries = design.noise.dimension
    steps = entries if design.noise.kind == ConeLaplace.kind else math.sqrt(entries)
    return design.event.sensitivity + math.ldexp(steps, design.exponent)


def worst_matrix_replay(
    moments: SecondMoments,
    n: int,
    m: int,
    *,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
    kind: str | None = None,
) -> tuple[float, float]:
    """Largest distance over adversarial and random neighbors, and what is declared."""
    distances = [
        matrix_distance(moments, *one, seed=seed, make_rows=make_rows, kind=kind)
        for one in matrix_neighbors(moments, n, m, np.random.default_rng(seed))
    ]
    return max(distances), declared_matrix_distance(matrix_design(moments, n, m, kind))


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
