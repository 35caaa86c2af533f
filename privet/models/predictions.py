"""Predictions for a table that is read in parts, written to a Parquet file as they come."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from privet.errors import DeclarationError
from privet.models.raw_tables import carried
from privet.rows.chunks import Chunk
from privet.rows.door import RawStream, as_stream, stream
from privet.schema.encode import ChunkEncoder
from privet.schema.file_format import pyarrow


@dataclass(frozen=True)
class ChunkPredictions:
    """Columns of the answer for a chunk's rows."""

    model: Any
    probabilities: bool

    def __call__(self, chunk: Chunk) -> dict[str, NDArray[Any]]:
        """The predicted classes, and each class's probability if asked for."""
        found = {"prediction": self.model.predict(chunk.x)}
        if self.probabilities:
            shares = self.model.predict_proba(chunk.x)
            classes = enumerate(self.model.classes_)
            found |= {f"probability of {label}": shares[:, i] for i, label in classes}
        return found


def write_predictions(model: Any, table: Any, path: str, *, probabilities: bool = False) -> int:
    """A row of predictions for each row of the table, in its order; costs no privacy.

    Parameters
    ----------
    model : a fitted model that carries a schema
    table : path, folder or ``privet.stream(...)``
        It needs no label.
    path : path of the Parquet file to write
    probabilities : bool, default False
        Add a column for each class.

    Returns
    -------
    int
        How many rows were written.
    """
    schema = carried(model)
    if schema is None or isinstance(model, Pipeline):
        raise DeclarationError(
            "A table that is read in parts is predicted by a model that carries its schema, as "
            "fit_table gives it, without steps before it."
        )
    if probabilities and not hasattr(model, "predict_proba"):
        raise DeclarationError(f"A {type(model).__name__} has no probabilities.")
    blind = copy(model)
    blind.ledger = None
    read: RawStream = as_stream(table) or stream(table)
    source = read.source(ChunkEncoder(schema, label=False))
    pa, writer, rows = pyarrow(), None, 0
    try:
        for columns in source.flow(ChunkPredictions(blind, probabilities)):
            made = pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})
            writer = writer or pa.parquet.ParquetWriter(path, made.schema)
            writer.write_table(made)
            rows += len(made)
    finally:
        if writer is not None:
            writer.close()
    return rows
