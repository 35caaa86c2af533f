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

from collections.abc import Sequence

from privet.errors import DeclarationError
from privet.privacy.budget import Budget
from privet.privacy.compose import Composition
from privet.privacy.event import Event
from privet.privacy.kinds import CompositeEvent


def split(budget: Budget, shares: Sequence[float]) -> tuple[Budget, ...]:
    """``budget`` shared out in proportion to ``shares``."""
    return budget.split(shares)


def concentrated(budget: Budget) -> float:
    """The rho of the zCDP budget that converts to ``budget``."""
    return budget.additive.amount


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
    return CompositeEvent(
        mechanism=mechanism,
        claim=claim,
        curves=tuple(curve for part in parts for curve in part.curves),
        noise=" and ".join(dict.fromkeys(part.noise for part in parts)),
        scale=first.scale,
        sensitivity=first.sensitivity,
        n=first.n,
        theorem="; ".join(dict.fromkeys(part.theorem for part in parts)),
        why_not_private="; ".join(reasons),
        releases=tuple(parts),
        main=main,
    )


def within(parts: Sequence[Event], claim: Budget) -> bool:
    """Whether the parts together cost no more than ``claim``."""
    return claim.keeps(Composition(tuple(parts)))
