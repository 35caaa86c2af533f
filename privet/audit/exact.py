"""Exact privacy loss: the output density has a closed form, so the log-ratio can be computed.

    objective perturbation   log mu(b_D) - log mu(b_D') + log det H_D - log det H_D'
    output perturbation      log mu(f - f_D) - log mu(f - f_D')

``worst_loss`` attacks a design with the equality cases of its proof. It must never exceed the
(main) budget, and for a tight calibration it must come close to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from privet.audit.neighbours import Attack, Pair, Table, opposing_pair
from privet.losses import Loss
from privet.mechanisms import Design

Array = NDArray[np.float64]

# A score at which every loss has saturated, and one at which it is flat.
FAR = 40.0


def noise_vector(design: Design, table: Table, weights: Array) -> Array:
    """``b_D(W) = -n Lam W - sum of row gradients``: the noise that leads to ``W``."""
    ridge = design.n * design.risk.regularization
    return -(ridge * weights + table.gradient(design.risk.loss, weights)).reshape(-1)


def objective_loss(design: Design, pair: Pair) -> float:
    """Privacy loss of objective perturbation's main noise at one output."""
    loss, ridge = design.risk.loss, design.n * design.risk.regularization
    b = [noise_vector(design, table, pair.weights) for table in (pair.first, pair.second)]
    determinants = [
        table.log_determinant(loss, pair.weights, ridge) for table in (pair.first, pair.second)
    ]
    noise = float(design.main.log_density(b[0]) - design.main.log_density(b[1]))
    return noise + determinants[0] - determinants[1]


def attacks(loss: Loss, *, signed: bool = True) -> Iterator[Attack]:
    """Candidate worst cases: scores where curvature or slope is largest, opposite or equal rows.

    The leaving row is saturated (largest slope, no curvature). The entering row scans the margins
    between the place of largest curvature and saturation. ``signed=False`` keeps to rows with
    non-negative inner products.
    """
    angles = (np.pi - 0.02, 0.02, np.pi / 2) if signed else (0.02, np.pi / 2)
    pushes = (0.0, 1.0)
    entering = _entering_scores(loss)
    leaving = _leaving_scores(loss)
    for (z, y), (other, other_y) in itertools.product(entering, leaving):
        for angle, push in itertools.product(angles, pushes):
            yield Attack(z, y, other, other_y, angle, push)


def _entering_scores(loss: Loss) -> list[tuple[Array, int]]:
    scan = np.concatenate([np.linspace(-8.0, 2.0, 41), [-FAR, FAR]])
    directions = _directions(loss)
    return [(m * d, y) for m in scan for d, y in directions]


def _leaving_scores(loss: Loss) -> list[tuple[Array, int]]:
    return [(-FAR * d, y) for d, y in _directions(loss)]


def _directions(loss: Loss) -> list[tuple[Array, int]]:
    """Directions in score space along which the margin of a label grows by one."""
    if loss.scores == 1 and loss.family == "margin":
        return [(np.ones(1), 1), (-np.ones(1), 0)]
    basis = _class_basis(loss)
    out = []
    for label, rival in ((0, 1), (1, 0)):
        one = np.zeros(loss.classes)
        one[label], one[rival] = 0.5, -0.5
        out.append((basis.T @ one, label))
        all_rivals = np.full(loss.classes, -1.0 / loss.classes)
        all_rivals[label] += 1.0
        out.append((basis.T @ all_rivals, label))
    return out


def _class_basis(loss: Loss) -> Array:
    from privet.losses import sum_zero_basis

    return sum_zero_basis(loss.classes)


def worst_loss(design: Design, *, signed: bool = True) -> float:
    """Largest exact privacy loss over the attacks on objective perturbation."""
    ridge = design.n * design.risk.regularization
    loss, bound = design.risk.loss, design.risk.norm_bound
    return max(
        objective_loss(design, opposing_pair(loss, bound, ridge, attack))
        for attack in attacks(loss, signed=signed)
    )
