"""What a released model says about itself and its noise, as numbers for tables and pictures.

Every noise level below is a function of public quantities. How far objective perturbation moves a
coefficient depends on the curvature that the rows give it, which is private: what is told is the
most that it is for every table. Whether a coefficient differs from zero is not told here; that
takes the curvature, which private intervals pay for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privet.errors import DeclarationError, quietly
from privet.inference.released_model import released_model
from privet.losses.loss import UNREDUCED
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms.trainer import Design
from privet.models import PrivateLinearClassifier, PrivateLinearRegressor
from privet.models import Released as ReleasedModel
from privet.planning.bounds import ReleaseNoise, coefficient_noise, release_noise
from privet.privacy.budget import Budget
from privet.schema import Effect, Schema
from privet.schema.declared_values import OTHER

Array = NDArray[np.float64]


class PromiseDrawn(Protocol):
    """What a picture of a guarantee needs of a release."""

    @property
    def promise(self) -> Budget:
        """What is promised."""

    @property
    def whom(self) -> str:
        """Whom the promise is about."""


@dataclass(frozen=True)
class Coefficient:
    """One released number."""

    name: str
    value: float
    told: str = ""  # in the table's own units, where a schema gives them
    rest: bool = False  # of the category for cells that no declared category has


@dataclass(frozen=True)
class ReportedModel:
    """A fitted model, its rebuilt mechanism and the schema that its file keeps."""

    model: PrivateLinearClassifier | PrivateLinearRegressor
    schema: Schema | None = None

    @cached_property
    def _own(self) -> ReleasedModel:
        return ReleasedModel.of(self.model)

    @cached_property
    def design(self) -> Design | None:
        """The design that the release had; None where it gives no law of a coefficient's noise."""
        return self._own.design if self._own.law_is_known else None

    @property
    def chosen(self) -> bool:
        """Whether a search chose the model among several."""
        return "search" in self._own.guarantee.event.mechanism

    @property
    def has_intervals(self) -> bool:
        """Whether the coefficients can have private intervals."""
        try:
            released_model(self.model)
        except DeclarationError:
            return False
        return True

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
        """Whether the noise on a coefficient is known exactly, or only at most."""
        return self.design is not None and self.design.gap is None

    @cached_property
    def noise(self) -> ReleaseNoise | None:
        """Bounds on the norm of the noise in the released vector, where there are any."""
        return None if self.design is None else release_noise(self.design)

    @property
    def norm(self) -> float:
        """Norm of the released vector, in the units in which it was perturbed."""
        model, own = self.model, self._own
        offset = own.moved / (own.view.constant or 1.0)
        length = float(np.hypot(np.linalg.norm(model.coef_), np.linalg.norm(offset))) / own.unit
        two_rows = self._family not in UNREDUCED and len(model.classes_) == 2
        return length / np.sqrt(2.0) if two_rows else length

    @cached_property
    def band(self) -> float | None:
        """The half-width that noise on an entry of ``coef_`` keeps in 95 of 100 fits, at most.

        In the units that coefficients are shown in; with output perturbation it is exact.
        """
        if self.design is None:
            return None
        own = coefficient_noise(self.design) * self._own.unit
        return own * self._mixing * abs(self._factor)

    def known_noise(self) -> tuple[float, ReleaseNoise]:
        """``band`` and ``noise`` of a model that has both; refused for one that a search chose."""
        if self.band is None or self.noise is None:
            raise DeclarationError(
                "The noise in the coefficients of this model has no known law: it cannot be drawn."
            )
        return self.band, self.noise

    @property
    def _family(self) -> str:
        return self._own.loss.family

    @property
    def _mixing(self) -> float:
        """Length of the direction of released parameters that one coefficient is."""
        if self._family in UNREDUCED:
            return 1.0
        basis = sum_zero_basis(len(self.model.classes_))
        one = basis[0] if len(self.model.classes_) > 2 else basis[1] - basis[0]
        return float(np.linalg.norm(one))

    # -- coefficients --------------------------------------------------------------------------

    @property
    def in_table_units(self) -> bool:
        """Whether coefficients can be told as changes of the score in the table's own units."""
        plain = self._own.features_are_columns
        return plain and self.schema is not None and self.schema.rows == "scaled"

    @property
    def _factor(self) -> float:
        """From ``coef_`` to the numbers shown."""
        schema = self.schema if self.in_table_units else None
        return 1.0 if schema is None else schema.factor

    @cached_property
    def coefficients(self) -> list[Coefficient]:
        """Every coefficient without the intercept, in the order of the columns.

        With a schema a number's value is the change of the score from the middle of its declared
        range to the upper end, and a category's the change for being in it, so that they compare.
        What stands for undeclared cells comes last: perhaps no row has one, and then its
        coefficient is noise alone.
        """
        effects = self._effects()
        found = [
            Coefficient(
                self._name(row, column),
                float(self.model.coef_[row, column]) * self._factor,
                told=_told(effects[column], row) if effects else "",
                rest=self.schema is not None and self.feature_names[column].endswith(f"={OTHER}"),
            )
            for row in range(len(self.model.coef_))
            for column in range(self.model.coef_.shape[1])
        ]
        return sorted(found, key=lambda each: each.rest)

    def largest(self, count: int) -> list[Coefficient]:
        """The ``count`` largest, declared columns before the rest, in the order of the columns."""
        every = self.coefficients
        by_size = sorted(range(len(every)), key=lambda i: (every[i].rest, -abs(every[i].value)))
        return [every[i] for i in sorted(by_size[:count])]

    def _effects(self) -> list[Effect]:
        if self.schema is None or not self.in_table_units:
            return []
        return self.schema.explain(self.model.coef_, self.model.intercept_)[1:]

    @cached_property
    def feature_names(self) -> Sequence[str]:
        """Names of the columns, from the schema, the table or their places."""
        names = self._own.columns if self.schema is None else self.schema.feature_names
        return self._own.features(list(names))

    def _name(self, row: int, column: int) -> str:
        name = self.feature_names[column].replace("=", ": ")
        return name if len(self.model.coef_) == 1 else f"{name} → {self._own.scores[row]}"

    @property
    def score_name(self) -> str:
        """What the score is called, and for which class it speaks."""
        kind = self._own.changed
        if len(self.model.classes_) > 2 or self.model.predicts_numbers:
            return kind
        return f"{kind} of {self.model.classes_[1]}"

    @property
    def target(self) -> str:
        """What the model predicts: its classes, or a number and its declared bounds."""
        if not self.model.predicts_numbers:
            return f"Classes: {', '.join(str(label) for label in self.model.classes_)}."
        low, high = self.model.classes_
        name = "a number" if self.schema is None else self.schema.label.name
        return (
            f"Target: {name}, declared from {low:g} to {high:g}. Coefficients are changes of the "
            f"{self._own.changed}, and predictions stay within these bounds."
        )

    # -- the price -----------------------------------------------------------------------------

    def price(self, factors: Array) -> list[Price]:
        """Noise in the release had the budget been ``factors`` times this one.

        The regularization stays, except where a small budget needs more: the public rule would
        raise it with the noise, and the price would hide in the shrinkage. What came with the fit
        keeps its share of the budget.
        """
        event, found = self.model.guarantee_.event, []
        own, mechanism = self._own.fit, self._own.mechanism
        for factor in factors.tolist():
            try:
                other = replace(mechanism, budget=own.claim.scaled(factor))
                with quietly():
                    design = other.design(event.n, own.columns)
            except DeclarationError:
                continue  # no such budget, or no design for it
            found.append(Price(event.claim.amount * factor, release_noise(design)))
        return found


@dataclass(frozen=True)
class Price:
    """Proved bounds on the noise in the release at one budget."""

    amount: float
    noise: ReleaseNoise


def _told(effect: Effect, row: int) -> str:
    """One score's change with its unit; nothing for a category, whose change says it all."""
    return "" if effect.middle is None else f"{effect.changes[row]:+.3g} {effect.unit}"
