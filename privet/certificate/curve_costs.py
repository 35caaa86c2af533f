"""What a curve of an event costs, by the theorem that it stands for; a new law is one class here.

    pure                 e-private                      Bun and Steinke 2016, Prop. 1.4 and 3.3
    gaussian             Gaussian mechanism, rho        Balle and Wang 2018, Theorem 8
    concentrated         rho, perhaps a pure epsilon    Bun and Steinke 2016
    objective_gaussian   Gaussian objective perturbation  gaussian_objective.proof.md
    objective_gaussian_at_k    the same, step 13 at one k
    random_stopping      the best of K runs             Papernot and Steinke 2022, Theorem 2

Each answers in the calculi it can: a pure epsilon, a rho, a Renyi divergence at an order, and a
delta at an epsilon. None where it has no answer.
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar

from privet.certificate.balls import (
    Ball,
    ball,
    gaussian_delta,
    larger,
    largest_within,
    ratio,
    smaller,
)
from privet.certificate.loss_bounds import slope_and_jacobian
from privet.certificate.verdicts import Undecided


class CurveCost(ABC):
    """A curve's answers."""

    kind: ClassVar[str]

    def pure(self) -> Ball | None:
        """Epsilon of pure privacy."""
        return None

    def rho(self) -> Ball | None:
        """Rho of zCDP."""
        return None

    def mu(self) -> Ball | None:
        """Mu of Gaussian privacy."""
        return None

    def renyi(self, order: Ball) -> Ball | None:
        """Renyi divergence of this order."""
        rho = self.rho()
        return None if rho is None else order * rho

    def delta(self, epsilon: Ball) -> Ball | None:
        """The profile."""
        return None


@dataclass(frozen=True)
class PureCost(CurveCost):
    """A mechanism whose privacy loss never exceeds ``loss``."""

    kind: ClassVar[str] = "pure"
    loss: Ball

    def pure(self) -> Ball:
        """``loss``."""
        return self.loss

    def rho(self) -> Ball:
        """``loss^2/2``."""
        return self.loss**2 / 2

    def mu(self) -> Ball:
        """The Gaussian trade-off through the corner of the pure one: ``2 Phi^-1(p)``."""
        if self.loss < 1:
            return 2 * ball(2).sqrt() * (self.loss / 2).tanh().erfinv()
        # of a large loss p is near one: by its distance from there, which keeps its digits
        return 2 * ball(2).sqrt() * (2 / (1 + self.loss.exp())).erfcinv()

    def renyi(self, order: Ball) -> Ball:
        """Randomized response, the worst case; never above ``loss`` nor ``order loss^2/2``."""
        p = 1 / (1 + (-self.loss).exp())
        moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        return smaller(smaller(moment.log() / (order - 1), self.loss), order * self.rho())


@dataclass(frozen=True)
class GaussianCost(CurveCost):
    """A Gaussian mechanism; ``slack`` is what its discreteness costs in epsilon."""

    kind: ClassVar[str] = "gaussian"
    variance: Ball  # rho
    slack: Ball

    def rho(self) -> Ball:
        """``rho``."""
        return self.variance

    def mu(self) -> Ball:
        """``D = sqrt(2 rho)``, and ``3 slack (1 + D exp(D^2/8))`` (``output.proof.md``)."""
        D = self.shift
        return D if self.slack <= 0 else D + 3 * self.slack * (1 + D * (D * D / 8).exp())

    @property
    def shift(self) -> Ball:
        """``sqrt(2 rho)``."""
        return (2 * self.variance).sqrt()

    def delta(self, epsilon: Ball) -> Ball:
        """The exact profile."""
        return gaussian_delta(self.shift, epsilon - self.slack)


