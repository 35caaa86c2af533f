"""L-BFGS for many parameters: the same descent, with a number in place of a factor.

(Nocedal 1980; Liu and Nocedal 1989, whose proof of convergence asks for what holds here: a
strongly convex objective with a Lipschitz gradient, and Wolfe steps.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privet.losses import Array
from privet.minimise.curvature import Scaling
from privet.minimise.descent import Endings, Limits, descend
from privet.minimise.objective import Objective
from privet.minimise.result import Status

MEMORY = 20
# A number as curvature never overshoots by much, so a step may be judged by its norm more often.
PROGRESS = 0.95


def gradient_scaling(objective: Objective) -> Scaling:
    """The first matrix of L-BFGS: ``1/(c R^2 + Lam)``, which no table makes too large."""
    return Scaling(objective.risk.row_curvature + objective.risk.regularization)


def lbfgs(
    objective: Objective, tolerance: float, max_iter: int, start: Array | None = None
) -> Endings:
    """Minimise one objective to ``tolerance`` with at most ``max_iter`` full gradients."""
    thetas = np.zeros((1, objective.parameters)) if start is None else start[None, :]
    end = Endings.before(thetas, objective.gradients(thetas, slice(None)))
    limits, used = Limits(tolerance, max_iter, MEMORY, progress=PROGRESS), objective.tally.passes
    while True:
        before = float(end.best[0])
        left = max_iter - round(objective.tally.passes - used) - 1
        end = descend(objective, end, gradient_scaling(objective), replace(limits, gradients=left))
        # rounding can spoil the pairs before it spoils the gradient: once more without them
        progress = end.best[0] <= 0.5 * before
        if end.statuses[0] is not Status.STALLED or not progress:
            return end
