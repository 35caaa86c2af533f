"""The intervals' matrices: bounds, sensitivity by replay, noise, events."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chi2, gamma

from privet.audit.measure_replay import declared_matrix_distance, worst_matrix_replay
from privet.losses import HuberHinge, JointHuber, Logistic, Loss, OwnLoss, SmoothHinge, Softmax
from privet.losses.second_moments import joint_bound
from privet.mechanisms.matrix import SecondMoments, pair
from privet.noise.cone_noise import half_vector, symmetric, triangle
from privet.privacy import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.kinds import event_from_json
from privet.randomness import InsecureSeed, SystemRandomness
from privet.risk import RegularizedRisk
from privet.rows import checked_rows
from reproduce.two_matrices import TwoMatrices
from tests.strategies import EACH_BUDGET, EACH_LOSS, LOSS_CASES, Array, name_of, seeds

#: No bound on second moments is proved for a user's own loss, and its intervals are refused.
BOUNDED = [loss for loss in EACH_LOSS if not isinstance(loss, OwnLoss)]
each_loss = pytest.mark.parametrize(
    "loss", [loss for loss in LOSS_CASES if not isinstance(loss, OwnLoss)], ids=name_of
)
each_budget = pytest.mark.parametrize("budget", EACH_BUDGET, ids=name_of)
each_kind = pytest.mark.parametrize("kind", [SecondMoments, TwoMatrices], ids=name_of)


def row_size(loss: Loss, z: Array, label: int, eta: float) -> float:
    """What one unit row contributes, by the loss's own derivatives."""
    y = loss.targets(np.array([label]))
    g, h = loss.gradient(z[None, :], y)[0], loss.hessian(z[None, :], y)[0]
    return math.hypot(eta * float(np.linalg.norm(h)), float(g @ g))


# -- the bound on one row --------------------------------------------------------------------------


@each_loss
@given(seed=seeds(), eta=st.floats(0.0, 20.0), power=st.floats(-2.0, 3.0))
@settings(max_examples=40)
def test_no_row_exceeds_the_joint_bound(loss: Loss, seed: int, eta: float, power: float) -> None:
    rng = np.random.default_rng(seed)
    reach = 10.0**power
    bound = joint_bound(loss, eta, reach)
    for _ in range(20):
        z = rng.normal(size=loss.scores)
        z *= reach * rng.random() ** 0.5 / np.linalg.norm(z)
        assert row_size(loss, z, int(rng.integers(loss.classes)), eta) <= bound * (1.0 + 1e-9)


@pytest.mark.parametrize("eta", [0.5, 2.0, 3.5, 6.0])
@pytest.mark.parametrize(
    "loss", [Logistic(), HuberHinge(0.5), HuberHinge(2.0), SmoothHinge(0.5)], ids=name_of
)
def test_margin_bounds_are_reached(loss: Loss, eta: float) -> None:
    for reach in (0.3, 1.0, 4.0, 30.0):
        if not isinstance(loss, Logistic) and reach < 4.0:
            continue  # a hinge's bound does not use the reach
        scores = np.linspace(-reach, reach, 20_001)
        y = loss.targets(np.ones(len(scores), dtype=int))
        g = loss.gradient(scores[:, None], y)[:, 0]
        h = loss.hessian(scores[:, None], y)[:, 0, 0]
        best = np.hypot(eta * h, g**2).max()
        assert best == pytest.approx(joint_bound(loss, eta, reach), rel=2e-3)


def test_softmax_and_joint_huber_reach_their_bounds_far_out() -> None:
    loss = Softmax(3)
    z = loss.basis.T @ np.array([0.0, 40.0, -40.0])
    assert row_size(loss, z, 0, 1.5) == pytest.approx(joint_bound(loss, 1.5, 1e3), rel=1e-6)
    huber = JointHuber(4, h=0.5)
    z = huber.basis.T @ np.full(4, 0.0) - 1e-9
    at_knee = huber.basis.T @ np.array([0.5, 0.0, 0.0, 0.0])
    assert row_size(huber, at_knee, 0, 2.0) == pytest.approx(joint_bound(huber, 2.0, 1.0), rel=1e-6)
    assert row_size(huber, z, 0, 2.0) <= joint_bound(huber, 2.0, 1.0)


def test_two_softmax_classes_are_not_below_logistic() -> None:
    """Softmax on two classes is logistic with rows sqrt2 longer: g and h are twice as large."""
    for reach in (0.5, 2.0, 10.0):
        logistic = 2.0 * joint_bound(Logistic(), 2.0, math.sqrt(2.0) * reach)
        assert joint_bound(Softmax(2), 2.0, reach) >= logistic * (1.0 - 1e-12)


def test_hand_numbers_of_the_logistic_bound() -> None:
    far = 100.0
    for eta in (0.5, 2.0, 3.85):
        assert joint_bound(Logistic(), eta, far) == pytest.approx(1.0, abs=2e-4)  # H is free
    assert joint_bound(Logistic(), 4.2, far) > 1.05
    for most, eta, cost in ((0.97, 3.4, 0.01), (0.9, 3.0, 0.06), (0.7, 1.0, 0.09)):
        reach = math.log(most / (1.0 - most))
        assert expit(reach) == pytest.approx(most)
        assert joint_bound(Logistic(), eta, reach) / most**2 - 1.0 == pytest.approx(cost, abs=0.01)


