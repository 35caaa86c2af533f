"""Group privacy: what a row's guarantee says about a person with several rows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import DeclarationError
from privet.ledger.account import Terms
from privet.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.curves import gaussian_delta
from tests.strategies import EACH_BUDGET, gaussian_event, pure_event

SIZES = st.integers(1, 12)


def hockey_stick(p: Any, q: Any, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def test_the_formulas() -> None:
    assert PureDP(0.5).for_group(4) == PureDP(2.0)
    assert ZCDP(0.5).for_group(4) == ZCDP(8.0)
    grown = ApproxDP(0.5, 1e-6).for_group(3)
    assert isinstance(grown, ApproxDP)
    assert grown.epsilon == 1.5
    assert grown.delta == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1.0)), rel=1e-12)


@pytest.mark.parametrize("budget", EACH_BUDGET, ids=str)
def test_one_row_is_itself(budget: Budget) -> None:
    assert budget.for_group(1) == budget
    assert budget.per_row(1) == budget


@given(st.floats(0.01, 2.0), st.floats(1e-4, 0.1), st.integers(2, 5))
def test_a_chain_of_the_worst_steps_attains_it(epsilon: float, delta: float, k: int) -> None:
    """Each step moves probability as far as (epsilon, delta) lets it: the group meets the bound."""
    p = [0.0]
    for _ in range(k):
        p.append(min(1.0, math.exp(epsilon) * p[-1] + delta))
    try:
        group = ApproxDP(epsilon, delta).for_group(k)
    except DeclarationError:
        return
    assert isinstance(group, ApproxDP)
    if p[-1] < 1.0:
        assert p[-1] == pytest.approx(group.delta, rel=1e-9)


@given(st.lists(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), min_size=3, max_size=5))
def test_no_chain_of_distributions_exceeds_it(rows: list[list[float]]) -> None:
    chain = [np.array(row) / sum(row) for row in rows]
    pairs = list(itertools.pairwise(chain))
    for epsilon in (0.1, 0.7):
        delta = max(max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) for p, q in pairs)
        try:
            group = ApproxDP(epsilon, max(delta, 1e-14)).for_group(len(pairs))
        except DeclarationError:
            continue
        assert isinstance(group, ApproxDP)
        assert hockey_stick(chain[-1], chain[0], group.epsilon) <= group.delta + 1e-12


@given(st.floats(0.05, 1.0), st.floats(0.1, 2.0), st.integers(2, 4))
def test_gaussian_noise_keeps_the_promise(shift: float, epsilon: float, k: int) -> None:
    """Moving k times as far costs k^2 rho exactly, and at most the grown delta."""
    assert ZCDP(shift**2 / 2).for_group(k).facts()["rho"] == pytest.approx((k * shift) ** 2 / 2)
    delta = float(gaussian_delta(shift, epsilon))
    grown = delta * math.expm1(k * epsilon) / math.expm1(epsilon)
    if not (delta > 1e-12 and grown < 0.5):  # a budget has no larger delta
        return
    try:
        group = ApproxDP(epsilon, delta).for_group(k)
    except DeclarationError:  # nothing is left of the promise
        return
    assert isinstance(group, ApproxDP)
    assert gaussian_delta(k * shift, group.epsilon) <= group.delta


@given(st.sampled_from(EACH_BUDGET), SIZES)
def test_the_way_back_never_exceeds_what_was_asked(budget: Budget, k: int) -> None:
    again = budget.per_row(k).for_group(k)
    assert budget.covers(again)
    for name, asked in budget.facts().items():
        assert again.facts()[name] == pytest.approx(asked, rel=2e-5)


@given(st.integers(50, 20_000), SIZES)
def test_a_persons_whole_cap_can_be_spent_at_once(thousandths: int, k: int) -> None:
    """A ledger rounds a row's cost up to billionths and multiplies; it must still fit."""
    amount = thousandths / 1000
    for budget, event in ((PureDP(amount), pure_event), (ZCDP(amount), gaussian_event)):
        terms = Terms(budget, group=k)
        (share,) = budget.per_row(k).facts().values()
        terms.admit("people", terms.nothing(), event(share), None)  # raises where it does not fit


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True, None, math.nan])
def test_a_size_is_a_number_of_rows(bad: Any) -> None:
    for function in (PureDP(1.0).for_group, PureDP(1.0).per_row):
        with pytest.raises(DeclarationError, match="size must be"):
            function(bad)


def test_a_group_too_large_to_protect_is_refused() -> None:
    for budget in (PureDP(1.0), ZCDP(1.0), ApproxDP(1.0, 1e-6)):
        with pytest.raises(DeclarationError, match="must be between"):
            budget.for_group(10_000)


def test_the_old_address_still_answers_and_says_where_it_moved() -> None:
    from privet.privacy import group

    for name in ("for_group", "per_row"):
        with pytest.warns(FutureWarning, match=rf"budget\.{name}"):
            assert getattr(group, name)(ZCDP(0.5), 3) == getattr(ZCDP(0.5), name)(3)


@pytest.mark.parametrize("size", [2**63, 10**200, 10**307], ids=["int", "square", "long"])
@pytest.mark.parametrize("budget", [PureDP(0.5), ZCDP(0.5), GDP(0.5), ApproxDP(0.5, 1e-6)], ids=str)
def test_more_rows_than_any_table_has_are_refused(budget: Budget, size: int) -> None:
    """Their square is no double: a mutated file ended in an OverflowError."""
    for question in (budget.for_group, budget.per_row):
        with pytest.raises(DeclarationError, match="rows"):
            question(size)
