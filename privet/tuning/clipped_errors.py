"""How wrong a released regression is on held rows, as a whole number that one row changes by one.

    e   a row's absolute error, at most a quarter of the target's interval, over that quarter
    k   e in steps of 2^-20, rounded to a whole number: from 0 to 2^20

The score is the sum of ``k`` over the rows, divided by 2^20 without remainder. All of it is
arithmetic of whole numbers: one replaced row changes the sum by at most 2^20, and so the quotient
by at most one, as a number of mistakes does (``mechanisms/search.proof.md``, step 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.models import PrivateLinearRegressor
from privet.rows.chunks import Chunk
from privet.rows.streamed import StreamedTable

#: steps of a row's error
STEPS = 1 << 20
#: errors beyond this share of the interval count as much as this one
REACH = 0.25


def error_steps(model: PrivateLinearRegressor, x: Any, y: Any) -> int:
    """The sum of ``k`` over some rows; what is not a number counts as the largest error."""
    low, high = model.target_ends
    half = high / 2.0 - low / 2.0
    predicted = np.clip(np.asarray(model.predict(x), dtype=np.float64), low, high)
    target = np.clip(np.asarray(y, dtype=np.float64), low, high)
    errors = np.abs(target / 2.0 - predicted / 2.0) / half  # shares of the interval
    shares = np.nan_to_num(np.minimum(errors / REACH, 1.0), nan=1.0)
    return int(np.rint(shares * STEPS).astype(np.int64).sum())


def clipped_error(model: PrivateLinearRegressor, x: Any, y: Any) -> int:
    """The score: one row changes it by one at most."""
    if isinstance(x, StreamedTable):
        return int(sum(x.source.each(ChunkErrors(model)))) // STEPS
    return error_steps(model, x, y) // STEPS


@dataclass(frozen=True)
class ChunkErrors:
    """The same sum for a chunk's rows."""

    model: PrivateLinearRegressor

    def __call__(self, chunk: Chunk) -> int:
        """Of the chunk."""
        return error_steps(self.model, chunk.x, chunk.codes)
