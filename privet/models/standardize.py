"""Private standardisation: columns centred and scaled by moments that the same budget paid for.

    u       the column clipped to its declared range and scaled to [-1, 1]
    release noisy means of u and u^2 from a few per cent of the budget (``mechanisms.moments``)
    center_ the middle of the range plus half its width times the mean of u
    scale_  half the width times the root of (mean square - mean^2), not below a public floor
    rows    (clip(x) - center_)/scale_, clipped to norm_bound or handed to the model's own map

Everything after the release is post-processing. A schema's columns are in the unit ball already and
need none of this; it is for plain numeric tables whose ranges are known and whose spread is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet._types import Targets
from privet.errors import DeclarationError
from privet.mechanisms.moments import (
    SQUARE_WEIGHT,
    MeanDesign,
    PrivateMean,
    column_moments,
    moments_share,
    variance_floor,
)
from privet.models.stages import Stage
from privet.privacy import Budget
from privet.rows.base import Block, Parts
from privet.rows.mapped import FeatureMap, MappedRows

Array = NDArray[np.float64]
# Smaller numbers are zero: their squares would be too small to compute with exactly.
TINY = 1e-150


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
class Standardised:
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
        """Centred and scaled columns of a block."""
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
class Standardisation(Stage):
    """The release of ``center_`` and ``scale_``."""

    name: ClassVar[str] = "private standardisation"
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

    def run(self, model: Any, budget: Budget, data: Any, codes: Any) -> dict[str, Array]:
        """Noisy moments, then centers and scales in the columns' own units."""
        rows = MappedRows(data, codes, MomentColumns(self.ranges))
        design = self.design(budget, rows.n)
        (total,) = rows.sum(_column_sums)
        means, squares = self._mean(budget).noisy(total / rows.n, design).reshape(2, -1)
        means = np.clip(means, -1.0, 1.0)
        variance = np.clip(squares / SQUARE_WEIGHT - means**2, variance_floor(design), 1.0)
        return {
            "center_": self.ranges.middle + self.ranges.half * means,
            "scale_": self.ranges.half * np.sqrt(variance),
        }


def _column_sums(block: Block, y: Targets) -> Parts:
    return (block.pull(np.ones((len(y), 1)))[0],)
