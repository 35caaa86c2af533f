"""Exact privacy loss on tables of real lifted rows: every row, the crowd too, is some ``x``.

The other audits let the attacker choose feature vectors. Here he chooses rows in the ball; their
lifted features never have a negative inner product and always hold the constant. The crowd's sizes
come from non-negative least squares: they move the noise to wherever the attacker wants it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from privet.audit.attacks import Pair, WeightedTable
from privet.audit.exact import objective_loss
from privet.errors import RegularizationRaised
from privet.losses import JointHuber, Loss, Softmax
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms import Design, ObjectivePerturbation
from privet.models.lifted import Lifted
from privet.privacy import PureDP
from reproduce.pathak2010 import PathakRaj2010
from tests.strategies import Array

CLASSES = (2, 3, 7)
DIMENSIONS = (1, 2, 5)
EPSILON = 1.0
MAIN = 0.99 * EPSILON  # the rest pays for the gap
CONSTANT = 0.5


def design_of(loss: Loss, lifted: Lifted, ridge: float, n: int) -> Design:
    """The pure design at the total regularization ``ridge``: only ``n Lam`` counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegularizationRaised)
        return ObjectivePerturbation(
            loss,
            PureDP(EPSILON),
            norm_bound=lifted.norm,
            regularization=ridge / n,
            noise="laplace",  # the sphere: matrix noise has audits of its own
        ).design(n, lifted.columns)


def ball(rng: np.random.Generator, count: int, d: int) -> Array:
    x = rng.normal(size=(count, d))
    return x * (rng.random((count, 1)) ** (1 / d) / np.linalg.norm(x, axis=1, keepdims=True))


def neighbors(
    loss: Loss,
    lifted: Lifted,
    ridge: float,
    rows: tuple[Array, Array],
    labels: tuple[int, int],
    weights: Array,
    rng: np.random.Generator,
) -> Pair:
    """Tables with the two rows and a crowd that puts the noise on the ray of its shift."""
    features = [lifted(row[None, :])[0] for row in rows]
    gradients = [
        np.outer(loss.gradient(weights @ s, np.asarray(label)), s)
        for s, label in zip(features, labels, strict=True)
    ]
    crowd = lifted(ball(rng, 4 * lifted.columns, lifted.d))
    codes = np.tile(np.arange(loss.classes), len(crowd))
    crowd = np.repeat(crowd, loss.classes, axis=0)
    pulls = -loss.gradient(crowd @ weights.T, codes)[:, :, None] * crowd[:, None, :]
    wanted = gradients[0] + ridge * weights + 50.0 * (gradients[0] - gradients[1])
    matrix = pulls.reshape(len(crowd), -1).T
    times, _ = nnls(matrix, wanted.ravel(), maxiter=50 * len(crowd))
    times = np.rint(times * 1e6) / 1e6  # a millionth of a row: the loss is continuous in them

    def table(s: Array, label: int) -> WeightedTable:
        x = np.concatenate([crowd, s[None, :]])
        y = np.concatenate([codes, [label]])
        return WeightedTable(x, y, np.concatenate([times, [1.0]]))

    return Pair(*(table(s, y) for s, y in zip(features, labels, strict=True)), weights)


def scores_at(lifted: Lifted, rows: tuple[Array, Array], wanted: tuple[Array, Array]) -> Array:
    """The smallest weights that give two rows these reduced scores."""
    features = np.concatenate([lifted(row[None, :]) for row in rows])
    found, *_ = np.linalg.lstsq(features, np.stack(wanted), rcond=None)
    return np.asarray(found.T)


def huber_pair(classes: int, d: int, ridge: float, rng: np.random.Generator) -> tuple[Loss, Pair]:
    """One row under two labels: full slopes, full curvature in one table and none in the other."""
    loss = JointHuber(classes, lifted=True)
    lifted = Lifted(d, 1.0, CONSTANT)
    x = np.zeros(d)
    x[0] = 1.0
    class_scores = np.zeros(classes)
    class_scores[0] = loss.margin - loss.h + 1e-9  # at the edge of the knee against all others
    z = sum_zero_basis(classes).T @ class_scores
    weights = scores_at(lifted, (x, x), (z, z))
    return loss, neighbors(loss, lifted, ridge, (x, x), (0, 1), weights, rng)


