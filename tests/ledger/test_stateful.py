"""Random sequences of charges against a model of what a ledger is.

The model is a list of (event, part) for each data set and knows nothing of entries, hashes or
totals. Whatever is charged, in whatever order: a charge is granted exactly if the filter admits the
list with it, what remains is never negative, replaying the file gives its totals, and k equal
charges move the totals by k times one.
"""

from __future__ import annotations

import tempfile
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger.account import Terms, costs_for
from privet.privacy import Budget, Event, Filter
from privet.privacy.compose import UNITS_PER_ONE, units
from tests import postgres
from tests.strategies import admits, gaussian_event, pure_event

PARTS = {"a": (0, 100), "b": (100, 200)}
caps = st.one_of(
    st.floats(0.2, 2.0).map(PureDP),
    st.floats(0.05, 1.0).map(ZCDP),
    st.floats(0.5, 3.0).map(lambda epsilon: ApproxDP(epsilon, 1e-6)),
)
charged_events = st.one_of(
    st.floats(0.01, 0.5).map(pure_event), st.floats(1e-4, 0.05).map(gaussian_event)
)


class Charges(RuleBasedStateMachine):
    """What users and crashes do to a ledger."""

    names = Bundle("names")
    reservations = Bundle("reservations")
    heads = Bundle("heads")

    def __init__(self, url: str) -> None:
        super().__init__()
        self.ledger = Ledger(url)
        self.model: dict[str, list[tuple[Event, str | None]]] = {}
        self.terms: dict[str, Terms] = {}
        self.unsettled: set[int] = set()
        self.writes = 0

    @initialize(target=names, cap=caps)
    def first(self, cap: Budget) -> str:
        return self._open(cap, None, 1)

    @rule(target=names, cap=caps, parts=st.sampled_from([None, PARTS]), group=st.integers(1, 3))
    def another(self, cap: Budget, parts: Any, group: int) -> str:
        return self._open(cap, parts, group)

    def _open(self, cap: Budget, parts: Any, group: int) -> str:
        name = f"data set {len(self.model)}"
        self.ledger.open(name, cap, parts=parts, group=group)
        self.model[name], self.terms[name] = [], self.ledger.terms(name)
        self.writes += 1
        return name

    @rule(target=reservations, name=names, made=charged_events, part=st.sampled_from("ab"))
    def charge_a_part(self, name: str, made: Event, part: str) -> Any:
        return self._charge(name, made, part if self.terms[name].parts else None)

    @rule(target=reservations, name=names, made=charged_events)
    def charge(self, name: str, made: Event) -> Any:
        return self._charge(name, made, None)

    def _charge(self, name: str, made: Event, part: str | None) -> Any:
        expected = self._admits(name, made, part)
        try:
            number = self.ledger.reserve(name, made, part=part)
        except BudgetExceeded:
            assert not expected
            return multiple()
        assert expected
        self.model[name].append((made, part))
        self.unsettled.add(number)
        self.writes += 1
        return number

    def _admits(self, name: str, made: Event, part: str | None) -> bool:
        """By the whole list, as the laws of composition are written."""
        terms, whole = self.terms[name], [*self.model[name], (made, part)]
        names = [each.name for each in terms.parts] or [None]
        lists = [[event for event, of in whole if of in (None, each)] for each in names]
        if terms.group == 1:
            return all(admits(terms.cap, events[:-1], events[-1]) for events in lists if events)
        return any(
            limit is not None and all(_within(limit, events, column, terms) for events in lists)
            for column, limit in enumerate(Filter(terms.cap).limits())
        )

    @rule(name=names, made=charged_events, k=st.integers(2, 4))
    def k_fold(self, name: str, made: Event, k: int) -> None:
        """k charges move the totals by k times the cost of one, through the file."""
        before = self.ledger.entries(name)[-1].totals
        granted = [self._charge(name, made, None) for _ in range(k)]
        if not all(isinstance(number, int) for number in granted):
            return
        cost = costs_for(made, self.terms[name].group)
        after = self.ledger.entries(name)[-1].totals
        for old, new in zip(before, after, strict=True):
            expected = [
                None if a is None or c is None else a + k * c
                for a, c in zip(old, cost, strict=True)
            ]
            assert list(new) == expected

    @rule(target=heads, number=consumes(reservations))
    def settle(self, number: int) -> Any:
        self.unsettled.remove(number)
        self.writes += 1
        return self.ledger.settle(number)

    @rule(target=heads)
    def keep_the_head(self) -> str:
        return self.ledger.head()

    @rule(head=heads)
    def verify(self, head: Any) -> None:
        self.ledger.verify(head)

    @rule(name=names, made=charged_events)
    def a_key_charges_once(self, name: str, made: Event) -> None:
        key = f"key {self.writes}"
        expected = self._admits(name, made, None)
        if not expected:
            return
        number = self.ledger.reserve(name, made, key=key)
        assert self.ledger.reserve(name, made, key=key) == number
        self.ledger.settle(number)
        with pytest.raises(LedgerError, match="made already"):
            self.ledger.reserve(name, made, key=key)
        self.model[name].append((made, None))
        self.writes += 2

    @invariant()
    def nothing_is_negative_and_nothing_is_lost(self) -> None:
        if not self.model:
            return
        for name, terms in self.terms.items():
            for part in (None, *(each.name for each in terms.parts)):
                left = self.ledger.remaining(name, part)
                assert left >= 0.0
            if isinstance(terms.cap, PureDP) and not terms.parts:
                spent = [units(event.pure()) for event, _ in self.model[name]]
                known = sum(each for each in spent if each is not None) * terms.group
                assert known == self.ledger.entries(name)[-1].totals[0][0]
                cap = int(Decimal(repr(terms.cap.epsilon)) * UNITS_PER_ONE)  # rounded down
                assert left == (cap - known) / UNITS_PER_ONE
        entries = self.ledger.entries()
        assert len(entries) == self.writes
        settled = {e.body["reservation"] for e in entries if e.kind == "settle"}
        reserved = {e.sequence for e in entries if e.kind == "reserve"}
        assert reserved - settled == self.unsettled

    def teardown(self) -> None:
        if not self.model:
            return
        self.ledger.verify()
        for name, terms in self.terms.items():  # replay equals state
            totals = terms.nothing()
            for entry, (made, part) in zip(
                [e for e in self.ledger.entries(name) if e.kind == "reserve"],
                self.model[name],
                strict=True,
            ):
                totals = terms.charged(totals, made, part)
                assert entry.totals == totals
            assert self.ledger.entries(name)[-1].totals == totals


def _within(limit: int, events: list[Event], column: int, terms: Terms) -> bool:
    costs = [costs_for(event, terms.group)[column] for event in events]
    return None not in costs and sum(cost for cost in costs if cost is not None) <= limit


def test_random_charges_on_sqlite() -> None:
    numbers = count()
    with tempfile.TemporaryDirectory() as folder:
        run_state_machine_as_test(
            lambda: Charges(f"sqlite:///{Path(folder) / str(next(numbers))}.db"),
            settings=settings(
                max_examples=10,
                stateful_step_count=20,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_random_charges_on_postgres(postgres_server: str) -> None:
    numbers = count()
    run_state_machine_as_test(
        lambda: Charges(postgres.fresh(postgres_server, f"random_{next(numbers)}")),
        settings=settings(
            max_examples=6,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
