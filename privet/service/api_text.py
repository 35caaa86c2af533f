"""The description of the routes (OpenAPI), with examples that are made from declarations alone."""

from __future__ import annotations

from typing import Any

from privet.schema import Schema
from privet.schema.columns import Categorical
from privet.service.served_model import Served, example

Description = dict[str, Any]

ERROR: Description = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
WORDS = {
    400: "Malformed.",
    401: "No token, or a wrong one.",
    403: "The token is not for this, or a page of another site asks.",
    404: "No such model, table or job.",
    408: "The body did not arrive in time.",
    409: "Nothing is left, or a key or name is taken.",
    413: "Too many bytes or rows.",
    422: "A row that the schema does not describe. The words quote no value.",
    429: "Too many requests; see Retry-After.",
    503: "The ledger cannot be used; nothing was answered.",
}


def described(
    *statuses: int, ok: Description, examples: Description | None = None, code: int = 200
) -> Description:
    """The responses of a route."""
    media: Description = {"schema": ok, **({"examples": examples} if examples else {})}
    found: Description = {
        str(code): {"description": "Answered.", "content": {"application/json": media}}
    }
    for status in (*statuses, 429):
        content = {"application/json": {"schema": ERROR}}
        found[str(status)] = {"description": WORDS[status], "content": content}
    return found


def counted(responses: Description) -> Description:
    """The same, with numbers as text where it is answered."""
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {**responses, "200": {"description": "Counted.", "content": content}}


def model_parameter(names: list[str]) -> Description:
    """``?model=name``; needed where several are served."""
    return {
        "name": "model",
        "in": "query",
        "required": len(names) > 1,
        "description": "Which of the served models.",
        "schema": {"type": "string", "enum": names},
    }


KEY: Description = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A name for this request, at most 200 letters. An interactive release "
    "refuses the same key with another body.",
    "schema": {"type": "string", "maxLength": 200, "pattern": "^[A-Za-z0-9_-]+$"},
}


def row_schema(schema: Schema) -> Description:
    """What a row looks like."""
    cells: Description = {}
    for name, column in schema.columns.items():
        if isinstance(column, Categorical):
            known = [category for category in column.categories if isinstance(category, str)]
            told = ", ".join(map(str, column.categories[:12]))
            cells[name] = {
                "type": ["string", "integer", "number", "boolean", "null"],
                "description": f"One of {told}{' ...' if len(column.categories) > 12 else ''}.",
                **({"examples": known[:3]} if known else {}),
            }
        else:
            cells[name] = {
                "type": ["number", "string", "boolean", "null"],
                "description": "A number; null where it is missing. It is clipped to the declared "
                "bounds.",
            }
    return {
        "type": "object",
        "properties": cells,
        "required": list(cells),
        "additionalProperties": False,
    }


def asking(served: dict[str, Served], most: int) -> Description:
    """``POST /predict``."""
    statuses = (400, 401, 403, 404, 408, 409, 413, 422, 503)
    answer = {name: {"value": answered(each)} for name, each in served.items()}
    return {
        "requestBody": body_of(served, most),
        "responses": described(*statuses, ok=PREDICTED, examples=answer),
    }


def answered(served: Served) -> Description:
    """What an answer looks like: made up, in the form that the release answers in."""
    told: Description = {"model": served.name, "sha256": served.digest, **served.outcome}
    if "bounds" in told:
        return {**told, "predictions": [sum(told["bounds"]) / 2.0]}
    each = (
        [0.0]
        if served.told_as == "scores"
        else [[1.0 / len(told["classes"])] * len(told["classes"])]
    )
    return {**told, "predictions": told["classes"][:1], served.told_as: each}


def body_of(served: dict[str, Served], most: int) -> Description:
    """The body of ``POST /predict``."""
    rows = [row_schema(each.schema) for each in served.values()]
    return {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["rows"],
                    "additionalProperties": False,
                    "properties": {
                        "rows": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": most,
                            "items": rows[0] if len(rows) == 1 else {"anyOf": rows},
                        }
                    },
                },
                "examples": {
                    name: {"value": {"rows": [example(each.schema)]}}
                    for name, each in served.items()
                },
            }
        },
    }


PREDICTED: Description = {
    "type": "object",
    "required": ["model", "predictions"],
    "properties": {
        "model": {"type": "string"},
        "sha256": {"type": "string", "description": "Of the release that answered."},
        "predictions": {
            "type": "array",
            "description": "For each row a declared class, or a number in the target's own units.",
        },
        "classes": {"type": "array"},
        "probabilities": {"type": "array", "description": "For each row, in the order of classes."},
        "scores": {"type": "array", "description": "Positive for the second class."},
        "target": {"type": "string", "description": "Of a regression: what the numbers are."},
        "bounds": {"type": "array", "description": "Of a regression: the declared interval."},
        "noise_sd": {"type": "number", "description": "Of the noise in one score."},
        "noise_at_most": {
            "type": "number",
            "description": "Of a regression: noise moves a prediction by at most this in 95 of 100 "
            "releases, whatever the rows, to first order.",
        },
    },
}
ANY: Description = {"type": "object"}
