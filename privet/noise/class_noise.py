"""Pure noise for sums that are kept class by class: independent draws, one for each class.

A row adds its vector to the sum of its own class and to no other. Replacing it changes two sums, or
one of them twice, so what has to be hidden is short in the norm that adds up over the classes. The
density ``exp(-(|b_1| + ... + |b_C|)/scale)`` changes by at most that norm over ``scale``.

    ClassLaplace    Euclid's norm in each class
    ClassHull       the gauge of the hull of a declared domain in each class (``domain_noise.py``)

Theorem: ``mechanisms/means.proof.md``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammainccinv

from privet._types import Array
from privet.domain import Domain
from privet.noise.domain_noise import Hull
from privet.noise.laws import Noise, SphericalLaplace
from privet.randomness import Randomness


@dataclass(frozen=True)
class ClassWise(Noise):
    """Independent draws of one law; vectors are ``C x m`` matrices, class after class."""

    isotropic: ClassVar[bool] = False
    spherical: ClassVar[bool] = False
    classes: int

    @property
    @abstractmethod
    def each(self) -> Noise:
        """The law of one class."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """The largest Euclidean norm of a vector that is 1 long in one class's own norm."""

    @property
    @abstractmethod
    def span(self) -> int:
        """The dimension of what one class's noise can be."""

    @property
    def columns(self) -> int:
        """``m``."""
        return self.dimension // self.classes

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """One draw after another."""
        return self.each.from_words(randomness, k * self.classes).reshape(k, self.dimension)

    def radius(self, b: Array) -> Array:
        """That of the first class."""
        return self.each.radius(b[..., : self.columns])

    def radius_rank(self, radius: Array) -> Array:
        """As of one class."""
        return self.each.radius_rank(radius)

    def log_density(self, b: Array) -> Array:
        """The sum over the classes."""
        return np.asarray(self.each.log_density(self._parts(b)).sum(axis=-1))

    def _parts(self, b: Array) -> Array:
        return np.reshape(b, (*np.shape(b)[:-1], self.classes, self.columns))

    @property
    def expected_norm(self) -> float:
        """``sqrt(E|b|^2)``, above ``E|b|`` by a per cent or so."""
        return self.coordinate_sd * math.sqrt(self.dimension)

    @property
    def least_mean_norm(self) -> float:
        """``E|b| >= |(E|b_1|, ..., E|b_C|)|``, since norms are convex."""
        return self.each.least_mean_norm * math.sqrt(self.classes)

    @property
    def coordinate_sd(self) -> float:
        """As of one class."""
        return self.each.coordinate_sd

    @property
    def least_sd(self) -> float:
        """As of one class."""
        return self.each.least_sd

    @property
    def largest_sd(self) -> float:
        """As of one class, since classes are independent."""
        return self.each.largest_sd

    @property
    def mixing(self) -> int:
        """As of one class; along other directions the tails are lighter."""
        return self.each.mixing

    def relative_variance(self, directions: Array) -> Array:
        """Added up over the classes."""
        return np.asarray(self.each.relative_variance(self._parts(directions)).sum(axis=-1))

    def norm_quantile(self, tail: float) -> float:
        """The norms of all classes together are ``Gamma(C span)``, and ``|b|`` is not longer."""
        total = float(gammainccinv(self.classes * self.span, tail))
        return self.scale * self.longest * total

    def facts(self) -> dict[str, Any]:
        """With the number of classes."""
        return {**super().facts(), "classes": self.classes}


@dataclass(frozen=True)
class ClassLaplace(ClassWise):
    """Spherical Laplace noise in each class."""

    kind: ClassVar[str] = "class laplace"

    @property
    def each(self) -> SphericalLaplace:
        """On ``m`` columns."""
        return SphericalLaplace(self.scale, self.columns)

    @property
    def longest(self) -> float:
        """1: the norm is Euclid's."""
        return 1.0

    @property
    def span(self) -> int:
        """All columns."""
        return self.columns


@dataclass(frozen=True)
class ClassHull(ClassWise):
    """Noise in the shape of the hull of a declared domain, in each class."""

    kind: ClassVar[str] = "class hull"
    domain: Domain

    @property
    def each(self) -> Hull:
        """On the columns of the domain."""
        return Hull(self.scale, self.columns, self.domain)

    @property
    def longest(self) -> float:
        """The largest norm of a row."""
        return self.domain.norm

    @property
    def span(self) -> int:
        """That of the hull."""
        return self.each.span

    def facts(self) -> dict[str, Any]:
        """With the domain."""
        return {**super().facts(), "domain": self.domain.to_json()}
