"""Function release: any number of predictions for the price of one Gaussian mechanism.

Guarantee
---------
Replace-one neighbors. With ``S`` the sensitivity of a kernel minimizer ``w*`` in the kernel's
space, the answers ``<w*, phi(z)> + sigma g(z)`` to queries chosen in any adaptive way, ``g`` one
path of the Gaussian process with covariance ``K + t I``, cost together

    rho = (1 + 0.01) S^2/(2 sigma^2)          zCDP, and the exact Gaussian profile for (eps, delta)

whatever their number (Hall, Rinaldo and Wasserman 2013, Proposition 7 and Corollary 9). The noise
of one answer has standard deviation ``sigma sqrt(K(z, z) + t)``. The path is sampled where it is
looked at, conditional on the *released* answers, so rounding them to the public grid is covered. A
query that the kept ones determine (conditional variance ``v`` at most ``2 t``) need not be kept: it
gets independent noise of variance ``sigma^2 (v + x)``, ``x = 1e-4 R^2``, at the cost of
``v/(v + x)`` of the whole; the ``v`` are public, and their sum stays below the 0.01 above. ``S``
covers a minimizer that is found anew at each of up to 63 resumptions. Proof:
``function.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from privet._types import Array, Flags
from privet.errors import DeclarationError
from privet.grid import grid_exponent, round_to_grid
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.kernel_minimizer import KernelMinimizer, KernelRelease
from privet.mechanisms.release import Draw, ReleaseDesign, draw
from privet.noise import GaussianNoise
from privet.privacy import Budget
from privet.privacy.curves import GaussianCurve
from privet.privacy.event import not_private
from privet.privacy.kinds import FunctionEvent
from privet.randomness import Randomness

#: Rows in a block of the growing factor.
HEIGHT = 256
#: What queries that are not kept may cost together, relative to the whole.
SLACK = 0.01
#: ``t/R^2``: independent noise in every answer, so that the covariance has an inverse.
JITTER = 1e-9
#: ``x/R^2``: independent noise in the answers to queries that are not kept; 1 % of the noise.
EXTRA = 1e-4
#: How often a release may take its rows again: each time its minimizer is another, within the gap.
MOST_RESUMED = 63
THEOREM = "Hall, Rinaldo and Wasserman 2013, Proposition 7 and Corollary 9"


@dataclass(frozen=True)
class FunctionDesign(ReleaseDesign):
    """Every number of a function release that is fixed before a row is read."""

    minimizer: KernelMinimizer
    sigma: float
    exponent: int
    event: FunctionEvent

    @property
    def jitter(self) -> float:
        """``t``."""
        return JITTER * self.minimizer.risk.norm_bound**2

    @property
    def extra(self) -> float:
        """``x``."""
        return EXTRA * self.minimizer.risk.norm_bound**2

    @property
    def answer_sd(self) -> float:
        """The largest standard deviation of one answer's noise."""
        return self.sigma * self.minimizer.risk.norm_bound * math.sqrt(1.0 + EXTRA)

    @property
    def path(self) -> GaussianNoise:
        """The noise of one answer, before it is given the path's covariance."""
        return GaussianNoise(self.sigma, 1)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One normal for each answer."""
        return (draw(self.path, each="answer"),)

    @property
    def numerics(self) -> str:
        """What is exact and what is idealized."""
        return (
            "idealized numerics: floating-point Gaussian process, each answer rounded to the grid "
            f"2^{self.exponent}; conditional on convergence of the minimizer"
        )


def function_rho(budget: Budget) -> float:
    """The rho of the Gaussian mechanism that spends exactly ``budget``."""
    if not budget.allows_gaussian:
        raise DeclarationError(
            "A function release has Gaussian noise, which has no pure epsilon. Use a ZCDP or "
            "ApproxDP budget, or mechanism='sparse_vector'."
        )
    return budget.gaussian_rho()


def function_shift(budget: Budget) -> float:
    """``S/sigma``: what ``budget`` allows, less the slack."""
    return math.sqrt(2.0 * function_rho(budget) / (1.0 + SLACK))


@dataclass(frozen=True, kw_only=True)
class FunctionRelease(KernelRelease):
    """Answers to any number of queries from one noisy function."""

    name: ClassVar[str] = "function"

    def design(self, n: int, m: int) -> FunctionDesign:
        """Noise and event for ``n`` rows; ``m`` columns are recorded and change nothing."""
        shift = function_shift(self.budget)
        minimizer = self.minimizer(n, shift, minimizers=1 + MOST_RESUMED)
        sigma = minimizer.sensitivity / shift
        event = FunctionEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(GaussianCurve(function_rho(self.budget)),),
            noise="gaussian",
            scale=sigma,
            sensitivity=minimizer.sensitivity,
            n=n,
            columns=m,
            regularization=minimizer.risk.regularization,
            theorem=THEOREM,
            why_not_private=not_private(self.insecure_seed),
        )
        answer = GaussianNoise(sigma * self.norm_bound, 1)
        largest = minimizer.norm * self.norm_bound + answer.norm_quantile(NEGLIGIBLE)
        return FunctionDesign(minimizer, sigma, grid_exponent(answer.scale, largest), event)


class FunctionAnswers:
    """The running release: what the next answer's law needs to know of the earlier ones.

    ``values`` are exact predictions of new queries (k,), ``cross`` their kernel with the kept
    queries (size, k), ``own`` among themselves (k, k); k is at most ``room``. Everything but
    ``values`` and the whitened deviations is public.
    """

    def __init__(self, design: FunctionDesign) -> None:
        self.design = design
        self.spent = 0.0  # of the slack; public
        self._rows = CholeskyRows()
        self._whitened = np.empty(0)  # L^-1 (answers - predictions)

    @property
    def room(self) -> int:
        """How many queries can be answered at once."""
        return self._rows.room

    def answer(
        self, values: Array, cross: Array, own: Array, randomness: Randomness
    ) -> tuple[Array, Flags]:
        """Released answers, and which queries were kept."""
        white = self._rows.whiten(cross)
        means = values + white.T @ self._whitened
        variance = self._variance_above(own, white)
        kept = ~self._spared(variance)
        noise = self.design.path.sample(randomness, len(values))[:, 0]
        out = means + noise * np.sqrt(variance + self.design.extra)
        if kept.any():
            corner = self._corner(white, own, kept)
            out[kept] = means[kept] + corner @ noise[kept]
        out = round_to_grid(out, self.design.exponent)
        if kept.any():
            self._keep(white[:, kept], corner, (out - means)[kept])
        return out, kept

    def restore(self, values: Array, cross: Array, own: Array, answers: Array) -> None:
        """Take up kept queries that were answered before."""
        white = self._rows.whiten(cross)
        kept = np.ones(len(values), dtype=bool)
        means = values + white.T @ self._whitened
        self._keep(white, self._corner(white, own, kept), answers - means)

    def recall(self, spent: float) -> None:
        """What spared queries cost before; it counts against the same slack."""
        self.spent = spent

    def _variance_above(self, own: Array, white: Array) -> Array:
        """Conditional variances of the path without jitter, rounding on the safe side."""
        variance = np.diag(own) - np.einsum("ij,ij->j", white, white)
        rounding = 8.0 * np.finfo(float).eps * (len(white) + 8) * self._square
        return np.asarray(np.maximum(variance, 0.0) + rounding)

    def _spared(self, variance: Array) -> Flags:
        """Which queries the kept ones determine, as long as the slack lasts."""
        spared = variance <= 2.0 * self.design.jitter
        for i in np.flatnonzero(spared):
            price = variance[i] / (variance[i] + self.design.extra)
            if self.spent + price > SLACK:
                spared[i] = False
            else:
                self.spent += price
        return np.asarray(spared)

    def _corner(self, white: Array, own: Array, kept: Flags) -> Array:
        """The factor of the kept queries' conditional covariance."""
        part = white[:, kept]
        matrix = own[np.ix_(kept, kept)] - part.T @ part
        matrix[np.diag_indices_from(matrix)] += self.design.jitter
        return factor(matrix)

    def _keep(self, white: Array, corner: Array, deviations: Array) -> None:
        fresh = solve_triangular(corner, deviations, lower=True, check_finite=False)
        self._rows.append(np.ascontiguousarray(white.T), corner)
        self._whitened = np.concatenate([self._whitened, fresh])

    @property
    def _square(self) -> float:
        return self.design.minimizer.risk.norm_bound**2

    def __reduce__(self) -> str:
        raise TypeError("A running release holds exact predictions and is not pickled.")


