"""The best of a random number of private runs: how many runs, and what it costs.

A run ``Q`` trains a candidate chosen at random and scores it privately. The best of ``K`` runs,
``K`` from a truncated negative binomial law with parameters ``eta > -1`` and ``0 < gamma < 1``,

    P[K = k]  proportional to  (1 - gamma)^k (eta)(eta + 1)...(eta + k - 1)/k!,    k = 1, 2, ...

costs, whatever ``K`` turns out to be (Papernot and Steinke 2022, Theorem 2 and Corollary 3):

    pure epsilon    (2 + eta) epsilon
    Renyi           eps(a) + (1 + eta) [(1 - 1/b) eps(b) + log(1/gamma)/b] + log E[K]/(a - 1)

for every order ``b >= 1``. ``eta = 0`` is the logarithmic law, ``eta = 1`` the geometric one. A
fixed number of runs would cost their sum; the random number hides how often the search was lucky.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from privet._checks import number_between
from privet.bisection import largest
from privet.errors import DeclarationError
from privet.privacy.calculus import Budget
from privet.privacy.curves import LARGEST, SMALLEST, Curve, renyi_epsilon

MOST_RUNS = 1e3


@dataclass(frozen=True)
class Runs:
    """The law of the number of runs."""

    eta: float
    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", number_between("eta", self.eta, -0.5, 10.0))
        object.__setattr__(self, "gamma", number_between("gamma", self.gamma, 1e-12, 1.0 - 1e-9))

    @property
    def mean(self) -> float:
        """``E[K]``."""
        eta, gamma = self.eta, self.gamma
        if abs(eta) < 1e-8:
            return (1.0 / gamma - 1.0) / -math.log(gamma)
        return eta * (1.0 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def quantile(self, u: float) -> int:
        """The smallest ``k`` with ``P[K <= k] >= u``: a draw of ``K`` for a uniform ``u``."""
        if not 0.0 <= u < 1.0:
            raise ValueError("u must be in [0, 1).")
        eta, k = self.eta, 1
        if abs(eta) < 1e-8:
            mass = (1.0 - self.gamma) / -math.log(self.gamma)
        else:
            mass = eta * (1.0 - self.gamma) / math.expm1(-eta * math.log(self.gamma))
        total = mass
        while total < u and mass > 0.0:
            mass *= (1.0 - self.gamma) * (k + eta) / (k + 1.0)
            k, total = k + 1, total + mass
        return k


def runs_with_mean(mean: float, eta: float = 0.0) -> Runs:
    """The law with ``E[K] = mean``."""
    if not 1.0 < mean <= MOST_RUNS:
        raise DeclarationError(
            f"The mean number of runs must be above 1 and at most {MOST_RUNS:g}, got {mean!r}."
        )
    # the mean falls as gamma grows
    return Runs(eta, largest(lambda gamma: gamma < 1.0 and Runs(eta, gamma).mean >= mean, 0.5))


@dataclass(frozen=True)
class StoppingCurve(Curve):
    """The best of ``K`` runs that are each ``rho``-zCDP."""

    kind: ClassVar[str] = "random_stopping"
    eta: float
    gamma: float
    rho: float

    def __post_init__(self) -> None:
        runs = Runs(self.eta, self.gamma)
        object.__setattr__(self, "eta", runs.eta)
        object.__setattr__(self, "gamma", runs.gamma)
        object.__setattr__(self, "rho", number_between("rho", self.rho, SMALLEST, LARGEST))

    def renyi(self, order: float) -> float:
        """The theorem at the best ``b``; a bound at a higher order also holds at this one."""
        log_mean = max(math.log(Runs(self.eta, self.gamma).mean), 0.0)
        b = max(1.0, math.sqrt(-math.log(self.gamma) / self.rho))
        choice = (1.0 + self.eta) * ((b - 1.0) * self.rho - math.log(self.gamma) / b)
        higher = max(order, 1.0 + math.sqrt(log_mean / self.rho))
        repeats = log_mean / (higher - 1.0) if log_mean > 0.0 else 0.0
        return higher * self.rho + choice + repeats

    @property
    def pure(self) -> float:
        """Unbounded."""
        return math.inf

    @property
    def zcdp(self) -> float:
        """The limit at order 1: up to the order that is best the bound is constant."""
        return self.renyi(1.0)


@dataclass(frozen=True)
class _Cost:
    """What one curve costs, for a budget to judge."""

    curve: StoppingCurve

    def pure(self) -> float:
        return self.curve.pure

    def zcdp(self) -> float:
        return self.curve.zcdp

    def gdp(self) -> float:
        return self.curve.gdp

    def epsilon(self, delta: float) -> float:
        return renyi_epsilon([self.curve], delta)


@cache
def run_rho(whole: Budget, law: Runs) -> float:
    """The largest rho of a run at which the best of ``law``'s runs keeps ``whole``."""
    return largest(lambda rho: whole.keeps(_Cost(StoppingCurve(law.eta, law.gamma, rho))))
