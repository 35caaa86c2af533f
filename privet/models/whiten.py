"""Rows on the unit sphere, and private whitening: no part of the paid sensitivity stays unused.

    t(x)     (x, c B)/|(x, c B)|, x clipped to B = norm_bound; c B is there with an intercept
    M        the mean of t t^T, with noise from a fifth of the budget (``mechanisms.moments``)
    W        the inverse root of M, eigenvalues not below twice the noise's own spectral size
    rows     W t(x) / (half the root of the effective dimension), clipped to norm 1

Noise is calibrated for the longest row that the declarations allow. After scaling by declared
ranges most rows have a third to two thirds of that length, and a few directions hold most of it.
``"unit"`` gives every row the full length; ``"whiten"`` also stretches the directions that hold
little. A row's factor is positive and a function of the row alone, so a class boundary stays linear
in the columns (``linear_rule``). Everything after the release of ``M`` is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from privet._types import Array, Codes, Targets
from privet.errors import DeclarationError
from privet.mechanisms.moments import MeanDesign, PrivateMean, second_moments
from privet.models.standardize import TINY, Stage
from privet.noise.cone_noise import half_vector, symmetric
from privet.privacy import Budget
from privet.rows.ball import in_ball, squared_norms
from privet.rows.engine import Block, Parts
from privet.rows.mapped import MapView
from privet.rows.streamed import rows_of

#: The constant beside the columns, in units of the norm bound. With rows of full length a larger
#: one would take length from the columns; a smaller one could not move a boundary by its range.
CONSTANT = 0.2
#: Rows this short are divided by their largest entry first.
SHORT = 1e-100
#: The share of the budget for the second moments.
SHARE = 0.2
#: Rows are clipped at this multiple of the root of the effective dimension: about where half of
#: them are, so that the typical row has the full length.
CLIP = 0.5
#: Whitening is worth its share while the floor of the eigenvalues is at most this many times their
#: mean. Beyond it the matrix is noise, and "auto" takes unit rows alone.
WORTH = 5.0


@dataclass(frozen=True)
class SphereRows:
    """``(x, c B)/|(x, c B)|``: every row at norm 1, except one without any entry.

    Parameters
    ----------
    d : int
        Columns of the table.
    bound : float
        ``B``: rows are clipped to this norm before.
    constant : bool
        Whether the constant is there, for an intercept.
    """

    d: int
    bound: float
    constant: bool

    @property
    def columns(self) -> int:
        """The table's, and the constant."""
        return self.d + self.constant

    @property
    def norm(self) -> float:
        """Every row's."""
        return 1.0

    def __call__(self, x: Any) -> Array:
        """Rows of norm 1, each a function of itself."""
        table, factors = in_ball(x, self.bound)
        dense: Any = table.toarray() if sp.issparse(table) else table  # type: ignore[attr-defined]
        rows = np.empty((len(dense), self.columns))
        np.divide(dense, self.bound, out=rows[:, : self.d])
        if factors is not None:
            rows[:, : self.d] *= factors[:, None]
        rows[:, self.d :] = CONSTANT
        lengths = np.sqrt(squared_norms(rows))
        short = np.flatnonzero(lengths < SHORT)  # tiny rows have tinier squares
        if len(short):  # these rows alone: what becomes of a row must not depend on others
            largest = np.abs(rows[short]).max(axis=1, initial=0.0)[:, None]
            some = np.zeros((len(short), self.columns))
            rows[short] = np.divide(rows[short], largest, out=some, where=largest > TINY)
            lengths[short] = np.sqrt(squared_norms(rows[short]))
        rows /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
        rows[np.abs(rows) < TINY] = 0.0
        return rows


@dataclass(frozen=True)
class Whitened:
    """Unit rows times the released matrix, clipped to norm 1 by whoever reads them."""

    first: SphereRows
    matrix: Array

    @property
    def columns(self) -> int:
        """As many as the unit rows have."""
        return self.first.columns

    @property
    def norm(self) -> float:
        """The matrix is in units of the clipping norm."""
        return 1.0

    def __call__(self, x: Any) -> Array:
        """Whitened rows of a block."""
        # feature after feature: many products with one vector follow, which are faster so
        out = (self.matrix.T @ self.first(x).T).T
        out[np.abs(out) < TINY] = 0.0
        return np.asarray(out)


@dataclass(frozen=True)
class Whitening(Stage):
    """The release of ``whitening_``."""

    name: ClassVar[str] = "private whitening"
    rows: SphereRows
    insecure_seed: int | None = None

    def _mean(self, budget: Budget) -> PrivateMean:
        query = second_moments(self.rows.columns)
        return PrivateMean(query, budget, insecure_seed=self.insecure_seed)

    def share(self, budget: Budget, n: int) -> float:
        """A fifth."""
        return SHARE

    def design(self, budget: Budget, n: int) -> MeanDesign:
        """The matrix's noise and event."""
        return self._mean(budget).design(n)

    def run(
        self, budget: Budget, data: Any, codes: Codes, before: Mapping[str, Array]
    ) -> dict[str, Array]:
        """A noisy matrix, then its floored inverse root in units of the clipping norm."""
        rows = rows_of(data, codes, MapView(self.rows))
        design = self.design(budget, rows.n)
        (total,) = rows.sum(_outer_products)
        noisy = self._mean(budget).noisy(half_vector(total / rows.n), design)
        return {"whitening_": whitener(symmetric(noisy, rows.m), eigenvalue_floor(design, rows.m))}


def eigenvalue_floor(design: MeanDesign, side: int) -> float:
    """Twice the spectral size of the noise.

    A symmetric matrix whose half vector has independent entries of standard deviation ``s`` has a
    largest eigenvalue near ``s sqrt(2 side)``.
    """
    return 2.0 * design.noise.coordinate_sd * math.sqrt(2.0 * side)


def refuse_pure(budget: Budget) -> None:
    """Refuse a budget without Gaussian noise: pure noise in a matrix leaves nothing of it."""
    if not budget.allows_gaussian:
        raise DeclarationError(
            "standardize='whiten' needs a budget that allows Gaussian noise: ZCDP or ApproxDP. Use "
            "one of them, or standardize='unit'."
        )


def whitener(moments: Array, floor: float) -> Array:
    """``M^(-1/2)`` with eigenvalues at least ``floor``, divided by the clipping norm."""
    values, vectors = np.linalg.eigh(moments)
    floored = np.maximum(values, floor)
    effective = float((np.maximum(values, 0.0) / floored).sum())
    clip = CLIP * math.sqrt(max(effective, 1.0))
    return np.asarray((vectors / np.sqrt(floored)) @ vectors.T / clip)


def worth_whitening(budget: Budget, n: int, columns: int) -> bool:
    """Whether the released matrix would be more than its noise; from declarations."""
    if not budget.allows_gaussian:
        return False
    _, part = budget.split((1.0 - SHARE, SHARE))
    design = PrivateMean(second_moments(columns), part).design(n)
    return eigenvalue_floor(design, columns) * columns <= WORTH


def _outer_products(block: Block, y: Targets) -> Parts:
    return (block.gram(np.ones(len(y))),)
