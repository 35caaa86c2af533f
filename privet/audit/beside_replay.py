"""The exact privacy loss of a fit together with the matrices that its noise paid for in part.

The fit's loss at an output is known in closed form (``exact``). That of the matrices at the same
output is at most the nuclear norm of the two rows' difference over the noise's scale, and comes as
near to it as one likes far out. Their sum must never exceed what both claim together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privet._types import Array
from privet.audit.attacks import Attacks, Pair, WeightedTable, realize
from privet.audit.exact import STEALTH, TILT, objective_loss
from privet.losses import Logistic
from privet.mechanisms import Design, ObjectivePerturbation
from privet.mechanisms.matrix import MatrixDesign, SecondMoments
from privet.mechanisms.matrix_beside import MomentsBesideFit, fit_loss
from privet.privacy import PureDP

#: rows of which nearly all are a crowd, and columns
CROWD, COLUMNS = 10**16, 2
MARGINS = np.array([-20.0, -4.0, -2.0, -1.0, -0.6, -0.3, 0.0, 0.3, 0.8, 2.0])
ANGLES = (np.pi - TILT, 2.0, np.pi / 2.0)


def fit_beside(epsilon: float, ridge: float) -> Design:
    """A fit whose Jacobian counts as ``ridge`` = ``n Lam`` says."""
    fit = ObjectivePerturbation(Logistic(), PureDP(epsilon), regularization=ridge / CROWD)
    return fit.design(CROWD, COLUMNS)


def moments_beside(design: Design, epsilon: float) -> MomentsBesideFit:
    """The matrices at its parameters, as if the exact minimum were released."""
    fit = fit_loss(design)
    assert fit is not None  # logistic loss and pure noise
    return MomentsBesideFit(design.risk, PureDP(epsilon), fit=replace(fit, off=0.0))


def worst_beside(design: Design, moments: SecondMoments) -> tuple[float, float]:
    """The largest loss of a fit and of matrices at the same output, and what both claim."""
    matrices = moments.design(design.n, design.m)
    worst = 0.0
    for labels in ((0, 0), (0, 1)):
        pair = realize(design, _attacks(*labels))
        pair = pair[pair.fits]
        both = objective_loss(design, pair) + matrices_loss(pair, moments, matrices)
        worst = max(worst, float(both.max()))
    return worst, design.event.curves[0].pure + moments.budget.amount


def _attacks(label: int, other: int) -> Attacks:
    """Every two margins at some angles; the noise lies on the ray of its shift."""
    wishes = np.meshgrid(MARGINS, MARGINS, ANGLES, indexing="ij")
    z, other_z, angle = (wish.ravel() for wish in wishes)
    ones = np.ones(len(z))
    return Attacks(
        z[:, None],
        np.full(len(z), label),
        other_z[:, None],
        np.full(len(z), other),
        angle,
        ones,
        STEALTH * ones,
    )


def matrices_loss(pair: Pair, moments: SecondMoments, matrices: MatrixDesign) -> Array:
    """The nuclear norm of what the two replaced rows move, over the noise's scale."""
    found = []
    for i, weights in enumerate(pair.weights):
        theta = weights.reshape(-1)
        weighing = moments.weigh(matrices.n, theta, matrices.noise.kind)
        parts = [_row(moments, table[i], weights) for table in (pair.first, pair.second)]
        hessian, covariance = (one - other for one, other in zip(*parts, strict=True))
        moved = np.array([weighing.eta * hessian, covariance])
        size = float(np.linalg.svd(moved, compute_uv=False).sum())
        found.append(size / matrices.n / weighing.sensitivity)
    # without what pays for rounding, which for a crowd is all there is
    return np.array(found) * (matrices.event.sensitivity / matrices.noise.scale)


def _row(moments: SecondMoments, table: WeightedTable, weights: Array) -> tuple[Array, Array]:
    """What the replaced row, the last but one, adds to both sums."""
    loss, x = moments.risk.loss, table.x[-2]
    scores, target = (weights @ x)[None, :], loss.targets(table.y[-2:-1])
    slope, curvature = loss.gradient(scores, target)[0, 0], loss.hessian(scores, target)[0, 0, 0]
    outer = np.outer(x, x)
    return curvature * outer, slope**2 * outer
