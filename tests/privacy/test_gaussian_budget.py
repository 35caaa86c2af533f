"""Gaussian privacy as a budget: conversions, sums of squares, floors, and the domination behind."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, ndtr, ndtri

from privet import GDP, ZCDP, ApproxDP, LinearSVC, LogisticRegression, PureDP
from privet.errors import BudgetExceeded, DeclarationError, InfeasibleBudget, RegularizationRaised
from privet.ledger import Ledger
from privet.losses import HuberHinge, Logistic, Loss, SmoothHinge, Softmax
from privet.losses.loss import JACOBIAN_SHARE
from privet.mechanisms import ObjectivePerturbation, OutputPerturbation
from privet.privacy import Composition
from privet.privacy.budget import budget_from_json
from privet.privacy.curves import GaussianCurve, PureCurve, gaussian_delta, profile_epsilon
from privet.privacy.domination import (
    dominated_shift,
    dominates,
    gaussian_profile,
    last_epsilon,
)
from privet.privacy.jacobian import JacobianCurve
from tests.strategies import name_of, pure_event

MUS = [0.05, 0.2, 0.4, 1.0, 2.0]
mus = st.floats(1e-3, 8.0)
TWO_CLASSES = [Logistic(), HuberHinge(), SmoothHinge(), Softmax(2)]


@given(mus, st.floats(0.05, 0.95))
def test_parts_add_up_in_squares(mu: float, share: float) -> None:
    one, two = GDP(mu).split([share, 1.0 - share])
    assert math.hypot(one.amount, two.amount) == pytest.approx(mu, rel=1e-11)
    assert math.hypot(one.amount, two.amount) <= mu
    rest, aside = GDP(mu).set_aside(share)
    assert math.hypot(rest.mu, aside.mu) == pytest.approx(mu)
    assert GDP(mu).with_precision(0.5).mu == mu / 2.0


@given(mus)
def test_a_pure_release_of_its_epsilon_is_within_the_trade_off(mu: float) -> None:
    """Randomized response of that epsilon: its profile touches the Gaussian and never passes."""
    epsilon = GDP(mu).laplace_epsilon
    assert PureCurve(epsilon).gdp == pytest.approx(mu, rel=1e-9)
    for e in np.linspace(0.0, epsilon, 25):
        coin = (math.exp(epsilon) - math.exp(e)) / (1.0 + math.exp(epsilon))
        assert coin <= gaussian_delta(mu, e) * (1.0 + 1e-9)
    # the total variation is the Gaussian's: no larger epsilon would do
    assert math.tanh(epsilon / 2.0) == pytest.approx(2.0 * ndtr(mu / 2.0) - 1.0, rel=1e-9)


def test_hand_numbers() -> None:
    assert GDP(1.0).whole_curve.zcdp == 0.5
    assert GDP(0.5).for_group(3) == GDP(1.5)
    assert GDP(1.5).per_row(3).mu == pytest.approx(0.5)
    assert GDP(2.0).laplace_epsilon == pytest.approx(math.log(ndtr(1.0) / ndtr(-1.0)))
    assert str(GDP(0.5)) == "mu = 0.5 (Gaussian)"
    assert budget_from_json(GDP(0.5).to_json()) == GDP(0.5)
    for bad in (0.0, -1.0, math.nan, math.inf, 41.0, "1", True, None):
        with pytest.raises(DeclarationError, match="mu must be"):
            GDP(bad)  # type: ignore[arg-type]


@given(mus, st.sampled_from([1e-3, 1e-6, 1e-9]))
@settings(max_examples=20)
def test_who_covers_whom(mu: float, delta: float) -> None:
    epsilon = profile_epsilon(mu, delta)
    assert ApproxDP(max(epsilon, 1e-6), delta).covers(GDP(mu))
    assert not ApproxDP(max(0.99 * epsilon, 1e-9), delta).covers(GDP(mu)) or epsilon < 1e-6
    assert ZCDP(mu**2 / 2.0).covers(GDP(mu))
    assert not ZCDP(mu**2 / 2.0 * 0.99).covers(GDP(mu))
    assert GDP(mu).covers(PureDP(GDP(mu).laplace_epsilon * 0.999))
    assert not GDP(mu).covers(ZCDP(mu**2 / 2.0))
    assert not GDP(mu).covers(ApproxDP(1e-9, delta))
    assert not PureDP(100.0).covers(GDP(mu))


# -- domination ------------------------------------------------------------------------------------


def exact_profile(
    epsilon: float, ridge: float, sigma: float, offset: float, shared: float, *, hinge: bool
) -> float:
    """Hockey-stick of opposite rows in one dimension, one of them at an offset of its margin."""
    width = (9.0 * sigma + 3.0) / ridge
    f = np.linspace(-width, width, 8001)

    def density(x: float, o: float) -> np.ndarray:
        m = x * f + o
        slope = np.clip(1.5 - m, 0.0, 1.0) if hinge else expit(-m)
        curvature = ((slope > 0.0) & (slope < 1.0)) * 1.0 if hinge else slope * (1.0 - slope)
        b = ridge * f + shared - x * slope
        return (
            np.exp(-(b**2) / (2.0 * sigma**2))
            / (sigma * math.sqrt(2.0 * math.pi))
            * (ridge + x * x * curvature)
        )

    p, q = density(1.0, offset), density(-1.0, -40.0 - width)
    step = f[1] - f[0]
    both = ((p, q), (q, p))
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum()) * step for a, b in both)


@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize(("mu", "ratio"), [(0.3, 0.2), (0.3, 0.7), (1.0, 0.3), (1.0, 0.7)])
def test_the_exact_profile_is_below_the_gaussian(mu: float, ratio: float, hinge: bool) -> None:
    k = ratio * mu
    shift = dominated_shift(mu, k, logistic=not hinge)
    ridge = (1.0 if hinge else 0.25) / k
    closest = 0.0
    for offset, push in itertools.product((-60.0, -3.0, -1.0, 0.0, 1.0), (-1.5, 0.0, 1.5)):
        for epsilon in np.linspace(0.0, 4.0, 9) * mu:
            found = exact_profile(
                epsilon, ridge, 2.0 / shift, offset, push * 2.0 / shift, hinge=hinge
            )
            allowed = gaussian_delta(mu, epsilon)
            assert found <= allowed * (1.0 + 1e-3) + 1e-9
            closest = max(closest, found / allowed)
    assert closest >= 0.5


@pytest.mark.parametrize("mu", MUS)
def test_without_a_jacobian_nothing_is_lost(mu: float) -> None:
    for logistic in (True, False):
        assert dominated_shift(mu, 0.0, logistic=logistic) >= 0.999 * mu


@given(mus, st.floats(0.01, 1.0), st.booleans())
@settings(max_examples=15)
def test_more_curvature_leaves_less(mu: float, ratio: float, logistic: bool) -> None:
    one = dominated_shift(mu, ratio * mu, logistic=logistic)
    two = dominated_shift(mu, 1.5 * ratio * mu, logistic=logistic)
    assert 0.0 < two <= one * (1.0 + 1e-3) <= mu * (1.0 + 1e-3)
    assert dominates(mu, one, ratio * mu, logistic=logistic)
    if logistic:
        assert one >= dominated_shift(mu, ratio * mu, logistic=False) * (1.0 - 1e-3)


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("ratio", [0.1, 0.5])
def test_what_is_dominated_is_so_at_every_epsilon(mu: float, ratio: float) -> None:
    """From ``last`` on by the Jacobian's own curve, which needs no chord there."""
    for family in ("logistic", "margin"):
        logistic = family == "logistic"
        shift = dominated_shift(mu, ratio * mu, logistic=logistic)
        curve = JacobianCurve(family, 2, shift, ratio * mu)
        last = last_epsilon(mu, shift, ratio * mu, logistic)
        for epsilon in last + np.linspace(0.0, 12.0, 97) * mu:
            assert curve.delta(epsilon) <= gaussian_delta(mu, epsilon) * (1.0 + 1e-6)


