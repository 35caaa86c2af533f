"""Solving for noise: the largest number that still keeps a promise, rounded to the safe side.

Also the one maximum that both a loss and a privacy curve are made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def largest(keeps: Callable[[float], bool], start: float = 1.0) -> float:
    """The largest ``x > 0`` with ``keeps(x)``, from below; ``keeps`` is true up to some point.

    Returns 0 where not even 1e-300 keeps the promise. Bisection to a relative 1e-12, then the
    lower end.
    """
    low, high = 0.0, start
    while keeps(high):
        low, high = high, 2.0 * high
        if high > 1e300:
            return low
    while low == 0.0:
        half = high / 2.0
        if half < 1e-300:
            return 0.0
        if keeps(half):
            low = half
        else:
            high = half
    while high - low > 1e-12 * low:
        middle = 0.5 * (low + high)
        if keeps(middle):
            low = middle
        else:
            high = middle
    return low


def logistic_maximum(a: float, q: float) -> float:
    """Maximum of the concave ``a t + log(1 + q t (1 - t))`` over ``t`` in [0, 1].

    The derivative at t = 1 is ``a - q``: for ``a >= q`` the maximum is ``a``. Otherwise it is
    at the stationary point, in the form that does not cancel for small ``a``.
    """
    if a >= q:
        return a
    ratio = (a + q) / q
    t = 2.0 * ratio / ((2.0 - a) + math.sqrt((a - 2.0) ** 2 + 4.0 * a * ratio))
    t = min(t, 1.0)
    return a * t + math.log1p(q * t * (1.0 - t))
