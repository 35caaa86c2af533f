"""Curves: Renyi bounds and profiles against quadrature, exact arithmetic and dp-accounting."""

from __future__ import annotations

import json
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from privet.errors import DeclarationError
from privet.privacy.curves import (
    Curve,
    GaussianCurve,
    PureCurve,
    gaussian_delta,
    profile_epsilon,
    renyi_epsilon,
    tight_epsilon,
)
from privet.privacy.jacobian import CurvatureCurve, JacobianCurve
from privet.privacy.jacobian_cost import zcdp_cost, zcdp_cost_at
from privet.privacy.kinds import curve_from_json
from tests.strategies import curves, deltas, epsilons, jacobian_curves, rhos

orders = st.floats(-2.0, 3.0).map(lambda power: 1.0 + 10.0**power)


# -- pure ------------------------------------------------------------------------------------------


def randomized_response_renyi(epsilon: float, order: float) -> mpmath.mpf:
    """Renyi divergence of two coins whose odds differ by ``exp(epsilon)``, in many digits."""
    with mpmath.workdps(200):
        likely = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
        coins = ((likely, 1 - likely), (1 - likely, likely))
        total = sum(p ** mpmath.mpf(order) * r ** (1 - mpmath.mpf(order)) for p, r in coins)
        return mpmath.log(total) / (mpmath.mpf(order) - 1)


@given(st.floats(-9.0, 2.5).map(lambda power: 10.0**power), orders)
@example(1e-9, 1.01)
@example(1e-3, 1.01)
@example(300.0, 1000.0)
def test_pure_renyi_is_that_of_randomized_response(epsilon: float, order: float) -> None:
    exact = randomized_response_renyi(epsilon, order)
    stated = PureCurve(epsilon).renyi(order)
    # four units in the last place: the caps `epsilon` and `order epsilon^2/2` round once or twice
    assert stated >= exact * (1 - mpmath.mpf(1e-15))
    assert stated <= float(exact) * (1.0 + 1e-12) + 1e-15 * order / (order - 1.0)


