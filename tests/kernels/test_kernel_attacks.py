"""What a hostile reader found: neighbors that a crash told apart, a kernel that was none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import ZCDP, Ledger
from privet.errors import DataError
from privet.features.numeric import Gaussian, Laplacian
from privet.kernels import (
    InteractivePredictor,
    KernelSVC,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
    SuppliedKernel,
)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=str)
@pytest.mark.parametrize("flipped", [0, 1])
def test_a_minimizer_of_zero_looks_like_any_other(kernel: Any, flipped: int) -> None:
    """Twenty equal rows with balanced labels, and the same with one label changed."""
    x, y = np.full((20, 2), 0.3), np.array([0, 1] * 10)
    y[0] = flipped
    predictor = InteractivePredictor(ZCDP(1.0), kernel=kernel, regularization=0.5).fit(x, y)
    assert np.isfinite(predictor.decision_function(np.zeros((2, 2)))).all()
    public = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    for method in ("span", "kernel_noise", "tddl"):
        SemiInteractiveClassifier(
            ZCDP(1.0), public_points=public, kernel=kernel, regularization=0.5, mechanism=method
        ).fit(x, y)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1.7e9])
def test_the_gaussian_kernel_is_one_far_from_the_origin(offset: float) -> None:
    x = offset + np.random.default_rng().normal(size=(150, 3))
    gram = Gaussian(0.5)(x, x)
    np.testing.assert_array_equal(np.diag(gram), 1.0)
    assert float(np.linalg.eigvalsh(gram).min()) > -1e-9


def _fails(kind: str) -> SuppliedKernel:
    """A kernel that tells one object from the others by failing for it, or for a pair with it."""

    def function(a: Any, b: Any) -> Any:
        values = np.ones((len(a), len(b)))
        for i, left in enumerate(a):
            for j, right in enumerate(b):
                if kind == "raises" and "target" in (left, right):
                    raise ValueError(f"cannot compare {left} with {right}")
                if kind == "alone" and left == right == "target":
                    values[i, j] = np.nan
                if kind == "in pairs" and left != right and "target" in (left, right):
                    values[i, j] = np.nan
        return values

    return SuppliedKernel(function, 1.0)


WORDS, LABELS = ["a", "b", "target", "c"] * 5, [0, 1, 1, 0] * 5
ANSWERING: dict[str, Any] = {
    "interactive": lambda **told: InteractivePredictor(**told),
    "tddl": lambda **told: SemiInteractiveClassifier(
        public_points=["a", "b"], mechanism="tddl", **told
    ),
    "non-interactive": lambda **told: NonInteractiveClassifier(net=["a", "b"], **told),
    "landmarks": lambda **told: KernelSVC(public_points=["a", "b"], **told),
    "span": lambda **told: SemiInteractiveClassifier(public_points=["a", "b"], **told),
}


@pytest.mark.parametrize("way", ANSWERING)
@pytest.mark.parametrize("kind", ["alone", "in pairs", "raises"])
def test_a_kernel_that_fails_for_one_object_is_no_free_question(
    way: str, kind: str, tmp_path: Path
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", ZCDP(10.0))
    told = {"kernel": _fails(kind), "budget": ZCDP(1.0), "classes": [0, 1]}
    model = ANSWERING[way](ledger=ledger, dataset="people", **told)
    with pytest.raises(DataError, match="supplied kernel") as refused:
        model.fit(WORDS, LABELS)
    assert [entry.kind for entry in ledger.entries("people")] == ["open", "reserve"]
    assert "target" not in str(refused.value)
    assert refused.value.__context__ is None
    for name in ("guarantee_", "coef_", "dual_coef_", "transcript_"):
        assert not hasattr(model, name)
