"""What several curves cost together, against the claim that covers them.

pure             the epsilons add up
zCDP             the rhos add up                              Bun and Steinke 2016, Lemma 2.3
(eps, delta)     the best of
    one profile  of one curve, at epsilon less the pure losses of the others
    exact        Gaussian curves are one Gaussian; pure ones are randomized responses, whose
                 losses are finitely many: delta is a finite sum
    Renyi        R(a) + log(1 - 1/a) - log(delta a)/(a - 1) at the best order
                 (Canonne, Kamath and Steinke 2020, Proposition 12)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from privet.certificate.balls import Ball, ball, gaussian_delta, total
from privet.certificate.curve_costs import CurveCost, GaussianCost, PureCost, curve_cost
from privet.certificate.verdicts import Number, Undecided, at_most

#: Orders that are tried: every one gives a valid bound.
ORDERS = tuple(1.0 + 10.0 ** (-2.0 + i / 80.0) for i in range(561))
#: Subsets of randomized responses that are added up.
MOST_PURE = 10


def composition(release: str, claim: dict[str, Any], curves: Sequence[dict[str, Any]]) -> Number:
    """Whether the curves prove the claim."""
    costs = [curve_cost(record) for record in curves]
    if not costs:
        return Number(release, "composition", None, None, None, False, "no curve proves the claim")
    if claim["kind"] == "pure":
        return _sum(release, claim["epsilon"], [c.pure() for c in costs], "the epsilons add up")
    if claim["kind"] == "zcdp":
        return _sum(release, claim["rho"], [c.rho() for c in costs], "the rhos add up")
    if claim["kind"] == "gdp":
        mus = [c.mu() for c in costs]
        if any(mu is None for mu in mus):
            return _sum(release, claim["mu"], mus, "")
        told = "the squares of mu add up"
        together = total(mu * mu for mu in mus if mu is not None).sqrt()
        return at_most(release, "composition", claim["mu"], together, told)
    if claim["kind"] == "approx":
        return _approximate(release, claim["epsilon"], claim["delta"], costs)
    raise Undecided(f"the budget {claim['kind']!r} is not known here")


def _sum(release: str, claimed: float, amounts: list[Ball | None], why: str) -> Number:
    if any(amount is None for amount in amounts):
        told = "a curve has no bound of the kind that the claim uses"
        return Number(release, "composition", claimed, None, None, False, told)
    return at_most(release, "composition", claimed, total(amounts), why)


def _approximate(release: str, epsilon: float, delta: float, costs: list[CurveCost]) -> Number:
    pure = [cost.pure() for cost in costs]
    if all(amount is not None for amount in pure):
        summed = at_most(release, "composition", epsilon, total(pure), "the epsilons add up")
        if summed.holds:
            return summed
    by_profile = _profiles(release, epsilon, delta, costs)
    if by_profile is not None and by_profile.holds:
        return by_profile
    converted = _converted(release, epsilon, delta, costs)
    if converted is not None and (converted.holds or by_profile is None):
        return converted
    if by_profile is not None:
        return by_profile
    told = "a curve has neither a profile nor a Renyi bound"
    return Number(release, "composition", epsilon, None, None, False, told)


def _profiles(release: str, epsilon: float, delta: float, costs: list[CurveCost]) -> Number | None:
    """The smallest delta that profiles give at ``epsilon``."""
    name = f"delta at epsilon = {epsilon:g}"
    found = [
        at_most(release, name, delta, value, why)
        for value, why in (*_single(ball(epsilon), costs), *_exact(ball(epsilon), costs))
    ]
    return min(found, key=lambda number: number.high or 0.0) if found else None


def _single(epsilon: Ball, costs: list[CurveCost]) -> Iterator[tuple[Ball, str]]:
    """The profile of each curve, where all others are pure."""
    for place, cost in enumerate(costs):
        others = [c.pure() for i, c in enumerate(costs) if i != place]
        if all(loss is not None for loss in others):
            value = cost.delta(epsilon - total(others))
            if value is not None:
                yield value, "profile of one curve, pure losses of the others added"


def _exact(epsilon: Ball, costs: list[CurveCost]) -> Iterator[tuple[Ball, str]]:
    """One Gaussian and randomized responses, exactly."""
    gaussian = [cost for cost in costs if isinstance(cost, GaussianCost)]
    pure = [cost for cost in costs if isinstance(cost, PureCost)]
    if len(gaussian) + len(pure) < len(costs) or len(pure) > MOST_PURE:
        return
    rho = total(cost.variance for cost in gaussian)
    left = epsilon - total(cost.slack for cost in gaussian)
    delta = ball(0)
    for chance, loss in _losses(pure):
        if gaussian:
            delta += chance * gaussian_delta((2 * rho).sqrt(), left - loss)
        else:
            delta += chance * (1 - (left - loss).exp()).nonnegative_part()
    yield delta, "exact composition of Gaussian and pure curves"


def _losses(pure: list[PureCost]) -> list[tuple[Ball, Ball]]:
    """Every joint privacy loss of randomized responses, with its probability."""
    found = [(ball(1), ball(0))]
    for cost in pure:
        keep = 1 / (1 + (-cost.loss).exp())
        found = [
            (chance * share, loss + step)
            for chance, loss in found
            for share, step in ((keep, cost.loss), (1 - keep, -cost.loss))
        ]
    return found


def _converted(release: str, epsilon: float, delta: float, costs: list[CurveCost]) -> Number | None:
    """The Renyi bound at the best order; a valid epsilon at every order."""

    def at(order: float) -> Ball | None:
        a = ball(order)
        amounts = [cost.renyi(a) for cost in costs]
        if any(amount is None for amount in amounts):
            return None
        extra = (1 - 1 / a).log() - (ball(delta) * a).log() / (a - 1)
        return total(amounts) + extra

    values = [(value, order) for order in ORDERS[::8] if (value := at(order)) is not None]
    if not values:
        return None
    _, near = min(values, key=lambda pair: _middle(pair[0]))
    place = min(range(len(ORDERS)), key=lambda i: abs(ORDERS[i] - near))
    finer = [at(order) for order in ORDERS[max(place - 8, 0) : place + 9]]
    best = min((value for value in finer if value is not None), key=_middle)
    name = f"epsilon at delta = {delta:g}"
    return at_most(release, name, epsilon, best, "Renyi bounds added and converted")


def _middle(value: Ball) -> float:
    found = float(value.mid())
    return found if math.isfinite(found) else math.inf
