"""How many steps, how long, clipped where: public rules of private gradient descent.

They read rows, parameters, classes and budget, never data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privet.losses import Loss
from privet.mechanisms.regularization import choose_regularization
from privet.privacy import Budget

STEPS = 40
CLIP = 0.3
STEP = 10.0


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
    """The rule's numbers, or those declared."""
    largest = loss.row_gradient_bound * norm_bound
    curvature = loss.curvature_bound * norm_bound**2
    lam = choose_regularization(regularization, 1e-6 * curvature, 0.0, loss, norm_bound)
    relative = STEP if relative_step is None else relative_step
    return Schedule(
        steps=STEPS if steps is None else steps,
        step=1.0 / (curvature / relative + lam),
        clip=largest * (CLIP if relative_clip is None else relative_clip),
        regularization=lam,
    )
