"""Small tables that the model tests share."""

import numpy as np
from numpy.typing import NDArray

from privet import LinearSVC, LogisticRegression
from privet.models import MODELS

Array = NDArray[np.float64]
MODEL_CLASSES = list(MODELS.values())
QUIET = {"budget": 5.0, "classes": [0, 1]}


def two_classes(n: int = 400, d: int = 3) -> tuple[Array, NDArray[np.int_]]:
    """A table with plain structure; rows within the unit ball."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-1.0, 1.0, size=(n, d)) / np.sqrt(d)
    return x, (x[:, 0] + 0.1 * rng.normal(size=n) > 0).astype(int)


def three_classes(n: int = 600) -> tuple[Array, NDArray[np.str_]]:
    """Three sectors of the plane with text labels."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-0.7, 0.7, size=(n, 2))
    return x, np.array(["a", "b", "c"])[(np.arctan2(x[:, 1], x[:, 0]) // 2.1 + 2).astype(int) % 3]


__all__ = ["MODEL_CLASSES", "QUIET", "LinearSVC", "LogisticRegression"]
