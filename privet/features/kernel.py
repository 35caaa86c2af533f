"""What a kernel is: ``K(x, z) = <phi(x), phi(z)>`` whose ``K(x, x)`` never passes a public bound.

A privacy proof needs one number of a kernel: ``bound``, the ``R^2`` with ``K(x, x) <= R^2`` for
every object there could be. The same holds of a public map of rows and its ``norm``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.rows.arrays import block_rows
from privet.rows.mapped import FeatureMap


class Kernel(ABC):
    """A positive semidefinite function of two objects, as a frozen value.

    ``a`` and ``b`` are tables (rows are objects) for the numerical kernels, sequences of objects
    for the others.
    """

    name: ClassVar[str]
    #: whether it compares objects that are not rows of a table
    objects: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, a: Any, b: Any) -> Array:
        """``K(a_i, b_j)``, shape ``(len(a), len(b))``."""

    @abstractmethod
    def diagonal(self, a: Any) -> Array:
        """``K(a_i, a_i)``, shape ``(len(a),)``."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """``R^2``, at least ``K(x, x)`` for every ``x``; public."""

    def rank(self, columns: int) -> int | None:
        """Dimension of ``phi`` on tables of ``columns`` columns; None where it is infinite."""
        return None

    def explicit(self, a: Any) -> Array:
        """``phi(a_i)``, shape ``(len(a), rank)``, where ``rank`` is not None."""
        raise DeclarationError(f"The {self.name} kernel has no finite features.")

    def to_json(self) -> dict[str, Any]:
        """Name and parameters, for model files."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]


def count(objects: Any) -> int:
    """How many objects there are."""
    return int(objects.shape[0]) if hasattr(objects, "shape") else len(objects)


# What public maps of rows share: norms that stay below their bound, blocks that fit the cache.
#
# A map is a function of one row at a time, made without a row of the private table, so it costs no
# budget; it is released with the model. What it makes of a row never has a norm above ``norm``, in
# floating point too: that is what the proofs of the linear mechanisms need.

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
