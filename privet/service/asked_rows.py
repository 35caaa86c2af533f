"""The body of a request, believed in nothing: bytes to rows in the schema's own columns."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from privet._types import Array
from privet.schema import Schema
from privet.schema.row_encoder import RowEncoder
from privet.service.refusals import Refusal


def parsed_body(raw: bytes, fields: frozenset[str]) -> dict[str, Any]:
    """A JSON object with these fields and no others."""
    try:
        found = from_json(raw, allow_inf_nan=False)
        if raw.count(b":") != _pairs(found):  # a key twice, or a colon in a text
            found = _DECODER.decode(raw.decode())
    except (ValueError, RecursionError):  # also what is not UTF-8, and endless numbers
        raise Refusal(
            422,
            "rows",
            "The body is not JSON, or it has NaN, an infinity, a key twice or too deep nesting.",
        ) from None
    if not isinstance(found, dict) or found.keys() - fields:
        named = ", ".join(sorted(fields))
        raise Refusal(422, "rows", f"The body must be a JSON object with no field but {named}.")
    return found


def _pairs(found: Any) -> int:
    """Keys in ``{"rows": [{...}, ...]}``, each of which has its colon; -1 for other values."""
    rows = found.get("rows") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(type(row) is dict for row in rows):
        return -1
    return len(found) + sum(len(row) for row in rows)


def _no_number(name: str) -> float:
    raise ValueError(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key that occurs twice")
    return found


_DECODER = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=_once)


class AskedRows:
    """Rows of a request for one model: as many as are allowed, encoded."""

    def __init__(self, schema: Schema, most: int) -> None:
        self.encoder = RowEncoder(schema)
        self.most = most

    def __call__(self, body: dict[str, Any]) -> Array:
        """Encoded rows of ``{"rows": [{"age": 41, ...}]}``; refused where they are not."""
        rows = body.get("rows")
        if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
            raise Refusal(
                422, "rows", 'Send {"rows": [{"column": value, ...}, ...]} with at least one row.'
            )
        if len(rows) > self.most:
            raise Refusal(413, "size", f"A request may have {self.most:,} rows at most.")
        return self.encoder(rows)
