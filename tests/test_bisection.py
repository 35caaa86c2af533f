"""The largest number that keeps a promise: found from below, never one that breaks it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.bisection import largest

powers = st.floats(-250.0, 250.0)


@given(powers, st.floats(-10.0, 10.0))
def test_the_answer_keeps_the_promise_and_hardly_more_breaks_it(edge: float, start: float) -> None:
    most = 10.0**edge
    found = largest(lambda x: x <= most, 10.0**start)
    assert found <= most
    assert found * (1.0 + 2e-12) > most


@given(powers)
def test_an_edge_that_is_not_reached_itself(edge: float) -> None:
    most = 10.0**edge
    found = largest(lambda x: x < most)
    assert found < most
    assert found == pytest.approx(most, rel=1e-11)


def test_a_promise_that_nothing_keeps() -> None:
    assert largest(lambda x: False) == 0.0


def test_a_promise_that_everything_keeps() -> None:
    assert 1e299 < largest(lambda x: True) < float("inf")
