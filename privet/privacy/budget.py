"""How much privacy may be spent: four calculi, one frozen value each.

    PureDP(epsilon)             every output's odds change by at most a factor exp(epsilon)
    ZCDP(rho)                   Renyi divergence of every order alpha at most alpha rho
    GDP(mu)                     told apart no better than N(0, 1) and N(mu, 1) (gaussian_budget.py)
    ApproxDP(epsilon, delta)    exp(epsilon), except with probability delta

Numbers are refused where noise cannot be calibrated to them (below 1e-10) or where they protect
nobody (above a thousand).

Several rows of one person (``for_group``, ``per_row``): two tables that differ in ``k`` rows are
joined by ``k`` steps of one row each.

    pure         k epsilon                                       Dwork and Roth 2014, Theorem 2.2
    zCDP         k^2 rho                                         Bun and Steinke 2016, Prop. 1.9
    Gaussian     k mu                                            Dong, Roth and Su 2022, Thm 2.14
    approximate  (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))     Vadhan 2017, Lemma 2.2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from privet._checks import as_float, is_number, number_between
from privet.bisection import largest
from privet.errors import DeclarationError
from privet.privacy import jacobian
from privet.privacy.calculus import SAFE_ROW, Budget, Cost, growth, rows_of_one
from privet.privacy.curves import (
    ConcentratedCurve,
    Curve,
    GaussianCurve,
    PureCurve,
    from_fields,
    gaussian_delta,
    profile_epsilon,
    renyi_epsilon,
)
from privet.privacy.gaussian_budget import GDP
from privet.privacy.jacobian import Curved
from privet.privacy.jacobian_cost import FAMILIES, one_sided

__all__ = [
    "BUDGETS",
    "GDP",
    "LARGEST",
    "SMALLEST",
    "ZCDP",
    "ApproxDP",
    "Budget",
    "PureDP",
    "as_budget",
    "budget_from_json",
    "growth",
    "spendable",
]

SMALLEST = 1e-10
LARGEST = 1e3


@dataclass(frozen=True)
class PureDP(Budget):
    """Pure differential privacy (Dwork, McSherry, Nissim and Smith 2006).

    Parameters
    ----------
    epsilon : float
        Between 1e-10 and 1000. Every output's odds change by at most a factor ``exp(epsilon)``.
    """

    kind: ClassVar[str] = "pure"
    amount_name: ClassVar[str] = "epsilon"
    noises: ClassVar[tuple[str, ...]] = ("laplace",)
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", spendable("epsilon", self.epsilon))

    def set_aside(self, share: float) -> tuple[PureDP, PureDP]:
        """``share epsilon``."""
        out = share * self.epsilon
        return PureDP(self.epsilon - out), PureDP(out)

    def for_group(self, size: int) -> PureDP:
        """``k epsilon``."""
        return PureDP(rows_of_one(size) * self.epsilon)

    def per_row(self, size: int) -> PureDP:
        """``epsilon/k``."""
        k = rows_of_one(size)
        return self if k == 1 else PureDP(self.epsilon / k * SAFE_ROW)

    @property
    def laplace_epsilon(self) -> float:
        """``epsilon``."""
        return self.epsilon

    @property
    def whole_curve(self) -> Curve:
        """A pure curve."""
        return PureCurve(self.epsilon)

    def keeps(self, cost: Cost) -> bool:
        """The pure losses add up to at most epsilon."""
        return cost.pure() <= self.epsilon

    def covers(self, other: Budget) -> bool:
        """Only a pure guarantee of no larger epsilon."""
        return isinstance(other, PureDP) and other.epsilon <= self.epsilon

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}"


@dataclass(frozen=True)
class ZCDP(Budget):
    """Zero-concentrated differential privacy (Bun and Steinke 2016).

    Parameters
    ----------
    rho : float
        Between 1e-10 and 1000. The Renyi divergence of order ``a`` is at most ``a rho``.
    """

    kind: ClassVar[str] = "zcdp"
    amount_name: ClassVar[str] = "rho"
    noises: ClassVar[tuple[str, ...]] = ("laplace", "gaussian")
    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", spendable("rho", self.rho))

    def with_precision(self, factor: float) -> ZCDP:
        """``factor^2 rho``."""
        return self.scaled(factor**2)

    def set_aside(self, share: float) -> tuple[ZCDP, ZCDP]:
        """``share rho``."""
        out = share * self.rho
        return ZCDP(self.rho - out), ZCDP(out)

    def for_group(self, size: int) -> ZCDP:
        """``k^2 rho``."""
        return ZCDP(rows_of_one(size) ** 2 * self.rho)

    def per_row(self, size: int) -> ZCDP:
        """``rho/k^2``."""
        k = rows_of_one(size)
        return self if k == 1 else ZCDP(self.rho / (k * k) * SAFE_ROW)

    @property
    def laplace_epsilon(self) -> float:
        """``sqrt(2 rho)`` (Bun and Steinke 2016, Proposition 1.4)."""
        return math.sqrt(2.0 * self.rho)

    def gaussian_rho(self, slack: float = 0.0) -> float:
        """``rho``: a Renyi curve has no slack."""
        return self.rho

    def objective_shift(self, loss: Curved, q: float) -> float:
        """What the Jacobian leaves of rho, or of the Gaussian mechanism with that rho."""
        by_rho = jacobian.shift_within_rho(loss, q, self.rho)
        return max(by_rho, jacobian.shift_within_mu(loss, q, self._mu))

    def objective_curve(self, loss: Curved, shift: float, q: float) -> Curve:
        """The Jacobian's, or the Gaussian mechanism's below which all of the profile is."""
        if shift <= jacobian.shift_within_rho(loss, q, self.rho):
            return jacobian.curve_of_rho(loss, shift, q)
        return GaussianCurve(self.rho)

    def jacobian_limit(self, loss: Curved, share: float) -> float:
        """As under Gaussian privacy; elsewhere until noise grows as regularization falls."""
        if one_sided(loss.jacobian_family, loss.classes):
            return max(share, jacobian.MOST_SHARE)
        if loss.jacobian_family not in FAMILIES:
            return share
        return max(share, jacobian.most_share_of_rho(loss, self.rho))

    @property
    def _mu(self) -> float:
        return math.sqrt(2.0 * self.rho) * (1.0 - 1e-15)

    def objective_floor(self, loss: Curved, share: float) -> float:
        """By the Jacobian's rho, or by the Gaussian mechanism's, whichever is lower."""
        by_rho = jacobian.floor_within_rho(loss, share * self.rho)
        return max(by_rho, jacobian.floor_within_mu(loss, share, self._mu))

    @property
    def whole_curve(self) -> Curve:
        """Not a Gaussian mechanism's, whose exact profile would promise too much."""
        return ConcentratedCurve(self.rho)

    def keeps(self, cost: Cost) -> bool:
        """The rhos add up to at most rho."""
        return cost.zcdp() <= self.rho

    def covers(self, other: Budget) -> bool:
        """A zCDP guarantee of no larger rho, a pure or a Gaussian one by its conversion."""
        if isinstance(other, PureDP):
            return other.epsilon**2 / 2.0 <= self.rho
        if isinstance(other, GDP):
            return other.mu**2 / 2.0 <= self.rho
        return isinstance(other, ZCDP) and other.rho <= self.rho

    def __str__(self) -> str:
        return f"rho = {self.rho:g} (zero-concentrated)"


