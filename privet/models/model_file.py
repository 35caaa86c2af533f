"""What the file of a fitted model holds: data, never code.

    b"PRIVET\\x01\\n" | 8-byte length | header (JSON, UTF-8) | arrays (little-endian) | SHA-256

The header names the model, its public parameters, its guarantee and each array's dtype and shape,
and may hold the text of the schema that its columns were encoded by (``model.schema_``), and the
steps of a pipeline before the model, from a closed list. Files are written beside their place,
synced and renamed, so a crash leaves the old file or the new one. ``privet.store`` reads them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures
from sklearn.utils.validation import check_is_fitted

from privet._files import write_paid
from privet.domain import as_domain
from privet.errors import DataError, DeclarationError
from privet.models.digest import ARRAYS
from privet.models.encoder import SchemaEncoder
from privet.models.featured import FeaturedModel
from privet.models.public_center import plain_center
from privet.models.public_whitening import told_rows
from privet.models.row_wise import Parted, Promised, elementwise, last_of, parted
from privet.privacy.budget import as_budget
from privet.schema import Schema

MAGIC = b"PRIVET\x01\n"
#: Every model that a file may name, and the module it lives in: a closed list.
HOMES = {
    "LogisticRegression": "privet.models.linear",
    "LinearSVC": "privet.models.support_vector",
    "KernelLogisticRegression": "privet.kernels.estimators",
    "KernelSVC": "privet.kernels.estimators",
    "KernelHuberRegressor": "privet.kernels.kernel_regression",
    "LargeMarginGaussian": "privet.models.large_margin",
    "LinearRegression": "privet.models.regression",
    "HuberRegressor": "privet.models.regression",
    "PoissonRegressor": "privet.models.regression",
    "PrivateERM": "privet.models.private_erm",
}
# numeric, boolean and text labels; never objects
LABEL_KINDS = "biufU"
LARGEST_DEGREE = 50
MOST_STEPS = 100
#: Steps that a file may name, with the parameters that it keeps.
STEPS: dict[str, tuple[type[TransformerMixin], tuple[str, ...]]] = {
    "Normalizer": (Normalizer, ("norm",)),
    "Binarizer": (Binarizer, ("threshold",)),
    "PolynomialFeatures": (PolynomialFeatures, ("degree", "interaction_only", "include_bias")),
}


def save(
    model: Promised | Pipeline, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a fitted model to a file, all or nothing.

    Parameters
    ----------
    model : a fitted Privet classifier, or a pipeline that ends in one
        Its released numbers, guarantee and declarations are written, never a row or the ledger.
    path : str or path
        Where to.
    overwrite : bool, default False
        Whether a file that is already there, and holds something else, is replaced.
    """
    write_paid(path, content(model), overwrite=overwrite)


def content(model: Promised | Pipeline) -> bytes:
    """What the file of a fitted model holds."""
    parts = parted(model)
    model = cast(FeaturedModel, last_of(model) if parts.last is not model else model)
    if HOMES.get(type(model).__name__) != type(model).__module__:
        raise DeclarationError(f"{type(model).__name__} is not a model that Privet can save.")
    check_is_fitted(model, "guarantee_")
    names = (*ARRAYS, *model.released_arrays)
    arrays = {name: np.asarray(getattr(model, name), dtype="<f8") for name in names}
    header = {
        "model": type(model).__name__,
        "parameters": _parameters(model),
        "guarantee": model.guarantee_.to_json(),
        "classes": _labels_out(model.classes_),
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "arrays": {name: list(array.shape) for name, array in arrays.items()},
    }
    schema = model.__dict__.get("schema_")
    if schema is not None:  # public declarations, so that a reader can encode rows the same way
        header["schema"] = str(schema)
    if parts.schema is not None or parts.steps:
        header["steps"] = steps_to_json(parts)
    text = json.dumps(header, sort_keys=True, allow_nan=False).encode()
    body = b"".join(
        [MAGIC, len(text).to_bytes(8, "little"), text, *(a.tobytes() for a in arrays.values())]
    )
    return body + hashlib.sha256(body).digest()


