"""What public maps of rows share: norms that stay below their bound, blocks that fit the cache.

A map is a function of one row at a time, made without a row of the private table, so it costs no
budget; it is released with the model. What it makes of a row never has a norm above ``norm``, in
floating point too: that is what the proofs of the linear mechanisms need.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import DataError
from privet.features.kernel import count
from privet.rows.arrays import block_rows
from privet.rows.mapped import FeatureMap

# Norms stay this much below their bound, which rounding cannot make up for.
ROOM: dict[Any, float] = {np.dtype(np.float64): 2.0**-40, np.dtype(np.float32): 2.0**-20}
# Smaller numbers are zero: what is made of them could be too small to compute with exactly.
SMALLEST: dict[Any, float] = {np.dtype(np.float64): 1e-150, np.dtype(np.float32): 1e-15}


def in_blocks(feature_map: FeatureMap, rows: Any) -> NDArray[Any]:
    """Features of all rows, made in blocks that fit the cache."""
    size = block_rows(feature_map.columns)
    parts = [feature_map(rows[start : start + size]) for start in range(0, count(rows), size)]
    return np.concatenate(parts) if parts else np.empty((0, feature_map.columns))


def weighted(x: Any, weights: Array | None) -> Any:
    """Columns times their public weights, kept finite; objects have none."""
    if weights is None:
        return x
    with np.errstate(over="ignore"):
        out = dense_rows(x) * weights
    most = np.finfo(out.dtype).max
    return np.clip(out, -most, most)


def dense_rows(x: Any) -> NDArray[Any]:
    """A dense table in double precision, or in single where it came so."""
    dense: Any = x.toarray() if sp.issparse(x) else np.asarray(x)  # type: ignore[attr-defined]
    if dense.ndim != 2:
        raise DataError("Features are made of a table of numbers with two dimensions.")
    return np.asarray(dense if dense.dtype in ROOM else dense.astype(np.float64))
