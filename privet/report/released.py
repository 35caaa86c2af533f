"""What a released model says about itself and its noise, as numbers for tables and pictures.

The mechanism is built again from the model's declarations and the event's total regularisation, so
every noise level below is a function of public quantities. Objective perturbation's effect on a
coefficient depends on the curvature of the rows, which is private; what is told is the least that
it is for every table ("at least"), and what it is for the plan's typical table ("about").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError, DeclarationError, quietly
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms import Mechanism
from privet.mechanisms.gap import least_response
from privet.mechanisms.release import Design
from privet.models.labels import class_weights
from privet.noise import NOISES
from privet.planning.bounds import ReleaseNoise, release_noise
from privet.planning.prediction import typical_curvature
from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from privet.report.marginal import coordinate_quantile
from privet.schema import Effect, Schema

Array = NDArray[np.float64]
TAIL = 0.05


@dataclass(frozen=True)
class Coefficient:
    """One released number with half-widths of its 95 % noise band, in the same unit."""

    name: str
    value: float
    least: float  # for every table
    about: float  # for a typical table; the same where the noise is known exactly
    most: float  # for a column that is zero in every row, where nothing holds the noise back
    told: str = ""  # in the table's own units, where a schema gives them

    @property
    def stands_out(self) -> bool:
        """Whether noise alone would hardly be that large."""
        return abs(self.value) > self.about


@dataclass(frozen=True)
class Released:
    """A fitted model, its rebuilt mechanism and the schema that its file keeps."""

    model: Any
    schema: Schema | None = None

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism as declared, before the rule or the floor chose its regularisation."""
        model = self.model
        weights = class_weights(model.class_weight, model.classes_)
        return model._mechanism(len(model.classes_), weights)  # type: ignore[no-any-return]

    @cached_property
    def design(self) -> Design:
        """The design that the release had: noise and regularisation are the event's own."""
        event = self.model.guarantee_.event
        if event.regularization == 0.0:
            raise DataError(
                "This model was chosen by a search, and a report draws the noise of a single fit. "
                "`privet statement` tells what was promised; train once with the parameters found "
                "for a report."
            )
        # of a composite, the part that its own numbers are taken from
        kind = next((part.noise for part in event.parts if part.scale == event.scale), event.noise)
        same = replace(self.mechanism, regularization=event.regularization, noise=kind)
        design = same.design(event.n, event.m)
        main = NOISES[kind](event.scale, design.parameters)
        return replace(design, main=main, event=event)

    @property
    def promise(self) -> Budget:
        """The guarantee that people ask about: for a person, where the schema names one."""
        promise: Budget = self.model.guarantee_.budget
        return promise

    @property
    def whom(self) -> str:
        """Whom the promise is about."""
        if self.schema is None or self.schema.person is None:
            return "a given record"
        return "a given person"

    @property
    def exact(self) -> bool:
        """Whether the noise on a coefficient is known exactly, or only at least."""
        return self.design.gap is None

    @cached_property
    def noise(self) -> ReleaseNoise:
        """Bounds on the norm of the noise in the released vector."""
        return release_noise(self.design)

    @property
    def norm(self) -> float:
        """Norm of the released vector, in the units in which it was perturbed."""
        model = self.model
        offset = model.intercept_ / float(model.norm_bound)
        length = float(np.hypot(np.linalg.norm(model.coef_), np.linalg.norm(offset)))
        two_rows = self.mechanism.loss.family != "margin" and len(model.classes_) == 2
        return length / np.sqrt(2.0) if two_rows else length

    @cached_property
    def band(self) -> tuple[float, float, float]:
        """Half-widths that noise on an entry of ``coef_`` keeps 95 times in 100.

        At least, about and at most: with output perturbation they are one number.
        """
        design = self.design
        width = coordinate_quantile(design.main, TAIL) * self._mixing
        if self.exact:
            return width, width, width
        least = least_response(design.risk, design.n, design.m)
        most = 1.0 / (design.n * design.risk.regularization)
        return width * least, width * typical_response(design), width * most

    @property
    def usual_noise(self) -> float:
        """Mean norm of the noise in the release for a typical table."""
        return usual_noise(self.design)

    @property
    def _mixing(self) -> float:
        """Length of the direction of released parameters that one coefficient is."""
        if self.mechanism.loss.family == "margin":
            return 1.0
        basis = sum_zero_basis(len(self.model.classes_))
        one = basis[0] if len(self.model.classes_) > 2 else basis[1] - basis[0]
        return float(np.linalg.norm(one))

    # -- coefficients --------------------------------------------------------------------------

    @property
    def in_table_units(self) -> bool:
        """Whether coefficients can be told as changes of the score in the table's own units."""
        plain = self.model.features_are_columns
        return plain and self.schema is not None and self.schema.rows == "scaled"

    @cached_property
    def coefficients(self) -> list[Coefficient]:
        """Every coefficient without the intercept, largest first.

        With a schema a number's value is the change of the score from the middle of its declared
        range to the upper end, and a category's the change for being in it, so that they compare.
        """
        factor = self.schema.factor if self.schema is not None and self.in_table_units else 1.0
        factor *= self._sign
        told = self._told()
        least, about, most = (width * abs(factor) for width in self.band)
        found = [
            Coefficient(
                self._name(row, column),
                float(self.model.coef_[row, column]) * factor,
                least,
                about,
                most,
                told=told[column].format(row) if told else "",
            )
            for row in range(len(self.model.coef_))
            for column in range(self.model.coef_.shape[1])
        ]
        return sorted(found, key=lambda each: -abs(each.value))

    def _told(self) -> list[_Told]:
        if self.schema is None or not self.in_table_units:
            return []
        effects = self.schema.explain(self.model.coef_, self.model.intercept_)[1:]
        return [_Told(effect, self._sign) for effect in effects]

    @property
    def _sign(self) -> float:
        """-1 where the model's second class is not the one that the schema names last."""
        if self.schema is None or len(self.model.classes_) > 2:
            return 1.0
        return 1.0 if str(self.model.classes_[1]) == str(self.schema.label.classes[-1]) else -1.0

    @cached_property
    def feature_names(self) -> Sequence[str]:
        """Names of the columns, from the schema, the table or their places."""
        if self.schema is not None:
            names: Sequence[str] = self.schema.feature_names
        else:
            own = getattr(self.model, "feature_names_in_", None)
            count = int(self.model.n_features_in_)
            names = _numbered(count) if own is None else [str(name) for name in own]
        found: Sequence[str] = self.model._feature_names(list(names))
        return found

    def _name(self, row: int, column: int) -> str:
        name = self.feature_names[column].replace("=", ": ")
        return name if len(self.model.coef_) == 1 else f"{name} → {self.model._score_names()[row]}"

    @property
    def score_name(self) -> str:
        """What the score is called, and for which class it speaks."""
        kind = "log-odds" if hasattr(self.model, "predict_proba") else "score"
        if len(self.model.classes_) > 2:
            return kind
        return f"{kind} of {self.model.classes_[1 if self._sign > 0 else 0]}"

    # -- the price -----------------------------------------------------------------------------

    def price(self, factors: Array) -> list[Price]:
        """Noise in the release had the budget been ``factors`` times this one.

        The regularisation stays, except where a small budget needs more: the public rule would
        raise it with the noise, and the price would hide in the shrinkage.
        """
        event, found = self.model.guarantee_.event, []
        for factor in factors.tolist():
            try:
                other = replace(
                    self.mechanism,
                    budget=scaled(event.claim, factor),
                    regularization=event.regularization,
                )
                with quietly():
                    design = other.design(event.n, event.m)
            except DeclarationError:
                continue  # no such budget, or no design for it
            at = amount(event.claim) * factor
            found.append(Price(at, release_noise(design), usual_noise(design)))
        return found


