"""Confidence intervals for the coefficients of a private classifier, paid for and nothing else.

    public checks -> does it fit under the cap? -> rows checked -> ledger reserves -> matrices
    released -> ledger settles -> intervals, by post-processing

What the intervals are made of: the released coefficients, the public law of their noise, and two
matrices that are released with noise of their own for the budget asked for (``mechanisms/matrix``).
A fit and its intervals can share one budget: it is split before anything is read and charged once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from privet.errors import DataError, DeclarationError, quietly
from privet.inference.budget_shares import moments_for, prepared_intervals
from privet.inference.files import intervals_digest
from privet.inference.intervals import Intervals
from privet.inference.mixture import confidence_level
from privet.inference.released_model import (
    NamedDirections,
    ReleasedModel,
    refuse_other_noise,
    refuse_unsuited,
    released_model,
)
from privet.inference.uncertainty import Uncertainty
from privet.inference.usefulness import refuse_useless
from privet.ledger import Ledger
from privet.ledger.charge import Charge, check_ledger, check_same_ledger, check_unit
from privet.mechanisms.matrix import MatrixDesign, SecondMoments
from privet.models import PrivateLinearClassifier
from privet.models.digest import model_digest
from privet.models.raw_tables import (
    carried,
    carrying,
    encoded,
    for_schema,
    labeled_rows,
    worth,
)
from privet.models.row_wise import Parted, parted
from privet.privacy import Budget
from privet.privacy.budget import as_budget
from privet.privacy.compose import together
from privet.privacy.event import Event
from privet.privacy.guarantee import Guarantee, today
from privet.randomness import source
from privet.rows import Rows
from privet.schema import Schema

NAME = "fit with confidence intervals"
RELIED_UPON = (
    "the released model itself: its coefficients were paid for by the fit, and are not again here",
    "that the rows are those the model was trained on: only their number was compared",
)
#: what files of a fit and matrices that are one release say of the model
PAID_HERE = (
    "the released model itself: its coefficients are paid for here together with the matrices, and "
    "what pays for the gap to its minimum is in its own file"
)


def confidence_intervals(
    model: PrivateLinearClassifier | Pipeline,
    X: Any,
    y: Any = None,
    *,
    budget: Budget | float,
    level: float = 0.95,
    calibration: str | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Intervals:
    """Private confidence intervals for a fitted linear or large-margin Gaussian classifier.

    The intervals are for the minimizer of the regularized population risk.

    Parameters
    ----------
    model : a linear classifier, LargeMarginGaussian or a regression
        A fitted model.
    X, y : table and labels
        The rows that the model was trained on; that they are is the caller's word. A model that
        carries a schema also takes its raw table, without ``y``.
    budget : float, PureDP, ZCDP, ApproxDP or GDP
        Spent on top of the fit's, for the same unit (a row, or a person's rows).
    level : float, default 0.95
        Confidence level of each interval.
    calibration : None
        There is one. That of Wang, Kifer and Lee (2018) is in ``reproduce/two_matrices.py``.
    ledger, dataset : Ledger and str, default None
        What is charged; by default the model's own.

    Returns
    -------
    Intervals
    """
    parts, schema = parted(model), carried(model)
    about, level = released_model(parts.last), confidence_level(level)
    model = about.released.model
    ledger, dataset = _account(model, ledger, dataset)
    released = as_budget(budget).per_row(model.guarantee_.group)
    moments = moments_for(about.design.risk, released, calibration, model)
    design = moments.design(about.design.n, about.design.m)
    spread, group = about.released.curvature_spread, model.guarantee_.group
    refuse_useless(moments, about.design, level, spread, group)
    if ledger is not None and dataset is not None:
        ledger.require(dataset, design.event)
    X, y = _rows_of_the_fit(parts, schema, X, y)
    _refuse_other_rows(X, about.design.n)
    with quietly():  # the fit has said it
        again = model.revisit(X, y)
    charge = Charge(ledger, dataset, design.event)
    with charge, quietly():
        found = PaidMoments(moments, design, about).release(again.rows, level)
        charge.releases(intervals_digest(found), found.guarantee.persons)
    return replace(found, guarantee=replace(found.guarantee, receipt=charge.receipt))


@dataclass(frozen=True)
class PaidMoments:
    """Matrices that were charged, about to be released."""

    moments: SecondMoments
    design: MatrixDesign
    about: ReleasedModel
    #: of the fit and the matrices together, where the matrices alone prove nothing
    whole: Event | None = None

    def release(self, rows: Rows, level: float) -> Intervals:
        """Read the rows once, add noise, and work out the intervals from what is released."""
        about = self.about
        released = self.moments.run(rows, about.theta, self.design)
        uncertainty = Uncertainty(
            theta=about.theta,
            released=released,
            regularization=about.design.risk.regularization,
            n=about.design.n,
            noise=about.noise,
            seed=int(source(self.moments.insecure_seed).words((1,))[0] >> np.uint64(1)),
            caution=about.layout.caution,
        )
        guarantee = self.guarantee(about.released.guarantee)
        return Intervals(named_for(about), level, uncertainty, about.layout, guarantee)

    def guarantee(self, model: Guarantee) -> Guarantee:
        """The promise of the release: about whom the model's is, for what it costs itself.

        Where the matrices have no loss of their own it is the fit's promise too.
        """
        own = self.design.event
        event = own if self.whole is None or own.alone else self.whole
        alone = event is own
        told = worth(model.assumptions, event.claim.for_group(model.group))
        risk, numerics = self.moments.risk, self.design.numerics
        return replace(
            model,
            event=event,
            numerics=numerics if alone else f"{numerics}; {model.numerics}",
            assumptions=(
                *told,
                RELIED_UPON[0] if alone else PAID_HERE,
                RELIED_UPON[1],
            ),
            receipt=None,
            released=today(),
            constants={"loss": risk.loss.declared(), "norm_bound": risk.norm_bound},
        )


def named_for(about: ReleasedModel) -> NamedDirections:
    """Effects in the table's units where the model carries such a schema, else coefficients."""
    layout, schema = about.layout, about.released.schema
    if schema is None:
        return layout.coefficients()
    if schema.width != layout.inputs:
        raise DataError("The schema in the model does not fit its columns.")
    if schema.rows == "scaled" and about.released.features_are_columns:
        return layout.effects(schema)
    names = tuple(about.released.terms(list(schema.feature_names)))
    return replace(layout, columns=names).coefficients()


