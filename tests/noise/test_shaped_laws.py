"""Noise with a shape: samplers, densities, bodies and stated moments agree with each other.

Thresholds are for a false alarm rate of about 1e-6, and each comparison is shown to have power.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from privet.audit.domain_attack import vertices
from privet.audit.samplers import check_noise
from privet.domain import Box, Domain, OneHot
from privet.mechanisms.shaped import noise_from_facts, outside
from privet.noise import (
    ClassProduct,
    ConeLaplace,
    DomainNoise,
    Grouped,
    Hull,
    MatrixLaplace,
    Noise,
    Product,
)
from privet.noise.cone_noise import half_vector, symmetric
from privet.noise.grouped_noise import groups_of
from privet.noise.hull_points import common_weights, section_terms
from privet.randomness import SystemRandomness
from tests.noise.laws import DOMAINS, GROUPS, MIXED, NUMBERS, UNLIKE, WIDE, shaped_laws
from tests.strategies import Array, name_of

every_law = pytest.mark.parametrize("law", shaped_laws(), ids=name_of)
DRAWS = 8_000
SIGMAS = 5.6


def draws(law: Noise, count: int = DRAWS) -> Array:
    return law.sample(SystemRandomness(), count)


def failures(law: Noise, sample: Array) -> set[str]:
    return {finding.check for finding in check_noise(law, sample) if not finding.passed}


# -- samplers --------------------------------------------------------------------------------------


@every_law
def test_the_sampler_is_accepted(law: Noise) -> None:
    assert failures(law, draws(law)) == set()


@every_law
@pytest.mark.parametrize("factor", [2.0 / 3.0, 1.5])
def test_a_wrong_scale_is_rejected(law: Noise, factor: float) -> None:
    assert {"noise scale", "noise radius"} <= failures(law, factor * draws(law))


@every_law
def test_a_stretched_coordinate_is_rejected(law: Noise) -> None:
    sample = draws(law)
    sample[:, 0] *= 1.3
    assert "noise direction" in failures(law, sample)


BODIES = [law for law in shaped_laws() if isinstance(law, DomainNoise) and law.span <= 12]


@pytest.mark.parametrize("law", BODIES, ids=name_of)
@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_the_density_is_the_samplers(law: DomainNoise, rate: float) -> None:
    """``E mu(b)^rate/mu(0)^rate = (1 + rate)^-dim``: other dimensions or gauges have another."""
    values = np.exp(rate * law.log_density(draws(law, 40_000)))
    error = values.std() / math.sqrt(len(values))
    assert abs(values.mean() - (1.0 + rate) ** -law.span) < SIGMAS * error
    for wrong in (2.0 / 3.0, 1.5):
        other = np.exp(rate * law.log_density(wrong * draws(law, 40_000)))
        assert abs(other.mean() - (1.0 + rate) ** -law.span) > SIGMAS * error


def by_rejection(law: DomainNoise, basis: Array, count: int) -> Array:
    """Uniform points of a small body, drawn in coordinates of its span until they are inside."""
    rng, found = np.random.default_rng(), []
    while sum(map(len, found)) < count:
        points = rng.uniform(-2.0, 2.0, (200_000, len(basis))) @ basis
        found.append(points[law.gauge(points) <= 1.0])
    return np.concatenate(found)[:count]


SMALL = (NUMBERS, GROUPS, Domain((OneHot(3, 0.9), OneHot(1, 0.7))))


@pytest.mark.parametrize("domain", SMALL, ids=str)
def test_the_bodies_are_drawn_uniformly(domain: Domain) -> None:
    """Against rejection, which needs the gauge alone: projections and the gauge itself."""
    for law in (Product(1.0, domain.columns, domain), Hull(1.0, domain.columns, domain)):
        if isinstance(law, Hull) and not domain.has_constant:
            continue
        basis = np.eye(domain.columns)
        if isinstance(law, Hull):
            normal = outside(domain)
            basis = np.linalg.svd(np.eye(domain.columns) - normal.T @ normal)[2][: law.span]
        one, two = law.uniform(SystemRandomness(), 6000), by_rejection(law, basis, 6000)
        rng = np.random.default_rng()
        axes = np.concatenate([np.eye(domain.columns), rng.normal(size=(6, domain.columns))])
        values = [stats.ks_2samp(one @ axis, two @ axis).pvalue for axis in axes]
        assert min(values) * len(values) > 1e-6
        assert stats.ks_2samp(0.7 * one @ axes[0], two @ axes[0]).pvalue < 1e-6


def test_the_product_of_two_matrices_has_the_matrix_law() -> None:
    law, rng = MatrixLaplace(0.5, 12, 3), np.random.default_rng()
    plain = 0.5 * rng.normal(size=(20_000, 3, 7)) @ rng.normal(size=(20_000, 7, 4))
    drawn = draws(law, 20_000).reshape(-1, 3, 4)
    for one, two in zip(
        np.linalg.svd(plain, compute_uv=False).T,
        np.linalg.svd(drawn, compute_uv=False).T,
        strict=True,
    ):
        assert stats.ks_2samp(one, two).pvalue > 1e-6
        assert stats.ks_2samp(1.1 * one, two).pvalue < 1e-6


def test_one_row_is_the_spherical_laplace_law() -> None:
    law = MatrixLaplace(2.0, 5, 1)
    norms = np.linalg.norm(draws(law, 20_000), axis=1) / 2.0
    assert stats.kstest(norms, stats.gamma(5).cdf).pvalue > 1e-6
    b = np.random.default_rng(0).normal(size=(4, 5))
    np.testing.assert_allclose(law.log_density(b), -np.linalg.norm(b, axis=1) / 2.0)


# -- densities -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3), (5, 2), (2, 2)])
def test_the_matrix_density_is_the_samplers(shape: tuple[int, int]) -> None:
    """A linear map of a density has mean one under it, relative to the density itself."""
    law, rng = MatrixLaplace(1.0, shape[0] * shape[1], shape[0]), np.random.default_rng()
    sample = draws(law, 1200)
    for stretch in (np.full(shape[1], 1.25), 1.0 + rng.uniform(0.05, 0.4, shape[1])):
        moved = (sample.reshape(-1, *shape) * stretch).reshape(sample.shape)
        factor = float(np.prod(stretch)) ** shape[0]
        ratio = factor * np.exp(law.log_density(moved) - law.log_density(sample))
        error = ratio.std() / math.sqrt(len(ratio))
        assert abs(ratio.mean() - 1.0) < SIGMAS * error
        assert error < 0.2


@pytest.mark.parametrize("shape", [(2, 3), (4, 2)])
def test_a_shift_costs_its_nuclear_norm_at_most_and_nearly_that(shape: tuple[int, int]) -> None:
    law, rng, ratios = (
        MatrixLaplace(0.5, shape[0] * shape[1], shape[0]),
        np.random.default_rng(),
        [],
    )
    for _ in range(60):
        sizes = 10.0 ** rng.uniform(-2, 2, 2)
        b = rng.normal(size=shape) * sizes[0]
        shift = np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1])) * sizes[1]
        for at in (b, shift * rng.exponential()):
            loss = law.log_density(at.ravel()) - law.log_density((at + shift).ravel())
            nuclear = float(np.linalg.svd(shift, compute_uv=False).sum())
            ratios.append(float(abs(loss)) / (nuclear / law.scale))
    assert max(ratios) <= 1.0 + 1e-9
    assert max(ratios) > 0.9


def test_one_degree_of_freedom_less_would_cost_more() -> None:
    """The proof's condition is sharp: with d = K + m - 1 the density at zero is too steep.

    For one row and d = m the law is ``|b|^0 K_0``, whose logarithm has infinite slope at zero.
    """
    rng = np.random.default_rng()
    few = np.abs(rng.normal(size=200_000)) * np.abs(rng.normal(size=200_000))  # m = d = 1
    share = np.mean(few < 0.01) / 0.01, np.mean((few > 0.5) & (few < 0.51)) / 0.01
    assert share[0] / share[1] > math.exp(2.0 * 0.5)  # far above what a slope of 1 allows


# -- bodies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [GROUPS, MIXED], ids=str)
def test_the_hulls_gauge_is_the_linear_programs(domain: Domain) -> None:
    law = Hull(1.0, domain.columns, domain)
    corners = vertices(domain)
    both = np.concatenate([corners, -corners])
    for point in draws(law, 12):
        found = linprog(np.ones(len(both)), A_eq=both.T, b_eq=point)
        assert law.gauge(point) == pytest.approx(found.fun, rel=1e-9)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_rows_are_in_the_bodies_and_touch_them(domain: Domain) -> None:
    corners = vertices(domain) if domain is not WIDE else np.zeros((1, WIDE.columns))
    laws: list[DomainNoise] = [Product(1.0, domain.columns, domain)]
    laws += [Hull(1.0, domain.columns, domain)] if domain.has_constant else []
    laws += [Grouped(1.0, domain.columns, domain)]
    for law in laws:
        assert law.gauge(corners).max() <= 1.0 + 1e-12
        assert law.gauge(-corners).max() <= 1.0 + 1e-12
        if domain is not WIDE:
            assert law.gauge(corners).max() == pytest.approx(1.0)
        assert law.gauge(law.uniform(SystemRandomness(), 500)).max() <= 1.0 + 1e-12


def test_draws_of_the_hull_are_in_the_rows_span() -> None:
    for domain in (GROUPS, MIXED, WIDE):
        normal = outside(domain)
        sample = draws(Hull(1.0, domain.columns, domain), 200)
        assert np.abs(sample @ normal.T).max(initial=0.0) < 1e-9 * np.abs(sample).max()
        assert Hull(1.0, domain.columns, domain).span == domain.columns - len(normal)


def test_volumes_of_sections_add_up_to_the_l1_balls() -> None:
    """The integral of ``A_k`` over [-1, 1] is the volume ``2^k/k!`` of the l1 ball."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    c, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    for k in (1, 2, 3, 7, 30):
        terms = section_terms(k)
        values = np.exp(terms.logs) * c[:, None] ** terms.power
        values = values * ((1.0 - c) / 2.0)[:, None] ** terms.order
        total = 2.0 * float(weights @ values.sum(axis=1))
        assert total == pytest.approx(2.0**k / math.factorial(k), rel=1e-10)
        assert math.exp(float(np.logaddexp.reduce(common_weights((k,))))) == pytest.approx(
            total / 2
        )


