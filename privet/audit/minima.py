"""An independent minimiser for small tables: the auditor does not trust the one it audits.

Newton's method on many tables at once, with a step that is halved until the slope along it has
fallen. It reads multiplicities, so a crowd of 1e12 rows is as cheap as one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.audit.neighbours import Table
from privet.mechanisms import Design

Array = NDArray[np.float64]

STEPS = 200
HALVINGS = 40


def minimisers(design: Design, table: Table, start: Array, noise: Array | None = None) -> Array:
    """``argmin sum of losses + (n Lam/2)|W|^2 + <b, W>`` for each table, shape (..., K, m).

    ``start`` (..., K, m) sets the leading axes; ``noise`` is ``b`` in the same shape.
    """
    ridge = design.n * design.risk.regularization
    b = np.zeros_like(start) if noise is None else noise
    weights = np.array(start, dtype=np.float64)
    scale = design.risk.row_gradient + np.abs(b).max(initial=0.0)
    for _ in range(STEPS):
        gradient = _gradient(design, table, weights, ridge, b)
        size = np.abs(gradient).max(axis=(-2, -1))
        # relative to what cancels in the gradient: rounding allows no more
        floor = 1e-14 * (scale + ridge * np.abs(weights).max(axis=(-2, -1)))
        if (size <= floor).all():
            break
        hessian = table.hessian(design.risk.loss, weights)
        hessian = hessian + ridge * np.eye(hessian.shape[-1])
        flat = gradient.reshape(*gradient.shape[:-2], -1, 1)
        step = -np.linalg.solve(hessian, flat).reshape(gradient.shape)
        weights = weights + _damping(design, table, weights, ridge, b, gradient, step) * step
    return weights


def _gradient(design: Design, table: Table, weights: Array, ridge: float, b: Array) -> Array:
    return np.asarray(ridge * weights + table.gradient(design.risk.loss, weights) + b)


def _damping(
    design: Design,
    table: Table,
    weights: Array,
    ridge: float,
    b: Array,
    gradient: Array,
    step: Array,
) -> Array:
    """The largest of 1, 1/2, 1/4, ... at which the slope along the step has not turned upwards."""
    before = np.abs((gradient * step).sum(axis=(-2, -1), keepdims=True))
    t = np.ones_like(before)
    for _ in range(HALVINGS):
        trial = _gradient(design, table, weights + t * step, ridge, b)
        slope = (trial * step).sum(axis=(-2, -1), keepdims=True)
        far = slope > 0.5 * before
        if not far.any():
            break
        t = np.where(far, 0.5 * t, t)
    return t
