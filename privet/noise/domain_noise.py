"""Pure noise in the shape of a declared domain, for scores with one number per row.

With ``X`` the domain's rows, let ``K`` be a symmetric convex body that holds ``X`` and ``-X``,
``V`` its span and ``|v|_K`` its gauge. The laws have density proportional to ``exp(-|b|_K/scale)``
on ``V``: ``b = r u`` with ``u`` uniform in ``K`` and ``r ~ Gamma(dim V + 1, scale)`` (Hardt and
Talwar 2010). A row's gradient ``l' y x`` has gauge at most ``|l'|``, whatever its Euclidean norm.

    Product    every block by itself: ``|v_j|_1 <= s_j`` (categories), ``|v_i| <= s`` (numbers)
    Hull       the least body, the convex hull of ``X`` and ``-X``: blocks of categories and the
               intercept also agree in ``c = 1.v_j/s_j``, so that ``V`` is smaller
    Grouped    groups of blocks, each with its own noise (``grouped_noise.py``)

``scale`` is in units of the gauge, a pure number. The hull's sampler is exact and has no Markov
chain: ``mechanisms/domain_noise.proof.md``, which also holds the theorem.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammainc, gammainccinv

from privet._types import Array
from privet.domain import Box, Domain, OneHot
from privet.noise.hull_points import draw_block, draw_common, hull_moments, one_hot_blocks
from privet.noise.laws import Noise
from privet.randomness import Randomness


@dataclass(frozen=True)
class DomainNoise(Noise):
    """Density ``exp(-|b|_K/scale)`` on the span of a body ``K`` made of a domain's blocks."""

    isotropic: ClassVar[bool] = False
    spherical: ClassVar[bool] = False
    domain: Domain

    @property
    @abstractmethod
    def span(self) -> int:
        """``dim V``."""

    @abstractmethod
    def gauge(self, b: Array) -> Array:
        """``|b|_K`` of the last axis, for points of ``V``."""

    @abstractmethod
    def uniform(self, randomness: Randomness, k: int) -> Array:
        """``k`` uniform points of ``K``."""

    @property
    @abstractmethod
    def variances(self) -> Array:
        """``E u_i^2`` of each coordinate of a uniform point of ``K``."""

    def _along(self, directions: Array) -> Array:
        """``E<v, u>^2`` for the last axis: coordinates are uncorrelated."""
        return np.asarray(directions**2 @ self.variances)

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """A Gamma(dim V + 1) radius times a uniform point of the body."""
        points = self.uniform(randomness, k)
        return points * (self.scale * randomness.gammas(k, self.span + 1))[:, None]

    def radius(self, b: Array) -> Array:
        """The gauge over the scale."""
        return self.gauge(b) / self.scale

    def radius_rank(self, radius: Array) -> Array:
        """Gamma(dim V)."""
        return np.asarray(gammainc(self.span, radius))

    def log_density(self, b: Array) -> Array:
        """``-|b|_K/scale``."""
        return np.asarray(-self.gauge(b) / self.scale)

    @property
    def _radius(self) -> float:
        """``sqrt(E r^2)``."""
        return self.scale * math.sqrt((self.span + 1.0) * (self.span + 2.0))

    @property
    def expected_norm(self) -> float:
        """``sqrt(E|b|^2)``: above ``E|b|``, by a few per cent in ten dimensions, one in fifty."""
        return self._radius * math.sqrt(float(self.variances.sum()))

    @property
    def least_mean_norm(self) -> float:
        """``E r E|u|^2/R``, since no point of the body is longer than ``R``."""
        mean = float(self.variances.sum()) / self.longest
        return self.scale * (self.span + 1.0) * mean

    @property
    def longest(self) -> float:
        """``R``: no point of the body has a larger norm."""
        return self.domain.norm

    @property
    def coordinate_sd(self) -> float:
        """``sqrt(E|b|^2/m)``."""
        return self.expected_norm / math.sqrt(self.dimension)

    @property
    def least_sd(self) -> float:
        """That of the coordinate with the smallest share."""
        return self._radius * math.sqrt(float(self.variances.min()))

    @property
    def largest_sd(self) -> float:
        """That of the coordinate with the largest share."""
        return self._radius * math.sqrt(float(self.variances.max()))

    @property
    def mixing(self) -> int:
        """2, that of Laplace's law, for lack of a formula: log-concave laws have no wider tails."""
        return 2

    def relative_variance(self, directions: Array) -> Array:
        """``m <v, E[u u^T] v>/E|u|^2``."""
        return self._along(directions) * (self.dimension / float(self.variances.sum()))

    def norm_quantile(self, tail: float) -> float:
        """``R`` times the quantile of the gauge, Gamma(dim V): the norm is above it more rarely."""
        return self.longest * self.scale * float(gammainccinv(self.span, tail))

    def facts(self) -> dict[str, Any]:
        """With the domain."""
        return {**super().facts(), "domain": self.domain.to_json()}


