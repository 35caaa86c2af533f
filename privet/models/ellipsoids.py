"""Ellipsoids of a released Gaussian classifier: means, covariances, offsets, read off afterwards.

A class with the symmetric weights ``W`` scores ``a^T W a``, ``a = (x, k)``; its distance is
``a^T Phi a`` with ``Phi = -W``. Adding one multiple of ``I`` to every class's ``Phi`` moves all
distances of a row together and no prediction; the smallest multiple that makes them all positive
definite (well enough to invert) is taken. Then

    Phi = [[Psi, q], [q^T, r]]      distance = (x - mu)^T Psi (x - mu) + theta
    mu = -k Psi^-1 q,  covariance = Psi^-1,  theta = k^2 r - mu^T Psi mu >= 0

All of this is post-processing of the release. Only differences between classes are learned: the
common multiple is a choice, and sizes of ellipsoids mean something only beside each other. Those of
a model of two columns can be drawn, with its regions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import DeclarationError, MissingExtra
from privet.models.row_view import FeaturedModel

# The smallest eigenvalue after the shift, relative to the spread of all eigenvalues.
CONDITION = 1e-3
GRID = 240  # points along each axis of a picture
CIRCLE = np.linspace(0.0, 2.0 * np.pi, 181)


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
    """The ellipsoid of standardized columns in the columns' own units."""
    return Ellipsoid(
        ellipsoid.label,
        center + scale * ellipsoid.mean,
        ellipsoid.covariance * np.outer(scale, scale),
        ellipsoid.offset,
    )


# -- a picture -----------------------------------------------------------------------------------


def outline(ellipsoid: Ellipsoid, size: float) -> Array:
    """Points on ``(x - mean)^T covariance^-1 (x - mean) = size^2``, shape (181, 2)."""
    root = np.linalg.cholesky(ellipsoid.covariance)
    return ellipsoid.mean + size * np.stack([np.cos(CIRCLE), np.sin(CIRCLE)], axis=1) @ root.T


def common_size(ellipsoids: list[Ellipsoid], reach: float) -> float:
    """One size for all ellipses: the median class's longest half-axis is half the reach."""
    axes = [float(np.sqrt(np.linalg.eigvalsh(one.covariance)[-1])) for one in ellipsoids]
    return 0.5 * reach / float(np.median(axes))


def plot_ellipses(model: FeaturedModel, ax: Any = None, reach: float | None = None) -> Any:
    """Regions of ``predict`` as colors, ellipses of equal distance as lines."""
    if int(model.n_features_in_) != 2:
        raise DeclarationError("Ellipses are drawn for models of two columns.")
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("Pictures need matplotlib, the extra 'cli'.") from error
    ellipsoids = model.ellipsoids()
    middle, spread = np.zeros(2), np.ones(2)
    if model.standardize is not None:
        middle, spread = model.center_, model.scale_
    radius = 1.25 * float(model.norm_bound) if reach is None else float(reach)
    axes = plt.subplots(figsize=(6.0, 5.4))[1] if ax is None else ax
    colors = plt.get_cmap("tab10")(np.arange(len(model.classes_)) % 10)
    ticks = [
        m + s * np.linspace(-radius, radius, GRID) for m, s in zip(middle, spread, strict=True)
    ]
    _regions(model, axes, ticks, colors)
    size = common_size(ellipsoids, radius * float(spread.max()))
    for one in ellipsoids:
        index = int(np.flatnonzero(model.classes_ == one.label)[0])
        axes.plot(*outline(one, size).T, color=colors[index], linewidth=1.8, clip_on=True)
        axes.plot(*one.mean, marker="o", color=colors[index], markeredgecolor="white")
    for label, color in zip(model.classes_, colors, strict=True):
        axes.plot([], [], color=color, linewidth=4, label=str(label))
    axes.set_xlim(ticks[0][0], ticks[0][-1])
    axes.set_ylim(ticks[1][0], ticks[1][-1])
    names = getattr(model, "feature_names_in_", ("first column", "second column"))
    axes.set_xlabel(str(names[0]))
    axes.set_ylabel(str(names[1]))
    axes.legend(loc="upper right", framealpha=0.9)
    axes.set_title("Regions, and ellipses of equal distance")
    return axes


def _regions(model: FeaturedModel, axes: Any, ticks: list[Array], colors: Array) -> None:
    first, second = np.meshgrid(*ticks)
    labels = model.predict(np.stack([first.ravel(), second.ravel()], axis=1))
    index = np.searchsorted(model.classes_, labels).reshape(first.shape)
    axes.imshow(
        colors[index][..., :3] * 0.28 + 0.72,
        extent=(ticks[0][0], ticks[0][-1], ticks[1][0], ticks[1][-1]),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
