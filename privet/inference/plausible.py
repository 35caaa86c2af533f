"""Hessians that a released one may have come from: itself less fresh draws of its noise.

Noise spreads eigenvalues, so the released ones less the noise once more are too spread. They are
moved to where the exact matrix is expected along their vectors,

    l_i - 2 v sum_j (l_i - l_j)/((l_i - l_j)^2 + 4 v)

with ``v`` the variance of an entry off the diagonal (Bun, Allez, Bouchaud and Potters 2016, for a
matrix with additive noise), and raised to zero where negative, as no exact one is. That raises the
curvature of directions that have none: their true length is the largest possible, so that errors
make it shorter only. Eigenvalues that may be such a direction's are therefore lowered by
``lowered`` standard deviations of ``<u, E u>`` first. Those are the ones within ``clear_sds``
standard deviations of zero; where all are clear of that with the ridge, only those below the ridge,
since of the others the table says enough. Several such directions share noise that spreads further
than that of one: on ``k`` of them ``E`` has ``k`` entries of variance ``s^2`` and ``k (k - 1)`` of
``s^2/2``, so that the root mean square of its eigenvalues is ``s sqrt((k + 1)/2)``. With
``jointly`` that is the standard deviation that they are lowered by.

Whether all are *clear* with the ridge is asked of the released matrix. A table with a direction
``u`` without curvature makes the smallest eigenvalue look clear at most as rarely as ``<u, E u>``
is so large, in any dimension, since that eigenvalue is at most what is found along ``u``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet._types import Array
from privet.mechanisms.matrix import NoisyMatrices
from privet.randomness import Randomness

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
    released: NoisyMatrices,
    ridge: float,
    randomness: Randomness,
    clear_sds: float,
    lowered: float,
    *,
    jointly: bool = False,
) -> PlausibleHessians:
    """Draws of what the exact Hessian may be, given the released one."""
    sd, side = released.hessian_sd, len(released.hessian)
    count = int(np.clip(WORK / side**3, FEWEST, MOST))
    noise = released.hessian_noise(randomness, count)
    drawn = released.hessian - np.concatenate([noise, -noise])
    values, vectors = np.linalg.eigh(drawn)
    seen = np.asarray(np.linalg.eigvalsh(released.hessian), dtype=np.float64)
    unclear, flat = within_noise(seen, ridge, clear_sds * sd)
    # the noise is in it twice: the variance off the diagonal is twice sd^2/2
    moved = denoised(values, sd**2)
    moved[:, :flat] -= lowered * sd * (((flat + 1) / 2.0) ** 0.5 if jointly else 1.0)
    ranks = np.asarray(
        randomness.uniforms((2 * count,)).argsort().argsort() + 0.5, dtype=np.float64
    )
    return PlausibleHessians(
        np.maximum(moved, 0.0) + ridge, vectors, ridge, ranks / (2.0 * count), unclear
    )


def within_noise(values: Array, ridge: float, clear: float) -> tuple[int, int]:
    """How many eigenvalues are not clear even with the ridge, and how many may be none at all."""
    unclear = int((values + ridge < clear).sum())
    return unclear, int((values < (clear if unclear else min(clear, ridge))).sum())


def denoised(values: Array, variance: float) -> Array:
    """Eigenvalues where the matrix without noise is expected along their vectors."""
    gaps = values[..., :, None] - values[..., None, :]
    pulls = gaps / (gaps**2 + 4.0 * variance + 1e-300)
    return np.asarray(values - 2.0 * variance * pulls.sum(axis=-1))
