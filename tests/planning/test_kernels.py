"""Sizes of kernel models: public, monotone, consistent with the linear answer."""

import math

import pytest

from privet import PureDP, plan
from privet.errors import DeclarationError

BASE = plan(n=100_000, d=10, budget=PureDP(1.0))


def test_features_follow_the_theorem() -> None:
    found = BASE.kernel_needed(0.2, 2.0, beta=0.05)
    assert found.frequencies == math.ceil(400 * math.log(20.0))
    assert found.columns == 2 * found.frequencies


def test_rows_are_those_of_a_linear_model_of_that_size() -> None:
    found = BASE.kernel_needed(0.2, 2.0, beta=0.05)
    linear = plan(n=100_000, d=found.columns, budget=PureDP(1.0), fit_intercept=False)
    assert found.rows == linear.rows_needed(0.1, 2.0, beta=0.05)


def test_less_excess_and_larger_references_need_more() -> None:
    easy, strict, bold = (
        BASE.kernel_needed(*case) for case in ((0.4, 1.0), (0.2, 1.0), (0.4, 2.0))
    )
    assert easy.frequencies < strict.frequencies == bold.frequencies
    assert easy.rows.up_to_constant < strict.rows.up_to_constant
    assert easy.rows.up_to_constant < bold.rows.up_to_constant


def test_it_reads_well_and_refuses_nonsense() -> None:
    text = " ".join(str(BASE.kernel_needed(0.4)).split())
    assert "frequencies" in text
    assert "unnamed constant" in text
    for excess, bound in ((0.0, 1.0), (math.nan, 1.0), (0.1, -1.0)):
        with pytest.raises(DeclarationError):
            BASE.kernel_needed(excess, bound)
