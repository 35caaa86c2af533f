"""Newton or L-BFGS? An estimate in units of one gradient, from public numbers alone.

The constants are ratios measured on one thread: how much faster a Gram matrix is per operation than
a gradient (which waits for memory), and how many gradients L-BFGS needs at a condition number.
"""

from __future__ import annotations

import math

from privet.minimise.newton import sample_stride
from privet.risk import RegularisedRisk

# Beyond this the Hessian and its factor take too much memory (32 MB each) beside the rows.
MOST_NEWTON_PARAMETERS = 2_000
NEWTON_GRADIENTS = 8.0
NEWTON_HESSIANS = 3.0
GRAM_SPEED = 26.0  # columns at which one Gram matrix costs as much as one gradient
FACTOR_SPEED = 12.0  # the same for one factor: p^2/n at which it costs as much as one gradient


def newton_cost(n: int, m: int, scores: int) -> float:
    """Gradients, Hessians (of a sample where one is useful) and factors."""
    p = scores * m
    hessian = (scores + 1) / 2 * m / GRAM_SPEED
    factor = p * p / (FACTOR_SPEED * n)
    return NEWTON_GRADIENTS + NEWTON_HESSIANS * (hessian / sample_stride(n, p) + factor)


def lbfgs_cost(risk: RegularisedRisk) -> float:
    """``10 + 2 sqrt(kappa)`` gradients at condition number ``kappa = 1 + c R^2/Lam``."""
    return 10.0 + 2.0 * math.sqrt(1.0 + risk.row_curvature / risk.regularization)


def prefers_newton(risk: RegularisedRisk, n: int, m: int) -> bool:
    """Whether Newton is estimated to be the faster one; never for too many parameters."""
    if risk.parameters(m) > MOST_NEWTON_PARAMETERS:
        return False
    return newton_cost(n, m, risk.loss.scores) <= lbfgs_cost(risk)
