"""Populations for the study of intervals: made-up tables of five kinds, and real ones.

    even         numbers that fill their declared range
    skewed       most values near the lower end
    correlated   one common factor, and little else
    constant     every other column hardly varies
    onehot       groups of four categories, the rarest with 3 % of the rows
    adult4       Adult's age, schooling, hours and sex by declared bounds
    adult4box    the same, the bounds declared as a domain, whose shape pure noise then takes
    adult6       the same four and two columns without effect
    adult37      8,000 rows of Adult as in wang2018.py: numbers by declared bounds, one-hot groups
    forest10     ten measurements of 8,000 of Covertype's patches by declared bounds; spruce or not

Rows are in the unit ball. In made-up tables of numbers the third column, and those from the fifth
on, have no effect: every row is there twice, with these columns of either sign and the same class,
so that their coefficients are zero in the population, exactly and at any regularization. (They lie
evenly around the middle of their range for that, also in skewed and in nearly constant tables.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tables

from privet._types import Array

ROWS = 4_000
WEIGHTS = (3.0, -2.0, 0.0, 1.5)


def population(kind: str, d: int, classes: int) -> tuple[Array, Any]:
    """Rows and class numbers."""
    if kind.startswith("adult"):
        return _adult(kind)
    if kind == "forest10":
        return _forest()
    rng = np.random.default_rng(1000 * d + len(kind))
    x = one_hot(rng, d) if kind == "onehot" else numbers(rng, kind, d) / np.sqrt(d)
    weights = np.zeros(d)
    if kind == "onehot":
        weights[:4] = np.array([2.0, -2.0, 1.0, 0.0]) * np.sqrt(d / 4.0)
    else:
        weights[:4] = np.array(WEIGHTS)[:d] * np.sqrt(d) / 2.0
    latent = (x - x.mean(axis=0)) @ weights + rng.logistic(size=len(x))
    cuts = [0.65] if classes == 2 else np.linspace(0.0, 1.0, classes + 1)[1:-1]
    y = np.searchsorted(np.quantile(latent, cuts), latent)
    return (x, y) if kind == "onehot" else (both_signs(x), np.concatenate([y, y]))


def idle(kind: str, d: int) -> list[int]:
    """The columns without effect."""
    if kind == "adult6":
        return [4, 5]
    made_up = kind in ("even", "skewed", "correlated", "constant")
    return [j for j in range(d) if j == 2 or j > 3] if made_up else []


def both_signs(x: Array) -> Array:
    """Every row twice: as it is, and with its columns without effect of the other sign."""
    other = x.copy()
    without = idle("even", x.shape[1])
    other[:, without] *= -1.0
    return np.concatenate([x, other])


def numbers(rng: np.random.Generator, kind: str, d: int) -> Array:
    """Columns in [-1, 1]; those without effect around zero."""
    shape, without = (ROWS, d), idle(kind, d)
    if kind == "skewed":
        x = 2.0 * rng.beta(1.0, 8.0, shape) - 1.0
        x[:, without] += 7.0 / 9.0
        return np.asarray(x)
    if kind == "correlated":
        common = rng.normal(size=(ROWS, 1))
        return np.asarray(np.clip(0.3 * common + 0.12 * rng.normal(size=shape), -1.0, 1.0))
    x = rng.uniform(-1.0, 1.0, shape)
    if kind == "constant":
        near = 0.8 + 0.04 * rng.normal(size=(ROWS, (d + 1) // 2))
        x[:, ::2] = np.clip(near, -1.0, 1.0)
        small = [j for j in without if j % 2 == 0]
        x[:, small] = 0.04 * rng.normal(size=(ROWS, len(small)))
    return np.asarray(x)


def one_hot(rng: np.random.Generator, d: int) -> Array:
    """Groups of four, at norm one together."""
    x, groups = np.zeros((ROWS, d)), d // 4
    for group in range(groups):
        chosen = rng.choice(4, ROWS, p=[0.55, 0.3, 0.12, 0.03])
        x[np.arange(ROWS), 4 * group + chosen] = 1.0 / np.sqrt(groups)
    return x


def _adult(kind: str) -> tuple[Array, Any]:
    if kind == "adult37":
        from wang2018 import _raw

        x, y = _raw("Adult")
        some = np.random.default_rng(37).permutation(len(y))[: 2 * ROWS]
        return x[some], (y[some] > 0).astype(int)
    columns, y = tables.adult()
    bounds = {"age": (17.0, 90.0), "education-num": (1.0, 16.0), "hours-per-week": (1.0, 99.0)}
    parts = [_scaled(columns[name], *ends) for name, ends in bounds.items()]
    parts.append(np.where(columns["sex"] == "Male", 1.0, -1.0))
    if kind != "adult6":
        return np.column_stack(parts) / 2.0, (y > 0).astype(int)
    rng = np.random.default_rng(6)
    parts += [rng.uniform(-1.0, 1.0, len(y)), rng.choice([-1.0, 1.0], len(y))]
    x = np.column_stack(parts) / np.sqrt(6.0)
    other = x * np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    return np.concatenate([x, other]), np.concatenate([y, y]) > 0


def _forest() -> tuple[Array, Any]:
    columns, y = tables.covertype()
    x = 2.0 * tables.encode(columns, tables.COVERTYPE_NUMBERS) - 1.0
    some = np.random.default_rng(10).permutation(len(y))[: 2 * ROWS]
    return x[some] / np.sqrt(x.shape[1]), (y[some] == 1).astype(int)


def _scaled(values: Any, low: float, high: float) -> Array:
    """Numbers by declared bounds, in [-1, 1]."""
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    return np.clip((np.asarray(values, dtype=np.float64) - middle) / half, -1.0, 1.0)
