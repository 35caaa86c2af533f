"""Law 5: a shift changes a noise's log-density by no more than is claimed, and no noise is shared.

The samplers' own statistics are tested in ``tests/statistics``; here a law's stated norm,
deviation and quantiles are checked against its sampler.
"""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.losses import Logistic
from privet.mechanisms import MECHANISMS
from privet.noise import NOISES, GaussianNoise, Noise, SphericalLaplace
from privet.privacy import PureDP
from privet.randomness import InsecureSeed, SystemRandomness, source
from privet.rows import checked_rows
from tests.strategies import Array, seeds, table

every_noise = pytest.mark.parametrize("kind", NOISES)
scales = st.floats(-6.0, 6.0).map(lambda power: 10.0**power)
# 5.6 standard errors: two-sided false alarm rate 2e-8, with 20 comparisons below 1e-6
SIGMAS = 5.6


def points(seed: int, dimension: int, scale: float) -> tuple[Array, Array]:
    """A point and a shift of very different sizes."""
    rng = np.random.default_rng(seed)
    sizes = scale * 10.0 ** rng.uniform(-4, 4, (2, 1))
    b, shift = rng.normal(size=(2, dimension)) * sizes
    return b, shift


# -- densities -------------------------------------------------------------------------------------


@given(seed=seeds(), scale=scales, dimension=st.integers(1, 40))
def test_laplace_loss_is_at_most_the_shift_over_the_scale(
    seed: int, scale: float, dimension: int
) -> None:
    noise = SphericalLaplace(scale, dimension)
    b, shift = points(seed, dimension, scale)
    loss = float(noise.log_density(b) - noise.log_density(b + shift))
    claim = float(np.linalg.norm(shift)) / scale
    slack = 1e-14 * float(np.linalg.norm(b)) / scale
    assert abs(loss) <= claim * (1.0 + 1e-12) + slack
    # reached in the direction of the point itself
    away = shift * 0.0 + b / np.linalg.norm(b) * np.linalg.norm(shift)
    reached = float(noise.log_density(b) - noise.log_density(b + away))
    assert reached == pytest.approx(claim, rel=1e-9, abs=2 * slack)


@given(seed=seeds(), scale=scales, dimension=st.integers(1, 40))
def test_gaussian_loss_is_that_of_a_shifted_normal(seed: int, scale: float, dimension: int) -> None:
    """``(2 <b, s> + |s|^2)/(2 scale^2)``, at most ``|s| (2|b| + |s|)/(2 scale^2)``."""
    noise = GaussianNoise(scale, dimension)
    b, shift = points(seed, dimension, scale)
    loss = float(noise.log_density(b) - noise.log_density(b + shift))
    size, length = float(np.linalg.norm(b)), float(np.linalg.norm(shift))
    expected = float(2.0 * b @ shift + shift @ shift) / (2.0 * scale**2)
    slack = 1e-13 * (size + length) ** 2 / scale**2
    assert loss == pytest.approx(expected, rel=1e-9, abs=slack)
    assert abs(loss) <= length * (2.0 * size + length) / (2.0 * scale**2) + slack


@every_noise
@given(seed=seeds(), scale=scales, dimension=st.integers(1, 6))
def test_the_density_is_spherical_and_falls(
    kind: str, seed: int, scale: float, dimension: int
) -> None:
    noise = NOISES[kind](scale, dimension)
    b, _ = points(seed, dimension, scale)
    along = np.zeros(dimension)
    along[0] = np.linalg.norm(b)
    assert noise.log_density(b) == pytest.approx(noise.log_density(along), rel=1e-9)
    assert noise.log_density(2.0 * b) < noise.log_density(b) < noise.log_density(0.0 * b)
    many = np.stack([b, 2.0 * b])
    assert noise.log_density(many).shape == (2,)


# -- stated moments --------------------------------------------------------------------------------


def norms(noise: Noise, k: int) -> Array:
    return np.linalg.norm(noise.sample(SystemRandomness(), k), axis=1)


