"""From released matrices to standard errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

from privet.inference.mixture import quantiles
from privet.inference.uncertainty import (
    HINGE,
    LIKELIHOOD,
    RESIDUAL,
    Caution,
    FitNoise,
    Uncertainty,
    WiderUncertainty,
    across,
    floored,
)
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
    for one in range(len(parts.normal)):
        np.testing.assert_allclose(parts.normal[one], np.diag(sampling), rtol=1e-5)
        np.testing.assert_allclose(parts.spread[one], np.diag(inverse @ inverse) / N**2, rtol=1e-5)


def test_output_perturbation_has_its_noise_outside() -> None:
    _, sampling = sandwich()
    parts = uncertainty(mechanism="output").parts(np.array([[3.0, 4.0]]))
    assert (parts.spread == 25.0).all()
    v = np.array([3.0, 4.0])
    np.testing.assert_allclose(parts.normal[:, 0], v @ sampling @ v, rtol=1e-5)


def test_the_gap_noise_is_added() -> None:
    plain = uncertainty()
    fit = FitNoise("objective", GaussianNoise(3.0, 2), 0.5)
    more = Uncertainty(THETA, plain.released, LAM, N, fit, 7)
    np.testing.assert_allclose(more.parts(UNIT).normal, plain.parts(UNIT).normal + 0.25)


def test_eigenvalues_are_at_least_the_ridge_and_the_covariance_is_not_negative() -> None:
    about = uncertainty(h=np.diag([-1.0, 0.2]))
    assert about.plausible.values.min() == pytest.approx(LAM)
    assert about.plausible.within_noise == 1
    assert (uncertainty(m=np.diag([-0.5, 0.1])).parts(UNIT).normal >= 0.0).all()
    theirs = uncertainty(m=np.diag([-0.5, 0.1]), kind=WiderUncertainty)
    assert np.linalg.eigvalsh(theirs.covariance).min() == pytest.approx(LAM)
    assert len(theirs.parts(UNIT).normal) == 1


def test_a_noisy_covariance_takes_the_shape_of_the_hessian() -> None:
    """Whatever noise does to one entry, the length is that of the Hessian's shape and the trace."""
    lengths = []
    for shift in (-0.03, 0.0, 0.03):
        moved = M + np.diag([shift, -shift])
        released = NoisyMatrices(H, moved, Weighing(1e6, 1.0), GaussianNoise(0.3, 6))
        fit = FitNoise("objective", GaussianNoise(1e-9, 2))
        parts = Uncertainty(THETA, released, LAM, N, fit, 7).parts(UNIT)
        lengths.append(quantiles(0.05, parts, fit.main))
    spread = np.ptp(lengths, axis=0) / np.mean(lengths, axis=0)
    assert (spread < 0.15).all()  # the plain sandwich would move by a third
    plain = [np.sqrt(0.15 + shift) for shift in (-0.03, 0.03)]
    assert plain[1] / plain[0] - 1.0 > 0.2


def test_without_noise_all_plausible_matrices_are_one_and_answers_repeat() -> None:
    still = uncertainty(1e-9).plausible
    np.testing.assert_allclose(still.values, still.values[:1] + 0.0 * still.values, rtol=1e-6)
    noisy = uncertainty(0.01)
    first, again = noisy.parts(UNIT), uncertainty(0.01).parts(UNIT)
    assert np.ptp(first.normal, axis=0).min() > 0.0
    np.testing.assert_array_equal(first.normal, again.normal)
    # one direction gets the same answer alone and among others
    np.testing.assert_allclose(noisy.parts(UNIT[:1]).normal[:, 0], first.normal[:, 0])