@pytest.mark.parametrize("classes", [3, 5])
def test_a_rows_gradient_has_at_most_its_probability_as_gauge(classes: int) -> None:
    law = ClassProduct(1.0, (classes - 1) * MIXED.columns, MIXED, classes)
    from privet.losses.multiclass import sum_zero_basis

    rng, basis = np.random.default_rng(), sum_zero_basis(classes)
    for x in vertices(MIXED):
        p, y = rng.dirichlet(np.ones(classes)), int(rng.integers(classes))
        g = p - np.eye(classes)[y]
        gauge = law.gauge(np.outer(basis.T @ g, x).ravel())
        assert gauge == pytest.approx(1.0 - p[y], rel=1e-9)


# -- stated numbers --------------------------------------------------------------------------------


@every_law
def test_stated_moments_and_quantiles_are_the_samplers(law: Noise) -> None:
    sample = draws(law, 20_000)
    norms = np.linalg.norm(sample, axis=1)
    squares = norms**2
    error = squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - law.expected_norm**2) < SIGMAS * error
    assert law.dimension * law.coordinate_sd**2 == pytest.approx(law.expected_norm**2)
    mean_error = norms.std() / math.sqrt(len(norms))
    assert law.least_mean_norm < norms.mean() + SIGMAS * mean_error
    assert norms.mean() < law.expected_norm + SIGMAS * mean_error
    for tail in (0.5, 0.05, 0.001):
        assert stats.binom.sf(int((norms > law.norm_quantile(tail)).sum()) - 1, 20_000, tail) > 1e-7
    rng = np.random.default_rng()
    directions = rng.normal(size=(5, law.dimension))
    found = (sample @ directions.T) ** 2
    claimed = law.coordinate_sd**2 * law.relative_variance(directions)
    assert (np.abs(found.mean(axis=0) - claimed) < SIGMAS * found.std(axis=0) / 141.4).all()
    assert law.least_sd <= law.coordinate_sd <= law.largest_sd * (1.0 + 1e-12)


