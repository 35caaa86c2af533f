"""Intervals: coverage over simulations, agreement with known formulas, no empty ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, binomtest, norm
from sklearn.metrics import roc_auc_score

from privet._types import Array
from privet.evaluation.allocation import count_tables
from privet.evaluation.auc import NoisyCurves, normal_classes, statistic_moments
from privet.evaluation.rates import Counts, Ratios, alone, joined
from privet.evaluation.score_tables import Gaps, calibration_error, gaps

SIMULATIONS = 2000
#: passed but for one run in a million where the coverage is from 0.937 to 0.963
LOWEST, HIGHEST = binom.ppf(5e-7, SIMULATIONS, 0.937), binom.ppf(1 - 5e-7, SIMULATIONS, 0.963)


def noise(scale: float, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng().laplace(0.0, scale, shape)


def group_rate(rate: float, n: int, scale: float) -> Ratios:
    """A rate within three tenths of the rows, from a table of four cells."""
    cells = [0.3 * rate, 0.3 * (1.0 - rate), 0.4, 0.3]
    counts = np.random.default_rng().multinomial(n, cells, SIMULATIONS)
    table = alone(counts + noise(scale, counts.shape), n, 2.0 * scale**2, 12.0 * scale**4)
    return table.ratios([(np.array([1.0, 0, 0, 0]), np.array([1.0, 1.0, 0, 0]))])


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.4, 1.0])
@pytest.mark.parametrize(("n", "scale"), [(100, 1.0), (1000, 8.0), (5000, 3.0)])
def test_rates_are_covered(rate: float, n: int, scale: float) -> None:
    ratios = group_rate(rate, n, scale)
    inside = ratios.accepts(np.full((SIMULATIONS, 1), rate), 0.95)[:, 0]
    assert LOWEST <= inside.sum() <= HIGHEST


def test_the_coverage_test_sees_noise_that_is_not_counted() -> None:
    ratios = group_rate(0.4, 1000, 8.0)
    blind = Ratios(
        ratios.n,
        ratios.numerator,
        ratios.denominator,
        0.0 * ratios.noise_variance,
        0.0 * ratios.noise_fourth,
    )
    inside = blind.accepts(np.full((SIMULATIONS, 1), 0.4), 0.95)[:, 0]
    assert inside.sum() < LOWEST


def test_the_interval_is_the_set_that_is_not_rejected() -> None:
    ratios = group_rate(0.1, 300, 3.0)
    lower, upper = ratios.intervals(0.95)
    for rate in (0.0, 0.05, 0.1, 0.3):
        accepted = ratios.accepts(np.full((SIMULATIONS, 1), rate), 0.95)[:, 0]
        within = (lower - 1e-4 <= rate) & (rate <= upper + 1e-4)
        assert (accepted <= within).all()
        clearly = (lower + 1e-4 < rate) & (rate < upper - 1e-4)
        assert (clearly <= accepted).all()
    assert (lower <= upper).all()
    assert (lower >= 0.0).all()
    assert (upper <= 1.0).all()


@pytest.mark.parametrize("right", [300, 450, 700])
def test_without_noise_it_is_close_to_wilson(right: int) -> None:
    ratios = Ratios(
        1000.0, np.array([float(right)]), np.array([1000.0]), np.zeros((1, 3)), np.zeros((1, 5))
    )
    lower, upper = ratios.intervals(0.95)
    known = binomtest(right, 1000).proportion_ci(0.95, method="wilson")
    assert lower[0] == pytest.approx(known.low, abs=1e-3)
    assert upper[0] == pytest.approx(known.high, abs=1e-3)


def test_a_higher_level_is_wider_and_a_lost_denominator_tells_nothing() -> None:
    ratios = group_rate(0.4, 500, 2.0)
    narrow, wide = ratios.intervals(0.8), ratios.intervals(0.99)
    assert (wide[0] <= narrow[0]).all()
    assert (wide[1] >= narrow[1]).all()
    lost = Ratios(
        100.0, np.array([5.0]), np.array([-3.0]), np.array([[4.0, 0.0, 9.0]]), np.zeros((1, 5))
    )
    lower, upper = lost.intervals(0.95)
    assert (lower[0], upper[0]) == (0.0, 1.0)
    assert np.isnan(lost.estimates(0.95)[0])


def curves(n: int, scale: float, shift: float) -> tuple[NoisyCurves, float]:
    bins = np.arange(16)
    q = np.exp(-0.5 * ((bins - 6.0) / 3.0) ** 2)
    p = np.exp(-0.5 * ((bins - 6.0 - shift) / 3.0) ** 2)
    p, q = p / p.sum(), q / q.sum()
    counts = np.random.default_rng().multinomial(n, np.concatenate([0.3 * p, 0.7 * q]), SIMULATIONS)
    noisy = counts + noise(scale, counts.shape)
    kernel = (np.sign(bins[:, None] - bins[None, :]) + 1.0) / 2.0
    return NoisyCurves(noisy[:, :16], noisy[:, 16:], 2.0 * scale**2), float(p @ kernel @ q)


@pytest.mark.parametrize(
    ("n", "scale", "shift"), [(400, 1.0, 0.0), (2000, 6.0, 4.0), (2000, 1.0, 8.0)]
)
def test_areas_are_covered(n: int, scale: float, shift: float) -> None:
    found, area = curves(n, scale, shift)
    assert found.usable.mean() > 0.99
    lower, upper = found.intervals(0.95)
    inside = ((lower <= area) & (area <= upper)).sum()
    assert LOWEST <= inside <= HIGHEST


def test_noise_near_a_perfect_curve_does_not_say_that_nothing_is_known() -> None:
    """Noise that looked like the rows' variance made one interval in a hundred [0.1, 1] or so."""
    found, area = curves(1000, 5.6, 11.0)
    assert area > 0.95
    lower, upper = found.intervals(0.95)
    assert lower[found.usable].min() > 0.4
    inside = ((lower <= area) & (area <= upper)).sum()
    assert LOWEST <= inside <= HIGHEST


