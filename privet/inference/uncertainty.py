"""How far the released parameters are from those of the population: the law of ``theta0 - theta~``.

To first order (Wang, Kifer and Lee 2018, sections 4 and 5), with ``G ~ N(0, Sigma)`` and a fresh
copy ``b`` of the fit's noise,

    objective perturbation   theta0 - theta~ = H^-1 (G/sqrt n + b/n)
    output perturbation      theta0 - theta~ = H^-1 G/sqrt n - b

``H`` and ``Sigma`` are not known: what is released is ``H`` and the second moment of the gradients
with noise of a known law. A length computed from the released matrices as if they were exact is
too short as often as the noise made the curvature look large. So the law of the error is a mixture
over *plausible* matrices, the released ones less fresh draws of their noise (``plausible``), each
weighed by a power of the length it implies (``Caution``). Where the released matrices are clear of
their noise the mixture is hardly longer than one law; where they are not it widens up to what the
regularizer alone allows, ``H >= Lam``, which is true of the exact one.

Along a direction ``a`` each member of the mixture is one-dimensional: a normal number, and one
coordinate of the fit's noise. Everything here is post-processing of released and public numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from privet._types import Array
from privet.inference.mixture import Parts, above, at_least
from privet.inference.plausible import PlausibleHessians, plausible_hessians
from privet.mechanisms.matrix import NoisyMatrices
from privet.noise import Noise
from privet.randomness import InsecureSeed

#: the covariance along a direction is taken to be no less than this share of the Hessian's shape
LEAST_SHAPE = 0.05


@dataclass(frozen=True)
class Caution:
    """How much the released matrices are trusted; public, by the kind of loss.

    ``power``: with one parameter and noise of relative standard deviation ``r`` in its curvature,
    intervals by plausible curvatures that are weighed by ``length^w`` cover, to second order,
    ``2 z phi(z) (1 + w) r^2`` more than their level: -1 is exact, 1 is on the safe side.
    """

    agreement: float  # how far the second moment may be from the Hessian's shape, relatively
    clear: float  # a squared difference is the table's own beyond this many variances of noise
    clear_sds: float  # an eigenvalue is clear of its noise from here on, in standard deviations
    power: float  # of the length, by which a plausible matrix counts where all are clear; else 1
    trace_known: bool = True  # whether the second moment's trace is far above its noise
    lowered: float = 1.5  # standard deviations taken off eigenvalues that may be none at all
    jointly: bool = False  # those of all such eigenvalues together, or of one alone
    across: bool = True  # whether what noise across a direction adds is taken off again


#: Of a log-likelihood Hessian and second moment are equal where the model is right (Fisher). Along
#: the coefficients of real tables they differ by 0.07 to 0.12 on average, and by 0.3 at most.
LIKELIHOOD = Caution(agreement=0.35, clear=6.0, clear_sds=2.5, power=-1.0)
#: Of a hinge they need not be alike: there they differ by 0.6 to 1.4.
HINGE = Caution(agreement=1.0, clear=6.0, clear_sds=2.5, power=-1.0)
#: Of a residual they have nothing to do with each other: gradients are as small as residuals are,
#: relative to the declared bounds, so their second moment may be far below its noise.
RESIDUAL = Caution(
    agreement=1.0,
    clear=2.0,
    clear_sds=3.0,
    power=1.0,
    trace_known=False,
    jointly=True,
    across=False,
)
#: multiples of the golden ratio's fraction: ranks for a second number that go with no first
_GOLDEN = (5.0**0.5 - 1.0) / 2.0


@dataclass(frozen=True)
class FitNoise:
    """The public law of a fit's noise: where it enters, and how large it is."""

    mechanism: str
    main: Noise
    gap_sd: float = 0.0  # of a coordinate of the noise that pays for the gap

    @property
    def in_objective(self) -> bool:
        """Whether the noise passes through the Hessian."""
        return self.mechanism == "objective"


