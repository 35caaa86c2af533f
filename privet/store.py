"""Model files read: data, never code. ``privet.models.model_file`` has the format and the writer.

Nothing in a file is executed; sizes are checked against the file before anything is allocated, the
digest before anything is believed. The digest shows damage, not who wrote the file: keep model
files where only people allowed to release models can write.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._checks import norm_bound, number_between
from privet._untrusted import parsed_json, read_whole
from privet.domain import domain_from_json
from privet.errors import DataError
from privet.features import features_from_json, kernel_from_json
from privet.losses import loss_from_json
from privet.models.column_weights import ridge_from_json
from privet.models.digest import ARRAYS
from privet.models.model_file import HOMES, MAGIC, save, steps_from_json
from privet.privacy.budget import budget_from_json
from privet.privacy.guarantee import guarantee_from_json
from privet.privacy.kinds import regularization_of

DIGEST = hashlib.sha256().digest_size
LARGEST_HEADER = 64 << 20
LARGEST = 1 << 30
#: of a table; a kernel's width is computed from as many numbers
MOST_COLUMNS = 10_000_000
#: The types of labels that a file may name: booleans, numbers of up to eight bytes, text.
LABEL_TYPE = re.compile(r"[<>=|]?(?:b1|[iu][1248]|f[248]|U[0-9]{1,9})", re.ASCII)
#: Signs of all labels, each counted as wide as the widest: numpy makes them equally wide.
MOST_SIGNS = 1 << 24
#: How the parts of a model's file are read that have a form of their own.
PARTS = {
    "kernel": kernel_from_json,
    "features": features_from_json,
    "domain": domain_from_json,
    "loss": loss_from_json,
    "regularizer": ridge_from_json,
}

__all__ = ["load", "save"]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``save`` wrote; refuses anything else with a sentence.

    Parameters
    ----------
    path : str or path
        A model file.

    Returns
    -------
    model
        The fitted classifier, or the pipeline that ends in it.
    """
    header, raw = _read(Path(path))
    try:
        return _build(header, raw)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            "The model file is intact but its header is not one that this Privet understands. "
            "Load it with the release that wrote it."
        ) from error


def _kind(name: str) -> Any:
    """The class of this name; None where Privet has no such model."""
    home = HOMES.get(name)
    return None if home is None else getattr(import_module(home), name)


def _labels_in(record: dict[str, Any]) -> NDArray[Any]:
    """Two labels or more, all different, of one of the few types that labels have."""
    kind, values = _text(record["dtype"]), record["values"]
    if not LABEL_TYPE.fullmatch(kind) or not isinstance(values, list):
        raise DataError("The model file declares labels of a type that is not allowed.")
    if "U" in kind:  # numpy finds the width itself: a declared one could ask for any memory
        if max((len(_text(value)) for value in values), default=0) * len(values) > MOST_SIGNS:
            raise DataError("The model file's labels are longer than any that Privet writes.")
        labels = np.array(values, dtype=np.str_)
    elif all(isinstance(value, bool | int | float) for value in values):
        labels = np.array(values, dtype=np.dtype(kind))
    else:
        raise DataError("The model file declares labels of a type that is not allowed.")
    if len(labels) < 2 or len(set(labels.tolist())) < len(labels):
        raise DataError("The model file does not name two classes or more, all different.")
    return labels


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and array bytes of a file whose sizes and digest agree."""
    whole, start = memoryview(read_whole(path, LARGEST)), len(MAGIC) + 8
    if whole[: len(MAGIC)] != MAGIC:
        raise DataError(
            f"{path.name} is not a Privet model file of version 1. Check the path (a command "
            "takes the model before the table), or load it with the Privet that wrote it."
        )
    body, digest = whole[:-DIGEST], whole[-DIGEST:]
    length = int.from_bytes(whole[len(MAGIC) : start], "little")
    if length > min(LARGEST_HEADER, len(body) - start) or hashlib.sha256(body).digest() != digest:
        raise _damaged(path)
    try:
        header = dict(parsed_json(bytes(body[start : start + length])))
    except (ValueError, TypeError) as error:
        raise _damaged(path) from error
    return header, bytes(body[start + length :])


def _damaged(path: Path) -> DataError:
    return DataError(
        f"{path.name} is damaged: it was cut short or changed after it was written. "
        "Restore it from a copy; the budget it cost stays spent."
    )


def _build(header: dict[str, Any], raw: bytes) -> Any:
    kind = _kind(_text(header["model"]))
    if kind is None:
        raise DataError("The model file names a model that this Privet does not have.")
    parameters = {**header["parameters"], "ledger": None}
    parameters["budget"] = budget_from_json(parameters["budget"])
    if isinstance(parameters.get("classes"), dict):
        parameters["classes"] = _labels_in(parameters["classes"]).tolist()
    if parameters.get("class_weight") is not None:
        parameters["class_weight"] = dict(parameters["class_weight"])
    for name, read in PARTS.items():
        if isinstance(parameters.get(name), dict):
            parameters[name] = read(parameters[name])
    # files from before the constant could be declared: it was the norm bound
    parameters.setdefault("constant", 1.0)
    model = kind(**parameters)
    norm_bound(model.norm_bound)
    for name, array in _arrays((*ARRAYS, *model.released_arrays), header["arrays"], raw).items():
        setattr(model, name, array)
    model.classes_ = _labels_in(header["classes"])
    model.guarantee_ = guarantee_from_json(header["guarantee"])
    model.regularization_ = regularization_of(model.guarantee_.event)
    model.n_features_in_ = int(number_between("n_features", header["n_features"], 0, MOST_COLUMNS))
    if "schema" in header:
        model.schema_ = _text(header["schema"])
    if header["feature_names"]:
        names = [_text(name) for name in header["feature_names"]]
        model.feature_names_in_ = np.array(names, dtype=object)
    if not model.is_consistent():
        raise DataError("The model file's arrays do not fit its classes and columns.")
    return steps_from_json(header["steps"], model) if "steps" in header else model


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError("The model file holds something else where text is expected.")
    return value


def _arrays(
    names: tuple[str, ...], shapes: dict[str, list[int]], raw: bytes
) -> dict[str, NDArray[np.float64]]:
    """The arrays in the file's order; their sizes must add up to exactly what is there."""
    wanted = {name: [int(size) for size in shapes[name]] for name in names}
    if any(size < 0 for shape in wanted.values() for size in shape) or (
        8 * sum(math.prod(shape) for shape in wanted.values()) != len(raw)
    ):
        raise DataError("The model file's arrays do not have the size that its header declares.")
    out, offset = {}, 0
    for name, shape in wanted.items():
        count = math.prod(shape)
        array = np.frombuffer(raw, dtype="<f8", count=count, offset=offset).reshape(shape).copy()
        if not np.isfinite(array).all():
            raise DataError("The model file holds weights that are not finite.")
        out[name], offset = array, offset + 8 * count
    return out
