"""Distribution tests accept the right noise at any seed and reject plausible wrong ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privet._types import Array
from privet.audit.attacks import Finding, WeightedTable, surprise
from privet.audit.samplers import (
    check_noise,
    recovered_noise,
    release_many,
    release_singly,
)
from privet.losses import HuberHinge, Logistic, Loss, Softmax
from privet.mechanisms import MECHANISMS, ObjectivePerturbation
from privet.noise import NOISES, Noise
from privet.privacy import ZCDP, Budget, PureDP
from privet.randomness import InsecureSeed, Randomness, SystemRandomness
from privet.rows import checked_rows
from tests.planted.bugs import LessNoise
from tests.strategies import name_of, table

DRAWS = 20_000
DIMENSIONS = (1, 2, 50)


def same_law(first: Array, second: Array, check: str = "same law") -> Finding:
    """Two-sample Kolmogorov-Smirnov tests of every coordinate and of the distance from the mean."""
    center = 0.5 * (first.mean(axis=0) + second.mean(axis=0))
    columns = [*zip(first.T, second.T, strict=True)]
    columns.append(
        (np.linalg.norm(first - center, axis=1), np.linalg.norm(second - center, axis=1))
    )
    values = [float(stats.ks_2samp(a, b, method="asymp").pvalue) for a, b in columns]
    together = min(1.0, len(values) * min(values))
    return surprise(check, together, "Two sets of releases against one common law.")


def failures(found: list[Finding]) -> set[str]:
    return {finding.check for finding in found if not finding.passed}


def laws() -> list[Noise]:
    return [law(0.7, dimension) for law in NOISES.values() for dimension in DIMENSIONS]


@pytest.mark.parametrize("source", [InsecureSeed(1), InsecureSeed(2), SystemRandomness()])
@pytest.mark.parametrize("law", laws(), ids=name_of)
def test_the_right_noise_is_accepted(law: Noise, source: Randomness) -> None:
    assert failures(check_noise(law, law.sample(source, DRAWS))) == set()


@pytest.mark.parametrize("factor", [2.0 / 3.0, 0.9, 1.1, 1.5])
@pytest.mark.parametrize("law", laws(), ids=name_of)
def test_a_wrong_scale_is_rejected(law: Noise, factor: float) -> None:
    draws = factor * law.sample(InsecureSeed(3), DRAWS)
    assert {"noise scale", "noise radius"} <= failures(check_noise(law, draws))


@pytest.mark.parametrize("extra", [-1, 1])
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("kind", sorted(NOISES))
def test_a_wrong_shape_is_rejected(kind: str, dimension: int, extra: int) -> None:
    """The norm of one dimension less or more, rescaled to the right mean: only its law is wrong."""
    if dimension + extra == 0:
        dimension, extra = 1, 2
    law, source = NOISES[kind](0.7, dimension), InsecureSeed(4)
    other = NOISES[kind](0.7, dimension + extra)
    directions = law.sample(source, DRAWS)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    norms = np.linalg.norm(other.sample(source, DRAWS), axis=1, keepdims=True)
    assert {"noise scale", "noise radius"} <= failures(check_noise(law, directions * norms))
    if dimension <= 2:
        rescaled = directions * norms * law.expected_norm / other.expected_norm
        assert "noise radius" in failures(check_noise(law, rescaled))


@pytest.mark.parametrize("law", laws(), ids=name_of)
def test_a_biased_direction_is_rejected(law: Noise) -> None:
    draws = law.sample(InsecureSeed(5), DRAWS)
    draws[: DRAWS // 5, 0] = np.abs(draws[: DRAWS // 5, 0])
    assert "noise direction" in failures(check_noise(law, draws))


@pytest.mark.parametrize("law", [law for law in laws() if law.dimension > 1], ids=name_of)
def test_a_stretched_axis_is_rejected(law: Noise) -> None:
    """The right radius, no mean direction, but one coordinate is larger than the others."""
    draws = law.sample(InsecureSeed(6), DRAWS)
    norms = np.linalg.norm(draws, axis=1, keepdims=True)
    draws[:, 0] *= 1.2
    draws *= norms / np.linalg.norm(draws, axis=1, keepdims=True)
    assert failures(check_noise(law, draws)) == {"noise direction"}


@pytest.mark.parametrize("law", laws(), ids=name_of)
def test_dependent_draws_are_rejected(law: Noise) -> None:
    draws = law.sample(InsecureSeed(7), DRAWS)
    repeated = draws.copy()
    repeated[-1] = repeated[0]
    assert failures(check_noise(law, repeated)) == {"independence"}
    sorted_radii = draws[np.argsort(np.linalg.norm(draws, axis=1))]
    assert failures(check_noise(law, sorted_radii)) == {"independence"}
    antithetic = draws.copy()
    antithetic[1::2] = -(1.0 + 1e-9) * draws[::2]
    assert "independence" in failures(check_noise(law, antithetic))


MECHANISM_CASES = [
    ("objective", Logistic(), PureDP(1.0), "laplace"),
    ("objective", HuberHinge(), ZCDP(0.5), "gaussian"),
    ("objective", Softmax(3), PureDP(1.0), "laplace"),
    ("output", Logistic(), PureDP(1.0), "laplace"),
    ("output", Softmax(3), ZCDP(0.5), "gaussian"),
]


@pytest.mark.parametrize(("name", "loss", "budget", "kind"), MECHANISM_CASES[1:4], ids=name_of)
def test_run_and_sample_have_one_law(name: str, loss: Loss, budget: Budget, kind: str) -> None:
    """Through the system's source; two thirds of the noise in either path would be rejected."""
    mechanism = MECHANISMS[name](loss, budget, noise=kind)
    x, codes = table(9, 30, 2, loss.classes)
    rows = checked_rows(x, loss.targets(codes), norm_bound=1.0)
    singly = np.array([mechanism.run(rows).value for _ in range(800)])
    many = mechanism.sample(rows, 6_000)
    assert same_law(singly, many).passed
    center = many.mean(axis=0)
    assert not same_law(singly, center + 2.0 / 3.0 * (many - center)).passed
    assert not same_law(singly, center + 3.0 / 2.0 * (many - center)).passed


