"""The rate of spherical Laplace noise in the objective: exact, or as the papers have it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.bisection import largest
from privet.errors import DeclarationError, InfeasibleBudget
from privet.losses import Loss, MarginLoss
from privet.mechanisms.regularization import (
    regularization_floor,
)
from privet.mechanisms.shaped import largest_rate
from privet.risk import RegularizedRisk


@dataclass(frozen=True)
class LaplaceRate:
    """``a = R/scale`` of the spherical Laplace noise at the total regularization."""

    a: float
    regularization: float


def laplace_rate(
    loss: Loss, calibration: str | None, epsilon: float, n: int, lam: float, norm_bound: float
) -> LaplaceRate:
    """The rate that each calibration gives; refuses where it has none."""
    q = RegularizedRisk(loss, lam, norm_bound).relative_curvature(n)
    if calibration in (None, "exact"):
        a = exact_rate(loss, epsilon, q)
        if a <= 0.0:
            raise infeasible(loss, epsilon, n, lam, norm_bound)
        return LaplaceRate(a, lam)
    if calibration == "wang2018":
        left = epsilon - loss.log_determinant_bound(q)
        if left <= 0.0:
            raise infeasible(loss, epsilon, n, lam, norm_bound)
        return LaplaceRate(left / loss.difference_bound, lam)
    if not isinstance(loss, MarginLoss):
        raise DeclarationError(f"calibration={calibration!r} is for two-class losses only.")
    return _chaudhuri2011(loss, epsilon, n, lam, norm_bound)


def exact_rate(loss: Loss, epsilon: float, q: float) -> float:
    """The largest ``a`` with ``privacy_loss_bound(a, q) <= epsilon``; 0 if there is none."""
    free = epsilon / loss.difference_bound
    return largest_rate(lambda a: loss.privacy_loss_bound(a, q), free, epsilon)


def _chaudhuri2011(
    loss: Loss, epsilon: float, n: int, lam: float, norm_bound: float
) -> LaplaceRate:
    """Algorithm 2, with ``c R^2`` for its ``c``."""
    risk = RegularizedRisk(loss, lam, norm_bound)
    left = epsilon - 2.0 * math.log1p(loss.curvature_bound * risk.relative_curvature(n))
    if left <= 0.0:
        lam = risk.row_curvature / (n * math.expm1(epsilon / 4.0))
        left = epsilon / 2.0
    return LaplaceRate(left / loss.difference_bound, lam)


def infeasible(
    loss: Loss, epsilon: float, n: int, lam: float, norm_bound: float
) -> InfeasibleBudget:
    """The refusal of a budget, with what would do."""
    most_q = largest(lambda q: loss.privacy_loss_bound(0.0, q) < epsilon)
    smallest = regularization_floor(norm_bound, n, most_q)
    return InfeasibleBudget(
        f"regularization = {lam:g} is too small: the Jacobian term alone exceeds epsilon = "
        f"{epsilon:g} for {n} rows. Use 'auto', or more than {smallest:g}."
    )
