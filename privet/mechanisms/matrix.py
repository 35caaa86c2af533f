"""The two matrices behind a confidence interval, released together.

Guarantee
---------
Replace-one neighbors of the same size ``n``; rows of norm at most ``R``; parameters ``theta`` that
were released before. The query is the pair ``(eta H, M)``, ``H`` the mean Hessian of the loss and
``M`` the mean outer product of the gradients at ``theta``. Both are means of positive semidefinite
terms, so two neighbors' pairs differ in Frobenius norm by at most

    S = (sqrt2 R^2/n) max_row sqrt(eta^2 |h|_F^2 + |g|^4)        privet.losses.second_moments

not twice the maximum (Wang, Kifer and Lee 2018, Lemmas 2-5, print 2). The pair is divided by ``S``,
written as one vector of the upper triangles with off-diagonals times ``sqrt2`` (an isometry), and
released with noise for a query of sensitivity one:

    pure eps       spherical Laplace, rounded to the public grid   (2018, Algorithm 2)
    rho-zCDP       exact discrete Gaussian on the grid
    (eps, delta)   the smaller of the two; Gaussian by the exact profile

The sensitivity is widened by the grid and by rounding in the sums. ``eta`` is a public choice: how
much better the Hessian is known than the covariance. Proof: ``matrix.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privet._types import Array, Targets
from privet.grid import grid_exponent
from privet.losses.second_moments import joint_bound
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.output import output_curve, unit_noise
from privet.mechanisms.release import Draw, Release, ReleaseDesign, add_noise, grid_draw
from privet.noise import NOISES, Noise
from privet.privacy import Budget
from privet.privacy.curves import Curve
from privet.privacy.event import SEEDED, not_private
from privet.privacy.kinds import MatrixEvent
from privet.randomness import Randomness, source
from privet.risk import RegularizedRisk
from privet.rows import Rows
from privet.rows.arrays import MOST_BLOCK_ROWS
from privet.rows.engine import Block, Parts

THEOREM = "Wang, Kifer and Lee 2018, Lemma 1, sensitivity by privet/mechanisms/matrix.proof.md"
# Rounding of a block's sum, relative to the sum of the terms' sizes; compensated over the blocks.
ROUNDING = (MOST_BLOCK_ROWS + 16.0) * 2.0**-53
# How much more an error in the Hessian costs an interval than the same error in the covariance:
# it enters the variance twice and through an inverse, which the smallest eigenvalues dominate.
HESSIAN_PRICE = 64.0
ETAS = tuple(np.geomspace(0.25, 16.0, 121).tolist())


@dataclass(frozen=True)
class MatrixDesign(ReleaseDesign):
    """Every number of the release that is fixed before a row, or ``theta``, is read."""

    n: int
    m: int
    side: int  # rows and columns of each matrix
    noise: Noise  # of the query in units of its sensitivity
    exponent: int
    event: MatrixEvent

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One for each query: the pair is one, in units of its sensitivity."""
        return (grid_draw(self.noise, self.exponent),) * len(self.event.curves)

    @property
    def numerics(self) -> str:
        """Exact for Gaussian noise, idealized for spherical Laplace and for a seed."""
        if self.noise.kind == "gaussian" and SEEDED not in self.event.why_not_private:
            return f"exact discrete Gaussian on the grid 2^{self.exponent} of the sensitivity"
        return (
            f"idealized numerics: floating-point {self.noise.kind} noise rounded to the grid "
            f"2^{self.exponent} of the sensitivity"
        )


@dataclass(frozen=True)
class Weighing:
    """The public choice of ``eta`` at a released ``theta``, and the sensitivity ``S`` it gives."""

    eta: float
    sensitivity: float


@dataclass(frozen=True)
class NoisyMatrices:
    """The released pair: symmetric, of any sign, and the noise that is in it."""

    hessian: Array  # of the mean loss, without the regularizer
    covariance: Array  # mean outer product of the gradients, not centered
    weighing: Weighing
    noise: Noise

    def hessian_noise(self, randomness: Randomness, k: int) -> Array:
        """``k`` fresh draws of the noise in the Hessian, shape (k, p, p)."""
        side = len(self.hessian)
        draws = self.noise.sample(randomness, k)[:, : triangle(side)]
        return symmetric(draws, side) * (self.weighing.sensitivity / self.weighing.eta)

    @property
    def hessian_sd(self) -> float:
        """Standard deviation of the noise in ``<u, H u>`` for every unit vector ``u``."""
        return self.covariance_sd / self.weighing.eta

    @property
    def covariance_sd(self) -> float:
        """The same for the covariance."""
        return self.noise.coordinate_sd * self.weighing.sensitivity


