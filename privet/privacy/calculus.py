"""What every privacy budget can answer about itself; the kinds are in ``budget.py`` and
``gaussian_budget.py``.

Which noise a budget allows, how it is shared out, what it says about several rows of one person,
whether a composition keeps it: no other room asks what kind a budget is.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from privet._checks import positive_whole
from privet.errors import DeclarationError
from privet.privacy.curves import Curve
from privet.privacy.jacobian import Curved, curve_of

NO_GAUSSIAN = (
    "Gaussian noise has no pure epsilon. Use a ZCDP, GDP or ApproxDP budget, or Laplace noise."
)
#: Taken off a row's share of a person's budget, so that rounding cannot make it too large.
SAFE_ROW = 1.0 - 1e-14
#: Taken off each share, so that rounding cannot make the parts add up to more than the whole.
_SAFE_SHARE = 1.0 - 1e-12


#: No table has as many rows.
MOST_ROWS = 10**15


def rows_of_one(size: Any) -> int:
    """How many rows one person has, checked."""
    what = f"a whole number of rows, at least 1 and at most {MOST_ROWS:,}"
    if positive_whole("size", size, what) > MOST_ROWS:  # its square may be no double
        raise DeclarationError(f"size must be {what}, got more.")
    return int(size)


class Cost(Protocol):
    """What a release or a composition of releases costs in every calculus."""

    def pure(self) -> float:
        """Epsilon of pure privacy, infinite if there is none."""
        ...

    def zcdp(self) -> float:
        """Rho, infinite if there is none."""
        ...

    def gdp(self) -> float:
        """Mu of Gaussian privacy, infinite if there is none."""
        ...

    def epsilon(self, delta: float) -> float:
        """Smallest known epsilon at ``delta``."""
        ...


class Numbers(NamedTuple):
    """A budget's numbers by name: epsilon, rho and mu, None where it has none, and delta."""

    epsilon: float | None
    rho: float | None
    delta: float
    mu: float | None