@dataclass(frozen=True)
class Product(DomainNoise):
    """``K`` is the product of the blocks: cubes of numbers and l1 balls of categories."""

    kind: ClassVar[str] = "product"

    @property
    def span(self) -> int:
        """All columns."""
        return self.domain.columns

    def gauge(self, b: Array) -> Array:
        """The largest ``|b_j|_1/s_j``, numbers one by one."""
        parts = [_plain_gauge(b[..., at], block) for block, at in self.domain.parts()]
        return np.asarray(np.max(parts, axis=0))

    def uniform(self, randomness: Randomness, k: int) -> Array:
        """Each block by itself."""
        out = np.empty((k, self.domain.columns))
        for block, at in self.domain.parts():
            if isinstance(block, Box):
                out[:, at] = block.size * (2.0 * randomness.uniforms((k, block.width)) - 1.0)
            else:
                out[:, at] = block.size * _cross_polytope(randomness, k, block.width)
        return out

    @property
    def variances(self) -> Array:
        """A third of a number's s^2, 2/((k+1)(k+2)) of a category's."""
        return np.concatenate([shares(block) for block in self.domain.blocks])


def _plain_gauge(b: Array, block: Box | OneHot) -> Array:
    sizes = np.abs(b) / block.size
    return np.asarray(sizes.max(axis=-1) if isinstance(block, Box) else sizes.sum(axis=-1))


def shares(block: Box | OneHot) -> Array:
    """``E u_i^2`` of the coordinates of one block of a product."""
    k = block.width
    share = 1.0 / 3.0 if isinstance(block, Box) else 2.0 / ((k + 1.0) * (k + 2.0))
    return np.full(k, share * block.size**2)


def _cross_polytope(randomness: Randomness, count: int, k: int) -> Array:
    """Uniform points of ``{|w|_1 <= 1}``: k + 1 exponentials, normalized, k of them with signs."""
    waits = randomness.exponentials((count, k + 1))
    signs = np.where(randomness.uniforms((count, k)) < 0.5, -1.0, 1.0)
    return np.asarray(signs * waits[:, :k] / waits.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Hull(DomainNoise):
    """``K`` is the convex hull of the domain's rows and their opposites.

    For domains with a constant: a block of categories that is never missing, or an intercept.
    """

    kind: ClassVar[str] = "hull"

    @property
    def span(self) -> int:
        """Columns, less one for each block after the first whose sum is known from ``c``."""
        complete = sum(1 for block in one_hot_blocks(self.domain) if not block.missing)
        return self.domain.columns - complete + 1

    def gauge(self, b: Array) -> Array:
        """The largest ``|b_j|_1/s_j``; a missing cell holds what the others leave of ``c``."""
        c = _common(b, self.domain)
        found = []
        for block, at in self.domain.parts():
            size = _plain_gauge(b[..., at], block)
            if isinstance(block, OneHot) and block.missing:
                size = size + np.abs(c - b[..., at].sum(axis=-1) / block.size)
            found.append(size)
        return np.asarray(np.max(found, axis=0))

    def uniform(self, randomness: Randomness, k: int) -> Array:
        """``c``, then each block given ``c``; numbers are independent of them."""
        c = draw_common(randomness, k, tuple(block.cells for block in one_hot_blocks(self.domain)))
        sign = np.where(randomness.uniforms((k, 1)) < 0.5, -1.0, 1.0)
        out = np.empty((k, self.domain.columns))
        for block, at in self.domain.parts():
            if isinstance(block, Box):
                out[:, at] = block.size * (2.0 * randomness.uniforms((k, block.width)) - 1.0)
            else:
                cells = draw_block(randomness, c, block.cells)
                out[:, at] = block.size * sign * cells[:, : block.width]
        return out

    @property
    def moments(self) -> Array:
        """``E u u^T``: numbers have a third of s^2; categories are correlated through ``c``."""
        return hull_moments(self.domain)

    @property
    def variances(self) -> Array:
        """The diagonal of the moments."""
        return np.diag(self.moments)

    def _along(self, directions: Array) -> Array:
        """``<v, E[u u^T] v>``."""
        return np.asarray(((directions @ self.moments) * directions).sum(axis=-1))

    @property
    def largest_sd(self) -> float:
        """The root of the covariance's largest eigenvalue."""
        return self._radius * math.sqrt(float(np.linalg.eigvalsh(self.moments)[-1]))


def _common(b: Array, domain: Domain) -> Array:
    """``c``, from the first block that is never missing."""
    for block, at in domain.parts():
        if isinstance(block, OneHot) and not block.missing:
            return np.asarray(b[..., at].sum(axis=-1) / block.size)
    raise ValueError("A hull needs a block that is never missing.")
