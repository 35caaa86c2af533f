"""Feature maps: norms, laws, approximation, and that no row is looked at."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.utils.estimator_checks import check_estimator

from privet.errors import DataError, DeclarationError
from privet.features.fourier import draw_frequencies, spherical
from privet.features.landmarks import whitener
from privet.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    PublicNystroem,
    RandomFourierFeatures,
    Spectrum,
    features_from_json,
)
from privet.randomness import source
from tests.kernels.test_kernels import NUMERIC

Array = NDArray[np.float64]
ALARM = 1e-7  # of each statistical test
STATIONARY: list[Kernel] = [Gaussian(0.7), Laplacian(0.3), Matern(0.5, 0.8)]


def finite(width: Literal[32, 64]) -> Any:
    largest = float(np.float32(3e38)) if width == 32 else 1e150
    bounded = st.floats(-largest, largest, width=width, allow_subnormal=False)
    kind = np.float32 if width == 32 else np.float64
    return arrays(kind, st.tuples(st.integers(1, 5), st.just(3)), elements=bounded)


# -- norms -------------------------------------------------------------------------------------


def ordinary_norms(features: NDArray[Any]) -> Array:
    """Norms of features that are neither infinite nor subnormal."""
    sizes = np.abs(features)
    assert np.isfinite(sizes).all()
    assert not ((sizes > 0.0) & (sizes < np.finfo(features.dtype).tiny)).any()
    return np.asarray(np.linalg.norm(features.astype(np.float64), axis=1))


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern"])
@settings(deadline=None, max_examples=50)
@given(rows=finite(64) | finite(32), frequencies=st.integers(1, 300), gamma=st.floats(1e-6, 1e6))
def test_fourier_norms_are_one_and_never_above(
    kernel: str, rows: NDArray[Any], frequencies: int, gamma: float
) -> None:
    features = RandomFourierFeatures(frequencies, kernel=kernel, gamma=gamma).fit(np.zeros((1, 3)))(
        rows
    )
    norms = ordinary_norms(features)
    assert (norms <= 1.0).all()
    assert (norms >= 1.0 - (1e-5 if rows.dtype == np.float32 else 1e-11)).all()


@pytest.mark.parametrize("kernel", NUMERIC, ids=str)
@settings(deadline=None, max_examples=50)
@given(rows=finite(64), spread=st.sampled_from([0.0, 1e-9, 1e-5, 1.0]))
def test_landmark_norms_are_never_above_the_bound(
    kernel: Kernel, rows: Array, spread: float
) -> None:
    """Also where the points are (nearly) the same and their Gram matrix is singular."""
    points = 1.0 + spread * np.random.default_rng().normal(size=(20, 3))
    features = PublicNystroem(kernel, points).fit()(rows)
    norms = ordinary_norms(features)
    assert (norms <= math.sqrt(kernel.bound)).all()
    exact = np.sqrt(kernel.diagonal(rows))
    assert (norms <= exact * (1.0 + 1e-5) + 1e-9).all()  # a projection makes nothing longer


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_no_feature_is_subnormal(kind: Any) -> None:
    """A mechanism's rows would flush them, block by block and pass by pass."""
    tiny = np.full((1, 3), 1.5 * np.finfo(kind).tiny, dtype=kind)
    ordinary_norms(RandomFourierFeatures(50, gamma=1e-6).fit(np.zeros((1, 3)))(tiny))
    far = np.zeros((400, 3))
    far[:, 0] = np.linspace(25.0, 45.0, 400)  # exp(-0.7 x^2) passes through all that are
    ordinary_norms(PublicNystroem(Gaussian(0.7), np.zeros((1, 3))).fit()(far))


def test_columns_come_in_blocks_and_sparse_rows_are_rows() -> None:
    rows = np.random.default_rng().normal(size=(9000, 3))
    transformer = RandomFourierFeatures(40).fit(rows)
    whole = transformer.transform(rows)
    assert whole.shape == (9000, transformer.columns)
    assert np.allclose(whole, transformer(rows))
    assert np.allclose(whole, transformer.transform(sp.csr_array(rows)))
    landmarks = PublicNystroem(Gaussian(0.3), rows[:30]).fit()
    assert np.allclose(landmarks.transform(rows), landmarks(sp.csr_array(rows)))


# -- laws of the frequencies -------------------------------------------------------------------


