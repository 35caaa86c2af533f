"""Kernels: their formulas, their bounds, and the words they refuse with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Matern as Reference

from privet.errors import DataError, DeclarationError
from privet.kernels import (
    KERNELS,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Spectrum,
    SuppliedKernel,
    kernel_from_json,
)

NUMERIC: list[Kernel] = [
    Gaussian(0.7),
    Laplacian(0.3),
    Matern(0.5, 0.5),
    Matern(0.5, 1.5),
    Matern(0.5, 2.5),
    Matern(0.5, 0.8),
    Linear(0.5),
    Polynomial(3, 0.5, 1.0, 2.0),
    Polynomial(2, 1.5, 0.0),
]
ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.just(3)),
    elements=st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).map(
        lambda value: math.copysign(min(abs(value), 1e150), value)
    ),
)
Array = NDArray[np.float64]


def jaccard(a: Any, b: Any) -> Array:
    """Shared over all elements: a positive semidefinite kernel of sets."""
    return np.array([[len(s & t) / len(s | t) if s | t else 1.0 for t in b] for s in a])


@pytest.mark.parametrize("kernel", NUMERIC, ids=str)
@settings(deadline=None, max_examples=50)
@given(rows=ROWS)
def test_no_row_passes_the_bound(kernel: Kernel, rows: Array) -> None:
    diagonal = kernel.diagonal(rows)
    assert np.isfinite(kernel(rows, rows)).all()
    assert (diagonal <= kernel.bound * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("kernel", NUMERIC, ids=str)
def test_gram_matrices_are_positive_and_agree_with_their_diagonal(kernel: Kernel) -> None:
    rows = np.random.default_rng().normal(size=(40, 3))
    gram = kernel(rows, rows)
    assert np.allclose(np.diagonal(gram), kernel.diagonal(rows))
    assert np.linalg.eigvalsh(gram)[0] > -1e-9 * kernel.bound
    other = rows[:7] + 0.1
    assert np.allclose(kernel(other, rows), kernel(rows, other).T)
    assert np.allclose(kernel(sp.csr_array(rows), rows), gram)


def test_formulas() -> None:
    rng = np.random.default_rng()
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    apart = a[:, None, :] - b[None, :, :]
    squares = (apart**2).sum(axis=2)
    assert np.allclose(Gaussian(0.4)(a, b), np.exp(-0.4 * squares))
    assert np.allclose(Laplacian(0.4)(a, b), np.exp(-0.4 * np.abs(apart).sum(axis=2)))
    for nu in (0.5, 0.8, 1.5, 2.5, 7.0):
        expected = Reference(math.sqrt(1.0 / 0.8), nu=nu)(a, b)
        assert np.allclose(Matern(0.4, nu)(a, b), expected)
    assert np.allclose(Matern(0.4, 50.0)(a, b), Gaussian(0.4)(a, b), atol=0.02)
    long = a / np.linalg.norm(a, axis=1)[:, None] * 9.0
    assert np.allclose(Linear(2.0)(long, long), long @ long.T * (2.0 / 9.0) ** 2)
    small = a / 100.0
    poly = Polynomial(3, 2.0, 0.5)
    assert np.allclose(poly(small, small), (2.0 * small @ small.T + 0.5) ** 3)


@pytest.mark.parametrize(
    "kernel", [Linear(0.5), Polynomial(3, 0.5, 1.0), Polynomial(2, 1.5, 0.0)], ids=str
)
def test_explicit_features_have_the_kernel_as_inner_product(kernel: Kernel) -> None:
    rows = np.random.default_rng().normal(size=(9, 4))
    features = kernel.explicit(rows)
    assert features.shape[1] == kernel.rank(4)
    assert np.allclose(features @ features.T, kernel(rows, rows))


def test_kernels_without_finite_features_say_so() -> None:
    assert Gaussian().rank(3) is None
    with pytest.raises(DeclarationError, match="finite features"):
        Gaussian().explicit(np.ones((2, 2)))


@pytest.mark.parametrize("kernel", [*NUMERIC, Spectrum(4)], ids=str)
def test_named_kernels_come_back_from_json(kernel: Kernel) -> None:
    assert kernel_from_json(kernel.to_json()) == kernel
    assert type(kernel) in KERNELS.values()


def test_a_file_cannot_name_another_kernel() -> None:
    with pytest.raises(DataError, match="does not have"):
        kernel_from_json({"name": "supplied"})


def test_spectrum_counts_shared_substrings() -> None:
    kernel = Spectrum(2)
    # abab: ab 2, ba 1; aba: ab 1, ba 1
    assert kernel(["abab"], ["aba"])[0, 0] == pytest.approx(3.0 / math.sqrt(5.0 * 2.0))
    assert kernel(["abab"], ["xyz"])[0, 0] == 0.0
    words = ["abab", "aba", "x", "", "ab ab", "äöü", "abab"]
    gram = kernel(words, words)
    assert np.allclose(np.diagonal(gram), kernel.diagonal(words))
    assert kernel.diagonal(words).tolist() == [1, 1, 0, 0, 1, 1, 1]
    assert np.linalg.eigvalsh(gram)[0] > -1e-12
    assert gram.max() <= kernel.bound
    with pytest.raises(DataError, match="strings"):
        kernel(["ab"], [b"ab"])


def test_a_supplied_kernel_is_held_to_its_declared_bound() -> None:
    kernel = SuppliedKernel(lambda a, b: 9.0 * np.asarray(a) @ np.asarray(b).T, 4.0)
    rows = np.random.default_rng().normal(size=(30, 2))
    gram = kernel(rows, rows)
    assert np.allclose(np.diagonal(gram), kernel.diagonal(rows))
    assert np.diagonal(gram).max() <= 4.0 * (1.0 + 1e-12)
    assert np.linalg.eigvalsh(gram)[0] > -1e-9
    inside = rows * 0.01
    assert np.allclose(kernel(inside, inside), 9.0 * inside @ inside.T)


def test_a_supplied_kernel_compares_any_objects() -> None:
    baskets = [{"milk", "bread"}, {"milk"}, set(), {"nails"}]
    kernel = SuppliedKernel(jaccard, 1.0)
    assert np.allclose(kernel(baskets, baskets), jaccard(baskets, baskets))
    assert kernel.diagonal(baskets).tolist() == [1.0] * 4
    with pytest.raises(DeclarationError, match="never code"):
        kernel.to_json()


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: np.ones((1, 1)),
        lambda a, b: np.full((len(a), len(b)), np.nan),
        lambda a, b: np.full((len(a), len(b)), -1.0),
    ],
    ids=["shape", "nan", "negative"],
)
def test_what_is_not_a_kernel_is_refused(function: Any) -> None:
    with pytest.raises(DataError, match="supplied kernel"):
        SuppliedKernel(function, 1.0)([1, 2, 3], [1, 2])


@pytest.mark.parametrize("size", [np.max, np.mean], ids=["largest", "mean"])
def test_a_supplied_kernel_that_looks_at_the_objects_beside_is_refused(size: Any) -> None:
    """One row would move the numbers of all others, which no bound on one row covers."""
    rows = np.array([[1.0], [2.0], [4.0]])
    kernel = SuppliedKernel(lambda a, b: a @ b.T / size(a), 100.0)
    with pytest.raises(DataError, match="beside them"):
        kernel(rows, rows[:2])
    single = SuppliedKernel(lambda a, b: np.float32(a / 3.0) @ np.float32(b / 7.0).T, 100.0)
    assert single(rows, rows).shape == (3, 3)  # single precision rounds, and no more


def test_a_diagonal_that_hides_long_objects_is_refused() -> None:
    """The bound would be enforced on what is not ``K(x, x)``."""
    rows = np.array([[0.5], [3.0]])
    kernel = SuppliedKernel(lambda a, b: a @ b.T, 1.0, lambda a: np.minimum(a[:, 0] ** 2, 1.0))
    with pytest.raises(DataError, match="diagonal_function"):
        kernel(rows, rows)
    honest = SuppliedKernel(lambda a, b: a @ b.T, 1.0, lambda a: a[:, 0] ** 2)
    assert np.allclose(np.diag(honest(rows, rows)), [0.25, 1.0])


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (Gaussian, (0.0,)),
        (Laplacian, (math.nan,)),
        (Matern, (1.0, -1.0)),
        (Matern, (1.0, 60.0)),
        (Matern, (1.0, 0.04)),
        (Linear, (math.inf,)),
        (Polynomial, (0,)),
        (Polynomial, (2, 1.0, -1.0)),
        (Polynomial, (500, 1.0, 1.0, 1e50)),
        (Spectrum, (0,)),
        (SuppliedKernel, (jaccard, -1.0)),
        (SuppliedKernel, (3, 1.0)),
    ],
)
def test_bad_parameters_are_refused(kind: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(DeclarationError):
        kind(*arguments)


def test_text_is_no_table() -> None:
    with pytest.raises(DataError, match="two dimensions"):
        Gaussian()([["a", "b"]], [["c", "d"]])
    with pytest.raises(DataError, match="two dimensions"):
        Gaussian()([1.0, 2.0], [[1.0, 2.0]])