def softmax_pair(
    classes: int, d: int, ridge: float, rng: np.random.Generator, far: float
) -> tuple[Loss, Pair]:
    """Two rows near each other, each taken for the other's class."""
    loss, lifted = Softmax(classes), Lifted(d, 1.0, CONSTANT)
    x, other = np.zeros(d), np.zeros(d)
    x[0], other[0] = 1.0, 0.75
    if d > 1:
        other[:2] = math.cos(0.35), math.sin(0.35)
    direction = np.zeros(classes)
    direction[0], direction[1] = -far, far
    z = sum_zero_basis(classes).T @ direction
    weights = scores_at(lifted, (x, other), (z, -z))
    return loss, neighbors(loss, lifted, ridge, (x, other), (0, 1), weights, rng)


def loss_of(loss: Loss, pair: Pair, lifted: Lifted, ridge: float) -> float:
    n = math.ceil(pair.first.times.sum())
    design = design_of(loss, lifted, ridge, n)
    # the floor may have raised the regularization: the tables were made for this ridge
    used = design.risk.regularization * n
    assert used == pytest.approx(ridge, rel=1e-6)
    return float(objective_loss(design, pair))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("classes", CLASSES)
def test_joint_huber_keeps_epsilon_and_reaches_it(classes: int, d: int) -> None:
    lifted, rng = Lifted(d, 1.0, CONSTANT), np.random.default_rng(classes + 10 * d)
    for factor in (1.0, 20.0):
        # the floor leaves the Jacobian a tenth of the budget; above it less
        loss = JointHuber(classes, lifted=True)
        ridge = factor * lifted.norm**2 / loss.curvature_floor(MAIN)
        found = loss_of(*huber_pair(classes, d, ridge, rng), lifted, ridge)
        assert 0.97 * MAIN <= found <= MAIN


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("classes", CLASSES)
def test_softmax_keeps_epsilon_and_comes_near_it(classes: int, d: int) -> None:
    lifted, rng = Lifted(d, 1.0, CONSTANT), np.random.default_rng(classes + 10 * d)
    found = []
    for factor in (1.0, 10.0):
        ridge = factor * lifted.norm**2 / Softmax(classes).curvature_floor(MAIN)
        for far in (1.0, 2.0, 3.0):
            pair = softmax_pair(classes, d, ridge, rng, far)
            found.append(loss_of(*pair, lifted, ridge))
    assert max(found) <= MAIN
    assert max(found) >= 0.7 * MAIN


@pytest.mark.parametrize("classes", CLASSES)
def test_the_sensitivity_of_lifted_rows_is_attained(classes: int) -> None:
    """``sqrt2 C G``: one row of full norm under two labels, all margins violated."""
    loss, lifted = JointHuber(classes, lifted=True), Lifted(2, 1.0, CONSTANT)
    s = lifted(np.array([[0.6, 0.8]]))[0]
    z = np.zeros(classes - 1)
    gradients = [np.outer(loss.gradient(z, np.asarray(label)), s) for label in (0, 1)]
    distance = float(np.linalg.norm(gradients[0] - gradients[1]))
    assert distance == pytest.approx(math.sqrt(2.0) * classes * lifted.norm)
    assert distance == pytest.approx(loss.difference_bound * lifted.norm)


@pytest.mark.parametrize("classes", CLASSES)
def test_the_log_determinant_bounds_are_attained(classes: int) -> None:
    """Huber: every margin in its knee. Softmax: all classes equally likely."""
    lifted, ridge = Lifted(2, 1.0, CONSTANT), 3.0
    q, s = lifted.norm**2 / ridge, lifted(np.array([[0.6, 0.8]]))[0]
    huber, soft = JointHuber(classes, lifted=True), Softmax(classes)
    in_knee = np.zeros(classes)
    in_knee[0] = huber.margin
    z = sum_zero_basis(classes).T @ in_knee
    for loss, scores in ((huber, z), (soft, np.zeros(classes - 1))):
        hessian = np.kron(loss.hessian(scores, np.asarray(0)), np.outer(s, s))
        grown = np.linalg.slogdet(np.eye(len(hessian)) + hessian / ridge)[1]
        assert grown == pytest.approx(loss.log_determinant_bound(q))


