"""What an account promises, and whether a charge fits: the arithmetic of the ledger.

An account has a cap, may have *parts* (disjoint ranges of row numbers, declared when it is opened)
and counts for persons with at most ``group`` rows.

**Parts.** Neighbors replace one row in place, and a row's number does not change, so the row lies
in the same part of both tables: a release from another part has the same law on both (parallel
composition, McSherry 2009). Each part therefore keeps its own vector of totals. A release from the
whole table is added to every vector, and a charge fits if afterwards each part is within the cap.
If parts were chosen by content, a replaced row could leave one part and enter another and would
pay for both: such parts cannot be declared here.

**Persons.** With ``group = k`` a charge costs what ``k`` replaced rows cost, in the calculi that
have a bound for it (see ``privet.privacy.budget``): ``k epsilon``, ``k^2 rho`` and, at Renyi order
``a``, the smaller of ``k^2 rho a`` and the curve of a ``k epsilon``-private release. An event with
neither an epsilon nor a rho has no bound and is refused. A person's rows may lie in different
parts, ``j`` of them in this one: each of these bounds is at most ``j/k`` of itself for ``j`` rows,
so what the person pays in one column is at most the average of the parts' totals, and all parts
together must fit *in the same column*. (Of basic composition: ``j epsilon``, and ``delta`` times
the sum of ``j`` growing terms ``1, e^epsilon, ...``.) For the curve ``log[cosh((a - 1/2)
t)/cosh(t/2)]/(a - 1)`` of pure releases: it starts at 0 and grows faster than in proportion, since
``t f' - f = g((a - 1/2) t) - g(t/2)`` over ``a - 1`` with ``g(x) = x tanh x - log cosh x``
increasing.

**Gaussian caps** count squared mus alone, ``k^2 mu^2`` for a person: a sum of squares within the
cap's is a filter (Smith and Thakurta 2022). A release without a mu is refused.

**(epsilon, delta) caps.** The first release decides between the Renyi filter and basic composition
(see ``privet.privacy.compose``): for a row, the first one from its part, since the answers of other
parts have the same law whatever the row is; for a person, the first one from any part.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from privet.errors import BudgetExceeded, DeclarationError, LedgerError
from privet.ledger.entry import Totals, checked_name
from privet.ledger.fits import NOTHING_MORE, Fits, charged_words, declarable, down, most, plain
from privet.privacy.budget import GDP, ZCDP, Budget, PureDP, budget_from_json
from privet.privacy.compose import (
    FILTER_ORDERS,
    NOTHING,
    NOTHING_BASIC,
    NOTHING_GAUSSIAN,
    Filter,
    Vector,
    add_costs,
    basic_costs,
    costs,
    from_units,
    gaussian_costs,
    units,
)
from privet.privacy.curves import LARGEST, Curve, GaussianCurve, PureCurve
from privet.privacy.event import Event

_WHY_LESS = (
    "an (epsilon, delta) cap must hold for releases that are each chosen after seeing the last, so "
    "it adds up their Renyi divergences and keeps part of epsilon for that; a cap in rho (ZCDP) "
    "keeps nothing."
)


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
        return (self.filter.nothing,) * max(len(self.parts), 1)

    def charged(self, totals: Totals, event: Event, part: str | None) -> Totals:
        """The totals after ``event`` on one part, or on the whole table."""
        touched = self.touched(part)
        if self.group > 1:
            return self._charged(totals, event, touched)
        return tuple(
            [
                self._charged((total,), event, (0,))[0] if i in touched else total
                for i, total in enumerate(totals)
            ]
        )

    def _charged(self, totals: Totals, event: Event, touched: Container[int]) -> Totals:
        """The totals under one filter, which the first charge of all chooses."""
        after = _added(totals, self.cost(event, totals[0]), touched)
        undecided = all(total == NOTHING for total in totals)
        if not undecided or self.filter.basic_limits() is None or self.room(after) >= 0:
            return after
        basic = _added((NOTHING_BASIC,) * len(totals), basic_costs(event, self.group), touched)
        return basic if self.room(basic) >= 0 else after

    def cost(self, event: Event, total: Vector) -> Vector:
        """What ``event`` adds to a vector of totals, under its filter."""
        if len(total) == len(NOTHING_GAUSSIAN):
            return gaussian_costs(event, self.group)
        if len(total) == len(NOTHING_BASIC):
            return basic_costs(event, self.group)
        return costs_for(event, self.group)

    def undecided(self, before: Totals, after: Totals) -> Totals:
        """``before``, with zeros of the filter that ``after`` shows where none was chosen yet."""
        first = self.group == 1 or all(total == NOTHING for total in before)
        return tuple(
            [
                NOTHING_BASIC
                if first and old == NOTHING and len(new) == len(NOTHING_BASIC)
                else old
                for old, new in zip(before, after, strict=True)
            ]
        )

    @cached_property
    def filter(self) -> Filter:
        """The cap as a filter."""
        return Filter(self.cap)

    def room(self, totals: Totals) -> int:
        """Units left; negative where the cap is broken.

        The best column: of each part by itself, or for persons the same one for all parts.
        """
        left = [self.filter.left(total) for total in totals]
        if self.group == 1:
            return min([max(columns) for columns in left])
        shared: list[int] = [min(column) for column in zip(*left, strict=True)]
        return max(shared)

    def remaining(self, totals: Totals, part: str | None = None) -> float:
        """What a row or a person has left, in the cap's own number; see ``Ledger.remaining``."""
        if self.cap.numbers.delta > 0.0:
            return self.group * self.fits(totals, part).pure
        return self._left(totals, part)

    def fits(self, totals: Totals, part: str | None = None) -> Fits:
        """The largest single releases from ``part`` or the whole that would be admitted now."""
        k, left = self.group, self._left(totals, part)

        def admitted(claim: Budget, curve: Curve) -> bool:
            return self.room(self.charged(totals, plain(claim, curve), part)) >= 0

        pure = most(lambda e: admitted(PureDP(e), PureCurve(e)), left / k)
        if self.cap.numbers.mu is not None:
            mu = most(lambda m: admitted(GDP(m), GaussianCurve(m * m / 2.0)), left / k)
            return Fits(pure, 0.0, mu=mu)
        rho = most(lambda r: admitted(ZCDP(r), GaussianCurve(r)), left / k**2)
        delta = self.cap.numbers.delta
        if delta == 0.0:
            return Fits(pure, rho)
        mine = [totals[i] for i in (range(len(totals)) if k > 1 else self.touched(part))]
        if all(total == NOTHING for total in mine):
            return Fits(pure, rho, declarable(self.cap.amount, delta, k))
        if all(len(total) == len(NOTHING_BASIC) for total in mine):
            spent = [max(each or 0 for each in column) for column in zip(*mine, strict=True)]
            return Fits(pure, rho, declarable(left, _less(delta, spent[1]), k))
        # a little less: whoever calibrates to this epsilon finds its root another way
        safe = rho * (1.0 - 1e-6)
        gaussian = declarable(GaussianCurve(safe).epsilon(delta), delta, 1) if rho else None
        return Fits(pure, rho, gaussian, gaussian=True)

    def _left(self, totals: Totals, part: str | None) -> float:
        """What the touched parts have left of the cap's own number; 0 where it is not counted."""
        column = 0 if self.cap.numbers.rho is None else 1
        number = self.cap.amount
        spent = [totals[i][column] for i in self.touched(part)]
        if self.cap.numbers.mu is not None:  # squares add up
            squares = [math.inf if each is None else from_units(each) for each in spent]
            return math.sqrt(max(number * number - max(squares), 0.0))
        return min([0.0 if each is None else _less(number, each) for each in spent])

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
            raise BudgetExceeded(
                f"A release of {charged_words(event.claim, self.group)} does not fit under the cap "
                f"of {self.cap}{each} for {where}: {self._why(totals, event, part)} A cap cannot "
                "be raised."
            )
        return after

    def _why(self, totals: Totals, event: Event, part: str | None) -> str:
        """What is left, and what that means where the release and the cap speak differently."""
        fits = self.fits(totals, part).told(self.group)
        ask = "" if fits == NOTHING_MORE else " Ask for less."
        if self.cap.numbers.delta > 0.0:
            basic = any(len(totals[i]) == len(NOTHING_BASIC) for i in self.touched(part))
            why = (
                "epsilons and deltas add up, as the first release decided." if basic else _WHY_LESS
            )
            return f"{why} What fits now is {fits}.{ask}"
        nothing = self.filter.nothing
        cost = self.cost(event, nothing)
        limits = self.filter.gaussian_limits() or self.filter.limits()
        left = down(self.remaining(totals, part))
        if all(c is None for c, limit in zip(cost, limits, strict=True) if limit):
            return (
                f"the cap counts in {next(iter(self.cap.facts()))} alone, and none is proved for "
                f"this release. {left} is left for those that have one: what fits now is {fits}."
            )
        return f"{left} is left. What fits now is {fits}.{ask}"

    def touched(self, part: str | None) -> range | tuple[int]:
        """Which vectors a release from ``part`` adds to: all, for one from the whole table."""
        if part is None:
            return range(max(len(self.parts), 1))
        names = [each.name for each in self.parts]
        if part not in names:
            known = f"its parts are {', '.join(names)}" if names else "it has no parts"
            raise LedgerError(f"The data set has no part {part!r}: {known}.")
        return (names.index(part),)

    def rows(self, part: str | None) -> float:
        """The most rows that a release from ``part`` can have been made from."""
        return next((p.stop - p.start for p in self.parts if p.name == part), math.inf)

    def _check_rows(self, event: Event, part: str | None) -> None:
        """A release from more rows than its part has was not made from that part."""
        if event.n > self.rows(part):
            where = next(each for each in self.parts if each.name == part)
            raise LedgerError(
                f"Part {part!r} has {self.rows(part)} rows, the release was made from {event.n}. "
                f"Take the rows {where.start} to {where.stop - 1}, or charge the whole data set."
            )


def _added(totals: Totals, cost: Vector, touched: Container[int]) -> Totals:
    return tuple(
        [add_costs(total, cost) if i in touched else total for i, total in enumerate(totals)]
    )


def _less(number: float, spent: int) -> float:
    """What is left of a number of the cap."""
    return from_units(max((units(number) or 0) - spent, 0))


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
        raise DeclarationError("cap must be PureDP, ZCDP, ApproxDP or GDP.")
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
