"""Lifted features: a row becomes the products of its entries, so that a linear score is a quadric.

A row ``x`` is clipped to norm ``B`` and a constant ``k`` is appended; with ``a = (x, k)`` the
feature matrix is ``a a^T``, written as a vector with off-diagonal entries times ``sqrt2``, so that
inner products and norms of vectors are those of matrices. A class's weights ``W`` are then a
symmetric matrix with ``score = a^T W a``. Restricted covariances keep fewer features:

    full        a_i a_j for all i <= j                         (d+1)(d+2)/2
    diagonal    x_i^2, sqrt2 k x_i, k^2                        2d + 1
    spherical   |x|^2, sqrt2 k x_i, k^2                        d + 2

Norms are at most ``G = B^2 + k^2`` for each, and equal to ``|a|^2`` for full and spherical. Inner
products of two rows' features are never negative for full, ``<a, a'>^2``, and for spherical,
``(|x||x'| - k^2)^2`` at least; for diagonal they can be.

Ellipsoids of a released Gaussian classifier: means, covariances, offsets, read off afterwards.

A class with the symmetric weights ``W`` scores ``a^T W a``, ``a = (x, k)``; its distance is
``a^T Phi a`` with ``Phi = -W``. Adding one multiple of ``I`` to every class's ``Phi`` moves all
distances of a row together and no prediction; the smallest multiple that makes them all positive
definite (well enough to invert) is taken. Then

    Phi = [[Psi, q], [q^T, r]]      distance = (x - mu)^T Psi (x - mu) + theta
    mu = -k Psi^-1 q,  covariance = Psi^-1,  theta = k^2 r - mu^T Psi mu >= 0

All of this is post-processing of the release. Only differences between classes are learned: the
common multiple is a choice, and sizes of ellipsoids mean something only beside each other. Those
of a model of two columns can be drawn, with its regions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import DeclarationError, MissingExtra
from privet.models.featured import FeaturedModel
from privet.models.inputs import encode_labels
from privet.models.standardize import TINY
from privet.rows.ball import in_ball

ROOT2 = math.sqrt(2.0)
COVARIANCES = ("full", "diagonal", "spherical")
# Blocks of rows of more features would not fit a memory of ordinary size.
MOST_FEATURES = 100_000
# Products of columns are nearly linear functions of each other, the more so the more there are. The
# Hessian's eigenvalues were spread over factors of 20 to 300 for up to 30 parameters (made-up rows
# and a few columns of Covertype), and 7,000 for the 396 of ten columns and seven classes.
LEAST_SPREAD, SPREAD_EACH = 200.0, 10.0


def lifted_columns(d: int, covariance: str) -> int:
    """How many features ``d`` columns become."""
    return {"full": (d + 1) * (d + 2) // 2, "diagonal": 2 * d + 1, "spherical": d + 2}[covariance]


def lifted_names(columns: list[str], covariance: str) -> list[str]:
    """Names of the features, in their order."""
    squares = {
        "full": [
            f"{one}²" if i == j else f"{one} × {other}"
            for i, one in enumerate(columns)
            for j, other in enumerate(columns)
            if i <= j
        ],
        "diagonal": [f"{one}²" for one in columns],
        "spherical": ["sum of squares"],
    }[covariance]
    return [*squares, *columns, "(constant)"]


@dataclass(frozen=True)
class Lifted:
    """The map from rows to lifted features."""

    d: int
    norm_bound: float
    constant: float
    covariance: str = "full"

    @property
    def columns(self) -> int:
        """Length of the half-vectorized matrix."""
        return lifted_columns(self.d, self.covariance)

    @property
    def norm(self) -> float:
        """``G = B^2 + k^2``."""
        return self.norm_bound**2 + self.constant**2

    @property
    def steps(self) -> Array:
        """What multiplies the square, product, column or constant that a feature is named after.

        A score's coefficients as a polynomial in the columns are its weights times these.
        """
        squares = {"full": math.comb(self.d + 1, 2), "diagonal": self.d, "spherical": 1}
        out = np.ones(self.columns)
        if self.covariance == "full":
            rows, columns = np.triu_indices(self.d)
            out[: len(rows)][rows != columns] = ROOT2
        out[squares[self.covariance] :] = ROOT2 * self.constant
        out[-1] = self.constant**2
        return out

    def feature_names(self, columns: list[str]) -> list[str]:
        """Names with the factors that the features have: a reader can tell weights by them."""
        named = zip(self.steps, lifted_names(columns, self.covariance), strict=True)
        return [name if step == 1.0 else f"{step:.3g} · {name}" for step, name in named]

    def clipped(self, x: Any) -> Array:
        """Rows within ``norm_bound``, dense; numbers too small to square become zero."""
        dense: Any = x.toarray() if sp.issparse(x) else np.asarray(x)  # type: ignore[attr-defined]
        out = np.array(dense, dtype=np.float64)
        # before the norm is taken: what is too small to square is zero
        out[np.abs(out) < TINY] = 0.0
        out, factors = in_ball(out, self.norm_bound)
        if factors is not None:
            out *= factors[:, None]
            out[np.abs(out) < TINY] = 0.0
        return np.asarray(out)

    def __call__(self, x: Any) -> Array:
        """Features of a block of rows, in memory one feature after another.

        That way each product is one pass over two columns, three times faster than row by row, and
        so are the scores.
        """
        columns = np.ascontiguousarray(self.clipped(x).T)
        out = np.empty((self.columns, columns.shape[1]))
        squares = out[: -self.d - 1]
        if self.covariance == "diagonal":
            np.square(columns, out=squares)
        elif self.covariance == "spherical":
            np.einsum("ij,ij->j", columns, columns, out=squares[0])
        else:
            _products(columns, squares)
        np.multiply(columns, ROOT2 * self.constant, out=out[-self.d - 1 : -1])
        out[-1] = self.constant**2
        return out.T

    def matrices(self, weights: Array) -> Array:
        """The symmetric matrices of half-vectorized ``weights``, shape (..., d+1, d+1)."""
        d = self.d
        out = np.zeros((*weights.shape[:-1], d + 1, d + 1))
        index = np.arange(d)
        linear = weights[..., -d - 1 : -1] / ROOT2
        out[..., :d, d] = out[..., d, :d] = linear
        out[..., d, d] = weights[..., -1]
        if self.covariance == "full":
            rows, columns = np.triu_indices(d)
            scale = np.where(rows == columns, 1.0, 1.0 / ROOT2)
            out[..., rows, columns] = out[..., columns, rows] = weights[..., : -d - 1] * scale
        elif self.covariance == "diagonal":
            out[..., index, index] = weights[..., :d]
        else:
            out[..., index, index] = weights[..., :1]
        return out


def checked_columns(lifted: Lifted) -> int:
    """How many features there are; refused where they would not fit into memory."""
    if lifted.columns > MOST_FEATURES:
        raise DeclarationError(
            f"{lifted.d} columns become {lifted.columns:,} features, more than {MOST_FEATURES:,}. "
            "Use fewer columns, covariance='diagonal', or a linear model."
        )
    return lifted.columns


def curvature_spread(parameters: int) -> float:
    """A typical table's largest curvature over its smallest, among this many parameters."""
    return max(LEAST_SPREAD, SPREAD_EACH * parameters)


def _products(columns: Array, out: Array) -> None:
    """The upper triangle of the products of ``columns`` (d, n), off-diagonal ones times sqrt2."""
    longer, start = ROOT2 * columns, 0
    for i, one in enumerate(columns):  # a row of the triangle at a time
        stop = start + len(columns) - i
        np.square(one, out=out[start])
        np.multiply(longer[i + 1 :], one, out=out[start + 1 : stop])
        start = stop


# -- ellipsoids ----------------------------------------------------------------------------------

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
        raise MissingExtra("Pictures need matplotlib: pip install 'privet[cli]'.") from error
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
    index = encode_labels(labels, model.classes_).reshape(first.shape)
    axes.imshow(
        colors[index][..., :3] * 0.28 + 0.72,
        extent=(ticks[0][0], ticks[0][-1], ticks[1][0], ticks[1][-1]),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