# -- Pathak and Raj 2010 ---------------------------------------------------------------------------


def paper_design(loss: Loss, lifted: Lifted, ridge: float, n: int) -> Design:
    return PathakRaj2010(
        loss, PureDP(EPSILON), norm_bound=lifted.norm, regularization=ridge / n, unit=1.0
    ).design(n, lifted.columns)


@pytest.mark.parametrize("classes", CLASSES)
def test_the_2010_calibration_exceeds_its_claim(classes: int) -> None:
    """Noise at rate eps/2 in every dimension, ``n Lam = 10^4``: the Jacobian is negligible.

    The paper claims ``eps + k`` with ``k`` near zero. One row of norm 1, the constant 1 as printed
    (so ``|x x^T| = 2``), under two labels: the loss is ``sqrt2 C`` times ``eps``.
    """
    lifted, ridge, loss = Lifted(1, 1.0, 1.0), 1e4, JointHuber(classes, lifted=True)
    x, weights = np.ones(1), np.zeros((classes - 1, lifted.columns))
    rng = np.random.default_rng(classes)
    pair = neighbors(loss, lifted, ridge, (x, x), (0, 1), weights, rng)
    n = math.ceil(pair.first.times.sum())
    design = paper_design(loss, lifted, ridge, n)
    found = float(objective_loss(design, pair))
    assert found == pytest.approx(math.sqrt(2.0) * classes * MAIN, rel=0.02)
    assert not design.event.private
    assert "gradients" in design.event.why_not_private
    right = design_of(loss, lifted, ridge, n)
    assert float(objective_loss(right, pair)) <= MAIN


def test_one_shared_noise_matrix_moves_no_class_difference() -> None:
    """Equation 8 as printed: the noise and the trace touch only the sum of the class matrices.

    Changing the sum does not change the loss, changing differences does not change noise or trace:
    the released differences are the minimizers without noise, and neighbors' differ for sure.
    """
    rng = np.random.default_rng()
    classes, size = 3, 3
    phi = rng.normal(size=(classes, size, size))
    phi += phi.transpose(0, 2, 1)
    noise = rng.normal(size=(size, size))
    cut = np.diag([1.0, 1.0, 0.0])

    def printed(matrices: NDArray[np.float64]) -> float:
        trace = sum(float(np.trace(cut @ one @ cut)) for one in matrices)
        return 0.7 * trace + sum(float((noise * one).sum()) for one in matrices)

    change = rng.normal(size=phi.shape)
    change += change.transpose(0, 2, 1)
    change -= change.mean(axis=0)  # moves differences between classes, keeps their sum
    assert printed(phi + change) == pytest.approx(printed(phi))
    lifted, loss = Lifted(2, 1.0, 1.0), JointHuber(classes, lifted=True)
    s = lifted(rng.uniform(-0.7, 0.7, size=(5, 2)))
    weights = rng.normal(size=(classes, lifted.columns))
    common = rng.normal(size=lifted.columns)
    basis, y = sum_zero_basis(classes), rng.integers(0, classes, 5)
    values = [loss.value(s @ (w.T @ basis), y) for w in (weights, weights + common)]
    assert np.allclose(*values)


def test_a_tenth_less_noise_is_found() -> None:
    lifted, rng = Lifted(2, 1.0, CONSTANT), np.random.default_rng(5)
    ridge = 20.0 * lifted.norm**2 / JointHuber(3, lifted=True).curvature_floor(MAIN)
    loss, pair = huber_pair(3, 2, ridge, rng)
    design = design_of(loss, lifted, ridge, math.ceil(pair.first.times.sum()))
    thin = replace(design, main=replace(design.main, scale=0.9 * design.main.scale))
    assert float(objective_loss(thin, pair)) > MAIN
