"""What a hostile reader found: neighbours that a crash told apart, a kernel that was none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import ZCDP
from privet.kernels import InteractivePredictor, SemiInteractiveClassifier
from privet.kernels.kernels import Gaussian, Laplacian


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=str)
@pytest.mark.parametrize("flipped", [0, 1])
def test_a_minimiser_of_zero_looks_like_any_other(kernel: Any, flipped: int) -> None:
    """Twenty equal rows with balanced labels, and the same with one label changed."""
    x, y = np.full((20, 2), 0.3), np.array([0, 1] * 10)
    y[0] = flipped
    predictor = InteractivePredictor(kernel, budget=ZCDP(1.0), regularization=0.5).fit(x, y)
    assert np.isfinite(predictor.decision_function(np.zeros((2, 2)))).all()
    public = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    for method in ("span", "kernel_noise", "tddl"):
        SemiInteractiveClassifier(
            public_points=public, kernel=kernel, budget=ZCDP(1.0), regularization=0.5, method=method
        ).fit(x, y)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1.7e9])
def test_the_gaussian_kernel_is_one_far_from_the_origin(offset: float) -> None:
    x = offset + np.random.default_rng().normal(size=(150, 3))
    gram = Gaussian(0.5)(x, x)
    np.testing.assert_array_equal(np.diag(gram), 1.0)
    assert float(np.linalg.eigvalsh(gram).min()) > -1e-9
