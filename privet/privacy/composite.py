"""One budget for several releases that are made together: split it, then claim it once.

A fit with intervals, an evaluation or a search makes several releases from the same rows. Its
budget is split before anything is read, its parts become one event, and the ledger is charged once.

    pure            epsilon is shared out; the parts' epsilons add up
    zCDP            rho is shared out; the parts' rhos add up
    (eps, delta)    the largest rho that converts to (eps, delta) is shared out

Sharing out epsilon and delta themselves would be basic composition, which loses up to a factor of
the square root of the number of parts (Bun and Steinke 2016, section 1.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from privet.errors import DeclarationError
from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.compose import Composition
from privet.privacy.curves import GaussianCurve, renyi_epsilon
from privet.privacy.event import COMPOSITE, Event
from privet.solve import largest

#: Taken off each share, so that rounding cannot make the parts add up to more than the whole.
_SAFE = 1.0 - 1e-12


def split(budget: Budget, shares: Sequence[float]) -> tuple[Budget, ...]:
    """``budget`` shared out in proportion to ``shares``, all of it; one share is the whole."""
    if not shares or not all(math.isfinite(share) and share > 0.0 for share in shares):
        raise DeclarationError("The shares of a budget must be positive numbers.")
    if len(shares) == 1:
        return (budget,)
    whole: Budget = ZCDP(concentrated(budget)) if isinstance(budget, ApproxDP) else budget
    total = math.fsum(shares)
    return tuple(whole.fraction(share / total * _SAFE) for share in shares)


@cache
def concentrated(budget: ApproxDP) -> float:
    """The largest rho whose Renyi curve converts to ``budget``."""

    def fits(rho: float) -> bool:
        return renyi_epsilon([GaussianCurve(rho)], budget.delta) <= budget.epsilon

    return largest(fits, budget.epsilon)  # rho = epsilon converts to more than epsilon


def together(parts: Sequence[Event], claim: Budget, mechanism: str, main: int = 0) -> Event:
    """The event of several releases made under one ``claim``, which they must not exceed.

    ``main`` is the part whose noise, size and regularisation the whole is described by.
    """
    if len(parts) == 1 and parts[0].claim == claim:
        return parts[0]
    if not within(parts, claim):
        raise DeclarationError(f"The parts of a release cost more than the claimed {claim}.")
    reasons = dict.fromkeys(part.why_not_private for part in parts if not part.private)
    first = parts[main]
    return Event(
        mechanism=mechanism,
        claim=claim,
        curves=tuple(curve for part in parts for curve in part.curves),
        noise=" and ".join(dict.fromkeys(part.noise for part in parts)),
        scale=first.scale,
        sensitivity=first.sensitivity,
        share=first.share,
        n=first.n,
        m=first.m,
        regularization=first.regularization,
        theorem="; ".join(dict.fromkeys(part.theorem for part in parts)),
        private=not reasons,
        why_not_private="; ".join(reasons),
        version=COMPOSITE,
        parts=tuple(parts),
    )


def within(parts: Sequence[Event], claim: Budget) -> bool:
    """Whether the parts together cost no more than ``claim``."""
    whole = Composition(tuple(parts))
    if isinstance(claim, PureDP):
        return whole.pure() <= claim.epsilon
    if isinstance(claim, ZCDP):
        return whole.zcdp() <= claim.rho
    if isinstance(claim, ApproxDP):
        return whole.epsilon(claim.delta) <= claim.epsilon
    raise DeclarationError(f"No composition is defined for {type(claim).__name__}.")
