"""A released model as a folder of MLflow's: a pyfunc that takes raw columns.

The folder holds the model file itself, and Privet reads it there: data, never code. ``MLmodel``
carries digest, promise and statement.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from privet._untrusted import MEGABYTE, read_whole
from privet._version import __version__
from privet.errors import DataError, DeclarationError, MissingExtra
from privet.handover.handed_model import HandedModel
from privet.models.raw_tables import after_schema
from privet.schema import Schema
from privet.store import load

FILE = "model.privet"
LOADER = "privet.handover.mlflow_model"


class RawPredictor:
    """What MLflow calls: classes of a table with the schema's columns."""

    def __init__(self, path: Path) -> None:
        released = HandedModel(path)
        self._schema: Schema = released.schema
        self._model: Any = after_schema(load(path))

    def predict(self, table: Any, params: dict[str, Any] | None = None) -> Any:
        """The most likely class of each row."""
        return np.asarray(self._model.predict(self._schema.encode_features(table)))


def _load_pyfunc(path: str) -> RawPredictor:
    """MLflow's name for the door of a loader module."""
    found = Path(path)
    return RawPredictor(found / FILE if found.is_dir() else found)


def _is_export(folder: Path) -> bool:
    """Whether an export wrote it: a folder, no link, whose ``MLmodel`` names this loader."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    try:
        told = read_whole(folder / "MLmodel", MEGABYTE).decode()
    except (OSError, ValueError, DataError):
        return False
    return f"loader_module: {LOADER}\n" in told


def write_mlflow(released: HandedModel, out: Path, *, replace: bool) -> None:
    """The folder, made beside its place and renamed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own parts, when they are loaded
        try:
            import mlflow.pyfunc
        except ImportError as error:
            raise MissingExtra(
                "MLflow's format needs mlflow-skinny: pip install 'privet[mlflow]'."
            ) from error
    released.schema  # noqa: B018  refused before anything is written
    released.last.refuse_unscored()
    if out.exists() and not replace:
        raise DeclarationError(f"{out.name} is already there. Choose another name, or --force.")
    if out.exists() and not _is_export(out):
        raise DeclarationError(
            f"{out.name} is not a folder that this export wrote, so --force does not remove it. "
            "Choose another name."
        )
    with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".privet-part.") as folder:
        data = Path(folder) / FILE
        shutil.copyfile(released.path, data)
        made = Path(folder) / "made"
        mlflow.pyfunc.save_model(
            str(made),
            loader_module=LOADER,
            data_path=str(data),
            pip_requirements=[f"privet[cli]=={__version__}"],
            metadata={
                "sha256": released.digest,
                "promise": released.last.guarantee_.promise,
                "statement": released.statement,
            },
        )
        if out.exists():
            shutil.rmtree(out)
        os.replace(made, out)
