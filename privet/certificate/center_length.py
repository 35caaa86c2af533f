"""How long the declared center of a ridge is: it is a linear term ``n Lam |c|`` of the objective.

No sensitivity depends on it. What rounding can do to a minimum does, a little, and so does the norm
that no minimum passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privet.certificate.balls import Ball, ball
from privet.certificate.declared_rows import row_bound
from privet.certificate.file_facts import Record
from privet.certificate.verdicts import Number, equal, fact, stated

#: The constant among rows at norm 1, in units of the norm bound.
CONSTANT = 0.2
NAME = "length of the center"


def center_number(release: str, declared: Record, kept: float) -> Iterator[Number]:
    """The length that the numbers below use, against the declared coefficients and offsets."""
    center, prepared = declared.get("center"), declared.get("standardize")
    if center is None:
        if kept:
            yield fact(release, NAME, kept, False, "the file declares no center")
        return
    if prepared == "whiten" or declared.get("features") is not None:
        yield stated(release, NAME, kept, "taken from the file, in units of its own features")
        return
    told = "length of the declared coefficients and offsets"
    yield equal(release, NAME, kept, _length(center, declared, prepared == "unit"), told)


def _length(center: Any, declared: Record, unit: bool) -> Ball:
    coef, offsets = center
    share = CONSTANT if unit else declared.get("constant", 1.0)
    constant = ball(share) * row_bound(declared)
    with_intercept = bool(declared["fit_intercept"])
    rows = [
        [*map(ball, row), *([ball(offset) / constant] if with_intercept else [])]
        for row, offset in zip(coef, offsets, strict=True)
    ]
    total = ball(0)
    for column in zip(*rows, strict=True):
        mean = sum(column, ball(0)) / len(column) if len(column) > 1 else ball(0)
        total = total + sum(((number - mean) ** 2 for number in column), ball(0))
    return total.sqrt()