@given(epsilons, orders, st.integers(0, 2**32 - 1))
def test_no_pure_mechanism_exceeds_the_curve(epsilon: float, order: float, seed: int) -> None:
    """Any two laws on five outcomes whose log-ratios stay within epsilon."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(5))
    ratio = np.exp(rng.uniform(-epsilon, epsilon, 5) / 2.0)
    r = p * ratio / (p * ratio).sum()
    with np.errstate(divide="ignore"):
        logs = np.log(p) - np.log(r)
    assume(np.isfinite(logs).all() and np.abs(logs).max() <= epsilon)
    exponents = np.log(p) + (order - 1.0) * logs
    divergence = float(np.logaddexp.reduce(exponents)) / (order - 1.0)
    assert divergence <= PureCurve(epsilon).renyi(order) * (1.0 + 1e-9) + 1e-12 / (order - 1.0)


# -- Gaussian profile ------------------------------------------------------------------------------


def quadrature_delta(shift: float, epsilon: float) -> float:
    """``integral of (phi(x - D) - exp(eps) phi(x))_+``, without the closed form."""

    def excess(x: float) -> float:
        return float(norm.pdf(x - shift) - math.exp(epsilon) * norm.pdf(x))

    start = shift / 2.0 + epsilon / shift
    return float(quad(excess, start, start + 12.0, epsabs=1e-14, epsrel=1e-11, limit=200)[0])


@given(st.floats(0.05, 6.0), st.floats(0.0, 15.0))
def test_the_gaussian_profile_is_an_integral(shift: float, epsilon: float) -> None:
    assert gaussian_delta(shift, epsilon) == pytest.approx(
        quadrature_delta(shift, epsilon), rel=1e-8, abs=1e-14
    )


@given(st.floats(-6.0, 1.5).map(lambda power: 10.0**power), st.floats(0.0, 1000.0))
@example(20.0, 700.0)
@example(0.1, 0.2)
def test_the_profile_is_never_below_its_exact_value(shift: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        d, e = mpmath.mpf(shift), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(d / 2 - e / d) - mpmath.exp(e) * mpmath.ncdf(-d / 2 - e / d)
    assume(exact > 1e-16)
    stated = gaussian_delta(shift, epsilon)
    assert stated >= exact
    assert stated <= float(exact) * (1.0 + 1e-6) + 1e-13


def test_a_hand_number_of_the_profile() -> None:
    """At D = 1, eps = 0: ``2 Phi(1/2) - 1``."""
    assert gaussian_delta(1.0, 0.0) == pytest.approx(0.3829249225480262, rel=1e-12)


@given(st.floats(1e-6, 10.0), deltas)
def test_the_inverted_profile_keeps_delta_and_is_tight(shift: float, delta: float) -> None:
    epsilon = profile_epsilon(shift, delta)
    assert gaussian_delta(shift, epsilon) <= delta
    if epsilon > 1e-6:
        assert gaussian_delta(shift, epsilon * (1.0 - 1e-6)) > delta


@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-6), (0.02, 1e-8), (3.0, 1e-5)])
def test_the_gaussian_epsilon_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    loss = privacy_loss_distribution.from_gaussian_mechanism(1.0 / math.sqrt(2.0 * rho))
    expected = loss.get_epsilon_for_delta(delta)  # pessimistic on a grid of 1e-4
    found = GaussianCurve(rho).epsilon(delta)
    assert expected - 2e-4 <= found <= expected * (1.0 + 2e-9)


# -- what every curve keeps ------------------------------------------------------------------------


@given(curves(), orders, orders)
def test_renyi_grows_with_the_order(curve: Curve, one: float, two: float) -> None:
    low, high = sorted((curve.renyi(one), curve.renyi(two)))
    expected = (curve.renyi(min(one, two)), curve.renyi(max(one, two)))
    assert expected == pytest.approx((low, high), rel=1e-9, abs=1e-13)
    assert low >= 0.0


@given(curves(), orders)
def test_renyi_stays_below_its_zcdp_line_and_its_pure_cap(curve: Curve, order: float) -> None:
    assert curve.renyi(order) <= order * curve.zcdp * (1.0 + 1e-12)
    assert curve.renyi(order) <= curve.pure


@given(curves(), deltas, deltas)
@settings(max_examples=25)
def test_epsilon_falls_with_delta(curve: Curve, one: float, two: float) -> None:
    assert curve.epsilon(max(one, two)) <= curve.epsilon(min(one, two)) + 1e-9


@given(st.one_of(epsilons.map(PureCurve), rhos.map(GaussianCurve)), deltas)
@settings(max_examples=25)
def test_tight_is_below_renyi(curve: Curve, delta: float) -> None:
    """The numerical composition reads more out of a curve than its Renyi bound."""
    # the discretization of the privacy loss costs at most a step of 1e-4
    assert tight_epsilon([curve], delta) <= renyi_epsilon([curve], delta) + 1.01e-4
    assert curve.epsilon(delta) <= renyi_epsilon([curve], delta) + 1e-9 or isinstance(
        curve, PureCurve
    )


def test_the_tight_composition_of_two_coins_is_exact() -> None:
    """Two randomized responses: losses 2e, 0, -2e with binomial probabilities."""
    e, delta = 0.5, 0.05
    likely = math.exp(e) / (1.0 + math.exp(e))
    # delta(eps) = P(2e) - exp(eps) P'(2e) while eps is between 0 and 2e
    exact = math.log((likely**2 - delta) / (1.0 - likely) ** 2)
    found = tight_epsilon([PureCurve(e), PureCurve(e)], delta)
    assert exact - 1e-9 <= found <= exact + 1e-3


def test_numerical_composition_is_not_offered_for_what_it_does_not_know() -> None:
    curve = JacobianCurve("margin", 2, 1.0, 0.1)
    assert tight_epsilon([PureCurve(0.1), curve], 1e-6) == math.inf
    assert renyi_epsilon([curve], 1e-6) < math.inf


@pytest.mark.parametrize(
    "asked",
    [
        [PureCurve(1.0), GaussianCurve(1e4)],
        [PureCurve(0.1 + 1e-4 * i) for i in range(800)],
        [*[PureCurve(700.0 - i) for i in range(400)], GaussianCurve(100.0)],
    ],
    ids=["wide", "many", "both"],
)
def test_numerical_composition_takes_bounded_time_and_memory(
    asked: list[Curve], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One small event of somebody else's took all memory: nobody could verify the ledger."""
    points: list[float] = []
    pure, gaussian = (
        privacy_loss_distribution.from_privacy_parameters,
        privacy_loss_distribution.from_gaussian_mechanism,
    )
    reached = 0.0

    def coin(parameters: Any, interval: float) -> Any:
        nonlocal reached
        reached += 2.0 * parameters.epsilon / interval
        points.append(reached)
        assert sum(points) < 2e7
        return pure(parameters, interval)

    def normal(deviation: float, value_discretization_interval: float) -> Any:
        width = deviation**-2 + 20.0 / deviation
        points.append(width / value_discretization_interval)
        assert sum(points) < 2e7
        return gaussian(deviation, value_discretization_interval=value_discretization_interval)

    monkeypatch.setattr(privacy_loss_distribution, "from_privacy_parameters", coin)
    monkeypatch.setattr(privacy_loss_distribution, "from_gaussian_mechanism", normal)
    found = tight_epsilon(asked, 1e-9)
    assert sum(points) > 1e6
    mean = sum(c.rho if isinstance(c, GaussianCurve) else 0.0 for c in asked)
    assert mean < found < math.inf


