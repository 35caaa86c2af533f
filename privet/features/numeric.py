"""Kernels on rows of numbers.

The stationary ones have ``K(x, x) = 1``. Linear and polynomial ones clip each row to a declared
norm first, which is again a kernel and makes the bound true whatever the rows are.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.special import gamma as gamma_function
from scipy.special import kve
from sklearn.metrics.pairwise import laplacian_kernel

from privet._checks import norm_bound, positive
from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.features.kernel import Kernel, count
from privet.rows.ball import in_ball

# Beyond this a squared distance would be infinite; no kernel tells such points apart.
FARTHEST = 1e100


@dataclass(frozen=True)
class _Stationary(Kernel):
    """A function of ``x - z`` with ``K(x, x) = 1``."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)

    def diagonal(self, a: Any) -> Array:
        """Ones."""
        return np.ones(count(a))

    @property
    def bound(self) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class Gaussian(_Stationary):
    """``exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    gamma : float, default 1.0
        Positive; the larger, the finer what two rows are told apart by.
    """

    name: ClassVar[str] = "gaussian"

    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``."""
        # from differences: |x|^2 + |z|^2 - 2 <x, z> cancels far from the origin, and what is left
        # is no kernel any more
        return np.exp(-self.gamma * cdist(as_table(a), as_table(b), "sqeuclidean"))


@dataclass(frozen=True)
class Laplacian(_Stationary):
    """``exp(-gamma |x - z|_1)``.

    Parameters
    ----------
    gamma : float, default 1.0
        Positive; the larger, the finer what two rows are told apart by.
    """

    name: ClassVar[str] = "laplacian"

    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``."""
        return np.asarray(laplacian_kernel(as_table(a), as_table(b), gamma=self.gamma))


@dataclass(frozen=True)
class Matern(_Stationary):
    """``2^(1-nu)/Gamma(nu) s^nu K_nu(s)`` with ``s = 2 sqrt(nu gamma) |x - z|``.

    ``gamma = 1/(2 l^2)`` for the length scale ``l``, so that ``nu -> inf`` is the Gaussian kernel
    of the same ``gamma``. ``nu`` = 1/2 is ``exp(-|x - z|/l)``. The kernel falls from 1 like
    ``s^(2 nu)``, so below 0.05 it tells rows apart that are closer than any distance
    that double precision can hold, and what could be computed would not be a kernel.

    Parameters
    ----------
    gamma : float, default 1.0
        Positive; the larger, the finer what two rows are told apart by.
    nu : float, default 1.5
        Smoothness, from 0.05 to 50.
    """

    nu: float = 1.5
    name: ClassVar[str] = "matern"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.05 <= positive("nu", self.nu) <= 50.0:
            raise DeclarationError(
                f"nu must be from 0.05 to 50, got {self.nu!r}. Use 0.5 (a rough surface) to 2.5 (a "
                "smooth one), or Gaussian instead of a larger one."
            )

    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``; distances by differences, since the kernel has a kink at zero."""
        s = 2.0 * math.sqrt(self.nu * self.gamma) * cdist(as_table(a), as_table(b))
        if self.nu == 0.5:
            return np.exp(-s)
        if self.nu == 1.5:
            return np.asarray((1.0 + s) * np.exp(-s))
        if self.nu == 2.5:
            return np.asarray((1.0 + s + s * s / 3.0) * np.exp(-s))
        return _matern(s, float(self.nu))


def _matern(s: Array, nu: float) -> Array:
    """The Matern function of any distance; 1 only where it is 1 to the last bit.

    ``K_nu`` is infinite at zero and overflows before it for a large ``nu``: there the first terms
    of the series (Abramowitz and Stegun 1964, 9.6.2 and 9.6.10) are exact in double precision.
    """
    if nu < 1.0:
        near = 1e-300  # 1 - K is of order s^(2 nu): rows at any distance are told apart
    elif nu < 3.0:
        near = 1e-10  # 1 - K is of order s^2 log(1/s)
    else:
        near = 1e-3
    middle = np.clip(s, near, 1e3)
    values = 2.0 / gamma_function(nu) * np.power(middle / 2.0, nu) * np.exp(-middle)
    values = np.minimum(values * kve(nu, middle), 1.0)
    small = np.ones_like(s)
    if nu >= 3.0:
        q = np.square(np.minimum(s, near)) / 4.0
        small = 1.0 - q / (nu - 1.0) * (1.0 - q / (2.0 * (nu - 2.0)))
    return np.asarray(np.where(s > near, values, small))


@dataclass(frozen=True)
class Linear(Kernel):
    """``<x, z>`` of rows clipped to ``norm_bound``.

    Parameters
    ----------
    norm_bound : float, default 1.0
        The Euclidean norm that rows are clipped to; declared, never measured.
    """

    norm_bound: float = 1.0
    name: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        norm_bound(self.norm_bound)

    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``."""
        return np.asarray(self.explicit(a) @ self.explicit(b).T)

    def diagonal(self, a: Any) -> Array:
        """``|x|^2`` after clipping."""
        return np.asarray(np.square(self.explicit(a)).sum(axis=1))

    @property
    def bound(self) -> float:
        """``norm_bound^2``."""
        return float(self.norm_bound) ** 2

    def rank(self, columns: int) -> int:
        """The columns themselves."""
        return columns

    def explicit(self, a: Any) -> Array:
        """The clipped rows."""
        table, factors = in_ball(as_table(a), self.norm_bound)
        return table if factors is None else np.asarray(table * factors[:, None])


