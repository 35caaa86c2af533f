"""One linear term: choose the solver by its estimated cost and certify what it finds."""

from __future__ import annotations

import numpy as np

from privet.errors import DeclarationError
from privet.losses import Array
from privet.minimise.cost import prefers_newton
from privet.minimise.curvature import Curvature
from privet.minimise.lbfgs import lbfgs
from privet.minimise.newton import newton
from privet.minimise.objective import Objective
from privet.minimise.result import Solution
from privet.minimise.threads import one_thread
from privet.risk import RegularisedRisk, positive
from privet.rows.base import Rows

#: The largest number of gradients: public, and far more than any admissible table needs.
MAX_ITER = 100_000


@one_thread
def minimise(
    risk: RegularisedRisk,
    rows: Rows,
    *,
    tolerance: float,
    linear: Array | None = None,
    start: Array | None = None,
    curvature: Array | None = None,
    max_iter: int = MAX_ITER,
) -> Solution:
    """Minimise ``J(theta) = mean loss + (Lam/2)|theta|^2 + <linear, theta>``.

    ``tolerance`` bounds the computed Euclidean norm of ``grad J``; the exact one is within
    ``rounding_floor`` of it. ``linear`` is ``b/n`` for noise ``b``. ``curvature`` is the lower
    Cholesky factor of a Hessian near ``start``. All three vectors have length ``p = K m``.
    """
    positive("tolerance", tolerance)
    p = risk.parameters(rows.m)
    linear = np.zeros(p) if linear is None else checked_vectors("linear", linear, 1, p)
    start = None if start is None else checked_vectors("start", start, 1, p)
    objective = Objective(risk, rows, linear[None, :])
    if curvature is not None or prefers_newton(risk, rows.n, rows.m):
        model = None if curvature is None else Curvature(curvature)
        end = newton(objective, tolerance, max_iter, start, model)
    else:
        end = lbfgs(objective, tolerance, max_iter, start)
    norm = float(np.linalg.norm(end.gradients[0]))
    tally = objective.tally
    return Solution(end.thetas[0], norm, end.statuses[0], tally.passes, tally.hessians)


def checked_vectors(name: str, values: Array, axes: int, parameters: int) -> Array:
    """``values`` as finite floats whose last axis has length ``p``; only shapes are quoted."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != axes or array.shape[-1] != parameters:
        wanted = f"({parameters},)" if axes == 1 else f"(k, {parameters})"
        raise DeclarationError(f"{name} must have shape {wanted}, got {array.shape}.")
    if not np.isfinite(array).all():
        raise DeclarationError(f"{name} must hold finite numbers.")
    return array
