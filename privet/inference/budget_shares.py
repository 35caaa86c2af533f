"""How one budget is split between a fit and its intervals: by public numbers, before any noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from sklearn.base import clone

from privet._checks import is_number
from privet.errors import DeclarationError, InfeasibleBudget
from privet.inference.usefulness import SHARES, prediction
from privet.mechanisms.matrix import SecondMoments
from privet.mechanisms.matrix_beside import beside_fit
from privet.models import Fit, PrivateLinearClassifier
from privet.privacy import Budget
from privet.risk import RegularizedRisk

#: Seeded studies draw the matrices' noise from another stream than the fit's.
STREAM = 1 << 32


def moments_for(
    risk: RegularizedRisk,
    budget: Budget,
    calibration: str | None,
    model: PrivateLinearClassifier,
) -> SecondMoments:
    """The mechanism that releases the matrices; seeded where the model was."""
    if calibration is not None:
        raise DeclarationError(
            f"Intervals have one calibration; got calibration={calibration!r}. Leave it None. The "
            "construction of Wang, Kifer and Lee (2018), 'wang2018', is a study of the project's "
            "reproduce folder now; files with such intervals can still be read."
        )
    guarantee = model.__dict__.get("guarantee_")
    reason = "" if guarantee is None else guarantee.event.why_not_private
    seed = None if model.insecure_seed is None else model.insecure_seed + STREAM
    return SecondMoments(risk, budget, seed, reason)


@dataclass(frozen=True)
class PreparedIntervals:
    """An unfitted model with its rows checked, and the matrices that will follow it."""

    fit: Fit[PrivateLinearClassifier]
    moments: SecondMoments

    @property
    def rank(self) -> tuple[bool, float]:
        """Useful ones first, then by the length of a typical table's intervals.

        Which share is best does not depend on the level.
        """
        found = prediction(self.moments, self.fit.design, 0.5, self.fit.curvature_spread)
        return not found.useful, found.length


def prepared_intervals(
    model: PrivateLinearClassifier,
    X: Any,
    y: Any,
    whole: Budget,
    share: float | Literal["auto"],
) -> PreparedIntervals:
    """A copy of the model with its share of the budget; the rows are checked once.

    "auto" tries one share after another, by the shape of the rows alone. A share with which the fit
    or the matrices cannot be had is passed over; only where none is left, that is an error.
    """
    if not (share == "auto" or (is_number(share) and 0.0 < share < 1.0)):
        raise DeclarationError(f"share must be 'auto' or between 0 and 1, got {share!r}.")
    checked: Fit[PrivateLinearClassifier] | None = None
    found: list[tuple[tuple[bool, float], PreparedIntervals]] = []
    refusals: list[InfeasibleBudget] = []
    for one in SHARES if share == "auto" else (float(share),):
        for_fit, for_matrices = whole.split((one, 1.0 - one))
        try:
            if checked is None:
                checked = clone(model).set_params(budget=for_fit).prepare(X, y)
            prepared = _with_budgets(checked, for_fit, for_matrices)
            found.append((prepared.rank, prepared))
        except InfeasibleBudget as error:
            refusals.append(error)
    if not found:
        raise refusals[0]
    return min(found, key=lambda pair: pair[0])[1]


def _with_budgets(
    checked: Fit[PrivateLinearClassifier], for_fit: Budget, for_matrices: Budget
) -> PreparedIntervals:
    """The fit with its share of the budget, and the matrices with the rest."""
    fit = checked.with_budget(for_fit).for_intervals()
    moments = moments_for(fit.design.risk, for_matrices, None, fit.model)
    if not fit.event.private:
        moments = replace(moments, why_not_private=fit.event.why_not_private)
    # with a private standardization the fit's design is one part of its event
    alone = fit.event == fit.design.event
    return PreparedIntervals(fit, beside_fit(moments, fit.design) if alone else moments)
