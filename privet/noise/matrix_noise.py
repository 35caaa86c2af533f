"""Pure noise for many classes: laws on ``K x m`` matrices.

A row's gradient in the parameters is ``g (x) x``, a matrix of rank one. Spherical noise hides every
matrix of that Frobenius norm, of any rank, which is far more than has to be hidden.

    MatrixLaplace    a product of two Gaussian matrices; its log-density changes by at most the
                     nuclear norm of a shift over ``scale``, which for rank one is the Frobenius
                     norm. With one row it is the spherical Laplace law.
    ClassProduct     density ``exp(-|b|_K/scale)`` of the body that a declared domain and the
                     classes leave: every block's entries have ``sum |W_j| <= 2 s_j``

Theorems and samplers: ``mechanisms/matrix_noise.proof.md`` and ``domain_noise.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammainc, gammainccinv, gammaln

from privet._types import Array
from privet.domain import Box
from privet.noise.domain_noise import DomainNoise
from privet.noise.laws import Noise
from privet.randomness import Randomness


@dataclass(frozen=True)
class MatrixLaplace(Noise):
    """``scale A G`` with Gaussian ``A`` (K x d) and ``G`` (d x m), ``d = K + m``.

    ``dimension`` is ``K m``, row after row.
    """

    kind: ClassVar[str] = "matrix laplace"
    spherical: ClassVar[bool] = False
    rows: int

    @property
    def columns(self) -> int:
        """``m``."""
        return self.dimension // self.rows

    @property
    def inner(self) -> int:
        """``d = K + m``."""
        return self.rows + self.columns

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """``L Z`` with ``L L^T = A A^T`` by Bartlett (1933): fewer numbers than ``A`` and ``G``.

        ``L`` is lower triangular with ``L_ii^2 ~ chi2(d - i)`` and normal entries below. The longer
        side is that of ``Z``.
        """
        side, wide = sorted((self.rows, self.columns))
        lower = bartlett(randomness, k, side, self.inner)
        out = lower @ randomness.normals((k, side, wide))
        if side < self.rows:
            out = out.transpose(0, 2, 1)
        return self.scale * out.reshape(k, -1)

    def radius(self, b: Array) -> Array:
        """The length of the first row over the scale."""
        return np.asarray(np.linalg.norm(b[..., : self.columns], axis=-1) / self.scale)

    def radius_rank(self, radius: Array) -> Array:
        """``chi(d) chi(m)``: given the first row of ``A`` that of the product is normal."""
        u = (np.arange(500) + 0.5) / 500.0  # a smooth function of the quantile: midpoints do
        variances = 2.0 * gammainccinv(self.inner / 2.0, u)
        sizes = np.maximum(np.asarray(radius, dtype=np.float64), 1e-300)
        grid = np.geomspace(sizes.min(), sizes.max(), 600)
        ranks = gammainc(self.columns / 2.0, 0.5 * grid[:, None] ** 2 / variances).mean(axis=1)
        return np.asarray(np.interp(np.log(sizes), np.log(grid), ranks))

    def log_density(self, b: Array) -> Array:
        """Up to a constant; for two rows or two columns an integral, for one ``-|b|/scale``."""
        matrices = np.asarray(b).reshape(*np.shape(b)[:-1], self.rows, self.columns) / self.scale
        values = np.asarray(np.linalg.svd(matrices, compute_uv=False), dtype=np.float64)
        if min(self.rows, self.columns) == 1:
            return np.asarray(-values[..., 0])
        if min(self.rows, self.columns) > 2:
            raise NotImplementedError("The density is computed for two rows or two columns.")
        flat = values.reshape(-1, 2)
        found = [_pair_log_density(flat[i : i + 64]) for i in range(0, len(flat), 64)]
        return np.concatenate(found).reshape(values.shape[:-1])

    @property
    def expected_norm(self) -> float:
        """``sqrt(E|b|^2) = scale sqrt(K m (K + m))``, above ``E|b|`` by a per cent or so."""
        return self.scale * math.sqrt(self.dimension * self.inner)

    @property
    def least_mean_norm(self) -> float:
        """``(E|b|^2)^(3/2)/(E|b|^4)^(1/2)``, by Hoelder's inequality."""
        k, m, d = self.rows, self.columns, self.inner
        square = float(k * m * d)
        trace = (k * d) ** 2 + 2.0 * k * d  # E (tr A A^T)^2, and E tr (A A^T)^2 = k d (d + k + 1)
        fourth = m * m * trace + 2.0 * m * k * d * (d + k + 1.0)
        return float(self.scale * square**1.5 / math.sqrt(fourth))

    @property
    def mixing(self) -> int:
        """``K + m`` along directions of rank one; along others the tails are lighter."""
        return self.inner

    @property
    def coordinate_sd(self) -> float:
        """``scale sqrt(K + m)``: an entry is an inner product of two Gaussian vectors."""
        return self.scale * math.sqrt(self.inner)

    def norm_quantile(self, tail: float) -> float:
        """``|A G| <= |A| |G|``, each a chi quantile at half the tail: exceeded more rarely."""
        sizes = (self.rows * self.inner, self.inner * self.columns)
        chi = [math.sqrt(2.0 * float(gammainccinv(size / 2.0, tail / 2.0))) for size in sizes]
        return self.scale * chi[0] * min(chi[1], self._operator(tail / 2.0))

    def _operator(self, tail: float) -> float:
        """``|G|_op <= sqrt d + sqrt m + t`` but for ``exp(-t^2/2)`` (Davidson and Szarek 2001)."""
        return math.sqrt(self.inner) + math.sqrt(self.columns) + math.sqrt(-2.0 * math.log(tail))

    def facts(self) -> dict[str, Any]:
        """With the number of rows."""
        return {**super().facts(), "rows": self.rows}


