"""Checks of declared values, which say at which key of a schema they failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet._checks import LONGEST_SHOWN, is_number, shown
from privet._names import alike, is_safe
from privet.errors import DeclarationError
from privet.schema.cells import Value, text_of

OTHER = "(other)"


LARGEST = 1e100


class Misdeclared(DeclarationError):
    """A declaration that is wrong at one key, so that a file can be shown where."""

    def __init__(self, message: str, *key: str) -> None:
        super().__init__(message)
        self.key = key


def number(key: str, value: Any) -> float:
    """``value`` as a finite float."""
    if isinstance(value, str) and value == "?":
        raise Misdeclared(
            f"{key} is still '?'. Fill in a value that you can name without looking at the data.",
            key,
        )
    plain = value.item() if isinstance(value, np.generic) else value
    if not is_number(plain) or not -LARGEST <= plain <= LARGEST:  # not a number is in no range
        raise Misdeclared(
            f"{key} must be a number between -1e100 and 1e100, got {shown(value)}.", key
        )
    return float(plain)


def boolean(key: str, value: Any) -> None:
    """Refuse what is not true or false."""
    if not isinstance(value, bool):
        raise Misdeclared(f"{key} must be true or false, got {shown(value)}.", key)


def mark(value: Any) -> None:
    """Refuse what is no mark: false, true, or "confirmed" by a person."""
    if value != "confirmed" and not isinstance(value, bool):
        raise Misdeclared(
            f'from_data must be true, false or "confirmed", got {shown(value)}.', "from_data"
        )


def text(key: str, value: Any, *, lines: bool = False) -> str:
    """``value`` as text that files and arrays can keep; a cell may have several ``lines``."""
    if not isinstance(value, str) or not is_plain(" ".join(value.split()) if lines else value):
        raise Misdeclared(
            f"{key} must be plain text that is not blank and has no control characters, got "
            f"{shown(value)}.",
            key,
        )
    return value


def is_plain(value: str) -> bool:
    """Whether files, arrays and terminals can keep a text: not blank, nothing but characters."""
    return is_safe(value) and bool(value.strip())


def values(key: str, given: Any, fewest: int = 1, *, lines: bool = False) -> tuple[Value, ...]:
    """A list of different texts (with several ``lines``, as cells have), numbers or booleans."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise Misdeclared(f"{key} must be a list, got {type(given).__name__}.", key)
    listed = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
    if len(listed) == 1 and isinstance(listed[0], str) and listed[0] == "?":
        raise Misdeclared(f"{key} still hold '?'. Name them without looking at the data.", key)
    for value in listed:
        if isinstance(value, str):
            text(key, value, lines=lines)
        elif not isinstance(value, int) or abs(value) >= 1 << 63:
            raise Misdeclared(
                f"{key} must be texts, whole numbers or booleans, got {shown(value)}.", key
            )
    if len(listed) < fewest:
        raise Misdeclared(f"{key} must name at least {fewest}.", key)
    _refuse_twice(key, listed)
    return listed


def _refuse_twice(key: str, listed: tuple[Value, ...]) -> None:
    seen: set[str | None] = {OTHER}
    for value in listed:
        told = text_of(value)
        if told in seen:
            what = "is a reserved name" if told == OTHER else "is named twice"
            raise Misdeclared(f"In {key}, {shown(value)} {what}.", key)
        seen.add(told)
    # capitals may be codes of their own
    same = alike((value.strip() for value in listed if isinstance(value, str)), case=True)
    if same is not None:
        raise Misdeclared(
            f"In {key}, {shown(same[0])} and {shown(same[1])} look the same. Name one of them; "
            f"{ascii(same[1])[:LONGEST_SHOWN]} is how the second is written.",
            key,
        )
