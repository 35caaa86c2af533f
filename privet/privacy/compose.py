"""Events to budgets: what a list of releases costs together, and whether one more fits.

Reporting a fixed list may use every numerical trick. A *cap* may not: the next release can be
chosen after looking at the last, so caps are filters in calculi that allow it (Rogers, Roth, Ullman
and Vadhan 2016; Feldman and Zrnic 2021): sums of epsilon, sums of rho, sums of Renyi divergence at
fixed public orders. Amounts are integers in billionths, rounded up, so that ten times 0.1 is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.curves import Curve, renyi_epsilon, tight_epsilon
from privet.privacy.event import Event

UNITS_PER_ONE = 10**9

#: Public orders of the filter for (epsilon, delta) caps. Each takes its share of delta, so few.
FILTER_ORDERS: tuple[float, ...] = (1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0, 129.0, 257.0)


def units(amount: float) -> int | None:
    """``amount`` in billionths, rounded up; None for an infinite amount."""
    if math.isinf(amount):
        return None
    scaled = Decimal(repr(float(amount))) * UNITS_PER_ONE
    return int(scaled.to_integral_value(rounding=ROUND_CEILING))


def _cap_units(amount: float) -> int:
    scaled = Decimal(repr(float(amount))) * UNITS_PER_ONE
    return int(scaled.to_integral_value(rounding=ROUND_FLOOR))


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

    def renyi(self, order: float) -> float:
        """Sum of the Renyi bounds at one order."""
        return math.fsum(event.renyi(order) for event in self.events)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at ``delta``: sums, converted Renyi curves or numerical composition."""
        if len(self.events) == 1:
            return self.events[0].epsilon(delta)
        curves: list[Curve] = [curve for event in self.events for curve in event.curves]
        sums = min(self.pure(), self._one_and_pure(delta))
        return min(sums, renyi_epsilon(curves, delta), tight_epsilon(curves, delta))

    def _one_and_pure(self, delta: float) -> float:
        """One event at ``delta``, the pure losses of all others added: basic composition."""
        rest = [event for event in self.events if math.isinf(event.pure())]
        if len(rest) != 1:
            return math.inf
        pure = math.fsum(event.pure() for event in self.events if event is not rest[0])
        return rest[0].epsilon(delta) + pure


def costs(event: Event) -> tuple[int | None, ...]:
    """The event in every calculus, in units: pure, zCDP, then Renyi at the filter's orders."""
    return (
        units(event.pure()),
        units(event.zcdp()),
        *(units(event.renyi(order)) for order in FILTER_ORDERS),
    )


def add_costs(totals: Sequence[int | None], more: Sequence[int | None]) -> tuple[int | None, ...]:
    """Column by column; a calculus that cannot express one event cannot express the sum."""
    return tuple(
        None if a is None or b is None else a + b for a, b in zip(totals, more, strict=True)
    )


NOTHING: tuple[int | None, ...] = (0,) * (2 + len(FILTER_ORDERS))


@dataclass(frozen=True)
class Filter:
    """A cap that stays valid when every release is chosen after seeing the earlier ones."""

    cap: Budget

    def limits(self) -> tuple[int | None, ...]:
        """The most that each column of ``costs`` may reach; None where it does not count."""
        blank: tuple[int | None, ...] = (None,) * len(FILTER_ORDERS)
        if isinstance(self.cap, PureDP):
            return (_cap_units(self.cap.epsilon), None, *blank)
        if isinstance(self.cap, ZCDP):
            return (None, _cap_units(self.cap.rho), *blank)
        if not isinstance(self.cap, ApproxDP):
            raise TypeError(f"No filter is defined for {type(self.cap).__name__}.")
        # One order's filter is (epsilon, delta/|orders|); which order is binding may depend on the
        # answers, so the deltas add up (union bound).
        delta = self.cap.delta / len(FILTER_ORDERS)
        # Where the sum of pure losses stays within epsilon, the loss does so surely: no delta.
        return (
            _cap_units(self.cap.epsilon),
            None,
            *(
                _cap_units(self.cap.epsilon + math.log(delta) / (order - 1.0))
                for order in FILTER_ORDERS
            ),
        )

    def room(self, totals: Sequence[int | None]) -> int:
        """Units left in the best column: the cap is kept while this is not negative."""
        pairs = zip(self.limits(), totals, strict=True)
        left = [limit - total for limit, total in pairs if limit is not None and total is not None]
        return max(left, default=-1)

    def admits(self, spent: Sequence[Event], event: Event) -> bool:
        """Whether ``event`` fits after ``spent``: in at least one column the sum stays within."""
        totals = NOTHING
        for each in (*spent, event):
            totals = add_costs(totals, costs(each))
        return self.room(totals) >= 0
