"""One linear term: choose the solver by its estimated cost and certify what it finds.

The choice between Newton and L-BFGS reads public numbers only. Whatever is found is certified by
the gradient over all rows, in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from privet._checks import positive
from privet._types import Array
from privet.errors import DeclarationError
from privet.minimize.curvature import Curvature
from privet.minimize.objective import Objective
from privet.minimize.result import Solution
from privet.minimize.solvers import lbfgs, newton, sample_stride
from privet.risk import RegularizedRisk
from privet.rows.base import Rows

# One thread for linear algebra on blocks.
#
# A block fits the cache, so a product with it takes microseconds: less than waking a second BLAS
# thread and waiting for it. On a busy machine the waiting made a fit twenty times slower.

P = ParamSpec("P")
T = TypeVar("T")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: once is enough


def one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Run ``function`` with BLAS held to one thread."""

    @wraps(function)
    def held(*args: P.args, **kwargs: P.kwargs) -> T:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return held


#: The largest number of gradients: public, and far more than any admissible table needs.
MAX_ITER = 100_000


@one_thread
def minimize(
    risk: RegularizedRisk,
    rows: Rows,
    *,
    tolerance: float,
    linear: Array | None = None,
    start: Array | None = None,
    curvature: Array | None = None,
    max_iter: int = MAX_ITER,
) -> Solution:
    """Minimize ``J(theta) = mean loss + (Lam/2)|theta|^2 + <linear, theta>``.

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


# Newton or L-BFGS? An estimate in units of one gradient, from public numbers alone.
#
# The constants are ratios measured on one thread: how much faster a Gram matrix is per operation
# than a gradient (which waits for memory), and how many gradients L-BFGS needs at a condition
# number.

# Beyond this the Hessian and its factor take too much memory (32 MB each) beside the rows.
MOST_NEWTON_PARAMETERS = 2_000
NEWTON_GRADIENTS = 8.0
NEWTON_HESSIANS = 3.0
GRAM_SPEED = 26.0  # columns at which one Gram matrix costs as much as one gradient
FACTOR_SPEED = 12.0  # the same for one factor: p^2/n at which it costs as much as one gradient


def newton_cost(n: int, m: int, scores: int) -> float:
    """Gradients, Hessians (of a sample where one is useful) and factors."""
    p = scores * m
    hessian = (scores + 1) / 2 * m / GRAM_SPEED
    factor = p * p / (FACTOR_SPEED * n)
    return NEWTON_GRADIENTS + NEWTON_HESSIANS * (hessian / sample_stride(n, p) + factor)


def lbfgs_cost(risk: RegularizedRisk) -> float:
    """``10 + 2 sqrt(kappa)`` gradients at condition number ``kappa = 1 + c R^2/Lam``."""
    return 10.0 + 2.0 * math.sqrt(1.0 + risk.row_curvature / risk.regularization)


def prefers_newton(risk: RegularizedRisk, n: int, m: int) -> bool:
    """Whether Newton is estimated to be the faster one; never for too many parameters."""
    if risk.parameters(m) > MOST_NEWTON_PARAMETERS:
        return False
    return newton_cost(n, m, risk.loss.scores) <= lbfgs_cost(risk)
