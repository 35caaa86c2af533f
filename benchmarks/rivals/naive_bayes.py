"""Private naive Bayes (Vaidya et al. 2013): noisy counts, sums and sums of squares for each class.

One query of all of them. A row adds 1 to a count and its cells and squares, scaled to at most 1,
to the sums of its class; the declared groups bound how long that is. Replacing a row moves the
query by at most twice the length: in l1 with Laplace noise, in l2 with Gaussian noise. Numbers are
Gaussian in each class, categories have their noisy shares.
"""

from __future__ import annotations

import math

import numpy as np

from .rival import Array, Promise, Rival, Task, softmax

LEAST_VARIANCE = (0.003, 0.03)


def naive_bayes(task: Task, promise: Promise, rng: np.random.Generator) -> dict[str, Array]:
    """Predictions for two floors of a number's variance."""
    sizes = np.concatenate([np.full(b.width, b.size) for b, _ in task.domain.parts()])
    numbers, groups = task.numbers, len(task.domain.blocks)
    x, test = task.x / sizes, task.x_test / sizes
    # numbers have a sum and a sum of squares, one-hot groups one cell
    length = 1 + groups + int(numbers.sum())
    parts = [np.ones((len(x), 1)), x, x[:, numbers] ** 2]
    rows = np.concatenate(parts, axis=1)
    sums = np.stack([rows[task.y == c].sum(axis=0) for c in range(task.classes)])
    if promise.delta > 0.0:
        sums += rng.normal(0.0, 2.0 * math.sqrt(length) / promise.mu, sums.shape)
    else:
        sums += rng.laplace(0.0, 2.0 * length / promise.epsilon, sums.shape)
    counts = np.maximum(sums[:, 0], 1.0)
    d = x.shape[1]
    shares = np.clip(sums[:, 1 : d + 1] / counts[:, None], -1.0, 1.0)
    squares = sums[:, d + 1 :] / counts[:, None]
    means, cells = shares[:, numbers], np.clip(shares[:, ~numbers], 1e-3, 1.0)
    prior = np.log(counts / counts.sum()) + np.zeros((len(test), 1))
    prior = prior + test[:, ~numbers] @ np.log(cells).T
    out = {}
    for least in LEAST_VARIANCE:
        variance = np.clip(squares - means**2, least, 1.0)
        away = (test[:, numbers][:, None, :] - means) ** 2 / variance + np.log(variance)
        out[f"least variance {least:g}"] = softmax(prior - 0.5 * away.sum(axis=2))
    return out


RIVAL: Rival = naive_bayes
