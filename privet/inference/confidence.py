"""Confidence intervals for the coefficients of a private classifier, paid for and nothing else.

    public checks -> does it fit under the cap? -> rows checked -> ledger reserves -> matrices
    released -> ledger settles -> intervals, by post-processing

What the intervals are made of: the released coefficients, the public law of their noise, and two
matrices that are released with noise of their own for the budget asked for (``mechanisms/matrix``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.errors import DataError, DeclarationError, quietly
from privet.inference.geometry import Geometry, Named
from privet.inference.intervals import Intervals, confidence_level
from privet.inference.predicted import refuse_useless
from privet.inference.subject import Subject, subject
from privet.inference.variance import Uncertainty
from privet.inference.wang2018 import WiderUncertainty
from privet.ledger.charge import Charge, check_ledger, check_same_ledger, check_unit
from privet.mechanisms.matrix import MatrixDesign, SecondMoments
from privet.mechanisms.two_matrices import TwoMatrices
from privet.models.tables import labelled_rows
from privet.privacy import Budget
from privet.privacy.budget import as_budget
from privet.privacy.guarantee import Guarantee, today
from privet.randomness import source
from privet.risk import RegularisedRisk
from privet.rows import Rows
from privet.schema import Schema

CALIBRATIONS = (None, "wang2018")
#: Seeded studies draw the matrices' noise from another stream than the fit's.
STREAM = 1 << 32
WORD_OF_THE_CALLER = (
    "that the rows are those the model was trained on: only their number was compared"
)


def confidence_intervals(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    budget: Budget | float,
    level: float = 0.95,
    calibration: str | None = None,
    ledger: Any = None,
    dataset: str | None = None,
) -> Intervals:
    """Private confidence intervals for a fitted linear or large-margin Gaussian classifier.

    ``X`` and ``y`` are the rows that the model was trained on; that they are is the caller's word.
    A model that carries a schema also takes its raw table, without ``y``.
    ``budget`` is spent on top of the fit's, for the same unit (a row, or a person's rows). It is
    charged to ``ledger``, by default the model's own. The intervals are for the minimiser of the
    regularised population risk.

    ``calibration="wang2018"`` is the construction of Wang, Kifer and Lee (2018), for comparison.
    """
    about, level = subject(model), confidence_level(level)
    ledger, dataset = _account(model, ledger, dataset)
    released = as_budget(budget).per_row(model.guarantee_.group)
    moments = moments_for(about.design.risk, released, calibration, model)
    design = moments.design(about.design.n, about.design.m)
    refuse_useless(moments, about.design, level, model._curvature_spread(about.design.parameters))
    if ledger is not None:
        ledger.require(dataset, design.event)
    X, y = _rows_of_the_fit(model, X, y)
    _refuse_other_rows(X, about.design.n)
    with quietly():  # the fit has said it
        again = model._revisit(X, y)
    charge = Charge(ledger, dataset, design.event)
    with charge, quietly():
        found = Paid(moments, design, about).release(again.rows, model, level)
    return replace(found, guarantee=replace(found.guarantee, receipt=charge.receipt))


@dataclass(frozen=True)
class Paid:
    """Matrices that were charged, about to be released."""

    moments: SecondMoments
    design: MatrixDesign
    about: Subject

    def release(self, rows: Rows, model: Any, level: float) -> Intervals:
        """Read the rows once, add noise, and work out the intervals from what is released."""
        about = self.about
        released = self.moments.run(rows, about.theta, self.design)
        kind = WiderUncertainty if isinstance(self.moments, TwoMatrices) else Uncertainty
        uncertainty = kind(
            theta=about.theta,
            released=released,
            regularization=about.design.risk.regularization,
            n=about.design.n,
            noise=about.noise,
            seed=int(source(self.moments.insecure_seed).words((1,))[0] >> np.uint64(1)),
        )
        named = named_for(about.geometry, model)
        guarantee = guarantee_of(self.moments, self.design, model.guarantee_)
        return Intervals(named, level, uncertainty, about.geometry, guarantee)


def moments_for(
    risk: RegularisedRisk, budget: Budget, calibration: str | None, model: Any
) -> SecondMoments:
    """The mechanism that releases the matrices; seeded where the model was."""
    if calibration not in CALIBRATIONS:
        raise DeclarationError(f"calibration must be None or 'wang2018', got {calibration!r}.")
    kind = SecondMoments if calibration is None else TwoMatrices
    guarantee = model.__dict__.get("guarantee_")
    reason = "" if guarantee is None else guarantee.event.why_not_private
    seed = None if model.insecure_seed is None else model.insecure_seed + STREAM
    return kind(risk, budget, seed, reason)


def guarantee_of(moments: SecondMoments, design: MatrixDesign, model: Guarantee) -> Guarantee:
    """The promise of the matrices' release: about whom the model's is, for what it costs itself."""
    return replace(
        model,
        event=design.event,
        numerics=moments.numerics(design),
        assumptions=(*model.assumptions, WORD_OF_THE_CALLER),
        receipt=None,
        released=today(),
    )


def named_for(geometry: Geometry, model: Any) -> Named:
    """Effects in the table's units where the model carries such a schema, else coefficients."""
    text = getattr(model, "schema_", None)
    if text is None:
        return geometry.coefficients()
    schema = Schema.from_toml(text)
    if schema.width != geometry.inputs:
        raise DataError("The schema in the model does not fit its columns.")
    if schema.rows == "scaled" and model.features_are_columns:
        return geometry.effects(schema)
    names = tuple(model._term_names(list(schema.feature_names)))
    return replace(geometry, columns=names).coefficients()


def _account(model: Any, ledger: Any, dataset: str | None) -> tuple[Any, str | None]:
    """The ledger and the data set to charge: those given, or those of the fit."""
    if ledger is None and dataset is None:
        ledger, dataset = model.ledger, model.dataset
        if ledger is None and dataset is not None:
            raise DeclarationError(
                f"The fit was charged to the data set {dataset!r} of a ledger, which the model "
                "file does not keep. Pass ledger=, so that the intervals are charged there too."
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


def _rows_of_the_fit(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Rows and labels, refused where the schema counts other rows of a person than the fit did."""
    rows, labels, schema = labelled_rows(model, X, y)
    if schema is not None and schema.group_size != model.guarantee_.group:
        raise DeclarationError(
            f"The schema lets a person have {schema.group_size} rows, but the model was trained "
            f"for {model.guarantee_.group}. Use the schema of the fit."
        )
    return rows, labels


def _refuse_other_rows(X: Any, n: int) -> None:
    shape = getattr(X, "shape", None)
    count = len(X) if shape is None else int(shape[0])
    if count != n:
        raise DataError(
            f"The table has {count} rows but the model was trained on {n}. Intervals need the rows "
            "of the fit."
        )
