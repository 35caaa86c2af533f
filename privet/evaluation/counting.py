"""Exact counts of rows, before any noise: at once, or added up over the parts of a large table."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Codes
from privet.evaluation.evaluated import EvaluatedModel, EvaluatedRows
from privet.models.inputs import encode_labels
from privet.rows.chunks import Chunk
from privet.rows.streamed import StreamedTable

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ChunkCounts:
    """A function's counts for a chunk's rows."""

    function: Callable[[Any, Codes, Codes], list[Counts]]
    coded: Callable[[NDArray[Any]], Codes]

    def __call__(self, chunk: Chunk) -> list[Counts]:
        """One array of counts for each table."""
        return self.function(chunk.x, self.coded(chunk.codes), chunk.groups)


def added_counts(
    rows: EvaluatedRows,
    model: EvaluatedModel,
    function: Callable[[Any, Codes, Codes], list[Counts]],
) -> list[Counts]:
    """``function`` of the features, places of classes and groups of all rows, added up."""
    truth = encode_labels(rows.labels, model.classes)
    if not isinstance(rows.X, StreamedTable):
        return function(rows.X, truth, rows.groups.codes())
    parts = rows.X.source.each(ChunkCounts(function, truth.coded))
    return [np.sum(each, axis=0) for each in zip(*parts, strict=True)]


def blind(model: EvaluatedModel) -> EvaluatedModel:
    """The released model without its ledger, for whoever reads the rows."""
    if model.steps:
        return model
    last: Any = copy(model.last)
    last.ledger = None
    return EvaluatedModel(last, last)