def drawn(kernel: Kernel, count: int, d: int) -> Array:
    return draw_frequencies(kernel, count, d, orthogonal=spherical(kernel), randomness=source(None))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_lengths_of_frequencies_have_the_spectral_law(d: int) -> None:
    """Squared lengths: chi-square for the Gaussian, F for the Matern kernel; Cauchy entries."""
    squares = (drawn(Gaussian(0.7), 20_000, d) ** 2).sum(axis=1) / 1.4
    assert stats.kstest(squares, stats.chi2(d).cdf).pvalue > ALARM
    assert stats.kstest(1.1 * squares, stats.chi2(d).cdf).pvalue < 1e-2  # it can tell
    squares = (drawn(Matern(0.7, 0.8), 20_000, d) ** 2).sum(axis=1) / 1.4
    assert stats.kstest(squares / d, stats.f(d, 1.6).cdf).pvalue > ALARM
    assert stats.kstest(1.25 * squares / d, stats.f(d, 1.6).cdf).pvalue < 1e-2
    entries = drawn(Laplacian(0.3), 20_000, d).ravel()
    assert stats.kstest(entries, stats.cauchy(scale=0.3).cdf).pvalue > ALARM
    assert stats.kstest(1.15 * entries, stats.cauchy(scale=0.3).cdf).pvalue < 1e-2


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(0.7, 1.5)], ids=str)
def test_directions_are_uniform_and_orthogonal_in_groups(kernel: Kernel) -> None:
    w = drawn(kernel, 4 * 3000, 4).reshape(3000, 4, 4)
    units = w / np.linalg.norm(w, axis=2)[:, :, None]
    assert np.allclose(units @ units.transpose(0, 2, 1), np.eye(4), atol=1e-9)
    for place in range(4):  # every frequency of a group, every column
        first = units[:, place, 0] ** 2
        assert stats.kstest(first, stats.beta(0.5, 1.5).cdf).pvalue > ALARM
        assert stats.binomtest(int((units[:, place, 1] > 0).sum()), 3000).pvalue > ALARM


@pytest.mark.parametrize("kernel", STATIONARY, ids=str)
def test_features_approximate_their_kernel(kernel: Kernel) -> None:
    rows = np.random.default_rng().normal(size=(6, 3))
    names: dict[str, Any] = {"gamma": kernel.gamma}  # type: ignore[attr-defined]
    if isinstance(kernel, Matern):
        names["nu"] = kernel.nu
    features = RandomFourierFeatures(30_000, kernel=kernel.name, **names).fit(rows)(rows)
    # means of 10,000 independent groups of numbers in [-1, 1] (Hoeffding), 15 pairs
    slack = math.sqrt(2.0 * math.log(30.0 / ALARM) / 10_000)
    assert np.abs(features @ features.T - kernel(rows, rows)).max() < slack


def test_the_error_is_below_that_of_scikit_learns_random_features() -> None:
    """Equal numbers of columns. In expectation about half; shifted cosines would be at one."""
    rng = np.random.default_rng()
    rows = rng.normal(size=(60, 8))
    exact = Gaussian(0.05)(rows, rows)
    ours, theirs = [], []
    for _ in range(150):
        features = RandomFourierFeatures(32, gamma=0.05).fit(rows).transform(rows)
        ours.append(np.mean((features @ features.T - exact) ** 2))
        seed = int(rng.integers(2**31))
        features = RBFSampler(gamma=0.05, n_components=64, random_state=seed).fit_transform(rows)
        theirs.append(np.mean((features @ features.T - exact) ** 2))
    assert np.mean(ours) < 0.75 * np.mean(theirs)


# -- what is looked at -------------------------------------------------------------------------


def test_only_the_number_of_columns_is_looked_at() -> None:
    one = RandomFourierFeatures(10, insecure_seed=5).fit(np.zeros((2, 3)))
    two = RandomFourierFeatures(10, insecure_seed=5).fit(np.full((9, 3), 7.0))
    assert np.array_equal(one.frequencies_, two.frequencies_)
    other = RandomFourierFeatures(10).fit(np.zeros((2, 3)))
    assert not np.array_equal(other.frequencies_, clone(other).fit(np.zeros((2, 3))).frequencies_)


def test_the_default_width_is_by_the_number_of_columns() -> None:
    auto = RandomFourierFeatures(10, insecure_seed=1).fit(np.zeros((2, 3))).frequencies_
    told = RandomFourierFeatures(10, gamma=1 / 12, insecure_seed=1).fit(np.zeros((2, 3)))
    assert np.allclose(auto, told.frequencies_)


