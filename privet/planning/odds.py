"""What a budget means for an attacker who must tell which of two records was in the table.

He knows every other row and starts from even odds. By how much the release can help him:

    pure eps        right with probability at most e^eps/(1 + e^eps)
    (eps, delta)    at most (e^eps + delta)/(1 + e^eps)       (Kairouz, Oh and Viswanath 2015)
    rho-zCDP        at most (1 + TV)/2, TV <= min(sqrt(rho/2), sqrt(1 - e^-rho))

The last by Pinsker's and by Bretagnolle and Huber's inequality: the Kullback-Leibler divergence is
at most rho.
"""

from __future__ import annotations

import math

from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP


def attacker_accuracy(budget: Budget) -> float:
    """The largest probability of a right guess from even odds."""
    if isinstance(budget, ZCDP):
        pinsker, other = math.sqrt(budget.rho / 2.0), math.sqrt(-math.expm1(-budget.rho))
        return (1.0 + min(pinsker, other)) / 2.0
    if isinstance(budget, PureDP | ApproxDP):
        delta = budget.delta if isinstance(budget, ApproxDP) else 0.0
        odds = math.exp(-budget.epsilon)
        return (1.0 + delta * odds) / (1.0 + odds)
    return 1.0


def odds_factor(budget: Budget) -> float | None:
    """``e^eps``: by what factor the odds can change; zCDP has no such factor."""
    if isinstance(budget, PureDP | ApproxDP):
        return math.exp(min(budget.epsilon, 700.0))
    return None
