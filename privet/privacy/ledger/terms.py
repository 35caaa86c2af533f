"""What an account promises, and whether a charge fits: the arithmetic of the ledger.

An account has a cap, may have *parts* (disjoint ranges of row numbers, declared when it is opened)
and counts for persons with at most ``group`` rows.

**Parts.** Neighbours replace one row in place, and a row's number does not change, so the row lies
in the same part of both tables: a release from another part has the same law on both (parallel
composition, McSherry 2009). Each part therefore keeps its own vector of totals. A release from the
whole table is added to every vector, and a charge fits if afterwards each part is within the cap.
If parts were chosen by content, a replaced row could leave one part and enter another and would
pay for both: such parts cannot be declared here.

**Persons.** With ``group = k`` a charge costs what ``k`` replaced rows cost, in the calculi that
have a bound for it (see ``privet.privacy.group``): ``k epsilon``, ``k^2 rho`` and, at Renyi order
``a``, the smaller of ``k^2 rho a`` and the curve of a ``k epsilon``-private release. An event with
neither an epsilon nor a rho has no bound and is refused. A person's rows may lie in different
parts, ``j`` of them in this one: each of these bounds is at most ``j/k`` of itself for ``j`` rows,
so what the person pays in one column is at most the average of the parts' totals, and all parts
together must fit *in the same column*. For the curve ``log[cosh((a - 1/2) t)/cosh(t/2)]/(a - 1)``
of pure releases: it starts at 0 and grows faster than in proportion, since ``t f' - f = g((a - 1/2)
t) - g(t/2)`` over ``a - 1`` with ``g(x) = x tanh x - log cosh x`` increasing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.privacy.budget import SMALLEST, ApproxDP, Budget, budget_from_json
from privet.privacy.compose import (
    FILTER_ORDERS,
    NOTHING,
    UNITS_PER_ONE,
    Filter,
    add_costs,
    costs,
    units,
)
from privet.privacy.curves import LARGEST, GaussianCurve, PureCurve
from privet.privacy.event import Event
from privet.privacy.ledger.entry import Totals, Vector, checked_name

_WHY_LESS = (
    "an (epsilon, delta) cap must hold for releases that are each chosen after seeing the last, so "
    "it adds up their Renyi divergences and keeps part of epsilon for that; a cap in rho (ZCDP) "
    "keeps nothing."
)
#: Numbers in messages are rounded down: what is named does fit.
_DOWN = Context(prec=3, rounding=ROUND_FLOOR)


class Part(NamedTuple):
    """The rows with numbers from ``start`` up to, not including, ``stop``."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Terms:
    """A cap, for persons with at most ``group`` rows, over disjoint ``parts`` if there are any."""

    cap: Budget
    parts: tuple[Part, ...] = ()
    group: int = 1

    def to_json(self) -> dict[str, Any]:
        """The body of an ``open`` entry: the cap alone where nothing else was declared."""
        if not self.parts and self.group == 1:
            return self.cap.to_json()
        parts = {part.name: [part.start, part.stop] for part in self.parts}
        return {"cap": self.cap.to_json(), "parts": parts, "group": self.group}

    def nothing(self) -> Totals:
        """The totals of an account that was never charged."""
        return (NOTHING,) * max(len(self.parts), 1)

    def charged(self, totals: Totals, event: Event, part: str | None) -> Totals:
        """The totals after ``event`` on one part, or on the whole table."""
        cost = costs_for(event, self.group)
        touched = self.touched(part)
        return tuple(
            [add_costs(total, cost) if i in touched else total for i, total in enumerate(totals)]
        )

    @cached_property
    def limits(self) -> Vector:
        """The most that each column may reach; None where it does not count."""
        return Filter(self.cap).limits()

    @cached_property
    def _counted(self) -> tuple[tuple[int, int], ...]:
        """The columns that count, with their limits."""
        return tuple((i, limit) for i, limit in enumerate(self.limits) if limit is not None)

    def _left(self, total: Vector) -> list[int]:
        """Units left in each column that counts; negative where the total has no bound in it."""
        return [-1 if (spent := total[i]) is None else limit - spent for i, limit in self._counted]

    def room(self, totals: Totals, part: str | None = None) -> int:
        """Units left for a release from ``part`` or the whole; negative where the cap is broken."""
        return self._room([self._left(total) for total in totals], part)

    def _room(self, left: list[list[int]], part: str | None) -> int:
        """The best column: of each part by itself, or for persons the same one for all parts."""
        touched = self.touched(part)
        if self.group == 1:
            return min([max(left[i]) for i in touched])
        shared = [
            min(column[i] for i in touched)
            for column in zip(*left, strict=True)
            if all(amount >= 0 for i, amount in enumerate(column) if i not in touched)
        ]
        return max(shared, default=-1)

    def largest(self, totals: Totals, part: str | None = None) -> tuple[float, float]:
        """A pure epsilon and a rho up to which one release still fits, whatever it is.

        For ``k`` rows of a person they cost ``k epsilon``, ``k^2 rho`` and, at Renyi order ``a``,
        at most ``k^2 rho a``; a pure release also has ``rho = epsilon^2/2``.
        """
        k, none = self.group, [math.inf] * len(FILTER_ORDERS)
        pure = self._most(totals, part, [k, math.inf, *none])
        rho = self._most(totals, part, [math.inf, *(k * k * a for a in (1.0, *FILTER_ORDERS))])
        return max(pure, math.sqrt(2.0 * rho)), rho

    def _most(self, totals: Totals, part: str | None, prices: list[float]) -> float:
        """The largest amount that fits, at a price in each column."""
        counted = [prices[i] for i, _ in self._counted]
        left = [
            [int(units // price) for units, price in zip(self._left(total), counted, strict=True)]
            for total in totals
        ]
        return max(self._room(left, part), 0) / UNITS_PER_ONE

    def admit(self, dataset: str, totals: Totals, event: Event, part: str | None) -> Totals:
        """The totals after ``event``; raises where it is not private or does not fit."""
        if not event.private:
            raise LedgerError(
                f"The release is not private ({event.why_not_private}), so no account can bound "
                "what it costs. Fit it without a ledger, or make it private."
            )
        self._check_rows(event, part)
        after = self.charged(totals, event, part)
        if self.room(after) < 0:
            where = f"{dataset!r}" if part is None else f"part {part!r} of {dataset!r}"
            each = "" if self.group == 1 else f" for a person with {self.group} rows"
            a_row = "" if self.group == 1 else " for each row"
            raise BudgetExceeded(
                f"A release of {event.claim}{a_row} does not fit under the cap of {self.cap}{each} "
                f"for {where}: {self._why(totals, event, part)} Ask for less; a cap cannot be "
                "raised."
            )
        return after

    def _why(self, totals: Totals, event: Event, part: str | None) -> str:
        """What is left, and what that means where the release and the cap speak differently."""
        if isinstance(self.cap, ApproxDP):
            fits = _what_fits(*self.largest(totals, part), self.cap.delta)
            return f"{_WHY_LESS} What fits now is {fits}."
        left = max(self.room(totals, part), 0) / UNITS_PER_ONE
        cost = costs_for(event, self.group)
        if all(c is None for c, limit in zip(cost, self.limits, strict=True) if limit is not None):
            return (
                f"the cap counts in {next(iter(self.cap.facts()))} alone, and none is proved for "
                f"this release. {left:g} is left for those that have one."
            )
        return f"{left:g} is left."

    def touched(self, part: str | None) -> range | tuple[int]:
        """Which vectors a release from ``part`` adds to: all, for one from the whole table."""
        if part is None:
            return range(max(len(self.parts), 1))
        names = [each.name for each in self.parts]
        if part not in names:
            known = f"its parts are {', '.join(names)}" if names else "it has no parts"
            raise LedgerError(f"The data set has no part {part!r}: {known}.")
        return (names.index(part),)

    def _check_rows(self, event: Event, part: str | None) -> None:
        """A release from more rows than its part has was not made from that part."""
        for each in self.parts:
            if each.name == part and event.n > each.stop - each.start:
                raise LedgerError(
                    f"Part {part!r} has {each.stop - each.start} rows, the release was made from "
                    f"{event.n}. Take the rows {each.start} to {each.stop - 1}, or charge the "
                    "whole data set."
                )


def _what_fits(epsilon: float, rho: float, delta: float) -> str:
    """The largest single releases, in the numbers of a claim."""
    epsilon, rho = (float(_DOWN.create_decimal_from_float(x)) for x in (epsilon, rho))
    if max(epsilon, rho) < SMALLEST:
        return "nothing more"
    found = f"a pure release of epsilon = {epsilon:g}"
    if rho < SMALLEST:
        return found
    gaussian = _DOWN.create_decimal_from_float(GaussianCurve(rho).epsilon(delta))
    return (
        f"{found}, or one of rho = {rho:g} (epsilon = {float(gaussian):g} for Gaussian noise on "
        "the result; noise in the objective takes more)"
    )


@lru_cache(maxsize=256)
def costs_for(event: Event, group: int) -> Vector:
    """The columns of ``costs``, for ``group`` rows of one person at once."""
    if group == 1:
        return costs(event)
    epsilon, rho = event.pure(), event.zcdp()
    pure, zcdp = units(epsilon), units(rho)
    if pure is None and zcdp is None:
        raise LedgerError(
            f"No theorem bounds what a release of {event.claim} costs {group} rows of one person "
            "at once. Spend a pure or a zero-concentrated budget on this data set."
        )
    curve = PureCurve(group * epsilon) if 0.0 < group * epsilon <= LARGEST else None
    return (
        None if pure is None else group * pure,
        None if zcdp is None else group * group * zcdp,
        *(
            units(
                min(
                    group * group * rho * order,
                    group * epsilon if curve is None else curve.renyi(order),
                )
            )
            for order in FILTER_ORDERS
        ),
    )


def declared_terms(cap: Any, parts: Any, group: Any) -> Terms:
    """What a user declares, checked."""
    if not isinstance(cap, Budget):
        raise DeclarationError("cap must be PureDP, ZCDP or ApproxDP.")
    Filter(cap).limits()
    if isinstance(group, bool) or not isinstance(group, int) or group < 1:
        raise DeclarationError(
            f"group must be the largest number of rows of one person, got {group!r}."
        )
    return Terms(cap, () if parts is None else _declared_parts(parts), group)


def _declared_parts(parts: Any) -> tuple[Part, ...]:
    if not isinstance(parts, Mapping) or len(parts) < 2:
        raise DeclarationError(
            "parts must give two or more names their row numbers, for example "
            '{"a": (0, 5000), "b": (5000, 10000)}.'
        )
    found = [_declared_part(name, rows) for name, rows in parts.items()]
    for before, after in pairwise(sorted(found, key=lambda part: part.start)):
        if after.start < before.stop:
            raise DeclarationError(
                f"The parts {before.name!r} and {after.name!r} share rows; a row must be in one."
            )
    return tuple(sorted(found))  # by name: the order of the totals, whatever JSON does


def _declared_part(name: Any, rows: Any) -> Part:
    checked_name("A part's name", name)
    numbers = rows if isinstance(rows, list | tuple) else ()
    if len(numbers) != 2 or {type(number) for number in numbers} != {int}:
        raise DeclarationError(f"Part {name!r} must be a pair of row numbers (start, stop).")
    start, stop = numbers
    if not 0 <= start < stop:
        raise DeclarationError(f"Part {name!r} must start at 0 or later and before it stops.")
    return Part(name, start, stop)


def terms_from_json(body: dict[str, Any]) -> Terms:
    """The inverse of ``Terms.to_json``."""
    if "cap" not in body:
        return Terms(budget_from_json(body))
    if sorted(body) != ["cap", "group", "parts"]:
        raise DeclarationError("The terms of an account are a cap, parts and a group size.")
    return declared_terms(budget_from_json(body["cap"]), body["parts"] or None, body["group"])
