"""Lifted features: isometric, bounded, and what they say about inner products is true."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from privet.models.lifted import COVARIANCES, Lifted, lifted_columns, lifted_names
from tests.strategies import seeds

every_covariance = pytest.mark.parametrize("covariance", COVARIANCES)


@every_covariance
@pytest.mark.parametrize("d", [1, 2, 5])
def test_scores_are_quadratic_forms(covariance: str, d: int) -> None:
    """Half-vectorized weights times features are ``a^T W a`` of the clipped row."""
    rng = np.random.default_rng()
    lifted = Lifted(d, 2.0, 0.7, covariance)
    x = rng.normal(size=(40, d)) * 2.0
    weights = rng.normal(size=(3, lifted.columns))
    rows = lifted.clipped(x)
    assert np.linalg.norm(rows, axis=1).max() <= 2.0
    augmented = np.concatenate([rows, np.full((40, 1), 0.7)], axis=1)
    forms = np.einsum("ni,cij,nj->nc", augmented, lifted.matrices(weights), augmented)
    assert lifted.columns == lifted_columns(d, covariance) == lifted(x).shape[1]
    assert np.allclose(lifted(x) @ weights.T, forms)
    assert np.allclose(lifted(sp.csr_array(x)), lifted(x))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_full_lift_is_isometric(d: int) -> None:
    rng = np.random.default_rng()
    lifted = Lifted(d, 1.0, 0.5)
    x, other = rng.normal(size=(2, 30, d))
    one, two = lifted(x), lifted(other)
    a, b = (np.hstack([lifted.clipped(t), np.full((30, 1), 0.5)]) for t in (x, other))
    assert np.allclose((one * two).sum(axis=1), (a * b).sum(axis=1) ** 2)
    weights = rng.normal(size=lifted.columns)
    assert np.linalg.norm(weights) == pytest.approx(np.linalg.norm(lifted.matrices(weights)))


@every_covariance
@given(seed=seeds(), d=st.integers(1, 6), constant=st.floats(0.01, 3.0))
def test_norms_stay_within_the_bound(covariance: str, seed: int, d: int, constant: float) -> None:
    rng = np.random.default_rng(seed)
    lifted = Lifted(d, 1.5, constant, covariance)
    x = rng.normal(size=(20, d)) * 10.0 ** rng.uniform(-3, 3, size=(20, 1))
    x[0] = 0.0
    x[0, 0] = 1.5
    norms = np.linalg.norm(lifted(x), axis=1)
    assert norms.max() <= lifted.norm * (1.0 + 1e-12)
    assert norms[0] == pytest.approx(lifted.norm)


@given(seed=seeds(), d=st.integers(1, 6), constant=st.floats(0.01, 3.0))
def test_inner_products_are_never_negative_where_that_is_used(
    seed: int, d: int, constant: float
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, d))
    for covariance in ("full", "spherical"):
        features = Lifted(d, 1.0, constant, covariance)(np.concatenate([x, -x]))
        assert (features @ features.T).min() >= -1e-12


def test_the_diagonal_lift_has_negative_inner_products() -> None:
    """Why the smaller sensitivity is not used for it."""
    lifted = Lifted(2, 1.0, 0.5, "diagonal")
    one, two = lifted(np.array([[0.5, 0.5], [-0.5, -0.5]]))
    assert float(one @ two) < -0.05


@every_covariance
def test_names_stand_in_the_order_of_the_features(covariance: str) -> None:
    lifted, x = Lifted(2, 9.0, 1.0, covariance), np.array([[2.0, 3.0]])
    found = dict(zip(lifted_names(["a", "b"], covariance), lifted(x)[0], strict=True))
    known = {
        "a²": 4.0,
        "b²": 9.0,
        "a × b": np.sqrt(2.0) * 6.0,
        "a": np.sqrt(2.0) * 2.0,
        "b": np.sqrt(2.0) * 3.0,
        "sum of squares": 13.0,
        "(constant)": 1.0,
    }
    assert found == pytest.approx({name: known[name] for name in found})


def test_numbers_too_small_to_square_are_zero() -> None:
    lifted = Lifted(2, 1.0, 0.5)
    out = lifted(np.array([[1e-160, 0.3], [1e-200, -1e-155], [1e-300, 1e150]]))
    assert np.isfinite(out).all()
    tiny = np.abs(out[out != 0.0])
    assert tiny.min() > 1e-301
