"""Adversarial neighbours: two tables that differ in one row, built to be told apart.

The construction is the equality case of the proofs. The replaced row ``x`` and its replacement
``x'`` stand at an angle, so that one parameter matrix ``W`` can give them any scores ``z`` and
``z'`` at the same time. A crowd of tiny rows then moves the noise vector to wherever the attacker
likes it, at almost no curvature. Tables carry multiplicities, so a crowd of 1e15 costs one row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from privet.losses import Loss

Array = NDArray[np.float64]

# Size of a crowd row relative to R: its curvature is second order in this.
TINY = 1e-9


@dataclass(frozen=True)
class Table:
    """Rows ``x`` (r x m), class indices ``y`` and how often each row occurs."""

    x: Array
    y: NDArray[np.int_]
    times: Array

    def gradient(self, loss: Loss, weights: Array) -> Array:
        """Sum of the row gradients at ``W``, shape (K, m). Independent of the risk's kernels."""
        g = loss.gradient(self.x @ weights.T, loss.targets(self.y))
        return np.asarray((g * self.times[:, None]).T @ self.x)

    def log_determinant(self, loss: Loss, weights: Array, ridge: float) -> float:
        """``log det(ridge I + sum_i hess_i (x) x_i x_i^T)``."""
        h = loss.hessian(self.x @ weights.T, loss.targets(self.y))
        full = np.einsum("i,iab,ij,ik->ajbk", self.times, h, self.x, self.x, optimize=True)
        p = weights.size
        return float(np.linalg.slogdet(ridge * np.eye(p) + full.reshape(p, p))[1])


@dataclass(frozen=True)
class Pair:
    """Neighbours ``first`` and ``second`` and the output ``weights`` (K, m) to look at."""

    first: Table
    second: Table
    weights: Array


@dataclass(frozen=True)
class Attack:
    """What the attacker wants the two rows to look like at the output."""

    scores: Array  # z of the row in the first table
    label: int
    other_scores: Array  # z' of its replacement in the second table
    other_label: int
    angle: float = np.pi - 0.02  # between the two rows
    push: float = 0.0  # how far the noise already is in the direction of the shift


def opposing_pair(loss: Loss, norm_bound: float, ridge: float, attack: Attack) -> Pair:
    """The pair of tables, in two columns, that realises ``attack`` at total regulariser ``n Lam``."""
    x = norm_bound * np.array([1.0, 0.0])
    other = norm_bound * np.array([np.cos(attack.angle), np.sin(attack.angle)])
    weights = np.linalg.solve(
        np.stack([x, other]), np.stack([attack.scores, attack.other_scores])
    ).T
    gradient = _row_gradient(loss, attack.scores, attack.label, x)
    other_gradient = _row_gradient(loss, attack.other_scores, attack.other_label, other)
    # b = crowd - n Lam W - gradient shall lie on the ray of b' - b = gradient - other_gradient
    shift = gradient - other_gradient
    wanted = gradient + attack.push * shift + ridge * weights
    crowd = _crowd(loss, norm_bound, wanted)
    return Pair(
        _with_row(crowd, x, attack.label), _with_row(crowd, other, attack.other_label), weights
    )


def _row_gradient(loss: Loss, scores: Array, label: int, x: Array) -> Array:
    targets = loss.targets(np.array([label]))
    return np.outer(loss.gradient(scores[None, :], targets)[0], x)


def _with_row(table: Table, x: Array, label: int) -> Table:
    return Table(np.vstack([table.x, x]), np.append(table.y, label), np.append(table.times, 1.0))


def _crowd(loss: Loss, norm_bound: float, wanted: Array) -> Table:
    """Tiny rows whose negative gradients add up to ``wanted`` (K, m) at small scores.

    At score zero the negative gradients of the C classes span every direction with non-negative
    weights; a row along minus a column serves where one class cannot.
    """
    size = TINY * norm_bound
    labels = np.arange(loss.classes)
    pulls = -loss.gradient(np.zeros((loss.classes, loss.scores)), loss.targets(labels)).T
    rows, codes, times = [], [], []
    for column in range(wanted.shape[1]):
        weights, _ = nnls(pulls, wanted[:, column])
        for label in labels[weights > 0.0]:
            row = np.zeros(wanted.shape[1])
            row[column] = size
            rows.append(row)
            codes.append(label)
            times.append(weights[label] / size)
    if not rows:
        return Table(np.zeros((1, wanted.shape[1])), np.zeros(1, dtype=np.int_), np.ones(1))
    return Table(np.array(rows), np.array(codes), np.array(times))
