"""Public feature maps of kernels, as scikit-learn transformers.

    RandomFourierFeatures   stationary kernels; drawn at random, knows the number of columns only
    PublicNystroem          any kernel on any objects; spanned by points that are public already

A map is made without a row of the private table, so it costs no budget; it is released with the
model. What it makes of a row never has a norm above ``norm``, in floating point too: that is what
the proofs of the linear mechanisms need.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privet.errors import DataError, DeclarationError
from privet.kernels.base import Array, Kernel, count
from privet.kernels.frequencies import draw_frequencies, spherical
from privet.kernels.kernels import Gaussian, Laplacian, Matern, kernel_from_json
from privet.kernels.maps import FourierMap, LandmarkMap, in_blocks, whitener
from privet.randomness import source

STATIONARY: dict[str, type[Gaussian] | type[Laplacian] | type[Matern]] = {
    kind.name: kind for kind in (Gaussian, Laplacian, Matern)
}


#: ``k`` of the default width ``k/spread``
WIDTHS = {"gaussian": 0.25, "laplacian": 0.5, "matern": 0.125}


def default_gamma(kernel: str, spread: float) -> float:
    """A width for rows whose squared distances (Laplacian: distances) are about ``2 spread``.

    The constants are measured, ``reproduce/default_gamma.md``; a data-free rule costs no privacy.
    """
    return WIDTHS.get(kernel, 1.0) / spread


def stationary_kernel(kernel: str, gamma: float, nu: float) -> Kernel:
    """One of the named stationary kernels."""
    if kernel not in STATIONARY:
        names = ", ".join(repr(name) for name in STATIONARY)
        raise DeclarationError(f"kernel must be one of {names}, got {kernel!r}.")
    return Matern(gamma, nu) if kernel == "matern" else STATIONARY[kernel](gamma)


def declared_count(name: str, value: int) -> int:
    """A positive whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise DeclarationError(f"{name} must be a positive integer, got {value!r}.")
    return int(value)


class RandomFourierFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Random features of a stationary kernel: pairs of cosine and sine, norm exactly 1.

    Parameters
    ----------
    n_frequencies : int, default 100
        Each frequency makes two columns, a cosine and a sine.
    gamma : float or "auto", default "auto"
        Width of the kernel. "auto" is ``k/d`` for ``d`` columns of about unit variance, with
        ``k = 1/4`` for the Gaussian kernel; scikit-learn's ``gamma="scale"`` is ``k = 1``.
    kernel : "gaussian", "laplacian" or "matern", default "gaussian"
    nu : float, default 1.5
        Smoothness of the Matern kernel.
    orthogonal : bool or "auto", default "auto"
        Orthogonal frequencies approximate the kernel better; "auto" wherever the law allows it.
    insecure_seed : int or None, default None
        None draws from the operating system. A seed makes the draw repeatable; features are
        public, so it costs no privacy here.

    Attributes
    ----------
    frequencies_ : array of shape (n_frequencies, d)

    ``fit`` looks at the number of columns and at nothing else. A fitted transformer is also a
    feature map: called with a block of rows it returns their features.
    """

    def __init__(
        self,
        n_frequencies: int = 100,
        *,
        gamma: float | Literal["auto"] = "auto",
        kernel: str = "gaussian",
        nu: float = 1.5,
        orthogonal: bool | Literal["auto"] = "auto",
        insecure_seed: int | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.gamma = gamma
        self.kernel = kernel
        self.nu = nu
        self.orthogonal = orthogonal
        self.insecure_seed = insecure_seed

    def fit(self, X: Any, y: Any = None) -> RandomFourierFeatures:
        """Draw frequencies for as many columns as ``X`` has."""
        validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        d = int(self.n_features_in_)
        gamma = default_gamma(self.kernel, d) if self.gamma == "auto" else self.gamma
        kernel = stationary_kernel(self.kernel, gamma, self.nu)
        self.frequencies_ = draw_frequencies(
            kernel,
            declared_count("n_frequencies", self.n_frequencies),
            d,
            orthogonal=spherical(kernel) if self.orthogonal == "auto" else bool(self.orthogonal),
            randomness=source(self.insecure_seed),
        )
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Features of every row, shape (n, 2 n_frequencies)."""
        check_is_fitted(self, "frequencies_")
        rows = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        return in_blocks(self._map(), rows)

    def _map(self) -> FourierMap:
        return FourierMap(self.frequencies_)

    @property
    def columns(self) -> int:
        """How many features it makes."""
        return 2 * declared_count("n_frequencies", self.n_frequencies)

    @property
    def norm(self) -> float:
        """1."""
        return FourierMap.norm

    def __call__(self, x: Any) -> NDArray[Any]:
        """Features of a block of rows."""
        check_is_fitted(self, "frequencies_")
        return self._map()(x)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.columns

    def to_json(self) -> dict[str, Any]:
        """Parameters and frequencies, for model files."""
        check_is_fitted(self, "frequencies_")
        return {
            "name": "fourier",
            "parameters": self.get_params(),
            "n_features_in_": int(self.n_features_in_),
            "frequencies_": self.frequencies_.tolist(),
        }


class PublicNystroem(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features spanned by public points: ``K_ZZ^(-1/2) k_Z(x)``, norm at most ``R``.

    The points must be public: a published sample, a grid, made-up rows, or centres that were
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
        most = None if most is None else declared_count("n_components", most)
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


def features_from_json(record: dict[str, Any]) -> RandomFourierFeatures | PublicNystroem:
    """The fitted transformer that ``to_json`` described."""
    if record["name"] == "fourier":
        fourier = RandomFourierFeatures(**record["parameters"])
        fourier.n_features_in_ = int(record["n_features_in_"])
        fourier.frequencies_ = np.array(record["frequencies_"], dtype=np.float64)
        if fourier.frequencies_.shape != (fourier.columns // 2, fourier.n_features_in_):
            raise DataError("The file's frequencies do not fit its columns.")
        return fourier
    if record["name"] == "landmarks":
        kernel = kernel_from_json(record["kernel"])
        landmarks = PublicNystroem(kernel, record["public_points"], record["n_components"])
        landmarks.whitener_ = np.array(record["whitener_"], dtype=np.float64)
        if landmarks.whitener_.ndim != 2 or len(landmarks.whitener_) != count(
            record["public_points"]
        ):
            raise DataError("The file's map does not fit its public points.")
        return landmarks
    raise DataError("The file names features that this Privet does not have.")
