"""scikit-learn's own validation of tables, without its habit of quoting what it refuses."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from privet.errors import DataError, is_quiet
from privet.rows.arrays import ArrayRows, sound_sparse
from privet.rows.ball import refuse_infinite

LOGGER = logging.getLogger("privet")

# What scikit-learn says when it quotes cells, and what is said instead.
QUOTING = {
    "could not convert": (
        "The table holds text where numbers are expected. Encode text columns as numbers with "
        "declared categories first."
    ),
    "Complex data": "Complex data not supported: the table and the labels must hold real numbers.",
    "array=": "Expected a table with two dimensions, one row per person. Reshape your data.",
}


def numbers(estimator: Any, X: Any, *y: Any, reset: bool = True) -> Any:
    """``X`` (and ``y``) as arrays; NaN and infinity pass, for the rows to refuse.

    Labels are checked for their shape alone: what they are is looked at after the charge.
    """
    if any(np.ma.isMaskedArray(part) for part in (X, *y)):
        raise DataError("Masked arrays are refused. Fill the masked values before fitting.")
    missing = [None] if y and y[0] is None else []  # scikit-learn says that labels are needed
    try:
        data = validate_data(
            estimator,
            X,
            *missing,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        if not y:
            return data
        labels = column_or_1d(*y, warn=True)
        check_consistent_length(data, labels)
        return data, labels
    except ValueError as error:
        reasons = [told for sign, told in QUOTING.items() if sign in str(error)]
        if not reasons:
            raise
    raise DataError(reasons[0])  # outside of the handler, which would quote the cell


def table_shape(data: Any) -> tuple[int, int]:
    """Rows and columns; objects without columns, strings for example, have none."""
    shape = np.shape(data) if not hasattr(data, "shape") else data.shape
    return int(shape[0]), int(shape[1]) if len(shape) > 1 else 0


def refuse_unsound(data: Any) -> None:
    """Refuse NaN and infinity where rows are seen through a map, which takes all other numbers."""
    if hasattr(data, "dtype"):
        refuse_infinite(sound_sparse(data) if issparse(data) else data)


def tell_clipped(rows: ArrayRows) -> None:
    """How many rows were clipped, on the curator's terminal; neither kept nor released."""
    if rows.clipped and not is_quiet():
        LOGGER.warning(
            "%d of %d rows are longer than norm_bound and were scaled down. For the curator's "
            "eyes only: if they are many, scale the columns by declared bounds.",
            rows.clipped,
            rows.n,
        )
