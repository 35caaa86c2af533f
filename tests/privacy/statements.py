"""Guarantees of every kind that a statement can meet, made from declarations alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet.losses.margin import Logistic
from privet.mechanisms import MECHANISMS
from privet.privacy import Budget, Event
from privet.privacy.compose import together
from privet.privacy.guarantee import Guarantee, Receipt
from privet.statement import Facts, File, statement_facts
from reproduce.chaudhuri2008 import ChaudhuriMonteleoni2008

ASSUMED = ("the number of rows and columns", "each row's features, clipped to norm 1")


def event(budget: Budget, mechanism: str = "objective", **options: object) -> Event:
    """The event of a logistic regression on 1,000 rows of 5 columns."""
    return MECHANISMS[mechanism](Logistic(), budget, **options).event(1_000, 5)  # type: ignore[arg-type]


def guarantee(what: Event, **more: object) -> Guarantee:
    """A guarantee as a fit would make it."""
    return Guarantee(what, "idealized numerics: grid 2^-24", ASSUMED, **more)  # type: ignore[arg-type]


def composite(budget: Budget) -> Guarantee:
    parts = [event(part, name) for part, name in zip(budget.split((3, 1)), MECHANISMS, strict=True)]
    return guarantee(together(parts, budget, "fit with intervals"))


KINDS: dict[str, Callable[[], Guarantee]] = {
    "pure": lambda: guarantee(event(PureDP(0.5))),
    "zcdp": lambda: guarantee(event(ZCDP(0.2))),
    "approx": lambda: guarantee(event(ApproxDP(1.0, 1e-6), "output", noise="gaussian")),
    "large": lambda: guarantee(event(PureDP(900.0), "output")),
    "small": lambda: guarantee(event(PureDP(1e-6), "output")),
    "person": lambda: guarantee(
        event(PureDP(0.5)), unit="one person, with at most 3 rows by who", group=3
    ),
    "receipt": lambda: guarantee(event(PureDP(0.5)), receipt=Receipt("people", 3, "ab" * 32)),
    "composite": lambda: composite(PureDP(1.0)),
    "seeded": lambda: guarantee(event(PureDP(0.5), insecure_seed=1)),
    "unproved": lambda: guarantee(
        ChaudhuriMonteleoni2008(Logistic(), PureDP(0.1), regularization=1e-4).event(1_000, 5)
    ),
}
VOID = {"seeded", "unproved"}


def renamed(kind: str, **fields: str) -> Guarantee:
    """A guarantee with other words in it, as a file from a stranger may have."""
    return replace(KINDS[kind](), **fields)


FILE = File("m.privet", "cd" * 32)


def facts(kind: str, **more: Any) -> Facts:
    """The facts of a statement on this kind of guarantee."""
    return statement_facts(KINDS[kind](), model="LogisticRegression", file=FILE, **more)


def ledger_with_two(folder: Path) -> Ledger:
    """An account with a settled release and an orphan."""
    ledger = Ledger("sqlite:///" + str(folder / "b.db"))
    ledger.open("people", PureDP(2.0))
    ledger.settle(ledger.reserve("people", KINDS["pure"]().event))
    ledger.reserve("people", event(PureDP(0.1), "output"))
    return ledger
