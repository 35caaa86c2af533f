"""Law 1: k-fold composition is composing k times is replaying what was saved.

And caps: a filter adds up, refuses what does not fit, and what it admits keeps the cap.
"""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.privacy import ZCDP, ApproxDP, Budget, Composition, Event, Filter, PureDP
from privet.privacy.compose import FILTER_ORDERS, add_costs, costs, units
from privet.privacy.curves import Curve, profile_epsilon, renyi_epsilon, tight_epsilon
from privet.privacy.kinds import event_from_json
from tests.strategies import (
    admits,
    budgets,
    curves,
    deltas,
    event,
    events,
    gaussian_event,
    pure_event,
    rhos,
)

# small, since numerical composition takes long for large losses
small_events = st.one_of(
    st.floats(1e-3, 0.5).map(pure_event), st.floats(1e-5, 0.1).map(gaussian_event)
)
ORDERS = (1.01, 1.5, 2.0, 8.0, 64.0)


def readings(composition: Composition) -> list[float]:
    """The composition in every calculus."""
    renyi = [composition.renyi(order) for order in ORDERS]
    return [composition.pure(), composition.zcdp(), *renyi]


def saved(made: tuple[Event, ...]) -> tuple[Event, ...]:
    """Through the text that a ledger keeps."""
    return tuple(event_from_json(json.loads(each.canonical())) for each in made)


@given(events(), st.integers(1, 12))
@settings(max_examples=40)
def test_k_fold_is_k_times_one(made: Event, k: int) -> None:
    one, many = Composition((made,)), Composition((made,) * k)
    assert readings(many) == pytest.approx([k * value for value in readings(one)], rel=1e-12)


@given(st.lists(events(), min_size=1, max_size=4), st.lists(events(), max_size=3))
@settings(max_examples=30)
def test_composing_in_two_steps_is_composing_once(first: list[Event], then: list[Event]) -> None:
    whole = readings(Composition((*first, *then)))
    parts = zip(
        readings(Composition(tuple(first))), readings(Composition(tuple(then))), strict=True
    )
    assert whole == pytest.approx([sum(pair) for pair in parts], rel=1e-12)


@given(st.lists(events(0.5), min_size=1, max_size=4), deltas)
@settings(max_examples=20)
def test_replaying_the_saved_text_changes_nothing(made: list[Event], delta: float) -> None:
    here, replayed = Composition(tuple(made)), Composition(saved(tuple(made)))
    assert readings(replayed) == readings(here)
    assert replayed.epsilon(delta) == here.epsilon(delta)


@given(st.lists(curves(), min_size=1, max_size=4), curves())
def test_every_curve_class_adds_up(parts: list[Curve], more: Curve) -> None:
    """One event of many curves is many events of one curve, in every calculus it does not claim."""
    approx = ApproxDP(1.0, 1e-6)  # a claim that no calculus below reads
    together = event(approx, (*parts, more))
    apart = Composition(tuple(event(approx, (curve,)) for curve in (*parts, more)))
    assert readings(Composition((together,))) == pytest.approx(readings(apart), rel=1e-12)


@given(st.lists(events(0.5), min_size=1, max_size=3), events(0.5), deltas)
@settings(max_examples=20)
def test_one_more_release_never_costs_less(made: list[Event], more: Event, delta: float) -> None:
    before, after = Composition(tuple(made)), Composition((*made, more))
    for fewer, all_of_them in zip(readings(before), readings(after), strict=True):
        assert fewer <= all_of_them
    if len(made) > 1:  # a single event may be read by its own, tighter route
        assert before.epsilon(delta) <= after.epsilon(delta) * (1.0 + 1e-9) + 1e-6


@given(st.lists(small_events, min_size=2, max_size=4), deltas)
@settings(max_examples=15)
def test_routes_to_epsilon_are_ordered(made: list[Event], delta: float) -> None:
    """Numerical composition reads at least as much as Renyi; the answer is the best of all."""
    together = Composition(tuple(made))
    all_curves = [curve for each in made for curve in each.curves]
    tight, renyi = tight_epsilon(all_curves, delta), renyi_epsilon(all_curves, delta)
    # the privacy loss is discretized in steps of 1e-4, each release at most one step worse
    assert tight <= renyi + 1e-4 * (len(made) + 1)
    routes = [together.pure(), renyi, tight]
    if math.isfinite(mu := together.gdp()):  # all of them inside Gaussian mechanisms
        routes.append(profile_epsilon(mu, delta))
    mixed = [each for each in made if math.isinf(each.pure())]
    if len(mixed) == 1:  # basic composition: one at delta, and the pure losses of the others
        pure = math.fsum(each.pure() for each in made if each is not mixed[0])
        routes.append(mixed[0].epsilon(delta) + pure)
    assert together.epsilon(delta) == min(routes)


@given(st.floats(1e-3, 0.5), deltas, st.integers(2, 5))
@settings(max_examples=15)
def test_pure_releases_never_cost_more_than_their_sum(e: float, delta: float, k: int) -> None:
    assert Composition((pure_event(e),) * k).epsilon(delta) <= k * e * (1.0 + 1e-12)


@given(rhos, deltas, st.integers(2, 5))
def test_gaussians_add_to_one_gaussian(rho: float, delta: float, k: int) -> None:
    many, one = Composition((gaussian_event(rho),) * k), gaussian_event(k * rho)
    assert many.epsilon(delta) == pytest.approx(one.epsilon(delta), rel=1e-6, abs=1e-9)


