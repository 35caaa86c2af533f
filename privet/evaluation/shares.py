"""One budget over several tables: shares that make the predicted noise smallest.

The noise variance of a table with share ``s`` is proportional to ``1/s^2`` under pure privacy and
to ``1/s`` under zCDP, and to ``t^2`` or ``t`` where a row is in ``t`` cells. The shares minimise
the sum of ``weight x variance``:

    pure    s ~ (weight t^2)^(1/3)          zCDP    s ~ (weight t)^(1/2)

An (eps, delta) budget is spent as whichever of the two gives the smaller sum: eps alone with
Laplace noise, or the largest rho that converts to it with Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Sequence

from privet.evaluation.tables import Table
from privet.mechanisms.counts import Histogram
from privet.privacy import Event
from privet.privacy.budget import ApproxDP, Budget, PureDP
from privet.privacy.compose import together

NAME = "evaluation"


def shares(budget: Budget, tables: Sequence[Table]) -> list[float]:
    """The share of each table, adding up to one."""
    pure = isinstance(budget, PureDP)
    power = 1.0 / 3.0 if pure else 0.5
    raw = [(table.weight * table.touched ** (2 if pure else 1)) ** power for table in tables]
    return [value / sum(raw) for value in raw]


def histograms(
    budget: Budget, tables: Sequence[Table], insecure_seed: int | None = None
) -> tuple[Histogram, ...]:
    """A mechanism for each table, together within ``budget``."""
    ways: list[Budget] = [budget]
    if isinstance(budget, ApproxDP):
        ways.append(PureDP(budget.epsilon))
    found = []
    for way in ways:
        parts = way.split(shares(way, tables))
        found.append(
            tuple(
                Histogram(table.cells, part, table.touched, insecure_seed).with_seed(place)
                for place, (table, part) in enumerate(zip(tables, parts, strict=True))
            )
        )
    return min(found, key=lambda each: _predicted(each, tables))


def _predicted(mechanisms: Sequence[Histogram], tables: Sequence[Table]) -> float:
    pairs = zip(mechanisms, tables, strict=True)
    return sum(table.weight * mechanism.variance for mechanism, table in pairs)


def event(mechanisms: Sequence[Histogram], budget: Budget, n: int) -> Event:
    """What the tables cost together: one event, charged once."""
    return together([mechanism.event(n) for mechanism in mechanisms], budget, NAME)
