"""Checks of declared numbers: each returns the number as it is used from then on, or refuses it.

Booleans are numbers to Python and never to Privet: ``True`` where a count or a bound is expected is
a mistake that would otherwise pass as 1. Messages may quote the value, since it was declared by the
user and not read from a row.
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np

from privet.errors import DeclarationError

#: Signs of a declared value that a sentence repeats.
LONGEST_SHOWN = 60


def is_number(value: Any) -> TypeGuard[int | float | np.floating[Any] | np.integer[Any]]:
    """Whether ``value`` is a real number, of Python's or numpy's, and not a boolean."""
    real = isinstance(value, int | float | np.floating | np.integer)
    return real and not isinstance(value, bool)


def is_whole(value: Any) -> TypeGuard[int | np.integer[Any]]:
    """Whether ``value`` is an integer, of Python's or numpy's, and not a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_float(value: int | float | np.floating[Any] | np.integer[Any]) -> float:
    """``value`` as a float; a whole number beyond the largest one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shown(value: Any) -> str:
    """A declared value for a sentence, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "a whole number of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def number_between(name: str, value: Any, smallest: float, largest: float) -> float:
    """``value`` as a float, refused unless it is a number between the two ends."""
    if not is_number(value):
        raise DeclarationError(f"{name} must be a number, got {shown(value)}.")
    number = as_float(value)
    if not smallest <= number <= largest:
        raise DeclarationError(
            f"{name} must be between {smallest:g} and {largest:g}, got {shown(value)}."
        )
    return number


def positive(name: str, value: Any) -> float:
    """``value`` as a float, refused unless it is a positive finite number."""
    if not is_number(value) or not 0.0 < as_float(value) < math.inf:
        raise DeclarationError(f"{name} must be a positive finite number, got {shown(value)}.")
    return as_float(value)


def positive_whole(name: str, value: Any, what: str = "a positive integer") -> int:
    """``value`` as an int, refused unless it is a whole number and at least one."""
    if not is_whole(value) or value < 1:
        raise DeclarationError(f"{name} must be {what}, got {shown(value)}.")
    return int(value)


def probability(name: str, value: Any) -> float:
    """``value`` as a float, refused unless it is strictly between 0 and 1."""
    if not is_number(value) or not 0.0 < as_float(value) < 1.0:
        raise DeclarationError(f"{name} must be between 0 and 1, got {shown(value)}.")
    return float(value)


def norm_bound(value: Any) -> float:
    """A declared bound on the rows' norms whose square is an ordinary number."""
    number = positive("norm_bound", value)
    if not 1e-100 <= number <= 1e100:
        raise DeclarationError(
            f"norm_bound must be between 1e-100 and 1e100, got {shown(value)}. Rescale the "
            "features."
        )
    return number