@every_law
def test_everything_scales_and_is_read_back(law: Noise) -> None:
    larger = replace(law, scale=3.0 * law.scale)
    for name in ("expected_norm", "coordinate_sd", "least_sd", "largest_sd", "least_mean_norm"):
        assert getattr(larger, name) == pytest.approx(3.0 * getattr(law, name))
    assert larger.norm_quantile(1e-18) == pytest.approx(3.0 * law.norm_quantile(1e-18))
    assert noise_from_facts(law.facts()) == law


def test_the_shapes_are_smaller_than_the_sphere() -> None:
    """At equal rate: the point of all of this. Thirteen groups, 103 columns; seven, ten classes."""
    groups = Domain(tuple(OneHot(k) for k in (5, 9, 8, 16, 7, 15, 6, 5, 2, 5, 5, 5, 15)))
    sphere = groups.norm * math.sqrt(groups.columns * (groups.columns + 1.0))
    product, hull = (law(1.0, groups.columns, groups).expected_norm for law in (Product, Hull))
    assert hull < product < 0.5 * sphere
    for classes, share in ((7, 0.5), (10, 0.55)):
        size = 20 * (classes - 1)
        matrix = MatrixLaplace(1.0, size, classes - 1).expected_norm
        assert matrix < share * math.sqrt(size * (size + 1.0))