@dataclass(frozen=True)
class Uncertainty:
    """Released parameters, the released matrices at them, and what they imply."""

    #: what a file calls it
    construction: ClassVar[str] = "default"

    theta: Array
    released: NoisyMatrices
    regularization: float
    n: int
    noise: FitNoise
    seed: int  # of the draws, which need no secret: the same question gets the same answer
    caution: Caution = HINGE

    @cached_property
    def plausible(self) -> PlausibleHessians:
        """Hessians that the released one may have come from."""
        caution, draws = self.caution, InsecureSeed(self.seed)
        return plausible_hessians(
            self.released,
            self.regularization,
            draws,
            caution.clear_sds,
            caution.lowered,
            jointly=caution.jointly,
        )

    def parts(self, directions: Array) -> Parts:
        """The mixture along each row of ``directions`` (q, p)."""
        through = self.plausible.solved(directions)
        center, spread = self._moments(through)
        # the covariance along a direction is normal around its center, and not negative: raised
        # where it is, or cut off there, which is longer, where all of it may be noise
        low = LEAST_SHAPE * self._alike(through)
        not_negative = at_least if self.caution.trace_known else above
        drawn = not_negative(center, spread, low, self.plausible.ranks[:, None])
        noise = self._noise_along(through, directions)
        middle = np.maximum(center, low) / self.n + noise * self.noise.main.coordinate_sd**2
        gap = (directions**2).sum(axis=1) * self.noise.gap_sd**2
        power = 1.0 if self.plausible.within_noise else self.caution.power
        return Parts(drawn / self.n + gap, noise, middle ** (power / 2.0))

    def _noise_along(self, through: Array, directions: Array) -> Array:
        """Variance of the fit's noise along each direction, in coordinates' variances: (k, q)."""
        law = self.noise.main.relative_variance
        if not self.noise.in_objective:
            return np.broadcast_to(law(directions[None]), through.shape[:-1])
        return self._without_added(lambda v: np.asarray(law(v / self.n)), through)

    def _without_added(self, form: Callable[[Array], Array], through: Array) -> Array:
        """A quadratic form of ``H^-1 a`` without what errors across ``H^-1 a`` added to it.

        Errors along it are as often of one sign as of the other, and the weights are for them.
        Those across it, one for each other direction, add their squares: once by the noise in the
        released matrix and once by the draw, whose two signs tell how much one of them adds. Where
        eigenvalues are within their noise nothing is taken off, and never more than half.
        """
        found = form(through)
        if self.plausible.within_noise or not self.caution.across:
            return found
        return np.asarray(found - np.minimum(2.0 * form(across(through)), np.abs(found) / 2.0))

    def _alike(self, through: Array) -> Array:
        """The Hessian of the loss at the trace of the second moment."""
        loss = self.plausible.quadratic(through)
        return np.asarray(loss * (self._traces / np.maximum(self.plausible.trace, 1e-300))[:, None])

    @property
    def _traces(self) -> Array:
        """Traces that the second moment may have, one for each plausible Hessian.

        The released one where that is well known; else normal around it, and not negative. The
        noise in the trace of ``p`` numbers has ``p`` times the variance of one, for every law of
        noise: coordinates of a sphere's and of the Gaussian are uncorrelated, and a trace on the
        cone of positive semidefinite matrices is ``Gamma(p (p + 1)/2)``.
        """
        ranks = self.plausible.ranks
        trace = np.full(len(ranks), float(np.trace(self.released.covariance)))
        if self.caution.trace_known:
            return np.asarray(np.maximum(trace, 0.0))
        sd = np.full(len(ranks), self.released.covariance_sd * len(self.theta) ** 0.5)
        return above(trace, sd, np.zeros(len(ranks)), np.mod(ranks * len(ranks) * _GOLDEN, 1.0))

    def _moments(self, through: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of ``<v, Sigma v>`` for ``v`` in ``through`` (k, q, p).

        Second moment and Hessian are alike in most models. So the released second moment along
        ``v`` is shrunk toward the Hessian's as a normal prior asks for, whose width is
        ``caution.agreement`` times the Hessian's value, or more where the difference is clearly
        more than noise (James and Stein 1961). With little noise nothing changes. The gradients'
        mean at ``theta0`` is ``-Lam theta0``; its square is taken off.
        """
        alike = self._alike(through)
        second = self._without_added(lambda v: _quadratic(self.released.covariance, v), through)
        difference = second - alike
        noise = self.released.covariance_sd * (through**2).sum(axis=-1)
        caution = self.caution
        prior = np.maximum(
            (caution.agreement * alike) ** 2, difference**2 - caution.clear * noise**2
        )
        kept = prior / np.maximum(prior + noise**2, 1e-300)
        mean = self.regularization * (through @ self.theta)
        return alike + difference * kept - mean**2, np.sqrt(kept) * noise


def across(through: Array) -> Array:
    """Half the difference of each pair of draws with both signs, across their middle: (k, q, p)."""
    first, second = np.split(through, 2)
    middle, half = (first + second) / 2.0, (first - second) / 2.0
    shares = (half * middle).sum(axis=-1) / np.maximum((middle**2).sum(axis=-1), 1e-300)
    found = half - shares[..., None] * middle
    return np.concatenate([found, found])


def floored(matrix: Array, least: float) -> Array:
    """The nearest symmetric matrix with eigenvalues at least ``least``; stacks too."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)[..., None, :]) @ vectors.mT)


def _quadratic(matrix: Array, rows: Array) -> Array:
    """``<v, M v>`` for the last axis of ``rows``."""
    return np.asarray(((rows @ matrix) * rows).sum(axis=-1))


@dataclass(frozen=True)
class WiderUncertainty(Uncertainty):
    """The construction of Wang, Kifer and Lee (2018), as printed, for comparison.

    Files may hold such intervals; new ones are made by ``reproduce/two_matrices.py`` alone. Here:
    eigenvalues of both at least ``2c = Lam`` (Algorithm 2), and the noise in the matrices ignored
    (Algorithms 3 and 5). The paper draws the law of the intervals by Monte Carlo; here it is
    integrated, which changes nothing but the error of 10,000 draws.
    """

    construction: ClassVar[str] = "wang2018"

    @cached_property
    def hessian(self) -> Array:
        """The released Hessian with the regularizer, eigenvalues at least ``Lam``."""
        ridge = self.regularization * np.eye(len(self.theta))
        return floored(self.released.hessian + ridge, self.regularization)

    @cached_property
    def covariance(self) -> Array:
        """The centered covariance with eigenvalues at least ``Lam``."""
        center = self.regularization * self.theta
        return floored(self.released.covariance - np.outer(center, center), self.regularization)

    def _without_added(self, form: Callable[[Array], Array], through: Array) -> Array:
        """As it is."""
        return form(through)

    def parts(self, directions: Array) -> Parts:
        """One law: the released matrices count as exact."""
        solved = np.linalg.solve(self.hessian, directions.T).T[None]
        through = np.asarray(solved, dtype=np.float64)
        gap = (directions**2).sum(axis=1) * self.noise.gap_sd**2
        normal = _quadratic(self.covariance, through) / self.n + gap
        return Parts(normal, self._noise_along(through, directions), np.ones_like(normal))