@dataclass(frozen=True)
class ConcentratedCost(CurveCost):
    """A rho and, where ``loss`` is positive, a pure epsilon."""

    kind: ClassVar[str] = "concentrated"
    amount: Ball
    loss: Ball

    def pure(self) -> Ball | None:
        """``loss``."""
        return self.loss if self.loss > 0 else None

    def rho(self) -> Ball:
        """``rho``."""
        return self.amount

    def renyi(self, order: Ball) -> Ball:
        """``order rho``, and never more than the pure epsilon."""
        line = order * self.amount
        return smaller(line, self.loss) if self.loss > 0 else line


@dataclass(frozen=True)
class JacobianCost(CurveCost):
    """Gaussian objective perturbation: shift ``D``, relative curvature ``k``, ``C`` classes."""

    kind: ClassVar[str] = "objective_gaussian"
    family: str
    classes: int
    shift: Ball
    k: Ball

    def _constant(self) -> Ball:
        """``z`` of the statement on zCDP."""
        C = self.classes
        if self.family == "residual":
            return ratio(234, 100)
        if C == 2:
            return ratio(223, 100)
        if self.family == "softmax":
            return ratio(21, 10) + ball(C).log()
        if self.family == "joint_huber":
            return 2 + ratio(139, 100) * (C - 1)
        raise Undecided(f"no theorem here for the family {self.family!r} with {C} classes")

    def rho(self) -> Ball:
        """``D^2/2 + z k^2``."""
        return self.shift**2 / 2 + self._constant() * self.k**2

    def renyi(self, order: Ball) -> Ball:
        """``order D^2/2 + Y/s`` where ``s k < 1``, else the line of zCDP."""
        s, line = order - 1, order * self.rho()
        if not s * self.k < 1:
            return line
        return smaller(line, order * self.shift**2 / 2 + self._eigenvalues(order) / s)

    def _eigenvalues(self, order: Ball) -> Ball:
        """``Y`` of the statement, for ``s k < 1``."""
        s, k, C = order - 1, self.k, self.classes
        square = order * s * k * k
        margins = -(-square / (1 + k)).log1p()
        if C == 2:
            return margins
        if self.family == "softmax":
            single = -s * k.log1p() - (-s * k).log1p()
            return larger(square / 2, single) + square / 2
        if self.family == "joint_huber":
            t = k / C
            return margins - (C - 2) * (-order * s * t * t / (1 + t)).log1p()
        raise Undecided(f"no theorem here for the family {self.family!r} with {C} classes")

    def _jacobian(self, left: Ball) -> Ball:
        """What the Jacobian takes of epsilon where ``left`` remains for the noise."""
        C, k = self.classes, self.k
        if C > 2:
            return (C - 1) * (2 * k / C).log1p()
        if self.family not in ("logistic", "softmax"):
            return k.log1p()
        a = smaller(left, left / 2 + self.shift**2 / 8)
        return slope_and_jacobian(a, 4 * k) - a

    def delta(self, epsilon: Ball) -> Ball | None:
        """``w delta_G(D, e)``, doubled below ``e = D^2/4``; ``e`` is what the Jacobian leaves."""
        if self.classes > 2 and self.family != "softmax":
            return None
        if not epsilon > 0 or not self._jacobian(ball(0)) <= epsilon:
            return None
        left = largest_within(lambda e: bool(e + self._jacobian(e) <= epsilon), epsilon)
        ends = 2 if self.family == "residual" else self.classes - 1
        factor = ends if left >= self.shift**2 / 4 else 2 * ends
        return factor * gaussian_delta(self.shift, left)


@dataclass(frozen=True)
class CurvatureCost(JacobianCost):
    """The same by a ``z`` that belongs to this ``k``."""

    kind: ClassVar[str] = "objective_gaussian_at_k"

    def _constant(self) -> Ball:
        """The smaller of the two; outside these limits no release relies on more."""
        z = super()._constant()
        return smaller(z, self._constant_here()) if self.k > 1e-6 and self.k < 1e3 else z

    def _constant_here(self) -> Ball:
        """``max(A(x), B(x))``, which holds at any ``x`` in (0, 1); the best is sought."""
        k, C = self.k, self.classes
        if self.family == "residual":
            several = ball(3).log()
        elif C == 2:
            several = ball(2).log()
        else:
            several = ball(C).log() if self.family == "softmax" else (C - 1) * ball(4).log()
        determinant = (C - 1) * (2 * k / C).log1p() / k

        def both(x: Ball) -> tuple[Ball, Ball]:
            y = self._eigenvalues(1 + x / k)
            return y / (x * (x + k)), (determinant + several / x) / (x + k)

        low, high = 0.0, 1.0
        for _ in range(48):
            middle = (low + high) / 2
            grows, falls = both(ball(middle))
            low, high = (middle, high) if grows < falls else (low, middle)
        return larger(*both(ball(low)))


