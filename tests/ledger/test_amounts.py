"""What a charge costs: never less than its curves say, and exactly what was typed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet._files import canonical
from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.ledger.account import Terms, costs_for
from privet.ledger.entry import COLUMNS, GENESIS, totals_text
from privet.privacy import Budget, Composition, Event
from privet.privacy.compose import UNITS_PER_ONE, from_units, together, units
from privet.privacy.curves import Curve, GaussianCurve, PureCurve
from privet.privacy.kinds import CompositeEvent, event_from_json
from tests.strategies import event, gaussian_event, pure_event

Tamper = Callable[[str], None]

# -- claims and curves ---------------------------------------------------------------------------

LIES = [
    (PureDP(5.0), event(PureDP(0.1), (PureCurve(5.0),))),
    (PureDP(5.0), event(PureDP(0.1), (PureCurve(2.5), PureCurve(2.5)))),
    (ZCDP(5.0), event(ZCDP(0.1), (GaussianCurve(5.0),))),
    (ZCDP(12.5), event(PureDP(0.1), (PureCurve(5.0),))),
    (ApproxDP(6.0, 1e-6), event(ApproxDP(0.1, 1e-6), (GaussianCurve(0.5),))),
    (ApproxDP(5.0, 1e-6), event(PureDP(0.1), (PureCurve(5.0),))),
]


def composite(claim: Budget, *parts: Event) -> Event:
    """Several releases under a claim that nobody has checked."""
    first = parts[0]
    return CompositeEvent(
        mechanism="several",
        claim=claim,
        curves=tuple(curve for part in parts for curve in part.curves),
        noise=first.noise,
        scale=first.scale,
        sensitivity=first.sensitivity,
        n=first.n,
        theorem=first.theorem,
        releases=parts,
    )


LIES += [
    (PureDP(5.0), composite(PureDP(0.1), pure_event(2.5), pure_event(2.5))),
    (ZCDP(5.0), composite(ZCDP(0.1), gaussian_event(2.5), gaussian_event(2.5))),
    # the parts' claims are more than the whole's, and more than their curves
    (PureDP(5.0), composite(PureDP(0.1), event(PureDP(5.0), (PureCurve(0.05),)))),
    (ZCDP(5.0), composite(ZCDP(0.1), event(ZCDP(5.0), (GaussianCurve(0.05),)))),
]


@pytest.mark.parametrize("claim", [PureDP(50.0), ZCDP(50.0), ApproxDP(50.0, 1e-6)])
def test_an_event_without_curves_cannot_be_made(claim: Budget) -> None:
    """It would cost nothing under every cap of another kind."""
    with pytest.raises(DeclarationError, match="curves"):
        event(claim, ())


def test_a_composite_has_the_curves_of_its_parts() -> None:
    whole = composite(PureDP(5.0), pure_event(5.0))
    with pytest.raises(DeclarationError, match="not those of its parts"):
        replace(whole, curves=(PureCurve(0.001),))


@pytest.mark.parametrize(("cap", "made"), LIES, ids=range(len(LIES)))
def test_a_claim_does_not_hide_what_its_curves_cost(
    sqlite_url: str, cap: Budget, made: Event
) -> None:
    """Not in a reservation, and not in one that is read from its text."""
    ledger = Ledger(sqlite_url)
    ledger.open("small", cap.fraction(0.9))
    for each in (made, event_from_json(json.loads(made.canonical()))):
        with pytest.raises(BudgetExceeded):
            ledger.reserve("small", each)
    if not isinstance(cap, ApproxDP):
        ledger.open("enough", cap)
        ledger.reserve("enough", made)
        assert ledger.remaining("enough") == 0.0


@pytest.mark.parametrize(("cap", "made"), LIES, ids=range(len(LIES)))
def test_an_old_entry_that_believed_a_claim_is_found(
    sqlite_url: str, cap: Budget, made: Event
) -> None:
    """Totals in billionths of the claim, as earlier releases wrote them."""
    honest = event(made.claim, (_curve_of(made.claim),))
    chain = Forged(Ledger(sqlite_url), cap.fraction(0.9))
    chain.reserve(honest, costs_for(honest, 1))
    chain.ledger.verify()
    chain.forge_last(body=made.canonical())
    with pytest.raises(LedgerError, match="Entry 2 of the ledger does not add up"):
        chain.ledger.verify()


def _curve_of(claim: Budget) -> Curve:
    if isinstance(claim, PureDP):
        return PureCurve(claim.epsilon)
    return GaussianCurve(claim.rho if isinstance(claim, ZCDP) else 1e-4)


def test_an_approximate_claim_is_read_by_its_curves() -> None:
    """A sibling: what all releases cost together was read from a single event's claim, too."""
    lie, honest = LIES[4][1], event(ApproxDP(6.0, 1e-6), (GaussianCurve(0.5),))
    proved = GaussianCurve(0.5).epsilon(1e-6)
    assert Composition((lie,)).epsilon(1e-6) == pytest.approx(proved, rel=1e-9)
    assert Composition((honest,)).epsilon(1e-6) == 6.0
    whole = composite(ApproxDP(0.1, 1e-6), gaussian_event(0.25), gaussian_event(0.25))
    assert whole.epsilon(1e-6) == pytest.approx(proved, rel=1e-3)