def test_the_noisy_area_is_unbiased_and_its_noise_counts() -> None:
    found, area = curves(2000, 6.0, 4.0)
    p, q = found.totals
    wins = found.wins() - area * p * q
    assert abs(wins.mean()) < 5.2 * wins.std() / np.sqrt(SIMULATIONS)
    told = statistic_moments(
        found.positive, found.negative, found.noise_variance, np.full(len(p), area)
    )
    np.testing.assert_allclose(told.statistic, wins, rtol=1e-9, atol=1e-6)
    assert np.mean(told.variance) == pytest.approx(wins.var(), rel=0.25)
    assert np.mean(told.variance - told.noise) < 0.7 * wins.var()


MANY = 20_000


def sharp(positive: float, negative_score: float, positive_score: float, n: int) -> Any:
    """Many bins, most of them almost empty, and little noise: a curve close to the corner."""
    cuts = np.linspace(-4.0, 4.0, 129)[1:-1]
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    p, q = (np.diff(norm.cdf(edges - center)) for center in (positive_score, negative_score))
    cells = np.concatenate([positive * p, (1.0 - positive) * q])
    counts = np.random.default_rng().multinomial(n, cells, MANY)
    noisy = counts + noise(0.42, counts.shape)
    area = NoisyCurves(p[None], q[None], 0.0).estimates()[0]
    return NoisyCurves(noisy[:, :128], noisy[:, 128:], 2.0 * 0.42**2), float(area)


@pytest.mark.parametrize(
    "population", [(0.05, -2.5, 0.5, 20_000), (0.3, -2.3, 2.3, 100_000)], ids=["rare", "sharp"]
)
def test_an_area_close_to_one_is_missed_as_often_on_either_side(population: Any) -> None:
    found, area = sharp(*population)
    accepted = found.accepts(np.full(MANY, area), 0.95)
    above = found.estimates() > area
    # passed but for one run in a million where a side is missed by 0.0165 to 0.0325
    least, most = binom.ppf(2.5e-7, MANY, 0.0165), binom.ppf(1 - 2.5e-7, MANY, 0.0325)
    for side in (above, ~above):
        assert least <= (side & ~accepted).sum() <= most


def test_the_corrected_variance_does_not_move_with_the_area() -> None:
    found, area = sharp(0.05, -2.5, 0.5, 20_000)
    told = statistic_moments(
        found.positive, found.negative, found.noise_variance, np.full(MANY, area)
    )
    corrected = told.variance - told.covariance / told.variance * told.statistic
    assert np.corrcoef(told.statistic, told.variance)[0, 1] < -0.6
    assert abs(np.corrcoef(told.statistic, corrected)[0, 1]) < 0.2
    assert np.mean(told.covariance) == pytest.approx(
        np.cov(told.statistic, told.variance)[0, 1], rel=0.15
    )


def test_two_normal_classes_have_the_variance_that_owen_says() -> None:
    separation, places = 1.5, np.linspace(-9.0, 9.0, 4001)
    area = norm.cdf(separation / np.sqrt(2.0))
    step = places[1] - places[0]
    square = (norm.pdf(places - separation) * norm.cdf(places) ** 2).sum() * step
    assert normal_classes(np.array([area]))[0] == pytest.approx(square - area**2, rel=1e-6)
    assert normal_classes(np.array([0.0, 1.0])) == pytest.approx([0.0, 0.0])


def test_without_noise_the_area_is_scikit_learns() -> None:
    generator = np.random.default_rng(3)
    score, y = generator.integers(16, size=500), generator.integers(2, size=500)
    counts = [np.bincount(score[y == c], minlength=16)[None] * 1.0 for c in (1, 0)]
    found = NoisyCurves(*counts, 1e-9)
    assert found.estimates()[0] == pytest.approx(roc_auc_score(y, score))