# -- Gaussian objective perturbation ---------------------------------------------------------------


def test_hand_numbers_of_the_jacobian_curve() -> None:
    curve = JacobianCurve("margin", 2, shift=0.5, k=0.1)
    assert curve.zcdp == pytest.approx(0.125 + 2.23 * 0.01)
    assert CurvatureCurve("margin", 2, 0.5, 0.1).zcdp == pytest.approx(0.125 + 1.776533 * 0.01)
    assert curve.renyi(3.0) == pytest.approx(0.375 - math.log(1.0 - 0.06 / 1.1) / 2.0)
    assert curve.delta(1.0) == pytest.approx(gaussian_delta(0.5, 1.0 - math.log(1.1)))
    softmax = JacobianCurve("softmax", 4, shift=0.5, k=0.1)
    # half = 0.03, G = -2 log 1.1 - log 0.8
    single = -2.0 * math.log(1.1) - math.log(0.8)
    assert softmax.renyi(3.0) == pytest.approx(0.375 + (max(0.03, single) + 0.03) / 2.0)
    assert softmax.zcdp == pytest.approx(0.125 + (2.1 + math.log(4.0)) * 0.01)
    assert CurvatureCurve("softmax", 4, 0.5, 0.1).zcdp == pytest.approx(0.125 + 2.746828 * 0.01)
    left = 1.0 - 3.0 * math.log(1.0 + 0.2 / 4.0)
    assert softmax.delta(1.0) == pytest.approx(3.0 * gaussian_delta(0.5, left))
    joint = JacobianCurve("joint_huber", 4, shift=0.5, k=0.1)
    pair, rest = 0.06 / 1.1, 6.0 * 0.025**2 / 1.025
    expected = 0.375 - (math.log(1.0 - pair) + 2.0 * math.log(1.0 - rest)) / 2.0
    assert joint.renyi(3.0) == pytest.approx(expected)
    assert joint.zcdp == pytest.approx(0.125 + (2.0 + 1.39 * 3.0) * 0.01)
    assert CurvatureCurve("joint_huber", 4, 0.5, 0.1).zcdp == pytest.approx(0.125 + 5.129902 * 0.01)
    assert joint.delta(1.0) == 1.0
    tiny = CurvatureCurve("joint_huber", 4, shift=0.5, k=1e-7)
    assert tiny.zcdp == pytest.approx(0.125 + (2.0 + 1.39 * 3.0) * 1e-14, rel=1e-15)


@pytest.mark.parametrize(
    ("family", "classes", "pairs", "choices"),
    [
        ("margin", 2, 1, math.log(2.0)),
        ("residual", 2, 1, math.log(3.0)),
        ("joint_huber", 4, 3, 3.0 * math.log(4.0)),
        ("softmax", 5, None, math.log(5.0)),
    ],
)
@pytest.mark.parametrize("k", [0.01, 0.3, 2.0])
def test_rho_of_the_jacobian_is_the_largest_over_orders_of_the_smaller_of_two_bounds(
    family: str, classes: int, pairs: int | None, choices: float, k: float
) -> None:
    """Step 13 by brute force over orders: eigenvalues where ``s k < 1``, the profile at any."""
    s = np.concatenate([np.linspace(1e-4, 1.0, 20_001)[:-1], np.linspace(1.0, 50.0, 2_000)]) / k
    alpha, x = 1.0 + s, s * k
    determinant = (classes - 1) * math.log(1.0 + 2.0 * k / classes)
    by_profile = (determinant + choices / s) / alpha
    with np.errstate(invalid="ignore", divide="ignore"):
        if pairs is None:
            single = -s * math.log(1.0 + k) - np.log(1.0 - x)
            y = np.maximum(alpha * s * k**2 / 2.0, single) + alpha * s * k**2 / 2.0
        else:
            y = -np.log(1.0 - alpha * s * k**2 / (1.0 + k))
            t = k / classes
            y = y - (pairs - 1) * np.log(1.0 - alpha * s * t**2 / (1.0 + t))
        by_eigenvalues = np.where(x < 1.0, y / (alpha * s), np.inf)
    largest = float(np.minimum(by_eigenvalues, by_profile).max())
    found = zcdp_cost_at(family, classes, k)
    assert largest <= found * (1.0 + 1e-9)
    assert found <= largest * 1.002


