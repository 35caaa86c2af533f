"""Ellipsoids read off a release: they predict what the model predicts."""

from __future__ import annotations

import numpy as np
import pytest

from privet import LargeMarginGaussian
from privet.models.lifted import Lifted, definite, ellipsoids
from tests.strategies import Array


def random_symmetric(count: int, size: int) -> Array:
    raw = np.random.default_rng().normal(size=(count, size, size))
    return np.asarray(raw + raw.transpose(0, 2, 1))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_one_common_shift_makes_all_definite_and_moves_no_prediction(d: int) -> None:
    matrices = random_symmetric(4, d + 1)
    shifted = definite(matrices)
    assert np.linalg.eigvalsh(shifted).min() > 0.0
    difference = shifted - matrices
    shift = difference[0, 0, 0]
    assert np.allclose(difference, shift * np.eye(d + 1))
    rows = np.random.default_rng().normal(size=(500, d + 1))
    before = np.einsum("ni,cij,nj->nc", rows, matrices, rows)
    after = np.einsum("ni,cij,nj->nc", rows, shifted, rows)
    assert np.array_equal(before.argmin(axis=1), after.argmin(axis=1))


def test_definite_matrices_are_left_alone() -> None:
    matrices = np.stack([np.diag([1.0, 2.0]), np.diag([3.0, 0.5])])
    assert np.array_equal(definite(matrices), matrices)


def test_known_ellipsoids_are_read_back() -> None:
    """Matrices built from means, precisions and offsets give them back."""
    constant = 0.7
    means = np.array([[0.3, -0.2], [-0.5, 0.1]])
    precisions = np.array([[[3.0, 0.4], [0.4, 2.0]], [[1.5, -0.2], [-0.2, 4.0]]])
    offsets = [0.4, 0.6]
    matrices = np.zeros((2, 3, 3))
    for i, (mean, psi) in enumerate(zip(means, precisions, strict=True)):
        matrices[i, :2, :2] = psi
        matrices[i, :2, 2] = matrices[i, 2, :2] = -psi @ mean / constant
        matrices[i, 2, 2] = (mean @ psi @ mean + offsets[i]) / constant**2
    found = ellipsoids(matrices, constant, np.array(["a", "b"]))
    for one, mean, psi, offset, label in zip(
        found, means, precisions, offsets, ["a", "b"], strict=True
    ):
        assert one.label == label
        assert np.allclose(one.mean, mean)
        assert np.allclose(np.linalg.inv(one.covariance), psi)
        assert one.offset == pytest.approx(offset)


def bands(n: int, d: int, classes: int) -> tuple[Array, Array]:
    """Shells around the origin, one per class."""
    x = np.random.default_rng(1).normal(size=(n, d))
    radius = np.linalg.norm(x, axis=1)
    return x, np.searchsorted(np.quantile(radius, np.arange(1, classes) / classes), radius)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize(("classes", "d"), [(2, 1), (2, 3), (3, 2), (5, 3)])
def test_nearest_ellipsoid_is_the_prediction(covariance: str, classes: int, d: int) -> None:
    x, y = bands(3000, d, classes)
    model = LargeMarginGaussian(
        5.0,
        classes=list(range(classes)),
        norm_bound=3.0,
        covariance=covariance,
        standardize="private",
        column_bounds=(-5.0, 5.0),
    ).fit(x, y)
    found = model.ellipsoids()
    inside = np.linalg.norm((x - model.center_) / model.scale_, axis=1) <= 3.0
    distances = np.stack([one.distance(x[inside]) for one in found], axis=1)
    labels = np.array([one.label for one in found])
    assert np.mean(labels[distances.argmin(axis=1)] == model.predict(x[inside])) > 0.999
    for one in found:
        assert np.linalg.eigvalsh(one.covariance).min() > 0.0
        assert one.offset > 0.0
    if covariance == "diagonal":
        off = found[0].covariance - np.diag(np.diag(found[0].covariance))
        assert np.abs(off).max() < 1e-9 * np.diag(found[0].covariance).max()


def test_matrices_of_lifted_weights_are_symmetric() -> None:
    lifted = Lifted(3, 1.0, 0.5)
    matrices = lifted.matrices(np.random.default_rng().normal(size=(2, lifted.columns)))
    assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
