"""Quasi-Newton descent of many paths in lockstep: the loop that every minimizer here runs.

Paths share the rows and the curvature model and differ in their linear terms. Each iteration reads
the table once, for the trial points of all paths that are still under way; a path leaves when it
has converged, when it has become slow, or when rounding stops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privet._types import Array
from privet.minimize.certificate import Mask, Numbers, Status
from privet.minimize.mean_objective import Memory, Model

FAST = 0.5  # a step is fast when it at least halves the gradient norm
CUT = 0.25  # a step cut below this shows a model far off, and counts twice


class Slopes(Protocol):
    """Whatever has gradients: ``k`` objectives, or what stands in for them on the way."""

    def gradients(self, thetas: Array, which: Numbers | slice) -> Array:
        """Gradients of the objectives ``which`` at ``thetas``, one row each, shape (k, p)."""


@dataclass(frozen=True)
class Endings:
    """Where the ``k`` paths ended: points, gradients, smallest gradient norms, and why.

    ``rough`` gradients are not those of the objective that goes on from here: they give directions
    and certify nothing.
    """

    thetas: Array
    gradients: Array
    best: Array
    statuses: list[Status]
    rough: bool = False

    @classmethod
    def before(cls, thetas: Array, gradients: Array) -> Endings:
        """Paths that have not moved yet."""
        best = np.linalg.norm(gradients, axis=1)
        return cls(thetas, gradients, best, [Status.EXHAUSTED] * len(thetas))

    def write(self, number: int, paths: Paths, path: int, status: Status) -> None:
        """Path ``path`` of those under way, number ``number`` of all, ends here."""
        self.thetas[number], self.gradients[number] = paths.thetas[path], paths.gradients[path]
        self.best[number], self.statuses[number] = paths.best[path], status


@dataclass(frozen=True)
class Limits:
    """When a path leaves; all public constants.

    ``patience``: consecutive steps that are not fast, after which a path counts as slow.
    ``gradients``: reads of the table for all paths together. ``memory``: secant pairs per path.
    ``progress``: the share of the smallest norm so far below which any step is taken.
    """

    tolerance: float
    gradients: int
    memory: int
    patience: float = np.inf
    progress: float = FAST


class Paths:
    """The paths that are still under way; ``which`` are their numbers among all ``k``."""

    def __init__(self, origin: Endings, limits: Limits, memory: Memory | None) -> None:
        k, p = origin.thetas.shape
        self.which = np.arange(k)
        self.thetas, self.gradients = origin.thetas.copy(), origin.gradients.copy()
        self.directions = np.zeros((k, p))
        # a path with a rough gradient cannot end before it has an exact one
        norms = np.linalg.norm(origin.gradients, axis=1)
        self.norms = np.full(k, np.inf) if origin.rough else norms
        self.best = origin.best.copy()
        self.slow = np.zeros(k)
        self.search = LineSearch(k)
        self.memory = memory or Memory(k, limits.memory, p)
        self.progress = limits.progress

    def keep(self, mask: Mask) -> None:
        """Drop the paths outside ``mask``."""
        if mask.all():
            return
        for name in ("which", "thetas", "gradients", "directions", "norms", "best", "slow"):
            setattr(self, name, getattr(self, name)[mask])
        self.search.keep(mask)

    def aim(self, mask: Mask, model: Model) -> None:
        """New directions for the paths in ``mask``."""
        paths = np.flatnonzero(mask)
        directions = -self.memory.solve(model, self.gradients[paths], self.which[paths])
        self.directions[paths] = directions
        self.search.begin(paths, np.einsum("kp,kp->k", directions, self.gradients[paths]))

    def trials(self) -> Array:
        """The points to look at next."""
        return self.thetas + self.search.step[:, None] * self.directions

    def advance(self, thetas: Array, gradients: Array) -> Mask:
        """Take the trial points that pass; returns the mask of those."""
        norms = np.linalg.norm(gradients, axis=1)
        slopes = np.einsum("kp,kp->k", gradients, self.directions)
        taken = self.search.judge(slopes, norms <= self.progress * self.best)
        paths = np.flatnonzero(taken)
        s, y = thetas[paths] - self.thetas[paths], gradients[paths] - self.gradients[paths]
        exact = np.isfinite(self.norms[paths])  # the difference to a rough gradient may be noise
        self.memory.add(self.which[paths][exact], s[exact], y[exact])
        fast = norms[paths] <= FAST * self.norms[paths]
        delay = np.where(self.search.step[paths] < CUT, 2.0, 1.0)
        self.slow[paths] = np.where(fast, 0.0, self.slow[paths] + delay)
        self.thetas[paths], self.gradients[paths] = thetas[paths], gradients[paths]
        self.norms[paths] = norms[paths]
        self.best = np.fmin(self.best, self.norms)
        return taken


def descend(
    objective: Slopes,
    origin: Endings,
    model: Model,
    limits: Limits,
    memory: Memory | None = None,
) -> Endings:
    """Follow all paths from where ``origin`` says they are, with the pairs known so far."""
    paths = Paths(origin, limits, memory)
    ends = Endings.before(origin.thetas.copy(), origin.gradients.copy())
    taken = np.ones(len(paths.which), dtype=bool)
    for used in range(limits.gradients + 1):
        staying = _staying(paths, ends, limits)
        paths.keep(staying)
        if len(paths.which) == 0 or used == limits.gradients:
            break
        taken = taken[staying]
        if taken.any():
            paths.aim(taken, model)
        trials = paths.trials()
        taken = paths.advance(trials, objective.gradients(trials, paths.which))
    for path, number in enumerate(paths.which):
        ends.write(int(number), paths, path, Status.EXHAUSTED)
    return ends


def _staying(paths: Paths, ends: Endings, limits: Limits) -> Mask:
    """Mask of the paths that go on; the others are written down with their reasons."""
    reasons = (
        (paths.norms <= limits.tolerance, Status.CONVERGED),
        (paths.search.exhausted(), Status.STALLED),
        (paths.slow >= limits.patience, Status.SLOW),
    )
    staying = np.ones(len(paths.which), dtype=bool)
    if not any(reason.any() for reason, _ in reasons):
        return staying
    for reason, status in reasons:
        for path in np.flatnonzero(staying & reason):
            ends.write(int(paths.which[path]), paths, int(path), status)
        staying &= ~reason
    return staying


# A line search for convex functions that looks at slopes only.
#
# Along ``theta + t d`` the slope ``phi'(t) = <grad J(theta + t d), d>`` of a convex ``J`` never
# decreases in ``t``. So ``phi'(t) <= 0`` proves that ``J`` fell, and ``phi'(t) >= phi'(0)/2`` that
# the step was not too short: together they are Wolfe's conditions without a single value of ``J``,
# and hold near a minimum, where differences of values have drowned in rounding. A step past the
# minimum of the line is also taken if it brings the gradient norm below a fixed share of the
# smallest one so far. That can happen only so often (``log(first/tolerance)/log(1/share)`` times),
# so it cannot spoil convergence; every other step is a Wolfe step.

SHORT = 0.5  # a step is too short while the slope keeps more than this share of its first value
AIM = 0.9  # of the way to the estimated minimum: to stop just before it
MOST_TRIALS = 2_000  # never reached: brackets collapse after a few hundred trials at most
VANISHED = 1e-60  # a step that moves nothing, however long the direction
COLLAPSED = 4.0 * np.finfo(np.float64).eps  # the ends of a bracket are neighboring numbers


class LineSearch:
    """Brackets ``low < t <= high`` for ``k`` searches in lockstep."""

    def __init__(self, paths: int) -> None:
        self.step = np.ones(paths)
        self._low = np.zeros(paths)
        self._high = np.full(paths, np.inf)
        self._slope_low = np.zeros(paths)
        self._slope_high = np.zeros(paths)
        self._first = np.zeros(paths)
        self._trials = np.zeros(paths, dtype=np.intp)

    def keep(self, mask: Mask) -> None:
        """Forget the searches outside ``mask``."""
        for name, values in vars(self).items():
            setattr(self, name, values[mask])

    def begin(self, paths: Numbers, slopes: Array) -> None:
        """Start afresh along new directions with first slopes ``slopes < 0``."""
        self.step[paths], self._low[paths], self._high[paths] = 1.0, 0.0, np.inf
        self._slope_low[paths] = self._first[paths] = slopes
        self._trials[paths] = 0

    def judge(self, slopes: Array, progress: Mask) -> Mask:
        """Mask of the searches whose trial step is taken; the others get their next step.

        ``progress`` marks the trials whose gradient norm alone is reason enough.
        """
        wolfe = (slopes <= 0.0) & (slopes >= SHORT * self._first)
        taken = wolfe | progress
        self._trials += 1
        self._narrow(slopes, ~taken)
        return np.asarray(taken)

    def exhausted(self) -> Mask:
        """Mask of the searches that only rounding can have brought this far."""
        finite = np.where(np.isinf(self._high), 0.0, self._high)
        collapsed = finite - self._low <= COLLAPSED * finite
        vanished = finite < VANISHED
        given_up = ~np.isinf(self._high) & (collapsed | vanished)
        lost = np.isnan(self.step)
        return np.asarray(given_up | lost | (self._trials >= MOST_TRIALS))

    def _narrow(self, slopes: Array, rejected: Mask) -> None:
        """Move the bracket to the trial and choose the next one by the secant of the slopes."""
        if not rejected.any():
            return
        short = rejected & (slopes < 0.0)
        long = rejected & ~short  # not-a-number too: scores that overflowed are far too long
        self._low[short], self._slope_low[short] = self.step[short], slopes[short]
        self._high[long] = self.step[long]
        self._slope_high[long] = np.where(np.isfinite(slopes[long]), slopes[long], np.inf)
        grow = rejected & np.isinf(self._high)
        self.step[grow] *= 4.0
        inside = rejected & ~grow
        low, width = self._low[inside], (self._high - self._low)[inside]
        steep = -self._slope_low[inside]
        share = AIM * steep / (steep + self._slope_high[inside])
        share = np.clip(share, 0.05, 0.95)
        # every second trial halves the bracket at least, so it collapses before anything gives up:
        # giving up early would be a refusal that depends on the rows. Where no step was short yet
        # the model is off by orders of magnitude, which are cut by tens.
        later = self._trials[inside] > 1
        share = np.where(later & (low == 0.0), np.minimum(share, 0.1), share)
        share = np.where((self._trials[inside] % 2 == 0) & (low > 0.0), 0.5, share)
        self.step[inside] = low + share * width
