"""A fit and its intervals under one budget: split before anything is read, charged once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from sklearn.base import clone

from privet.errors import DeclarationError
from privet.inference.confidence import Paid, moments_for
from privet.inference.intervals import Intervals, confidence_level
from privet.inference.predicted import prediction, refuse_useless
from privet.inference.subject import refuse_unsuited, subject
from privet.ledger.charge import Charge
from privet.mechanisms.matrix import SecondMoments
from privet.models.carried import carrying
from privet.models.tables import encoded, for_schema
from privet.privacy import Budget
from privet.privacy.budget import as_budget
from privet.privacy.compose import together
from privet.schema import Schema

NAME = "fit with confidence intervals"
#: The fit's share: the first of these that leaves the intervals enough to be useful. Where there is
#: enough, nine tenths make the shortest intervals: most of their length is the fit's own noise.
SHARES = (0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class Prepared:
    """An unfitted model with its rows checked, and the matrices that will follow it."""

    model: Any
    fit: Any  # privet.models' Ready
    moments: SecondMoments


def fit_with_intervals(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    budget: Budget | float,
    level: float = 0.95,
    share: float | Literal["auto"] = "auto",
    schema: Schema | None = None,
) -> tuple[Any, Intervals]:
    """A fitted copy of ``model`` and intervals for its coefficients, for ``budget`` together.

    The fit gets ``share`` of the budget, whatever ``model.budget`` says; the matrices that the
    intervals need get the rest. "auto" is 0.9, or less where the intervals would be useless; it
    reads no data. Both are one event and one charge to the model's ledger.

    With a ``schema`` ``X`` is a raw table, as in ``fit_table``: there is no ``y``, the budget is
    for whom the schema protects, and the model carries the schema.
    """
    refuse_unsuited(model)
    level, asked = confidence_level(level), as_budget(budget)
    model, X, y, whole = _by_schema(model, X, y, asked, schema)
    prepared = _prepared(model, X, y, whole, level, share)
    fitted, fit = prepared.model, prepared.fit.design
    refuse_useless(prepared.moments, fit, level, fitted._curvature_spread(fit.parameters))
    design = prepared.moments.design(fit.n, fit.m)
    event = together((prepared.fit.event, design.event), whole, NAME)
    charge = Charge(fitted.ledger, fitted.dataset, event)
    with charge:
        fitted._release(prepared.fit)
        if schema is not None:
            carrying(fitted, schema, asked)
        paid = Paid(prepared.moments, design, subject(fitted))
        found = paid.release(prepared.fit.rows, fitted, level)
    fitted._settled(charge.receipt)
    return fitted, replace(found, guarantee=replace(found.guarantee, receipt=charge.receipt))


def _by_schema(
    model: Any, X: Any, y: Any, budget: Budget, schema: Schema | None
) -> tuple[Any, Any, Any, Budget]:
    """The model, rows, labels and each row's budget: a raw table's by its schema."""
    if (y is None) == (schema is None):
        raise DeclarationError(
            "Pass either rows and their labels y, or a raw table and its schema=, which names the "
            "label's column."
        )
    if schema is None:
        return model, X, y, budget
    chosen = for_schema(clone(model).set_params(budget=budget), schema)
    return chosen, *encoded(schema, X), chosen.budget


def _prepared(
    model: Any, X: Any, y: Any, whole: Budget, level: float, share: float | Literal["auto"]
) -> Prepared:
    """The model with its share of the budget, checked; "auto" asks for the shape of the rows."""
    if share != "auto":
        return _with_share(model, X, y, whole, share)
    for one in SHARES:
        found = _with_share(model, X, y, whole, one)
        design = found.fit.design
        spread = found.model._curvature_spread(design.parameters)
        if prediction(found.moments, design, level, spread).useful:
            return found
    return _with_share(model, X, y, whole, SHARES[0])  # and the refusal says why


def _with_share(model: Any, X: Any, y: Any, whole: Budget, share: Any) -> Prepared:
    if not (isinstance(share, float) and 0.0 < share < 1.0):
        raise DeclarationError(f"share must be 'auto' or between 0 and 1, got {share!r}.")
    for_fit, for_matrices = whole.split((share, 1.0 - share))
    fitted = clone(model).set_params(budget=for_fit)
    checked = fitted._ready(X, y)
    moments = moments_for(checked.design.risk, for_matrices, None, fitted)
    if not checked.event.private:
        moments = replace(moments, why_not_private=checked.event.why_not_private)
    return Prepared(fitted, checked, moments)
