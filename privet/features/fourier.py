"""Random Fourier features: frequencies drawn from the number of columns, never from rows.

A stationary kernel is the mean of ``cos(<w, x - z>)`` over its spectral law (Bochner; Rahimi and
Recht 2007):

    Gaussian    exp(-gamma |x - z|^2)     w ~ N(0, 2 gamma I)
    Laplacian   exp(-gamma |x - z|_1)     each entry of w Cauchy with scale gamma
    Matern      see ``numeric.Matern``    w multivariate t, 2 nu degrees of freedom, scale 2 gamma

Gaussian and t laws are spherical: a uniform direction times an independent length. ``d`` of them at
a time can have orthogonal directions; each alone keeps its law, so the mean is the same kernel, and
the error is smaller (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016). The Cauchy law is a
product over columns, not spherical, and is drawn independently.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privet._checks import positive_whole
from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.features.kernel import ROOM, SMALLEST, Kernel, dense_rows, in_blocks
from privet.features.named import default_gamma, stationary_kernel
from privet.features.numeric import Gaussian, Laplacian, Matern
from privet.privacy.budget import Budget
from privet.randomness import Randomness, source
from privet.rows.mapped import FeatureMap

# What rows and frequencies are cut to, so that float32 angles can be computed from them; a Cauchy
# draw passes it once in 1e12.
LARGEST = 1e12
FEWEST, MOST = 8, 2048


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
            positive_whole("n_frequencies", self.n_frequencies),
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
        return 2 * positive_whole("n_frequencies", self.n_frequencies)

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

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> RandomFourierFeatures:
        """The fitted transformer that ``to_json`` described."""
        features = cls(**record["parameters"])
        features.n_features_in_ = int(record["n_features_in_"])
        features.frequencies_ = np.array(record["frequencies_"], dtype=np.float64)
        if features.frequencies_.shape != (features.columns // 2, features.n_features_in_):
            raise DataError("The file's frequencies do not fit its columns.")
        return features


class FourierMap:
    """``x -> (cos <w_j, u>, sin <w_j, u>)_j/sqrt D`` of the weighted columns ``u = v x``.

    Each pair has norm ``1/sqrt D``, so the whole has norm 1 whatever ``x`` is, and the inner
    product of two rows is the mean of ``cos(<w_j, u - u'>)``. (Cosines of shifted angles, as
    printed in Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 3, have norm up to sqrt 2.)
    """

    norm = 1.0

    def __init__(self, frequencies: Array, weights: Array | None = None) -> None:
        folded = frequencies if weights is None else frequencies * weights
        half = np.ascontiguousarray(0.5 * folded.T)
        self._turns: dict[Any, NDArray[Any]] = {kind: half.astype(kind) for kind in ROOM}

    @property
    def columns(self) -> int:
        """Two for each frequency."""
        return 2 * int(self._turns[np.dtype(np.float64)].shape[1])

    def __call__(self, x: Any) -> NDArray[Any]:
        """Features of a block of rows, in the rows' own precision."""
        rows = _tame(x)
        half = self.columns // 2
        out = np.empty((len(rows), 2 * half), dtype=rows.dtype)
        cosines, sines = out[:, :half], out[:, half:]
        # by the tangent of half the angle: cos = 2/(1 + t^2) - 1, sin = 2t/(1 + t^2); one
        # transcendental function, which numpy has vectorized
        tangents = rows @ self._turns[rows.dtype]
        np.tan(tangents, out=tangents)
        np.square(tangents, out=cosines)
        cosines += 1.0
        np.divide(2.0, cosines, out=cosines)
        np.multiply(tangents, cosines, out=sines)
        cosines -= 1.0
        out *= rows.dtype.type((1.0 - ROOM[rows.dtype]) / math.sqrt(half))
        return out


@dataclass(frozen=True)
class DeclaredFrequencies:
    """Random features as a model declares them: they are drawn once, in ``fit``."""

    array: ClassVar[str] = "frequencies_"
    kernel: Kernel
    d: int
    weights: Array | None
    n_frequencies: int | Literal["auto"]
    orthogonal: bool | Literal["auto"]
    budget: Budget
    seed: int | None

    def check(self) -> None:
        """Refuse, before a charge, what no frequencies can be drawn for."""
        with_frequencies(self.kernel, orthogonal=self._orthogonal)

    @property
    def _orthogonal(self) -> bool:
        return spherical(self.kernel) if self.orthogonal == "auto" else bool(self.orthogonal)

    def frequencies(self, n: int) -> int:
        """How many, for ``n`` rows: declared, or by the public rule."""
        if self.n_frequencies == "auto":
            return default_frequencies(n, self.budget)
        return positive_whole("n_frequencies", self.n_frequencies)

    def columns(self, n: int) -> int:
        """How many features there will be for ``n`` rows."""
        return 2 * self.frequencies(n)

    def made(self, n: int, standardizer: FeatureMap | None) -> Array:
        """The frequencies, drawn without a row."""
        count, randomness = self.frequencies(n), source(self.seed)
        return draw_frequencies(
            self.kernel, count, self.d, orthogonal=self._orthogonal, randomness=randomness
        )

    def width(self, frequencies: Array) -> int:
        """How many features these frequencies make."""
        return 2 * len(frequencies)

    def map(self, frequencies: Array, standardizer: FeatureMap | None) -> FourierMap:
        """The map of standardized rows."""
        return FourierMap(frequencies, self.weights)

    def fits(self, frequencies: Array) -> bool:
        """Whether a file's frequencies are for these columns."""
        return frequencies.ndim == 2 and frequencies.shape[1] == self.d

    def told(self, width: int) -> str:
        """What a statement says."""
        return f"{width} random features of norm 1, drawn without looking at the rows"


