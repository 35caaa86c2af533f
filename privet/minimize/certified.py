"""One linear term: Newton or L-BFGS by estimated cost, and a certificate of what they find.

The choice between Newton and L-BFGS reads public numbers only. Whatever is found is certified by
the gradient over all rows, in double precision.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from privet._checks import positive
from privet._types import Array
from privet.errors import DeclarationError
from privet.minimize.certificate import Solution, Status
from privet.minimize.descent import Endings, Limits, descend
from privet.minimize.mean_objective import Curvature, Objective, Scaling
from privet.risk import RegularizedRisk
from privet.rows.blas import one_thread
from privet.rows.engine import Rows

#: The largest number of gradients: public, and far more than any admissible table needs.
MAX_ITER = 100_000


@one_thread
def minimize(
    risk: RegularizedRisk,
    rows: Rows,
    *,
    tolerance: float,
    linear: Array | None = None,
    start: Array | None = None,
    curvature: Array | None = None,
    max_iter: int = MAX_ITER,
) -> Solution:
    """Minimize ``J(theta) = mean loss + (Lam/2)|theta|^2 + <linear, theta>``.

    ``tolerance`` bounds the computed Euclidean norm of ``grad J``; the exact one is within
    ``rounding_floor`` of it. ``linear`` is ``b/n`` for noise ``b``. ``curvature`` is the lower
    Cholesky factor of a Hessian near ``start``. All three vectors have length ``p = K m``.
    """
    positive("tolerance", tolerance)
    p = risk.parameters(rows.m)
    linear = np.zeros(p) if linear is None else checked_vectors("linear", linear, 1, p)
    start = None if start is None else checked_vectors("start", start, 1, p)
    rows.aim(tolerance)
    objective = Objective(risk, rows, linear[None, :])
    if curvature is not None or prefers_newton(risk, rows.n, rows.m):
        model = None if curvature is None else Curvature(curvature)
        end = newton(objective, tolerance, max_iter, start, model)
    else:
        end = lbfgs(objective, tolerance, max_iter, start)
    norm = float(np.linalg.norm(end.gradients[0]))
    tally = objective.tally
    return Solution(end.thetas[0], norm, end.statuses[0], tally.passes, tally.hessians)


def checked_vectors(name: str, values: Array, axes: int, parameters: int) -> Array:
    """``values`` as finite floats whose last axis has length ``p``; only shapes are quoted."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != axes or array.shape[-1] != parameters:
        wanted = f"({parameters},)" if axes == 1 else f"(k, {parameters})"
        raise DeclarationError(f"{name} must have shape {wanted}, got {array.shape}.")
    if not np.isfinite(array).all():
        raise DeclarationError(f"{name} must hold finite numbers.")
    return array


# Newton or L-BFGS? An estimate in units of one gradient, from public numbers alone.
#
# The constants are ratios measured on one thread: how much faster a Gram matrix is per operation
# than a gradient (which waits for memory), and how many gradients L-BFGS needs at a condition
# number.

# Beyond this the Hessian and its factor take too much memory (32 MB each) beside the rows.
MOST_NEWTON_PARAMETERS = 2_000
NEWTON_GRADIENTS = 8.0
NEWTON_HESSIANS = 3.0
GRAM_SPEED = 26.0  # columns at which one Gram matrix costs as much as one gradient
FACTOR_SPEED = 12.0  # the same for one factor: p^2/n at which it costs as much as one gradient


def newton_cost(n: int, m: int, scores: int) -> float:
    """Gradients, Hessians (of a sample where one is useful) and factors."""
    p = scores * m
    hessian = (scores + 1) / 2 * m / GRAM_SPEED
    factor = p * p / (FACTOR_SPEED * n)
    return NEWTON_GRADIENTS + NEWTON_HESSIANS * (hessian / sample_stride(n, p) + factor)