def _parameters(model: FeaturedModel) -> dict[str, Any]:
    """Constructor parameters as plain values; the ledger stays with the curator."""
    values = {k: v for k, v in model.get_params(deep=False).items() if k != "ledger"}
    values["budget"] = as_budget(values["budget"]).to_json()
    if values.get("classes") is not None and not isinstance(values["classes"], str):
        values["classes"] = _labels_out(np.asarray(values["classes"]))
    if "domain" in values:
        values["domain"] = as_domain(values["domain"])
    if "center" in values:
        values["center"] = plain_center(values["center"], model.classes)
        values["public_rows"] = told_rows(values["public_rows"])
    if values.get("class_weight") is not None:
        values["class_weight"] = [
            [_plain(label), float(weight)] for label, weight in values["class_weight"].items()
        ]
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):  # column bounds, for example
        return [_plain(part) for part in value]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    to_json = getattr(value, "to_json", None)  # kernels, feature maps, domains
    if to_json is None and not isinstance(value, str | bool | int | float | dict | None):
        raise DeclarationError(
            f"A parameter of type {type(value).__name__} cannot be written to a model file."
        )
    return value if to_json is None else to_json()


def _labels_out(labels: NDArray[Any]) -> dict[str, Any]:
    if labels.dtype.kind == "O":
        labels = np.array([str(label) for label in labels])
    if labels.dtype.kind not in LABEL_KINDS:
        raise DeclarationError(
            f"Labels of type {labels.dtype} cannot be saved; use text or numbers."
        )
    return {"dtype": labels.dtype.str, "values": labels.tolist()}


# -- steps before a model -----------------------------------------------------------------------


def steps_to_json(parts: Parted) -> dict[str, Any]:
    """Schema, steps and the number of columns that the first step takes."""
    if len(parts.steps) > MOST_STEPS:
        raise DeclarationError(f"A model file keeps at most {MOST_STEPS} steps.")
    return {
        "schema": None if parts.schema is None else parts.schema.to_toml(),
        "steps": [[name, *_step_out(name, step)] for name, step in parts.steps],
        "columns": _columns(parts),
        "name": parts.name,
    }


def steps_from_json(record: dict[str, Any], model: FeaturedModel) -> Pipeline:
    """The pipeline that was saved, around its model."""
    if len(record["steps"]) > MOST_STEPS:
        raise DataError("The model file names more steps than any that Privet writes.")
    steps = [(str(name), _step_in(str(kind), dict(kept))) for name, kind, kept in record["steps"]]
    width = int(record["columns"])
    for _, step in steps:
        width = _width(step, width, most=int(model.n_features_in_))
    if width != model.n_features_in_:
        raise DataError("The model file's steps do not fit its model.")
    rows = np.zeros((1, int(record["columns"])))
    for _, step in steps:  # they learn the number of columns, and nothing else
        rows = step.fit(rows).transform(rows)
    if record["schema"] is not None:
        encoder = SchemaEncoder(Schema.from_text(str(record["schema"])))
        steps.insert(0, ("schema", encoder))
    return Pipeline([*steps, (str(record["name"]), model)])


def _step_out(name: str, step: TransformerMixin) -> tuple[str, dict[str, Any]]:
    kind = type(step).__name__
    if kind in STEPS and type(step) is STEPS[kind][0] and _is_degree(getattr(step, "degree", 1)):
        return kind, {key: getattr(step, key) for key in STEPS[kind][1]}
    if type(step) is FunctionTransformer and elementwise(step.func):
        return "numpy", {"function": step.func.__name__}
    raise DeclarationError(
        f"The step {name!r} cannot be written to a model file, which holds data and never code. "
        f"Files know {', '.join(STEPS)} and FunctionTransformer with a function of numpy; apply "
        "others to the rows before the pipeline."
    )


def _is_degree(degree: object) -> bool:
    """Whether a degree is one that a file may name: a number, not a range."""
    return type(degree) is int and 1 <= degree <= LARGEST_DEGREE


def _step_in(kind: str, kept: dict[str, Any]) -> TransformerMixin:
    if kind == "numpy":
        function = getattr(np, str(kept["function"]), None)
        if not elementwise(function):
            raise DataError("The model file names a function that is not one of numpy's.")
        return FunctionTransformer(function)
    if kind not in STEPS or set(kept) != set(STEPS[kind][1]):
        raise DataError("The model file names a step that this Privet does not have.")
    return STEPS[kind][0](**kept)


def _width(step: TransformerMixin, columns: int, *, most: int) -> int:
    """Columns after a step, by arithmetic: a file could ask for any memory. No step has fewer."""
    if not 1 <= columns <= most:
        raise DataError("The model file's steps do not fit its model.")
    if not isinstance(step, PolynomialFeatures):
        return columns
    degree = step.degree
    if not _is_degree(degree):
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
