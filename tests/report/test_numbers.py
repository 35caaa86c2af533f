"""The report's numbers against independent ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from privet import ZCDP, ApproxDP, PureDP
from privet.noise import NOISES
from privet.privacy.odds import attacker_accuracy, detection, pairs, posterior, sure_odds
from privet.randomness import source
from privet.report.marginal import coordinate_quantile, coordinate_tail
from privet.report.released import Released
from tests.report.models import KINDS

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
    assert coordinate_tail(NOISES["laplace"](1.0, 1), 3.0) == pytest.approx(math.exp(-3), rel=2e-3)


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


def test_randomised_response_reaches_the_pure_bound() -> None:
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


# -- the rebuilt mechanism -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_rebuilt_design_is_the_release_s_own(kind: str) -> None:
    model = KINDS[kind]()
    event = model.guarantee_.event
    released = Released(model)
    rebuilt = released.mechanism.design_with(event.noise, event.n, event.m)
    assert rebuilt.event.scale == pytest.approx(event.scale, rel=1e-9)
    assert released.design.event is event
    same = released.design
    assert same.main.scale == event.scale
    assert same.risk.regularization == pytest.approx(event.regularization, rel=1e-12)


@pytest.mark.parametrize("kind", ["pure output", "approx output"])
def test_exact_bands_are_those_of_many_releases(kind: str) -> None:
    """Output perturbation: the spread of releases around their mean is the band."""
    from privet.rows import checked_rows
    from tests.models.tables import two_classes

    model = KINDS[kind]()
    released = Released(model)
    x, y = two_classes()
    mechanism = released.mechanism
    rows = checked_rows(x, mechanism.loss.targets(y), norm_bound=1.0, intercept=True)
    drawn = mechanism.sample(rows, 4000)
    spread = np.abs(drawn - drawn.mean(axis=0))
    assert np.quantile(spread[:, 0], 0.95) == pytest.approx(released.band[1], rel=0.1)
    assert np.linalg.norm(drawn - drawn.mean(axis=0), axis=1).mean() == pytest.approx(
        released.usual_noise, rel=0.05
    )


def test_objective_noise_is_at_least_what_is_told() -> None:
    from privet.rows import checked_rows
    from tests.models.tables import two_classes

    released = Released(KINDS["pure objective"]())
    x, y = two_classes()
    mechanism = released.mechanism
    rows = checked_rows(x, mechanism.loss.targets(y), norm_bound=1.0, intercept=True)
    drawn = mechanism.sample(rows, 500)
    moved = np.linalg.norm(drawn - drawn.mean(axis=0), axis=1).mean()
    assert released.noise.least * 0.95 < moved < released.noise.mean * 1.05


def test_a_column_without_rows_gets_the_most_noise() -> None:
    from privet.rows import checked_rows
    from tests.models.tables import two_classes

    released = Released(KINDS["pure objective"]())
    x, y = two_classes()
    x[:, 1] = 0.0
    mechanism = released.mechanism
    rows = checked_rows(x, mechanism.loss.targets(y), norm_bound=1.0, intercept=True)
    drawn = mechanism.sample(rows, 4000)[:, 1]
    assert np.quantile(np.abs(drawn), 0.95) == pytest.approx(released.band[2], rel=0.1)
    assert released.band[0] < released.band[1] < released.band[2]


def test_three_classes_share_the_noise() -> None:
    """Coefficients of C classes are K = C - 1 noisy vectors seen through an orthonormal basis."""
    released = Released(KINDS["three classes"]())
    single = coordinate_quantile(released.design.main, 0.05)
    ratio = released.band[0] / single
    from privet.mechanisms.gap import least_response

    design = released.design
    least = least_response(design.risk, design.n, design.m)
    assert ratio == pytest.approx(math.sqrt(2.0 / 3.0) * least)


def test_the_price_falls_with_the_budget_and_meets_the_release() -> None:
    for kind in ("pure objective", "approx output", "zcdp objective"):
        released = Released(KINDS[kind]())
        found = released.price(np.array([0.1, 1.0, 10.0]))
        lengths = [each.usual for each in found]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] > 1.5 * lengths[-1]
        assert found[1].usual == pytest.approx(released.usual_noise, rel=1e-6)
        assert released.price(np.array([1e9])) == []