@dataclass(frozen=True)
class Budget(ABC):
    """A privacy budget under replace-one neighbors."""

    kind: ClassVar[str]
    #: the name of its main number
    amount_name: ClassVar[str]
    #: the kinds of noise it can pay for, the one it always allows first
    noises: ClassVar[tuple[str, ...]]

    def facts(self) -> dict[str, float]:
        """The numbers by name, for files and statements."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def numbers(self) -> Numbers:
        """Epsilon, rho and mu, None where it has none, and delta."""
        told = self.facts()
        return Numbers(told.get("epsilon"), told.get("rho"), told.get("delta", 0.0), told.get("mu"))

    def to_json(self) -> dict[str, Any]:
        """Kind and numbers."""
        return {"kind": self.kind, **self.facts()}

    # -- its main number -----------------------------------------------------------------------

    @property
    def amount(self) -> float:
        """Epsilon or rho."""
        return float(getattr(self, self.amount_name))

    def with_amount(self, value: float) -> Self:
        """The same kind with another epsilon or rho; delta stays."""
        return dataclasses.replace(self, **{self.amount_name: value})

    def scaled(self, factor: float) -> Self:
        """``factor`` times epsilon or rho; delta stays."""
        return self.with_amount(self.amount * factor)

    def with_precision(self, factor: float) -> Self:
        """What noise ``factor`` times smaller costs: epsilon times ``factor``, rho its square."""
        return self.scaled(factor)

    # -- sharing it out ------------------------------------------------------------------------

    def fraction(self, share: float) -> Self:
        """``share`` of all its numbers, in (0, 1)."""
        return type(self)(**{name: value * share for name, value in self.facts().items()})

    @property
    def additive(self) -> Budget:
        """The budget whose shares add up: itself, or the zCDP budget that converts to it."""
        return self

    @property
    def gaussian(self) -> Budget:
        """What parts that all lie inside Gaussian mechanisms share out: itself, or its mu.

        Such parts compose exactly; ``additive`` would lose what the Renyi conversion loses.
        """
        return self

    @property
    def without_delta(self) -> Budget:
        """What releases beside one that keeps delta for itself are paid from: itself, or pure."""
        return self

    @property
    def mixed_curve(self) -> Curve:
        """What a release with noise of several laws may cost: losses or rhos, which add up.

        A choice or a comparison is no Gaussian mechanism, so under GDP this is a pure loss.
        """
        return self.whole_curve

    def split(self, shares: Sequence[float]) -> tuple[Budget, ...]:
        """Shared out in proportion to ``shares``, all of it; one share is the whole.

        Epsilon or rho is shared out; of (eps, delta), the largest rho that converts to it. Sharing
        out epsilon and delta themselves would be basic composition, which loses up to a factor of
        the square root of the number of parts (Bun and Steinke 2016, section 1.1).
        """
        if not shares or not all(math.isfinite(share) and share > 0.0 for share in shares):
            raise DeclarationError("The shares of a budget must be positive numbers.")
        if len(shares) == 1:
            return (self,)
        total = math.fsum(shares)
        return tuple(self.additive.fraction(share / total * _SAFE_SHARE) for share in shares)

    @abstractmethod
    def set_aside(self, share: float) -> tuple[Budget, Budget]:
        """(the rest, ``share`` of it): two releases with these budgets cost this one together."""

    @abstractmethod
    def for_group(self, size: int) -> Budget:
        """The guarantee for ``size`` rows at once of a release with this one for each row."""

    @abstractmethod
    def per_row(self, size: int) -> Budget:
        """What a release may spend for each row so that ``size`` rows at once have this budget."""

    # -- what it pays for ----------------------------------------------------------------------

    @property
    @abstractmethod
    def laplace_epsilon(self) -> float:
        """The pure epsilon that Laplace noise may spend under this budget."""

    def gaussian_rho(self, slack: float = 0.0) -> float:
        """The rho of the Gaussian mechanism that spends exactly this; 0 where there is none.

        ``slack`` is an epsilon by which the profile of the noise may be above the Gaussian one's.
        Refused, as what follows, where Gaussian noise cannot keep the budget.
        """
        raise DeclarationError(NO_GAUSSIAN)

    def objective_shift(self, loss: Curved, q: float) -> float:
        """The largest ``D`` of Gaussian objective perturbation at ``q``; 0 where there is none.

        ``D`` is (gradient difference)/sigma and ``q = R^2/(n Lam)``; see ``jacobian.py``.
        """
        raise DeclarationError(NO_GAUSSIAN)

    def objective_floor(self, loss: Curved, share: float) -> float:
        """The largest ``q`` at which the Jacobian takes at most ``share`` of this budget."""
        raise DeclarationError(NO_GAUSSIAN)

    def objective_curve(self, loss: Curved, shift: float, q: float) -> Curve:
        """What Gaussian objective perturbation of this shift is recorded as."""
        return curve_of(loss, shift, q)

    def jacobian_limit(self, loss: Curved, share: float) -> float:
        """The share of this budget that the Jacobian may take of a declared regularization.

        ``share`` is what it may take where "auto" chooses.
        """
        return share

    @property
    def allows_gaussian(self) -> bool:
        """Whether Gaussian noise can keep it: not if it is pure."""
        return "gaussian" in self.noises

    @property
    @abstractmethod
    def whole_curve(self) -> Curve:
        """The curve of anything that keeps this budget and of which no more is known."""

    @abstractmethod
    def keeps(self, cost: Cost) -> bool:
        """Whether something of this cost stays within the budget."""

    @abstractmethod
    def covers(self, other: Budget) -> bool:
        """Whether a release with the guarantee ``other`` also has this one."""


def growth(epsilon: float, k: int) -> float:
    """``1 + e^epsilon + ... + e^((k-1) epsilon)``; infinite where it cannot be held."""
    try:
        return math.expm1(k * epsilon) / math.expm1(epsilon) if k > 1 else 1.0
    except OverflowError:
        return math.inf