@dataclass(frozen=True)
class Price:
    """Noise in the release at one budget: proved bounds, and for a typical table."""

    amount: float
    noise: ReleaseNoise
    usual: float


def typical_response(design: Design) -> float:
    """How far a typical table's minimiser moves with ``b``, to first order."""
    risk = design.risk
    return 1.0 / (design.n * (risk.regularization + typical_curvature(risk, design.m)))


def usual_noise(design: Design) -> float:
    """Mean norm of the noise in the release for a typical table."""
    norm = design.main.expected_norm
    return norm if design.gap is None else norm * typical_response(design)


@dataclass(frozen=True)
class _Told:
    effect: Effect
    sign: float

    def format(self, row: int) -> str:
        """One score's change with its unit; nothing for a category, whose change says it all."""
        if self.effect.middle is None:
            return ""
        return f"{self.sign * self.effect.changes[row]:+.3g} {self.effect.unit}"


def _numbered(width: int) -> list[str]:
    return [f"column {i + 1}" for i in range(width)]


def amount(budget: Budget) -> float:
    """The budget's main number."""
    return budget.facts()["rho" if isinstance(budget, ZCDP) else "epsilon"]


def scaled(budget: Budget, factor: float) -> Budget:
    """The same kind of budget with ``factor`` times its main number; delta stays."""
    if isinstance(budget, ZCDP):
        return ZCDP(budget.rho * factor)
    if isinstance(budget, ApproxDP):
        return ApproxDP(budget.epsilon * factor, budget.delta)
    assert isinstance(budget, PureDP)
    return PureDP(budget.epsilon * factor)
