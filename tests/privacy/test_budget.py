"""Budgets: what is refused, what is split, and which guarantee implies which."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from privet._checks import positive, positive_whole, probability
from privet.errors import DeclarationError
from privet.privacy import BUDGETS, ZCDP, ApproxDP, Budget, PureDP, as_budget
from privet.privacy.budget import budget_from_json
from privet.privacy.curves import gaussian_delta
from tests.strategies import budgets, deltas, epsilons, name_of

BAD_AMOUNTS: tuple[Any, ...] = (
    0,
    -1,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    "1",
    True,
    np.True_,
    None,
    1e-320,
    1e300,
    1 + 0j,
    [1.0],
    np.array([1.0, 2.0]),
)


def is_a_sentence(error: pytest.ExceptionInfo[DeclarationError], word: str) -> bool:
    text = str(error.value)
    return word in text and text.endswith(".") and " must be " in text


@pytest.mark.parametrize("bad", BAD_AMOUNTS, ids=repr)
def test_a_bad_epsilon_is_refused_with_a_sentence(bad: Any) -> None:
    for make in (PureDP, lambda epsilon: ApproxDP(epsilon, 1e-6)):
        with pytest.raises(DeclarationError) as error:
            make(bad)
        assert is_a_sentence(error, "epsilon")


@pytest.mark.parametrize("bad", BAD_AMOUNTS, ids=repr)
def test_a_bad_rho_is_refused_with_a_sentence(bad: Any) -> None:
    with pytest.raises(DeclarationError) as error:
        ZCDP(bad)
    assert is_a_sentence(error, "rho")


@pytest.mark.parametrize("bad", [*BAD_AMOUNTS, 1, 1.0, 0.9, 1e-20], ids=repr)
def test_a_bad_delta_is_refused_with_a_sentence(bad: Any) -> None:
    with pytest.raises(DeclarationError) as error:
        ApproxDP(1.0, bad)
    assert is_a_sentence(error, "delta")


@pytest.mark.parametrize("digits", [400, 5_000])  # beyond a double; beyond what Python writes
@pytest.mark.parametrize("sign", [1, -1])
def test_a_whole_number_beyond_a_double_is_refused_with_a_sentence(digits: int, sign: int) -> None:
    bad = sign * 10**digits
    for kind in BUDGETS.values():
        names = [field.name for field in fields(kind)]
        for name in names:
            with pytest.raises(DeclarationError) as error:
                kind(**{**dict.fromkeys(names, 1e-6), name: bad})
            assert is_a_sentence(error, name)
            assert len(str(error.value)) < 200
    with pytest.raises(DeclarationError):
        as_budget(bad)
    for check in (positive, probability, positive_whole):
        if (check, sign) != (positive_whole, 1):
            with pytest.raises(DeclarationError, match="count must be"):
                check("count", bad)


@pytest.mark.parametrize("bad", BAD_AMOUNTS, ids=repr)
def test_a_bare_number_must_be_a_good_epsilon(bad: Any) -> None:
    with pytest.raises(DeclarationError):
        as_budget(bad)


def test_a_bare_number_is_a_pure_epsilon() -> None:
    assert as_budget(1) == as_budget(np.float32(1.0)) == as_budget(np.int64(1)) == PureDP(1.0)
    assert as_budget(ZCDP(0.5)) == ZCDP(0.5)


@given(budgets())
def test_numbers_become_floats_and_stay_as_they_are(budget: Budget) -> None:
    assert all(type(value) is float for value in budget.facts().values())
    assert as_budget(budget) is budget


@given(budgets())
def test_json_there_and_back(budget: Budget) -> None:
    assert budget_from_json(json.loads(json.dumps(budget.to_json()))) == budget


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kind": "renyi", "epsilon": 1.0},
        {"epsilon": 1.0},
        {"kind": "pure"},
        {"kind": "pure", "epsilon": 1.0, "delta": 1e-6},
        {"kind": "pure", "epsilon": "1"},
        {"kind": ["pure"], "epsilon": 1.0},
    ],
    ids=repr,
)
def test_a_record_of_another_shape_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        budget_from_json(record)


@pytest.mark.parametrize("kind", BUDGETS)
def test_a_budget_is_frozen(kind: str) -> None:
    budget = BUDGETS[kind](0.1, 0.1) if kind == "approx" else BUDGETS[kind](0.1)
    for name in budget.facts():
        with pytest.raises(AttributeError):
            setattr(budget, name, 1.0)


@given(budgets())
def test_a_fraction_is_a_fraction_of_every_number(budget: Budget) -> None:
    half = budget.fraction(0.5)
    assert type(half) is type(budget)
    assert half.facts() == {name: 0.5 * value for name, value in budget.facts().items()}
    assert budget.covers(half)
    assert not half.covers(budget)


@given(budgets())
def test_a_budget_covers_itself(budget: Budget) -> None:
    assert budget.covers(budget)


@given(epsilons, deltas)
def test_pure_covers_only_pure(epsilon: float, delta: float) -> None:
    assert PureDP(epsilon).covers(PureDP(epsilon))
    assert not PureDP(epsilon).covers(ZCDP(1e-9))
    assert not PureDP(epsilon).covers(ApproxDP(epsilon, delta))
    assert not ZCDP(epsilon).covers(ApproxDP(1e-6, delta))


@given(epsilons)
def test_pure_epsilon_is_half_its_square_in_rho(epsilon: float) -> None:
    rho = epsilon**2 / 2.0
    assert ZCDP(rho).covers(PureDP(epsilon))
    assert not ZCDP(rho * (1.0 - 1e-9)).covers(PureDP(epsilon))


@given(epsilons, deltas)
def test_approximate_covers_pure_and_smaller_approximate(epsilon: float, delta: float) -> None:
    budget = ApproxDP(epsilon, delta)
    assert budget.covers(PureDP(epsilon))
    assert not budget.covers(PureDP(epsilon * 1.001))
    assert budget.covers(ApproxDP(epsilon * 0.9, delta * 0.9))
    assert not budget.covers(ApproxDP(epsilon, delta * 1.001))
    assert not budget.covers(ApproxDP(epsilon * 1.001, delta))


@given(deltas)
def test_zcdp_is_converted_soundly(delta: float) -> None:
    """What covers rho-zCDP covers the Gaussian mechanism, a member of it; and is not absurd."""
    rho = 0.1
    classical = rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
    assert ApproxDP(classical, delta).covers(ZCDP(rho))
    assert not ApproxDP(1e-3, 1e-9).covers(ZCDP(rho))
    for epsilon in np.linspace(0.01, classical, 5):
        if ApproxDP(float(epsilon), delta).covers(ZCDP(rho)):
            assert gaussian_delta(math.sqrt(2.0 * rho), float(epsilon)) <= delta


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (PureDP(1.0), "epsilon = 1"),
        (ZCDP(0.5), "rho = 0.5 (zero-concentrated)"),
        (ApproxDP(1.0, 1e-6), "epsilon = 1, delta = 1e-06"),
    ],
    ids=name_of,
)
def test_a_budget_reads_as_a_phrase(budget: Budget, text: str) -> None:
    assert str(budget) == text
