"""Numbers that are what such numbers can be: positive, whole, no truth value and no text.

Formulas are monotone for numbers of their range alone. A negative norm bound would make every
sensitivity negative, and a negative price would pay for another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privet.certificate.file_facts import FileFacts
from privet.certificate.verdicts import Number, agreed


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Positive wherever they stand, if they are numbers at all ("auto" and null are none).
POSITIVE = _names(
    "norm_bound constant h margin knee gamma nu epsilon rho mu delta shift k sensitivity n width "
    "size gap_scale clip radius epochs answer_scale rounds point_epsilon candidates "
    "gradient_bound curvature_bound difference_bound largest_constant degree bound components "
    "steps classes rank scores dimension group"
)
#: May be zero, too: objects like texts have no columns.
NOT_NEGATIVE = _names(
    "scale loss slack tolerance center_norm m regularization coef0 share n_features columns gap_sd"
)
WHOLE = _names(
    "n m width epochs rounds candidates degree components steps classes rank n_features columns "
    "dimension group version"
)
MOST = {"share": 1.0, "delta": 1.0}
#: A declaration may name its loss; that of a curve is a number.
NAMED_LOSS = "the name of a loss"
#: What was released and what is only shown: numbers of any size.
FREE = _names("theta counts measures table directions arrays stretch receipt")


def sound_numbers(facts: FileFacts) -> Iterator[Number]:
    """Whether every number of the facts is in its range."""
    wrong = sorted(set(_wrong(facts.header, "")))
    told = "numbers must be in their range"
    if wrong:
        told = f"{told}, these are not: {', '.join(wrong[:5])}"
    yield agreed("file", "ranges", not wrong, told)


def _wrong(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in FREE:
                named = name == "loss" and "kind" not in value  # curves have a kind
                yield from _wrong(inner, NAMED_LOSS if named else name)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                yield from _wrong(inner, key)
    elif not _is_sound(value, key):
        yield key


def _is_sound(value: Any, key: str) -> bool:
    if key not in POSITIVE | NOT_NEGATIVE | WHOLE:
        return True
    if isinstance(value, bool):
        return False
    if not isinstance(value, int | float):  # a declared set of classes may have a name
        return value is None or value == "auto" or key == "classes"
    if key in WHOLE and not isinstance(value, int):
        return False
    least = value > 0 if key in POSITIVE else value >= 0
    return least and value <= MOST.get(key, value)
