"""Exact draws: their laws, and that the quick bounds decide nothing wrongly."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from privet import exact_draws
from privet.exact_draws import discrete_gaussian, discrete_laplace, geometric, largest
from privet.randomness import InsecureSeed, Randomness, SystemRandomness, Words

SYSTEM = SystemRandomness()
#: Of each test of a law; there are some twenty.
ALARM = 1e-8


class Listed(Randomness):
    """Words that a test chose, then those of a seed."""

    secure = False

    def __init__(self, *words: int) -> None:
        self._words, self._rest = list(words), InsecureSeed(0)

    def words(self, shape: tuple[int, ...]) -> Words:
        count = math.prod(shape)
        mine, self._words = self._words[:count], self._words[count:]
        rest = self._rest.words((count - len(mine),))
        return np.concatenate([np.array(mine, dtype=np.uint64), rest]).reshape(shape)


def fits(drawn: Any, mass: dict[int, float]) -> bool:
    """Pearson's test of the law; cells with little mass go together."""
    k = len(drawn)
    cells = [value for value, p in mass.items() if p * k > 20.0]
    expected = [mass[value] * k for value in cells]
    found = [float((drawn == value).sum()) for value in cells]
    if k - sum(expected) > 20.0:
        expected.append(k - sum(expected))
        found.append(k - sum(found))
    terms = [(f - e) ** 2 / e for f, e in zip(found, expected, strict=True)]
    return bool(sum(terms) < chi2.isf(ALARM, len(terms) - 1))


def normalized(weights: dict[int, float]) -> dict[int, float]:
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


def gaussian_mass(scale: float) -> dict[int, float]:
    reach = range(-math.ceil(12 * scale) - 2, math.ceil(12 * scale) + 3)
    return normalized({k: math.exp(-(k**2) / (2.0 * scale**2)) for k in reach})


def laplace_mass(scale: float) -> dict[int, float]:
    reach = range(-math.ceil(40 * scale) - 2, math.ceil(40 * scale) + 3)
    return normalized({k: math.exp(-abs(k) / scale) for k in reach})


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 7.3])
def test_the_laws_on_the_integers(scale: float) -> None:
    k = 200_000
    assert fits(discrete_gaussian(scale, k, SYSTEM), gaussian_mass(scale))
    assert fits(discrete_laplace(scale, k, SYSTEM), laplace_mass(scale))
    assert not fits(discrete_gaussian(scale, k, SYSTEM), gaussian_mass(1.05 * scale))
    assert not fits(discrete_laplace(scale, k, SYSTEM), laplace_mass(1.05 * scale))


def test_a_geometric_number_is_at_least_k_as_often_as_it_should_be() -> None:
    q = math.exp(-1.0 / 3.7)
    mass = {k: (1.0 - q) * q**k for k in range(200)}
    assert fits(geometric(3.7, 200_000, SYSTEM), mass)


@pytest.mark.parametrize("gumbel", [True, False])
def test_choices_have_their_laws(gumbel: bool) -> None:
    """Softmax; permute-and-flip as McKenna and Sheldon state it, summed over all orders."""
    values, scale = np.array([0.4, -0.2, 0.3, 0.1]), 0.35
    drawn = np.array([largest(values, scale, SYSTEM, gumbel=gumbel) for _ in range(20_000)])
    rest = np.exp((values - values.max()) / scale)
    mass = rest / rest.sum() if gumbel else permute_and_flip(rest)
    assert fits(drawn, dict(enumerate(mass)))
    other = permute_and_flip(rest) if gumbel else rest / rest.sum()
    assert not fits(drawn, dict(enumerate(other)))


def permute_and_flip(heads: Any) -> Any:
    from itertools import permutations

    mass = np.zeros(len(heads))
    orders = list(permutations(range(len(heads))))
    for order in orders:
        left = 1.0
        for place in order:
            mass[place] += left * heads[place] / len(orders)
            left *= 1.0 - heads[place]
    return mass


# -- the quick bounds and the slow ones say the same -----------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_quick_bounds_decide_as_the_slow_ones(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So wide that they decide nothing, the words decide all the same, one by one."""

    def drawn() -> list[Any]:
        values = np.linspace(0.0, 0.1, 30)
        return [
            [int(geometric(1.7e3, 1, InsecureSeed(seed + 10 * i))[0]) for i in range(60)],
            *(
                [largest(values, 0.1, InsecureSeed(seed + 10 * i), gumbel=way) for i in range(20)]
                for way in (True, False)
            ),
        ]

    quick = drawn()
    monkeypatch.setattr(exact_draws, "SLACK", 0.5)
    assert drawn() == quick


