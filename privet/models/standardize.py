"""Private standardization: columns centered and scaled by moments that the same budget paid for.

    u       the column clipped to its declared range and scaled to [-1, 1]
    release noisy means of u and u^2 from a few per cent of the budget (``mechanisms.moments``)
    center_ the middle of the range plus half its width times the mean of u
    scale_  half the width times the root of (mean square - mean^2), not below a public floor
    rows    (clip(x) - center_)/scale_, clipped to norm_bound or handed to the model's own map

Everything after the release is post-processing. A schema's columns are in the unit ball already and
need none of this; it is for plain numeric tables whose ranges are known and whose spread is not.

It is one of the stages of a fit: releases that come before it and shape the rows it sees, all under
the fit's one budget. A stage asks for a share, says what it costs, and releases attributes of the
model. Later stages and the fit treat what was released as public; all are one event and one charge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet._types import Array, Codes, Targets
from privet.errors import DeclarationError
from privet.mechanisms.moments import (
    SQUARE_WEIGHT,
    MeanDesign,
    PrivateMean,
    column_moments,
    moments_share,
    variance_floor,
)
from privet.privacy import Budget, Event
from privet.privacy.compose import together
from privet.privacy.guarantee import MECHANISM
from privet.rows.engine import Block, Parts
from privet.rows.mapped import FeatureMap, MapView
from privet.rows.streamed import rows_of

# Smaller numbers are zero: their squares would be too small to compute with exactly.
TINY = 1e-150
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
    def run(
        self, budget: Budget, data: Any, codes: Codes, before: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Draw noise and return the released attributes; the event was charged before.

        ``before`` holds what earlier stages released.
        """


@dataclass(frozen=True)
class StagedBudget:
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
        return together(parts, self.claim, f"{MECHANISM[fitted.mechanism]} after {names}")

    def numerics(self, fitted: str, n: int) -> str:
        """The fit's sentence and those of the stages."""
        told = [f"{stage.name}: {stage.design(part, n).numerics}" for stage, part in self.stages]
        return "; ".join([*told, fitted])

    def run(self, data: Any, codes: Codes) -> dict[str, Array]:
        """Release the stages one after the other: attributes of the model by their names."""
        released: dict[str, Array] = {}
        for stage, part in self.stages:
            released |= stage.run(part, data, codes, released)
        return released


def staged_budget(
    budget: Budget, stages: Sequence[Stage], n: int, *, gaussian: bool = False
) -> StagedBudget:
    """``budget`` shared out: each stage gets what its rule wants, the fit gets the rest.

    Under (epsilon, delta) the stages are pure where a few per cent of epsilon are enough for them:
    then the fit keeps delta and its own calibration, and the epsilons add up. Otherwise, and this
    is so in many columns, all of it is paid from the rho that converts to the budget, or, where the
    fit lies inside a Gaussian mechanism (``gaussian``) as the stages do, from its mu, exactly.
    """
    if not stages:
        return StagedBudget(budget, budget, ())
    if budget.without_delta is not budget:
        pure = budget.without_delta
        shares = [stage.share(pure, n) for stage in stages]
        if sum(shares) <= MOST_PURE:
            fit = budget.with_amount(budget.amount * (1.0 - sum(shares)) * SAFE)
            parts = [pure.fraction(share * SAFE) for share in shares]
            return StagedBudget(budget, fit, tuple(zip(stages, parts, strict=True)))
    shares = [stage.share(budget, n) for stage in stages]
    whole = budget.gaussian if gaussian else budget
    rest, *parts = whole.split([1.0 - sum(shares), *shares])
    return StagedBudget(budget, rest, tuple(zip(stages, parts, strict=True)))


