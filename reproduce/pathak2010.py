"""The calibration of Pathak and Raj 2010, for comparison: it is not private, and says so.

Their noise matrix has density proportional to ``exp(-(eps/2) |b|)`` for rows in the unit ball. As
printed one matrix is shared by all classes: it then moves no difference between classes, which is
all that a prediction depends on (so does their trace regularizer), and the classifier carries no
noise. Here the paper is read as generously as possible: the same law in every dimension of the
sum-zero subspace, and a ridge. That is still too little noise, see ``docs/errata.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.mechanisms.gap import Reserve
from privet.mechanisms.objective import Calibrated, ObjectivePerturbation
from privet.noise import NOISES
from privet.privacy.curves import PureCurve

THEOREM = "Pathak and Raj 2010, Theorem 1, which does not hold"
WHY_NOT = (
    "Pathak and Raj 2010 takes 2 for the distance between two rows' gradients, which is up to "
    "sqrt2 C |x|^2 with the appended constant, and pays for no Jacobian"
)


@dataclass(frozen=True)
class PathakRaj2010(ObjectivePerturbation):
    """Objective perturbation at rate ``eps/2``, whatever the classes and the constant."""

    unit: float = 1.0  # squared norm bound of the rows before the constant was appended

    def _laplace(self, kept: Reserve, n: int, p: int) -> Calibrated:
        epsilon = kept.main.laplace_epsilon
        lam = self._regularization("laplace", p / epsilon, n, math.inf)
        noise = NOISES["laplace"](2.0 * self.unit / epsilon, p)
        return Calibrated(lam, noise, PureCurve(epsilon), THEOREM, WHY_NOT)