@dataclass(frozen=True)
class Polynomial(Kernel):
    """``(gamma <x, z> + coef0)^degree`` of rows clipped to ``norm_bound``.

    Parameters
    ----------
    degree : int, default 2
    gamma, coef0 : float, default 1.0
        Positive; ``coef0`` may be zero, which leaves the monomials of exactly ``degree``.
    norm_bound : float, default 1.0
        The Euclidean norm that rows are clipped to; declared, never measured.
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0
    norm_bound: float = 1.0
    name: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)
        norm_bound(self.norm_bound)
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or self.degree < 1:
            raise DeclarationError(f"degree must be a positive integer, got {self.degree!r}.")
        if self.coef0 != 0.0:
            positive("coef0", self.coef0)
        positive("The bound on K(x, x)", self.bound)

    def _clipped(self, a: Any) -> Array:
        return Linear(self.norm_bound).explicit(a)

    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``."""
        products = self._clipped(a) @ self._clipped(b).T
        return np.asarray((self.gamma * products + self.coef0) ** self.degree)

    def diagonal(self, a: Any) -> Array:
        """``(gamma |x|^2 + coef0)^degree`` after clipping."""
        squares = np.square(self._clipped(a)).sum(axis=1)
        return np.asarray((self.gamma * squares + self.coef0) ** self.degree)

    @property
    def bound(self) -> float:
        """``(gamma norm_bound^2 + coef0)^degree``."""
        try:
            return float((self.gamma * self.norm_bound**2 + self.coef0) ** self.degree)
        except OverflowError:
            return math.inf

    def rank(self, columns: int) -> int:
        """Monomials of degree at most ``degree`` (exactly ``degree`` where ``coef0`` is zero)."""
        homogeneous = self.coef0 == 0.0
        return math.comb(columns + self.degree - homogeneous, self.degree)

    def explicit(self, a: Any) -> Array:
        """Monomials ``x^p`` times the roots of their multinomial coefficients."""
        rows = math.sqrt(self.gamma) * self._clipped(a)
        if self.coef0:
            rows = np.hstack([rows, np.full((len(rows), 1), math.sqrt(self.coef0))])
        return _symmetric_power(rows, self.degree)


def as_table(rows: Any) -> Array:
    """A dense table of numbers, brought within what distances can be computed for."""
    dense: Any = rows.toarray() if sp.issparse(rows) else rows  # type: ignore[attr-defined]
    try:
        table = np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2:
        raise DataError("This kernel compares rows of a table of numbers with two dimensions.")
    return np.clip(table, -FARTHEST, FARTHEST)


def _symmetric_power(rows: Array, degree: int) -> Array:
    """``phi`` with ``<phi(x), phi(z)> = <x, z>^degree`` in the smallest dimension.

    Each sorted multi-index appears once, times the root of how often the full tensor has it.
    """
    columns = list(combinations_with_replacement(range(rows.shape[1]), degree))
    out = np.empty((len(rows), len(columns)))
    for place, index in enumerate(columns):
        often = math.factorial(degree)
        for repeats in Counter(index).values():
            often //= math.factorial(repeats)
        out[:, place] = math.sqrt(often) * rows[:, list(index)].prod(axis=1)
    return out
