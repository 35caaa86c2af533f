"""The two matrices behind a confidence interval, released together.

Guarantee
---------
Replace-one neighbors of the same size ``n``; rows of norm at most ``R``; parameters ``theta`` that
were released before. The query is the pair ``(eta H, M)``, ``H`` the mean Hessian of the loss and
``M`` the mean outer product of the gradients at ``theta``. Both are means of positive semidefinite
terms, so two neighbors' pairs differ in Frobenius norm by at most

    S = (sqrt2 R^2/n) max_row sqrt(eta^2 |h|_F^2 + |g|^4)        privet.losses.second_moments

not twice the maximum (Wang, Kifer and Lee 2018, Lemmas 2-5, print 2), and in nuclear norm by at
most ``S = (2 R^2/n) max_row (eta tr h + |g|^2)``. The pair is divided by ``S``, written as one
vector of the upper triangles with off-diagonals times ``sqrt2`` (an isometry), and released with
noise for a query of sensitivity one:

    pure eps       the smaller of spherical Laplace (2018, Algorithm 2) and, from about four
                   parameters on, differences of positive semidefinite matrices by the nuclear
                   norm (``cone_noise.proof.md``); rounded to the public grid
    rho-zCDP       exact discrete Gaussian on the grid
    (eps, delta)   the smallest of the three; Gaussian by the exact profile

The sensitivity is widened by the grid and by rounding in the sums. ``eta`` is a public choice: how
much better the Hessian is known than the covariance. Proof: ``matrix.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from privet._types import Array, Targets
from privet.grid import grid_exponent
from privet.losses import Loss
from privet.losses.second_moments import joint_bound, trace_bound
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.output import output_curve, unit_rate
from privet.mechanisms.release import Draw, Release, ReleaseDesign, add_noise, grid_draw
from privet.noise import NOISES, ConeLaplace, Noise
from privet.noise.cone_noise import half_vector, symmetric, triangle
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
CONE_THEOREM = (
    "privet/mechanisms/cone_noise.proof.md, sensitivity by privet/mechanisms/matrix.proof.md"
)
#: longer than any score: for what is chosen before parameters are released
FAR = 1e6
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
    event_kind: ClassVar[type[MatrixEvent]] = MatrixEvent
    cone_theorem: ClassVar[str] = CONE_THEOREM

    risk: RegularizedRisk
    budget: Budget
    insecure_seed: int | None = None
    why_not_private: str = ""

    # -- without data --------------------------------------------------------------------------

    def design(self, n: int, m: int) -> MatrixDesign:
        """Noise, grid and event for ``n`` rows of ``m`` columns, in units of the sensitivity."""
        kinds = [*self.budget.noises]
        if "laplace" in kinds:
            kinds.append(ConeLaplace.kind)
        designs = [self.design_with(kind, n, m) for kind in kinds]
        return min(designs, key=self.far_error)

    @property
    def reduction(self) -> float:
        """How many times smaller than the sensitivity the unit of the noise may be."""
        return 1.0

    def best_far_eta(self, kind: str) -> float:
        """The ``eta`` for long parameters."""
        return best_eta(self.risk.loss, FAR, kind)

    def far_error(self, design: MatrixDesign) -> float:
        """The predicted error for long parameters: what the kinds of noise are compared by."""
        eta = self.best_far_eta(design.noise.kind)
        unit = self._unit(eta, design.n, FAR, design.noise.kind)
        return design.noise.coordinate_sd * unit * math.sqrt(HESSIAN_PRICE / eta**2 + 1.0)

    def design_with(self, kind: str, n: int, m: int) -> MatrixDesign:
        """The design for one kind of noise."""
        side, cone = self.risk.parameters(m), kind == ConeLaplace.kind
        entries = 2 * triangle(side)
        curve = output_curve("laplace" if cone else kind, self.budget, entries)

        def law(scale: float) -> Noise:
            return ConeLaplace(scale, entries, side) if cone else NOISES[kind](scale, entries)

        unit = law(1.0 / unit_rate(curve))
        # each row is at most one sensitivity of n: the means are at most n of them
        largest = n * self.reduction + unit.norm_quantile(NEGLIGIBLE) if kind != "gaussian" else 0.0
        exponent = grid_exponent(unit.coordinate_sd, largest)
        # nuclear norms are at most sqrt(2 side) times the pair's Frobenius norm
        widened = 1.0 + self.reduction * math.sqrt(2.0 * side if cone else 2.0) * n * ROUNDING
        if kind == "gaussian":
            widened += math.ldexp(math.sqrt(entries), exponent)
        noise = law(unit.scale * widened)
        theorem = self.cone_theorem if cone else THEOREM
        event = self._event(kind, (curve,), noise, widened, n, m, theorem)
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
        return self.event_kind(
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

    def pair_nuclear(self, n: int, reach: float, eta: float) -> float:
        """The same in nuclear norm: of a positive semidefinite matrix that is the trace."""
        return 2.0 * self.risk.norm_bound**2 * trace_bound(self.risk.loss, eta, reach) / n

    def weigh(self, n: int, theta: Array, kind: str = "laplace") -> Weighing:
        """The ``eta`` that minimizes the predicted error, ``S sqrt(price/eta^2 + 1)``.

        The two matrices are taken to be of the same size, as they are for a correct model. ``kind``
        is that of the noise: it says in which norm ``S`` is.
        """
        reach = self.reach(theta)
        eta = best_eta(self.risk.loss, reach, kind)
        return Weighing(eta, self._unit(eta, n, reach, kind))

    def _unit(self, eta: float, n: int, reach: float, kind: str) -> float:
        distance = self.pair_nuclear if kind == ConeLaplace.kind else self.pair_sensitivity
        return distance(n, reach, eta)

    # -- with data -----------------------------------------------------------------------------

    def run(self, rows: Rows, theta: Array, design: MatrixDesign) -> NoisyMatrices:
        """Sum over the rows, add fresh noise. Charge the event before this."""
        hessian, covariance = rows.sum(pair, self.risk, theta)
        weighing = self.weigh(rows.n, theta, design.noise.kind)
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


@lru_cache(maxsize=256)
def best_eta(loss: Loss, reach: float, kind: str) -> float:
    """The ``eta`` with the smallest ``B sqrt(price/eta^2 + 1)``, ``B`` in the noise's norm."""
    row = trace_bound if kind == ConeLaplace.kind else joint_bound

    def cost(eta: float) -> float:
        return float(row(loss, eta, reach)) * math.sqrt(HESSIAN_PRICE / eta**2 + 1.0)

    return float(min(ETAS, key=cost))


def pair(block: Block, y: Targets, risk: RegularizedRisk, theta: Array) -> Parts:
    """Sums of the Hessians and of the gradients' outer products of a block; no budget in it."""
    return *risk.hessian(block, y, theta), *risk.gradient_covariance(block, y, theta)
