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

STEPS = 100
PRECISION = 1e-13
HALVINGS = 40


def minimisers(design: Design, table: Table, start: Array, noise: Array | None = None) -> Array:
    """``argmin sum of losses + (n Lam/2)|W|^2 + <b, W>`` for each table, shape (..., K, m).

    ``start`` (..., K, m) sets the leading axes; ``noise`` is ``b`` in the same shape.
    """
    weights = np.array(start, dtype=np.float64)
    b = np.zeros_like(weights) if noise is None else noise
    if weights.ndim == 2:
        return np.asarray(_descend(design, table, weights[None], b[None])[0])
    return _descend(design, table, weights, b)


def _descend(design: Design, table: Table, weights: Array, b: Array) -> Array:
    """Newton steps for the tables that have not converged yet."""
    ridge = design.n * design.risk.regularization
    scale = design.risk.row_gradient + np.abs(b).max(initial=0.0)
    left = np.arange(len(weights))
    for _ in range(STEPS):
        part, at = table[left] if table.x.ndim > 2 else table, weights[left]
        gradient = _gradient(design, part, at, ridge, b[left])
        # relative to what cancels in the gradient: rounding allows no more
        floor = PRECISION * (scale + ridge * np.abs(at).max(axis=(-2, -1)))
        going = np.abs(gradient).max(axis=(-2, -1)) > floor
        if not going.any():
            break
        left, at, gradient = left[going], at[going], gradient[going]
        part = table[left] if table.x.ndim > 2 else table
        hessian = part.hessian(design.risk.loss, at)
        hessian = hessian + ridge * np.eye(hessian.shape[-1])
        flat = gradient.reshape(len(left), -1, 1)
        step = -np.linalg.solve(hessian, flat).reshape(gradient.shape)
        length = _damping(design, part, at, ridge, b[left], gradient, step)
        weights[left] = at + length * step
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
    return np.asarray(t)
