"""Noisy means: of columns and their squares, of products, and of the cells of a partition.

Guarantee
---------
Replace-one neighbors of the same size ``n``. The query is the mean over the rows of a vector that
each row determines; any two rows' vectors are at most a public ``diameter`` apart.

    column moments   (u, sqrt2 u^2) for each of d columns scaled to [-1, 1]: diameter 2 sqrt(d)
    second moments   t t^T for rows of norm at most 1: diameter sqrt2 (Frobenius)
    cell means       (x, 1) in the row's cell and zero in the others, |x| <= 1: diameter 2

The mean's L2 sensitivity is ``diameter/n``. The first diameter is that of the means alone: mean
squares are free. So are the counts in the third. Added noise:

    pure eps    spherical Laplace, scale S/eps
    rho-zCDP    exact discrete Gaussian on the public grid, S/sqrt(2 rho)

``S`` is widened by what the computed means can lose to rounding and by the grid. Several rounds,
each of which may look at the releases before it, share the budget evenly. Proof:
``moments.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from privet._types import Array
from privet.grid import grid_exponent
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.output import output_curve, unit_noise
from privet.mechanisms.release import Draw, Release, ReleaseDesign, add_noise, grid_draw
from privet.noise import NOISES, Noise
from privet.privacy import Budget
from privet.privacy.curves import Curve
from privet.privacy.event import not_private
from privet.privacy.kinds import MomentsEvent
from privet.randomness import source
from privet.rows.arrays import MOST_BLOCK_ROWS

#: What the mean of the squares is multiplied by before the noise: it costs nothing (up to 1.66).
SQUARE_WEIGHT = math.sqrt(2.0)
# The share of the budget for column moments: the smallest in this range that makes each number
# known to WANTED of its column's half-range. Less than that is not worth saving.
LEAST_SHARE = 0.01
MOST_SHARE = 0.10
WANTED = 0.01
# Relative rounding of a mean: a block's sum, then compensated sums.
ROUNDING = 4.0 * MOST_BLOCK_ROWS * 2.0**-53
THEOREM = "privet/mechanisms/moments.proof.md (Laplace and Gaussian mechanisms)"
# Seeded studies draw these releases from other streams than the fit's.
_STREAM = 1 << 40


@dataclass(frozen=True)
class Mean:
    """What is averaged: the public facts about one row's vector."""

    columns: int
    dimension: int
    diameter: float
    norm: float

    def sensitivity(self, n: int) -> float:
        """``diameter/n``, and what rounding can do to the two computed means."""
        return self.diameter / n + 2.0 * self.norm * ROUNDING


def column_moments(d: int) -> Mean:
    """Means of ``u`` and ``sqrt2 u^2`` of ``d`` columns in [-1, 1]."""
    return Mean(d, 2 * d, 2.0 * math.sqrt(d), math.sqrt(3.0 * d))


def second_moments(p: int) -> Mean:
    """Means of the products of ``p`` columns of rows with norm at most 1, as half vectors."""
    return Mean(p, p * (p + 1) // 2, math.sqrt(2.0), 1.0)


def cell_means(d: int, cells: int) -> Mean:
    """Sums of ``x`` in the unit ball of ``d`` columns and counts, by cell, over ``n``."""
    return Mean(d, cells * (d + 1), 2.0, math.sqrt(2.0))


@dataclass(frozen=True)
class MeanNoise:
    """The noise of one mean, its grid, its curve and the sensitivity that it is for."""

    noise: Noise
    exponent: int
    curve: Curve
    sensitivity: float


def mean_noise(query: Mean, budget: Budget, kind: str, n: int) -> MeanNoise:
    """What ``budget`` asks of noise of this kind in the mean over ``n`` rows."""
    p = query.dimension
    curve = output_curve(kind, budget, p)
    unit, sensitivity = unit_noise(kind, curve, p), query.sensitivity(n)
    scaled = replace(unit, scale=unit.scale * sensitivity)
    largest = query.norm + scaled.norm_quantile(NEGLIGIBLE) if kind == "laplace" else 0.0
    exponent = grid_exponent(scaled.coordinate_sd, largest)
    if kind == "gaussian":
        sensitivity += math.ldexp(math.sqrt(p), exponent)
    return MeanNoise(NOISES[kind](unit.scale * sensitivity, p), exponent, curve, sensitivity)


@dataclass(frozen=True)
class MeanDesign(ReleaseDesign):
    """Noise of one round, grid, and the event of all rounds: from declarations."""

    noise: Noise
    exponent: int
    event: MomentsEvent

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One in each round."""
        return (grid_draw(self.noise, self.exponent),) * len(self.event.curves)

    @property
    def numerics(self) -> str:
        """What is exact and what is idealized."""
        if self.noise.kind == "gaussian":
            return f"exact discrete Gaussian on the grid 2^{self.exponent}"
        return (
            "idealized numerics: floating-point spherical Laplace rounded to the grid "
            f"2^{self.exponent}"
        )


@dataclass(frozen=True)
class PrivateMean(Release):
    """Noisy answers to ``rounds`` queries of one kind under one budget."""

    name: ClassVar[str] = "moments"

    query: Mean
    budget: Budget
    rounds: int = 1
    insecure_seed: int | None = None

    def design(self, n: int) -> MeanDesign:
        """The noise for ``n`` rows."""
        each = self.budget if self.rounds == 1 else self.budget.split([1.0] * self.rounds)[0]
        found = mean_noise(self.query, each, "gaussian" if each.allows_gaussian else "laplace", n)
        event = MomentsEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(found.curve,) * self.rounds,
            noise=found.noise.kind,
            scale=found.noise.scale,
            sensitivity=found.sensitivity,
            n=n,
            columns=self.query.columns,
            theorem=THEOREM,
            why_not_private=not_private(self.insecure_seed),
        )
        return MeanDesign(found.noise, found.exponent, event)

    def noisy(self, mean: Array, design: MeanDesign, turn: int = 0) -> Array:
        """``mean`` with the noise of round ``turn``; charge the event before this."""
        seed = self.insecure_seed
        stream = (turn + 1 + self.query.dimension) * _STREAM
        randomness = source(None if seed is None else seed + stream)
        return add_noise(mean, design.noise, design.exponent, randomness)


def moments_share(budget: Budget, n: int, d: int) -> float:
    """The share of ``budget`` for column moments, by the public rule."""
    part = budget.split((1.0 - LEAST_SHARE, LEAST_SHARE))[1]
    excess = PrivateMean(column_moments(d), part).design(n).noise.coordinate_sd / WANTED
    wanted = LEAST_SHARE * (excess**2 if part.allows_gaussian else excess)
    return min(max(wanted, LEAST_SHARE), MOST_SHARE)


def variance_floor(design: MeanDesign) -> float:
    """The smallest variance of a scaled column that is believed.

    About one standard deviation of the noise in ``mean square - mean^2``; below it a scale would
    be noise. Never less than 1e-6: a column that uses a thousandth of its range.
    """
    return max(1e-6, 2.0 * design.noise.coordinate_sd)