def coverages(hessian: Any, sd: float, caution: Caution, draws: int = 800) -> Any:
    """Of intervals for an error of known law, for each of many draws of the Hessian's noise."""
    side, rng = len(hessian), np.random.default_rng()
    fit = FitNoise("objective", GaussianNoise(1.0, side))
    exact = np.linalg.norm(np.linalg.inv(hessian + LAM * np.eye(side)) / N, axis=1)
    covered = []
    for i in range(draws):
        noise = rng.normal(size=(side, side)) * sd / np.sqrt(2.0)
        noisy = hessian + (noise + noise.T) / np.sqrt(2.0)
        released = NoisyMatrices(
            noisy, 1e-9 * hessian, Weighing(1.0, 1.0), GaussianNoise(sd, side * (side + 1))
        )
        quiet = replace(released, weighing=Weighing(1e-6, 1e-6))  # of the covariance: none
        parts = Uncertainty(np.zeros(side), quiet, LAM, N, fit, i, caution).parts(np.eye(side))
        covered.append(erf(quantiles(0.05, parts, fit.main) / exact / np.sqrt(2.0)).mean())
    return np.array(covered)


@pytest.mark.parametrize(
    ("values", "sd"),
    [
        ((0.2, 0.1, 0.05), 0.012),  # clear of the noise, but not by much
        ((0.2, 0.05, 0.05, 0.03), 0.03),  # the smallest is the noise's size
        ((0.2, 0.0, 0.0, 0.0, 0.0), 0.02),  # no curvature but the ridge, which is half of it
    ],
)
@pytest.mark.parametrize(
    "caution", [RESIDUAL, HINGE, LIKELIHOOD], ids=["residual", "hinge", "likelihood"]
)
def test_lengths_hold_whatever_noise_does_to_the_hessian(
    values: Any, sd: float, caution: Caution
) -> None:
    """Only the noise in the Hessian matters here, and the error's law is known exactly."""
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(len(values),) * 2))[0]
    found = coverages((rotation * np.array(values)) @ rotation.T, sd, caution, 200)
    assert found.mean() + 5.0 * found.std() / np.sqrt(len(found)) > 0.93


@pytest.mark.parametrize("caution", [HINGE, LIKELIHOOD], ids=["hinge", "likelihood"])
def test_a_ridge_that_makes_noise_look_clear_hides_no_direction_without_curvature(
    caution: Caution,
) -> None:
    """Errors in the curvature of such a direction make its length shorter only.

    Without lowering its eigenvalues the four cover 0.93 on average.
    """
    hessian = np.diag([0.2, 0.0, 0.0, 0.0, 0.0])
    found = coverages(hessian, LAM / 2.8, caution, 200)
    assert found.mean() + 5.0 * found.std() / np.sqrt(len(found)) > 0.945
    bare = coverages(hessian, LAM / 2.8, replace(caution, lowered=0.0), 200)
    assert bare.mean() + 5.0 * bare.std() / np.sqrt(len(bare)) < 0.945


def test_many_directions_without_curvature_are_lowered_by_the_noise_that_they_share() -> None:
    """Lowered by the noise of one alone, those of a regression cover 0.938 on average."""
    hessian = np.diag([0.2] + [0.0] * 7)
    found = coverages(hessian, 2.0 * LAM, RESIDUAL, 200)
    assert found.mean() + 5.0 * found.std() / np.sqrt(len(found)) > 0.945
    alone = coverages(hessian, 2.0 * LAM, replace(RESIDUAL, jointly=False), 200)
    assert alone.mean() + 5.0 * alone.std() / np.sqrt(len(alone)) < 0.945


def test_weights_by_the_inverse_length_cover_exactly_where_noise_is_small() -> None:
    """``2 z phi(z) (1 + w) r^2`` more than the level, as ``Caution`` says."""
    r, z = 0.12, 1.959964
    unit = 2.0 * z * np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi) * r**2
    for power in (-1.0, 1.0):
        found = coverages(np.eye(1) * (1.0 - LAM), r, replace(LIKELIHOOD, power=power), 500)
        error = 5.0 * found.std() / np.sqrt(len(found))
        # half a unit for what is of fourth order, and for 64 plausible matrices
        assert abs(found.mean() - 0.95 - (1.0 + power) * unit) < error + 0.5 * unit
        assert error + 0.5 * unit < 3.0 * unit