def test_a_claim_that_is_more_than_its_curves_is_charged() -> None:
    assert event(PureDP(1.0), (PureCurve(0.5),)).pure() == 1.0
    assert event(ZCDP(1.0), (GaussianCurve(0.5),)).zcdp() == 1.0
    assert event(ApproxDP(1.0, 1e-6), (GaussianCurve(1e-6),)).epsilon(1e-6) == 1.0


@given(st.floats(1e-6, 5.0), st.floats(0.01, 0.99))
def test_a_budget_that_was_split_is_itself(epsilon: float, share: float) -> None:
    """The floats of its shares may add up to a last place more."""
    made = event(PureDP(epsilon), (PureCurve(epsilon * share), PureCurve(epsilon * (1 - share))))
    assert made.pure() == epsilon


# -- amounts as they were typed ------------------------------------------------------------------


@given(st.floats(1e-10, 1e3), st.integers(1, 64))
def test_an_amount_is_within_half_a_last_place_and_grows(amount: float, steps: int) -> None:
    here, more = units(amount), amount
    for _ in range(steps):
        more = math.nextafter(more, math.inf)
    assert here is not None
    assert abs(Fraction(here, UNITS_PER_ONE) - Fraction(amount)) <= Fraction(math.ulp(amount)) / 2
    assert from_units(here) == amount
    assert here < (units(more) or 0)


@pytest.mark.parametrize("k", range(1, 41))
def test_a_release_of_exactly_a_persons_size_fits(k: int) -> None:
    for cap, made in ((PureDP(1.0), pure_event(1.0 / k)), (ZCDP(1.0), gaussian_event(1.0 / k**2))):
        terms = Terms(cap, group=k)
        totals = terms.admit("people", terms.nothing(), made, None)
        assert terms.remaining(totals) < 1e-15
        with pytest.raises(BudgetExceeded):
            terms.admit("people", totals, pure_event(1e-7), None)


@given(st.floats(1e-3, 100.0), st.integers(1, 200), st.integers(1, 9))
def test_a_cap_admits_its_shares_and_no_more(cap: float, k: int, group: int) -> None:
    terms = Terms(PureDP(cap), group=group)
    one = costs_for(pure_event(cap / k / group), group)
    full = tuple(None if each is None else k * each for each in one)
    assert terms.room((full,)) >= 0
    more = tuple(None if a is None or b is None else a + b for a, b in zip(full, one, strict=True))
    assert terms.room((more,)) < 0
    assert Fraction(full[0] or 0, UNITS_PER_ONE) <= Fraction(cap) * (1 + Fraction(1, 2**49))


