"""Events to budgets: what a list of releases costs together, and whether one more fits.

Reporting a fixed list may use every numerical trick. A *cap* may not: the next release can be
chosen after looking at the last, so caps are filters in calculi that allow it (Rogers, Roth, Ullman
and Vadhan 2016; Feldman and Zrnic 2021): sums of epsilon, sums of rho, sums of Renyi divergence at
fixed public orders, sums of epsilon and of delta, sums of squared mus (Smith and Thakurta 2022).

**Amounts** are what was typed: the shortest decimal that rounds to the float. It is within half a
unit in the last place of the float and grows with it (the decimals that round to two floats do not
mix). Amounts are kept in units of 1e-30, in which every budget that can be declared is a whole
number; only what is computed is rounded, up. Sums are exact. A sum may exceed its cap by a 2^-50th
of it: cap/k is not a float in general, and k releases of the nearest one must fit. So ten times 0.1
is 1, three times 1/3 fit under 1, and the floats that are admitted under a cap ``c`` add up to less
than ``c (1 + 2^-49)``, however many they are.

**Why several columns may share a cap.** Take filters ``c = 1, ..., m`` that were fixed in advance:
``M_c``, which refuses what would take column ``c`` above its limit, is ``(e, d_c)``-private against
releases that are each chosen after seeing the last. The account admits a release where *some*
column stays within. Of any transcript of the account some column ``c`` is within its limit at the
end (that which admitted the last release), hence at every earlier step; let ``S_c`` be those of the
transcripts in a set ``S`` for which ``c`` is the first such column. On ``S_c`` the account and
``M_c`` do the same, so ``P(S_c) <= e^e Q(S_c) + d_c``, and the sum over ``c`` is ``P(S) <= e^e Q(S)
+ (d_1 + ... + d_m)``. So the columns' deltas must add up to the cap's. Pure losses need none, and
the ten Renyi orders get a tenth each.

**Basic composition.** Sums of epsilon and of delta are a filter, too: if whatever follows an answer
``a`` of a first ``(e1, d1)``-private release is ``(e - e1, d - d1)``-private, then with ``f(a) =
min(1, exp(e - e1) Q_a(S))`` in [0, 1], ``P(S) <= E_P[f] + d - d1 <= exp(e1) E_Q[f] + d <= exp(e)
Q(S) + d``; backwards from the last release. To admit one release of the cap's own size it needs all
of delta and leaves none for the columns above. But which of two filters an account uses may depend
on anything that is settled before the first answer. So the *first* release decides: where it fits
in one of the columns above they are the account's filter, else the sums are, for good.

**Several releases under one budget** (a fit with intervals, an evaluation, a search) are one event:
``Budget.split`` shares the budget out before anything is read, ``together`` claims it once, and the
ledger is charged once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.errors import DeclarationError
from privet.privacy.budget import Budget, growth
from privet.privacy.curves import Curve, profile_epsilon, renyi_epsilon, tight_epsilon
from privet.privacy.event import Event
from privet.privacy.kinds import CompositeEvent, curves_of

UNITS_PER_ONE = 10**30

#: Public orders of the filter for (epsilon, delta) caps. Each takes its share of delta, so few.
FILTER_ORDERS: tuple[float, ...] = (1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0, 129.0, 257.0)

#: Amounts in units, one for each column; None where a calculus has no bound.
Vector = tuple[int | None, ...]


def units(amount: float) -> int | None:
    """``amount`` as it was typed, in units, rounded up; None for an infinite amount."""
    if math.isinf(amount):
        return None
    return math.ceil(Fraction(repr(float(amount))) * UNITS_PER_ONE)


def from_units(amount: int) -> float:
    """The nearest float: for an amount that was typed, that amount."""
    return float(Fraction(amount, UNITS_PER_ONE))


def _limit(amount: float | None) -> int | None:
    """The most that a sum may reach under a cap that was typed; None where there is none."""
    if amount is None:
        return None
    typed = math.floor(Fraction(repr(float(amount))) * UNITS_PER_ONE)
    return typed + (typed >> 50)


def _renyi_limit(epsilon: float, delta: float, order: float) -> int:
    """``epsilon + log(delta)/(order - 1)``, below what rounding may have added."""
    kept = math.log(delta) / (order - 1.0)
    return math.floor(Fraction(epsilon + kept - 1e-15 * (epsilon - kept)) * UNITS_PER_ONE)


@dataclass(frozen=True)
class Composition:
    """A fixed list of events, read in each calculus."""

    events: tuple[Event, ...]

    def pure(self) -> float:
        """Sum of the pure losses; infinite if one has none."""
        return math.fsum(event.pure() for event in self.events)

    def zcdp(self) -> float:
        """Sum of the rhos."""
        return math.fsum(event.zcdp() for event in self.events)

    def gdp(self) -> float:
        """The mus, which add up in squares."""
        return math.hypot(*(event.gdp() for event in self.events))

    def renyi(self, order: float) -> float:
        """Sum of the Renyi bounds at one order."""
        return math.fsum(event.renyi(order) for event in self.events)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at ``delta``: sums, converted Renyi curves or numerical composition."""
        if len(self.events) == 1:
            return self.events[0].epsilon(delta)
        curves: list[Curve] = [curve for event in self.events for curve in event.curves]
        sums = min(self.pure(), self._one_and_pure(delta))
        if math.isfinite(mu := self.gdp()):
            sums = min(sums, profile_epsilon(mu, delta))
        return min(sums, renyi_epsilon(curves, delta), tight_epsilon(curves, delta))

    def _one_and_pure(self, delta: float) -> float:
        """One event at ``delta``, the pure losses of all others added: basic composition."""
        rest = [event for event in self.events if math.isinf(event.pure())]
        if len(rest) != 1:
            return math.inf
        pure = math.fsum(event.pure() for event in self.events if event is not rest[0])
        return rest[0].epsilon(delta) + pure


