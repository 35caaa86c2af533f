"""Public weights of the ridge: which coefficients are pulled to zero harder than others.

    (Lam/2) sum_j w_j theta_j^2    is the plain ridge on    x_j/sqrt(w_j), theta_j sqrt(w_j)

so a weighted fit is a plain one to other rows, of norm at most ``R/sqrt(min w)``: that is how the
guarantee depends on the weights (``private_erm.proof.md``). They are declared, never measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from privet._checks import is_number
from privet._types import Array
from privet.errors import DeclarationError
from privet.rows.ball import in_ball

#: A weight is at most this, and at least one over it.
MOST_WEIGHT = 1e12


@dataclass(frozen=True)
class Ridge:
    """``(Lam/2) sum_j w_j theta_j^2``, with one public weight for each column.

    Parameters
    ----------
    weights : sequence of float or None, default None
        One for each column; None: all one. A column with a larger weight is trusted less. The
        smallest weight sets the noise, and only ratios matter where ``regularization`` is "auto".
    """

    weights: Any = None

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        try:
            found = tuple(float(w) if is_number(w) else math.nan for w in self.weights)
        except TypeError:
            found = ()
        if not found or not all(1.0 / MOST_WEIGHT <= w <= MOST_WEIGHT for w in found):
            raise DeclarationError(
                "The weights of a Ridge must be positive finite numbers, one for each column, "
                f"between {1.0 / MOST_WEIGHT:g} and {MOST_WEIGHT:g}."
            )
        object.__setattr__(self, "weights", found)

    def to_json(self) -> dict[str, Any]:
        """As plain values, for files.

        Returns
        -------
        dict
        """
        return {"name": "ridge", "weights": None if self.weights is None else list(self.weights)}

    def stretched(self, norm_bound: float) -> float:
        """``R/sqrt(min w)``: how long a row is that a plain ridge sees, rounded up.

        Parameters
        ----------
        norm_bound : float
            The norm bound of the rows as they are.

        Returns
        -------
        float
        """
        if self.weights is None:
            return norm_bound
        return norm_bound / math.sqrt(min(self.weights)) * (1.0 + 2.0**-51)


def ridge_from_json(record: dict[str, Any]) -> Ridge:
    """A regularizer as a model file keeps it."""
    if record.get("name") != "ridge":
        raise DeclarationError("The regularizer is not one that this Privet knows.")
    return Ridge(record["weights"])


@dataclass(frozen=True)
class WeightedColumns:
    """Rows clipped to their norm bound, each column over the root of its weight."""

    ridge: Ridge
    bound: float

    @property
    def columns(self) -> int:
        """As many as there are weights."""
        return len(self.ridge.weights)

    @property
    def norm(self) -> float:
        """What no such row is longer than."""
        return self.ridge.stretched(self.bound)

    @property
    def roots(self) -> Array:
        """The square root of each weight."""
        return np.asarray(np.sqrt(np.array(self.ridge.weights, dtype=np.float64)))

    def __call__(self, x: Any) -> Array:
        """Columns of a block of rows."""
        dense: Any = x.toarray() if sp.issparse(x) else x  # type: ignore[attr-defined]
        rows, factors = in_ball(np.asarray(dense, dtype=np.float64), self.bound)
        short = rows if factors is None else rows * factors[:, None]
        return np.asarray(short / self.roots)
