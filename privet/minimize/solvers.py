"""Lazy Newton: a Hessian of few rows, kept for as long as the gradient norm falls fast.

The first factor comes from a sample of the rows; secant pairs correct it (see ``curvature``). When
a path becomes slow, the next factor looks at more rows, in the end at all of them, each time at
the latest point: then this is Newton's method with a Wolfe line search, which converges from any
point on a strongly convex function with a Lipschitz gradient, and superlinearly near the minimum
also where the Hessian jumps (Qi and Sun 1993, for the Huber hinge).

The start is cheap as well: the minimum of the sampled objective, a sampling error away from that
of the whole. No choice here can spoil a certificate, which is the gradient over all rows.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from privet._types import Array
from privet.minimize.curvature import Curvature, Scaling
from privet.minimize.descent import Endings, Limits, descend
from privet.minimize.objective import Objective
from privet.minimize.result import Status

MEMORY = 12  # secant pairs on top of the factor; more are never needed before a refresh
PATIENCE = 2  # steps that do not halve the gradient norm before a new factor is made
SAMPLE_ROWS = 25  # sampled rows per parameter: a spectral error of about sqrt(1/25)
LARGEST_STRIDE = 16  # beyond this a sample costs nothing beside one read of the table
SMALLEST_STRIDE = 4  # below this it costs too much to be worth it


def sample_stride(n: int, parameters: int) -> int:
    """One row in how many makes a useful sample; 1 when only the whole table does."""
    stride = min(LARGEST_STRIDE, n // (SAMPLE_ROWS * parameters))
    return stride if stride >= SMALLEST_STRIDE else 1


def rough_tolerance(objective: Objective, stride: int) -> float:
    """A tenth of the sampling error ``L R/sqrt(rows)``: more would be accuracy for nothing."""
    return 0.1 * objective.risk.row_gradient / math.sqrt(objective.rows.n / stride)


def sampled_start(objective: Objective, stride: int) -> Array:
    """Roughly the minimum over one row in ``stride``, shape (1, p)."""
    sample = objective.thinned(stride)
    thetas = np.zeros((1, objective.parameters))
    origin = Endings.before(thetas, sample.gradients(thetas, slice(None)))
    limits = Limits(rough_tolerance(objective, stride), 50, MEMORY, PATIENCE)
    return refine(sample, origin, limits).thetas


def refine(
    objective: Objective,
    origin: Endings,
    limits: Limits,
    *,
    curvature: Curvature | None = None,
    stride: int = 1,
) -> Endings:
    """Newton from ``origin`` (one path); the first factor is given or uses 1 row in ``stride``."""
    end, left = origin, limits.gradients
    while True:
        fresh = curvature is None and stride == 1
        model = curvature or objective.curvature(end.thetas[0], stride)
        before = objective.tally.passes
        rest = Limits(limits.tolerance, left, limits.memory, limits.patience)
        end = descend(objective, end, model, rest)
        left -= round((objective.tally.passes - before) * objective.stride)
        stuck = end.statuses[0] is Status.STALLED and not fresh
        if end.statuses[0] is not Status.SLOW and not stuck:
            return end
        # a stale factor or a sample was not good enough: look closer next time
        stride = 1 if stuck or curvature is not None else max(1, stride // 4)
        curvature = None


def newton(
    objective: Objective,
    tolerance: float,
    max_iter: int,
    start: Array | None = None,
    curvature: Curvature | None = None,
) -> Endings:
    """Minimize one objective to ``tolerance`` with at most ``max_iter`` full gradients."""
    stride = sample_stride(objective.rows.n, objective.parameters)
    if start is not None:
        thetas = start[None, :]
    elif stride > 1:
        thetas = sampled_start(objective, stride)
    else:
        thetas = np.zeros((1, objective.parameters))
    origin = Endings.before(thetas, objective.gradients(thetas, slice(None)))
    limits = Limits(tolerance, max_iter - 1, MEMORY, PATIENCE)
    return refine(objective, origin, limits, curvature=curvature, stride=max(1, stride // 2))


# L-BFGS for many parameters: the same descent, with a number in place of a factor.
#
# (Nocedal 1980; Liu and Nocedal 1989, whose proof of convergence asks for what holds here: a
# strongly convex objective with a Lipschitz gradient, and Wolfe steps.)

LBFGS_MEMORY = 20
# A number as curvature never overshoots by much, so a step may be judged by its norm more often.
PROGRESS = 0.95


def gradient_scaling(objective: Objective) -> Scaling:
    """The first matrix of L-BFGS: ``1/(c R^2 + Lam)``, which no table makes too large."""
    return Scaling(objective.risk.row_curvature + objective.risk.regularization)


def lbfgs(
    objective: Objective, tolerance: float, max_iter: int, start: Array | None = None
) -> Endings:
    """Minimize one objective to ``tolerance`` with at most ``max_iter`` full gradients."""
    thetas = np.zeros((1, objective.parameters)) if start is None else start[None, :]
    end = Endings.before(thetas, objective.gradients(thetas, slice(None)))
    limits, used = (
        Limits(tolerance, max_iter, LBFGS_MEMORY, progress=PROGRESS),
        objective.tally.passes,
    )
    while True:
        before = float(end.best[0])
        left = max_iter - round(objective.tally.passes - used) - 1
        end = descend(objective, end, gradient_scaling(objective), replace(limits, gradients=left))
        # rounding can spoil the pairs before it spoils the gradient: once more without them
        progress = end.best[0] <= 0.5 * before
        if end.statuses[0] is not Status.STALLED or not progress:
            return end
