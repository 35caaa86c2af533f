"""What a guarantee leaves to an attacker who knows every other row.

Two tables differ in one record; the attacker sees the release and must say which it was.

    attacker_accuracy   how often they are right at most, from even odds
    detection           how often they find the record at most, at a given rate of false alarms
    sure_odds           by how much the odds can change, and in which share of releases by more
    posterior           how sure they can be after the release, given how sure they were

All follow from the budget, not from a table. Hits and false alarms:

    pure, (eps, delta)   min(delta + e^eps a, 1 - (1 - delta - a)/e^eps)
    zCDP                 the least of these over (eps, delta) pairs that rho implies

The first line is Kairouz, Oh and Viswanath 2015, the conversion Canonne, Kamath and Steinke 2020.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from privet._types import Array
from privet.privacy.budget import Budget

#: "except with this probability" where a budget has no delta of its own
RARE = 1e-6
#: an (eps, delta) guarantee bounds the odds but for this many times delta
TIMES = 10.0
_DELTAS = np.geomspace(1e-9, 0.7, 48)


def attacker_accuracy(budget: Budget) -> float:
    """The largest probability of a right guess from even odds.

        pure eps        e^eps/(1 + e^eps)
        (eps, delta)    (e^eps + delta)/(1 + e^eps)       (Kairouz, Oh and Viswanath 2015)
        rho-zCDP        (1 + TV)/2, TV <= min(sqrt(rho/2), sqrt(1 - e^-rho))
        mu-Gaussian     Phi(mu/2)

    That of zCDP by Pinsker's and by Bretagnolle and Huber's inequality: the Kullback-Leibler
    divergence is at most rho.
    """
    epsilon, rho, delta, mu = budget.numbers
    if epsilon is not None:
        odds = math.exp(-epsilon)
        return (1.0 + delta * odds) / (1.0 + odds)
    if rho is not None:
        pinsker, other = math.sqrt(rho / 2.0), math.sqrt(-math.expm1(-rho))
        return (1.0 + min(pinsker, other)) / 2.0
    return 1.0 if mu is None else float(ndtr(mu / 2.0))


def odds_factor(budget: Budget) -> float | None:
    """``e^eps``: by what factor the odds can change; zCDP has no such factor."""
    epsilon = budget.numbers.epsilon
    return None if epsilon is None else exp(epsilon)


def pairs(budget: Budget) -> list[tuple[float, float]]:
    """(epsilon, delta) pairs that a release with this guarantee satisfies."""
    epsilon, _, delta, _ = budget.numbers
    if epsilon is not None:
        return [(epsilon, delta)]
    variation = 2.0 * attacker_accuracy(budget) - 1.0  # delta at epsilon = 0
    found = [(converted(budget, float(each)), float(each)) for each in _DELTAS]
    return [*found, (0.0, variation)]


def converted(budget: Budget, delta: float = RARE) -> float:
    """The epsilon that the curve of a guarantee gives at ``delta``."""
    return max(budget.whole_curve.epsilon(delta), 0.0)


def detection(budget: Budget, false_alarms: Array) -> Array:
    """The largest share of hits at each share of false alarms."""
    best = np.ones_like(false_alarms)
    for epsilon, delta in pairs(budget):
        best = np.minimum(best, delta + exp(epsilon) * false_alarms)
        best = np.minimum(best, 1.0 - (1.0 - delta - false_alarms) * math.exp(-epsilon))
    return np.clip(best, 0.0, 1.0)


def sure_odds(budget: Budget) -> tuple[float, float]:
    """(epsilon, rare): the odds rise or fall by more than ``e^epsilon`` in releases this ``rare``.

        pure eps        eps, never more
        (eps, delta)    eps - log(1 - delta/r), r = (rare + a delta)/(1 + a), a = e^-eps,
                        rare = 10 delta
        rho-zCDP        rho + 2 sqrt(rho log((1 + a)/rare)), a = e^-(the same with a = 0),
                        rare = 1e-6
        mu-Gaussian     that of rho = mu^2/2

    ``rare`` bounds both ways together, whether the record was in the table or not: ``P`` is the law
    of the release in the one case, ``Q`` in the other, and the roles may be exchanged.

    An (eps, delta) guarantee does *not* say that the odds change by more than ``e^eps`` only with
    probability delta. Where ``P > e^(eps + t) Q``, on S, ``P(S) <= e^eps Q(S) + delta`` and ``Q(S)
    <= e^-(eps + t) P(S)``, so ``P(S) <= r = delta/(1 - e^-t)`` (Kasiviswanathan and Smith 2014,
    Lemma 3.3). Where ``Q > e^(eps + t) P``, on S', ``e^(eps + t) P(S') <= Q(S') <= e^eps P(S') +
    delta``, so ``P(S') <= e^-eps delta/(e^t - 1) = e^-eps (r - delta)``. A symmetric release comes
    up to both at once, so their sum is the share of releases. Under zCDP Markov's inequality for
    the Renyi divergence (Bun and Steinke 2016, the proof of Proposition 1.3) gives ``P(S) <=
    e^(-(eps - rho)^2/(4 rho))``, and ``P(S') <= e^-eps`` times that.
    """
    epsilon, rho, delta, mu = budget.numbers
    if epsilon is not None and delta == 0.0:
        return epsilon, 0.0
    if epsilon is not None:
        rare = min(TIMES * delta, (1.0 + delta) / 2.0)  # a probability below 1
        back = math.exp(-epsilon)
        one_way = (rare + back * delta) / (1.0 + back)
        return epsilon - math.log1p(-delta / one_way), rare
    rho = mu * mu / 2.0 if mu is not None else rho
    if rho is not None:
        rise = rho + 2.0 * math.sqrt(rho * math.log(1.0 / RARE))
        both = math.log1p(math.exp(-rise)) - math.log(RARE)
        return rho + 2.0 * math.sqrt(rho * both), RARE
    return math.inf, 1.0


def posterior(epsilon: float, priors: Array) -> Array:
    """The largest belief after the release for each belief before."""
    return priors / (priors + (1.0 - priors) * math.exp(-epsilon))


def exp(epsilon: float) -> float:
    """``e^epsilon``, and a very large number where it cannot be held."""
    return math.exp(min(epsilon, 700.0))
