"""Quasi-Newton descent of many paths in lockstep: the loop that every minimiser here runs.

Paths share the rows and the curvature model and differ in their linear terms. Each iteration reads
the table once, for the trial points of all paths that are still under way; a path leaves when it
has converged, when it has become slow, or when rounding stops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privet.losses import Array
from privet.minimise.curvature import Memory, Model
from privet.minimise.linesearch import LineSearch
from privet.minimise.result import Mask, Numbers, Status

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
    for reason, status in reasons:
        for path in np.flatnonzero(staying & reason):
            ends.write(int(paths.which[path]), paths, int(path), status)
        staying &= ~reason
    return staying
