"""What a linear model sees of a row: its columns or a public map of them, within a bound.

Training and prediction are one function of a row: the same map, the same clipping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from privet._types import Array, Targets
from privet.domain import Domain
from privet.models.inputs import refuse_unsound, table_shape, tell_clipped
from privet.rows import Rows
from privet.rows.arrays import block_rows, checked_rows, sound_sparse
from privet.rows.ball import in_ball
from privet.rows.chunks import Chunk
from privet.rows.inside import in_domain
from privet.rows.mapped import FeatureMap, MappedRows, mapped
from privet.rows.packed_rows import PackedRows, known_inside
from privet.rows.streamed import StreamedTable
from privet.schema.packed import Packed


@dataclass(frozen=True)
class RowView:
    """Rows as a linear model sees them.

    Parameters
    ----------
    feature_map : FeatureMap or None
        The public or released map from columns to features; None where the columns are the
        features.
    bound : float
        The Euclidean norm that the features are clipped to, without the constant column.
    constant : float or None
        The column that is appended for the mechanism, so that it learns an intercept; None where
        it learns none.
    domain : Domain or None
        The declared domain that rows are put into; None where only their norm is bounded.
    """

    feature_map: FeatureMap | None
    bound: float
    constant: float | None = None
    domain: Domain | None = None

    def inside(self, data: Any) -> Any:
        """Rows put into the declared domain, each by itself."""
        if self.domain is None:
            return data
        data = sound_sparse(data) if issparse(data) else data
        return in_domain(data, self.domain, zero_rows=self.constant is None)

    @property
    def takes_packed(self) -> bool:
        """Whether ``rows`` takes packed rows: a map takes dense ones."""
        return self.feature_map is None

    def rows(self, data: Any, targets: Targets) -> Rows:
        """Bounded rows, charged for: how many were long is told to the terminal."""
        if isinstance(data, Packed):
            if known_inside(data, self.bound, self.constant, self.domain):
                return PackedRows(data, targets, self.constant)
            data = data.dense()
        if self.feature_map is not None:
            return MappedRows(data, targets, self.feature_map, constant=self.constant)
        rows = checked_rows(
            data, targets, norm_bound=self.bound, constant=self.constant, domain=self.domain
        )
        tell_clipped(rows)
        return rows

    def scores(self, data: Any, coef: Array, intercept: Array) -> Array:
        """``<coef_k, features> + intercept_k`` of each row, shape (n, K)."""
        if isinstance(data, StreamedTable):
            parts = data.source.each(ChunkScores(self, coef, intercept))
            return np.concatenate(parts)
        if self.feature_map is None:
            data = self.inside(sound_sparse(data) if issparse(data) else data)
            return _scores(coef, intercept, *in_ball(data, self.bound))
        refuse_unsound(data)
        size = block_rows(self.feature_map.columns)
        starts = range(0, table_shape(data)[0], size)
        blocks = (mapped(self.feature_map, data[start : start + size]) for start in starts)
        return np.concatenate([_scores(coef, intercept, *block) for block in blocks])


@dataclass(frozen=True)
class ChunkScores:
    """Scores of a chunk's rows, as a value that can be sent to whoever reads them."""

    view: RowView
    coef: Array
    intercept: Array

    def __call__(self, chunk: Chunk) -> Array:
        """Shape (rows, K)."""
        return self.view.scores(chunk.x, self.coef, self.intercept)


def _scores(coef: Array, intercept: Array, features: Any, factors: Array | None) -> Array:
    scores = np.asarray(features @ coef.T, dtype=np.float64)
    if factors is not None:
        scores *= factors[:, None]
    scores += intercept
    return scores
