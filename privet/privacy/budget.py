"""How much privacy may be spent: three calculi, one frozen value each.

    PureDP(epsilon)             every output's odds change by at most a factor exp(epsilon)
    ZCDP(rho)                   Renyi divergence of every order alpha at most alpha rho
    ApproxDP(epsilon, delta)    exp(epsilon), except with probability delta

Numbers are refused where they cannot be accounted (below 1e-10; the ledger counts in billionths) or
protect nobody (above a thousand).
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from privet.errors import DeclarationError

Record = TypeVar("Record")

SMALLEST = 1e-10
LARGEST = 1e3


def amount(name: str, value: Any, largest: float = LARGEST, smallest: float = SMALLEST) -> float:
    """``value`` as a float, refused unless it is a number between the two ends."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.floating | np.integer
    ):
        raise DeclarationError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if not smallest <= number <= largest:
        raise DeclarationError(
            f"{name} must be between {smallest:g} and {largest:g}, got {value!r}."
        )
    return number


@dataclass(frozen=True)
class Budget(ABC):
    """A privacy budget under replace-one neighbours."""

    kind: ClassVar[str]

    @abstractmethod
    def fraction(self, share: float) -> Budget:
        """``share`` of this budget, in (0, 1)."""

    @abstractmethod
    def covers(self, other: Budget) -> bool:
        """Whether a release with the guarantee ``other`` also has this one."""

    @abstractmethod
    def facts(self) -> dict[str, float]:
        """The numbers by name, for files and statements."""

    def to_json(self) -> dict[str, Any]:
        """Kind and numbers."""
        return {"kind": self.kind, **self.facts()}


@dataclass(frozen=True)
class PureDP(Budget):
    """Pure differential privacy (Dwork, McSherry, Nissim and Smith 2006)."""

    kind: ClassVar[str] = "pure"
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount("epsilon", self.epsilon))

    def fraction(self, share: float) -> PureDP:
        """``share epsilon``."""
        return PureDP(self.epsilon * share)

    def covers(self, other: Budget) -> bool:
        """Only a pure guarantee of no larger epsilon."""
        return isinstance(other, PureDP) and other.epsilon <= self.epsilon

    def facts(self) -> dict[str, float]:
        """Epsilon."""
        return {"epsilon": self.epsilon}

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}"


@dataclass(frozen=True)
class ZCDP(Budget):
    """Zero-concentrated differential privacy (Bun and Steinke 2016)."""

    kind: ClassVar[str] = "zcdp"
    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", amount("rho", self.rho))

    def fraction(self, share: float) -> ZCDP:
        """``share rho``."""
        return ZCDP(self.rho * share)

    def covers(self, other: Budget) -> bool:
        """A zCDP guarantee of no larger rho, or a pure one with ``epsilon^2/2 <= rho``."""
        if isinstance(other, PureDP):
            return other.epsilon**2 / 2.0 <= self.rho
        return isinstance(other, ZCDP) and other.rho <= self.rho

    def facts(self) -> dict[str, float]:
        """Rho."""
        return {"rho": self.rho}

    def __str__(self) -> str:
        return f"rho = {self.rho:g} (zero-concentrated)"


@dataclass(frozen=True)
class ApproxDP(Budget):
    """Approximate differential privacy."""

    kind: ClassVar[str] = "approx"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount("epsilon", self.epsilon))
        # the Gaussian profile is a difference of two tails and cannot be computed far below 1e-14
        object.__setattr__(self, "delta", amount("delta", self.delta, 0.5, 1e-14))

    def fraction(self, share: float) -> ApproxDP:
        """``share`` of both numbers."""
        return ApproxDP(self.epsilon * share, self.delta * share)

    def covers(self, other: Budget) -> bool:
        """A pure or approximate guarantee of no larger numbers; zCDP by its conversion."""
        if isinstance(other, PureDP):
            return other.epsilon <= self.epsilon
        if isinstance(other, ZCDP):
            from privet.privacy.curves import GaussianCurve, renyi_epsilon

            return renyi_epsilon([GaussianCurve(other.rho)], self.delta) <= self.epsilon
        return (
            isinstance(other, ApproxDP)
            and other.epsilon <= self.epsilon
            and other.delta <= self.delta
        )

    def facts(self) -> dict[str, float]:
        """Epsilon and delta."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}, delta = {self.delta:g}"


#: Every budget by its kind.
BUDGETS: dict[str, type[Budget]] = {budget.kind: budget for budget in (PureDP, ZCDP, ApproxDP)}


def as_budget(value: Budget | float) -> Budget:
    """A budget as it is; a bare number is the epsilon of pure privacy."""
    if isinstance(value, Budget):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise DeclarationError(
            "budget must be a number (pure epsilon), PureDP, ZCDP or ApproxDP, "
            f"got {type(value).__name__}."
        )
    if math.isnan(value):
        raise DeclarationError("budget must be a number (pure epsilon), got nan.")
    return PureDP(float(value))


def budget_from_json(record: dict[str, Any]) -> Budget:
    """The inverse of ``Budget.to_json``."""
    fields = dict(record)
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in BUDGETS:
        raise DeclarationError(f"Unknown kind of budget {kind!r}; known are {sorted(BUDGETS)}.")
    return from_fields(BUDGETS[kind], fields)


def from_fields(kind: type[Record], fields: dict[str, Any]) -> Record:
    """A dataclass from exactly its fields; a record with more or fewer is refused."""
    wanted = sorted(field.name for field in dataclasses.fields(kind))  # type: ignore[arg-type]
    if sorted(fields) != wanted:
        raise DeclarationError(f"A {kind.__name__} record has the fields {', '.join(wanted)}.")
    return kind(**fields)