@dataclass(frozen=True)
class SecondMoments(Release):
    """The private pair of matrices of one risk."""

    name: ClassVar[str] = "matrix"

    risk: RegularizedRisk
    budget: Budget
    insecure_seed: int | None = None
    why_not_private: str = ""

    # -- without data --------------------------------------------------------------------------

    def design(self, n: int, m: int) -> MatrixDesign:
        """Noise, grid and event for ``n`` rows of ``m`` columns, in units of the sensitivity."""
        designs = [self.design_with(kind, n, m) for kind in self.budget.noises]
        return min(designs, key=lambda design: design.noise.coordinate_sd)

    def design_with(self, kind: str, n: int, m: int) -> MatrixDesign:
        """The design for one kind of noise."""
        side = self.risk.parameters(m)
        entries = 2 * triangle(side)
        curve = output_curve(kind, self.budget, entries)
        unit = unit_noise(kind, curve, entries)
        # each row is at most one sensitivity of n: the means are at most n of them
        largest = n + unit.norm_quantile(NEGLIGIBLE) if kind == "laplace" else 0.0
        exponent = grid_exponent(unit.coordinate_sd, largest)
        widened = 1.0 + math.sqrt(2.0) * n * ROUNDING
        if kind == "gaussian":
            widened += math.ldexp(math.sqrt(entries), exponent)
        noise = NOISES[kind](unit.scale * widened, entries)
        event = self._event(kind, (curve,), noise, widened, n, m, THEOREM)
        return MatrixDesign(n, m, side, noise, exponent, event)

    def _event(
        self,
        kind: str,
        curves: tuple[Curve, ...],
        noise: Noise,
        sensitivity: float,
        n: int,
        m: int,
        theorem: str,
    ) -> MatrixEvent:
        """The record of a release; its query is in units of its own sensitivity."""
        return MatrixEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=curves,
            noise=kind,
            scale=noise.scale,
            sensitivity=sensitivity,
            n=n,
            columns=m,
            regularization=self.risk.regularization,
            theorem=theorem,
            why_not_private=not_private(self.insecure_seed, self.why_not_private),
        )

    def reach(self, theta: Array) -> float:
        """The largest norm of a row's scores at a released ``theta``."""
        weights = theta.reshape(self.risk.loss.scores, -1)
        return self.risk.norm_bound * float(np.linalg.norm(weights, 2))

    def pair_sensitivity(self, n: int, reach: float, eta: float) -> float:
        """``S``: largest distance of ``(eta H, M)`` between neighbors, for scores up to ``reach``.

        The two contributions to a difference are positive semidefinite, so their inner product is
        not negative and the squares add up at most: ``sqrt2`` times the largest row.
        """
        row = joint_bound(self.risk.loss, eta, reach)
        return math.sqrt(2.0) * self.risk.norm_bound**2 * row / n

    def weigh(self, n: int, theta: Array) -> Weighing:
        """The ``eta`` that minimizes the predicted error, ``S sqrt(price/eta^2 + 1)``.

        The two matrices are taken to be of the same size, as they are for a correct model.
        """

        reach = self.reach(theta)

        def cost(eta: float) -> float:
            return self.pair_sensitivity(n, reach, eta) * math.sqrt(HESSIAN_PRICE / eta**2 + 1.0)

        best = min(ETAS, key=cost)
        return Weighing(best, self.pair_sensitivity(n, reach, best))

    # -- with data -----------------------------------------------------------------------------

    def run(self, rows: Rows, theta: Array, design: MatrixDesign) -> NoisyMatrices:
        """Sum over the rows, add fresh noise. Charge the event before this."""
        hessian, covariance = rows.sum(pair, self.risk, theta)
        weighing = self.weigh(rows.n, theta)
        means = hessian / rows.n, covariance / rows.n
        return self.perturb(*means, weighing, design, source(self.insecure_seed))

    def perturb(
        self,
        hessian: Array,
        covariance: Array,
        weighing: Weighing,
        design: MatrixDesign,
        randomness: Randomness,
    ) -> NoisyMatrices:
        """The pair of means with noise."""
        unit = weighing.sensitivity
        query = np.concatenate(
            [half_vector(hessian) * (weighing.eta / unit), half_vector(covariance) / unit]
        )
        noisy = add_noise(query, design.noise, design.exponent, randomness)
        upper, lower = np.split(noisy, 2)
        return NoisyMatrices(
            symmetric(upper, design.side) * (unit / weighing.eta),
            symmetric(lower, design.side) * unit,
            weighing,
            design.noise,
        )


def triangle(side: int) -> int:
    """Entries of the upper triangle with its diagonal."""
    return side * (side + 1) // 2


def half_vector(matrix: Array) -> Array:
    """The upper triangle with off-diagonals times ``sqrt2``: norms are Frobenius norms."""
    rows, columns = np.triu_indices(len(matrix))
    return np.asarray(matrix[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2.0)))


def symmetric(vectors: Array, side: int) -> Array:
    """The inverse of ``half_vector``, for one vector or a stack of them: (..., side, side)."""
    rows, columns = np.triu_indices(side)
    entries = vectors * np.where(rows == columns, 1.0, math.sqrt(0.5))
    out = np.empty((*vectors.shape[:-1], side, side))
    out[..., rows, columns] = entries
    out[..., columns, rows] = entries
    return out


def pair(block: Block, y: Targets, risk: RegularizedRisk, theta: Array) -> Parts:
    """Sums of the Hessians and of the gradients' outer products of a block; no budget in it."""
    return *risk.hessian(block, y, theta), *risk.gradient_covariance(block, y, theta)