@every_noise
@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
def test_expected_norm_and_deviation_are_the_samplers(kind: str, dimension: int) -> None:
    """Fresh draws; a value that is 1 % off in dimension 60 would be refused."""
    noise = NOISES[kind](3.0, dimension)
    draws = noise.sample(SystemRandomness(), 40_000)
    size = np.linalg.norm(draws, axis=1)
    error = size.std() / math.sqrt(len(size))
    assert abs(size.mean() - noise.expected_norm) < SIGMAS * error
    squares = (size**2) / dimension  # E|b|^2 = p sd^2
    error = squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - noise.coordinate_sd**2) < SIGMAS * error
    assert error < 0.05 * noise.coordinate_sd**2  # the comparison has power


@every_noise
@pytest.mark.parametrize("dimension", [1, 3, 60])
@pytest.mark.parametrize("tail", [0.5, 0.05, 0.001])
def test_the_norm_quantile_is_exceeded_as_often_as_it_says(
    kind: str, dimension: int, tail: float
) -> None:
    noise, k = NOISES[kind](0.2, dimension), 40_000
    above = int((norms(noise, k) > noise.norm_quantile(tail)).sum())
    # exact binomial tails, so that a rare event is judged fairly
    from scipy.stats import binom

    assert min(binom.cdf(above, k, tail), binom.sf(above - 1, k, tail)) > 2e-8


@every_noise
@given(scale=scales, dimension=st.integers(1, 500), factor=st.floats(0.1, 10.0))
def test_everything_scales_with_the_scale(
    kind: str, scale: float, dimension: int, factor: float
) -> None:
    one, two = NOISES[kind](scale, dimension), NOISES[kind](factor * scale, dimension)
    assert two.expected_norm == pytest.approx(factor * one.expected_norm)
    assert two.coordinate_sd == pytest.approx(factor * one.coordinate_sd)
    assert two.norm_quantile(1e-18) == pytest.approx(factor * one.norm_quantile(1e-18))
    assert one.norm_quantile(1e-18) > one.norm_quantile(0.1) > 0.0
    assert one.facts() == {"kind": kind, "scale": scale, "dimension": dimension}


def test_hand_numbers() -> None:
    laplace, gaussian = SphericalLaplace(2.0, 3), GaussianNoise(2.0, 1)
    assert laplace.expected_norm == 6.0
    assert laplace.coordinate_sd == 4.0
    assert SphericalLaplace(2.0, 1).norm_quantile(math.exp(-3.0)) == pytest.approx(6.0)
    assert gaussian.expected_norm == pytest.approx(2.0 * math.sqrt(2.0 / math.pi))
    assert gaussian.norm_quantile(0.05) == pytest.approx(2.0 * 1.959963984540054)


# -- never shared, never stored --------------------------------------------------------------------


def draw(kind: str) -> bytes:
    """One draw, in whatever process or thread this is called."""
    return NOISES[kind](1.0, 2).sample(source(None), 1).tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_no_two_processes_draw_the_same(method: str) -> None:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        drawn = list(pool.map(draw, ["laplace", "gaussian"] * 6))
    here = [draw(kind) for kind in NOISES]
    assert len({*drawn, *here}) == 14


def test_no_two_threads_draw_the_same() -> None:
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(draw, ["laplace", "gaussian"] * 200))
    assert len(set(drawn)) == 400


@every_noise
def test_a_law_carries_no_state_through_a_pickle_or_a_copy(kind: str) -> None:
    noise = NOISES[kind](1.0, 4)
    copies = [noise, pickle.loads(pickle.dumps(noise)), copy.deepcopy(noise)]
    assert all(each == noise for each in copies)
    draws = {each.sample(SystemRandomness(), 1).tobytes() for each in copies * 3}
    assert len(draws) == 9


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_carries_no_state_through_a_pickle_or_a_copy(name: str) -> None:
    x, codes = table(0, 30, 2, 2)
    loss = Logistic()
    rows = checked_rows(x, loss.targets(codes), norm_bound=1.0)
    made = MECHANISMS[name](loss, PureDP(1.0))
    copies = [made, pickle.loads(pickle.dumps(made)), copy.deepcopy(made)]
    assert len({each.run(rows).value.tobytes() for each in copies * 2}) == 6


@every_noise
@given(seed=seeds())
def test_a_seed_reproduces_and_another_does_not(kind: str, seed: int) -> None:
    noise = NOISES[kind](1.0, 3)
    first, again, other = (noise.sample(InsecureSeed(s), 2) for s in (seed, seed, seed + 1))
    assert (first == again).all()
    assert (first != other).all()