@dataclass(frozen=True)
class Ranges:
    """Declared lower and upper ends of each column, shape (d,)."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """The middle of each range."""
        return self.low / 2.0 + self.high / 2.0

    @property
    def half(self) -> Array:
        """Half the width of each range."""
        return self.high / 2.0 - self.low / 2.0

    def clipped(self, x: Any) -> Array:
        """Rows with each column brought into its range; dense."""
        dense: Any = x.toarray() if sp.issparse(x) else np.asarray(x)  # type: ignore[attr-defined]
        return np.asarray(np.clip(dense.astype(np.float64, copy=False), self.low, self.high))


def declared_ranges(column_bounds: Any, d: int) -> Ranges:
    """``column_bounds=(low, high)`` for ``d`` columns; refuses what is not a pair of ranges."""
    try:
        low, high = (np.asarray(end, dtype=np.float64) for end in column_bounds)
        ends = Ranges(np.broadcast_to(low, (d,)).copy(), np.broadcast_to(high, (d,)).copy())
    except (TypeError, ValueError) as error:
        raise DeclarationError(
            "standardize='private' needs column_bounds=(low, high): two numbers, or two lists "
            f"with one number for each of the {d} columns. Declare what can be known without "
            "looking at the rows."
        ) from error
    widths = ends.high - ends.low
    if not (np.isfinite(widths).all() and (widths >= 1e-100).all() and (widths <= 1e100).all()):
        raise DeclarationError(
            "Each column's upper bound must be above its lower one, and both finite."
        )
    return ends


@dataclass(frozen=True)
class MomentColumns:
    """``(u, sqrt2 u^2)`` of each column."""

    ranges: Ranges

    @property
    def columns(self) -> int:
        """Two for each column."""
        return 2 * len(self.ranges.low)

    @property
    def norm(self) -> float:
        """Above ``sqrt(3 d)``, so that nothing is clipped here: the columns are already."""
        return 2.0 * float(np.sqrt(len(self.ranges.low)))

    def __call__(self, x: Any) -> Array:
        """Scaled columns and their weighted squares."""
        u = (self.ranges.clipped(x) - self.ranges.middle) / self.ranges.half
        np.clip(u, -1.0, 1.0, out=u)  # rounding must not pass the ends
        u[np.abs(u) < TINY] = 0.0
        return np.concatenate([u, SQUARE_WEIGHT * np.square(u)], axis=1)


@dataclass(frozen=True)
class Standardized:
    """``(clip(x) - center)/scale``; its rows are clipped to ``norm``."""

    ranges: Ranges
    center: Array
    scale: Array
    norm: float

    @property
    def columns(self) -> int:
        """As many as the table has."""
        return len(self.center)

    def __call__(self, x: Any) -> Array:
        """Centered and scaled columns of a block."""
        out = (self.ranges.clipped(x) - self.center) / self.scale
        out[np.abs(out) < TINY] = 0.0
        return out


@dataclass(frozen=True)
class Chained:
    """One map after another."""

    first: FeatureMap
    then: FeatureMap

    @property
    def columns(self) -> int:
        """Those of the second map."""
        return self.then.columns

    @property
    def norm(self) -> float:
        """That of the second map: it bounds whatever the first one made."""
        return self.then.norm

    def __call__(self, x: Any) -> NDArray[Any]:
        """The second map of the first."""
        return self.then(self.first(x))


@dataclass(frozen=True)
class Standardization(Stage):
    """The release of ``center_`` and ``scale_``."""

    name: ClassVar[str] = "private standardization"
    ranges: Ranges
    insecure_seed: int | None = None

    @property
    def _d(self) -> int:
        return len(self.ranges.low)

    def _mean(self, budget: Budget) -> PrivateMean:
        return PrivateMean(column_moments(self._d), budget, insecure_seed=self.insecure_seed)

    def share(self, budget: Budget, n: int) -> float:
        """One to ten per cent."""
        return moments_share(budget, n, self._d)

    def design(self, budget: Budget, n: int) -> MeanDesign:
        """The moments' noise and event."""
        return self._mean(budget).design(n)

    def run(
        self, budget: Budget, data: Any, codes: Codes, before: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Noisy moments, then centers and scales in the columns' own units."""
        rows = rows_of(data, codes, MapView(MomentColumns(self.ranges)))
        design = self.design(budget, rows.n)
        (total,) = rows.sum(column_sums)
        means, squares = self._mean(budget).noisy(total / rows.n, design).reshape(2, -1)
        means = np.clip(means, -1.0, 1.0)
        variance = np.clip(squares / SQUARE_WEIGHT - means**2, variance_floor(design), 1.0)
        return {
            "center_": self.ranges.middle + self.ranges.half * means,
            "scale_": self.ranges.half * np.sqrt(variance),
        }


def column_sums(block: Block, y: Targets) -> Parts:
    """Sums of the columns of a block."""
    return (block.pull(np.ones((len(y), 1)))[0],)
