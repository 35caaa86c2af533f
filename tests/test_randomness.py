"""The source of randomness: the system's, without state; seeds only by their name."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import randomness
from privet.errors import DeclarationError
from privet.randomness import InsecureSeed, Randomness, SystemRandomness, Words, source


class Fixed(Randomness):
    """Words that a test chose."""

    secure = False

    def __init__(self, *values: int) -> None:
        self._values = values

    def words(self, shape: tuple[int, ...]) -> Words:
        return np.resize(np.array(self._values, dtype=np.uint64), shape)


def test_without_a_seed_the_source_is_the_systems() -> None:
    assert source(None) == SystemRandomness()
    assert source(None).secure
    assert not source(0).secure


def test_words_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(randomness.os, "urandom", urandom)
    words = SystemRandomness().words((2, 2))
    assert asked == [32]
    assert words.tobytes() == bytes(range(32))


@given(st.tuples(st.integers(0, 5), st.integers(1, 5)))
def test_shapes(shape: tuple[int, int]) -> None:
    for each in (SystemRandomness(), InsecureSeed(1)):
        assert each.words(shape).shape == shape
        assert each.words(shape).dtype == np.uint64
        assert each.normals(shape).shape == shape
        assert each.gammas(shape[0], shape[1]).shape == (shape[0],)


def test_every_bit_of_a_word_is_used_evenly() -> None:
    """Each of 64 bits is set in half of the words; false alarm rate below 1e-6."""
    for each in (SystemRandomness(), InsecureSeed(int.from_bytes(SystemRandomness().words((1,))))):
        words, count = each.words((20_000,)), 20_000
        bits = np.array([((words >> np.uint64(bit)) & np.uint64(1)).sum() for bit in range(64)])
        assert np.abs(bits.astype(float) - count / 2).max() < 6.0 * math.sqrt(count / 4)


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_extreme_words_give_finite_numbers(word: int) -> None:
    fixed = Fixed(word)
    normal, gamma = fixed.normals((1,)), fixed.gammas(1, 3)
    assert np.isfinite(normal).all()
    assert (normal != 0.0).all()
    assert (gamma > 0.0).all()
    assert np.isfinite(gamma).all()


def test_the_tails_reach_twelve_standard_deviations_on_both_sides() -> None:
    low, high = Fixed(1).normals((1,))[0], Fixed(0).normals((1,))[0]
    assert low == -high
    assert 12.4 < high < 12.5


def test_a_long_gamma_is_summed_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws in several parts are as many as in one, none left at zero."""
    shapes: list[tuple[int, ...]] = []
    words = InsecureSeed.words

    def spy(self: InsecureSeed, shape: tuple[int, ...]) -> Words:
        shapes.append(shape)
        return words(self, shape)

    monkeypatch.setattr(InsecureSeed, "words", spy)
    drawn = InsecureSeed(1).gammas(5, 1 << 21)
    assert max(math.prod(shape) for shape in shapes) <= 1 << 22
    assert sum(shape[0] for shape in shapes if len(shape) == 2) == 5
    assert drawn == pytest.approx(2.0**21, rel=0.01)  # 14 standard deviations


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, (1,), math.nan])
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(DeclarationError, match="insecure_seed must be a non-negative integer"):
        source(seed)


def test_a_seed_reproduces_and_moves_on() -> None:
    one, two = InsecureSeed(7), InsecureSeed(np.int64(7))
    first = one.words((4,))
    assert (first == two.words((4,))).all()
    assert (first != one.words((4,))).all()


def test_a_seeded_source_is_neither_pickled_nor_copied() -> None:
    with pytest.raises(TypeError, match="same noise"):
        pickle.dumps(InsecureSeed(1))
    with pytest.raises(TypeError, match="same noise"):
        copy.deepcopy(InsecureSeed(1))


def test_the_systems_source_holds_nothing() -> None:
    assert pickle.loads(pickle.dumps(SystemRandomness())) == SystemRandomness()
    assert set(vars(SystemRandomness())) <= {"secure"}
    with pytest.raises(AttributeError):
        SystemRandomness().secure = False  # type: ignore[misc]


class Tail(Fixed):
    """The first word is the draw, the second what refines it."""

    def words(self, shape: tuple[int, ...]) -> Words:
        return np.full(shape, self._values[len(shape) == 1], dtype=np.uint64)


def test_small_numbers_are_as_fine_as_ordinary_ones() -> None:
    """An exponential in the far tail takes values closer together than the public grid."""
    rare, step = 2, 1 << 42  # a draw of probability 2^-63, and neighbors in its refinement
    ends = [Tail(rare, more).gammas(1, 1)[0] for more in (0, (1 << 64) - 1)]
    assert ends[0] - ends[1] == pytest.approx(math.log(2.0))
    near = [Tail(rare, (1 << 63) + more).gammas(1, 1)[0] for more in (0, step)]
    assert 0.0 < near[0] - near[1] < 2.0**-20
