"""Law: every kernel, at every parameter it accepts, is one as computed (no negative eigenvalue).

A matrix with a negative eigenvalue is the covariance of no noise, and the distances that the
sensitivities bound do not exist for it. Rows come in clusters at every distance that a double can
hold: a kernel that rounds a small distance to zero is caught there.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from privet.kernels import (
    KERNELS,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Spectrum,
)

Array = NDArray[np.float64]
NUS = (0.05, 0.07, 0.1, 0.2, 0.3, 0.49, 0.5, 0.51, 0.8, 0.999, 1.0, 1.001, 1.5, 1.9)
NUS += (2.0, 2.5, 2.99, 3.0, 3.01, 5.0, 12.3, 27.0, 50.0)
WIDTHS = (1e-6, 1.0, 1e6)
EACH: list[Kernel] = [
    *(Gaussian(gamma) for gamma in WIDTHS),
    *(Laplacian(gamma) for gamma in WIDTHS),
    *(Matern(gamma, nu) for gamma in WIDTHS for nu in NUS),
    *(Linear(bound) for bound in (1e-50, 1e-3, 1.0, 1e8, 1e50)),
    *(Polynomial(*declared) for declared in ((1, 1.0, 0.0), (2, 1e3, 1.0), (9, 0.1, 1.0, 5.0))),
    *(Polynomial(*declared) for declared in ((3, 1.0, 1e-9, 1e6), (40, 0.5, 0.5, 1.0))),
]


def clusters(n: int, d: int) -> Array:
    """Rows around a few centers, at distances from the smallest to the largest."""
    rng = np.random.default_rng()
    centers = rng.normal(size=(4, d)) * 10.0 ** rng.uniform(-3, 3, size=(4, 1))
    centers[0] = 0.0
    apart = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-150, 2, size=(n, 1))
    apart[: n // 2] = rng.normal(size=(n // 2, d)) * 10.0 ** rng.uniform(-12, 1, size=(n // 2, 1))
    return np.asarray(centers[rng.integers(4, size=n)] + apart)


@pytest.mark.parametrize("kernel", EACH, ids=str)
@pytest.mark.parametrize("d", [1, 4])
def test_no_eigenvalue_is_negative(kernel: Kernel, d: int) -> None:
    rows = clusters(120, d)
    gram = kernel(rows, rows)
    assert np.isfinite(gram).all()
    assert np.abs(gram - gram.T).max() <= 1e-12 * kernel.bound
    assert np.abs(np.diagonal(gram) - kernel.diagonal(rows)).max() <= 1e-12 * kernel.bound
    assert np.diagonal(gram).max() <= kernel.bound * (1.0 + 1e-12)
    least = float(np.linalg.eigvalsh((gram + gram.T) / 2.0)[0])
    assert least >= -1e-11 * kernel.bound


def test_the_strings_are_compared_by_a_kernel_too() -> None:
    rng = np.random.default_rng()
    words = ["".join(rng.choice(list("ab"), size=rng.integers(0, 40))) for _ in range(100)]
    for length in (1, 2, 5, 30):
        gram = Spectrum(length)(words, words)
        assert float(np.linalg.eigvalsh(gram)[0]) >= -1e-12


def test_every_named_kernel_is_looked_at() -> None:
    assert {kernel.name for kernel in EACH} | {"spectrum"} == set(KERNELS)


@pytest.mark.parametrize("nu", NUS)
def test_matern_is_its_formula_at_every_distance(nu: float) -> None:
    """Against forty digits, from 1e-150 to 300."""
    spaced = 10.0 ** np.concatenate([np.linspace(-150, -11, 40), np.linspace(-11, 2.4, 80)])
    found = Matern(0.25 / nu, nu)(np.zeros((1, 1)), spaced[:, None])[0]
    with mpmath.workdps(40):
        for s, value in zip(spaced, found, strict=True):
            lead = mpmath.mpf(2) ** (1 - mpmath.mpf(nu)) / mpmath.gamma(nu)
            exact = lead * mpmath.mpf(s) ** mpmath.mpf(nu) * mpmath.besselk(nu, s)
            assert abs(float(value - exact)) <= 1e-13