def test_joined_tables_agree_and_are_less_noisy() -> None:
    counts = np.random.default_rng().multinomial(900, np.full(12, 1 / 12), SIMULATIONS)
    fine = counts + noise(4.0, counts.shape)
    coarse = counts.reshape(-1, 3, 4).sum(axis=1)
    whole = coarse + noise(4.0, coarse.shape)
    large, small = joined(whole, fine, 900, (32.0, 32.0), (12 * 256.0, 12 * 256.0))
    np.testing.assert_allclose(small.values.reshape(-1, 3, 4).sum(axis=1), large.values)
    np.testing.assert_allclose(large.values.sum(axis=1), 900.0)
    first = np.eye(4)[0]
    declared = float((large.weights(first) ** 2 * large.variance).sum())
    error = (large.values - coarse)[:, 0]
    assert error.var() == pytest.approx(declared, rel=0.3)
    assert declared < 32.0 * 0.75 * 0.9  # less than one table alone, made to add up


EDGES = np.linspace(0.0, 1.0, 11)


def reliability(shift: float, n: int, scale: float) -> tuple[Counts, float]:
    """Ten bins whose observed frequencies are off by ``shift`` toward one half."""
    middle = (np.arange(10) + 0.5) / 10
    hits = middle + shift * np.sign(0.5 - middle)
    cells = 0.1 * np.concatenate([1.0 - hits, hits])
    counts = np.random.default_rng().multinomial(n, cells, SIMULATIONS)
    noisy = counts + noise(scale, counts.shape)
    return alone(noisy, n, 2.0 * scale**2, 12.0 * scale**4), shift


@pytest.mark.parametrize(("n", "scale"), [(2000, 4.0), (20_000, 4.0), (20_000, 30.0)])
def test_a_calibration_error_is_covered_as_often_as_is_said(n: int, scale: float) -> None:
    table, error = reliability(0.04 * np.sqrt(20_000 / n), n, scale)
    estimate, lower, upper = calibration_error(table, EDGES, 0.95)
    inside = ((lower <= error) & (error <= upper)).sum()
    assert LOWEST <= inside <= binom.ppf(1 - 5e-7, SIMULATIONS, 0.975)
    assert estimate.mean() == pytest.approx(error, abs=0.3 * np.median(upper - lower))
    assert (lower <= estimate).all()
    assert (estimate <= upper).all()


@pytest.mark.parametrize("slope", [1.0, 1.25])
@pytest.mark.parametrize("edges", ["ranks", "calibration"])
def test_the_usual_calibration_error_is_covered(slope: float, edges: str) -> None:
    """Scores normal in log-odds, true log-odds ``slope`` times as large, exact means in tenths.

    The middle of a tenth is far from the mean of the probabilities in it.
    """
    n, scale = 20_000, 4.0
    asked = ("auc", "calibration") if edges == "ranks" else ("calibration",)
    (table,) = count_tables(asked, 2, 0, 16)
    score = norm.isf((np.arange(200_000) + 0.5) / 200_000) * 2.0 - 1.0
    given, true = expit(score), expit(slope * score)
    tenth = np.minimum((10 * given).astype(int), 9)
    usual = np.abs(np.bincount(tenth, true - given, minlength=10)).sum() / len(score)
    places = np.clip(np.searchsorted(table.edges, given, side="right") - 1, 0, table.shape[1] - 1)
    cells = [np.bincount(places, w, minlength=table.shape[1]) for w in (1.0 - true, true)]
    law = np.concatenate(cells) / len(score)
    counts = np.random.default_rng().multinomial(n, law / law.sum(), SIMULATIONS)
    found = alone(counts + noise(scale, counts.shape), n, 2.0 * scale**2, 12.0 * scale**4)
    estimate, lower, upper = calibration_error(found, table.edges, 0.95)
    assert ((lower <= usual + 1e-9) & (usual <= upper)).sum() >= LOWEST
    assert estimate.mean() == pytest.approx(usual, abs=0.003)


def test_a_perfect_calibration_is_covered_and_not_inflated() -> None:
    table, _ = reliability(0.0, 2000, 4.0)
    estimate, lower, upper = calibration_error(table, EDGES, 0.95)
    assert (lower <= 1e-9).sum() >= LOWEST
    assert (upper > 0.005).all()  # even where the noise makes the gaps look too small
    raw = gaps(table, EDGES).total
    assert estimate.mean() < 0.4 * raw.mean()


def test_folded_gaps_have_the_moments_that_are_used() -> None:
    table, _ = reliability(0.02, 2000, 4.0)
    found = gaps(table, EDGES)
    one = Gaps(10**9, found.found[:1], found.variance[:1], np.zeros((10, 10)))
    sizes = np.abs(found.found[:1])
    mean, sd, skew = (value[0] for value in one.moments(sizes))
    draws = np.abs(
        sizes + np.sqrt(one.variance) * np.random.default_rng().normal(size=(400_000, 10))
    ).sum(axis=1)
    assert mean == pytest.approx(draws.mean(), abs=5.2 * sd / np.sqrt(400_000))
    assert sd == pytest.approx(draws.std(), rel=0.01)
    assert skew == pytest.approx(float(((draws - mean) ** 3).mean() / sd**3), abs=0.04)
