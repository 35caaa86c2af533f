"""Counts and histograms with exact discrete noise.

Guarantee
---------
Replace-one neighbors of the same public size. A row adds one to ``t`` of the cells (one cell of
each of ``t`` histograms that are released together), so replacing it moves at most ``2 t`` cells by
one each: L1 sensitivity ``2 t``, L2 sensitivity ``sqrt(2 t)``. A single cell is a count, which
moves by at most one. Added noise, independent in each cell:

    pure eps       discrete Laplace, scale 2 t/eps          (Dwork, McSherry, Nissim and Smith 2006)
    rho-zCDP       discrete Gaussian, sqrt(2 t)/sqrt(2 rho) (Canonne, Kamath and Steinke 2020)
    (eps, delta)   the smaller of both, the Gaussian by its exact profile (Balle and Wang 2018)

Noise lives on a grid 2^20 times finer than itself. Counts are whole numbers and lie on it, so
rounding moves nothing. Shares and means of declared cells are these counts divided by the public
``n``. Proof: ``counts.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privet._checks import positive_whole
from privet._types import Array
from privet.errors import DeclarationError
from privet.grid import (
    add_discrete_gaussian,
    add_discrete_laplace,
    grid_exponent,
    round_to_grid,
)
from privet.mechanisms.output import output_curve
from privet.mechanisms.release import Draw, Release, ReleaseDesign, draw
from privet.noise import GaussianNoise, Laplace, Law
from privet.privacy.budget import Budget
from privet.privacy.curves import Curve, GaussianCurve
from privet.privacy.event import SEEDED, not_private
from privet.privacy.kinds import HistogramEvent
from privet.randomness import Randomness, source

THEOREMS = {
    "laplace": "Dwork, McSherry, Nissim and Smith 2006, Proposition 1",
    "gaussian": "Canonne, Kamath and Steinke 2020, Theorem 4; Balle and Wang 2018, Theorem 8",
}


@dataclass(frozen=True)
class HistogramDesign(ReleaseDesign):
    """The noise of ``cells`` counts and the event that covers them."""

    kind: str
    scale: float
    cells: int
    exponent: int  # noisy counts are multiples of 2^exponent
    event: HistogramEvent

    @property
    def law(self) -> Law:
        """The noise of one cell."""
        return (Laplace if self.kind == "laplace" else GaussianNoise)(self.scale, 1)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One for each cell."""
        return (replace(draw(self.law, self.cells), exponent=self.exponent, exact=True),)

    @property
    def numerics(self) -> str:
        """A sentence on what is exact in the arithmetic."""
        law = {"laplace": "Laplace", "gaussian": "Gaussian"}[self.kind]
        if SEEDED in self.event.why_not_private:
            return f"floating-point {law} noise from a seed: not private"
        return f"exact discrete {law} on the grid 2^{self.exponent}"

    def perturb(self, counts: NDArray[np.int64], randomness: Randomness) -> Array:
        """Counts of any shape plus independent noise. Charge the event before this."""
        if randomness.secure:
            add = add_discrete_laplace if self.kind == "laplace" else add_discrete_gaussian
            return add(counts.astype(np.float64), self.scale, self.exponent, randomness)
        noise = self.law.sample(randomness, counts.size).reshape(counts.shape)
        return round_to_grid(counts + noise, self.exponent)


@dataclass(frozen=True)
class NoisyCounts:
    """Released counts, the event that covers them and the known law of their noise."""

    values: Array
    event: HistogramEvent
    numerics: str
    variance: float  # of the noise in one cell
    fourth: float  # its fourth cumulant


def cell_counts(places: NDArray[np.int_], cells: int) -> NDArray[np.int64]:
    """Rows in each cell, from the cells of each row, shape (n,) or (n, touched)."""
    return np.bincount(np.ravel(places), minlength=cells).astype(np.int64)


