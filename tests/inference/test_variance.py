"""From released matrices to standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet.inference.uncertainty import FitNoise, Uncertainty, WiderUncertainty, floored
from privet.losses import Logistic
from privet.mechanisms.matrix import NoisyMatrices, SecondMoments, Weighing
from privet.noise import GaussianNoise, SphericalLaplace
from privet.privacy import PureDP
from privet.risk import RegularizedRisk

LAM, N = 0.01, 1000
H = np.array([[0.2, 0.05], [0.05, 0.1]])
M = np.array([[0.15, 0.02], [0.02, 0.12]])
THETA = np.array([1.0, -0.5])
UNIT = np.eye(2)


def uncertainty(
    noise_scale: float = 1e-9,
    mechanism: str = "objective",
    h: Any = H,
    m: Any = M,
    kind: type = Uncertainty,
    main: Any = None,
) -> Any:
    released = NoisyMatrices(h, m, Weighing(2.0, 1.0), GaussianNoise(noise_scale, 6))
    fit = FitNoise(mechanism, main or GaussianNoise(3.0, 2), 0.0)
    return kind(THETA, released, LAM, N, fit, 7)


def sandwich() -> Any:
    inverse = np.linalg.inv(H + LAM * UNIT)
    sigma = M - LAM**2 * np.outer(THETA, THETA)
    return inverse, inverse @ sigma @ inverse / N


def test_objective_perturbation_is_the_sandwich_with_noise_inside() -> None:
    inverse, sampling = sandwich()
    parts = uncertainty().parts(UNIT)
    np.testing.assert_allclose(parts.normal, np.diag(sampling), rtol=1e-6)
    np.testing.assert_allclose(parts.spread, np.diag(inverse @ inverse) / N**2, rtol=1e-6)


def test_output_perturbation_has_its_noise_outside() -> None:
    _, sampling = sandwich()
    parts = uncertainty(mechanism="output").parts(np.array([[3.0, 4.0]]))
    assert parts.spread[0] == 25.0
    v = np.array([3.0, 4.0])
    assert parts.normal[0] == pytest.approx(v @ sampling @ v, rel=1e-6)


def test_the_gap_noise_is_added() -> None:
    plain = uncertainty()
    fit = FitNoise("objective", GaussianNoise(3.0, 2), 0.5)
    more = Uncertainty(THETA, plain.released, LAM, N, fit, 7)
    np.testing.assert_allclose(more.parts(UNIT).normal, plain.parts(UNIT).normal + 0.25)


def test_the_hessian_is_floored_and_the_covariance_is_not() -> None:
    bad = np.diag([-1.0, 0.2])
    about = uncertainty(h=bad)
    np.testing.assert_allclose(np.linalg.eigvalsh(about.hessian), [LAM, 0.2 + LAM])
    negative = uncertainty(m=np.diag([-0.5, 0.1])).sampling(UNIT)
    assert negative[0] == 0.0
    theirs = uncertainty(m=np.diag([-0.5, 0.1]), kind=WiderUncertainty)
    assert np.linalg.eigvalsh(theirs.covariance).min() == pytest.approx(LAM)
    np.testing.assert_array_equal(theirs.corrections(UNIT), np.ones(2))


def test_a_noisy_covariance_takes_the_shape_of_the_hessian() -> None:
    trusted, doubted = uncertainty(1e-6), uncertainty(1e3)
    exact = np.diag(M) - (LAM * THETA) ** 2
    np.testing.assert_allclose(trusted.sampling(UNIT), exact, rtol=1e-6)
    like = np.diag(doubted.hessian - LAM * UNIT)
    expected = like * np.trace(M) / like.sum() - (LAM * THETA) ** 2
    np.testing.assert_allclose(doubted.sampling(UNIT), expected, rtol=1e-3)


def test_the_bootstrap_is_idle_without_noise_and_repeats_itself() -> None:
    np.testing.assert_allclose(uncertainty(1e-9).corrections(UNIT), 1.0, rtol=1e-6)
    noisy = uncertainty(0.05)
    first = noisy.corrections(UNIT)
    assert np.abs(first - 1.0).max() > 1e-3
    np.testing.assert_array_equal(first, noisy.corrections(UNIT))


def test_the_bootstrap_undoes_the_inflation_of_an_inverse() -> None:
    """Away from the floor a noisy inverse is too large on average; corrected it is nearer."""
    released = NoisyMatrices(H, M, Weighing(1.0, 1.0), GaussianNoise(0.025, 6))
    fit = FitNoise("objective", GaussianNoise(100.0, 2))
    truth = Uncertainty(THETA, released, LAM, N, fit, 0)._through(H + LAM * UNIT, UNIT)
    rng, plain, corrected = np.random.default_rng(), [], []
    for i in range(1500):
        draw = rng.normal(size=(2, 2)) * 0.0125
        noisy = NoisyMatrices(H + draw + draw.T, M, released.weighing, released.noise)
        about = Uncertainty(THETA, noisy, LAM, N, fit, i)
        plain.append(about._through(about.hessian, UNIT))
        corrected.append(plain[-1] * about.corrections(UNIT))
    before, after = (np.mean(each, axis=0) / truth - 1.0 for each in (plain, corrected))
    assert before.max() > 0.02
    assert abs(after[before.argmax()]) < before.max()


def test_floored_is_the_nearest_matrix() -> None:
    rng = np.random.default_rng(1)
    stack = rng.normal(size=(5, 3, 3))
    stack = stack + stack.mT
    out = floored(stack, 0.1)
    assert np.linalg.eigvalsh(out).min() >= 0.1 - 1e-12
    np.testing.assert_allclose(floored(out, 0.1), out, atol=1e-12)
    np.testing.assert_allclose(out[2], floored(stack[2], 0.1), atol=1e-12)


def test_units() -> None:
    """Rows ``a`` times as long: standard errors over ``a``, at every noise."""
    a = 5.0
    for main in (GaussianNoise(3.0, 2), SphericalLaplace(3.0, 2)):
        released = NoisyMatrices(H, M, Weighing(2.0, 1.0), GaussianNoise(0.01, 6))
        one = Uncertainty(THETA, released, LAM, N, FitNoise("objective", main), 3)
        scaled = NoisyMatrices(a**2 * H, a**2 * M, Weighing(2.0, a**2), GaussianNoise(0.01, 6))
        longer = type(main)(a * main.scale, 2)
        fit = FitNoise("objective", longer)
        two = Uncertainty(THETA / a, scaled, a**2 * LAM, N, fit, 3)
        here, there = one.parts(UNIT), two.parts(UNIT)
        np.testing.assert_allclose(there.normal, here.normal / a**2)
        np.testing.assert_allclose(there.spread * a**2, here.spread / a**2)


def test_noise_of_the_hessian_is_drawn_at_its_own_size() -> None:
    moments = SecondMoments(RegularizedRisk(Logistic(), LAM, 1.0), PureDP(1.0))
    design = moments.design(N, 2)
    weighing = moments.weigh(N, THETA)
    released = NoisyMatrices(H, M, weighing, design.noise)
    from privet.randomness import InsecureSeed

    draws = released.hessian_noise(InsecureSeed(1), 4000)
    assert draws.shape == (4000, 2, 2)
    assert draws[:, 0, 0].std() == pytest.approx(released.hessian_sd, rel=0.15)
    assert draws[:, 0, 1].std() == pytest.approx(released.hessian_sd / np.sqrt(2.0), rel=0.15)
