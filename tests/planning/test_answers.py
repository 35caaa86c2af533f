"""Errors of kernel answers in a plan: public, and those of the models that follow."""

from __future__ import annotations

import numpy as np
import pytest

from privet import ApproxDP, PureDP, plan
from privet.errors import DeclarationError
from privet.kernels import Gaussian, InteractivePredictor

PLAN = plan(n=100_000, d=5, budget=ApproxDP(1.0, 1e-6), regularization=1e-3)


def test_a_function_release_does_not_depend_on_the_number_of_answers() -> None:
    few, many = PLAN.answers(100), PLAN.answers(100_000)
    assert few.function_sd == many.function_sd == pytest.approx(0.0861, rel=0.01)
    assert many.predictions_sd == pytest.approx(few.predictions_sd * 1000**0.5, rel=1e-3)
    assert few.predictions_sd > 8.0 * (few.function_sd or 1.0)
    assert few.function_error is not None
    assert few.function_error < few.sparse_vector_error
    assert few.sparse_vector_error < many.sparse_vector_error


def test_the_plan_is_what_the_model_does() -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    y = (x[:, 0] > 0).astype(int)
    told = plan(n=200, d=2, budget=ApproxDP(1.0, 1e-6), regularization=0.1).answers(50)
    model = InteractivePredictor(ApproxDP(1.0, 1e-6), kernel=Gaussian(1.0), regularization=0.1).fit(
        x, y
    )
    assert told.function_sd == pytest.approx(model.noise_sd_, rel=1e-3)
    pure = plan(n=200, d=2, budget=PureDP(5.0), regularization=0.1).answers(50)
    sparse = InteractivePredictor(5.0, kernel=Gaussian(1.0), regularization=0.1, queries=50).fit(
        x, y
    )
    assert pure.sparse_vector_error == sparse.error_bound_
    assert pure.updates == sparse.updates_allowed_


def test_it_reads_well_and_refuses_nonsense() -> None:
    assert "not with a pure budget" in str(plan(n=1000, d=2, budget=1.0).answers())
    assert "10,000 answers within" in str(PLAN.answers())
    with pytest.raises(DeclarationError):
        PLAN.answers(0)
    with pytest.raises(DeclarationError):
        PLAN.answers(10, beta=2.0)
