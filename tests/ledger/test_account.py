"""The arithmetic of an account: parts, persons, and the JSON it is declared in."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privet import ZCDP, ApproxDP, PureDP
from privet.bisection import largest
from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.ledger.account import Terms, costs_for, declared_terms, terms_from_json
from privet.ledger.entry import Totals
from privet.privacy import Budget, Event, Filter
from privet.privacy.compose import FILTER_ORDERS, UNITS_PER_ONE, add_costs, costs, units
from privet.privacy.curves import Curve, GaussianCurve, PureCurve
from tests.strategies import admits, budgets, event, events, gaussian_event, pure_event

PARTS = {"a": (0, 500), "b": (500, 1000)}
charges = st.lists(
    st.tuples(
        st.one_of(st.floats(1e-3, 0.5).map(pure_event), st.floats(1e-5, 0.1).map(gaussian_event)),
        st.sampled_from(["a", "b", None]),
    ),
    max_size=12,
)


@given(charges, budgets(2.0))
@settings(max_examples=60)
def test_each_part_is_an_account_of_its_own(
    asked: list[tuple[Event, str | None]], cap: Any
) -> None:
    """A charge is admitted exactly if every part's own list of events stays under the filter."""
    terms = declared_terms(cap, PARTS, 1)
    totals, spent = terms.nothing(), {name: list[Event]() for name in PARTS}
    for made, part in asked:
        touched = [part] if part is not None else list(PARTS)
        fits = all(admits(cap, spent[name], made) for name in touched)
        if fits:
            totals = terms.admit("people", totals, made, part)
            for name in touched:
                spent[name].append(made)
        else:
            with pytest.raises(BudgetExceeded):
                terms.admit("people", totals, made, part)
    assert terms.room(totals) >= (0 if any(spent.values()) else -1)


def test_parts_may_fit_in_different_calculi() -> None:
    """One part is full of pure releases, the other of Gaussian ones; a maximum taken column by
    column would fit nowhere."""
    cap = ApproxDP(1.0, 1e-6)
    terms = declared_terms(cap, PARTS, 1)
    totals = terms.admit("people", terms.nothing(), pure_event(0.99), "a")
    totals = terms.admit("people", totals, gaussian_event(0.01), "b")
    worst = tuple(
        None if x is None or y is None else max(x, y) for x, y in zip(*totals, strict=True)
    )
    assert Filter(cap).room(worst) < 0
    assert terms.room(totals) >= 0


def test_a_persons_rows_may_lie_in_both_parts() -> None:
    """So all parts must fit in one and the same calculus."""
    cap = ApproxDP(4.0, 1e-6)
    terms = declared_terms(cap, PARTS, 2)
    totals = terms.admit("people", terms.nothing(), pure_event(1.99), "a")
    with pytest.raises(BudgetExceeded):
        terms.admit("people", totals, gaussian_event(0.01), "b")
    alone = declared_terms(cap, PARTS, 1)
    totals = alone.admit("people", alone.nothing(), pure_event(1.99), "a")
    alone.admit("people", totals, gaussian_event(0.01), "b")


@given(events(2.0), st.integers(2, 9))
@settings(max_examples=40)
def test_a_group_pays_what_the_group_theorems_say(made: Event, k: int) -> None:
    """Exactly k and k^2 times; at Renyi orders never less than for one row."""
    try:
        grouped = costs_for(made, k)
    except LedgerError:
        assert math.isinf(made.pure())
        assert math.isinf(made.zcdp())
        return
    pure, zcdp, *renyi = costs(made)
    assert grouped[0] == (None if pure is None else k * pure)
    assert grouped[1] == (None if zcdp is None else k * k * zcdp)
    for order, one, many in zip(FILTER_ORDERS, renyi, grouped[2:], strict=True):
        if many is None:
            continue
        assert one is not None
        assert many >= one - 1
        bounds = [k * made.pure(), k * k * made.zcdp() * order]  # rounded as it is charged
        assert many <= units(min(bounds))  # type: ignore[operator]


