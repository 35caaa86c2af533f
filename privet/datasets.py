"""Made-up tables for examples, tests and benchmarks; nothing here is about anybody."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.losses import Array

# Ten categorical columns of a census form; with numbers added to them, 105 encoded columns.
LEVELS = (8, 16, 7, 14, 6, 5, 2, 30, 5, 4)
NUMBERS = 8
NUMBERS_PRESENT = 3.0


def census_like(n: int, seed: int = 0) -> tuple[Array, NDArray[np.int_]]:
    """``n`` rows of 105 columns shaped like an encoded census extract, and classes 0 and 1.

    Ten one-hot groups with uneven levels and about three of eight numbers in [0, 1): 13 non-zeros a
    row, rows of norm 1, a quarter of the rows in class 1.
    """
    generator = np.random.default_rng(seed)
    x = np.zeros((n, sum(LEVELS) + NUMBERS))
    column = 0
    for levels in LEVELS:
        shares = generator.dirichlet(np.full(levels, 0.5))
        x[np.arange(n), column + generator.choice(levels, size=n, p=shares)] = 1.0
        column += levels
    present = generator.random((n, NUMBERS)) < NUMBERS_PRESENT / NUMBERS
    x[:, column:] = generator.random((n, NUMBERS)) * present
    score = x @ generator.normal(scale=1.5, size=x.shape[1])
    chance = 1.0 / (1.0 + np.exp(np.quantile(score, 0.76) - score))
    y = (generator.random(n) < chance).astype(np.int_)
    x /= np.linalg.norm(x, axis=1)[:, None]
    return x, y
