"""Whitening by public rows: the matrix that a fifth of the budget would buy, for nothing.

``public_rows=`` are rows that may be published, with the same columns and without labels: a sample
that a statistics office published, made-up rows. They get no protection at all: the whitening
matrix is made of them and released as it is, with a digest of them. A few hundred are enough for
tens of columns; how like the private rows they are decides how much they help, and no promise
depends on it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from privet._types import Array
from privet.errors import DeclarationError
from privet.models.whiten import SphereRows, whitener
from privet.rows.ball import refuse_infinite


def public_whitener(public_rows: Any, unit: SphereRows) -> Array:
    """The whitening matrix of public rows at norm 1.

    Their mean of products is known to about one over the root of their number, which is the floor
    of the eigenvalues, as a multiple of the mean eigenvalue.
    """
    rows = _checked(public_rows)
    if rows.shape[1] != unit.d:
        raise DeclarationError(
            f"public_rows have {rows.shape[1]} columns, but the table has {unit.d}."
        )
    seen = unit(rows)
    moments = seen.T @ seen / len(seen)
    return whitener(moments, float(np.trace(moments)) / seen.shape[1] / np.sqrt(len(seen)))


def told_rows(public_rows: Any) -> dict[str, Any] | None:
    """What a file keeps of them: how many there were, and a digest."""
    if public_rows is None or isinstance(public_rows, dict):
        return public_rows
    rows = np.ascontiguousarray(_checked(public_rows), dtype="<f8")
    return {"rows": len(rows), "sha256": hashlib.sha256(rows.tobytes()).hexdigest()}


def same_memory(public_rows: Any, table: Any) -> bool:
    """Whether somebody passed the private table, or a part of it, as the public rows.

    It compares places in memory, never values: whether a copy is equal would tell about the rows.
    """
    if public_rows is None:
        return False
    arrays = isinstance(public_rows, np.ndarray) and isinstance(table, np.ndarray)
    return public_rows is table or (arrays and np.may_share_memory(public_rows, table))


def _checked(public_rows: Any) -> Array:
    if isinstance(public_rows, dict):
        raise DeclarationError(
            "A model file does not keep the public rows. Pass them again as public_rows=."
        )
    rows = np.asarray(public_rows, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise DeclarationError("public_rows must be a table of two rows or more.")
    refuse_infinite(rows)
    return rows