def test_three_thirds_are_one(ledger: Ledger) -> None:
    ledger.open("people", PureDP(1.0))
    for _ in range(3):
        ledger.settle(ledger.reserve("people", pure_event(1.0 / 3.0)))
    with pytest.raises(BudgetExceeded):
        ledger.reserve("people", pure_event(1e-9))
    ledger.verify()
    told = json.loads(ledger.entries()[-1].totals_text)
    assert told[0] == "0.9999999999999999"


# -- (epsilon, delta) caps -----------------------------------------------------------------------


def of(claim: ApproxDP) -> Event:
    """Gaussian noise on a result that spends (nearly) all of its claim."""
    low, high = 1e-12, 100.0
    for _ in range(60):
        rho = math.sqrt(low * high)
        fits = GaussianCurve(rho).epsilon(claim.delta) <= claim.epsilon
        low, high = (rho, high) if fits else (low, rho)
    return event(claim, (GaussianCurve(low),))


@pytest.mark.parametrize("cap", [ApproxDP(1.0, 1e-6), ApproxDP(0.3, 1e-9), ApproxDP(8.0, 1e-3)])
def test_an_empty_account_admits_one_release_of_its_own_size(ledger: Ledger, cap: ApproxDP) -> None:
    ledger.open("people", cap)
    assert ledger.fits("people").approx == cap
    with pytest.raises(BudgetExceeded):
        ledger.require("people", of(ApproxDP(cap.epsilon * 1.001, cap.delta)))
    with pytest.raises(BudgetExceeded):
        ledger.require("people", of(ApproxDP(cap.epsilon, cap.delta * 1.001)))
    ledger.settle(ledger.reserve("people", of(cap)))
    assert str(ledger.fits("people")) == "nothing more"
    assert ledger.remaining("people") == 0.0
    for more in (pure_event(1e-6), gaussian_event(1e-9), of(ApproxDP(1e-3, 1e-12))):
        with pytest.raises(BudgetExceeded):
            ledger.reserve("people", more)
    ledger.verify()


def test_what_a_data_set_was_charged_first_decides_for_good(ledger: Ledger) -> None:
    """Two filters with all of delta each: which one must not depend on an answer."""
    cap = ApproxDP(1.0, 1e-6)
    ledger.open("sums", cap)
    ledger.reserve("sums", of(ApproxDP(0.9, 5e-7)))
    assert ledger.fits("sums").approx == ApproxDP(0.1, 5e-7)
    assert ledger.fits("sums").pure == 0.1
    with pytest.raises(BudgetExceeded, match="as the first release decided"):
        ledger.reserve("sums", gaussian_event(1e-8))  # no delta of its own
    ledger.reserve("sums", of(ApproxDP(0.05, 5e-7)))
    ledger.reserve("sums", pure_event(0.05))
    ledger.open("renyi", cap)
    ledger.reserve("renyi", of(ApproxDP(0.1, 5e-7)))  # fits the Renyi filter
    with pytest.raises(BudgetExceeded, match="Renyi"):
        ledger.reserve("renyi", of(ApproxDP(0.9, 5e-7)))  # the sums would admit it
    ledger.verify()


def test_a_forged_change_of_filter_is_found(url: str) -> None:
    """Sums of epsilon and delta after a first release in the other filter."""
    chain = Forged(Ledger(url), ApproxDP(1.0, 1e-6))
    first = of(ApproxDP(0.1, 1e-6))
    chain.ledger.reserve("people", first)
    chain.reserve(of(ApproxDP(0.9, 1e-12)), (units(0.9), units(1e-12)))
    with pytest.raises(LedgerError, match="Entry 3"):
        chain.ledger.verify()


def test_sums_are_not_a_filter_for_other_caps(url: str) -> None:
    chain = Forged(Ledger(url), PureDP(1.0))
    chain.reserve(of(ApproxDP(0.5, 1e-6)), (units(0.5), units(1e-6)))
    with pytest.raises(LedgerError, match="Entry 2 of the ledger exceeds the cap"):
        chain.ledger.verify()


