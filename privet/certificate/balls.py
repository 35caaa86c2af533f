"""Real numbers as balls that certainly hold them, and the few functions that proofs need of them.

Everything is an ``arb`` of python-flint: a midpoint and a radius, with every rounding inside the
radius. A comparison is true only where it is certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from privet.errors import MissingExtra

try:
    from flint import arb, ctx
except ImportError as error:  # pragma: no cover - the extra is there where tests run
    raise MissingExtra(
        "The recomputation needs python-flint: install privet[verify], or ask for the other "
        "checks alone with --no-recompute."
    ) from error

Ball = Any  # flint.arb; the package has no types
PRECISION = 192
#: No release has as many numbers.
MOST_NUMBERS = 2**40
#: Halvings of a search: far below what a double can hold.
STEPS = 72


@contextmanager
def precision(bits: int = PRECISION) -> Iterator[None]:
    """Work with enough bits that only what is really close stays undecided."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: float | int) -> Ball:
    """A number of a file, exactly."""
    return arb(value)


def ratio(top: int, bottom: int) -> Ball:
    """A rational constant of a proof."""
    return arb(top) / arb(bottom)


def total(values: Iterable[Any]) -> Ball:
    """The sum."""
    return sum(values, arb(0))


def hull(first: Ball, second: Ball) -> Ball:
    """The smallest ball around both."""
    return first.union(second)


def larger(first: Ball, second: Ball) -> Ball:
    """The maximum."""
    return first.max(second)


def smaller(first: Ball, second: Ball) -> Ball:
    """The minimum."""
    return first.min(second)


def below(value: Ball) -> float:
    """A double that is certainly not above."""
    return _directed(value.lower(), -math.inf)


def above(value: Ball) -> float:
    """A double that is certainly not below."""
    return _directed(value.upper(), math.inf)


def _directed(value: Ball, toward: float) -> float:
    nearest = float(value)
    if not math.isfinite(nearest):
        return nearest
    beyond = arb(nearest) > value if toward < 0 else arb(nearest) < value
    return math.nextafter(nearest, toward) if beyond else nearest


def normal_tail(x: Ball) -> Ball:
    """``Phi(-x)``."""
    return (x / arb(2).sqrt()).erfc() / 2


def gaussian_delta(shift: Ball, epsilon: Ball) -> Ball:
    """``Phi(D/2 - e/D) - exp(e) Phi(-D/2 - e/D)``, for any real ``e`` (Balle and Wang 2018)."""
    near, far = epsilon / shift - shift / 2, epsilon / shift + shift / 2
    return normal_tail(near) - epsilon.exp() * normal_tail(far)


def concave_maximum(
    value: Callable[[Ball], Ball], slope: Callable[[Ball], Ball], low: Ball, high: Ball
) -> Ball:
    """The maximum of a concave function on ``[low, high]``, found by the sign of its slope."""
    if slope(high) >= 0:
        return value(high)
    if slope(low) <= 0:
        return value(low)
    for _ in range(STEPS):
        middle = ((low + high) / 2).mid()
        at = slope(middle)
        if at > 0:
            low = middle
        elif at < 0:
            high = middle
        else:
            break
    # a concave function is not below its value anywhere, and below each of its tangents
    middle = ((low + high) / 2).mid()
    found = value(middle)
    return hull(found, found + abs(slope(middle)) * (high - low))


def largest_near(fits: Callable[[Ball], bool], most: Ball, guess: Ball) -> Ball:
    """The same where a ``guess`` is the largest but for eight digits, and a search where it is not.

    What is fitting must be so for all smaller numbers.
    """
    low, high = guess * (1 - arb(2) ** -40), guess * (1 + arb(2) ** -26)
    if high < most and fits(low) and not fits(high):
        return low
    return largest_within(fits, most)


def largest_within(fits: Callable[[Ball], bool], most: Ball) -> Ball:
    """A number up to ``most`` for which ``fits`` is certain, nearly the largest; 0 always fits."""
    for near in (most, most * (1 - arb(2) ** -100)):
        if fits(near):
            return near
    low, high = arb(0), most.upper()
    for _ in range(STEPS):
        middle = ((low + high) / 2).mid()
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def gamma_quantile(shape: Ball, tail: float) -> Ball:
    """A number that a Gamma variate of this shape exceeds with at most this probability."""
    if not (shape > 0 and shape < MOST_NUMBERS):  # the search would not end
        raise ValueError("more numbers than any release has, or none")
    wanted, low, high = arb(tail), arb(0), shape + 100
    while not high.gamma_upper(shape, 1) <= wanted:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = ((low + high) / 2).mid()
        if middle.gamma_upper(shape, 1) <= wanted:
            high = middle
        else:
            low = middle
    return high.mid()