def together(parts: Sequence[Event], claim: Budget, mechanism: str, main: int = 0) -> Event:
    """The event of several releases made under one ``claim``, which they must not exceed.

    ``main`` is the part whose noise, size and regularization the whole is described by.
    """
    if len(parts) == 1 and parts[0].claim == claim:
        return parts[0]
    if not claim.keeps(Composition(tuple(parts))):
        raise DeclarationError(f"The parts of a release cost more than the claimed {claim}.")
    reasons = dict.fromkeys(part.why_not_private for part in parts if not part.private)
    first = parts[main]
    return CompositeEvent(
        mechanism=mechanism,
        claim=claim,
        curves=curves_of(parts),
        noise=" and ".join(dict.fromkeys(part.noise for part in parts)),
        scale=first.scale,
        sensitivity=first.sensitivity,
        n=first.n,
        theorem="; ".join(dict.fromkeys(part.theorem for part in parts)),
        why_not_private="; ".join(reasons),
        releases=tuple(parts),
        main=main,
    )


def costs(event: Event) -> Vector:
    """The event in every calculus, in units: pure, zCDP, then Renyi at the filter's orders."""
    return (
        units(event.pure()),
        units(event.zcdp()),
        *(units(event.renyi(order)) for order in FILTER_ORDERS),
    )


def basic_costs(event: Event, group: int = 1) -> Vector:
    """Epsilon and delta for ``group`` rows at once; (None, None) where none was claimed."""
    if (delta := event.claim.numbers.delta) > 0.0:
        epsilon = event.epsilon(delta)
        many = units(delta if group == 1 else delta * growth(epsilon, group))
        one = units(epsilon)
        return (None, None) if one is None or many is None else (group * one, many)
    pure = units(event.pure())
    return (None, None) if pure is None else (group * pure, 0)


def gaussian_costs(event: Event, group: int = 1) -> Vector:
    """The square of mu for ``group`` rows at once; (None,) where there is none."""
    square = _square(event.gdp())
    return (None if square is None else group * group * math.ceil(square),)


def _square(mu: float) -> Fraction | None:
    """In units, exactly."""
    return None if math.isinf(mu) else Fraction(repr(float(mu))) ** 2 * UNITS_PER_ONE


def add_costs(totals: Sequence[int | None], more: Sequence[int | None]) -> Vector:
    """Column by column; a calculus that cannot express one event cannot express the sum."""
    return tuple(
        None if a is None or b is None else a + b for a, b in zip(totals, more, strict=True)
    )


NOTHING: Vector = (0,) * (2 + len(FILTER_ORDERS))
NOTHING_BASIC: Vector = (0, 0)
NOTHING_GAUSSIAN: Vector = (0,)


@dataclass(frozen=True)
class Filter:
    """A cap that stays valid when every release is chosen after seeing the earlier ones."""

    cap: Budget

    def limits(self) -> Vector:
        """The most that each column of ``costs`` may reach; None where it does not count."""
        epsilon, rho, delta, _ = self.cap.numbers
        orders: Vector = (None,) * len(FILTER_ORDERS)
        if epsilon is not None and delta > 0.0:
            # One order's filter is (epsilon, delta/|orders|); which order is binding may depend on
            # the answers, so the deltas add up (union bound).
            each = delta / len(FILTER_ORDERS)
            orders = tuple(_renyi_limit(epsilon, each, order) for order in FILTER_ORDERS)
        # Where the sum of pure losses stays within epsilon, the loss does so surely: no delta.
        return (_limit(epsilon), _limit(rho), *orders)

    def basic_limits(self) -> Vector | None:
        """The most that the sums of epsilon and delta may reach; None for a cap without delta."""
        epsilon, _, delta, _ = self.cap.numbers
        return (_limit(epsilon), _limit(delta)) if delta > 0.0 else None

    def gaussian_limits(self) -> Vector | None:
        """The most that the sum of squared mus may reach; None for another cap."""
        mu = self.cap.numbers.mu
        square = None if mu is None else _square(mu)
        return None if square is None else (math.floor(square) + (math.floor(square) >> 50),)

    @property
    def nothing(self) -> Vector:
        """The totals of an account that was never charged."""
        return NOTHING if self.cap.numbers.mu is None else NOTHING_GAUSSIAN

    def left(self, totals: Vector) -> list[int]:
        """Units left in each column that counts, negative where it is broken.

        Basic composition is one column: the smaller of what is left of epsilon and of delta.
        """
        basic = len(totals) == len(NOTHING_BASIC)
        if len(totals) == len(NOTHING_GAUSSIAN):
            limits = self.gaussian_limits()
        else:
            limits = self.basic_limits() if basic else self.limits()
        if limits is None:
            return [-1]
        found = [
            -1 if total is None else limit - total
            for limit, total in zip(limits, totals, strict=True)
            if limit is not None
        ]
        return [min(found)] if basic else found

    def room(self, totals: Vector) -> int:
        """Units left in the best column: the cap is kept while this is not negative."""
        return max(self.left(totals))