def test_each_part_chooses_by_its_own_first_release() -> None:
    from privet.ledger.account import declared_terms

    cap, parts = ApproxDP(1.0, 1e-6), {"a": (0, 500), "b": (500, 1000)}
    rows, persons = declared_terms(cap, parts, 1), declared_terms(ApproxDP(2.0, 1e-5), parts, 2)
    totals = rows.admit("people", rows.nothing(), gaussian_event(1e-4), "a")
    totals = rows.admit("people", totals, of(cap), "b")
    assert [len(total) for total in totals] == [12, 2]
    totals = persons.admit("people", persons.nothing(), gaussian_event(1e-5), "a")
    with pytest.raises(BudgetExceeded):  # one person may be in both
        persons.admit("people", totals, of(ApproxDP(0.9, 1e-6)), "b")
    totals = persons.admit("people", persons.nothing(), of(ApproxDP(0.9, 1e-6)), "b")
    assert [len(total) for total in totals] == [2, 2]
    with pytest.raises(BudgetExceeded):
        persons.admit("people", totals, gaussian_event(1e-5), "a")


# -- totals of earlier releases ------------------------------------------------------------------


class Forged:
    """A ledger with entries that this release would not write, and their hashes."""

    def __init__(self, ledger: Ledger, cap: Budget) -> None:
        self.ledger = ledger
        ledger.open("people", cap)

    def reserve(self, made: Event, cost: tuple[int | None, ...]) -> None:
        self._append("reserve", made.canonical(), totals_text((cost,)))

    def in_billionths(self, made: Event) -> None:
        cost = [None if c is None else -(-c * 10**9 // UNITS_PER_ONE) for c in costs_for(made, 1)]
        self._append("reserve", made.canonical(), canonical(cost))

    def _append(self, kind: str, body: str, totals: str) -> None:
        newest = self.ledger.entries()[-1]
        made = newest._replace(
            sequence=newest.sequence + 1,
            kind=kind,
            key=None,
            body_text=body,
            totals_text=totals,
            previous=newest.hash,
        )
        self._insert(made._replace(hash=made.digest()))

    def forge_last(self, body: str) -> None:
        newest = self.ledger.entries()[-1]
        self._run(f"DELETE FROM {{table}} WHERE sequence = {newest.sequence}", ())
        made = newest._replace(body_text=body)
        self._insert(made._replace(hash=made.digest()))

    def _insert(self, entry: Any) -> None:
        marks = ", ".join(["{mark}"] * len(COLUMNS))
        self._run(f"INSERT INTO {{table}} ({', '.join(COLUMNS)}) VALUES ({marks})", tuple(entry))

    def _run(self, statement: str, values: tuple[Any, ...]) -> None:
        if self.ledger.url.startswith("sqlite"):
            import sqlite3

            connection = sqlite3.connect(self.ledger.path, isolation_level=None)
            connection.execute(statement.format(table="entries", mark="?"), values)
            connection.close()
            return
        import psycopg

        with psycopg.connect(self.ledger.url, autocommit=True) as server:
            server.execute(statement.format(table="privet_entries", mark="%s").encode(), values)


def test_totals_in_billionths_are_read_and_charged_on(url: str) -> None:
    chain = Forged(Ledger(url), PureDP(1.0))
    chain.in_billionths(pure_event(1.0 / 3.0))
    ledger = chain.ledger
    assert json.loads(ledger.entries()[-1].totals_text)[0] == 333333334
    ledger.verify()
    assert ledger.remaining("people") == pytest.approx(1.0 - 0.333333334, abs=1e-16)
    ledger.settle(ledger.reserve("people", pure_event(0.5)))
    assert json.loads(ledger.entries()[-1].totals_text)[0] == "0.833333334"
    ledger.verify()
    assert ledger.entries()[0].previous == GENESIS


def test_a_composite_is_charged_its_claim() -> None:
    whole = together([pure_event(0.25), pure_event(0.5)], PureDP(1.0), "study")
    assert whole.pure() == 1.0
