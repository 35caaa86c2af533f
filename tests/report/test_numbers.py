"""The report's numbers against independent ones."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.linear_model import LogisticRegression as Plain

from privet import ZCDP, ApproxDP, LogisticRegression, PureDP
from privet.inference.released_model import released_model
from privet.models import Released as ReleasedModel
from privet.noise import NOISES
from privet.planning.bounds import coefficient_noise, coordinate_quantile
from privet.privacy.attacker import attacker_accuracy, detection, pairs, posterior, sure_odds
from privet.randomness import source
from privet.report.pictures import coefficients
from privet.report.released_numbers import ReportedModel
from privet.rows import checked_rows
from tests.models.tables import two_classes
from tests.report.models import KINDS, one_hot

ALARMS = np.linspace(0.0, 1.0, 201)
BUDGETS = [PureDP(1.0), PureDP(0.05), ApproxDP(1.0, 1e-3), ApproxDP(0.1, 0.2), ZCDP(0.1), ZCDP(2.0)]


# -- one coordinate of the noise -----------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(NOISES))
@pytest.mark.parametrize("dimension", [1, 2, 5, 40])
def test_the_band_holds_95_of_100_draws(kind: str, dimension: int) -> None:
    noise = NOISES[kind](0.7, dimension)
    band = coordinate_quantile(noise, 0.05)
    draws = noise.sample(source(3), 200_000)[:, 0]
    share = float((np.abs(draws) > band).mean())
    assert abs(share - 0.05) < 4 * math.sqrt(0.05 * 0.95 / len(draws))
    # and a band that is a tenth off would be noticed
    for wrong in (0.9, 1.1):
        off = float((np.abs(draws) > wrong * band).mean())
        assert abs(off - 0.05) > 4 * math.sqrt(0.05 * 0.95 / len(draws))


def test_known_coordinates() -> None:
    assert coordinate_quantile(NOISES["gaussian"](2.0, 9), 0.05) == pytest.approx(
        2 * norm.isf(0.025)
    )
    # in one dimension the spherical Laplace law is the Laplace law
    assert coordinate_quantile(NOISES["laplace"](1.0, 1), math.exp(-3)) == pytest.approx(3.0)


# -- the attacker --------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_detection_is_a_proper_bound(budget: PureDP | ApproxDP | ZCDP) -> None:
    hits = detection(budget, ALARMS)
    assert (hits >= ALARMS - 1e-12).all()
    assert (np.diff(hits) >= -1e-12).all()
    assert (np.diff(hits, 2) <= 1e-9).all()  # concave: no attacker is gained by mixing
    assert hits[-1] == 1.0


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_picture_and_the_headline_agree(budget: PureDP | ApproxDP | ZCDP) -> None:
    fine = np.linspace(0.0, 1.0, 20_001)
    best = float(((detection(budget, fine) + 1.0 - fine) / 2.0).max())
    assert best <= attacker_accuracy(budget) + 1e-9
    if not isinstance(budget, ZCDP):
        assert best == pytest.approx(attacker_accuracy(budget), abs=1e-4)


def test_randomized_response_reaches_the_pure_bound() -> None:
    truth = math.exp(1.0) / (1.0 + math.exp(1.0))
    assert detection(PureDP(1.0), np.array([1.0 - truth]))[0] == pytest.approx(truth)


@pytest.mark.parametrize("rho", [0.01, 0.1, 0.5, 2.0])
def test_the_gaussian_mechanism_stays_below_the_zcdp_bound(rho: float) -> None:
    gaussian = norm.cdf(norm.ppf(ALARMS) + math.sqrt(2 * rho))
    bound = detection(ZCDP(rho), ALARMS)
    assert (gaussian <= bound + 1e-9).all()
    assert (bound - gaussian).max() < 0.3  # and not far below


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_posteriors(budget: PureDP | ApproxDP | ZCDP) -> None:
    epsilon, delta = sure_odds(budget)
    priors = np.array([0.0, 0.01, 0.5, 1.0])
    after = posterior(epsilon, priors)
    odds = after[1:3] / (1 - after[1:3]) / (priors[1:3] / (1 - priors[1:3]))
    assert odds == pytest.approx(math.exp(epsilon))
    assert after[[0, 3]].tolist() == [0.0, 1.0]
    assert all(found >= 0 for found, _ in pairs(budget))
    assert delta == (0.0 if isinstance(budget, PureDP) else delta)


# -- the noise in the coefficients ---------------------------------------------------------------


def _rows(released: ReportedModel, x: np.ndarray, y: np.ndarray) -> Any:
    loss = ReleasedModel.of(released.model).mechanism.loss
    return checked_rows(x, loss.targets(y), norm_bound=1.0, constant=0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rebuilt_design_is_the_release_s_own(kind: str) -> None:
    model = KINDS[kind]()
    event = ReleasedModel.of(model).fit
    rebuilt = ReleasedModel.of(model).mechanism.design_with(event.noise, event.n, event.columns)
    assert rebuilt.event.scale == pytest.approx(event.scale, rel=1e-9)
    same = ReportedModel(model).design
    assert same is not None
    assert same.event is event
    assert same.main.scale == event.scale
    assert same.risk.regularization == pytest.approx(event.regularization, rel=1e-12)
    if same.gap is not None:
        assert rebuilt.gap is not None
        assert same.gap.scale == pytest.approx(rebuilt.gap.scale, rel=1e-9)


def test_report_and_intervals_know_the_same_design() -> None:
    """A fit beside which columns were standardized has only a share of the claim."""
    model = KINDS["standardized"]()
    assert model.guarantee_.event.parts
    assert ReportedModel(model).design == released_model(model).design


@pytest.mark.parametrize("kind", KINDS)
def test_the_price_at_this_budget_is_the_release_s_own(kind: str) -> None:
    released = ReportedModel(KINDS[kind]())
    (here,) = released.price(np.array([1.0]))
    assert here.noise.least == pytest.approx(released.noise.least, rel=1e-6)
    assert here.noise.mean == pytest.approx(released.noise.mean, rel=1e-6)


@pytest.mark.parametrize("kind", ["pure output", "approx output"])
def test_exact_bands_are_those_of_many_releases(kind: str) -> None:
    """Output perturbation: the spread of releases around their mean is the band."""
    released = ReportedModel(KINDS[kind]())
    drawn = ReleasedModel.of(released.model).mechanism.sample(_rows(released, *two_classes()), 4000)
    spread = np.abs(drawn - drawn.mean(axis=0))
    assert np.quantile(spread[:, 0], 0.95) == pytest.approx(released.band, rel=0.1)
    assert np.linalg.norm(drawn - drawn.mean(axis=0), axis=1).mean() == pytest.approx(
        released.noise.mean, rel=0.05
    )


def test_objective_noise_is_at_least_what_is_told() -> None:
    released = ReportedModel(KINDS["pure objective"]())
    drawn = ReleasedModel.of(released.model).mechanism.sample(_rows(released, *two_classes()), 500)
    moved = np.linalg.norm(drawn - drawn.mean(axis=0), axis=1).mean()
    assert released.noise.least * 0.95 < moved < released.noise.mean * 1.05


def test_a_column_without_rows_gets_the_most_noise() -> None:
    released = ReportedModel(KINDS["pure objective"]())
    x, y = two_classes()
    x[:, 1] = 0.0
    drawn = ReleasedModel.of(released.model).mechanism.sample(_rows(released, x, y), 4000)[:, 1]
    assert np.quantile(np.abs(drawn), 0.95) == pytest.approx(released.band, rel=0.1)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1)], ids=str)
def test_what_the_page_says_of_noise_holds_on_a_one_hot_table(budget: PureDP | ZCDP) -> None:
    """Every number that a caption claims for 95 of 100 fits holds for every coefficient.

    Rare and empty categories have hardly any curvature, so noise moves them the most.
    """
    fits = 400
    x, y = one_hot()
    model = LogisticRegression(budget, classes=[0, 1]).fit(x, y)
    released = ReportedModel(model)
    claims = re.findall(r"± ([\d.e+-]*\d)", coefficients(released).caption)
    assert claims
    drawn = ReleasedModel.of(model).mechanism.sample(_rows(released, x, y), fits)[:, :-1]
    without = _without_noise(released, x, y)
    allowed = binom.isf(1e-6 / len(without), fits, 0.05)
    for claim in map(float, claims):
        outside = (np.abs(drawn - without) > claim).sum(axis=0)
        assert outside.max() <= allowed
        # so whatever lies beyond the shade has the wrong sign seldom enough
        wrong = (np.abs(drawn) > claim) & (np.sign(drawn) != np.sign(without))
        assert wrong.sum(axis=0).max() <= allowed
    # and a narrower claim would be noticed: some columns are hardly held back at all
    assert (np.abs(drawn - without) > 0.6 * float(claims[0])).sum(axis=0).max() > allowed


def _without_noise(released: ReportedModel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The minimizer without noise, by another library."""
    wide = np.column_stack([x, np.full(len(x), 0.5)])
    strength = 1.0 / (len(x) * released.design.risk.regularization)
    plain = Plain(C=strength, fit_intercept=False, tol=1e-8, max_iter=5000).fit(wide, y)
    return plain.coef_[0, :-1]


def test_three_classes_share_the_noise() -> None:
    """Coefficients of C classes are K = C - 1 noisy vectors seen through an orthonormal basis."""
    released = ReportedModel(KINDS["three classes"]())
    single = coefficient_noise(released.design)
    assert released.band / single == pytest.approx(math.sqrt(2.0 / 3.0))


def test_the_price_falls_with_the_budget() -> None:
    for kind in ("pure objective", "approx output", "zcdp objective"):
        released = ReportedModel(KINDS[kind]())
        lengths = [each.noise.mean for each in released.price(np.array([0.1, 1.0, 10.0]))]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] > 1.5 * lengths[-1]
        assert released.price(np.array([1e9])) == []