@dataclass(frozen=True)
class Histogram(Release):
    """Noisy counts of ``cells`` declared cells, of which a row is in exactly ``touched``."""

    name: ClassVar[str] = "histogram"

    cells: int
    budget: Budget
    touched: int = 1
    insecure_seed: int | None = None

    def __post_init__(self) -> None:
        positive_whole("cells", self.cells)
        positive_whole("touched", self.touched)
        if self.touched > self.cells:
            raise DeclarationError("A row cannot be in more cells than there are.")
        source(self.insecure_seed)  # refuses a malformed seed

    # -- without data --------------------------------------------------------------------------

    @property
    def l1_sensitivity(self) -> float:
        """Sum of what one replaced row can do to the cells."""
        return 1.0 if self.cells == 1 else 2.0 * self.touched

    @property
    def l2_sensitivity(self) -> float:
        """Euclidean length of what one replaced row can do to the cells."""
        return math.sqrt(self.l1_sensitivity)  # every cell moves by at most one

    @property
    def kind(self) -> str:
        """The noise with the smaller variance among those that the budget allows."""
        # (under zCDP, at eps = sqrt(2 rho), the Laplace variance is at least twice as large)
        return min(self.budget.noises, key=self._variance)

    def _curve(self, kind: str) -> Curve:
        return output_curve(kind, self.budget, self.cells)

    def _scale(self, kind: str) -> float:
        curve = self._curve(kind)
        if isinstance(curve, GaussianCurve):
            return self.l2_sensitivity / math.sqrt(2.0 * curve.rho)
        # rounded up, so that the loss is not above epsilon by a unit in the last place
        return math.nextafter(self.l1_sensitivity / curve.pure, math.inf)

    def _variance(self, kind: str) -> float:
        return self._scale(kind) ** 2 * (2.0 if kind == "laplace" else 1.0)

    @property
    def scale(self) -> float:
        """Parameter of the noise."""
        return self._scale(self.kind)

    @property
    def variance(self) -> float:
        """Variance of the noise in one cell: ``2 scale^2`` or ``scale^2``."""
        return self._variance(self.kind)

    @property
    def fourth(self) -> float:
        """Fourth cumulant of the noise in one cell: ``12 scale^4``, or zero."""
        return 12.0 * self.scale**4 if self.kind == "laplace" else 0.0

    @property
    def exponent(self) -> int:
        """Noisy counts are multiples of ``2^exponent``; counts are so themselves."""
        return min(grid_exponent(math.sqrt(self.variance)), 0)

    def event(self, n: int) -> HistogramEvent:
        """What a release from ``n`` rows costs."""
        return self.design(n).event

    def design(self, n: int) -> HistogramDesign:
        """Noise, grid and event for ``n`` rows."""
        kind = self.kind
        event = HistogramEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(self._curve(kind),),
            noise=kind,
            scale=self.scale,
            sensitivity=self.l1_sensitivity if kind == "laplace" else self.l2_sensitivity,
            n=n,
            cells=self.cells,
            theorem=THEOREMS[kind],
            why_not_private=not_private(self.insecure_seed),
        )
        return HistogramDesign(kind, self.scale, self.cells, self.exponent, event)

    # -- with data -----------------------------------------------------------------------------

    def count(self, places: NDArray[np.int_]) -> NDArray[np.int64]:
        """Rows in each cell, from the cells of each row, shape (n,) or (n, touched)."""
        return cell_counts(places, self.cells)

    def run(self, counts: NDArray[np.int64], n: int) -> NoisyCounts:
        """Fresh noise on these counts of ``n`` rows. Charge the event before this."""
        design = self.design(n)
        values = design.perturb(counts, source(self.insecure_seed))
        return NoisyCounts(values, design.event, design.numerics, self.variance, self.fourth)

    def with_seed(self, offset: int) -> Histogram:
        """The same with the seed moved on, so that tables released together differ in noise."""
        seed = None if self.insecure_seed is None else self.insecure_seed + offset
        return replace(self, insecure_seed=seed)
