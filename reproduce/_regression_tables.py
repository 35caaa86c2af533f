"""Populations for the study of regressions' intervals: made-up tables of five kinds, and real ones.

The rows are those of ``_interval_tables.py``: even, skewed, correlated, nearly constant and one-hot
tables of 4,000 rows, each there twice, with the columns without effect of either sign and the same
target, so that their coefficients are zero in the population, exactly and at any regularization.
Real tables: scikit-learn's diabetes (442 rows, ten columns), and hours a week of Adult by age,
schooling and sex (needs PRIVET_DATA), with two made-up columns without effect.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import tables
from _interval_tables import WEIGHTS, both_signs, idle, numbers, one_hot

from privet import HuberRegressor, LinearRegression, PoissonRegressor
from privet._types import Array

#: what is fitted, with its declared bounds, by the name of what the target is like
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "linear": (LinearRegression, {"target_bounds": (0, 100), "mechanism": "objective"}),
    "linear, uneven": (LinearRegression, {"target_bounds": (0, 100), "mechanism": "objective"}),
    "Huber, skewed": (HuberRegressor, {"target_bounds": (0, 100), "knee": 10.0}),
    "Huber, heavy tails": (HuberRegressor, {"target_bounds": (0, 100), "knee": 5.0}),
    "Poisson": (PoissonRegressor, {"target_bounds": (0, 20)}),
    "Poisson, overdispersed": (PoissonRegressor, {"target_bounds": (0, 20)}),
    "Huber, diabetes": (HuberRegressor, {"target_bounds": (0, 350)}),
    "linear, hours": (
        LinearRegression,
        {"target_bounds": (1, 99), "mechanism": "objective"},
    ),
    "Huber, hours": (HuberRegressor, {"target_bounds": (1, 99), "knee": 10.0}),
    "Poisson, schooling": (PoissonRegressor, {"target_bounds": (0, 16)}),
}


def population(data: str, d: int, model: str) -> tuple[Array, Array]:
    """Rows of norm at most one, and targets."""
    if data == "diabetes":
        from sklearn.datasets import load_diabetes

        x, y = load_diabetes(return_X_y=True)
        return x / np.linalg.norm(x, axis=1).max(), y
    if data == "adult5":
        return _adult(model)
    rng = np.random.default_rng(zlib.crc32(f"{data} {d} {model}".encode()))
    x = one_hot(rng, d) if data == "onehot" else numbers(rng, data, d) / np.sqrt(d)
    weights = np.zeros(d)
    weights[:4] = (2.0, -2.0, 1.0, 0.0) if data == "onehot" else np.array(WEIGHTS)[:d]
    score = (x - x.mean(axis=0)) @ weights
    y = _targets(model, 0.58 * score / score.std(), rng)
    return (x, y) if data == "onehot" else (both_signs(x), np.concatenate([y, y]))


def without_effect(data: str, d: int) -> list[int]:
    """Columns whose coefficients are zero."""
    return [3, 4] if data == "adult5" else idle(data, d)


def _targets(model: str, score: Array, rng: np.random.Generator) -> Array:
    size = len(score)
    if model.startswith("Poisson"):
        rate = np.exp(1.2 + 0.8 * score)
        if model == "Poisson, overdispersed":
            rate = rate * rng.gamma(2.0, 0.5, size)
        return rng.poisson(rate).astype(np.float64)
    residual = {
        "linear": lambda: rng.normal(size=size),
        "linear, uneven": lambda: rng.normal(size=size) * (1.0 + np.tanh(score)),
        "Huber, skewed": lambda: rng.exponential(size=size) - 1.0,
        "Huber, heavy tails": lambda: rng.standard_t(2, size=size),
    }[model]()
    return np.asarray(50.0 + 15.0 * score + 6.0 * residual)


def _adult(model: str) -> tuple[Array, Array]:
    columns, _ = tables.adult()
    ends = {"age": (17.0, 90.0), "education-num": (1.0, 16.0), "hours-per-week": (1.0, 99.0)}
    target = "education-num" if model == "Poisson, schooling" else "hours-per-week"
    parts = [
        (np.asarray(columns[name], dtype=np.float64) - (low + high) / 2.0) / ((high - low) / 2.0)
        for name, (low, high) in ends.items()
        if name != target
    ]
    parts.append(np.where(columns["sex"] == "Male", 1.0, -1.0))
    rng = np.random.default_rng(5)
    count = len(parts[0])
    parts += [rng.uniform(-1.0, 1.0, count), rng.choice([-1.0, 1.0], count)]
    x = np.clip(np.column_stack(parts), -1.0, 1.0) / np.sqrt(5.0)
    y = np.asarray(columns[target], dtype=np.float64)
    other = x * np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    return np.concatenate([x, other]), np.concatenate([y, y])
