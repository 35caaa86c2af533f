"""What still fits under a cap, in each of the numbers in which a release can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import NamedTuple

from privet.bisection import largest
from privet.errors import DeclarationError
from privet.privacy.budget import GDP, LARGEST, SMALLEST, ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.curves import Curve
from privet.privacy.event import Event

#: Numbers in words are rounded down: what is named does fit.
_DOWN = Context(prec=6, rounding=ROUND_FLOOR)

#: In the place of what fits, where nothing does.
NOTHING_MORE = "nothing more"


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
    #: mu of a release, under a Gaussian cap; 0 elsewhere and where none fits
    mu: float = 0.0

    def __str__(self) -> str:
        return self.told(1)

    def told(self, group: int) -> str:
        """In words; where a person may have several rows, for a row and for the person.

        A model that is trained with a schema of persons is asked for the person's number.
        """
        found = []
        if self.pure >= SMALLEST:
            found.append(f"a pure release of {_both(PureDP(self.pure), group)}")
        if self.rho >= SMALLEST:
            found.append(f"one of {_both(ZCDP(self.rho), group)}")
        if self.mu >= SMALLEST:
            found.append(f"one of {_both(GDP(min(self.mu, 40.0)), group)}")
        if self.approx is not None:
            how = " with Gaussian noise on the result (in the objective it takes more)"
            found.append(f"one of {_both(self.approx, group)}{how * self.gaussian}")
        return ", or ".join(found) or NOTHING_MORE


def _both(most: Budget, group: int) -> str:
    """The numbers of a row and of a person, rounded down."""

    def numbers(budget: Budget) -> str:
        return ", ".join(f"{name} = {down(number)}" for name, number in budget.facts().items())

    if group == 1:
        return numbers(most)
    try:
        person = f" ({numbers(most.for_group(group))} for a person with {group} rows)"
    except DeclarationError:  # more than can be declared for one release
        person = ""
    return f"{numbers(most)} for each row{person}"


def charged_words(claim: Budget, group: int) -> str:
    """What a release of ``claim`` takes from an account that counts for ``group`` rows."""
    if group == 1:
        return str(claim)
    try:
        return f"{claim} for each row ({claim.for_group(group)} for a person with {group} rows)"
    except DeclarationError:  # more than can be declared for one release
        return f"{claim} for each row"


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