@pytest.mark.parametrize("sd", [0.5, 2.0, 10.0])
def test_lengths_hold_where_noise_hides_the_second_moment(sd: float) -> None:
    """A regression's gradients may be small: then the trace is the noise's too."""
    side, draws, rng = 3, 300, np.random.default_rng()
    hessian, fit = np.eye(side), FitNoise("objective", GaussianNoise(1e-9, side))
    moment = 0.1 * np.eye(side)  # one of its numbers; ``sd`` is in units of it
    exact = np.sqrt(0.1 / N) / (1.0 + LAM)
    covered = []
    for i in range(draws):
        noise = rng.normal(size=(side, side)) * 0.1 * sd / np.sqrt(2.0)
        noisy = moment + (noise + noise.T) / np.sqrt(2.0)
        law = GaussianNoise(0.1 * sd, side * (side + 1))
        released = NoisyMatrices(hessian, noisy, Weighing(1e9, 1.0), law)
        parts = Uncertainty(np.zeros(side), released, LAM, N, fit, i, RESIDUAL).parts(np.eye(side))
        covered.append(erf(quantiles(0.05, parts, fit.main) / exact / np.sqrt(2.0)).mean())
    assert np.mean(covered) + 5.0 * np.std(covered) / np.sqrt(draws) > 0.93


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


# -- what noise across a direction adds ------------------------------------------------------------


def test_across_is_what_two_signs_differ_by_beside_their_middle() -> None:
    rng = np.random.default_rng(3)
    middle, half = rng.normal(size=(4, 3, 5)), rng.normal(size=(4, 3, 5))
    found = across(np.concatenate([middle + half, middle - half]))
    np.testing.assert_array_equal(found[:4], found[4:])
    np.testing.assert_allclose((found[:4] * middle).sum(axis=-1), 0.0, atol=1e-12)
    left = half - found[:4]  # along the middle: the cross products with it vanish
    shares = (left * middle).sum(axis=-1) / (middle**2).sum(axis=-1)
    np.testing.assert_allclose(left, shares[..., None] * middle, atol=1e-12)


def test_squares_of_errors_across_are_taken_off_twice() -> None:
    """Errors of both signs across ``v``: the mean of the form is then as much below as above."""
    about = uncertainty()
    v, d = np.array([2.0, 0.0]), np.array([0.0, 0.3])
    pair = np.array([[v + d], [v - d]])
    found = about._without_added(lambda u: ((u @ M) * u).sum(axis=-1), pair)
    assert found.mean() == pytest.approx(v @ M @ v - d @ M @ d, rel=1e-12)
    half = about._without_added(lambda u: (u**2).sum(axis=-1), np.array([[v + 3 * d], [v - 9 * d]]))
    assert (half >= 0.5 * np.array([[4.81], [11.29]]) - 1e-12).all()


def test_only_clear_curvature_and_more_than_one_direction_lose_what_was_added() -> None:
    kept = replace(HINGE, across=False)
    clear = uncertainty(0.002)
    assert clear.plausible.within_noise == 0
    assert (clear.parts(UNIT).normal < replace(clear, caution=kept).parts(UNIT).normal).all()
    assert (clear.parts(UNIT).spread < replace(clear, caution=kept).parts(UNIT).spread).all()
    hidden = uncertainty(0.2)
    assert hidden.plausible.within_noise > 0
    single = Uncertainty(
        THETA[:1], NoisyMatrices(H[:1, :1], M[:1, :1], Weighing(2.0, 1.0), GaussianNoise(0.01, 2)),
        LAM, N, FitNoise("objective", GaussianNoise(3.0, 1), 0.0), 7,
    )  # fmt: skip
    for same, unit in ((hidden, UNIT), (single, np.eye(1))):
        with_it, without = same.parts(unit), replace(same, caution=kept).parts(unit)
        np.testing.assert_allclose(with_it.normal, without.normal, rtol=1e-12)
        np.testing.assert_allclose(with_it.spread, without.spread, rtol=1e-12)
    assert not RESIDUAL.across
