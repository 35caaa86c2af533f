"""Whether intervals are worth their budget: known from public numbers, before anything is spent.

Nothing is known of the table, so a stand-in is judged in its place, the even table of
``privet.planning.prediction``. What it assumes: the mean curvature over directions is a tenth of
the largest that the declared bounds allow, ``kappa = 0.1 c R^2/m``, and the gradients' variance
matches it; and all directions are alike, except where columns are multiplied with each other: then
both are spread geometrically over a factor ``spread`` around these means. A table with less
curvature, one-hot columns for example, gets worse intervals than predicted here, and one with more
gets better ones.

The matrices' noise is drawn a few times on top of the stand-in's matrices, always the same draws,
and the lengths that come out are compared with those without noise. Where they are off by more than
``MOST_ERROR`` in root mean square, or where the Hessian's noise is more than ``MOST_NOISE`` times
the curvature, noise decides the lengths. (In the studies of ``reproduce/wang2018.py`` and
``reproduce/gaussian_intervals.py`` coverage of nominal 95 % falls below 92 % about there.)
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from privet._types import Array
from privet.errors import DeclarationError, InfeasibleBudget
from privet.inference.uncertainty import FitNoise, Uncertainty
from privet.mechanisms import Design
from privet.mechanisms.matrix import NoisyMatrices, SecondMoments
from privet.planning.bounds import variances
from privet.planning.prediction import gradient_sd, typical
from privet.privacy.budget import Budget
from privet.randomness import InsecureSeed

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
    """What to expect of the intervals, from declarations and designs alone.

    Parameters
    ----------
    moments : SecondMoments
        The mechanism that would release the matrices.
    fit : Design
        The design of the fit that they are about.
    level : float
        Confidence level.
    spread : float
        The stand-in's largest curvature over its smallest.
    """
    design, risk, side = moments.design(fit.n, fit.m), fit.risk, fit.parameters
    hessian, covariance = _stand_in(fit, spread)
    # parameters of any size: the weighing is the one for very long ones
    weighing = moments.weigh(fit.n, np.full(side, 1e6 / risk.norm_bound))
    noise = FitNoise(fit.event.mechanism, fit.main)

    def deviations(released: NoisyMatrices) -> Array:
        about = _Plain(np.zeros(side), released, risk.regularization, fit.n, noise, 0)
        parts = about.parts(np.eye(side))
        return np.asarray(np.sqrt(variances(parts.normal, parts.spread, fit.main)))

    silent = replace(design.noise, scale=0.0)
    exact = deviations(NoisyMatrices(hessian, covariance, weighing, silent))
    randomness, errors = InsecureSeed(0), []
    for _ in range(DRAWS):
        noisy = moments.perturb(hessian, covariance, weighing, design, randomness)
        errors.append(np.mean((deviations(noisy) / exact - 1.0) ** 2))
    relative = noisy.hessian_sd / (risk.regularization + typical(fit).curvature)
    half_width = float(ndtri((1.0 + level) / 2.0)) * float(np.median(exact))
    return Prediction(half_width, float(np.sqrt(np.mean(errors))), relative)


def _stand_in(fit: Design, spread: float) -> tuple[Array, Array]:
    """Hessian of the loss and covariance of the gradients of the table that is assumed."""
    shape = np.geomspace(1.0, spread, fit.parameters)
    shape /= shape.mean()
    variance = gradient_sd(fit.risk, fit.m) ** 2
    return np.diag(typical(fit).curvature * shape), np.diag(variance * shape)


def refuse_useless(
    moments: SecondMoments, fit: Design, level: float, spread: float = 1.0, group: int = 1
) -> None:
    """Refuse a budget with which the intervals' lengths would be noise.

    ``group`` rows of a person count: the budget that was asked for is then the person's, and so
    are the numbers in the refusal.
    """
    found = prediction(moments, fit, level, spread)
    if found.useful:
        return
    raise InfeasibleBudget(
        f"{_asked(moments.budget, group)} for the intervals' matrices is too small to be useful: "
        f"their noise would be {found.noise:.2g} times a typical table's curvature, and the "
        f"lengths off by about {100.0 * found.error:.0f} %. From public numbers the half-width of "
        f"a coefficient's interval is about {found.half_width:.2g} for such a table; "
        f"{sufficient(moments, fit, level, spread, group)}."
    )


def _asked(budget: Budget, group: int) -> str:
    """A row's budget as it was asked for: for the person, where several rows are one person's."""
    if group == 1:
        return str(budget)
    try:
        return f"{budget.for_group(group)} for a person with {group} rows"
    except DeclarationError:  # more than can be declared
        return f"{budget} for each of a person's {group} rows"


def sufficient(
    moments: SecondMoments, fit: Design, level: float, spread: float = 1.0, group: int = 1
) -> str:
    """Words for the smallest budget of the same kind that would do."""
    budgets = larger(moments.budget)

    def useful(budget: Budget) -> bool:
        return prediction(replace(moments, budget=budget), fit, level, spread).useful

    if not budgets or not useful(budgets[-1]):
        return "no budget of this kind would do; use fewer columns or more regularization"
    first = bisect_left(budgets[:-1], True, key=useful)  # more is never less useful
    return f"about {_asked(budgets[first], group)} would do, and fewer columns need less"


def larger(budget: Budget) -> list[Budget]:
    """Budgets for ever less noise, in two digits, up to the largest that can be declared."""
    found: list[Budget] = []
    for factor in FACTORS:
        try:
            more = budget.with_precision(factor)
            found.append(more.with_amount(float(f"{more.amount:.2g}")))
        except DeclarationError:
            break
    return found
