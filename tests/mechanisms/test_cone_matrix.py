"""The intervals' matrices with noise by the nuclear norm: bounds, sensitivity by replay, noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.audit.measure_replay import worst_matrix_replay
from privet.losses import HuberHinge, Logistic, Loss, SmoothHinge, Softmax
from privet.losses.second_moments import trace_bound
from privet.mechanisms.matrix import SecondMoments
from privet.noise import ConeLaplace
from privet.privacy import PureDP
from privet.randomness import SystemRandomness
from tests.mechanisms.test_matrix import BOUNDED, DRAWS, each_loss, moments
from tests.strategies import name_of, seeds


@each_loss
@given(seed=seeds(), eta=st.floats(0.0, 20.0), power=st.floats(-2.0, 3.0))
@settings(max_examples=40)
def test_no_row_exceeds_the_trace_bound(loss: Loss, seed: int, eta: float, power: float) -> None:
    rng, reach = np.random.default_rng(seed), 10.0**power
    bound = trace_bound(loss, eta, reach)
    for _ in range(20):
        z = rng.normal(size=loss.scores)
        z *= reach * rng.random() ** 0.5 / np.linalg.norm(z)
        y = loss.targets(rng.integers(loss.classes, size=1))
        g, h = loss.gradient(z[None, :], y)[0], loss.hessian(z[None, :], y)[0]
        assert eta * float(np.trace(h)) + float(g @ g) <= bound * (1.0 + 1e-9)


@pytest.mark.parametrize("eta", [0.5, 2.0, 3.5, 6.0])
@pytest.mark.parametrize(
    "loss", [Logistic(), HuberHinge(0.5), SmoothHinge(0.5), Softmax(2)], ids=name_of
)
def test_trace_bounds_are_reached(loss: Loss, eta: float) -> None:
    scores = np.linspace(-30.0, 30.0, 60_001)
    y = loss.targets(np.ones(len(scores), dtype=int))
    g, h = loss.gradient(scores[:, None], y)[:, 0], loss.hessian(scores[:, None], y)[:, 0, 0]
    best = float((eta * h + g**2).max())
    assert best == pytest.approx(trace_bound(loss, eta, 30.0), rel=2e-3)


@pytest.mark.parametrize("loss", BOUNDED, ids=name_of)
def test_neighbors_stay_within_the_declared_nuclear_distance(loss: Loss) -> None:
    mechanism = moments(loss, PureDP(1.0), 3.0)
    measured, declared = worst_matrix_replay(mechanism, 40, 2, kind=ConeLaplace.kind)
    assert 0.3 * declared < measured <= declared
    if isinstance(loss, Logistic | HuberHinge):
        assert measured > 0.98 * declared


@dataclass(frozen=True)
class OneTraceOnly(SecondMoments):
    """A planted bug: the row that leaves is forgotten."""

    def pair_nuclear(self, n: int, reach: float, eta: float) -> float:
        return super().pair_nuclear(n, reach, eta) / 2.0


def test_nuclear_replay_finds_a_planted_bug() -> None:
    planted = moments(HuberHinge(), PureDP(1.0), kind=OneTraceOnly)
    measured, declared = worst_matrix_replay(planted, 40, 2, kind=ConeLaplace.kind)
    assert measured > 1.9 * declared


@pytest.mark.parametrize(("m", "kind", "gain"), [(1, "laplace", 1.0), (11, "cone laplace", 0.64)])
def test_pure_noise_takes_the_smaller_of_two_shapes(m: int, kind: str, gain: float) -> None:
    mechanism, theta = moments(Logistic(), PureDP(1.0)), np.full(m, 1e3)
    design, sphere = mechanism.design(1000, m), mechanism.design_with("laplace", 1000, m)
    assert design.noise.kind == kind

    def sizes(chosen: Any) -> tuple[float, float]:
        weighing = mechanism.weigh(1000, theta, chosen.noise.kind)
        size = chosen.noise.coordinate_sd * weighing.sensitivity
        return size / weighing.eta, size

    for here, there in zip(sizes(design), sizes(sphere), strict=True):
        assert here <= 1.001 * gain * there


def test_the_noise_by_the_nuclear_norm_has_the_declared_size() -> None:
    """Sum of squares of six parameters' matrices; a tenth less would be seen."""
    mechanism, side = moments(Logistic(), PureDP(1.0)), 6
    design, exact = mechanism.design(500, side), np.eye(side) / 24.0
    assert design.noise.kind == ConeLaplace.kind
    weighing = mechanism.weigh(500, np.full(side, 2.0), design.noise.kind)
    squares = []
    for _ in range(DRAWS):
        found = mechanism.perturb(exact, exact, weighing, design, SystemRandomness())
        pair = (found.hessian - exact) * weighing.eta, found.covariance - exact
        squares.append(sum(float((part**2).sum()) for part in pair) / weighing.sensitivity**2)
    expected = design.noise.dimension * (side + 1.0) * design.event.scale**2
    error = np.std(squares) / math.sqrt(DRAWS)
    assert abs(np.mean(squares) - expected) < 5.5 * error
    assert 0.19 * expected > 7.0 * error  # what nine tenths of the scale would be off by
