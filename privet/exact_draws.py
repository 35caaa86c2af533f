"""Exact draws from the source's words: whole numbers of noise, and the largest of noisy values.

Everything is made of exponential waiting times ``E = -ln(1 - U)``, where ``U`` is a uniform number
whose binary digits are the source's words, as many as are needed:

    floor(s E)                               geometric, P(at least k) = exp(-k/s)
    a sign and floor(s E), minus zero again  discrete Laplace of scale s
    Y of scale t, kept where E > (|Y| - s^2/t)^2 / (2 s^2)
                                             discrete Gaussian of scale s (Canonne, Kamath and
                                             Steinke 2020, Algorithm 3, with t = floor(s) + 1)
    argmax of v_i/s + E_i                    permute-and-flip
    argmax of v_i/s - ln(E_i)                the exponential mechanism

The first word of ``U`` and floating-point bounds of ``E`` decide almost every time. Where they do
not, more words of the same ``U`` are read and ``E`` is computed again with so many digits that they
do: the laws are exact, whatever the last bits of a logarithm. ``exact_draws.proof.md`` is the
argument. No state is kept between calls: see ``privet.randomness``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array, Flags
from privet.randomness import Randomness, Words

Bounds = tuple[Array, Array]
Exact = tuple[Fraction, Fraction]
#: Whole numbers, of 64 bits or, for a very large scale, Python's own.
Whole = NDArray[Any]

WORD = 64
#: How far numpy's logarithms may be off, relatively; they are right to about 2^-51.
SLACK = 2.0**-44
#: Noise of a larger scale may leave 64 bits with a probability that is not out of the world.
LARGEST_SCALE = 2.0**50
#: Digits beyond those of a uniform number, for logarithms and their error.
SPARE_DIGITS = 40


# -- waiting times ---------------------------------------------------------------------------------


def _bounds(words: Words) -> Bounds:
    """Below and above the waiting time of every uniform number that begins with the word."""
    first = words.astype(np.float64)
    low = np.minimum(first * (1.0 - SLACK) * 2.0**-WORD, 1.0 - SLACK)
    high = np.minimum((first * (1.0 + SLACK) + 1.0) * 2.0**-WORD, 1.0)
    with np.errstate(divide="ignore"):  # where the word is all ones there is no upper bound
        return -np.log1p(-low) * (1.0 - SLACK), -np.log1p(-high) * (1.0 + SLACK)


def _tighter(word: int, randomness: Randomness) -> Iterator[tuple[Decimal, Decimal, Context]]:
    """Bounds of the same waiting time from more and more words, and the digits they are good to."""
    bits, count = word, WORD
    while True:
        for fresh in randomness.words((count // WORD,)):  # twice as many bits each time
            bits, count = (bits << WORD) | int(fresh), count + WORD
        # k / 2^count has at most count decimal digits: the arguments are exact
        context = Context(count + SPARE_DIGITS, ROUND_HALF_EVEN, Emin=-(10**6), Emax=10**6)
        whole = 1 << count
        yield (
            _widened(_wait(whole - bits, count, context), context)[0],
            _widened(_wait(whole - bits - 1, count, context), context)[1],
            context,
        )


def _wait(rest: int, count: int, context: Context) -> Decimal:
    """``-ln(rest / 2^count)``, correctly rounded; infinite where nothing is left."""
    if rest == 0:
        return Decimal("Infinity")
    part = context.divide(Decimal(rest), Decimal(1 << count))
    return context.minus(context.ln(part))


def _widened(value: Decimal, context: Context) -> tuple[Decimal, Decimal]:
    """Below and above a number that was rounded a few times."""
    if not value.is_finite():
        return value, value
    off = context.multiply(context.abs(value), Decimal((0, (1,), 5 - context.prec)))
    return context.subtract(value, off), context.add(value, off)


def _waiting(word: int, randomness: Randomness) -> Iterator[Exact]:
    """The waiting time itself, closer and closer, wherever it is bounded from above."""
    for low, high, _ in _tighter(word, randomness):
        if high.is_finite():
            yield Fraction(low), Fraction(high)


def _gumbel(word: int, randomness: Randomness) -> Iterator[Exact]:
    """Minus the logarithm of the waiting time, closer and closer, wherever it is bounded."""
    for low, high, context in _tighter(word, randomness):
        if low > 0 and high.is_finite():
            below = _widened(context.minus(context.ln(high)), context)[0]
            above = _widened(context.minus(context.ln(low)), context)[1]
            yield Fraction(below), Fraction(above)


# -- whole numbers ---------------------------------------------------------------------------------


def geometric(scale: float, count: int, randomness: Randomness) -> Whole:
    """``floor(scale E)``: at least ``k`` with probability ``exp(-k/scale)``."""
    words = randomness.words((count,))
    low, high = (np.floor(scale * bound) for bound in _bounds(words))
    clear = (low == high) & (high < 2.0**52)
    drawn: Whole = np.where(clear, low, 0.0).astype(np.int64)
    if scale > LARGEST_SCALE:
        drawn = drawn.astype(object)
    for i in np.flatnonzero(~clear):
        drawn[i] = _floor(Fraction(scale), int(words[i]), randomness)
    return drawn


def _floor(scale: Fraction, word: int, randomness: Randomness) -> int:
    for low, high in _waiting(word, randomness):
        if math.floor(scale * low) == math.floor(scale * high):
            return math.floor(scale * low)
    raise AssertionError  # the bounds never end


def discrete_laplace(scale: float, count: int, randomness: Randomness) -> Whole:
    """``P(k)`` proportional to ``exp(-|k|/scale)`` on the integers."""
    return _collected(lambda k: _signed(scale, k, randomness), count)


def _signed(scale: float, count: int, randomness: Randomness) -> Whole:
    """A sign and a size; zero would come with both signs, so one of them is drawn again."""
    sizes = geometric(scale, count, randomness)
    negative = (randomness.words((count,)) >> np.uint64(WORD - 1)).astype(bool)
    once: Flags = ~(negative & (sizes == 0))
    return np.where(negative, -sizes, sizes)[once]


def discrete_gaussian(scale: float, count: int, randomness: Randomness) -> Whole:
    """``P(k)`` proportional to ``exp(-k^2 / (2 scale^2))`` on the integers."""
    return _collected(lambda k: _kept(scale, k, randomness), count)


def _kept(scale: float, count: int, randomness: Randomness) -> Whole:
    """Discrete Laplace draws that pass the rejection step."""
    width = math.floor(scale) + 1
    drawn = discrete_laplace(float(width), count, randomness)
    words = randomness.words((count,))
    low, high = _bounds(words)
    # (|y| - s^2/t)/s has an error of some 2^-50 of its terms, and they are about as large
    apart = np.abs(drawn).astype(np.float64) / scale - scale / width
    needed = 0.5 * apart**2
    slack = SLACK * (1.0 + needed)
    kept, refused = low > needed + slack, high < needed - slack
    for i in np.flatnonzero(~(kept | refused)):
        kept[i] = _passes(Fraction(scale), width, int(drawn[i]), int(words[i]), randomness)
    return drawn[kept]


def _passes(scale: Fraction, width: int, drawn: int, word: int, randomness: Randomness) -> bool:
    needed = (abs(drawn) - scale**2 / width) ** 2 / (2 * scale**2)
    for low, high in _waiting(word, randomness):
        if low > needed or high < needed:
            return low > needed
    raise AssertionError  # the bounds never end


def _collected(draw: Callable[[int], Whole], count: int) -> Whole:
    """``count`` draws of a sampler that gives fewer than it is asked for."""
    parts, missing = [draw(0)], count
    while missing > 0:
        part = draw(missing + missing // 2 + 16)[:missing]
        parts.append(part)
        missing -= len(part)
    return np.concatenate(parts)


# -- choices ---------------------------------------------------------------------------------------


def largest(values: Array, scale: float, randomness: Randomness, *, gumbel: bool) -> int:
    """The place of the largest ``value/scale + noise``, Gumbel or exponential noise.

    The values count as they are given, to the last bit. All of them are gone through each time, and
    only what cannot be told apart by floating-point numbers takes longer.
    """
    words = randomness.words((len(values),))
    low, high = _bounds(words)
    if gumbel:
        with np.errstate(divide="ignore"):
            low, high = -np.log(high), -np.log(low)
        low, high = low - SLACK * (1.0 + np.abs(low)), high + SLACK * (1.0 + np.abs(high))
    with np.errstate(over="ignore"):  # minus infinity is far behind
        behind = (values - values.max()) / scale
    off = SLACK * np.abs(behind) + np.finfo(np.float64).tiny
    with np.errstate(invalid="ignore"):
        least, most = behind - off + low, behind + off + high
    ahead: Flags = ~(most < least.max())  # also what is not a number: infinity less infinity
    if int(ahead.sum()) == 1:
        return int(np.flatnonzero(ahead)[0])
    noises = _gumbel if gumbel else _waiting
    exact = {
        int(i): (Fraction(float(values[i])) / Fraction(scale), noises(int(words[i]), randomness))
        for i in np.flatnonzero(ahead)
    }
    return _first(exact)


def _first(runners: dict[int, tuple[Fraction, Iterator[Exact]]]) -> int:
    """The place of the largest, with as many digits as it takes."""
    while len(runners) > 1:
        found = {}
        for place, (value, noise) in runners.items():
            low, high = next(noise)
            found[place] = (value + low, value + high)
        best = max(low for low, _ in found.values())
        runners = {place: runners[place] for place, (_, high) in found.items() if high >= best}
    return next(iter(runners))