# -- half-vectors ----------------------------------------------------------------------------------


@given(seed=seeds(), side=st.integers(1, 9))
def test_half_vectors_are_an_isometry(seed: int, side: int) -> None:
    a = np.random.default_rng(seed).normal(size=(side, side))
    a = a + a.T
    vector = half_vector(a)
    assert vector.shape == (triangle(side),)
    assert np.linalg.norm(vector) == pytest.approx(np.linalg.norm(a))
    np.testing.assert_allclose(symmetric(vector, side), a, rtol=1e-14)
    np.testing.assert_array_equal(symmetric(np.stack([vector, -vector]), side)[1].T.shape, a.shape)


# -- sensitivity by replay -------------------------------------------------------------------------


def moments(loss: Loss, budget: Budget, bound: float = 1.0, kind: type = SecondMoments) -> Any:
    return kind(RegularizedRisk(loss, 0.1, bound), budget)


@each_budget
@each_kind
@pytest.mark.parametrize("loss", BOUNDED, ids=name_of)
def test_neighbors_stay_within_the_declared_matrix_distance(
    loss: Loss, kind: type, budget: Budget
) -> None:
    for bound in (1.0, 3.0):
        measured, declared = worst_matrix_replay(moments(loss, budget, bound, kind), 40, 2, seed=3)
        assert 0.3 * declared < measured <= declared


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge()], ids=name_of)
def test_the_declared_matrix_distance_is_nearly_reached(loss: Loss) -> None:
    measured, declared = worst_matrix_replay(moments(loss, ZCDP(1.0)), 40, 2)
    assert measured > 0.98 * declared


@dataclass(frozen=True)
class OneRowOnly(SecondMoments):
    """A planted bug: the row that enters is forgotten."""

    def pair_sensitivity(self, n: int, reach: float, eta: float) -> float:
        return super().pair_sensitivity(n, reach, eta) / math.sqrt(2.0)


@dataclass(frozen=True)
class LengthForSquare(SecondMoments):
    """A planted bug: R in place of R^2."""

    def pair_sensitivity(self, n: int, reach: float, eta: float) -> float:
        return super().pair_sensitivity(n, reach, eta) / self.risk.norm_bound


def test_replay_finds_planted_bugs() -> None:
    one = moments(HuberHinge(), PureDP(1.0), kind=OneRowOnly)
    measured, declared = worst_matrix_replay(one, 40, 2)
    assert measured > 1.3 * declared
    two = moments(HuberHinge(), PureDP(1.0), 2.0, LengthForSquare)
    measured, declared = worst_matrix_replay(two, 40, 2)
    assert measured > 1.5 * declared


def test_a_forgotten_clip_is_found() -> None:
    def unclipped(x: Array, y: Array, *, norm_bound: float) -> Any:
        return checked_rows(x, y, norm_bound=100.0 * norm_bound)

    mechanism = moments(Logistic(), PureDP(1.0))
    measured, declared = worst_matrix_replay(mechanism, 10, 2, make_rows=unclipped)
    assert measured > declared


# -- noise -----------------------------------------------------------------------------------------

DRAWS = 400


def residuals(mechanism: SecondMoments, secure: bool) -> tuple[Array, Any]:
    """Noise recovered from releases of known matrices, in units of the sensitivity."""
    design = mechanism.design(500, 2)
    h, m = np.array([[0.2, 0.05], [0.05, 0.1]]), np.array([[0.3, -0.1], [-0.1, 0.2]])
    weighing = mechanism.weigh(500, np.array([1.0, -1.0]))
    out = []
    for _ in range(DRAWS):
        words = SystemRandomness() if secure else InsecureSeed(secrets.randbits(60))
        found = mechanism.perturb(h, m, weighing, design, words)
        pair = (found.hessian - h) * weighing.eta, found.covariance - m
        out.append(np.concatenate([half_vector(part) for part in pair]) / weighing.sensitivity)
    return np.array(out), design


@pytest.mark.parametrize("secure", [True, False])
@each_budget
def test_the_noise_has_the_declared_size(budget: Budget, secure: bool) -> None:
    noise, design = residuals(moments(Logistic(), budget), secure)
    scale, p = design.event.scale, noise.shape[1]
    assert p == design.noise.dimension == 6
    radii = np.linalg.norm(noise, axis=1) / scale
    if design.noise.kind == "gaussian":
        tail = chi2.sf((radii**2).sum(), p * DRAWS)
    else:
        tail = gamma.sf(radii.sum(), p * DRAWS)
    assert 5e-7 < tail < 1.0 - 5e-7
    # no direction is favored: each coordinate's share of the squares
    share = (noise**2).mean(axis=0) / (noise**2).mean()
    assert np.abs(share - 1.0).max() < 0.75


