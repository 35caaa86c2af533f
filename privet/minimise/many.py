"""Many linear terms on the same rows: noise draws, which differ from each other by little.

All paths start at one point, the minimum without noise, and share its factor. Then ``k`` gradients
are two matrix-matrix products, and most paths need a few gradients and no Hessian of their own.
Where a sample of the rows says enough, it saves some of these (see ``nearby``).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from privet.losses import Array
from privet.minimise.cost import prefers_newton
from privet.minimise.curvature import Curvature, Memory, Model
from privet.minimise.descent import Endings, Limits, descend
from privet.minimise.lbfgs import MEMORY, gradient_scaling
from privet.minimise.nearby import FACTOR_ENTRIES, Nearby, nearby_stride
from privet.minimise.objective import Objective
from privet.minimise.one import MAX_ITER, checked_vectors, minimise
from privet.minimise.result import Status
from privet.minimise.threads import one_thread
from privet.risk import RegularisedRisk, positive
from privet.rows.base import Rows

LARGEST_BATCH = 64
BATCH_ENTRIES = 1 << 16  # paths times parameters: a batch stays within 25 MB
PATIENCE = 12  # a slow step in a batch is still far cheaper than a factor of its own
START_TOLERANCE = 1e-6  # of L R: a better start saves nothing, since noise moves the minimum more


@one_thread
def curvature_at(risk: RegularisedRisk, rows: Rows, theta: Array) -> Array | None:
    """Lower Cholesky factor (p, p) of the exact Hessian of ``J`` at ``theta``, for ``curvature=``.

    None where a Hessian costs more than it saves.
    """
    if not prefers_newton(risk, rows.n, rows.m):
        return None
    nothing = np.zeros((1, risk.parameters(rows.m)))
    return Objective(risk, rows, nothing).curvature(theta).cholesky


@one_thread
def minimise_many(
    risk: RegularisedRisk,
    rows: Rows,
    linears: Array,
    *,
    tolerance: float,
    start: Array | None = None,
    curvature: Array | None = None,
    max_iter: int = MAX_ITER,
) -> Array:
    """Minimisers for each row of ``linears`` (k, p), every one certified to ``tolerance``.

    ``start`` is a point near all of them (default: the minimum without linear term) and
    ``curvature`` the lower Cholesky factor of a Hessian there (default: ``curvature_at``). Raises
    ``NotConverged`` unless all are certified.
    """
    positive("tolerance", tolerance)
    linears = checked_vectors("linears", linears, 2, risk.parameters(rows.m))
    if start is None:
        loose = max(tolerance, START_TOLERANCE * risk.row_gradient)
        start = minimise(risk, rows, tolerance=loose, max_iter=max_iter).certified()
    start = checked_vectors("start", start, 1, risk.parameters(rows.m))
    if curvature is None:
        curvature = curvature_at(risk, rows, start)
    zero = Objective(risk, rows, np.zeros((1, len(start))))
    (gradient,) = zero.gradients(start[None, :], slice(None))
    model = gradient_scaling(zero) if curvature is None else Curvature(curvature)
    limits = Limits(tolerance, max_iter, MEMORY, PATIENCE if curvature is not None else np.inf)
    size = max(1, min(LARGEST_BATCH, BATCH_ENTRIES // len(start)))
    nearby = _nearby(zero, start, gradient, curvature, min(size, len(linears)))
    out = np.empty_like(linears)
    for first in range(0, len(linears), size):
        batch = linears[first : first + size]
        thetas = np.repeat(start[None, :], len(batch), axis=0)
        origin = Endings.before(thetas, gradient + batch)
        objective = Objective(risk, rows, batch)
        out[first : first + size] = _batch(objective, origin, model, limits, nearby)
    return out


def _nearby(
    zero: Objective, start: Array, gradient: Array, curvature: Array | None, paths: int
) -> Nearby | None:
    """What helps around ``start``; None where it would not, or where it takes much memory."""
    stride = nearby_stride(zero.rows.n, len(start))
    if curvature is None or stride == 1 or paths * len(start) ** 2 > FACTOR_ENTRIES:
        return None
    if zero.risk.loss.offset > 0.0:  # knees: all curvature is in few rows, fewer in a sample
        return None
    return Nearby(zero, start, gradient, curvature, stride)


def _batch(
    objective: Objective, origin: Endings, model: Model, limits: Limits, nearby: Nearby | None
) -> Array:
    """One batch in lockstep, then the paths that were slow one by one, with their own factors."""
    memory = Memory(len(origin.thetas), limits.memory, objective.parameters)
    if nearby is not None:
        origin, model = nearby.approach(objective, origin, memory)
    left = max(0, limits.gradients - math.ceil(objective.tally.passes))
    ends = descend(objective, origin, model, replace(limits, gradients=left), memory)
    for path, status in enumerate(ends.statuses):
        if status is not Status.CONVERGED:
            ends.thetas[path] = minimise(
                objective.risk,
                objective.rows,
                linear=objective.linears[path],
                tolerance=limits.tolerance,
                start=ends.thetas[path],
                max_iter=limits.gradients,
            ).certified()
    return ends.thetas