@dataclass(frozen=True)
class StoppingCost(CurveCost):
    """The best of ``K`` runs, each ``rho``-zCDP; ``K`` truncated negative binomial."""

    kind: ClassVar[str] = "random_stopping"
    eta: float
    gamma: float
    run: float

    def _terms(self) -> tuple[Ball, Ball]:
        """What the choice adds at every order, and ``log E[K]``."""
        eta, gamma, rho = ball(self.eta), ball(self.gamma), ball(self.run)
        if self.eta == 0.0:
            mean = (1 / gamma - 1) / -gamma.log()
        else:
            mean = eta * (1 - gamma) / (gamma * (1 - gamma**eta))
        b = ball(max(1.0, math.sqrt(-math.log(self.gamma) / self.run)))  # any b >= 1 is valid
        choice = (1 + eta) * ((b - 1) * rho - gamma.log() / b)
        return choice, larger(mean.log(), ball(0))

    def rho(self) -> Ball:
        """The bound at its best order: it holds below, and grows more slowly than the order."""
        choice, log_mean = self._terms()
        best = ball(1.0 + math.sqrt(max(float(log_mean.mid()), 1e-30) / self.run))
        return best * ball(self.run) + choice + log_mean / (best - 1)

    def renyi(self, order: Ball) -> Ball:
        """Theorem 2; a bound at a higher order holds at this one."""
        choice, log_mean = self._terms()
        best = ball(1.0 + math.sqrt(max(float(log_mean.mid()), 1e-30) / self.run))
        at = larger(order, best)
        return at * ball(self.run) + choice + log_mean / (at - 1)


def _pure(record: dict[str, Any]) -> CurveCost:
    return PureCost(ball(record["loss"]))


def _gaussian(record: dict[str, Any]) -> CurveCost:
    return GaussianCost(ball(record["rho"]), ball(record["slack"]))


def _concentrated(record: dict[str, Any]) -> CurveCost:
    return ConcentratedCost(ball(record["rho"]), ball(record["loss"]))


def _jacobian(record: dict[str, Any], cost: type[JacobianCost] = JacobianCost) -> CurveCost:
    if record["family"] not in ("margin", "logistic", "softmax", "joint_huber", "residual"):
        raise Undecided(f"no theorem here for the family {record['family']!r}")
    return cost(record["family"], int(record["classes"]), ball(record["shift"]), ball(record["k"]))


def _curvature(record: dict[str, Any]) -> CurveCost:
    return _jacobian(record, CurvatureCost)


def _stopping(record: dict[str, Any]) -> CurveCost:
    return StoppingCost(record["eta"], record["gamma"], record["rho"])


#: Every curve that is known here; any other is undecided.
CURVES = {
    "pure": _pure,
    "gaussian": _gaussian,
    "concentrated": _concentrated,
    "objective_gaussian": _jacobian,
    "objective_gaussian_at_k": _curvature,
    "random_stopping": _stopping,
}


def curve_cost(record: dict[str, Any]) -> CurveCost:
    """The cost of a recorded curve."""
    kind = record.get("kind")
    if kind not in CURVES:
        raise Undecided(f"the curve {kind!r} is not known here")
    try:
        return CURVES[kind](record)
    except (KeyError, TypeError, ValueError) as error:
        raise Undecided(f"the curve {kind!r} is not written as it should be") from error
