"""Noise class by class: sampler, density and stated moments agree, and classes share nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privet.audit.samplers import check_noise
from privet.noise import ClassHull, ClassLaplace
from privet.noise.class_noise import ClassWise
from privet.randomness import SystemRandomness
from tests.noise.laws import GROUPS, MIXED, WIDE
from tests.strategies import Array, name_of

LAWS: list[ClassWise] = [ClassLaplace(0.7, 3 * m, 3) for m in (1, 4)]
LAWS += [ClassHull(0.7, 4 * domain.columns, 4, domain) for domain in (GROUPS, MIXED, WIDE)]
every_law = pytest.mark.parametrize("law", LAWS, ids=name_of)
SIGMAS = 5.6


def draws(law: ClassWise, count: int = 10_000) -> Array:
    return law.sample(SystemRandomness(), count)


def failures(law: ClassWise, sample: Array) -> set[str]:
    return {finding.check for finding in check_noise(law, sample) if not finding.passed}


@every_law
def test_the_sampler_is_accepted_and_another_is_not(law: ClassWise) -> None:
    sample = draws(law)
    assert failures(law, sample) == set()
    assert {"noise scale", "noise radius"} <= failures(law, 1.5 * sample)


@every_law
def test_every_class_has_the_law_of_one_and_shares_nothing(law: ClassWise) -> None:
    parts = draws(law).reshape(-1, law.classes, law.columns)
    for c in range(law.classes):
        assert all(finding.passed for finding in check_noise(law.each, parts[:, c]))
    products = (parts[:, 0] * parts[:, 1]).sum(axis=1)
    assert abs(products.mean()) < SIGMAS * products.std() / math.sqrt(len(products))


@every_law
def test_stated_moments_and_quantiles_are_the_samplers(law: ClassWise) -> None:
    sample = draws(law)
    squares = (sample**2).sum(axis=1)
    error = squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - law.expected_norm**2) < SIGMAS * error
    norms = np.sqrt(squares)
    assert law.least_mean_norm < norms.mean() + SIGMAS * norms.std() / math.sqrt(len(norms))
    for tail in (0.5, 0.01):
        above = int((norms > law.norm_quantile(tail)).sum())
        assert stats.binom.sf(above - 1, len(norms), tail) > 1e-7
    directions = np.random.default_rng().normal(size=(5, law.dimension))
    found = (sample @ directions.T) ** 2
    claimed = law.coordinate_sd**2 * law.relative_variance(directions)
    error = found.std(axis=0) / math.sqrt(len(sample))
    assert (np.abs(found.mean(axis=0) - claimed) < SIGMAS * error).all()
    assert law.least_sd <= law.coordinate_sd <= law.largest_sd * (1.0 + 1e-12)


@every_law
def test_a_shift_costs_what_the_classes_norms_add_up_to(law: ClassWise) -> None:
    """At most that over the scale, and all of it at zero; half the scale costs twice as much."""
    b, shift = draws(law, 2)
    parts = shift.reshape(law.classes, law.columns)
    size = -float(law.each.log_density(parts).sum())  # over the scale
    loss = float(law.log_density(b) - law.log_density(b + shift))
    assert abs(loss) <= size * (1.0 + 1e-9) + 1e-9
    assert float(law.log_density(0.0 * b) - law.log_density(shift)) == pytest.approx(size)
    thinner = replace(law, scale=law.scale / 2.0)
    assert -float(thinner.log_density(shift)) == pytest.approx(2.0 * size)
