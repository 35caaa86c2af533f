"""One budget for several releases: the parts never cost more than the whole, and little is lost."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import DeclarationError
from privet.losses import Logistic
from privet.mechanisms import MECHANISMS, ObjectivePerturbation
from privet.mechanisms.matrix_beside import MomentsBesideFit, fit_loss
from privet.privacy import ZCDP, ApproxDP, Budget, Composition, Event, PureDP, event_from_json
from privet.privacy.compose import costs, together, units
from privet.privacy.curves import PureCurve

WHOLES = [PureDP(1.0), PureDP(0.3), ZCDP(0.125), ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-9)]


def parts_of(whole: Budget, shares: list[float]) -> list[Event]:
    return [
        MECHANISMS["objective"](Logistic(), part).event(20_000, 5) for part in whole.split(shares)
    ]


@pytest.mark.parametrize("whole", WHOLES, ids=str)
def test_parts_fit_and_cost_the_whole(whole: Budget) -> None:
    event = together(parts_of(whole, [0.9, 0.07, 0.03]), whole, "three fits")
    assert event.claim == whole
    assert len(event.parts) == 3
    if isinstance(whole, PureDP):
        assert costs(event)[0] == units(whole.epsilon)  # to the last unit
        assert math.isclose(Composition(event.parts).pure(), whole.epsilon, rel_tol=1e-9)
    elif isinstance(whole, ZCDP):
        assert costs(event)[1] == units(whole.rho)
        assert math.isclose(Composition(event.parts).zcdp(), whole.rho, rel_tol=1e-9)
    else:
        assert isinstance(whole, ApproxDP)
        found = Composition(event.parts).epsilon(whole.delta)
        assert 0.9 * whole.epsilon <= found <= whole.epsilon
        assert event.epsilon(whole.delta) == whole.epsilon


@pytest.mark.parametrize("whole", WHOLES, ids=str)
def test_a_claim_that_is_too_small_is_refused(whole: Budget) -> None:
    with pytest.raises(DeclarationError, match="cost more"):
        together(parts_of(whole, [0.9, 0.1]), whole.fraction(0.8), "two fits")


@given(
    whole=st.sampled_from(WHOLES),
    shares=st.lists(st.floats(0.01, 10.0), min_size=1, max_size=20),
)
def test_shares_never_add_up_to_more(whole: Budget, shares: list[float]) -> None:
    parts = whole.split(shares)
    assert len(parts) == len(shares)
    if isinstance(whole, PureDP):
        assert math.fsum(part.facts()["epsilon"] for part in parts) <= whole.epsilon
    elif isinstance(whole, ZCDP):
        assert math.fsum(part.facts()["rho"] for part in parts) <= whole.rho


def test_a_composite_survives_its_file_and_tampering_is_seen() -> None:
    event = together(parts_of(ZCDP(0.1), [0.9, 0.1]), ZCDP(0.1), "fit with intervals")
    assert event_from_json(json.loads(event.canonical())) == event
    record = json.loads(event.canonical())
    record["parts"] = record["parts"][:1]
    with pytest.raises(DeclarationError, match="parts"):
        event_from_json(record)


def test_a_part_that_is_not_private_voids_the_whole() -> None:
    seeded = MECHANISMS["objective"](Logistic(), PureDP(0.5), insecure_seed=1).event(1000, 3)
    sound = MECHANISMS["objective"](Logistic(), PureDP(0.5)).event(1000, 3)
    event = together([sound, seeded], PureDP(1.0), "two fits")
    assert not event.private
    assert "seeded" in event.why_not_private


@pytest.mark.parametrize("shares", [[], [0.0, 1.0], [math.nan], [-1.0, 2.0]])
def test_odd_shares_are_refused(shares: list[float]) -> None:
    with pytest.raises(DeclarationError, match="shares"):
        PureDP(1.0).split(shares)


def beside() -> list[Event]:
    """A fit and what it left: two parts of one pure release."""
    fit = ObjectivePerturbation(Logistic(), PureDP(0.75)).design(500, 4)
    losses = fit_loss(fit)
    matrices = MomentsBesideFit(fit.risk, PureDP(0.25), fit=losses).design(500, 4)
    return [fit.event, matrices.event]


def test_parts_that_prove_nothing_alone_are_one_pure_loss() -> None:
    """The sum of the parts' rhos would be (9/16 + 1/16)/2, which the two do not keep."""
    event = together(beside(), PureDP(1.0), "fit with intervals")
    assert [curve.kind for curve in event.curves] == ["pure"]
    assert event.pure() == 1.0
    assert event.zcdp() == pytest.approx(0.5)
    assert event.renyi(2.0) == pytest.approx(PureCurve(1.0).renyi(2.0))
    assert event_from_json(event.to_json()) == event


def test_parts_that_prove_nothing_alone_have_no_other_claim() -> None:
    for claim in (ZCDP(1.0), ApproxDP(2.0, 1e-6)):
        with pytest.raises(DeclarationError, match="alone"):
            together(beside(), claim, "fit with intervals")
    record = together(beside(), PureDP(1.0), "fit with intervals").to_json()
    record["curves"] = [curve for part in record["parts"] for curve in part["curves"]]
    with pytest.raises(DeclarationError, match="curves"):
        event_from_json(record)
