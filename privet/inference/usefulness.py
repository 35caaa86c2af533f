"""What intervals will be like, from public numbers and before anything is spent; and the share.

Nothing is known of the table, so a stand-in is judged in its place, the even table of
``privet.planning.prediction``: its mean curvature over directions is a tenth of the largest that
the declared bounds allow, ``kappa = 0.1 c R^2/m``, and the gradients' variance matches it. Where
columns are multiplied with each other both are spread geometrically over a factor ``spread`` around
these means. What noise in the Hessian does to lengths is decided where the curvature is small: it
is judged at ``SMALL`` times the stand-in's, which is what tables of scaled numbers have in their
smallest direction (Adult's age, schooling, hours and sex: 0.3). With ``p`` parameters and noise of
standard deviation ``r`` relative to that curvature, lengths grow by about

    1 + g p r^2,   and never beyond what the regularizer alone allows

with ``g = 1/2``, or 1/4 for log-likelihoods whose curvature is clear of the noise
(``uncertainty.Caution``), read off a few settings (``reproduce/interval_grid.py``). Two things
follow from it: the fit's share of one budget, for the shortest intervals, and a refusal where noise
would make them more than ``MOST_WIDENING`` times longer than an exact matrix would, or be
``MOST_NOISE`` times the curvature. What the table then really has is judged by the released
matrices (``plausible``).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from privet.errors import DeclarationError, InfeasibleBudget
from privet.inference.uncertainty import LIKELIHOOD
from privet.losses import Logistic, Loss, Softmax
from privet.losses.weighted import Weighted
from privet.mechanisms import Design
from privet.mechanisms.matrix import FAR, SecondMoments
from privet.planning.prediction import gradient_sd, typical
from privet.privacy.budget import Budget

#: the curvature that lengths depend on, relative to the stand-in's
SMALL = 0.3
#: how many times longer noise in the matrices may make intervals before they are refused
MOST_WIDENING = 3.0
#: and how large noise in the Hessian may be, relative to the stand-in's curvature
MOST_NOISE = 2.0
#: the fit's share of one budget for both
SHARES = (0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3)
# Where a sufficient budget is searched for, as multiples of the one that is not.
FACTORS = tuple(2.0 ** (step / 2.0) for step in range(1, 41))


@dataclass(frozen=True)
class Prediction:
    """What to expect of intervals for a typical table."""

    half_width: float  # of a coefficient, from sampling and the fit's noise
    widening: float  # by the noise in the matrices: 1 where there is none
    noise: float  # in the Hessian along a direction, relative to the curvature

    @property
    def useful(self) -> bool:
        """Whether the table rather than the noise will decide the lengths."""
        return self.widening <= MOST_WIDENING and self.noise <= MOST_NOISE

    @property
    def length(self) -> float:
        """Half the length of an interval, with everything that makes it longer."""
        return self.half_width * self.widening


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
    kind = design.noise.kind
    # parameters of any size: the weighing is the one for very long ones
    weighing = moments.weigh(fit.n, np.full(side, FAR / risk.norm_bound), kind)
    noise = design.noise.coordinate_sd * weighing.sensitivity / weighing.eta
    shape = np.geomspace(1.0, spread, side)
    shape *= SMALL / shape.mean()
    lam, curvature = risk.regularization, typical(fit).curvature * shape
    ratio = noise / (lam + curvature)
    growth = 1.0 + np.where(ratio < _clear(risk.loss), 0.25, 0.5) * side * ratio**2
    widenings = np.minimum(growth, 1.0 + curvature / lam)
    sampling = gradient_sd(risk, fit.m) ** 2 * shape / fit.n
    in_fit = fit.main.coordinate_sd**2
    if fit.gap is None:
        variances = sampling / (lam + curvature) ** 2 + in_fit
    else:
        variances = (sampling + in_fit / fit.n**2) / (lam + curvature) ** 2
    half_width = float(ndtri((1.0 + level) / 2.0)) * float(np.sqrt(np.median(variances)))
    return Prediction(half_width, float(widenings.mean()), noise / (lam + typical(fit).curvature))


def _clear(loss: Loss) -> float:
    """Up to where noise in the curvature of a log-likelihood costs less; 0 for other losses."""
    plain = loss.base if isinstance(loss, Weighted) else loss
    return 1.0 / LIKELIHOOD.clear_sds if isinstance(plain, Logistic | Softmax) else 0.0


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
        f"their noise would be {found.noise:.2g} times a typical table's curvature, and "
        f"make intervals {found.widening:.2g} times longer. From public numbers half of a "
        f"coefficient's interval is about {found.length:.2g} for such a table; "
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
