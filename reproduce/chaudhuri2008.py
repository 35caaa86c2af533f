"""The calibration of Chaudhuri and Monteleoni 2008, for comparison: not private but on a condition.

Their noise has density proportional to ``exp(-eps |b|/2)``: no part of the budget pays for the
Jacobian of the map from the release to the noise. It is private for logistic loss from
``n Lam = 2 R^2/eps`` on, and elsewhere only by luck; see ``docs/errata.md``. The event says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.errors import DeclarationError
from privet.losses import MarginLoss
from privet.mechanisms.gap import Reserve
from privet.mechanisms.objective import Calibrated, ObjectivePerturbation
from privet.noise import NOISES
from privet.privacy.curves import PureCurve
from privet.risk import RegularizedRisk

THEOREM = "Chaudhuri and Monteleoni 2008, Theorem 2, without its missing condition"
WHY_NOT = "Chaudhuri and Monteleoni 2008 omits the Jacobian term"


@dataclass(frozen=True)
class ChaudhuriMonteleoni2008(ObjectivePerturbation):
    """Objective perturbation at rate ``eps/D``, whatever the regularization."""

    def _laplace(self, kept: Reserve, n: int, p: int) -> Calibrated:
        if not isinstance(self.loss, MarginLoss):
            raise DeclarationError("Chaudhuri and Monteleoni 2008 is for two-class losses only.")
        epsilon = kept.main.laplace_epsilon
        lam = self._regularization("laplace", p / epsilon, n, math.inf)
        rate = epsilon / self.loss.difference_bound
        q = RegularizedRisk(self.loss, lam, self.norm_bound).relative_curvature(n)
        covered = self.loss.privacy_loss_bound(rate, q) <= epsilon
        noise = NOISES["laplace"](self.norm_bound / rate, p)
        return Calibrated(lam, noise, PureCurve(epsilon), THEOREM, "" if covered else WHY_NOT)