def test_the_planted_bugs_are_refused() -> None:
    """A free Jacobian at every epsilon; a tenth less noise; the factor of the gap forgotten."""
    for logistic in (True, False):
        assert not dominates(0.5, 0.5 * (1.0 - 1e-9), 0.1, logistic=logistic)
        right = dominated_shift(0.5, 0.1, logistic=logistic)
        assert not dominates(0.5, right / 0.9, 0.1, logistic=logistic)
        assert not dominates(0.5 * math.sqrt(0.999), right, 0.1, logistic=logistic)


def test_the_profile_of_negative_epsilons() -> None:
    e = np.linspace(-3.0, 3.0, 13)
    turned = 1.0 - np.exp(e) + np.exp(e) * gaussian_profile(0.7, -e)
    assert gaussian_profile(0.7, e) == pytest.approx(turned, abs=1e-12)


# -- floors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", TWO_CLASSES, ids=name_of)
@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_no_floor_is_above_that_of_epsilon_and_delta(loss: Loss, mu: float, delta: float) -> None:
    """At the same mu, of a declared regularization."""
    approx = ApproxDP(profile_epsilon(mu, delta), delta).objective_floor(loss, JACOBIAN_SHARE)
    for budget in (GDP(mu), ZCDP(mu**2 / 2.0)):
        share = budget.jacobian_limit(loss, JACOBIAN_SHARE)
        assert budget.objective_floor(loss, share) >= approx


