"""Populations for the study of intervals: made-up tables of five kinds, and Adult.

    even         numbers that fill their declared range
    skewed       most values near the lower end
    correlated   one common factor, and little else
    constant     every other column hardly varies
    onehot       groups of four categories, the rarest with 3 % of the rows
    adult4       Adult's age, schooling, hours and sex by declared bounds
    adult4box    the same, the bounds declared as a domain, whose shape pure noise then takes
    adult37      Adult as in wang2018.py: numbers by declared bounds and one-hot groups

Rows are in the unit ball. In made-up tables columns beyond the fourth, and the third, have no
effect; nor have categories beyond the first group.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tables

from privet._types import Array

ROWS = 20_000
WEIGHTS = (3.0, -2.0, 0.0, 1.5)


def population(kind: str, d: int, classes: int) -> tuple[Array, Any]:
    """Rows and class numbers."""
    if kind in ("adult4", "adult4box"):
        return _adult4()
    if kind == "adult37":
        from wang2018 import _raw

        x, y = _raw("Adult")
        return x, (y > 0).astype(int)
    rng = np.random.default_rng(1000 * d + len(kind))
    x = _one_hot(rng, d) if kind == "onehot" else _numbers(rng, kind, d) / np.sqrt(d)
    weights = np.zeros(d)
    if kind == "onehot":
        weights[:4] = np.array([2.0, -2.0, 1.0, 0.0]) * np.sqrt(d / 4.0)
    else:
        weights[:4] = np.array(WEIGHTS)[:d] * np.sqrt(d) / 2.0
    latent = (x - x.mean(axis=0)) @ weights + rng.logistic(size=len(x))
    cuts = [0.65] if classes == 2 else np.linspace(0.0, 1.0, classes + 1)[1:-1]
    return x, np.searchsorted(np.quantile(latent, cuts), latent)


def _numbers(rng: np.random.Generator, kind: str, d: int) -> Array:
    """Columns in [-1, 1]."""
    shape = (ROWS, d)
    if kind == "skewed":
        return np.asarray(2.0 * rng.beta(1.0, 8.0, shape) - 1.0)
    if kind == "correlated":
        common = rng.normal(size=(ROWS, 1))
        return np.asarray(np.clip(0.3 * common + 0.12 * rng.normal(size=shape), -1.0, 1.0))
    x = rng.uniform(-1.0, 1.0, shape)
    if kind == "constant":
        near = 0.8 + 0.04 * rng.normal(size=(ROWS, (d + 1) // 2))
        x[:, ::2] = np.clip(near, -1.0, 1.0)
    return np.asarray(x)


def _one_hot(rng: np.random.Generator, d: int) -> Array:
    """Groups of four, at norm one together."""
    x, groups = np.zeros((ROWS, d)), d // 4
    for group in range(groups):
        chosen = rng.choice(4, ROWS, p=[0.55, 0.3, 0.12, 0.03])
        x[np.arange(ROWS), 4 * group + chosen] = 1.0 / np.sqrt(groups)
    return x


def _adult4() -> tuple[Array, Any]:
    columns, y = tables.adult()
    bounds = {"age": (17.0, 90.0), "education-num": (1.0, 16.0), "hours-per-week": (1.0, 99.0)}
    parts = [
        (np.asarray(columns[name], dtype=np.float64) - (low + high) / 2.0) / ((high - low) / 2.0)
        for name, (low, high) in bounds.items()
    ]
    parts.append(np.where(columns["sex"] == "Male", 1.0, -1.0))
    return np.clip(np.column_stack(parts), -1.0, 1.0) / 2.0, (y > 0).astype(int)
