"""The exact privacy loss of a fit together with the matrices that its noise paid for in part.

The fit's loss at an output is known in closed form (``exact``). That of the matrices at the same
output is at most the nuclear norm of the two rows' difference over the noise's scale, and comes as
near to it as one likes far out. Their sum must never exceed what both claim together.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from privet._types import Array
from privet.audit.attacks import Attacks, Pair, realize
from privet.audit.domain_attack import vertices
from privet.audit.exact import STEALTH, TILT, objective_loss
from privet.domain import Domain
from privet.losses import Logistic
from privet.mechanisms import Design, ObjectivePerturbation
from privet.mechanisms.matrix import MatrixDesign, SecondMoments
from privet.mechanisms.matrix_beside import MomentsBesideFit, fit_loss
from privet.mechanisms.trainer import NoiseChoice
from privet.privacy import PureDP

#: rows of which nearly all are a crowd, and columns
CROWD, COLUMNS = 10**16, 2
MARGINS = np.array([-20.0, -4.0, -2.0, -1.0, -0.6, -0.3, 0.0, 0.3, 0.8, 2.0])
ANGLES = (np.pi - TILT, 2.0, np.pi / 2.0)


def fit_beside(epsilon: float, ridge: float) -> Design:
    """A fit whose Jacobian counts as ``ridge`` = ``n Lam`` says."""
    fit = ObjectivePerturbation(Logistic(), PureDP(epsilon), regularization=ridge / CROWD)
    return fit.design(CROWD, COLUMNS)


def fit_in_domain(domain: Domain, noise: NoiseChoice, epsilon: float, ridge: float) -> Design:
    """The same with noise in the shape of a domain."""
    fit = ObjectivePerturbation(
        Logistic(),
        PureDP(epsilon),
        regularization=ridge / CROWD,
        norm_bound=domain.norm,
        domain=domain,
        noise=noise,
    )
    return fit.design(CROWD, domain.columns)


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
        # the replaced row is the last but one
        rows = [(table.x[-2], table.y[-2]) for table in (pair.first[i], pair.second[i])]
        found.append(_moved(moments, matrices, weights.reshape(-1), rows))
    return np.array(found)


def _moved(
    moments: SecondMoments, matrices: MatrixDesign, theta: Array, rows: list[tuple[Array, int]]
) -> float:
    """The matrices' loss at ``theta`` where the second of two labeled rows replaces the first."""
    weighing = moments.weigh(matrices.n, theta, matrices.noise.kind)
    parts = [_of_row(moments, theta, *row) for row in rows]
    hessian, covariance = (one - other for one, other in zip(*parts, strict=True))
    moved = np.array([weighing.eta * hessian, covariance])
    size = float(np.linalg.svd(moved, compute_uv=False).sum())
    # without what pays for rounding, which for a crowd is all there is
    per_unit = matrices.event.sensitivity / matrices.noise.scale
    return size / matrices.n / weighing.sensitivity * per_unit


def _of_row(moments: SecondMoments, theta: Array, x: Array, label: int) -> tuple[Array, Array]:
    """What a row adds to both sums."""
    slope, curvature = _derivatives(moments, theta, x, label)
    outer = np.outer(x, x)
    return curvature * outer, slope**2 * outer


def _derivatives(moments: SecondMoments, theta: Array, x: Array, label: int) -> tuple[float, float]:
    """Of a row's loss by its score."""
    loss = moments.risk.loss
    scores, target = (theta @ x)[None, None], loss.targets(np.array([label]))
    slope, curvature = loss.gradient(scores, target), loss.hessian(scores, target)
    return float(slope.item()), float(curvature.item())


def worst_beside_in_domain(design: Design, moments: SecondMoments) -> tuple[float, float]:
    """The same for a fit with the noise of a domain: both rows are vertices, at any two margins.

    A crowd that is wrong by far has no curvature and lets the noise lie on the ray of its shift.
    """
    assert design.domain is not None
    matrices, corners = moments.design(design.n, design.m), vertices(design.domain)
    worst = 0.0
    for first, second in itertools.product(corners, repeat=2):
        scored = np.linalg.pinv(np.array([first, second]))
        for margins in itertools.product(MARGINS, repeat=2):
            for other in (0, 1):
                signs = np.array([-1.0, 2.0 * other - 1.0])
                theta = scored @ (signs * margins)
                rows = [(first, 0), (second, other)]
                both = _fit_moved(design, moments, theta, rows)
                worst = max(worst, both + _moved(moments, matrices, theta, rows))
    return worst, design.event.curves[0].pure + moments.budget.amount


def _fit_moved(
    design: Design, moments: SecondMoments, theta: Array, rows: list[tuple[Array, int]]
) -> float:
    """The fit's exact loss where its minimum is ``theta`` and its noise on the ray of the shift."""
    ridge, pulls, determinants = design.n * design.risk.regularization, [], []
    for x, label in rows:
        slope, curvature = _derivatives(moments, theta, x, label)
        pulls.append(slope * x)
        determinants.append(np.log1p(curvature * (x @ x) / ridge))
    shift = pulls[0] - pulls[1]
    noise = design.main.log_density(shift) - design.main.log_density(2.0 * shift)
    return float(noise + determinants[0] - determinants[1])
