"""Calibrating Gaussian objective perturbation.

Guarantee
---------
``b ~ N(0, sigma^2 I)`` with ``D = (gradient difference)/sigma`` and ``k = c R^2/(n Lam)`` costs
what ``privet.privacy.jacobian.JacobianCurve`` says:

    rho-zCDP       D = sqrt(2 (rho - constant k^2))
    (eps, delta)   the largest D whose profile (or converted Renyi bound) keeps delta

The floor of the regularization leaves the Jacobian a tenth of the budget, or another share. Proof:
``gaussian_objective.proof.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache

from privet.bisection import largest
from privet.errors import DeclarationError
from privet.losses import Loss
from privet.losses.base import JACOBIAN_SHARE
from privet.privacy.budget import ZCDP, ApproxDP, Budget
from privet.privacy.jacobian import JacobianCurve, renyi_shift, zcdp_cost


def gaussian_shift(budget: Budget, loss: Loss, q: float) -> float:
    """The largest ``D`` that keeps ``budget`` at ``q = R^2/(n Lam)``; 0 if there is none."""
    k = loss.curvature_bound * q
    if isinstance(budget, ZCDP):
        left = budget.rho - zcdp_cost(loss.family, loss.classes, k)
        return math.sqrt(2.0 * left) * (1.0 - 1e-15) if left > 0.0 else 0.0
    if isinstance(budget, ApproxDP):
        by_profile = largest(
            lambda shift: (
                JacobianCurve(loss.family, loss.classes, shift, k).delta(budget.epsilon)
                <= budget.delta
            )
        )
        by_renyi = renyi_shift(loss.family, loss.classes, k, budget.epsilon, budget.delta)
        return max(by_profile, by_renyi)
    raise DeclarationError("Gaussian noise needs a ZCDP or ApproxDP budget.")


def gaussian_floor(budget: Budget, loss: Loss, share: float = JACOBIAN_SHARE) -> float:
    """The largest ``q`` whose Jacobian takes at most ``share`` of ``budget``."""
    if isinstance(budget, ZCDP):
        allowed = share * budget.rho
        most = largest(lambda k: zcdp_cost(loss.family, loss.classes, k) <= allowed)
        return most / loss.curvature_bound
    if isinstance(budget, ApproxDP):
        return _approximate_floor(budget, loss, share)
    raise DeclarationError("Gaussian noise needs a ZCDP or ApproxDP budget.")


@lru_cache(maxsize=256)
def _approximate_floor(budget: ApproxDP, loss: Loss, share: float) -> float:
    """By the determinant where there is a profile, else by the noise of the rest of epsilon."""
    if JacobianCurve(loss.family, loss.classes, 1.0, 0.0).has_profile:
        allowed = share * budget.epsilon
        return largest(lambda q: loss.log_determinant_bound(q) <= allowed)
    rest = (1.0 - share) * budget.epsilon
    wanted = renyi_shift(loss.family, loss.classes, 0.0, rest, budget.delta)

    def leaves_enough(q: float) -> bool:
        k = loss.curvature_bound * q
        return renyi_shift(loss.family, loss.classes, k, budget.epsilon, budget.delta) >= wanted

    return largest(leaves_enough)
