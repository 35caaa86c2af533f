"""Many draws on the same rows: one optimum, one factor, then a few gradients per draw.

The non-private optimum and its Hessian are intermediates of the curator's process. They live in
this object only: it is never an attribute of a model, never written and never released.
"""

from __future__ import annotations

from privet.mechanisms.release import Array
from privet.minimise import curvature_at, minimise, minimise_many
from privet.risk import RegularisedRisk
from privet.rows import Rows


class Prepared:
    """The minimum without noise and the Cholesky factor of its Hessian."""

    def __init__(self, risk: RegularisedRisk, rows: Rows) -> None:
        self._risk, self._rows = risk, rows
        # good enough to start from; each draw is certified on its own
        loose = 1e-6 * risk.row_gradient
        self._optimum = minimise(risk, rows, tolerance=loose).certified()
        self._factor = curvature_at(risk, rows, self._optimum)

    def minimisers(self, linears: Array, tolerance: float) -> Array:
        """Certified minimisers for each row of ``linears``, shape (k, p)."""
        return minimise_many(
            self._risk,
            self._rows,
            linears,
            tolerance=tolerance,
            start=self._optimum,
            curvature=self._factor,
        )

    def __reduce__(self) -> str:
        raise TypeError("A prepared optimum is not private and is never pickled.")
