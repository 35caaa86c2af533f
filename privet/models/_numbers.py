"""scikit-learn's own validation of tables, without its habit of quoting what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from privet.errors import DataError

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
    """``X`` (and ``y``) as arrays; NaN and infinity pass, for the rows to refuse."""
    if any(np.ma.isMaskedArray(part) for part in (X, *y)):
        raise DataError("Masked arrays are refused. Fill the masked values before fitting.")
    try:
        return validate_data(
            estimator,
            X,
            *y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
    except ValueError as error:
        reasons = [told for sign, told in QUOTING.items() if sign in str(error)]
        if not reasons:
            raise
    raise DataError(reasons[0])  # outside of the handler, which would quote the cell
