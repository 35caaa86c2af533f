"""Pure noise for positive semidefinite matrices: the difference of two of them.

A row adds a positive semidefinite matrix to a sum of second moments, and what it costs to hide one
is its trace. Spherical noise hides every symmetric matrix of that Frobenius norm instead, which for
many columns is far more.

    ConeLaplace    ``scale (W - W')``, ``W`` and ``W'`` independent with density ``exp(-tr W)`` on
                   positive semidefinite matrices; its log-density changes by at most the nuclear
                   norm of a shift over ``scale``. For one column it is Laplace's law.

Theorem and sampler: ``mechanisms/cone_noise.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import erf, gammainccinv

from privet._types import Array
from privet.noise.laws import Noise
from privet.noise.matrix_noise import bartlett
from privet.randomness import Randomness


@dataclass(frozen=True)
class ConeLaplace(Noise):
    """Independent symmetric ``side x side`` matrices, each the difference of two cone variables.

    Vectors are the matrices' upper triangles, one matrix after another, with off-diagonals times
    ``sqrt2``: norms are Frobenius norms.
    """

    kind: ClassVar[str] = "cone laplace"
    spherical: ClassVar[bool] = False
    side: int

    @property
    def blocks(self) -> int:
        """How many matrices."""
        return self.dimension // triangle(self.side)

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """``W = L L^T/2`` with Bartlett's ``L`` for ``side + 1`` degrees of freedom."""
        count, side = k * self.blocks, self.side
        first, second = (bartlett(randomness, count, side, side + 1) for _ in range(2))
        matrices = (first @ first.mT - second @ second.mT) * (0.5 * self.scale)
        return half_vector(matrices).reshape(k, self.dimension)

    def radius(self, b: Array) -> Array:
        """The size of the first diagonal entry over the scale."""
        return np.asarray(np.abs(b[..., 0]) / self.scale)

    def radius_rank(self, radius: Array) -> Array:
        """``sqrt(chi2) |z|`` with ``side + 1`` degrees of freedom and a normal ``z``."""
        u = (np.arange(2000) + 0.5) / 2000.0  # a smooth function of the quantile: midpoints do
        variances = 2.0 * gammainccinv(0.5 * self.mixing, u)
        sizes = np.asarray(radius, dtype=np.float64)
        grid = np.linspace(0.0, max(float(sizes.max()), 1e-300), 1500)
        ranks = erf(grid[:, None] / np.sqrt(2.0 * variances)).mean(axis=1)
        return np.asarray(np.interp(sizes, grid, ranks))

    def log_density(self, b: Array) -> Array:
        """Up to a constant: ``-|b|/scale`` for one column, an integral for two."""
        if self.side > 2:
            raise NotImplementedError("The density is computed for one or two columns.")
        parts = np.reshape(b, (*np.shape(b)[:-1], self.blocks, triangle(self.side)))
        if self.side == 1:
            return np.asarray(-np.abs(parts / self.scale).sum(axis=(-2, -1)))
        values = np.linalg.eigvalsh(symmetric(parts / self.scale, 2))
        flat = values.reshape(-1, 2)
        each = np.array([_pair_log_density(low, high) for low, high in flat])
        return np.asarray(each.reshape(values.shape[:-1]).sum(axis=-1))

    @property
    def expected_norm(self) -> float:
        """``sqrt(E|b|^2)``, above ``E|b|`` by a few per cent."""
        return self.coordinate_sd * math.sqrt(self.dimension)

    @property
    def least_mean_norm(self) -> float:
        """``(E|b|^2)^(3/2)/(E|b|^4)^(1/2)`` with ``E|b|^4 <= k^2 E x^4``, ``x`` a coordinate.

        By Hoelder's inequality; ``E x^4/(E x^2)^2 = 3 (p + 3)/(p + 1)`` on the diagonal, and less
        off it.
        """
        return self.expected_norm / math.sqrt(3.0 * (self.side + 3.0) / (self.side + 1.0))

    @property
    def mixing(self) -> int:
        """``side + 1``: ``<u, W u> - <u, W' u>`` is normal given a chi-squared variance."""
        return self.side + 1

    @property
    def coordinate_sd(self) -> float:
        """``scale sqrt(side + 1)``: of ``<u, B u>`` for every unit vector ``u``."""
        return self.scale * math.sqrt(self.side + 1.0)

    def norm_quantile(self, tail: float) -> float:
        """``|W - W'| <= tr W + tr W'``: all traces together are ``Gamma(2 dimension)``."""
        return self.scale * float(gammainccinv(2.0 * self.dimension, tail))

    def facts(self) -> dict[str, Any]:
        """With the number of columns."""
        return {**super().facts(), "side": self.side}


def triangle(side: int) -> int:
    """Entries of the upper triangle with its diagonal."""
    return side * (side + 1) // 2


def half_vector(matrix: Array) -> Array:
    """The upper triangle with off-diagonals times ``sqrt2``, for one matrix or a stack of them."""
    rows, columns = np.triu_indices(matrix.shape[-1])
    factors = np.where(rows == columns, 1.0, math.sqrt(2.0))
    return np.asarray(matrix[..., rows, columns] * factors)


def symmetric(vectors: Array, side: int) -> Array:
    """The inverse of ``half_vector``, for one vector or a stack of them: (..., side, side)."""
    rows, columns = np.triu_indices(side)
    entries = vectors * np.where(rows == columns, 1.0, math.sqrt(0.5))
    out = np.empty((*vectors.shape[:-1], side, side))
    out[..., rows, columns] = entries
    out[..., columns, rows] = entries
    return out


@lru_cache(maxsize=1)
def _rules() -> tuple[Array, Array, Array, Array]:
    """Gauss's rules: on [0, 1], and for ``r^(3/2) exp(-2 r)`` on the half-line."""
    from scipy.special import roots_genlaguerre

    nodes, weights = np.polynomial.legendre.leggauss(48)
    r, w = roots_genlaguerre(64, 1.5)
    return (nodes + 1.0) / 2.0, weights / 2.0, r / 2.0, w * 2.0**-2.5


def _pair_log_density(low: float, high: float) -> float:
    """``log f(diag(high, low))`` relative to ``f(0)``.

    ``f(S) = int exp(-2 tr W - tr S)`` over ``W >= 0`` and ``W + S >= 0``. Where the eigenvalues
    have one sign it is ``exp(-|S|_*)``. Else, with ``a = high`` and ``b = -low``, ``W`` has the
    diagonal ``x, b + t`` and an off-diagonal entry up to ``sqrt min(x (b + t), (x + a) t)``; in
    ``x = r (1 - q)``, ``t = r q`` the first is smaller from ``q = b/(a + b)`` on.
    """
    if low >= 0.0 or high <= 0.0:
        return -abs(high + low)
    unit, weights, r, w = _rules()
    split = -low / (high - low)
    total = 0.0
    for a, start in ((-low, split), (high, 1.0 - split)):
        # q = 1 - (1 - start) v^2 takes the square root at the end out of the integrand
        rest = (1.0 - start) * unit**2
        inner = np.sqrt(a + r[:, None] * (1.0 - rest))
        part = (inner * (np.sqrt(rest) * 2.0 * (1.0 - start) * unit * weights)).sum(axis=1)
        total += float(w @ part)
    whole = math.pi / 32.0  # int r^2 exp(-2 r) dr int sqrt(q (1 - q)) dq
    return -(high - low) + math.log(total / whole)