def test_orthogonal_cauchy_frequencies_do_not_exist() -> None:
    with pytest.raises(DeclarationError, match="orthogonal"):
        RandomFourierFeatures(kernel="laplacian", orthogonal=True).fit(np.zeros((2, 3)))
    with pytest.raises(DeclarationError, match="public_points"):
        drawn(Linear(), 5, 3)


@pytest.mark.parametrize(
    "parameters",
    [{"n_frequencies": 0}, {"n_frequencies": 1.5}, {"gamma": -1.0}, {"kernel": "cubic"}],
    ids=str,
)
def test_bad_declarations_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        RandomFourierFeatures(**parameters).fit(np.zeros((2, 3)))


def test_scikit_learns_own_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(RandomFourierFeatures(8, insecure_seed=0), on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert len(results) > 30
    assert failed == []


# -- landmarks ---------------------------------------------------------------------------------


def test_landmark_features_are_exact_on_the_points() -> None:
    points = np.random.default_rng().normal(size=(25, 3))
    for kernel in NUMERIC:
        features = PublicNystroem(kernel, points).fit().transform(points)
        assert np.allclose(features @ features.T, kernel(points, points), atol=1e-4 * kernel.bound)


def test_they_are_nystroem_features() -> None:
    rng = np.random.default_rng()
    points, rows = rng.normal(size=(15, 3)), rng.normal(size=(40, 3))
    ours = PublicNystroem(Gaussian(0.2), points).fit().transform(rows)
    plain = Nystroem(kernel="rbf", gamma=0.2, n_components=15).fit(points).transform(rows)
    assert np.allclose(ours @ ours.T, plain @ plain.T, atol=1e-6)


def test_fewer_components_are_a_smaller_projection() -> None:
    rng = np.random.default_rng()
    points, rows = rng.normal(size=(30, 3)), rng.normal(size=(50, 3))
    whole = PublicNystroem(Gaussian(0.2), points).fit().transform(rows)
    part = PublicNystroem(Gaussian(0.2), points, n_components=7).fit()
    assert part.columns == 7
    assert np.allclose(part.transform(rows), whole[:, :7], atol=1e-6)


def test_points_without_extent_make_zero_columns() -> None:
    points = np.repeat(np.eye(2), 5, axis=0)
    found = whitener(Linear(), points)
    assert found.shape == (10, 10)
    assert int((np.abs(found).max(axis=0) > 0).sum()) == 2
    with pytest.raises(DeclarationError, match="span nothing"):
        whitener(Linear(), np.zeros((3, 2)))


def test_strings_have_landmark_features() -> None:
    words = ["banana", "bandana", "cabana", "zebra"]
    landmarks = PublicNystroem(Spectrum(2), words[:3]).fit()
    features = landmarks.transform(words)
    assert np.allclose(features[:3] @ features[:3].T, Spectrum(2)(words[:3], words[:3]))
    assert np.linalg.norm(features[3]) < np.linalg.norm(features[0]) <= 1.0


@pytest.mark.parametrize(
    "parameters",
    [{}, {"kernel": "gaussian"}, {"kernel": Gaussian()}, {"public_points": []}],
    ids=["nothing", "name", "no points", "none"],
)
def test_landmarks_need_a_kernel_and_points(parameters: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        PublicNystroem(**{"kernel": Gaussian(), "public_points": None, **parameters}).fit()


def test_transformers_come_back_from_json() -> None:
    rows = np.random.default_rng().normal(size=(20, 3))
    for transformer in (
        RandomFourierFeatures(5, kernel="matern").fit(rows),
        PublicNystroem(Polynomial(2), rows[:6], 4).fit(),
    ):
        again = features_from_json(transformer.to_json())
        assert np.array_equal(again.transform(rows), transformer.transform(rows))
        assert again.columns == transformer.columns
        assert again.norm == transformer.norm
    with pytest.raises(DataError, match="does not have"):
        features_from_json({"name": "other"})
    fourier = RandomFourierFeatures(5).fit(rows).to_json() | {"n_features_in_": 2}
    landmarks = PublicNystroem(Linear(), rows[:6]).fit().to_json() | {"public_points": [[1.0]]}
    for damaged in (fourier, landmarks):
        with pytest.raises(DataError, match="fit"):
            features_from_json(damaged)
