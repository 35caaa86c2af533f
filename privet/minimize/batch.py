"""Many linear terms on the same rows: noise draws, which differ from each other by little.

All paths start at one point, the minimum without noise, and share its factor. Then ``k`` gradients
are two matrix-matrix products, and most paths need a few gradients and no Hessian of their own.
Where a sample of the rows says enough, it saves some of these (``Nearby``, below).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privet._checks import positive
from privet._types import Array
from privet.minimize.certificate import Numbers, Status
from privet.minimize.certified import (
    LBFGS_MEMORY,
    MAX_ITER,
    checked_vectors,
    gradient_scaling,
    minimize,
    prefers_newton,
    sample_stride,
)
from privet.minimize.descent import Endings, Limits, descend
from privet.minimize.mean_objective import Curvature, Curvatures, Memory, Model, Objective
from privet.risk import RegularizedRisk
from privet.rows.blas import one_thread
from privet.rows.engine import Rows

LARGEST_BATCH = 64
BATCH_ENTRIES = 1 << 16  # paths times parameters: a batch stays within 25 MB
PATIENCE = 12  # a slow step in a batch is still far cheaper than a factor of its own
START_TOLERANCE = 1e-6  # of L R: a better start saves nothing, since noise moves the minimum more


@one_thread
def curvature_at(risk: RegularizedRisk, rows: Rows, theta: Array) -> Array | None:
    """Lower Cholesky factor (p, p) of the exact Hessian of ``J`` at ``theta``, for ``curvature=``.

    None where a Hessian costs more than it saves.
    """
    if not prefers_newton(risk, rows.n, rows.m):
        return None
    nothing = np.zeros((1, risk.parameters(rows.m)))
    return Objective(risk, rows, nothing).curvature(theta).cholesky


@one_thread
def minimize_many(
    risk: RegularizedRisk,
    rows: Rows,
    linears: Array,
    *,
    tolerance: float,
    start: Array | None = None,
    curvature: Array | None = None,
    max_iter: int = MAX_ITER,
) -> Array:
    """Minimizers for each row of ``linears`` (k, p), every one certified to ``tolerance``.

    ``start`` is a point near all of them (default: the minimum without linear term) and
    ``curvature`` the lower Cholesky factor of a Hessian there (default: ``curvature_at``). Raises
    ``NotConverged`` unless all are certified.
    """
    positive("tolerance", tolerance)
    linears = checked_vectors("linears", linears, 2, risk.parameters(rows.m))
    if start is None:
        loose = max(tolerance, START_TOLERANCE * risk.row_gradient)
        start = minimize(risk, rows, tolerance=loose, max_iter=max_iter).certified()
    start = checked_vectors("start", start, 1, risk.parameters(rows.m))
    if curvature is None:
        curvature = curvature_at(risk, rows, start)
    zero = Objective(risk, rows, np.zeros((1, len(start))))
    (gradient,) = zero.gradients(start[None, :], slice(None))
    model = gradient_scaling(zero) if curvature is None else Curvature(curvature)
    limits = Limits(
        tolerance, max_iter, LBFGS_MEMORY, PATIENCE if curvature is not None else np.inf
    )
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
            ends.thetas[path] = minimize(
                objective.risk,
                objective.rows,
                linear=objective.linears[path],
                tolerance=limits.tolerance,
                start=ends.thetas[path],
                max_iter=limits.gradients,
            ).certified()
    return ends.thetas


# Draws near a known point: cheaper looks at the rows than a gradient of all of them.
#
# At the common start the gradient ``g`` and the Hessian ``H`` of the whole table are known. A
# sample of the rows, bent so that it agrees with both,
#
#     J~(theta) = J_s(theta) + <g - g_s, d> + d' (H - H_s) d/2,    d = theta - start,
#
# errs only in what a quadratic misses, and there only by chance. Each draw walks to the minimum of
# its ``J~``. The Hessian there differs from ``H`` because rows whose scores have grown weigh less,
# in some columns more than in others; the draw's own factor takes that from sampled diagonals:
#
#     D (H - Lam) D + Lam,    D^2 = diag H_s(theta)/diag H_s(start).
#
# Then all rows are read in single precision while the gradient is far above its rounding. No choice
# here can spoil a certificate, which is the gradient over all rows in double precision.

ROWS = 75  # sampled rows per parameter where the table is large; see ``sample_stride`` for others
FACTOR_ENTRIES = 1 << 22  # of a batch's factors together: 32 MB
WALKED = 0.1  # share of the first gradient at which a walk ends: the rest is chance
MOST_STEPS = 8  # of a walk or in single precision: enough, and no loss if not
SINGLE = 2e-6  # of L R: a step from a gradient below this deserves double precision
MANY_SCORES = 8  # asked for at once, from which single precision is worth casting the rows
EMPTY = 0.01  # of Lam, added to a diagonal so that empty columns have a ratio


def nearby_stride(n: int, parameters: int) -> int:
    """One row in how many makes a useful sample here; 1 when only the whole table does."""
    return max(sample_stride(n, parameters), n // (ROWS * parameters))


@dataclass(frozen=True)
class Bent:
    """``J~`` for ``k`` linear terms: a thinned objective and a quadratic around ``start``."""

    sample: Objective
    start: Array
    slope: Array
    bend: Array

    def gradients(self, thetas: Array, which: Numbers | slice) -> Array:
        """Gradients of ``J~`` at ``thetas``, shape (k, p)."""
        quadratic = self.slope + (thetas - self.start) @ self.bend
        return self.sample.gradients(thetas, which) + quadratic


class Nearby:
    """What is known at ``start``: the gradient without linear term, a factor, and a sample."""

    def __init__(
        self, zero: Objective, start: Array, gradient: Array, curvature: Array, stride: int
    ) -> None:
        self._start, self._gradient, self._shared = start, gradient, Curvature(curvature)
        self._regularization = zero.risk.regularization
        self._single = SINGLE * zero.risk.row_gradient
        self._sample = zero.thinned(stride)
        lower = np.tril(curvature)
        self._hessian = lower @ lower.T - self._regularization * np.eye(len(start))
        sampled = self._sample.hessian(start)
        self._diagonal = np.diag(sampled) + EMPTY * self._regularization
        self._bend = self._hessian - sampled
        self._slope = gradient - self._sample.gradients(start[None, :], slice(None))[0]

    def approach(
        self, objective: Objective, origin: Endings, memory: Memory
    ) -> tuple[Endings, Curvatures]:
        """Nearer to each minimum than ``origin``, which is ``start``, and factors for the rest."""
        thetas = self._walk(objective, origin, memory)
        model = self._curvatures(thetas)
        single = len(thetas) * objective.risk.loss.scores >= MANY_SCORES
        reader = objective.rough() if single else objective
        with np.errstate(over="ignore", invalid="ignore"):  # no place then is better than origin
            there = Endings.before(thetas, reader.gradients(thetas, slice(None)))
        better = (there.best < origin.best)[:, None]
        thetas = np.where(better, there.thetas, origin.thetas)
        gradients = np.where(better, there.gradients, origin.gradients)
        near = Endings.before(thetas, gradients)
        return self._hurry(reader, near, model, memory) if single else near, model

    def _walk(self, objective: Objective, origin: Endings, memory: Memory) -> Array:
        """Roughly the minima of ``J~``."""
        sample = objective.thinned(self._sample.stride)
        bent = Bent(sample, self._start, self._slope, self._bend)
        limits = Limits(WALKED * float(np.median(origin.best)), MOST_STEPS, memory.size)
        end = descend(bent, origin, self._shared, limits, memory)
        # the pairs of a walk that is still under way tell about other places
        memory.forget(np.flatnonzero([status is not Status.CONVERGED for status in end.statuses]))
        return end.thetas

    def _hurry(self, rough: Objective, near: Endings, model: Curvatures, memory: Memory) -> Endings:
        """On in single precision; where that overflows, steps are refused and a path stays."""
        limits = Limits(self._single, MOST_STEPS, memory.size, patience=2)
        with np.errstate(over="ignore", invalid="ignore"):
            return replace(descend(rough, near, model, limits, memory), rough=True)

    def _curvatures(self, thetas: Array) -> Curvatures:
        """A factor for each of ``thetas``, from the sampled diagonals of their Hessians."""
        ridge = self._regularization
        scales = np.sqrt((self._sample.diagonals(thetas) + EMPTY * ridge) / self._diagonal)
        return Curvatures([Curvature.factor(self._hessian * d * d[:, None], ridge) for d in scales])