@pytest.mark.parametrize(("left", "factor"), [(0.0624, 2.0), (0.0626, 1.0)])
def test_below_a_quarter_of_the_squared_shift_only_twice_the_profile_is_proved(
    left: float, factor: float
) -> None:
    shift, k = 0.5, 0.1  # D^2/4 = 1/16
    found = JacobianCurve("margin", 2, shift, k).delta(left + math.log1p(k))
    assert found == pytest.approx(factor * gaussian_delta(shift, left), rel=1e-9)


@given(jacobian_curves(), orders)
def test_the_jacobian_never_saves(curve: JacobianCurve, order: float) -> None:
    """It costs at least the Gaussian mechanism of the same shift, and that at k = 0."""
    gaussian = GaussianCurve(curve.shift**2 / 2.0)
    assert curve.renyi(order) >= gaussian.renyi(order)
    assert curve.zcdp >= gaussian.zcdp
    assert curve.delta(1.0) >= gaussian_delta(curve.shift, 1.0) * (1.0 - 1e-12)
    without = JacobianCurve(curve.family, curve.classes, curve.shift, 0.0)
    assert without.renyi(order) == gaussian.renyi(order)


@given(jacobian_curves(), st.floats(1.001, 2.0), orders, epsilons)
def test_more_curvature_or_more_shift_costs_more(
    curve: JacobianCurve, factor: float, order: float, epsilon: float
) -> None:
    for worse in (
        JacobianCurve(curve.family, curve.classes, curve.shift, curve.k * factor),
        JacobianCurve(curve.family, curve.classes, curve.shift * factor, curve.k),
    ):
        assert worse.renyi(order) >= curve.renyi(order) * (1.0 - 1e-12)
        assert worse.zcdp >= curve.zcdp
        assert worse.delta(epsilon) >= curve.delta(epsilon) - 1e-13


@given(jacobian_curves(), deltas)
@settings(max_examples=25)
def test_epsilon_inverts_delta(curve: JacobianCurve, delta: float) -> None:
    epsilon = curve.epsilon(delta)
    if curve.profile_is_tight:
        assert curve.delta(epsilon * (1.0 + 1e-12)) <= delta * (1.0 + 1e-9)
    else:
        assert epsilon <= renyi_epsilon([curve], delta)


@pytest.mark.parametrize(("family", "same"), [("softmax", "logistic"), ("joint_huber", "margin")])
@given(shift=st.floats(0.01, 3.0), k=st.floats(0.0, 2.0))
def test_two_classes_are_a_margin_loss(family: str, same: str, shift: float, k: float) -> None:
    two, margin = JacobianCurve(family, 2, shift, k), JacobianCurve(same, 2, shift, k)
    assert two.renyi(1.5) == margin.renyi(1.5)
    assert two.zcdp == margin.zcdp
    assert two.delta(2.0) == margin.delta(2.0)
    assert two.epsilon(1e-6) == margin.epsilon(1e-6)


@given(shift=st.floats(0.01, 3.0), k=st.floats(0.0, 2.0), epsilon=st.floats(1e-3, 20.0))
def test_logistic_loss_costs_at_most_what_a_margin_loss_does(
    shift: float, k: float, epsilon: float
) -> None:
    """And nothing for the Jacobian from ``eps/2 + D^2/8 = 4 k`` on, where ``eps >= D^2/4``."""
    curve, margin = JacobianCurve("logistic", 2, shift, k), JacobianCurve("margin", 2, shift, k)
    assert curve.delta(epsilon) <= margin.delta(epsilon) * (1.0 + 1e-9)
    assert curve.epsilon(1e-6) <= margin.epsilon(1e-6) * (1.0 + 1e-9)
    free = max(shift**2 / 4.0, 8.0 * k - shift**2 / 4.0) * (1.0 + 1e-12)
    assert curve.delta(free + epsilon) == gaussian_delta(shift, free + epsilon)


