"""How many steps, how long, clipped where: public rules of private gradient descent.

    s       2 sqrt(p)/(mu n): the noise in a mean gradient over the largest gradient of a row, as if
            one step were all; p parameters, mu the Gaussian privacy that the budget allows
    clip    0.2 of the largest gradient where the noise is large, all of it where it is small
    travel  clip times step, less where the noise is large: far enough to learn, not to wander

They read the kind of loss, rows, parameters, classes and budget, never data. The noise in a mean of
the steps hardly depends on their number, so that more of them cost time alone. Constants were
chosen on tables of 450 to 20,000 rows, 31 to 120 columns and 2 to 26 classes, at (0.1, 1e-6) to
(4, 1e-6): the best of a grid moves with ``s`` as here, and half or twice a number changes little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from privet.losses import Loss
from privet.mechanisms.regularization import choose_regularization
from privet.privacy import Budget

STEPS = 64
#: The clip where the noise is at least ``NOISY``, relative to the largest gradient of a row.
LEAST_CLIP, NOISY = 0.2, 0.05
#: Clip times step at ``s = 1`` (with more than two classes or not), and how it falls with ``s``.
TRAVEL, FALL = {False: 0.15625, True: 0.46875}, 0.8
#: Steps in units of one over the largest curvature of a row: that of all rows is far smaller.
LONGEST_STEP = 46.875
#: Of a residual it need not be: nearly all rows may have the largest curvature there is. A descent
#: is sure to settle only with steps below two over it, and more of them go as far.
SURE_STEP, MOST_STEPS = 1.8, 1_000
#: A descent that stops early needs no ridge; this one only keeps directions without rows at zero.
RIDGE = 1e-6


@dataclass(frozen=True)
class Schedule:
    """The public numbers of a descent."""

    steps: int
    step: float
    clip: float
    regularization: float

    def reach(self, noise: float) -> float:
        """How far ``steps`` steps go at most where each step's noise has at most this norm."""
        return self.steps * self.step * (self.clip + noise)


def schedule(
    loss: Loss,
    budget: Budget,
    norm_bound: float,
    n: int,
    m: int,
    *,
    regularization: float | Literal["auto"] = "auto",
    steps: int | None = None,
    relative_step: float | None = None,
    relative_clip: float | None = None,
) -> Schedule:
    """The rule's numbers, or those declared: steps and clip relative to one row's extremes."""
    largest = loss.row_gradient_bound * norm_bound
    curvature = loss.curvature_bound * norm_bound**2
    noise = 2.0 * math.sqrt(loss.scores * m / (2.0 * budget.gaussian_rho())) / n
    clip = relative_clip or min(1.0, LEAST_CLIP * math.sqrt(max(1.0, NOISY / noise)))
    relative = relative_step or min(LONGEST_STEP, TRAVEL[loss.classes > 2] * noise**-FALL / clip)
    count = STEPS
    if loss.family == "residual" and relative_step is None and relative > SURE_STEP:
        count = min(MOST_STEPS, math.ceil(STEPS * relative / SURE_STEP))
        relative = SURE_STEP
    lam = choose_regularization(regularization, RIDGE * curvature, 0.0, loss, norm_bound)
    return Schedule(
        steps=count if steps is None else steps,
        step=1.0 / (curvature / relative + lam),
        clip=largest * clip,
        regularization=lam,
    )
