"""Whether intervals are worth their budget: known from public numbers, before anything is spent.

A typical table (``privet.planning.prediction``) has the curvature ``Lam + kappa`` and the gradient
variance ``tau^2`` in every direction; where columns are multiplied with each other, directions are
far from alike, and both are spread geometrically over a factor ``spread`` around these means. The
matrices' noise is drawn a few times on top of it, always the same draws, and the lengths that come
out are compared with those of the matrices without noise. Where they are off by more than
``MOST_ERROR`` in root mean square, or where the Hessian's noise is more than ``MOST_NOISE`` times
the curvature, noise decides the lengths. (In the studies of ``reproduce/wang2018.py`` and
``reproduce/gaussian_intervals.py`` coverage of nominal 95 % falls below 92 % about there.)
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from privet.errors import DeclarationError, InfeasibleBudget
from privet.inference.mixture import variances
from privet.inference.variance import FitNoise, Uncertainty
from privet.mechanisms import Design
from privet.mechanisms.matrix import NoisyMatrices, SecondMoments
from privet.planning.prediction import gradient_sd, typical
from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from privet.randomness import InsecureSeed

Array = NDArray[np.float64]
MOST_ERROR = 0.6
MOST_NOISE = 2.0
DRAWS = 6
# Where a sufficient budget is searched for, as multiples of the one that is not.
FACTORS = tuple(2.0 ** (step / 2.0) for step in range(1, 41))


@dataclass(frozen=True)
class Prediction:
    """What to expect of intervals for a typical table."""

    half_width: float  # of a coefficient, from sampling and the fit's noise
    error: float  # of a length, relative: what the matrices' noise adds
    noise: float  # in the Hessian along a direction, relative to the curvature

    @property
    def useful(self) -> bool:
        """Whether the table rather than the noise will decide the lengths."""
        return self.error <= MOST_ERROR and self.noise <= MOST_NOISE


class _Plain(Uncertainty):
    """Without the correction, which is random itself."""

    def corrections(self, directions: Array) -> Array:
        """None."""
        return np.ones(len(directions))


def prediction(
    moments: SecondMoments, fit: Design, level: float, spread: float = 1.0
) -> Prediction:
    """From declarations and designs alone, at parameters of any size.

    ``spread`` is the largest curvature of a typical table over its smallest.
    """
    design, sizes, risk = moments.design(fit.n, fit.m), typical(fit), fit.risk
    side = design.side
    shape = np.geomspace(1.0, spread, side)
    shape /= shape.mean()
    hessian = np.diag(sizes.curvature * shape)
    covariance = np.diag(gradient_sd(risk, fit.m) ** 2 * shape)
    weighing = moments.weigh(fit.n, np.full(side, 1e6 / risk.norm_bound))
    noise, randomness = FitNoise(fit.event.mechanism, fit.main), InsecureSeed(0)

    def deviations(released: NoisyMatrices) -> Array:
        about = _Plain(np.zeros(side), released, risk.regularization, fit.n, noise, 0)
        parts = about.parts(np.eye(side))
        return np.asarray(np.sqrt(variances(parts.normal, parts.spread, fit.main)))

    exact = deviations(
        NoisyMatrices(hessian, covariance, weighing, replace(design.noise, scale=0.0))
    )
    errors = []
    for _ in range(DRAWS):
        noisy = moments.perturb(hessian, covariance, weighing, design, randomness)
        errors.append(np.mean((deviations(noisy) / exact - 1.0) ** 2))
    relative = noisy.hessian_sd / (risk.regularization + sizes.curvature)
    half_width = float(ndtri((1.0 + level) / 2.0)) * float(np.median(exact))
    return Prediction(half_width, float(np.sqrt(np.mean(errors))), relative)


def refuse_useless(moments: SecondMoments, fit: Design, level: float, spread: float = 1.0) -> None:
    """Refuse a budget with which the intervals' lengths would be noise."""
    found = prediction(moments, fit, level, spread)
    if found.useful:
        return
    raise InfeasibleBudget(
        f"{moments.budget} for the intervals' matrices is too small to be useful: their noise "
        f"would be {found.noise:.2g} times a typical table's curvature, and the lengths off by "
        f"about {100.0 * found.error:.0f} %. From public numbers the half-width of a coefficient's "
        f"interval is about {found.half_width:.2g} for such a table; "
        f"{sufficient(moments, fit, level, spread)}."
    )


def sufficient(moments: SecondMoments, fit: Design, level: float, spread: float = 1.0) -> str:
    """Words for the smallest budget of the same kind that would do."""
    budgets = larger(moments.budget)

    def useful(budget: Budget) -> bool:
        return prediction(replace(moments, budget=budget), fit, level, spread).useful

    if not budgets or not useful(budgets[-1]):
        return "no budget of this kind would do; use fewer columns or more regularisation"
    first = bisect_left(budgets[:-1], True, key=useful)  # more is never less useful
    return f"about {budgets[first]} would do, and fewer columns need less"


def larger(budget: Budget) -> list[Budget]:
    """Multiples of ``budget``, up to the largest that can be declared."""
    found: list[Budget] = []
    for factor in FACTORS:
        try:
            found.append(scaled(budget, factor))
        except DeclarationError:
            break
    return found


def scaled(budget: Budget, factor: float) -> Budget:
    """``factor`` times the noise's precision: epsilon times ``factor``, rho times its square."""
    if isinstance(budget, ZCDP):
        return ZCDP(float(f"{budget.rho * factor**2:.2g}"))
    if isinstance(budget, PureDP):
        return PureDP(float(f"{budget.epsilon * factor:.2g}"))
    assert isinstance(budget, ApproxDP)
    return ApproxDP(float(f"{budget.epsilon * factor:.2g}"), budget.delta)
