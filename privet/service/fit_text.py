"""The description of training jobs (OpenAPI), with examples."""

from __future__ import annotations

from privet._model_names import MODELS
from privet.service.api_text import KEY, Description, described
from privet.service.fit_request import OPTIONS

_WORD: Description = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"}
_NUMBER: Description = {"type": "number", "exclusiveMinimum": 0}
_KINDS = {str: "string", int: "integer", float: "number", type(None): "null", dict: "object"}

ASKED: Description = {
    "type": "object",
    "required": ["name", "table", "budget"],
    "additionalProperties": False,
    "properties": {
        "name": {**_WORD, "description": "What the model file will be called."},
        "table": {
            "type": "string",
            "pattern": r"^[A-Za-z0-9][A-Za-z0-9._-]{0,90}\.(csv|parquet)$",
            "description": "A file in the operator's folder. It is charged to the account that has "
            "its name without the ending.",
        },
        "budget": {
            "type": "object",
            "description": "epsilon, epsilon and delta, rho, or mu.",
            "additionalProperties": False,
            "properties": dict.fromkeys(("epsilon", "delta", "rho", "mu"), _NUMBER),
        },
        "model": {"type": "string", "enum": list(MODELS), "default": "logistic"},
        "schema": {
            "type": ["string", "null"],
            "description": "A schema as TOML; without it, the one beside the table.",
        },
        "options": {
            "type": ["object", "null"],
            "additionalProperties": False,
            "properties": {
                name: {"type": [_KINDS[kind] for kind in kinds]}
                for name, (_, kinds) in OPTIONS.items()
            },
        },
    },
}
EXAMPLE = {
    "name": "income-2026",
    "table": "people.csv",
    "budget": {"epsilon": 1.0},
    "model": "logistic",
}
JOB: Description = {
    "type": "object",
    "required": ["id", "state", "words", "charges"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "table": {"type": "string"},
        "model": {"type": "string"},
        "state": {
            "type": "string",
            "enum": ["waiting", "fitting", "released", "refused", "stopped"],
        },
        "words": {"type": "string", "description": "The state in a sentence, or the refusal."},
        "charges": {"type": "array", "description": "Entry, account and price of each charge."},
        "promise": {"type": "string"},
        "file": {"type": "string", "description": "The model file in the operator's folder."},
        "sha256": {"type": "string", "description": "Of the model file."},
    },
}
_ID = "0123456789abcdef0123456789abcdef"
_BEGUN = {
    "id": _ID,
    "name": "income-2026",
    "table": "people.csv",
    "model": "logistic",
    "state": "waiting",
    "charges": [],
    "words": "It waits for its turn; nothing was charged.",
}
_DONE = {
    **_BEGUN,
    "state": "released",
    "charges": [{"entry": 7, "dataset": "people", "price": "epsilon = 1"}],
    "words": "The model was released.",
    "promise": "epsilon = 1",
    "file": "income-2026.privet",
    "sha256": "0" * 64,
}
POSTED: Description = {
    "parameters": [KEY],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": ASKED, "examples": {"income": {"value": EXAMPLE}}}
        },
    },
    "responses": described(
        *(400, 401, 403, 404, 408, 409, 413, 422, 503),
        ok=JOB,
        examples={"begun": {"value": _BEGUN}},
        code=202,
    ),
}
LOOKED: Description = {
    "parameters": [
        {
            "name": "id",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "example": _ID,
        }
    ],
    "responses": described(401, 403, 404, 503, ok=JOB, examples={"released": {"value": _DONE}}),
}
