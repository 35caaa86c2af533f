"""Hessians that a released one may have come from: itself less fresh draws of its noise.

Noise spreads eigenvalues, so the released ones less the noise once more are too spread. What is
done about it depends on whether the smallest eigenvalue is *clear*, at least ``clear_sds`` standard
deviations of ``<u, E u>`` above zero with the ridge. A table with a direction ``u`` that has no
curvature makes that happen at most as rarely as ``<u, E u>`` is so large, in any dimension, since
the smallest eigenvalue is at most what is found along ``u``.

    clear        eigenvalues are moved to where the exact matrix is expected along their vectors,
                 ``l_i - 2 v sum_j (l_i - l_j)/((l_i - l_j)^2 + 4 v)``, ``v`` the variance of an
                 entry off the diagonal (Bun, Allez, Bouchaud and Potters 2016, for a matrix with
                 additive noise)
    not clear    some directions may have no curvature at all. Raising negative eigenvalues to zero
                 raises the curvature of such directions; ``LOWERED sqrt k`` standard deviations
                 are taken off all of them first, ``k`` the number of eigenvalues that are not clear

Both are at least zero before the ridge is added, as the exact ones are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet._types import Array
from privet.mechanisms.matrix import NoisyMatrices
from privet.randomness import Randomness

LOWERED = 1.0
#: draws of the noise, each used with both signs: as many as a second or so allows
FEWEST, MOST, WORK = 8, 32, 2e7


@dataclass(frozen=True)
class PlausibleHessians:
    """Eigenvalues (k, p), ridge included, and eigenvectors (k, p, p) of ``k`` Hessians."""

    values: Array
    vectors: Array
    ridge: float
    ranks: Array  # (k,): evenly spaced in (0, 1), for what else is drawn with each
    within_noise: int  # eigenvalues of the released Hessian that are not clear of their noise

    def solved(self, directions: Array) -> Array:
        """``H^-1 a`` for each Hessian and row ``a`` of ``directions``: (k, q, p)."""
        inside = directions @ self.vectors
        return np.asarray((inside / self.values[:, None, :]) @ self.vectors.mT)

    def quadratic(self, through: Array) -> Array:
        """``<v, (H - Lam) v>`` for ``v`` in ``through`` (k, q, p): without the ridge."""
        inside = through @ self.vectors
        return np.asarray((inside**2 * (self.values - self.ridge)[:, None, :]).sum(axis=-1))

    @cached_property
    def trace(self) -> Array:
        """Of each, without the ridge."""
        return np.asarray((self.values - self.ridge).sum(axis=-1))


def plausible_hessians(
    released: NoisyMatrices, ridge: float, randomness: Randomness, clear_sds: float
) -> PlausibleHessians:
    """Draws of what the exact Hessian may be, given the released one."""
    sd, side = released.hessian_sd, len(released.hessian)
    count = int(np.clip(WORK / side**3, FEWEST, MOST))
    noise = released.hessian_noise(randomness, count)
    drawn = released.hessian - np.concatenate([noise, -noise])
    values, vectors = np.linalg.eigh(drawn)
    unclear = int((np.linalg.eigvalsh(released.hessian) + ridge < clear_sds * sd).sum())
    lowered = values - LOWERED * sd * np.sqrt(unclear)
    # the noise is in it twice: the variance off the diagonal is twice sd^2/2
    moved = lowered if unclear else denoised(values, sd**2)
    ranks = np.asarray(
        randomness.uniforms((2 * count,)).argsort().argsort() + 0.5, dtype=np.float64
    )
    return PlausibleHessians(
        np.maximum(moved, 0.0) + ridge, vectors, ridge, ranks / (2.0 * count), unclear
    )


def denoised(values: Array, variance: float) -> Array:
    """Eigenvalues where the matrix without noise is expected along their vectors."""
    gaps = values[..., :, None] - values[..., None, :]
    pulls = gaps / (gaps**2 + 4.0 * variance + 1e-300)
    return np.asarray(values - 2.0 * variance * pulls.sum(axis=-1))
