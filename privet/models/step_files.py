"""Steps before a model as plain values for a model file: a closed list, data and never code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures

from privet.errors import DataError, DeclarationError
from privet.models.encoder import SchemaEncoder
from privet.models.row_wise import Parted, elementwise
from privet.schema import Schema

LARGEST_DEGREE = 50
#: Steps that a file may name, with the parameters that it keeps.
STEPS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "Normalizer": (Normalizer, ("norm",)),
    "Binarizer": (Binarizer, ("threshold",)),
    "PolynomialFeatures": (PolynomialFeatures, ("degree", "interaction_only", "include_bias")),
}


def to_json(parts: Parted) -> dict[str, Any]:
    """Schema, steps and the number of columns that the first step takes."""
    return {
        "schema": None if parts.schema is None else parts.schema.to_toml(),
        "steps": [[name, *_out(name, step)] for name, step in parts.steps],
        "columns": _columns(parts),
        "name": parts.name,
    }


def from_json(record: dict[str, Any], model: Any) -> Pipeline:
    """The pipeline that was saved, around its model."""
    steps = [(str(name), _in(str(kind), dict(kept))) for name, kind, kept in record["steps"]]
    width = int(record["columns"])
    for _, step in steps:
        width = _width(step, width, most=int(model.n_features_in_))
    if width != model.n_features_in_:
        raise DataError("The model file's steps do not fit its model.")
    rows = np.zeros((1, int(record["columns"])))
    for _, step in steps:  # they learn the number of columns, and nothing else
        rows = step.fit(rows).transform(rows)
    if record["schema"] is not None:
        encoder = SchemaEncoder(Schema.from_toml(str(record["schema"])))
        steps.insert(0, ("schema", encoder))
    return Pipeline([*steps, (str(record["name"]), model)])


def _out(name: str, step: Any) -> tuple[str, dict[str, Any]]:
    kind = type(step).__name__
    if kind in STEPS and type(step) is STEPS[kind][0] and _plain(getattr(step, "degree", 1)):
        return kind, {key: getattr(step, key) for key in STEPS[kind][1]}
    if type(step) is FunctionTransformer and elementwise(step.func):
        return "numpy", {"function": step.func.__name__}
    raise DeclarationError(
        f"The step {name!r} cannot be written to a model file, which holds data and never code. "
        f"Files know {', '.join(STEPS)} and FunctionTransformer with a function of numpy; apply "
        "others to the rows before the pipeline."
    )


def _plain(degree: Any) -> bool:
    """Whether a degree is one that a file may name: a number, not a range."""
    return type(degree) is int and 1 <= degree <= LARGEST_DEGREE


def _in(kind: str, kept: dict[str, Any]) -> Any:
    if kind == "numpy":
        function = getattr(np, str(kept["function"]), None)
        if not elementwise(function):
            raise DataError("The model file names a function that is not one of numpy's.")
        return FunctionTransformer(function)
    if kind not in STEPS or set(kept) != set(STEPS[kind][1]):
        raise DataError("The model file names a step that this Privet does not have.")
    return STEPS[kind][0](**kept)


def _width(step: Any, columns: int, *, most: int) -> int:
    """Columns after a step, by arithmetic: a file could ask for any memory. No step has fewer."""
    if not 1 <= columns <= most:
        raise DataError("The model file's steps do not fit its model.")
    if not isinstance(step, PolynomialFeatures):
        return columns
    degree = step.degree
    if not _plain(degree):
        raise DataError("The model file names a step that this Privet does not have.")
    if step.interaction_only:
        products = sum(math.comb(columns, i) for i in range(1, degree + 1))
    else:
        products = math.comb(columns + degree, degree) - 1
    return products + bool(step.include_bias)


def _columns(parts: Parted) -> int:
    if parts.schema is not None:
        return parts.schema.width
    first = parts.steps[0][1] if parts.steps else parts.last
    return int(first.n_features_in_)
