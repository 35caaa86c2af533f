"""Small tables and models for the tests of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import ZCDP, LogisticRegression

Array = NDArray[np.float64]


def table(n: int = 4000, d: int = 3, classes: int = 2, seed: int = 0) -> tuple[Array, Any]:
    """Rows in the unit ball whose class depends on the first two columns and chance."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, size=(n, d)) / np.sqrt(d)
    score = 3.0 * x[:, 0] - 2.0 * x[:, 1] + 0.5 * rng.logistic(size=n)
    return x, np.searchsorted(np.linspace(-0.6, 0.6, classes + 1)[1:-1], score)


def fitted(n: int = 4000, **options: Any) -> tuple[Any, Array, Any]:
    """A logistic regression with its rows."""
    x, y = table(n)
    options = {"budget": ZCDP(0.5), **options}
    return LogisticRegression(**options).fit(x, y), x, y
