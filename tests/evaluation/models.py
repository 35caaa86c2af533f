"""Small released models and tables for these tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from privet import LinearSVC, LogisticRegression

ROWS = 600


def table(n: int, seed: int, classes: int = 2) -> tuple[Any, Any, Any]:
    """Rows, labels and groups."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-0.5, 0.5, size=(n, 3))
    noisy = x[:, 0] + 0.15 * generator.normal(size=n)
    y = np.digitize(noisy, np.linspace(-0.2, 0.2, classes - 1) if classes > 2 else [0.1])
    return x, y, np.where(x[:, 1] > 0.2, "few", "many")


@cache
def model(kind: str = "logistic", classes: int = 2) -> Any:
    """A model trained on rows that no test evaluates on."""
    x, y, _ = table(2 * ROWS, 1, classes)
    make = {"logistic": LogisticRegression, "svm": LinearSVC}[kind]
    return make(20.0, classes=list(range(classes))).fit(x, y)