def _account(
    model: PrivateLinearClassifier, ledger: Ledger | None, dataset: str | None
) -> tuple[Ledger | None, str | None]:
    """The ledger and the data set to charge: those given, or those of the fit."""
    if ledger is None and dataset is None:
        ledger, dataset = model.ledger, model.dataset
        if ledger is None and dataset is not None:
            raise DeclarationError(
                f"The fit was charged to the data set {dataset!r} of a ledger, which the model "
                "file does not keep. Pass ledger= (--ledger), so that the intervals are "
                "charged there too."
            )
    elif ledger is not None and dataset is None:
        dataset = model.dataset
    check_ledger(ledger, dataset, model.insecure_seed)
    receipt = model.guarantee_.receipt
    if receipt is not None and dataset != receipt.dataset:
        raise DeclarationError(
            f"The fit was charged to the data set {receipt.dataset!r}; intervals read the same "
            "rows and are charged there too."
        )
    check_same_ledger(ledger, receipt)
    check_unit(ledger, dataset, model.guarantee_.group)
    return ledger, dataset


def _rows_of_the_fit(parts: Parted, schema: Schema | None, X: Any, y: Any) -> tuple[Any, Any]:
    """What the model saw, refused where the schema counts other rows of a person than the fit."""
    group = parts.last.guarantee_.group
    rows, labels, found = labeled_rows(schema, X, y)
    if found is not None and found.group_size != group:
        raise DeclarationError(
            f"The schema lets a person have {found.group_size} rows, but the model was trained "
            f"for {group}. Use the schema of the fit."
        )
    return parts.transformed(rows), labels


def _refuse_other_rows(X: Any, n: int) -> None:
    shape = getattr(X, "shape", None)
    count = len(X) if shape is None else int(shape[0])
    if count != n:
        raise DataError(
            f"The table has {count} rows but the model was trained on {n}. Intervals need the rows "
            "of the fit."
        )


def fit_with_intervals(
    model: PrivateLinearClassifier,
    X: Any,
    y: Any = None,
    *,
    budget: Budget | float,
    level: float = 0.95,
    share: float | Literal["auto"] = "auto",
    schema: Schema | None = None,
) -> tuple[PrivateLinearClassifier, Intervals]:
    """A fitted copy of ``model`` and intervals for its coefficients, for ``budget`` together.

    Both are one event and one charge to the model's ledger.

    Parameters
    ----------
    model : a linear classifier, LargeMarginGaussian or a regression
        What to fit; its own ``budget`` plays no part.
    X, y : table and labels
        The rows to train on.
    budget : float, PureDP, ZCDP, ApproxDP or GDP
        What the fit and the intervals cost together.
    level : float, default 0.95
        Confidence level of each interval.
    share : float or "auto", default "auto"
        The fit's share of the budget; the matrices that the intervals need get the rest. "auto" is
        the one with the shortest intervals for a typical table, by a public rule of the number of
        rows and parameters, the kind of noise and the declared domain; it reads no data.
    schema : Schema, default None
        With a schema ``X`` is a raw table, as in ``fit_table``: there is no ``y``, the budget is
        for whom the schema protects, and the model carries the schema.

    Returns
    -------
    fitted model, Intervals
    """
    refuse_unsuited(model)
    level, asked = confidence_level(level), as_budget(budget)
    model, X, y, whole = _by_schema(model, X, y, asked, schema)
    prepared = prepared_intervals(model, X, y, whole, share)
    fit, moments = prepared.fit, prepared.moments
    refuse_other_noise(fit.planned.mechanism.name)
    group = 1 if schema is None else schema.group_size
    refuse_useless(moments, fit.design, level, fit.curvature_spread, group)
    design = moments.design(fit.design.n, fit.design.m)
    event = together((fit.event, design.event), whole, NAME)
    charge = Charge(model.ledger, model.dataset, event, forget=fit.forget)
    with charge:
        fitted = fit.release()
        if schema is not None:
            carrying(fitted, schema, asked)
        paid = PaidMoments(moments, design, released_model(fitted), event)
        found = paid.release(fit.rows, level)
        charge.releases(model_digest(fitted))
        charge.releases(intervals_digest(found), found.guarantee.persons)
    found = replace(found, guarantee=replace(found.guarantee, receipt=charge.receipt))
    return fit.settle(charge.receipt), found


def _by_schema(
    model: PrivateLinearClassifier, X: Any, y: Any, budget: Budget, schema: Schema | None
) -> tuple[PrivateLinearClassifier, Any, Any, Budget]:
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
