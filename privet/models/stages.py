"""Releases that come before a fit and shape the rows it sees, all under the fit's one budget.

A stage asks for a share of the budget, says what it costs, and releases attributes of the model
(columns' centers and scales, centres of mixtures). Later stages and the fit itself treat what was
released as public. The fit and its stages are one event and one charge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.mechanisms.moments import MeanDesign
from privet.privacy import Budget, Event
from privet.privacy.budget import ApproxDP, PureDP
from privet.privacy.compose import together

Array = NDArray[np.float64]
# Stages are pure under (epsilon, delta) where they want no more of epsilon than this together.
MOST_PURE = 0.08
# So that rounding cannot make the parts add up to more than the whole.
SAFE = 1.0 - 1e-12


class Stage(ABC):
    """A release before the fit. It holds declarations only."""

    #: what is released, in words for a statement
    name: ClassVar[str]

    @abstractmethod
    def share(self, budget: Budget, n: int) -> float:
        """The share of ``budget`` that this stage wants, by a public rule."""

    @abstractmethod
    def design(self, budget: Budget, n: int) -> MeanDesign:
        """Its noise and its event when given ``budget``."""

    @abstractmethod
    def run(self, model: Any, budget: Budget, data: Any, codes: Any) -> dict[str, Array]:
        """Draw noise and return the released attributes; the event was charged before."""


@dataclass(frozen=True)
class Shared:
    """A budget shared between a fit and its stages."""

    claim: Budget
    fit: Budget
    stages: tuple[tuple[Stage, Budget], ...]

    def event(self, fitted: Event, n: int) -> Event:
        """The one event of everything; the fit's own event where there are no stages."""
        if not self.stages:
            return fitted
        parts = [fitted, *(stage.design(part, n).event for stage, part in self.stages)]
        names = " and ".join(stage.name for stage, _ in self.stages)
        return together(parts, self.claim, f"{fitted.mechanism} perturbation after {names}")

    def numerics(self, fitted: str, n: int) -> str:
        """The fit's sentence and those of the stages."""
        told = [f"{stage.name}: {stage.design(part, n).numerics}" for stage, part in self.stages]
        return "; ".join([*told, fitted])

    def run(self, model: Any, data: Any, codes: Any) -> None:
        """Release the stages one after the other, as attributes of ``model``."""
        for stage, part in self.stages:
            for name, value in stage.run(model, part, data, codes).items():
                setattr(model, name, value)


def shared(budget: Budget, stages: Sequence[Stage], n: int) -> Shared:
    """``budget`` shared out: each stage gets what its rule wants, the fit gets the rest.

    Under (epsilon, delta) the stages are pure where a few per cent of epsilon are enough for them:
    then the fit keeps delta and its own calibration, and the epsilons add up. Otherwise, and this
    is so in many columns, all of it is paid from the rho that converts to the budget.
    """
    if not stages:
        return Shared(budget, budget, ())
    if isinstance(budget, ApproxDP):
        pure = PureDP(budget.epsilon)
        shares = [stage.share(pure, n) for stage in stages]
        if sum(shares) <= MOST_PURE:
            fit = ApproxDP(budget.epsilon * (1.0 - sum(shares)) * SAFE, budget.delta)
            parts: list[Budget] = [pure.fraction(share * SAFE) for share in shares]
            return Shared(budget, fit, tuple(zip(stages, parts, strict=True)))
    shares = [stage.share(budget, n) for stage in stages]
    rest, *parts = budget.split([1.0 - sum(shares), *shares])
    return Shared(budget, rest, tuple(zip(stages, parts, strict=True)))