def lbfgs_cost(risk: RegularizedRisk) -> float:
    """``10 + 2 sqrt(kappa)`` gradients at condition number ``kappa = 1 + c R^2/Lam``."""
    return 10.0 + 2.0 * math.sqrt(1.0 + risk.row_curvature / risk.regularization)


def prefers_newton(risk: RegularizedRisk, n: int, m: int) -> bool:
    """Whether Newton is estimated to be the faster one; never for too many parameters."""
    if risk.parameters(m) > MOST_NEWTON_PARAMETERS:
        return False
    return newton_cost(n, m, risk.loss.scores) <= lbfgs_cost(risk)


# Lazy Newton: a Hessian of few rows, kept for as long as the gradient norm falls fast.
#
# The first factor comes from a sample of the rows; secant pairs correct it.
# When a path becomes slow, the next factor looks at more rows, in the end at all of them, each
# time at the latest point: then this is Newton's method with a Wolfe line search, which converges
# from any point on a strongly convex function with a Lipschitz gradient, and superlinearly near
# the minimum also where the Hessian jumps (Qi and Sun 1993, for the Huber hinge).
#
# The start is cheap as well: the minimum of the sampled objective, a sampling error away from that
# of the whole. No choice here can spoil a certificate, which is the gradient over all rows.

MEMORY = 12  # secant pairs on top of the factor; more are never needed before a refresh
PATIENCE = 2  # steps that do not halve the gradient norm before a new factor is made
SAMPLE_ROWS = 25  # sampled rows per parameter: a spectral error of about sqrt(1/25)
LARGEST_STRIDE = 16  # beyond this a sample costs nothing beside one read of the table
SAMPLE_ENTRIES = 1 << 23  # except that a sample takes no more than 64 MB
SMALLEST_STRIDE = 4  # below this it costs too much to be worth it


def sample_stride(n: int, parameters: int) -> int:
    """One row in how many makes a useful sample; 1 when only the whole table does."""
    largest = max(LARGEST_STRIDE, n * parameters // SAMPLE_ENTRIES)
    stride = min(largest, n // (SAMPLE_ROWS * parameters))
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


# A large table: the sample takes the place of the table, and is corrected once for each read of it.
#
# With the gradient ``g`` of the whole at ``theta`` and ``g_s`` of the sample, the next point is the
# minimum of ``J_s + <g - g_s, .>``, found without a look at the table (Shamir, Srebro and Zhang
# 2014, with one machine). Each read then shrinks the gradient by the relative error of the sample's
# Hessian, about ``sqrt(parameters/rows)``: a few per cent where a sample fills its memory.

INNER = 0.01  # share of the gradient norm that the search in the sample leaves
FALLS = 0.25  # a step that leaves more than this share was not worth its read


def corrected(objective: Objective, origin: Endings, tolerance: float, stride: int) -> Endings:
    """One path by the sample, while it is worth it; ``refine`` goes on from there."""
    end = origin
    while end.best[0] > tolerance:
        sample = objective.thinned(stride)
        slope = end.gradients - sample.gradients(end.thetas, slice(None))
        bent = replace(sample, linears=sample.linears + slope)
        aim = Limits(max(INNER * float(end.best[0]), tolerance / 2.0), 100, MEMORY, PATIENCE)
        thetas = refine(bent, Endings.before(end.thetas, end.gradients), aim).thetas
        found = Endings.before(thetas, objective.gradients(thetas, slice(None)))
        if not found.best[0] <= FALLS * end.best[0]:
            return found if found.best[0] < end.best[0] else end
        end = found
    return end


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
    if stride > LARGEST_STRIDE and curvature is None:
        origin = corrected(objective, origin, tolerance, stride)
    limits = Limits(tolerance, max_iter - 1, MEMORY, PATIENCE)
    if origin.best[0] <= tolerance:  # no step is made, and no curvature is asked for
        return descend(objective, origin, gradient_scaling(objective), limits)
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