@given(events())
@settings(max_examples=30)
def test_an_event_costs_no_more_than_it_claims(made: Event) -> None:
    claim = made.claim
    if isinstance(claim, PureDP):
        assert sum(curve.pure for curve in made.curves) <= claim.epsilon * (1.0 + 1e-15)
    elif isinstance(claim, ZCDP):
        assert sum(curve.zcdp for curve in made.curves) <= claim.rho * (1.0 + 1e-12)
    else:
        assert isinstance(claim, ApproxDP)
        main, *rest = made.curves
        paid = main.epsilon(claim.delta) + sum(curve.pure for curve in rest)
        assert min(paid, renyi_epsilon(made.curves, claim.delta)) <= claim.epsilon * (1.0 + 1e-8)


# -- caps ------------------------------------------------------------------------------------------


def fits(cap: Budget, made: Event) -> int:
    """How many releases of the same kind a cap admits one after another."""
    count, totals, one = 0, costs(made), costs(made)
    while Filter(cap).room(totals) >= 0:
        count, totals = count + 1, add_costs(totals, one)
    return count


def test_ten_times_a_tenth_is_one() -> None:
    assert 0.1 + 0.1 + 0.1 > 0.3  # why amounts are integers
    assert fits(PureDP(1.0), pure_event(0.1)) == 10
    assert fits(PureDP(0.3), pure_event(0.1)) == 3
    assert fits(ZCDP(1.0), gaussian_event(0.1)) == 10
    assert fits(ZCDP(0.3), gaussian_event(0.1)) == 3


@given(st.integers(1, 60), st.floats(0.1, 5.0))
@settings(max_examples=30)
def test_a_share_fits_as_often_as_it_was_cut(k: int, cap: float) -> None:
    """Exactly: a share is rounded to a float, and a cap forgives that."""
    assert fits(PureDP(cap), pure_event(cap / k)) == k
    assert fits(ZCDP(cap), gaussian_event(cap / k)) == k
    assert fits(PureDP(cap), pure_event(cap / k * (1.0 + 1e-12))) == k - 1


@pytest.mark.parametrize("cap", [PureDP(1.0), ZCDP(1.0), ApproxDP(1.0, 1e-6)], ids=str)
def test_a_cap_admits_less_after_more(cap: Budget) -> None:
    small, large = pure_event(0.02), pure_event(0.1)
    assert fits(cap, large) < fits(cap, small)
    assert fits(cap.fraction(0.5), small) <= fits(cap, small)
    assert fits(cap, small) > 0


def test_a_pure_cap_admits_no_gaussian() -> None:
    assert not admits(PureDP(10.0), [], gaussian_event(1e-6))


def test_a_zcdp_cap_admits_pure_at_half_its_square() -> None:
    assert fits(ZCDP(1.0), pure_event(1.0)) == 2


def test_units_round_costs_up_and_limits_down() -> None:
    assert units(0.1) == 10**29
    assert units(1e-31) == 1
    assert units(math.inf) is None
    assert fits(PureDP(1.0), pure_event(0.333333333)) == 3
    assert fits(PureDP(1.0), pure_event(1.0 / 3.0)) == 3
    assert fits(PureDP(1.0), pure_event(0.33333333334)) == 2
    assert fits(PureDP(0.999999998999), pure_event(0.333333333)) == 2


@given(
    st.lists(events(0.3), max_size=15),
    st.floats(0.5, 2.0),
    st.sampled_from([1e-9, 1e-6, 1e-3]),
)
@settings(max_examples=25)
def test_what_a_filter_admits_keeps_the_cap(
    asked: list[Event], epsilon: float, delta: float
) -> None:
    """At the order that admitted the last release, the sum converts to the cap itself."""
    cap = ApproxDP(epsilon, delta)
    spent: list[Event] = []
    for each in asked:
        if admits(cap, spent, each):
            spent.append(each)
    if not spent:
        return
    share = delta / len(FILTER_ORDERS)
    converted = [
        sum(each.renyi(order) for each in spent) - math.log(share) / (order - 1.0)
        for order in FILTER_ORDERS
    ]
    pure = sum(each.pure() for each in spent)
    if Filter(cap).room(costs(spent[0])) < 0:  # basic composition
        assert _basic(spent) <= (epsilon * (1.0 + 2.0**-49), delta * (1.0 + 2.0**-49))
        return
    assert min(*converted, pure) <= epsilon * (1.0 + 2.0**-49)
    assert Composition(tuple(spent)).epsilon(delta) <= epsilon * (1.0 + 2.0**-49)


def _basic(spent: list[Event]) -> tuple[float, float]:
    """Sums of epsilon and delta, as they were claimed."""
    claims = [each.claim for each in spent]
    return (
        math.fsum(claim.facts()["epsilon"] for claim in claims),
        math.fsum(claim.facts().get("delta", 0.0) for claim in claims),
    )


@given(st.lists(events(), max_size=12), budgets())
@settings(max_examples=25)
def test_sums_that_a_filter_admits_are_within_the_cap(asked: list[Event], cap: Budget) -> None:
    spent: list[Event] = []
    for each in asked:
        if admits(cap, spent, each):
            spent.append(each)
    if isinstance(cap, PureDP):
        assert math.fsum(each.pure() for each in spent) <= cap.epsilon * (1.0 + 2.0**-49)
    elif isinstance(cap, ZCDP):
        assert math.fsum(each.zcdp() for each in spent) <= cap.rho * (1.0 + 2.0**-49)


@given(st.lists(events(), min_size=1, max_size=5))
@settings(max_examples=20)
def test_the_filters_room_shrinks_by_what_is_spent(made: list[Event]) -> None:
    """The running totals that a ledger keeps answer as the whole list does."""
    totals = costs(made[0])
    for each in made[1:]:
        totals = add_costs(totals, costs(each))
    for cap in (PureDP(3.0), ZCDP(3.0), ApproxDP(3.0, 1e-5)):
        assert (Filter(cap).room(totals) >= 0) == admits(cap, made[:-1], made[-1])