@pytest.mark.parametrize("cap", [PureDP(1.0), ZCDP(0.3)], ids=str)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_cap_for_persons_is_the_cap_of_their_group(cap: Budget, k: int) -> None:
    """Releases under a cap for k rows have, as a group, no more than the cap."""
    terms, totals = Terms(cap, group=k), Terms(cap, group=k).nothing()
    made = pure_event(0.01) if isinstance(cap, PureDP) else gaussian_event(0.001)
    count = 0
    while terms.room(terms.charged(totals, made, None)) >= 0:
        totals, count = terms.charged(totals, made, None), count + 1
    assert count == math.floor(1.0 / (0.01 * k) + 1e-9) or isinstance(cap, ZCDP)
    one = made.claim
    whole = type(one)(count * next(iter(one.facts().values())) * (1 - 1e-12))
    assert cap.covers(whole.for_group(k))
    assert not cap.covers(type(one)(next(iter(whole.facts().values())) * 1.2).for_group(k))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_renyi_bounds_of_a_group(k: int) -> None:
    """Randomized response and a Gaussian, k rows apart, stay below what is charged."""
    for order, charged in zip(FILTER_ORDERS, costs_for(pure_event(0.4), k)[2:], strict=True):
        assert charged is not None
        assert charged / UNITS_PER_ONE >= PureCurve(0.4 * k).renyi(order) * (1 - 1e-12)
    for order, charged in zip(FILTER_ORDERS, costs_for(gaussian_event(0.1), k)[2:], strict=True):
        assert charged is not None
        # a Gaussian shifted k times as far: order (k shift)^2/(2 sigma^2)
        assert charged / UNITS_PER_ONE == pytest.approx(order * k * k * 0.1, rel=0, abs=2e-9)


@given(st.floats(1e-3, 8.0), st.integers(2, 12), st.sampled_from(FILTER_ORDERS))
def test_a_part_of_a_person_pays_at_most_its_share(epsilon: float, k: int, order: float) -> None:
    """``f(j t/k) <= (j/k) f(t)``: what the rule for persons across parts stands on."""
    whole = PureCurve(k * epsilon).renyi(order)
    for j in range(1, k):
        part = PureCurve(j * epsilon).renyi(order)
        assert part <= j / k * whole * (1.0 + 1e-12) + 1e-12 / (order - 1.0)


@dataclass(frozen=True)
class BoundedAtSomeOrders(Curve):
    """A curve that nobody has yet bounded at every order."""

    kind: ClassVar[str] = "some orders"
    pure: ClassVar[float] = math.inf  # type: ignore[assignment]
    zcdp: ClassVar[float] = math.inf  # type: ignore[assignment]

    def renyi(self, order: float) -> float:
        return 0.1 if order < 20 else math.inf


def test_what_no_theorem_bounds_is_refused_for_groups() -> None:
    made = event(ApproxDP(1.0, 1e-6), (BoundedAtSomeOrders(),))
    one = Terms(ApproxDP(2.0, 1e-6))
    assert one.room(one.charged(one.nothing(), made, None)) >= 0
    with pytest.raises(LedgerError, match="No theorem"):
        costs_for(made, 2)


def test_a_pure_cap_for_persons_admits_no_gaussian() -> None:
    terms = Terms(PureDP(10.0), group=2)
    with pytest.raises(BudgetExceeded):
        terms.admit("people", terms.nothing(), gaussian_event(1e-6), None)


def test_an_approximate_cap_for_persons_admits_gaussians() -> None:
    terms = Terms(ApproxDP(2.0, 1e-6), group=2)
    totals = terms.admit("people", terms.nothing(), gaussian_event(0.005), None)
    assert 0 < terms.room(totals) < terms.room(terms.nothing())
    four = Terms(ApproxDP(2.0, 1e-6))
    assert totals[0][2:] == four.admit("people", four.nothing(), gaussian_event(0.02), None)[0][2:]


# -- what a refusal says -------------------------------------------------------------------------

_NUMBERS = re.compile(
    r"pure release of epsilon = (\S+), or one of rho = (\S+), or one of epsilon = (\S+), delta = "
    r"1e-06 with Gaussian noise"
)


def refused(terms: Terms, totals: Totals, made: Event, part: str | None = None) -> str:
    with pytest.raises(BudgetExceeded) as caught:
        terms.admit("people", totals, made, part)
    return str(caught.value)


def gaussian_of(claim: ApproxDP) -> Event:
    """Gaussian noise on a result that spends all of its claim."""
    rho = largest(lambda rho: GaussianCurve(rho).epsilon(claim.delta) <= claim.epsilon, 1.0)
    return event(claim, (GaussianCurve(rho),))