def test_hand_numbers_of_the_logistic_jacobian() -> None:
    """At ``D = 0.4``, ``k = 0.2`` and ``e = 1``: ``a = 0.52 < q = 0.8``, so it is not free."""
    a, q = 0.5 + 0.16 / 8.0, 0.8
    t = np.linspace(0.0, 1.0, 200_001)
    cost = float((a * t + np.log1p(q * t * (1.0 - t))).max()) - a
    curve = JacobianCurve("logistic", 2, shift=0.4, k=0.2)
    assert cost == pytest.approx(0.0191675, abs=1e-6)
    assert curve.jacobian_cost(1.0) == pytest.approx(cost, abs=1e-9)
    assert curve.delta(1.0 + cost) == pytest.approx(gaussian_delta(0.4, 1.0), rel=1e-7)
    assert math.log1p(0.2) > 9.0 * cost  # what any margin loss would pay


@given(st.integers(3, 20), st.floats(1e-3, 1.0))
def test_more_classes_cost_more(classes: int, k: float) -> None:
    for family in ("softmax", "joint_huber"):
        for cost in (zcdp_cost, zcdp_cost_at):
            assert cost(family, classes + 1, k) > cost(family, classes, k)


@given(st.floats(0.01, 2.0), st.floats(0.0, 0.4), st.floats(1.05, 2.5))
@settings(max_examples=30)
def test_the_renyi_bound_holds_in_one_dimension(shift: float, k: float, order: float) -> None:
    """One row against none, quadratic loss with kinks: the exact divergence by quadrature.

    In b-space the neighbor's noise is ``b' = b + v(b)`` with ``|v| <= D`` (sigma = 1) and
    ``1 + v'`` between ``1/(1+k)`` and ``1 + k``; a clipped line of slope ``k`` is the extreme case.
    """
    curve = JacobianCurve("margin", 2, shift, k)

    def integrand(b: float, sign: float) -> float:
        slope = k if sign > 0 else -k / (1.0 + k)
        v = float(np.clip(slope * b, -shift / 2.0, shift / 2.0)) + sign * shift / 2.0
        jacobian = 1.0 + (slope if abs(slope * b) < shift / 2.0 else 0.0)
        log_ratio = norm.logpdf(b) - norm.logpdf(b + v) - math.log(jacobian)
        return float(np.exp(norm.logpdf(b) + (order - 1.0) * log_ratio))

    for sign in (-1.0, 1.0):
        edge = shift / 2.0 / max(k, 1e-9)
        knots = [e for e in (-edge, edge) if abs(e) < 29.0]
        moment = quad(integrand, -30.0, 30.0, args=(sign,), points=knots or [0.0], limit=400)[0]
        assert math.log(moment) / (order - 1.0) <= curve.renyi(order) + 1e-6


# -- records ---------------------------------------------------------------------------------------


@given(curves())
def test_json_there_and_back(curve: Curve) -> None:
    assert curve_from_json(json.loads(json.dumps(curve.to_json()))) == curve


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kind": "renyi", "loss": 1.0},
        {"kind": "pure"},
        {"kind": "pure", "loss": 1.0, "rho": 1.0},
        {"kind": "pure", "loss": -1.0},
        {"kind": "pure", "loss": math.nan},
        {"kind": "pure", "loss": math.inf},
        {"kind": "pure", "loss": True},
        {"kind": "pure", "loss": "1"},
        {"kind": "gaussian", "rho": -1.0},
        {"kind": "gaussian", "rho": 0.0},
        {"kind": ["pure"], "loss": 1.0},
        {"kind": "objective_gaussian", "family": "cauchy", "classes": 2, "shift": 1.0, "k": 0.1},
        {"kind": "objective_gaussian", "family": "margin", "classes": 2, "shift": 1.0, "k": -0.1},
        {"kind": "objective_gaussian", "family": "margin", "classes": 2, "shift": 0.0, "k": 0.1},
        {"kind": "objective_gaussian", "family": "softmax", "classes": 1, "shift": 1.0, "k": 0.1},
        {"kind": "objective_gaussian", "family": "softmax", "classes": 2.5, "shift": 1.0, "k": 0.1},
        {"kind": "objective_gaussian", "family": "margin", "classes": 3, "shift": 1.0, "k": 0.1},
    ],
    ids=repr,
)
def test_a_curve_that_nobody_proved_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        curve_from_json(record)


@given(st.floats(1e-6, 5.0), st.floats(1e-3, 6.0))
def test_the_price_of_slack_covers_small_shifts_too(shift: float, ratio: float) -> None:
    """At epsilon 0, where the shifted point is negative: ``delta_G(D, -slack)``."""
    slack = min(ratio * shift, 0.02)
    mu = GaussianCurve(shift**2 / 2.0, slack).gdp
    needed = -math.expm1(-slack) + math.exp(-slack) * gaussian_delta(shift, slack)
    assert needed <= gaussian_delta(mu, 0.0) * (1.0 + 1e-9)