def test_laws_hold_on_the_slow_path_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_draws, "SLACK", 0.9)
    assert fits(discrete_gaussian(1.3, 1_500, SYSTEM), gaussian_mass(1.3))
    assert not fits(discrete_gaussian(1.3, 1_500, SYSTEM), gaussian_mass(2.0))


@given(st.integers(0, 2**64 - 1))
def test_the_bounds_enclose_every_number_that_begins_with_the_word(word: int) -> None:
    low, high = exact_draws._bounds(np.array([word], dtype=np.uint64))
    context = Context(prec=60)
    for part in (0, 1):
        rest = Decimal((1 << 64) - word - part)
        if rest == 0:
            assert high[0] == math.inf
            continue
        exact = context.minus(context.ln(context.divide(rest, Decimal(1 << 64))))
        assert Decimal(float(low[0])) <= exact <= Decimal(float(high[0]))


@pytest.mark.parametrize("function", [np.log1p, np.log])
def test_numpys_logarithms_are_a_hundred_times_better_than_assumed(function: Any) -> None:
    units = np.concatenate([SYSTEM.words((500,)) * 2.0**-64, 2.0 ** -np.arange(1.0, 64.0)])
    units = units[(units > 0.0) & (units < 1.0)]
    context = Context(prec=60)
    for unit in units.tolist():
        argument = -unit if function is np.log1p else unit
        whole = Decimal(argument) + (1 if function is np.log1p else 0)
        if function is np.log1p:
            whole = context.add(Decimal(argument), Decimal(1))
        exact = context.ln(whole)
        off = abs(Decimal(float(function(argument))) - exact)
        assert off <= abs(exact) * Decimal(exact_draws.SLACK) / 100


# -- hostile words and scales ----------------------------------------------------------------------

ONES = 2**64 - 1


@pytest.mark.parametrize("word", [0, 1, ONES, ONES - 1])
def test_the_ends_of_the_words_are_decided(word: int) -> None:
    size = int(geometric(10.0, 1, Listed(word, word, word))[0])
    assert size == 0 if word < 2 else size >= 443  # 10 ln 2^64
    values = np.zeros(2)
    first = largest(values, 1.0, Listed(word, 1 << 63), gumbel=False)
    assert first == (1 if word < 2 else 0)
    # a short wait is a large Gumbel number
    assert largest(values, 1.0, Listed(word, 1 << 63), gumbel=True) == (0 if word < 2 else 1)


def test_equal_words_are_told_apart_by_the_next_ones() -> None:
    values = np.zeros(2)
    same = [7, 7]
    # the next word of the first number, then that of the second
    assert largest(values, 1.0, Listed(*same, 0, ONES), gumbel=False) == 1
    assert largest(values, 1.0, Listed(*same, ONES, 0), gumbel=False) == 0
    assert largest(values, 1.0, Listed(*same, 0, ONES), gumbel=True) == 0


@pytest.mark.parametrize("scale", [2.0**45, 1e17, 1e40])
def test_scales_beyond_double_precision_keep_their_size(scale: float) -> None:
    drawn = discrete_laplace(scale, 300, SYSTEM)
    mean = float(np.mean([abs(int(value)) / scale for value in drawn]))
    assert abs(mean - 1.0) < 6.0 / math.sqrt(300)
    assert len({int(value) for value in drawn}) == 300


def test_values_far_apart_neither_overflow_nor_lose_their_order() -> None:
    with np.errstate(all="raise"):
        for gumbel in (True, False):
            values = np.array([-1.7e308, 1.7e308, 0.0])
            assert largest(values, 1e-300, SYSTEM, gumbel=gumbel) == 1
            assert largest(np.array([1.0, 1.0 + 2**-52]), 1e-20, SYSTEM, gumbel=gumbel) == 1


@pytest.mark.parametrize("draw", [discrete_gaussian, discrete_laplace])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_as_many_as_asked_for(draw: Any, count: int) -> None:
    assert len(draw(3.0, count, SYSTEM)) == count
