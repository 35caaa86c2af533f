"""Random frequencies of stationary kernels: drawn from the number of columns, never from rows.

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

import numpy as np
from scipy.special import gammaincinv, ndtr

from privet.errors import DeclarationError
from privet.kernels.base import Array, Kernel
from privet.kernels.numeric import Gaussian, Laplacian, Matern
from privet.randomness import Randomness

# What float32 angles can be computed from; a Cauchy draw passes it once in 1e12.
LARGEST = 1e12


def draw_frequencies(
    kernel: Kernel, count: int, d: int, *, orthogonal: bool, randomness: Randomness
) -> Array:
    """``count`` frequencies for ``d`` columns, shape (count, d)."""
    if isinstance(kernel, Laplacian):
        if orthogonal:
            raise DeclarationError(
                "The Laplacian kernel's frequencies are independent over columns and cannot be "
                "made orthogonal: use orthogonal='auto' or False."
            )
        out = kernel.gamma * (randomness.normals((count, d)) / randomness.normals((count, d)))
    elif isinstance(kernel, Gaussian | Matern):
        normal = _orthogonal(count, d, randomness) if orthogonal else randomness.normals((count, d))
        out = math.sqrt(2.0 * kernel.gamma) * normal
        if isinstance(kernel, Matern):
            out /= _root_chi_square(2.0 * kernel.nu, count, randomness)[:, None]
    else:
        raise DeclarationError(
            f"The {kernel.name} kernel is not stationary and has no random frequencies. Give "
            "public_points for landmarks instead."
        )
    return np.clip(out, -LARGEST, LARGEST)


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
