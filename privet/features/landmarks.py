"""Landmarks: features of any kernel on any objects, spanned by points that are public already."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from privet._checks import positive_whole
from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.features.kernel import ROOM, SMALLEST, Kernel, count, in_blocks, weighted
from privet.features.named import kernel_from_json
from privet.rows.ball import in_ball
from privet.rows.mapped import FeatureMap

# Eigenvalues below this share of the largest are rounding, not geometry.
EIGENVALUE_FLOOR = 1e-10


class PublicNystroem(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features spanned by public points: ``K_ZZ^(-1/2) k_Z(x)``, norm at most ``R``.

    The points must be public: a published sample, a grid, made-up rows, or centers that were
    released privately before. Points taken from the private table break the guarantee.

    Parameters
    ----------
    kernel : Kernel
        Any kernel of ``privet.kernels``; ``SuppliedKernel`` for a function of your own.
    public_points : table or sequence of objects
        ``Z``, as the kernel compares them: rows of numbers, strings, ...
    n_components : int or None, default None
        At most this many columns, the directions in which the points spread most.

    Attributes
    ----------
    whitener_ : array of shape (len(Z), columns); directions in which the points have no extent are
        zero columns
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        public_points: Any = None,
        n_components: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.public_points = public_points
        self.n_components = n_components

    def fit(self, X: Any = None, y: Any = None) -> PublicNystroem:
        """Prepare the map from the public points; ``X`` is not looked at."""
        if not isinstance(self.kernel, Kernel):
            raise DeclarationError("kernel must be one of the kernels of privet.kernels.")
        if self.public_points is None or count(self.public_points) == 0:
            raise DeclarationError("public_points must hold at least one public point.")
        most = self.n_components
        most = None if most is None else positive_whole("n_components", most)
        self.whitener_ = whitener(self.kernel, self.public_points, most)
        return self

    def transform(self, X: Any) -> Array:
        """Features of every row or object, shape (n, columns)."""
        check_is_fitted(self, "whitener_")
        return in_blocks(self._map(), X)

    def _map(self) -> LandmarkMap:
        return LandmarkMap(self.kernel, self.public_points, self.whitener_)  # type: ignore[arg-type]

    @property
    def columns(self) -> int:
        """How many features it makes."""
        check_is_fitted(self, "whitener_")
        return int(self.whitener_.shape[1])

    @property
    def norm(self) -> float:
        """``R``, the root of the kernel's bound."""
        return self._map().norm

    def __call__(self, x: Any) -> Array:
        """Features of a block of rows or objects."""
        check_is_fitted(self, "whitener_")
        return self._map()(x)

    @property
    def _n_features_out(self) -> int:
        return self.columns

    def to_json(self) -> dict[str, Any]:
        """Kernel, public points and whitener, for model files."""
        check_is_fitted(self, "whitener_")
        points = self.public_points
        return {
            "name": "landmarks",
            "kernel": self.kernel.to_json(),  # type: ignore[union-attr]
            "public_points": points.tolist() if isinstance(points, np.ndarray) else list(points),
            "n_components": self.n_components,
            "whitener_": self.whitener_.tolist(),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> PublicNystroem:
        """The fitted transformer that ``to_json`` described."""
        points = record["public_points"]
        features = cls(kernel_from_json(record["kernel"]), points, record["n_components"])
        features.whitener_ = np.array(record["whitener_"], dtype=np.float64)
        if features.whitener_.ndim != 2 or len(features.whitener_) != count(points):
            raise DataError("The file's map does not fit its public points.")
        return features


class LandmarkMap:
    """``x -> W^T k_Z(x)`` with ``W = V L^(-1/2)`` of the largest eigenpairs of ``K_ZZ``.

    The columns are the coordinates of ``phi(x)`` in orthonormal vectors of the span of ``phi(Z)``:
    a projection, so ``|psi(x)|^2 <= K(x, x) <= R^2``. Leaving out eigenvectors, those of a
    near-singular ``K_ZZ`` among them, projects onto less and makes no norm larger. What rounding
    adds is clipped.
    """

    def __init__(
        self, kernel: Kernel, points: Any, whitener: Array, weights: Array | None = None
    ) -> None:
        self._kernel, self._whitener, self._weights = kernel, whitener, weights
        self._points = weighted(points, weights)

    @property
    def columns(self) -> int:
        """One for each eigenvector."""
        return int(self._whitener.shape[1])

    @property
    def norm(self) -> float:
        """``R``, the root of the kernel's bound."""
        return math.sqrt(self._kernel.bound)

    def __call__(self, x: Any) -> Array:
        """Features of a block of rows or objects."""
        out = self._kernel(weighted(x, self._weights), self._points) @ self._whitener
        out[np.abs(out) < SMALLEST[out.dtype]] = 0.0
        out, factors = in_ball(out, self.norm * (1.0 - ROOM[out.dtype]))
        return np.asarray(out if factors is None else out * factors[:, None])


@dataclass(frozen=True)
class DeclaredLandmarks:
    """Features of public points as a model declares them, in the units of the rows as passed."""

    array: ClassVar[str] = "whitener_"
    kernel: Kernel
    d: int
    weights: Array | None
    public_points: Any

    def check(self) -> None:
        """Refuse, before a charge, points that the kernel cannot compare."""
        if count(self.public_points) == 0:
            raise DeclarationError("public_points must hold at least one public point.")
        points = self.points(None)
        if self.kernel.objects:
            self.kernel.diagonal(points)

    def points(self, standardizer: FeatureMap | None) -> Any:
        """As the kernel compares them: objects, or numbers as the rows are standardized."""
        if self.kernel.objects:
            return list(self.public_points)
        points = np.asarray(self.public_points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.d or not np.isfinite(points).all():
            raise DeclarationError(f"public_points must be a table of {self.d} columns of numbers.")
        return points if standardizer is None else standardizer(points)

    def columns(self, n: int) -> int:
        """One for each point, whatever the number of rows."""
        return count(self.public_points)

    def made(self, n: int, standardizer: FeatureMap | None) -> Array:
        """The whitener, made without a row."""
        return whitener(self.kernel, weighted(self.points(standardizer), self.weights))

    def width(self, whitener: Array) -> int:
        """One for each point."""
        return count(self.public_points)

    def map(self, whitener: Array, standardizer: FeatureMap | None) -> LandmarkMap:
        """The map of standardized rows."""
        return LandmarkMap(self.kernel, self.points(standardizer), whitener, self.weights)

    def fits(self, whitener: Array) -> bool:
        """Whether a file's map is of these points."""
        self.points(None)  # refuses what is not a table
        return whitener.shape == (count(self.public_points), count(self.public_points))

    def told(self, width: int) -> str:
        """What a statement says."""
        return (
            f"{count(self.public_points)} public points, declared public by the user; {width} "
            f"features of Euclidean norm at most {math.sqrt(self.kernel.bound):g}"
        )


def whitener(kernel: Kernel, points: Any, n_components: int | None = None) -> Array:
    """``V L^(-1/2)`` of ``K_ZZ``, shape (len(Z), at most n_components); public, since ``Z`` is.

    The largest eigenvalues come first. Columns of eigenvalues that are rounding are zero, so that
    how many columns there are is known before the points are.
    """
    gram = kernel(points, points)
    if not np.isfinite(gram).all():
        raise DeclarationError("The kernel of two public points is not a finite number.")
    values, vectors = scipy.linalg.eigh((gram + gram.T) / 2.0)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    # eigenvectors have no sign of their own; without one a seeded release differs by machine
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    vectors = vectors * np.where(largest < 0.0, -1.0, 1.0)
    kept = values > max(EIGENVALUE_FLOOR * float(values[0]), 0.0)
    if not kept.any():
        raise DeclarationError("The public points span nothing: the kernel is zero on all of them.")
    return np.ascontiguousarray(vectors * np.where(kept, np.abs(values), np.inf) ** -0.5)