def test_an_approximate_cap_says_why_it_does_not_admit_all_of_itself_later() -> None:
    cap = ApproxDP(1.0, 1e-6)
    terms = Terms(cap)
    begun = terms.admit("people", terms.nothing(), pure_event(1e-9), None)
    told = refused(terms, begun, gaussian_of(cap))
    assert "chosen after seeing the last" in told
    found = _NUMBERS.search(told)
    assert found is not None
    epsilon, rho, gaussian = (float(number.rstrip(",")) for number in found.groups())
    assert epsilon == 0.999999  # 1 - 1e-9, to six digits and down
    assert gaussian == pytest.approx(0.71, abs=0.01)  # as the page says
    terms.admit("people", begun, gaussian_event(rho), None)
    refused(terms, begun, gaussian_event(rho * 1.0001))
    terms.admit("people", begun, gaussian_of(ApproxDP(gaussian, 1e-6)), None)
    full = terms.charged(terms.nothing(), gaussian_event(0.1), None)
    assert "What fits now is nothing more." in refused(terms, full, gaussian_event(1e-4))


@pytest.mark.parametrize("group", [2, 3, 7])
def test_what_is_named_for_a_person_is_what_a_person_may_ask_for(group: int) -> None:
    terms = Terms(ZCDP(2.5), group=group)
    told = refused(terms, terms.nothing(), gaussian_event(2.6))
    found = re.search(r"now is .*epsilon = (\S+) for a p.*rho = (\S+) for a person with", told)
    assert found is not None
    epsilon, rho = map(float, found.groups())
    assert rho == 2.5
    assert epsilon == pytest.approx(5.0**0.5, rel=1e-5)
    terms.admit("people", terms.nothing(), gaussian_event(ZCDP(rho).per_row(group).rho), None)
    pure = pure_event(PureDP(epsilon).per_row(group).epsilon)
    terms.admit("people", terms.nothing(), pure, None)


def test_nobody_is_told_to_ask_for_less_where_less_would_not_fit_either() -> None:
    terms = Terms(PureDP(1.0))
    told = refused(terms, terms.nothing(), gaussian_event(0.1))
    assert "Ask for less" not in told
    assert "what fits now is a pure release of epsilon = 1." in told
    full = terms.admit("people", terms.nothing(), pure_event(1.0), None)
    assert "Ask for less" not in refused(terms, full, pure_event(0.1))
    assert "Ask for less" in refused(terms, terms.nothing(), pure_event(1.1))


all_caps = st.one_of(
    st.floats(0.5, 5.0).map(PureDP),
    st.floats(0.1, 5.0).map(ZCDP),
    st.floats(0.5, 5.0).map(lambda epsilon: ApproxDP(epsilon, 1e-6)),
)


@given(charges, all_caps, st.integers(1, 7), st.sampled_from(["a", "b", None]), st.booleans())
@example(  # its calibration ends a little above the rho that its epsilon was read from
    [(pure_event(0.08995605051573956), "a"), (pure_event(0.0546875), "a")],
    ApproxDP(0.5, 1e-6),
    3,
    "a",
    False,
)
def test_what_is_shown_as_fitting_fits_and_no_more(
    spent: list[tuple[Event, str | None]], cap: Any, group: int, part: str | None, basic: bool
) -> None:
    terms = declared_terms(cap, PARTS, group)
    totals = terms.nothing()
    if basic and isinstance(cap, ApproxDP):  # a first release that only basic composition admits
        own = for_group_claim(cap, group)
        totals = terms.admit("people", totals, gaussian_of(own), None)
        assert {len(total) for total in totals} == {2}
    for made, of in spent:
        with suppress(BudgetExceeded):
            totals = terms.admit("people", totals, made, of)
    pure, rho, approx, *_ = fits = terms.fits(totals, part)
    if pure:
        terms.admit("people", totals, pure_event(pure), part)
    if rho:
        terms.admit("people", totals, gaussian_event(rho), part)
    if approx is not None:
        terms.admit("people", totals, gaussian_of(approx), part)
        refused(terms, totals, gaussian_of(ApproxDP(approx.epsilon * 1.001, approx.delta)), part)
    told = refused(terms, totals, pure_event(pure * 1.000001 + 1e-10), part)
    refused(terms, totals, gaussian_event(rho * 1.000001 + 1e-10), part)
    if isinstance(cap, ApproxDP):
        assert fits.told(group) in told
        assert terms.remaining(totals, part) == group * pure


