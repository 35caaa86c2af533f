"""Draws near a known point: cheaper looks at the rows than a gradient of all of them.

At the common start the gradient ``g`` and the Hessian ``H`` of the whole table are known. A sample
of the rows, bent so that it agrees with both,

    J~(theta) = J_s(theta) + <g - g_s, d> + d' (H - H_s) d/2,    d = theta - start,

errs only in what a quadratic misses, and there only by chance. Each draw walks to the minimum of
its ``J~``. The Hessian there differs from ``H`` because rows whose scores have grown weigh less, in
some columns more than in others; the draw's own factor takes that from the sampled diagonals:

    D (H - Lam) D + Lam,    D^2 = diag H_s(theta)/diag H_s(start).

Then all rows are read in single precision while the gradient is far above its rounding. No choice
here can spoil a certificate, which is the gradient over all rows in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privet.losses import Array
from privet.minimise.curvature import Curvature, Curvatures, Memory
from privet.minimise.descent import Endings, Limits, descend
from privet.minimise.newton import sample_stride
from privet.minimise.objective import Objective
from privet.minimise.result import Numbers, Status

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