@pytest.mark.parametrize("loss", TWO_CLASSES, ids=name_of)
@pytest.mark.parametrize("budget", [GDP(0.3), ZCDP(0.045)], ids=str)
def test_a_fit_at_the_floor_keeps_its_budget(loss: Loss, budget: GDP | ZCDP) -> None:
    made = ObjectivePerturbation(loss, budget, regularization=1e-9, noise="gaussian")
    with pytest.warns(RegularizationRaised):
        design = made.design(1000, 3)
    event = design.event
    assert event.zcdp() <= 0.045 * (1.0 + 1e-12)
    assert event.gdp() <= 0.3 * (1.0 + 1e-9)
    assert event.epsilon(1e-6) <= profile_epsilon(0.3, 1e-6) * (1.0 + 1e-9)
    k = design.risk.row_curvature / (1000 * design.risk.regularization)
    shift = design.risk.gradient_difference / design.main.scale
    mu = 0.3 * math.sqrt(0.999)
    assert dominates(mu, shift * (1.0 - 1e-9), k, logistic=loss.jacobian_family != "margin")


def test_many_classes_have_no_mu_in_the_objective() -> None:
    made = ObjectivePerturbation(Softmax(3), GDP(1.0), noise="gaussian")
    with pytest.raises(InfeasibleBudget):
        made.design(1000, 3)
    assert ObjectivePerturbation(Softmax(3), GDP(1.0)).design(1000, 3).main.kind == "matrix laplace"
    assert OutputPerturbation(Softmax(3), GDP(1.0)).design(1000, 3).event.gdp() <= 1.0 + 1e-12


# -- releases, ledgers -----------------------------------------------------------------------------


@pytest.mark.parametrize("model_class", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_fit_claims_its_mu(model_class: type, mechanism: str, noise: str) -> None:
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 3))
    model = model_class(GDP(0.8), mechanism=mechanism, noise=noise).fit(x, x[:, 0] > 0)
    event = model.guarantee_.event
    assert event.gdp() == 0.8
    assert "mu = 0.8: Gaussian differential privacy" in model.statement()
    assert event.epsilon(1e-5) <= profile_epsilon(0.8, 1e-5) * (1.0 + 1e-6)


def test_a_ledger_adds_up_squares(tmp_path: object) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.open("rows", GDP(0.5))
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 3))

    def fit(budget: object, mechanism: str = "objective") -> None:
        model = LogisticRegression(budget, mechanism=mechanism, ledger=ledger, dataset="rows")
        model.fit(x, x[:, 0] > 0)

    fit(GDP(0.3))
    assert ledger.remaining("rows") == pytest.approx(0.4)
    assert ledger.fits("rows").mu == pytest.approx(0.4)
    with pytest.raises(BudgetExceeded, match=r"0\.4"):
        fit(GDP(0.41))
    with pytest.raises(BudgetExceeded, match="counts in mu alone"):
        fit(ZCDP(0.01))  # noise in the objective is no Gaussian mechanism
    fit(GDP(0.4))
    assert ledger.remaining("rows") == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(BudgetExceeded):
        fit(GDP(0.001))
    ledger.verify()


def test_persons_pay_for_all_their_rows(tmp_path: object) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.open("rows", GDP(0.6), group=3)
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 3))
    LogisticRegression(GDP(0.2), ledger=ledger, dataset="rows").fit(x, x[:, 0] > 0)
    assert ledger.remaining("rows") == pytest.approx(0.0, abs=1e-7)


def test_a_pure_event_has_a_mu() -> None:
    assert pure_event(1.0).gdp() == pytest.approx(2.0 * ndtri(expit(1.0)))
    assert GaussianCurve(0.5, 1e-8).gdp > 1.0


# -- several releases under one (epsilon, delta) ---------------------------------------------------


@pytest.mark.parametrize(("epsilon", "gain"), [(0.1, 1.087), (1.0, 1.073)])
def test_gaussian_parts_of_epsilon_and_delta_compose_exactly(epsilon: float, gain: float) -> None:
    """All of epsilon is spent, and none more; the Renyi conversion would need more noise."""
    budget = ApproxDP(epsilon, 1e-6)
    parts = budget.gaussian.split([0.9, 0.1])
    together = math.hypot(*(part.amount for part in parts))
    assert 0.999999 * epsilon <= profile_epsilon(together, 1e-6) <= epsilon
    mu, rho = budget.gaussian.amount, budget.additive.amount
    assert mu / math.sqrt(2.0 * rho) == pytest.approx(gain, abs=2e-3)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_standardized_fit_is_paid_from_mu(mechanism: str, epsilon: float) -> None:
    budget = ApproxDP(epsilon, 1e-6)
    model = LogisticRegression(
        budget, mechanism=mechanism, standardize="private", column_bounds=(-1, 1)
    )
    planned = model.planned(3000, 20)
    event = planned.event
    assert isinstance(planned.stages.fit, GDP)
    assert 0.999 * budget.gaussian.amount <= event.gdp() <= budget.gaussian.amount
    assert event.epsilon(1e-6) == epsilon
    assert Composition(event.parts).epsilon(1e-6) <= epsilon
    through_rho = LinearSVC(budget, standardize="private", column_bounds=(-1, 1)).planned(3000, 20)
    assert not isinstance(through_rho.stages.fit, GDP)  # the Jacobian of a hinge is never free
