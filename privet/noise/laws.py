"""The spherical laws, and those of single numbers: sampler, density and norm of each.

    SphericalLaplace(scale)   density ~ exp(-|b|/scale); |b| ~ Gamma(p, scale), direction uniform
    GaussianNoise(scale)      density ~ exp(-|b|^2/(2 scale^2)); |b| ~ scale chi(p)

and laws of independent coordinates: ``Laplace`` (of counts), ``Exponential`` and ``Gumbel`` (of
selections).

``scale`` of the spherical Laplace is ``1/beta``, the inverse rate, not a standard deviation (the
papers call it one in places). A law says what it is; how large it must be is the business of the
mechanisms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammainc, gammainccinv, gammaln

from privet._types import Array
from privet.randomness import Randomness


@dataclass(frozen=True)
class Law(ABC):
    """A law on R^p with a positive ``scale``, and how uniform words become draws of it."""

    kind: ClassVar[str]
    scale: float
    dimension: int

    def sample(self, randomness: Randomness, k: int) -> Array:
        """``k`` independent draws, shape (k, p)."""
        return randomness.draw(self, k)

    @abstractmethod
    def from_words(self, randomness: Randomness, k: int) -> Array:
        """``k`` draws from the source's words; ``sample`` is the door to it."""


@dataclass(frozen=True)
class Noise(Law):
    """A law on R^p with ``b`` and ``-b`` alike, as it is drawn for fits.

    Spherical laws are in this file; those of ``domain_noise`` and ``matrix_noise`` have other
    shapes, and what a spherical law gets for nothing is a method that they override.
    """

    #: whether ``E|b| u u^T`` and ``E b b^T`` are multiples of the identity, ``u = b/|b|``
    isotropic: ClassVar[bool] = True
    #: whether the law depends on ``|b|`` alone
    spherical: ClassVar[bool] = True

    @abstractmethod
    def log_density(self, b: Array) -> Array:
        """Log-density of each row of ``b``, without the normalizing constant."""

    def radius(self, b: Array) -> Array:
        """A size of each row of ``b`` over the scale whose law is known: ``|b|`` for spheres."""
        return np.asarray(np.linalg.norm(b, axis=-1) / self.scale)

    @abstractmethod
    def radius_rank(self, radius: Array) -> Array:
        """The distribution function of the radius: uniform where draws are of this law."""

    @property
    @abstractmethod
    def expected_norm(self) -> float:
        """``E|b|``."""

    @property
    @abstractmethod
    def coordinate_sd(self) -> float:
        """Standard deviation of one coordinate; where they differ, in root mean square."""

    @property
    def least_sd(self) -> float:
        """The smallest standard deviation of a coordinate."""
        return self.coordinate_sd

    @property
    def largest_sd(self) -> float:
        """The largest standard deviation along any unit vector."""
        return self.coordinate_sd

    @property
    def least_mean_norm(self) -> float:
        """A lower bound on ``E|b|``."""
        return self.expected_norm

    @property
    def mixing(self) -> int:
        """Degrees of freedom of the variance given which the noise along a direction is normal.

        A chi-squared variable, over its mean; 0 where the variance is not random.
        """
        return 0

    def relative_variance(self, directions: Array) -> Array:
        """``E<v, b>^2/coordinate_sd^2`` for the last axis of ``directions``."""
        return np.asarray((directions**2).sum(axis=-1))

    @abstractmethod
    def norm_quantile(self, tail: float) -> float:
        """The norm that is exceeded with probability ``tail``."""

    def facts(self) -> dict[str, Any]:
        """Kind, scale and dimension, for events and files."""
        return {"kind": self.kind, "scale": self.scale, "dimension": self.dimension}


@dataclass(frozen=True)
class SphericalLaplace(Noise):
    """Density proportional to ``exp(-|b|/scale)``: the multivariate law of pure privacy."""

    kind: ClassVar[str] = "laplace"

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """A Gamma(p) norm times a uniform direction."""
        directions = randomness.normals((k, self.dimension))
        # a zero direction cannot occur: normals come from an open interval and are never 0
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = randomness.gammas(k, self.dimension)
        return directions * (self.scale * radii)[:, None]

    def radius_rank(self, radius: Array) -> Array:
        """Gamma(p)."""
        return np.asarray(gammainc(self.dimension, radius))

    def log_density(self, b: Array) -> Array:
        """``-|b|/scale``."""
        return np.asarray(-np.linalg.norm(b, axis=-1) / self.scale)

    @property
    def expected_norm(self) -> float:
        """``p scale``."""
        return self.dimension * self.scale

    @property
    def mixing(self) -> int:
        """``p + 1``: ``scale sqrt(chi2) z`` with ``z`` normal in R^p has this law."""
        return self.dimension + 1

    @property
    def coordinate_sd(self) -> float:
        """``sqrt(p + 1) scale``, since ``E|b|^2 = p (p + 1) scale^2``."""
        return math.sqrt(self.dimension + 1.0) * self.scale

    def norm_quantile(self, tail: float) -> float:
        """Upper quantile of Gamma(p, scale)."""
        return self.scale * float(gammainccinv(self.dimension, tail))


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Independent normal coordinates with standard deviation ``scale``."""

    kind: ClassVar[str] = "gaussian"

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Scaled standard normals."""
        return self.scale * randomness.normals((k, self.dimension))

    def radius_rank(self, radius: Array) -> Array:
        """Chi with ``p`` degrees of freedom."""
        return np.asarray(gammainc(0.5 * self.dimension, 0.5 * radius**2))

    def log_density(self, b: Array) -> Array:
        """``-|b|^2/(2 scale^2)``."""
        return np.asarray(-0.5 * (np.asarray(b) ** 2).sum(axis=-1) / self.scale**2)

    @property
    def expected_norm(self) -> float:
        """``scale sqrt2 Gamma((p+1)/2)/Gamma(p/2)``, just below ``scale sqrt p``."""
        half = self.dimension / 2.0
        return self.scale * math.sqrt(2.0) * math.exp(gammaln(half + 0.5) - gammaln(half))

    @property
    def coordinate_sd(self) -> float:
        """``scale``."""
        return self.scale

    def norm_quantile(self, tail: float) -> float:
        """Upper quantile of ``scale chi(p)``."""
        return self.scale * math.sqrt(2.0 * float(gammainccinv(self.dimension / 2.0, tail)))


@dataclass(frozen=True)
class Laplace(Law):
    """Independent coordinates with density proportional to ``exp(-|b_i|/scale)``."""

    kind: ClassVar[str] = "independent laplace"

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Differences of two exponentials."""
        pairs = randomness.gammas(2 * k * self.dimension, 1).reshape(2, k, self.dimension)
        return np.asarray(self.scale * (pairs[0] - pairs[1]))


@dataclass(frozen=True)
class Exponential(Law):
    """Independent exponential coordinates with mean ``scale``: permute-and-flip."""

    kind: ClassVar[str] = "exponential"

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Scaled exponentials."""
        return self.scale * randomness.gammas(k * self.dimension, 1).reshape(k, self.dimension)


@dataclass(frozen=True)
class Gumbel(Law):
    """Independent Gumbel coordinates: the largest score plus noise is the exponential mechanism."""

    kind: ClassVar[str] = "gumbel"

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Minus the logarithm of exponentials."""
        waits = randomness.gammas(k * self.dimension, 1).reshape(k, self.dimension)
        return np.asarray(self.scale * -np.log(waits))


#: Every spherical noise by its kind; a law that holds for these is tested on all of them.
NOISES: dict[str, type[Noise]] = {noise.kind: noise for noise in (SphericalLaplace, GaussianNoise)}
