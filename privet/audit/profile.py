"""Divergences of Gaussian objective perturbation by quadrature, in one and two dimensions.

The output has the density ``mu(b_D(f)) det H_D(f)``, so for a pair of small tables the privacy
profile (hockey-stick divergence) and the Renyi divergence are integrals over a grid of outputs.
Nothing of the proofs is used: this is the mechanism's definition, evaluated. The stated error is
the largest difference from the same sum over one of the coarse grids that every second point makes,
plus what the density lacks to 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from privet._types import Array
from privet.audit.attacks import Attacks, Pair, WeightedTable, realize, realize_in_one_column
from privet.audit.exact import FAR, STEALTH, TILT, margin_directions, noise_vector
from privet.errors import DeclarationError
from privet.mechanisms import Design

# Standard deviations of noise beyond which nothing is counted.
TAILS = 7.5
TURN = 0.5
#: grid points per axis, by the dimension of the output
POINTS = {1: 20_001, 2: 121}


@dataclass(frozen=True)
class Measured:
    """A number found by quadrature and how far it may be from the integral."""

    value: float
    error: float


@dataclass(frozen=True)
class Densities:
    """Log-densities of both outputs on a grid, with the cell's volume in the same units."""

    first: Array
    second: Array
    log_cell: float

    @property
    def mass_error(self) -> float:
        """How far the two densities are from adding up to one."""
        totals = (float(logsumexp(part)) + self.log_cell for part in (self.first, self.second))
        return max(abs(math.expm1(total)) for total in totals)

    def coarse(self) -> Iterator[Densities]:
        """The grids of every second point along each axis: two in one dimension, four in two."""
        log_cell = self.log_cell + self.first.ndim * math.log(2.0)
        for starts in itertools.product((0, 1), repeat=self.first.ndim):
            every = tuple(slice(start, None, 2) for start in starts)
            yield Densities(self.first[every], self.second[every], log_cell)

    def _hockey_stick(self, epsilon: float) -> float:
        excess = np.exp(self.first) - np.exp(epsilon + self.second)
        return float(np.maximum(excess, 0.0).sum()) * math.exp(self.log_cell)

    def hockey_stick(self, epsilon: float) -> Measured:
        """``integral of max(p - exp(epsilon) p', 0)``: the smallest delta of this pair."""
        value = self._hockey_stick(epsilon)
        error = max(abs(value - part._hockey_stick(epsilon)) for part in self.coarse())
        return Measured(value, error + self.mass_error * value)

    def _renyi(self, order: float) -> float:
        terms = order * self.first + (1.0 - order) * self.second
        return (float(logsumexp(terms)) + self.log_cell) / (order - 1.0)

    def renyi(self, order: float) -> Measured:
        """``log integral of p^order p'^(1 - order)``, over ``order - 1``."""
        value = self._renyi(order)
        error = max(abs(value - part._renyi(order)) for part in self.coarse())
        return Measured(value, error + self.mass_error / (order - 1.0))


def densities(design: Design, pair: Pair, reach: float = 1.0) -> Densities:
    """Both densities on a grid centered at the pair's output.

    ``n Lam``-strong convexity bounds how far ``f`` moves with ``b``, so the grid covers every ``b``
    within ``TAILS + reach D`` standard deviations, ``D`` the shift between the tables. A Renyi
    divergence of order ``a`` lives up to ``reach = a`` shifts away.
    """
    p, sigma = design.parameters, design.main.scale
    if p not in POINTS or design.main.kind != "gaussian":
        raise DeclarationError(
            "Quadrature is for Gaussian noise and outputs of one or two numbers."
        )
    ridge = design.n * design.risk.regularization
    shift = design.risk.gradient_difference / sigma
    width = (TAILS + reach * shift) * sigma / ridge
    axis = np.linspace(-width, width, POINTS[p])
    offsets = np.stack(np.meshgrid(*[axis] * p, indexing="ij"), axis=-1)
    if p == 2:
        # turned, so that no kink of the integrand runs along the grid, where its errors would add
        cosine, sine = math.cos(TURN), math.sin(TURN)
        offsets = offsets @ np.array([[cosine, sine], [-sine, cosine]])
    outputs = pair.weights + offsets.reshape(*offsets.shape[:-1], *pair.weights.shape)
    first, second = (_log_density(design, table, outputs) for table in (pair.first, pair.second))
    return Densities(first, second, p * math.log(axis[1] - axis[0]))


def _log_density(design: Design, table: WeightedTable, outputs: Array) -> Array:
    ridge, p = design.n * design.risk.regularization, design.parameters
    noise = design.main.log_density(noise_vector(design, table, outputs))
    constant = 0.5 * p * math.log(2.0 * math.pi * design.main.scale**2)
    return noise - constant + table.log_determinant(design.risk.loss, outputs, ridge)


def pairs(design: Design, *, signed: bool = True) -> list[Pair]:
    """Adversarial neighbors for a design whose output has one or two numbers.

    Rows at the knee, flat or saturated; opposite, equal or orthogonal; the noise of both tables at
    equal distance from zero. Saturated rows stay saturated over the whole grid. ``signed=False``
    keeps to rows with non-negative inner products.
    """
    ridge, bound = design.n * design.risk.regularization, design.risk.norm_bound
    spread = bound * TAILS * design.main.scale / ridge
    far = FAR + 2.0 * spread + 2.0 * bound * design.risk.gradient_difference / ridge
    directions, labels = margin_directions(design.risk.loss)
    angles = (np.pi - TILT, np.pi / 2, TILT) if signed else (TILT, np.pi / 2 - TILT)
    choices = [
        (t * directions[0], labels[0], -far * directions[j], labels[j], angle)
        for t in (-far, 0.0, 0.6, 1.0)
        for j in range(len(labels))
        for angle in angles
    ]
    z, y, other_z, other_y, angle = (np.array(column) for column in zip(*choices, strict=True))
    ones = np.ones(len(choices))
    attacks = Attacks(z, y, other_z, other_y, angle, -0.5 * ones, STEALTH * ones)
    found = (realize_in_one_column if design.m == 1 else realize)(design, attacks)
    return [found[i] for i in np.flatnonzero(found.fits)]
