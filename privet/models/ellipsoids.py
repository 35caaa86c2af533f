"""Ellipsoids of a released Gaussian classifier: means, covariances, offsets, read off afterwards.

A class with the symmetric weights ``W`` scores ``a^T W a``, ``a = (x, k)``; its distance is
``a^T Phi a`` with ``Phi = -W``. Adding one multiple of ``I`` to every class's ``Phi`` moves all
distances of a row together and no prediction; the smallest multiple that makes them all positive
definite (well enough to invert) is taken. Then

    Phi = [[Psi, q], [q^T, r]]      distance = (x - mu)^T Psi (x - mu) + theta
    mu = -k Psi^-1 q,  covariance = Psi^-1,  theta = k^2 r - mu^T Psi mu >= 0

All of this is post-processing of the release. Only differences between classes are learnt: the
common multiple is a choice, and sizes of ellipsoids mean something only beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# The smallest eigenvalue after the shift, relative to the spread of all eigenvalues.
CONDITION = 1e-3


@dataclass(frozen=True)
class Ellipsoid:
    """One class (or one component of it): ``(x - mean)^T covariance^-1 (x - mean) + offset``."""

    label: Any
    mean: Array
    covariance: Array
    offset: float

    def distance(self, x: Array) -> Array:
        """Squared Mahalanobis distance of each row plus the offset; the smallest one wins."""
        moved = np.atleast_2d(x) - self.mean
        return np.asarray(
            np.einsum("ij,ij->i", moved @ np.linalg.inv(self.covariance), moved) + self.offset
        )


def definite(matrices: Array) -> Array:
    """The matrices with one common multiple of the identity added that makes all definite."""
    values = np.linalg.eigvalsh(matrices)
    low, high = float(values.min()), float(values.max())
    spread = max(high - low, abs(high), 1e-300)
    shift = max(0.0, CONDITION * spread - low)
    return matrices + shift * np.eye(matrices.shape[-1])


def ellipsoids(matrices: Array, constant: float, labels: NDArray[Any]) -> list[Ellipsoid]:
    """Means, covariances and offsets of ``Phi`` matrices (K, d+1, d+1), in the rows' own units."""
    found = []
    for phi, label in zip(definite(matrices), labels, strict=True):
        psi, q = phi[:-1, :-1], phi[:-1, -1]
        covariance = np.linalg.inv(psi)
        covariance = (covariance + covariance.T) / 2.0
        mean = -constant * covariance @ q
        offset = constant**2 * float(phi[-1, -1]) - float(mean @ psi @ mean)
        found.append(Ellipsoid(label, mean, covariance, offset))
    return found


def stretched(ellipsoid: Ellipsoid, center: Array, scale: Array) -> Ellipsoid:
    """The ellipsoid of standardised columns in the columns' own units."""
    return Ellipsoid(
        ellipsoid.label,
        center + scale * ellipsoid.mean,
        ellipsoid.covariance * np.outer(scale, scale),
        ellipsoid.offset,
    )