def for_group_claim(cap: ApproxDP, group: int) -> ApproxDP:
    """Nine tenths of what a row of a person may spend of a cap."""
    found = ApproxDP(cap.epsilon * 0.9, cap.delta * 0.9).per_row(group)
    assert isinstance(found, ApproxDP)
    return found


def test_a_cap_says_that_it_cannot_count_a_release() -> None:
    pure, zcdp = Terms(PureDP(1.0)), Terms(ZCDP(1.0))
    told = refused(pure, pure.nothing(), gaussian_event(0.1))
    assert "counts in epsilon alone, and none is proved" in told
    assert "1 is left" in told
    assert "0.5 is left" in refused(
        zcdp, ((None, units(0.5), *zcdp.nothing()[0][2:]),), gaussian_event(0.6)
    )


@given(st.floats(1e-3, 3.0), st.integers(1, 9))
def test_k_releases_cost_k_times_one(epsilon: float, k: int) -> None:
    terms = Terms(PureDP(1000.0), group=3)
    totals = terms.nothing()
    for _ in range(k):
        totals = terms.charged(totals, pure_event(epsilon), None)
    assert totals[0] == tuple(
        None if each is None else k * each for each in costs_for(pure_event(epsilon), 3)
    )
    assert add_costs(totals[0], (0,) * len(totals[0])) == totals[0]


@pytest.mark.parametrize(
    "terms",
    [
        Terms(PureDP(1.0)),
        Terms(ApproxDP(1.0, 1e-6), group=3),
        declared_terms(ZCDP(1.0), {"b": (0, 5), "a": (7, 9)}, 1),
        declared_terms(ZCDP(1.0), PARTS, 2),
    ],
    ids=str,
)
def test_terms_through_json(terms: Terms) -> None:
    text = json.dumps(terms.to_json(), sort_keys=True)
    assert terms_from_json(json.loads(text)) == terms


@pytest.mark.parametrize(
    "body",
    [
        {"cap": {"kind": "pure", "epsilon": 1.0}},
        {"cap": {"kind": "pure", "epsilon": 1.0}, "parts": {}, "group": 0},
        {"cap": {"kind": "pure", "epsilon": 1.0}, "parts": {"a": [0, 1]}, "group": 1},
        {"cap": {"kind": "pure", "epsilon": 1.0}, "parts": {}, "group": 1, "more": 1},
        {"kind": "pure"},
        {"kind": "none"},
    ],
    ids=str,
)
def test_terms_that_are_none_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        terms_from_json(body)


@pytest.mark.parametrize(
    "parts",
    [
        ("a", "b"),
        {"a": (0, 10)},
        {"a": (0, 10), "b": (9, 20)},
        {"a": (0, 10), "b": (0, 10)},
        {"a": (0, 10), "b": (20, 10)},
        {"a": (0, 10), "b": (-5, 0)},
        {"a": (0, 10), "b": (10, 20.0)},
        {"a": (0, 10), "b": (10, True)},
        {"a": (0, 10), "b": range(10, 12)},
        {"a": (0, 10), "b": 5},
        {"a": (0, 10), "b": (1, 2, 3)},
        {"a": (0, 10), "": (10, 20)},
        {"a": (0, 10), 7: (10, 20)},
    ],
    ids=str,
)
def test_parts_that_are_not_disjoint_ranges_are_refused(parts: Any) -> None:
    with pytest.raises(DeclarationError):
        declared_terms(PureDP(1.0), parts, 1)


@pytest.mark.parametrize("group", [0, -1, 1.5, True, None, "2", np.float64(2)], ids=repr)
def test_a_group_is_a_number_of_rows(group: Any) -> None:
    with pytest.raises(DeclarationError, match="group"):
        declared_terms(PureDP(1.0), None, group)


@pytest.mark.parametrize("cap", [1.0, None, "1"], ids=repr)
def test_a_cap_is_a_budget(cap: Any) -> None:
    with pytest.raises(DeclarationError, match="cap"):
        declared_terms(cap, None, 1)