def bartlett(randomness: Randomness, k: int, side: int, degrees: int) -> Array:
    """``L`` with ``L L^T`` a Wishart matrix of the identity (Bartlett 1933), ``k`` times.

    ``L_ii^2 ~ chi2(degrees - i)`` and normal entries below.
    """
    lower = np.tril(randomness.normals((k, side, side)), -1)
    for i in range(side):
        pairs, single = divmod(degrees - i, 2)
        squares = 2.0 * randomness.gammas(k, pairs) if pairs else np.zeros(k)
        if single:
            squares += randomness.normals((k,)) ** 2
        lower[:, i, i] = np.sqrt(squares)
    return lower


# Half-width of the rule on both sides, in the logarithm of an inverse Gaussian's variable.
_NODES = 97


def _pair_log_density(values: Array) -> Array:
    """``log int u^0 v^(1/2) (u v + s)^(-1/2) exp(-(u + S/u + v + s/v)/2) du dv`` for two values.

    ``S`` and ``s`` are the squared singular values: the mixing matrix is integrated over its
    off-diagonal entry in closed form. The trapezoidal rule in ``log u`` and ``log v`` converges
    geometrically; its window covers every mode.
    """
    big, small = values[..., 0, None, None], values[..., 1, None, None]
    t = np.linspace(-1.0, 1.0, _NODES)
    wide = np.arcsinh(300.0 / np.maximum(values, 1e-9))  # both tails fall below exp(-150)
    u = np.maximum(big, 1e-9) * np.exp(wide[..., 0, None, None] * t[:, None])
    v = np.maximum(small, 1e-9) * np.exp(wide[..., 1, None, None] * t[None, :])
    logs = -0.5 * (u + big**2 / u + v + small**2 / v)
    logs = logs + np.log(u) + 1.5 * np.log(v) - 0.5 * np.log(u * v + small**2)
    top = logs.max(axis=(-2, -1))
    total = np.exp(logs - top[..., None, None]).sum(axis=(-2, -1))
    return np.asarray(top + np.log(total) + np.log(wide[..., 0] * wide[..., 1]))


