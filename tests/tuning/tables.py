"""Small tables and models whose fits can be watched."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import LogisticRegression

CANDIDATES = [{"regularization": 0.5}, {"regularization": 0.3}, {"norm_bound": 2.0}]


def separable(n: int, d: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """Rows in the unit ball, classes by the first column with some mistakes."""
    rng = np.random.default_rng()
    x = rng.uniform(-0.57, 0.57, size=(n, d))
    return x, (x[:, 0] + 0.1 * rng.normal(size=n) > 0.0).astype(int)


class Watched(LogisticRegression):
    """Notes which rows each fit saw and which were predicted, by a mark in the last column."""

    seen: list[set[float]] = []  # noqa: RUF012  (shared on purpose: searches clone the model)
    predicted: list[set[float]] = []  # noqa: RUF012

    def _publish(self, release: Any, fit: Any) -> None:
        marks: set[float] = set()
        for block, _ in fit.rows.blocks():
            weights = np.zeros((1, fit.rows.m))
            weights[0, self.n_features_in_ - 1] = 1.0
            marks.update(np.round(block.scores(weights)[:, 0], 9).tolist())
        Watched.seen.append(marks)
        super()._publish(release, fit)

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of marked rows."""
        Watched.predicted.append(set(np.round(np.asarray(X)[:, -1], 9).tolist()))
        return super().predict(X)
