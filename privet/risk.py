"""The regularized empirical risk, split into what is public and what touches rows.

    J(theta) = (1/n) sum_i l(W x_i, y_i) + (Lam/2) |theta|^2 + <b, theta>/n

``theta`` is the ``K x m`` matrix ``W`` written as one vector. Every coordinate is penalized, the
intercept too: each proof uses strong convexity in every direction. ``RegularizedRisk`` holds no
rows. Its constants are functions of declarations; its kernels are what ``rows.sum`` adds up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet._checks import norm_bound, positive
from privet._moved import old_names
from privet._types import Array, Targets
from privet.losses import Loss
from privet.rows.engine import Block, Parts


@dataclass(frozen=True)
class RegularizedRisk:
    """Loss, regularization ``Lam`` of the mean objective, and the row norm bound ``R``."""

    loss: Loss
    regularization: float
    norm_bound: float

    def __post_init__(self) -> None:
        positive("regularization", self.regularization)
        norm_bound(self.norm_bound)

    # -- public constants: declarations in, numbers out ----------------------------------------

    def parameters(self, m: int) -> int:
        """Length of ``theta`` for rows with ``m`` columns."""
        return self.loss.scores * m

    @property
    def row_gradient(self) -> float:
        """``L R``: largest gradient of one row's loss in ``theta``."""
        return self.loss.row_gradient_bound * self.norm_bound

    @property
    def gradient_difference(self) -> float:
        """Largest distance between two rows' gradients in ``theta`` (margins: ``2 L R``)."""
        return self.loss.difference_bound * self.norm_bound

    @property
    def row_curvature(self) -> float:
        """``c R^2``: largest eigenvalue of one row's Hessian in ``theta``."""
        return self.loss.curvature_bound * self.norm_bound**2

    def relative_curvature(self, n: int) -> float:
        """``q = R^2/(n Lam)``: a row's squared norm relative to the whole regularizer."""
        return self.norm_bound**2 / (n * self.regularization)

    def minimizer_sensitivity(self, n: int, gap: float = 0.0) -> float:
        """Largest distance between two neighbors' minimizers, each known to gradient norm ``gap``.

        ``2 L R/(n Lam)`` for margins (Chaudhuri, Monteleoni and Sarwate 2011, Corollary 8), plus
        ``gap/Lam`` on either side.
        """
        return (self.gradient_difference / n + 2.0 * gap) / self.regularization

    # -- kernels for rows.sum: sums, not means -------------------------------------------------

    def _weights(self, theta: Array) -> Array:
        return theta.reshape(self.loss.scores, -1)

    def gradients(self, block: Block, y: Targets, thetas: Array) -> Parts:
        """Sums of the gradients at ``k`` parameter vectors at once, shape (k, p)."""
        k, scores = len(thetas), self.loss.scores
        z = block.scores(thetas.reshape(k * scores, -1)).reshape(-1, k, scores)
        residuals = self.loss.gradient(z, y[:, None]).reshape(len(z), k * scores)
        return (block.pull(residuals).reshape(k, -1),)

    def diagonals(self, block: Block, y: Targets, thetas: Array) -> Parts:
        """Sums of the Hessians' diagonals at ``k`` parameter vectors at once, shape (k, p)."""
        k, scores = len(thetas), self.loss.scores
        z = block.scores(thetas.reshape(k * scores, -1)).reshape(-1, k, scores)
        weights = np.empty_like(z)
        for i in range(k):  # one at a time: a Hessian in the scores has scores^2 entries a row
            weights[:, i] = np.einsum("rcc->rc", self.loss.hessian(z[:, i], y))
        return (block.pull_squares(weights.reshape(len(z), k * scores)).reshape(k, -1),)

    def hessian(self, block: Block, y: Targets, theta: Array) -> Parts:
        """Sum of the loss's Hessian in ``theta``, shape (p, p), without the regularizer."""
        curvature = self.loss.hessian(block.scores(self._weights(theta)), y)
        scores = self.loss.scores
        parts = [[np.empty(0)] * scores for _ in range(scores)]
        for a in range(scores):
            for b in range(a + 1):
                parts[a][b] = parts[b][a] = block.gram(curvature[:, a, b])
        return (np.block(parts) if scores > 1 else parts[0][0],)

    def gradient_covariance(self, block: Block, y: Targets, theta: Array) -> Parts:
        """Sum of the outer products of the rows' gradients in ``theta``, shape (p, p)."""
        gradient = self.loss.gradient(block.scores(self._weights(theta)), y)
        scores = self.loss.scores
        parts = [[np.empty(0)] * scores for _ in range(scores)]
        for a in range(scores):
            for b in range(a + 1):
                parts[a][b] = parts[b][a] = block.gram(gradient[:, a] * gradient[:, b])
        return (np.block(parts) if scores > 1 else parts[0][0],)


__getattr__ = old_names(__name__, {"RegularisedRisk": "privet.risk.RegularizedRisk"})
