"""What still fits under a cap, in each of the numbers in which a release can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import NamedTuple

from privet.bisection import largest
from privet.errors import DeclarationError
from privet.privacy.budget import LARGEST, SMALLEST, ApproxDP, Budget
from privet.privacy.curves import Curve
from privet.privacy.event import Event

#: Numbers in words are rounded down: what is named does fit.
_DOWN = Context(prec=6, rounding=ROUND_FLOOR)


class Fits(NamedTuple):
    """The largest single releases that would be admitted now, for each row of a person."""

    #: epsilon of a pure release; 0 where none fits
    pure: float
    #: rho of a release; 0 where none fits
    rho: float
    #: a release of this epsilon and delta; None where none fits
    approx: ApproxDP | None = None
    #: whether that one must have Gaussian noise on its result
    gaussian: bool = False

    def __str__(self) -> str:
        found = []
        if self.pure >= SMALLEST:
            found.append(f"a pure release of epsilon = {down(self.pure)}")
        if self.rho >= SMALLEST:
            found.append(f"one of rho = {down(self.rho)}")
        if self.approx is not None:
            epsilon, delta = down(self.approx.epsilon), down(self.approx.delta)
            how = " with Gaussian noise on the result (in the objective it takes more)"
            found.append(f"one of epsilon = {epsilon}, delta = {delta}{how * self.gaussian}")
        return ", or ".join(found) or "nothing more"


def down(amount: float) -> str:
    """A number in words, rounded down."""
    return f"{float(_DOWN.create_decimal(Decimal(repr(amount)))):g}"


def most(admitted: Callable[[float], bool], guess: float) -> float:
    """The largest amount that can be declared and is admitted; 0 where there is none.

    ``guess`` is what is left of the column in which the amount itself is counted.
    """

    def fits(amount: float) -> bool:
        return SMALLEST <= amount <= LARGEST and admitted(amount)

    if fits(guess) and not fits(guess * (1.0 + 1e-9)):
        return guess
    return largest(fits, guess or 1.0)


def declarable(epsilon: float, delta: float, group: int) -> ApproxDP | None:
    """What each row may spend of ``epsilon`` and ``delta``; None where it cannot be declared."""
    try:
        return ApproxDP(epsilon, delta).per_row(group)
    except DeclarationError:
        return None


def plain(claim: Budget, curve: Curve) -> Event:
    """A release of which nothing is known but its cost."""
    return Event(
        mechanism="any",
        claim=claim,
        curves=(curve,),
        noise="any",
        scale=0.0,
        sensitivity=0.0,
        n=1,
        theorem="none",
    )