def test_one_wide_category_no_longer_makes_the_noise_of_numbers_larger() -> None:
    """38 numbers, one of three categories and one of 70, as network traffic has them."""
    domain = Domain((Box(38), OneHot(3), OneHot(70), OneHot(1)))
    hull, grouped = (law(1.0, domain.columns, domain).expected_norm for law in (Hull, Grouped))
    assert grouped < 0.55 * hull
    for each in (domain, *DOMAINS):
        assert math.fsum(group.share for group in groups_of(each)) == 1.0
        covered = [place for group in groups_of(each) for place in group.blocks]
        assert sorted(covered) == list(range(len(each.blocks)))
    alike = Domain(tuple(OneHot(4, 0.5) for _ in range(20)))
    assert len(groups_of(alike)) == 1


def test_pairs_of_laws_differ() -> None:
    """Each law rejects the draws of another of the same domain, at the same scale."""
    laws = tuple(law(1.0, UNLIKE.columns, UNLIKE) for law in (Product, Hull, Grouped))
    pairs = itertools.permutations((Product(1.0, 5, GROUPS), Hull(1.0, 5, GROUPS)), 2)
    for one, other in itertools.chain(pairs, itertools.permutations(laws, 2)):
        assert failures(one, draws(other)) != set()


# -- differences of positive semidefinite matrices -------------------------------------------------


def test_the_cone_law_is_a_difference_of_wishart_matrices() -> None:
    """Against Gaussian matrices multiplied out: every eigenvalue."""
    law, rng = ConeLaplace(0.5, 12, 3), np.random.default_rng()
    roots = rng.normal(size=(2, 20_000, 3, 4)) * math.sqrt(0.25)
    plain = roots[0] @ roots[0].mT - roots[1] @ roots[1].mT
    drawn = symmetric(draws(law, 20_000)[:, :6], 3)
    for one, two in zip(np.linalg.eigvalsh(plain).T, np.linalg.eigvalsh(drawn).T, strict=True):
        assert stats.ks_2samp(one, two).pvalue > 1e-6
        assert stats.ks_2samp(1.3 * one, two).pvalue < 1e-6


def test_the_cone_density_is_the_samplers() -> None:
    """A linear map of a density has mean one under it, relative to the density itself."""
    law = ConeLaplace(0.7, 3, 2)
    sample = draws(law, 3000)
    for stretch in (0.8, 1.25):
        ratio = stretch**3 * np.exp(law.log_density(stretch * sample) - law.log_density(sample))
        assert abs(ratio.mean() - 1.0) < SIGMAS * ratio.std() / math.sqrt(len(ratio))
        wrong = stretch**3 * np.exp(
            1.2 * (law.log_density(stretch * sample) - law.log_density(sample))
        )
        assert abs(wrong.mean() - 1.0) > SIGMAS * wrong.std() / math.sqrt(len(wrong))


def test_a_shift_costs_the_cone_law_its_nuclear_norm_at_most_and_nearly_that() -> None:
    law, rng = ConeLaplace(0.5, 3, 2), np.random.default_rng()
    shifts = rng.normal(size=(600, 2, 2))
    shifts = (shifts + shifts.mT) * rng.choice([0.01, 0.3, 2.0], size=(600, 1, 1))
    start = rng.normal(size=(600, 3)) * rng.choice([0.1, 1.0, 8.0], size=(600, 1))
    losses = np.abs(law.log_density(start + half_vector(shifts)) - law.log_density(start))
    ratios = losses * law.scale / np.abs(np.linalg.eigvalsh(shifts)).sum(axis=1)
    assert ratios.max() <= 1.0 + 1e-3  # the quadrature's error
    assert ratios.max() > 0.99
    # a Frobenius norm would not do: shifts of full rank cost more
    frobenius = losses * law.scale / np.linalg.norm(shifts, axis=(1, 2))
    assert frobenius.max() > 1.3