@dataclass(frozen=True)
class ClassProduct(DomainNoise):
    """For ``C`` classes: each block of ``W`` (C x k, columns adding up to zero) by itself.

    ``K = {W : sum |W_j| <= 2 s_j for every block j}``, numbers as blocks of one column. Vectors are
    in an orthonormal ``basis`` of the contrasts, ``(C - 1) m`` numbers, contrast after contrast.
    """

    kind: ClassVar[str] = "class product"
    classes: int

    @property
    def span(self) -> int:
        """``(C - 1) m``."""
        return self.dimension

    @property
    def blocks(self) -> list[tuple[float, slice]]:
        """Sizes and columns, numbers one by one."""
        out: list[tuple[float, slice]] = []
        for block, at in self.domain.parts():
            if isinstance(block, Box):
                out += [(block.size, slice(i, i + 1)) for i in range(at.start, at.stop)]
            else:
                out.append((block.size, at))
        return out

    def gauge(self, b: Array) -> Array:
        """The largest ``sum |W_j|/(2 s_j)``."""
        shape = (*np.shape(b)[:-1], self.classes - 1, self.domain.columns)
        sizes = np.abs(contrasts(self.classes) @ np.reshape(b, shape)).sum(axis=-2)
        parts = [sizes[..., at].sum(axis=-1) / (2.0 * size) for size, at in self.blocks]
        return np.asarray(np.max(parts, axis=0))

    def uniform(self, randomness: Randomness, k: int) -> Array:
        """Sizes of columns by Dirichlet(C-1, ..., C-1, 1), each a point of the root polytope."""
        free, m = self.classes - 1, self.domain.columns
        out = np.empty((k, self.classes, m))
        for size, at in self.blocks:
            width = at.stop - at.start
            waits = randomness.gammas(k * width, free).reshape(k, width)
            total = waits.sum(axis=1, keepdims=True) + randomness.exponentials((k, 1))
            columns = root_points(randomness, k * width, self.classes).reshape(k, width, -1)
            out[:, :, at] = (size * (waits / total)[:, :, None] * columns).transpose(0, 2, 1)
        reduced = contrasts(self.classes).T @ out
        return np.asarray(reduced.reshape(k, -1))

    @property
    def variances(self) -> Array:
        """The same for all contrasts of a column."""
        return np.tile(_column_variances(self), self.classes - 1)

    def norm_quantile(self, tail: float) -> float:
        """No point of the body is longer than ``sqrt2 R``."""
        return math.sqrt(2.0) * super().norm_quantile(tail)

    @property
    def least_mean_norm(self) -> float:
        """With ``sqrt2 R`` for the longest point."""
        return super().least_mean_norm / math.sqrt(2.0)

    def facts(self) -> dict[str, Any]:
        """With the number of classes."""
        return {**super().facts(), "classes": self.classes}


def _column_variances(law: ClassProduct) -> Array:
    """``E|W_l|^2/(C - 1)`` of each column of a uniform point."""
    free = law.classes - 1
    p, log = _root_law(law.classes)
    square = float(np.exp(log) @ (2.0 / (p + 1.0) + 2.0 / (law.classes - p + 1.0)))
    out = np.empty(law.domain.columns)
    for size, at in law.blocks:
        total = (at.stop - at.start) * free + 1.0
        out[at] = size**2 * free * (free + 1.0) / (total * (total + 1.0)) * square / free
    return out


@lru_cache(maxsize=64)
def contrasts(classes: int) -> Array:
    """The orthonormal basis of the contrasts that the losses use, (C, C - 1)."""
    from scipy.linalg import helmert

    basis = np.ascontiguousarray(helmert(classes).T)
    basis.flags.writeable = False
    return basis


@lru_cache(maxsize=64)
def _root_law(classes: int) -> tuple[Array, Array]:
    """How many entries are positive, and the logarithms of the probabilities."""
    p = np.arange(1.0, classes)
    log = gammaln(classes + 1) - gammaln(p + 1) - gammaln(classes - p + 1)
    log = log - gammaln(p) - gammaln(classes - p)
    return p, log - np.logaddexp.reduce(log)


def root_points(randomness: Randomness, count: int, classes: int) -> Array:
    """Points with positive and negative entries adding up to 1 and -1, by the cone measure."""
    p, log = _root_law(classes)
    chances = np.cumsum(np.exp(log))
    number = p[np.minimum(np.searchsorted(chances, randomness.uniforms((count,))), len(p) - 1)]
    ranks = randomness.uniforms((count, classes)).argsort(axis=1).argsort(axis=1)
    above = ranks < number[:, None]
    splits = randomness.exponentials((count, classes))
    positive, negative = np.where(above, splits, 0.0), np.where(above, 0.0, splits)
    up = positive / positive.sum(axis=1, keepdims=True)
    return np.asarray(up - negative / negative.sum(axis=1, keepdims=True))
