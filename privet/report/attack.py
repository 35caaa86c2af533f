"""What the guarantee leaves to an attacker who knows every other row.

Two tables differ in one record; he sees the release and must say which it was. ``detection``
bounds how often he finds the record at a given rate of false alarms; ``posterior`` how sure he can
be after the release, given how sure he was. Both follow from the guarantee, not from this table.

    pure, (eps, delta)   min(delta + e^eps a, 1 - (1 - delta - a)/e^eps)
    zCDP                 the least of these over (eps, delta) pairs that rho implies

The first line is Kairouz, Oh and Viswanath 2015, the conversion Canonne, Kamath and Steinke 2020.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privet.planning.odds import attacker_accuracy
from privet.privacy import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.curves import GaussianCurve, renyi_epsilon

Array = NDArray[np.float64]
#: "except with this probability" where a budget has no delta of its own
RARE = 1e-6
_DELTAS = np.geomspace(1e-9, 0.7, 48)


def pairs(budget: Budget) -> list[tuple[float, float]]:
    """(epsilon, delta) pairs that a release with this guarantee satisfies."""
    if isinstance(budget, PureDP):
        return [(budget.epsilon, 0.0)]
    if isinstance(budget, ApproxDP):
        return [(budget.epsilon, budget.delta)]
    variation = 2.0 * attacker_accuracy(budget) - 1.0  # delta at epsilon = 0
    found = [(_converted(budget, float(delta)), float(delta)) for delta in _DELTAS]
    return [*found, (0.0, variation)]


def _converted(budget: Budget, delta: float) -> float:
    assert isinstance(budget, ZCDP)  # the third and last kind
    return max(renyi_epsilon([GaussianCurve(budget.rho)], delta), 0.0)


def detection(budget: Budget, false_alarms: Array) -> Array:
    """The largest share of hits at each share of false alarms."""
    best = np.ones_like(false_alarms)
    for epsilon, delta in pairs(budget):
        up, down = math.exp(min(epsilon, 700.0)), math.exp(-epsilon)
        best = np.minimum(best, delta + up * false_alarms)
        best = np.minimum(best, 1.0 - (1.0 - delta - false_alarms) * down)
    return np.clip(best, 0.0, 1.0)


def odds_epsilon(budget: Budget) -> tuple[float, float]:
    """(epsilon, delta): odds change by at most ``e^epsilon``, except with probability delta."""
    if isinstance(budget, ZCDP):
        return _converted(budget, RARE), RARE
    return pairs(budget)[0]


def posterior(epsilon: float, priors: Array) -> Array:
    """The largest belief after the release for each belief before."""
    return priors / (priors + (1.0 - priors) * math.exp(-epsilon))