@dataclass(frozen=True)
class ApproxDP(Budget):
    """Approximate differential privacy.

    Parameters
    ----------
    epsilon : float
        Between 1e-10 and 1000.
    delta : float
        Between 1e-14 and 0.5; a small share of ``1/n``, since it may be spent on one person.
    """

    kind: ClassVar[str] = "approx"
    amount_name: ClassVar[str] = "epsilon"
    noises: ClassVar[tuple[str, ...]] = ("laplace", "gaussian")
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", spendable("epsilon", self.epsilon))
        # the Gaussian profile is a difference of two tails and cannot be computed far below 1e-14
        object.__setattr__(self, "delta", number_between("delta", self.delta, 1e-14, 0.5))

    @cached_property
    def additive(self) -> ZCDP:
        """The largest rho whose Renyi curve converts to this budget."""

        def fits(rho: float) -> bool:
            return renyi_epsilon([GaussianCurve(rho)], self.delta) <= self.epsilon

        return ZCDP(largest(fits, self.epsilon))  # rho = epsilon converts to more than epsilon

    @cached_property
    def gaussian(self) -> GDP:
        """The Gaussian mechanism with this profile, at an epsilon smaller by what roots lose."""
        just = ApproxDP(self.epsilon * (1.0 - 1e-7), self.delta)
        return GDP(math.sqrt(2.0 * just.gaussian_rho()))

    @property
    def without_delta(self) -> PureDP:
        """The same epsilon as a pure budget."""
        return PureDP(self.epsilon)

    def set_aside(self, share: float) -> tuple[ApproxDP, PureDP]:
        """``share epsilon``, as a pure budget: delta stays whole."""
        out = share * self.epsilon
        return ApproxDP(self.epsilon - out, self.delta), PureDP(out)

    def for_group(self, size: int) -> ApproxDP:
        """After ``i`` steps ``P(S) <= e^(i eps) P_i(S) + delta (1 + ... + e^((i-1) eps))``."""
        k = rows_of_one(size)
        return ApproxDP(k * self.epsilon, self.delta * growth(self.epsilon, k))

    def per_row(self, size: int) -> ApproxDP:
        """``epsilon/k``, and delta by the same sum."""
        k = rows_of_one(size)
        if k == 1:
            return self
        epsilon = self.epsilon / k * SAFE_ROW
        return ApproxDP(epsilon, self.delta / growth(epsilon, k) * SAFE_ROW)

    @property
    def laplace_epsilon(self) -> float:
        """``epsilon``: Laplace noise needs no delta."""
        return self.epsilon

    def gaussian_rho(self, slack: float = 0.0) -> float:
        """By the exact profile (Balle and Wang 2018, Theorem 8); 0 where ``slack`` takes all."""
        epsilon = self.epsilon - slack
        if epsilon <= 0.0:
            return 0.0
        return largest(lambda shift: gaussian_delta(shift, epsilon) <= self.delta) ** 2 / 2.0

    def objective_shift(self, loss: Curved, q: float) -> float:
        """By the profile or by the converted Renyi bound, whichever allows more."""
        return jacobian.shift_within_delta(loss, q, self.epsilon, self.delta)

    def objective_floor(self, loss: Curved, share: float) -> float:
        """By the determinant, or by the noise that the rest of epsilon would allow."""
        return jacobian.floor_within_delta(loss, share, self.epsilon, self.delta)

    @property
    def whole_curve(self) -> Curve:
        """That of the zCDP budget that converts to it."""
        return self.additive.whole_curve

    def keeps(self, cost: Cost) -> bool:
        """At this delta epsilon is large enough."""
        return cost.epsilon(self.delta) <= self.epsilon

    def covers(self, other: Budget) -> bool:
        """A pure or approximate guarantee of no larger numbers; others by their conversion."""
        if isinstance(other, GDP):
            return profile_epsilon(other.mu, self.delta) <= self.epsilon
        if isinstance(other, ZCDP):
            return renyi_epsilon([GaussianCurve(other.rho)], self.delta) <= self.epsilon
        facts = other.facts()
        return facts["epsilon"] <= self.epsilon and facts.get("delta", 0.0) <= self.delta

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}, delta = {self.delta:g}"


#: Every budget by its kind.
BUDGETS: dict[str, type[Budget]] = {budget.kind: budget for budget in (PureDP, ZCDP, ApproxDP, GDP)}


def spendable(name: str, value: Any) -> float:
    """A main number that can be accounted and protects somebody."""
    return number_between(name, value, SMALLEST, LARGEST)


def as_budget(value: Budget | float) -> Budget:
    """A budget as it is; a bare number is the epsilon of pure privacy."""
    if isinstance(value, Budget):
        return value
    if not is_number(value):
        raise DeclarationError(
            "budget must be a number (pure epsilon), PureDP, ZCDP, ApproxDP or GDP, "
            f"got {type(value).__name__}."
        )
    number = as_float(value)
    if math.isnan(number):
        raise DeclarationError("budget must be a number (pure epsilon), got nan.")
    return PureDP(number)


def budget_from_json(record: dict[str, Any]) -> Budget:
    """The inverse of ``Budget.to_json``."""
    fields = dict(record)
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in BUDGETS:
        raise DeclarationError(f"Unknown kind of budget {kind!r}; known are {sorted(BUDGETS)}.")
    return from_fields(BUDGETS[kind], fields)