def test_the_size_test_sees_a_tenth_too_little() -> None:
    noise, design = residuals(moments(Logistic(), PureDP(1.0)), False)
    radii = 0.85 * np.linalg.norm(noise, axis=1) / design.event.scale
    assert gamma.sf(radii.sum(), 6 * DRAWS) > 1.0 - 5e-7


def test_two_runs_differ_and_a_seed_is_stamped() -> None:
    rng = np.random.default_rng(0)
    rows = checked_rows(rng.uniform(-0.5, 0.5, (30, 2)), np.ones(30), norm_bound=1.0)
    theta = np.zeros(2)
    for budget in EACH_BUDGET:
        fresh = moments(Logistic(), budget)
        design = fresh.design(30, 2)
        found = [fresh.run(rows, theta, design).hessian for _ in range(2)]
        assert design.event.private
        assert (found[0] != found[1]).any()
        stamped = replace(fresh, insecure_seed=1).design(30, 2).event
        assert not stamped.private
        assert "seeded" in stamped.why_not_private


# -- events ----------------------------------------------------------------------------------------


@each_budget
@each_kind
def test_the_event_claims_its_budget_and_reads_back(budget: Budget, kind: type) -> None:
    event = moments(Softmax(3), budget, kind=kind).design(1000, 3).event
    assert event.claim == budget
    assert event_from_json(event.to_json()) == event
    if isinstance(budget, PureDP):
        assert sum(curve.pure for curve in event.curves) <= budget.epsilon
    elif isinstance(budget, ZCDP):
        assert sum(curve.zcdp for curve in event.curves) <= budget.rho
    else:
        assert isinstance(budget, ApproxDP)
        spent = replace(event, claim=ZCDP(1.0)).epsilon(budget.delta)
        assert spent <= budget.epsilon * (1.0 + 1e-6)
        assert kind is TwoMatrices or spent > 0.999 * budget.epsilon


@each_budget
@each_kind
def test_the_noise_pays_for_the_sensitivity(budget: Budget, kind: type) -> None:
    """Each query costs what its curve says: sensitivity over scale."""
    event = moments(HuberHinge(), budget, kind=kind).design(1000, 3).event
    ratio = event.sensitivity / event.scale
    for curve in event.curves:
        cost = ratio if event.noise == "laplace" else ratio**2 / 2.0
        assert cost == pytest.approx(curve.pure if event.noise == "laplace" else curve.zcdp)


def test_many_entries_ask_for_gaussian_noise_and_few_may_not() -> None:
    many = moments(Logistic(), ApproxDP(1.0, 1e-6)).design(1000, 20)
    assert many.noise.kind == "gaussian"
    few = moments(Logistic(), ApproxDP(1.0, 1e-12)).design(1000, 1)
    assert few.noise.kind == "laplace"
    assert declared_matrix_distance(few) >= few.event.sensitivity


@given(factor=st.sampled_from([0.1, 3.0, 40.0]), size=st.floats(0.01, 10.0))
@settings(max_examples=20)
def test_units(factor: float, size: float) -> None:
    """Rows ``a`` times as long: parameters over ``a``, both matrices times ``a^2``."""
    theta = size * np.array([1.0, -2.0])
    here = SecondMoments(RegularizedRisk(Logistic(), 0.1, 1.0), ZCDP(0.1))
    there = SecondMoments(RegularizedRisk(Logistic(), 0.1 * factor**2, factor), ZCDP(0.1))
    one, two = here.weigh(100, theta), there.weigh(100, theta / factor)
    assert one.eta == two.eta
    assert two.sensitivity == pytest.approx(factor**2 * one.sensitivity)


@pytest.mark.parametrize("loss", EACH_LOSS, ids=name_of)
def test_the_sums_are_the_matrices(loss: Loss) -> None:
    """What noise is added to: the mean Hessian and the mean outer product of the gradients."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-0.5, 0.5, (60, 3))
    y = loss.targets(rng.integers(0, loss.classes, 60))
    theta = rng.normal(size=3 * loss.scores)
    rows = checked_rows(x, y, norm_bound=1.0)
    hessian, covariance = rows.sum(pair, moments(loss, ZCDP(1.0)).risk, theta)
    z = x @ theta.reshape(loss.scores, 3).T
    g, h = loss.gradient(z, y), loss.hessian(z, y)
    full = np.einsum("ik,im->ikm", g, x).reshape(60, -1)
    exact = np.einsum("iab,im,in->ambn", h, x, x).reshape(len(theta), -1)
    np.testing.assert_allclose(covariance, full.T @ full, atol=1e-12)
    np.testing.assert_allclose(hessian, exact, atol=1e-12)


def test_a_large_budget_releases_them_as_they_are() -> None:
    mechanism = moments(Logistic(), ZCDP(1000.0))
    design, theta = mechanism.design(100_000, 2), np.array([0.5, 0.1])
    h, m = np.diag([0.2, 0.1]), np.array([[0.3, 0.1], [0.1, 0.2]])
    weighing = mechanism.weigh(100_000, theta)
    found = mechanism.perturb(h, m, weighing, design, SystemRandomness())
    np.testing.assert_allclose(found.hessian, h, atol=1e-4)
    np.testing.assert_allclose(found.covariance, m, atol=1e-4)
