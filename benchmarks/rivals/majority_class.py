"""The most frequent class, from noisy counts: what a rival must beat to have learned anything."""

from __future__ import annotations

import numpy as np

from .rival import Array, Promise, Rival, Task


def majority_class(task: Task, promise: Promise, rng: np.random.Generator) -> dict[str, Array]:
    """The same noisy shares for every row; a replaced row moves two counts."""
    counts = np.bincount(task.y, minlength=task.classes)
    noisy = np.maximum(counts + rng.laplace(0.0, 2.0 / promise.epsilon, task.classes), 1.0)
    return {"": np.tile(noisy / noisy.sum(), (len(task.x_test), 1))}


RIVAL: Rival = majority_class
