"""Histograms of gradient orientations: a fixed, public description of small gray images.

Each image is cut into cells; each cell counts in which directions the brightness changes, weighted
by how much (Dalal and Triggs 2005). Square roots keep a few strong edges from dominating, and each
row is divided by its own norm. Nothing is learned from images, so it costs no privacy: good public
features do more for a private model than clever noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError

Array = NDArray[np.float64]
# Images at a time, so that memory stays small.
BLOCK = 2_000


def orientation_histograms(
    pixels: NDArray[np.generic], *, side: int = 28, cells: int = 7, bins: int = 8
) -> Array:
    """Rows of norm 1 with ``cells * cells * bins`` columns, for rows of ``side * side`` pixels.

    Directions are signed (dark to bright); a direction between two bins counts for both, by its
    distance to each, and a pixel between two cells likewise. An image without any edge is a row of
    zeros.
    """
    flat = np.asarray(pixels)
    if flat.ndim != 2 or flat.shape[1] != side * side or side % cells:
        raise DataError(
            f"Images must be rows of {side} x {side} pixels, cut into {cells} x {cells} cells."
        )
    out = np.empty((len(flat), cells * cells * bins))
    place = _cell_weights(side, cells)
    for start in range(0, len(flat), BLOCK):
        images = flat[start : start + BLOCK].reshape(-1, side, side).astype(np.float64)
        by_bin = _binned_gradients(images, bins)
        # rows, then columns, of pixels to cells
        pooled = np.einsum("ip,jq,npqb->nijb", place, place, by_bin, optimize=True)
        out[start : start + BLOCK] = pooled.reshape(len(images), -1)
    np.sqrt(out, out=out)
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    # a hair below 1, so that rounding passes no norm bound
    return np.asarray(out / np.where(norms > 0.0, norms * (1.0 + 1e-12), 1.0))


def _binned_gradients(images: Array, bins: int) -> Array:
    """Gradient magnitudes by pixel and direction, shape (n, side, side, bins)."""
    down, right = np.gradient(images, axis=(1, 2))
    magnitude = np.hypot(down, right)
    position = np.arctan2(down, right) * (bins / (2.0 * np.pi))
    out = np.empty((*images.shape, bins))
    for index in range(bins):
        away = np.abs((position - index + bins / 2.0) % bins - bins / 2.0)
        out[..., index] = magnitude * np.maximum(0.0, 1.0 - away)
    return out


def _cell_weights(side: int, cells: int) -> Array:
    """Shares of each line of pixels in each line of cells, shape (cells, side); columns sum to 1.

    Linear between the middles of neighboring cells; beyond the outermost, that cell alone.
    """
    width = side // cells
    middles = (np.arange(cells) + 0.5) * width - 0.5
    return np.stack([np.interp(np.arange(side), middles, row) for row in np.eye(cells)])