@pytest.mark.parametrize(("name", "loss", "budget", "kind"), MECHANISM_CASES, ids=name_of)
def test_recovered_noise_follows_the_event(
    name: str, loss: Loss, budget: Budget, kind: str
) -> None:
    mechanism = MECHANISMS[name](loss, budget, noise=kind)
    x, codes = table(10, 40, 2, loss.classes)
    rows = checked_rows(x, loss.targets(codes), norm_bound=1.0)
    design = mechanism.design(40, 2)
    counted = WeightedTable(x, codes, np.ones(40))
    claimed = NOISES[kind](design.event.scale, design.parameters)
    for releases in (
        release_many(mechanism, rows, design, 4000, 1),
        release_singly(mechanism, rows, design, 500, 2),
    ):
        noise = recovered_noise(design, counted, releases)
        assert failures(check_noise(claimed, noise)) == set()
        thinner = replace(claimed, scale=claimed.scale / 0.75)
        assert "noise scale" in failures(check_noise(thinner, noise))


def test_recovered_noise_shows_a_tenth_too_little() -> None:
    x, codes = table(11, 40, 2, 2)
    rows = checked_rows(x, Logistic().targets(codes), norm_bound=1.0)
    for kind, fails in ((ObjectivePerturbation, False), (LessNoise, True)):
        mechanism = kind(Logistic(), PureDP(1.0))
        design = mechanism.design(40, 2)
        releases = release_many(mechanism, rows, design, 6000, 3)
        noise = recovered_noise(design, WeightedTable(x, codes, np.ones(40)), releases)
        assert ("noise scale" in failures(check_noise(design.main, noise))) is fails
