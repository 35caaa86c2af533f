"""How far the released parameters are from those of the population: the law of ``theta0 - theta~``.

To first order (Wang, Kifer and Lee 2018, sections 4 and 5), with ``G ~ N(0, Sigma)`` and a fresh
copy ``b`` of the fit's noise,

    objective perturbation   theta0 - theta~ = H^-1 (G/sqrt n + b/n)
    output perturbation      theta0 - theta~ = H^-1 G/sqrt n - b

``H`` is the released Hessian with eigenvalues at least ``Lam``, which is true of the exact one.
``Sigma`` is the released second moment of the gradients less ``Lam^2 theta theta^T``, their mean at
``theta0`` being ``-Lam theta0``. It is not projected: a projection would only ever add to it and
make intervals too long. Variances of single numbers are clipped at 0.

Along a direction ``a`` both parts are one-dimensional: a normal number, and one coordinate of the
fit's noise (``planning/marginal.py``). Everything here is post-processing of released and public
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from privet._types import Array
from privet.mechanisms.matrix import NoisyMatrices
from privet.noise import Noise
from privet.randomness import InsecureSeed

#: draws of the Hessian's noise that correct the lengths
BOOTSTRAP = 24
#: how far the covariance may be from the Hessian's shape, relatively, before noise is blamed
AGREEMENT = 5.0
#: a squared difference counts as the table's own beyond this many variances of the noise
CLEAR = 2.0


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
class Parts:
    """Variances along directions: ``normal``, and ``spread`` times a noise coordinate's variance.

    The mean one, where the noise's coordinates differ.
    """

    normal: Array
    spread: Array


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
    seed: int  # of the bootstrap, which needs no secret: the same question gets the same answer

    @cached_property
    def hessian(self) -> Array:
        """The released Hessian with the regularizer, eigenvalues at least ``Lam``."""
        ridge = self.regularization * np.eye(len(self.theta))
        return floored(self.released.hessian + ridge, self.regularization)

    @cached_property
    def _alike(self) -> Array:
        """The Hessian of the loss at the trace of the second moment, which is well known."""
        loss = self.hessian - self.regularization * np.eye(len(self.theta))
        trace = float(np.trace(loss))
        return loss * (max(float(np.trace(self.released.covariance)), 0.0) / max(trace, 1e-300))

    def sampling(self, through: Array) -> Array:
        """``<v, Sigma v>`` for rows ``v`` of ``through``, not below zero.

        Second moment and Hessian of a correct model are equal, and of most others alike. So the
        released second moment along ``v`` is shrunk toward the Hessian's as a normal prior asks
        for, whose width is ``AGREEMENT`` times the Hessian's value, or more where the difference
        is clearly more than noise (James and Stein 1961). With little noise nothing changes.
        """
        alike = _quadratic(self._alike, through)
        difference = _quadratic(self.released.covariance, through) - alike
        noise = self.released.covariance_sd * (through**2).sum(axis=-1)
        prior = np.maximum((AGREEMENT * alike) ** 2, difference**2 - CLEAR * noise**2)
        kept = prior / np.maximum(prior + noise**2, 1e-300)
        center = self.regularization * (through @ self.theta)
        return np.asarray(np.maximum(alike + difference * kept - center**2, 0.0))

    def parts(self, directions: Array) -> Parts:
        """Variances along each row of ``directions`` (q, p), lengths corrected."""
        factors = self.corrections(directions) ** 2
        sampling, spread = self._raw(self.hessian, directions)
        gap = (directions**2).sum(axis=1) * self.noise.gap_sd**2
        return Parts(
            sampling * factors + gap, spread * factors if self.noise.in_objective else spread
        )

    def corrections(self, directions: Array) -> Array:
        """How much too long or short the noise in the Hessian makes standard deviations, undone.

        Where the noise comes near the eigenvalues, the inverse of a noisy Hessian is off. A
        parametric bootstrap measures it: the known law of the noise is added to the released
        Hessian once more, and what that does to a standard deviation on average is taken off it.
        """
        before = self._through(self.hessian, directions)
        noise = self.released.hessian_noise(InsecureSeed(self.seed), BOOTSTRAP)
        again = self._through(floored(self.hessian + noise, self.regularization), directions)
        mean = again.mean(axis=0)
        return np.where(mean > 0.0, before / np.maximum(mean, 1e-300), 1.0)

    def _raw(self, hessian: Array, directions: Array) -> tuple[Array, Array]:
        """Sampling variance and the noise's factor, for one Hessian or a stack: (..., q)."""
        through = np.asarray(np.linalg.solve(hessian, directions.T).mT, dtype=np.float64)
        source = through / self.n if self.noise.in_objective else directions
        return self.sampling(through) / self.n, self.noise.main.relative_variance(source)

    def _through(self, hessian: Array, directions: Array) -> Array:
        """Standard deviation along each direction of what passes through the Hessian."""
        sampling, spread = self._raw(hessian, directions)
        if self.noise.in_objective:
            sampling = sampling + spread * self.noise.main.coordinate_sd**2
        return np.sqrt(sampling)


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
    eigenvalues of both at least ``2c = Lam`` (Algorithm 2), and no correction for the noise in the
    inverse (Algorithms 3 and 5). The paper draws the law of the intervals by Monte Carlo; here it
    is integrated, which changes nothing but the error of 10,000 draws.
    """

    construction: ClassVar[str] = "wang2018"

    @cached_property
    def covariance(self) -> Array:
        """The centered covariance with eigenvalues at least ``Lam``."""
        center = self.regularization * self.theta
        return floored(self.released.covariance - np.outer(center, center), self.regularization)

    def sampling(self, through: Array) -> Array:
        """``<v, Sigma v>`` with the floored matrix."""
        return _quadratic(self.covariance, through)

    def corrections(self, directions: Array) -> Array:
        """None."""
        return np.ones(len(directions))