def _tame(x: Any) -> NDArray[Any]:
    """Dense rows whose angles are ordinary numbers: neither infinite nor subnormal."""
    rows: NDArray[Any] = np.clip(dense_rows(x), -LARGEST, LARGEST)
    rows[np.abs(rows) < SMALLEST[rows.dtype]] = 0.0
    return rows


def default_frequencies(n: int, budget: Budget) -> int:
    """``sqrt(n) min(1, eps)^(1/4)`` random frequencies, a public rule.

    About ``sqrt n`` frequencies lose nothing beside sampling error in kernel ridge regression (Rudi
    and Rosasco 2017). A small epsilon leaves less to resolve; the power is a choice that keeps the
    time of a fit in proportion, more features do no harm. Pure noise grows with the number of
    columns, so a pure budget takes a quarter. zCDP counts as ``eps = sqrt(2 rho)``.
    """
    epsilon = budget.laplace_epsilon
    share = 1.0 if budget.allows_gaussian else 0.25
    frequencies = math.ceil(share * math.sqrt(n) * math.sqrt(math.sqrt(min(1.0, epsilon))))
    return min(max(frequencies, FEWEST), MOST)


def draw_frequencies(
    kernel: Kernel, count: int, d: int, *, orthogonal: bool, randomness: Randomness
) -> Array:
    """``count`` frequencies for ``d`` columns, shape (count, d)."""
    kernel = with_frequencies(kernel, orthogonal=orthogonal)
    if isinstance(kernel, Laplacian):
        out = kernel.gamma * (randomness.normals((count, d)) / randomness.normals((count, d)))
    else:
        normal = _orthogonal(count, d, randomness) if orthogonal else randomness.normals((count, d))
        out = math.sqrt(2.0 * kernel.gamma) * normal
        if isinstance(kernel, Matern):
            out /= _root_chi_square(2.0 * kernel.nu, count, randomness)[:, None]
    return np.clip(out, -LARGEST, LARGEST)


def with_frequencies(kernel: Kernel, *, orthogonal: bool) -> Gaussian | Laplacian | Matern:
    """``kernel``, refused before anything is drawn if its frequencies cannot be drawn this way."""
    if not isinstance(kernel, Gaussian | Laplacian | Matern):
        raise DeclarationError(
            f"The {kernel.name} kernel is not stationary and has no random frequencies. Give "
            "public_points for landmarks instead."
        )
    if orthogonal and isinstance(kernel, Laplacian):
        raise DeclarationError(
            "The Laplacian kernel's frequencies are independent over columns and cannot be "
            "made orthogonal: use orthogonal='auto' or False."
        )
    return kernel


def spherical(kernel: Kernel) -> bool:
    """Whether the kernel's frequencies can be made orthogonal."""
    return not isinstance(kernel, Laplacian)


def _orthogonal(count: int, d: int, randomness: Randomness) -> Array:
    """Standard normal rows whose directions are orthogonal in groups of ``d``."""
    groups = math.ceil(count / d)
    normals = randomness.normals((groups, 2, d, d))
    q, r = np.linalg.qr(normals[:, 0])
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]  # uniform rotations (Mezzadri 2007)
    lengths = np.linalg.norm(normals[:, 1], axis=2)
    rows = q.transpose(0, 2, 1) * lengths[:, :, None]
    return np.asarray(rows.reshape(groups * d, d)[:count])


def _root_chi_square(freedom: float, count: int, randomness: Randomness) -> Array:
    """``sqrt(chi^2/freedom)``, by the inverse of its distribution function."""
    below = ndtr(randomness.normals((count,)))
    chi_square = 2.0 * np.asarray(gammaincinv(freedom / 2.0, below))
    return np.asarray(np.sqrt(np.maximum(chi_square, 1e-30) / freedom))
