"""How many knots a number gets where it is left to Privet: a public rule.

    six      noise at most .0075 of what all rows can pull, with the columns of six knots
    three    at most .015, with those of three
    none     otherwise; with more than two classes; where a number declares its own

Noise is measured as in ``preparation.py``, of the best preparation. The limits are those that serve
Adult, KDD99, breast cancer and a made table best, found without Covertype, where knots help most
(``reproduce/rivals.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from privet.models.preparation import effects_of_noise
from privet.schema import Schema
from privet.schema.columns import Numeric

#: knots, and the largest noise for a row of length one with which they were found to help
LIMITS = {6: 0.0075, 3: 0.015}


def with_knots(
    schema: Schema, knots: int | Literal["auto"] | None, n: int, made: Callable[[Schema], Any]
) -> Schema:
    """The schema to encode ``n`` rows by; ``made`` gives the unfitted model for a schema."""
    if knots is None:
        return schema
    if knots != "auto":
        return schema.with_knots(knots)
    if not _left_open(made(schema), schema):
        return schema
    for several, limit in LIMITS.items():
        bent = schema.with_knots(several)
        if min(effects_of_noise(made(bent), n, bent.width).values()) <= limit * n:
            return bent
    return schema


def _left_open(model: Any, schema: Schema) -> bool:
    """Two classes, numbers that say nothing of knots, and a model that leaves all of it open."""
    straight = any(isinstance(c, Numeric) and c.knots is None for c in schema.columns.values())
    options = model.get_params(deep=False)
    left = all(
        options.get(name) == "auto"
        for name in ("standardize", "mechanism", "noise", "regularization")
    )
    known = options.get("center") is not None or options.get("public_rows") is not None
    two = schema.classes is not None and len(schema.classes) == 2
    return straight and left and not known and two and schema.domain is not None