class CholeskyRows:
    """A Cholesky factor that grows by rows: of a Gaussian path, looked at place after place.

    The values seen so far have covariance ``M = L L'``. ``L`` is kept in row blocks of ``HEIGHT``,
    each split into what lies left of the diagonal and the triangle on it, all of them contiguous: a
    solve reads every number once and copies none, for one place or for a batch.
    """

    def __init__(self) -> None:
        self.size = 0
        self._left: list[Array] = []  # HEIGHT x (places before the block)
        self._corner: list[Array] = []  # HEIGHT x HEIGHT, lower triangle

    @property
    def room(self) -> int:
        """Rows that fit into the last block."""
        return len(self._left) * HEIGHT - self.size or HEIGHT

    def whiten(self, right: Array) -> Array:
        """``L^-1 right`` for ``right`` of shape (size,) or (size, k)."""
        out = np.empty_like(right)
        for b, (left, corner) in enumerate(zip(self._left, self._corner, strict=True)):
            start = b * HEIGHT
            height = min(HEIGHT, self.size - start)
            rest = right[start : start + height] - left[:height] @ out[:start]
            out[start : start + height] = solve_triangular(
                corner[:height, :height], rest, lower=True, check_finite=False
            )
        return out

    def append(self, left: Array, corner: Array) -> None:
        """Add rows: ``left`` (k x size) beside ``corner`` (k x k, lower); k is at most ``room``."""
        k = len(corner)
        if self.size == len(self._left) * HEIGHT:
            self._left.append(np.zeros((HEIGHT, self.size)))
            self._corner.append(np.zeros((HEIGHT, HEIGHT)))
        start = (len(self._left) - 1) * HEIGHT
        row = self.size - start
        self._left[-1][row : row + k] = left[:, :start]
        self._corner[-1][row : row + k, :row] = left[:, start:]
        self._corner[-1][row : row + k, row : row + k] = corner
        self.size += k


def factor(matrix: Array) -> Array:
    """The lower Cholesky factor; refuses a kernel that is not positive semidefinite."""
    try:
        return np.asarray(cholesky(matrix, lower=True, check_finite=False))
    except LinAlgError as error:
        raise DeclarationError(
            "The kernel is not positive semidefinite on the queries, so no noise has it as its "
            "covariance. Use another kernel."
        ) from error
