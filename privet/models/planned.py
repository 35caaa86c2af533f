"""What a fit will do, known before a row is looked at, and the table that it is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from privet.errors import DeclarationError
from privet.mechanisms import Mechanism, ObjectivePerturbation, Trainer
from privet.mechanisms.trainer import Design, VectorDesign
from privet.models.inputs import table_shape
from privet.models.standardize import StagedBudget
from privet.privacy import Event


@dataclass(frozen=True)
class Planned:
    """What a fit will do and cost, from declarations and the table's shape alone.

    Attributes
    ----------
    mechanism : Trainer
        With the fit's share of the budget.
    design : VectorDesign
        Every number of the release: noise, regularization, tolerance.
    stages : StagedBudget
        The budget, between the fit and the releases that come before it.
    event : Event
        What all of it will cost.
    """

    mechanism: Trainer
    design: VectorDesign
    stages: StagedBudget
    event: Event

    def for_intervals(self) -> Planned:
        """The same with the regularization that is better where intervals follow the fit."""
        if not isinstance(self.mechanism, ObjectivePerturbation) or not isinstance(
            self.design, Design
        ):
            return self
        mechanism = replace(self.mechanism, for_intervals=True)
        n = self.design.n
        design = mechanism.design(n, self.design.m)
        return Planned(mechanism, design, self.stages, self.stages.event(design.event, n))

    @property
    def minimizer(self) -> tuple[Mechanism, Design]:
        """Mechanism and design of a private minimizer; refused where the fit is none."""
        if isinstance(self.mechanism, Mechanism) and isinstance(self.design, Design):
            return self.mechanism, self.design
        raise DeclarationError(
            f"A fit by mechanism={self.mechanism.name!r} has no noise of a known law in its "
            "coefficients, which this needs. Use mechanism='objective'."
        )


@dataclass(frozen=True)
class TrainingTable:
    """Rows and labels as arrays; neither cells nor labels have been looked at."""

    x: Any
    labels: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (0 for objects that have none): public."""
        return table_shape(self.x)
