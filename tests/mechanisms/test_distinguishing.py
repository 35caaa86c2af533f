"""The draw of a distinguishing point: against rejection sampling, and what a round costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from privet import ZCDP, ApproxDP, PureDP
from privet.audit.attacks import FALSE_ALARM
from privet.losses.margin import Logistic
from privet.mechanisms.distinguishing import (
    Distinguishing,
    DistinguishingDesign,
    Space,
    draw_in_ball,
)
from privet.privacy import Budget
from privet.randomness import SystemRandomness

Array = NDArray[np.float64]


def in_ball(count: int, d: int, rng: np.random.Generator) -> Array:
    z = rng.normal(size=(count, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return np.asarray(z * rng.random((count, 1)) ** (1.0 / d))


def rejected(u: Array, rate: float, count: int) -> Array:
    """Uniform points of the ball, kept with probability ``exp(rate (|<z, u>| - |u|))``."""
    rng, out = np.random.default_rng(), np.empty((0, len(u)))
    while len(out) < count:
        z = in_ball(200_000, len(u), rng)
        keep = np.log(rng.random(len(z))) <= rate * (np.abs(z @ u) - np.linalg.norm(u))
        out = np.concatenate([out, z[keep]])
    return out[:count]


def features(z: Array, u: Array) -> dict[str, Array]:
    """What describes the law: along ``u``, across it, and the length."""
    along = z @ u / np.linalg.norm(u)
    return {"along": along, "length": np.linalg.norm(z, axis=1), "one coordinate": z[:, 0]}


@pytest.mark.parametrize(("d", "rate"), [(1, 3.0), (2, 4.0), (3, 0.0), (3, 8.0), (8, 6.0)])
def test_the_draw_has_the_law_of_rejection_sampling(d: int, rate: float) -> None:
    u = np.linspace(0.3, 1.0, d)
    u /= np.linalg.norm(u)
    randomness = SystemRandomness()
    drawn = np.array([draw_in_ball(u, rate, randomness) for _ in range(3000)])
    assert (np.linalg.norm(drawn, axis=1) <= 1.0 + 1e-12).all()
    reference = features(rejected(u, rate, 20_000), u)
    for name, values in features(drawn, u).items():
        assert stats.ks_2samp(values, reference[name]).pvalue > FALSE_ALARM / 3.0, name


@pytest.mark.parametrize("wrong", ["rate", "dimension"])
def test_the_comparison_has_power(wrong: str) -> None:
    u, rate = np.array([1.0, 0.0, 0.0, 0.0]), 6.0
    randomness = SystemRandomness()
    if wrong == "rate":
        drawn = np.array([draw_in_ball(u, 0.75 * rate, randomness) for _ in range(3000)])
    else:  # the exponent (1 - t^2)^((d-1)/2) forgotten by one dimension
        drawn = np.array([draw_in_ball(u[:3], rate, randomness) for _ in range(3000)])
    along = np.abs(drawn @ u[: drawn.shape[1]])
    reference = np.abs(rejected(u, rate, 20_000) @ u)
    assert stats.ks_2samp(along, reference).pvalue < FALSE_ALARM / 3.0


@pytest.mark.parametrize(
    ("d", "rate", "draws"), [(3, 0.0, 6000), (50, 100.0, 1000), (1000, 2000.0, 1000)]
)
def test_the_mean_along_the_direction(d: int, rate: float, draws: int) -> None:
    """By quadrature of the density; also where rejection is too far in the tail."""
    u = np.eye(d)[0]
    t = np.linspace(0.0, 1.0, 200_001)[:-1]
    log = rate * t + (d - 1) / 2.0 * np.log1p(-t * t)
    weight = np.exp(log - log.max())
    mean, square = (float((weight * t**p).sum() / weight.sum()) for p in (1, 2))
    drawn = np.abs([draw_in_ball(u, rate, SystemRandomness())[0] for _ in range(draws)])
    error = math.sqrt((square - mean**2) / draws)
    assert abs(drawn.mean() - mean) <= 5.0 * error


def made(budget: Budget, d: int = 4, points: int = 0) -> DistinguishingDesign:
    return Distinguishing(
        loss=Logistic(), budget=budget, norm_bound=1.0, regularization=0.05, space=Space(d, points)
    ).design(50_000)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)], ids=str)
def test_the_rounds_cost_the_whole(budget: Budget) -> None:
    d = made(budget)
    s = d.minimizer.score_sensitivity
    if isinstance(budget, PureDP):
        assert d.rounds * (d.epsilon + s / d.numeric.scale) == pytest.approx(budget.epsilon)
    else:
        widened = s + math.ldexp(1.0, d.exponent)
        numeric = (widened / d.numeric.scale) ** 2 / 2.0
        whole = d.event.curves[0].zcdp
        assert d.rounds * (d.epsilon**2 / 8.0 + numeric) == pytest.approx(whole)
    assert d.rate == pytest.approx(d.epsilon / (2.0 * s))


def test_the_density_ratio_of_a_draw_is_within_epsilon() -> None:
    """``exp(rate |<z, w - w*>|)`` of two minimizers at distance S: at most eps0/2, and normalized
    at most eps0; the range of the ratio, which zCDP counts, is eps0 too."""
    d = made(ZCDP(0.5))
    rng = np.random.default_rng()
    z = in_ball(4000, 4, rng)
    for _ in range(20):
        u, v = rng.normal(size=(2, 4))
        v *= d.minimizer.sensitivity / np.linalg.norm(v)
        ratio = d.rate * (np.abs(z @ u) - np.abs(z @ (u + v)))
        assert np.abs(ratio).max() <= d.epsilon / 2.0
        assert np.ptp(ratio) <= d.epsilon


@pytest.mark.parametrize("d", [1, 5, 40])
def test_the_shortfall_of_a_draw_is_bounded(d: int) -> None:
    rate, tail, space = 7.0, 0.05, Space(d)
    u = np.eye(d)[0]
    short = [1.0 - abs(draw_in_ball(u, rate, SystemRandomness())[0]) for _ in range(600)]
    beyond = int((np.array(short) > space.shortfall(rate, tail)).sum())
    assert stats.binom.sf(beyond - 1, 600, tail) > FALSE_ALARM
