"""Orientation histograms: a fixed function of one image, and its columns say what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from privet.errors import DataError
from reproduce.tables import orientation_histograms


def images(n: int = 20) -> np.ndarray:
    return np.random.default_rng().integers(0, 256, size=(n, 784), dtype=np.uint8)


def test_rows_have_norm_one_and_no_negative_entry() -> None:
    rows = orientation_histograms(images())
    assert rows.shape == (20, 392)
    assert (rows >= 0.0).all()
    norms = np.linalg.norm(rows, axis=1)
    assert norms.max() <= 1.0
    assert norms.min() > 1.0 - 1e-9


def test_each_row_depends_on_its_image_alone() -> None:
    pixels = images(5)
    alone = np.concatenate([orientation_histograms(one[None, :]) for one in pixels])
    assert np.allclose(orientation_histograms(pixels), alone)


def test_brightness_and_contrast_do_not_matter() -> None:
    pixels = images().astype(np.float64)
    rows = orientation_histograms(pixels)
    assert np.allclose(orientation_histograms(3.0 * pixels + 7.0), rows)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_ramp_points_in_its_direction(turns: int) -> None:
    """Brighter to the right is direction 0; each quarter turn is two of eight bins."""
    ramp = np.tile(np.arange(28.0), (28, 1))
    turned = np.rot90(ramp, k=-turns)
    row = orientation_histograms(turned.reshape(1, -1)).reshape(7, 7, 8)
    share = (row**2).sum(axis=(0, 1))
    assert int(share.argmax()) == 2 * turns
    assert share.max() == pytest.approx(1.0)


def test_an_edge_is_seen_in_its_cell() -> None:
    image = np.zeros((28, 28))
    image[2, 2] = 1.0  # in the first cell
    cells = (orientation_histograms(image.reshape(1, -1)).reshape(7, 7, 8) ** 2).sum(axis=2)
    assert cells[0, 0] > 0.5
    assert cells[2:].sum() + cells[:, 2:].sum() == 0.0


def test_an_empty_image_is_a_row_of_zeros() -> None:
    assert (orientation_histograms(np.full((2, 784), 9.0)) == 0.0).all()


def test_other_shapes_are_refused() -> None:
    for bad in (np.zeros((3, 783)), np.zeros(784)):
        with pytest.raises(DataError, match="28 x 28"):
            orientation_histograms(bad)
    with pytest.raises(DataError, match="cells"):
        orientation_histograms(np.zeros((1, 784)), cells=5)
    assert orientation_histograms(np.zeros((1, 64)), side=8, cells=2, bins=4).shape == (1, 16)
