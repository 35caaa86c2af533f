"""Learning from points at which a guess is most wrong, drawn privately.

Guarantee
---------
Replace-one neighbors; every prediction changes by at most ``s``. Each of ``B`` rounds draws a
point ``z`` with density proportional to ``exp(eps0 |<phi(z), w - w*>|/(2 s))`` (the exponential
mechanism) and releases ``<w*, phi(z)>`` with noise; ``w`` is then corrected, which is
post-processing.

    pure      B (eps0 + eps2)            answers with Lap(s/eps2)
    zCDP      B (eps0^2/8 + rho2)        answers with Gaussian noise, s/sqrt(2 rho2)

(Jain and Thakurta 2013, Algorithm 3, with its numeric answers charged and the exponential mechanism
counted by its bounded range: Cesar and Rogers 2021.) For the linear kernel the point is drawn from
the whole ball, exactly; for others from a declared net. Proof: ``distinguishing.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import gammainccinv

from privet._checks import is_whole, probability
from privet._types import Array
from privet.errors import DeclarationError
from privet.grid import grid_exponent
from privet.mechanisms.function import function_shift
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.kernel_minimizer import KernelMinimizer, KernelRelease
from privet.mechanisms.release import Draw, ReleaseDesign, add_noise, draw, grid_draw
from privet.mechanisms.selection import noisy_max
from privet.noise import NOISES, Gumbel, Noise
from privet.privacy import Budget
from privet.privacy.event import not_private
from privet.privacy.kinds import DistinguishingEvent
from privet.randomness import Randomness

MOST_ROUNDS = 100_000
THEOREM = "Jain and Thakurta 2013, Theorem 7; McSherry and Talwar 2007; Cesar and Rogers 2021"


@dataclass(frozen=True)
class Space:
    """What points are drawn from: a ball of ``dimension``, or a net of ``points``."""

    dimension: int
    points: int = 0  # 0: the whole ball

    def shortfall(self, rate: float, failure: float) -> float:
        """How far below the largest score a draw from ``exp(rate score)`` is, at most.

        Ball: ``1 - s`` along the best direction is below a Gamma((d+1)/2, 1/(rate |u|)) variate. A
        net: ``log(points/failure)/rate``.
        """
        if self.points:
            return math.log(self.points / failure) / rate
        return float(gammainccinv((self.dimension + 1) / 2.0, failure)) / rate


@dataclass(frozen=True)
class DistinguishingDesign(ReleaseDesign):
    """Every number of the release that is fixed before a row is read."""

    minimizer: KernelMinimizer
    space: Space
    rounds: int
    epsilon: float  # eps0 of one draw
    numeric: Noise
    slack: float  # corrections smaller than this are noise and are left out
    error: float  # bound on the largest remaining error, with probability 1 - beta
    exponent: int
    event: DistinguishingEvent

    @property
    def rate(self) -> float:
        """``eps0/(2 s)``: the draw's density is ``exp(rate |error|)``."""
        return self.epsilon / (2.0 * self.minimizer.score_sensitivity)

    @property
    def selection(self) -> Gumbel:
        """The noise of one choice from the net: the exponential mechanism at ``eps0``."""
        scale = 2.0 * self.minimizer.score_sensitivity / self.epsilon
        return Gumbel(scale, self.space.points)

    @property
    def constants(self) -> dict[str, Any]:
        """How many rounds there are, and the epsilon at which a point is drawn."""
        return {"rounds": self.rounds, "point_epsilon": self.epsilon}

    @property
    def draws(self) -> tuple[Draw, ...]:
        """In each round a point, then the answer there."""
        if self.space.points:
            point = replace(draw(self.selection), choice=True, exact=True)
        else:
            scale = 1.0 / (self.rate * self.minimizer.risk.norm_bound)
            point = Draw(InBall.kind, scale, self.space.dimension, choice=True)
        return (point, grid_draw(self.numeric, self.exponent)) * self.rounds

    @property
    def numerics(self) -> str:
        """What is exact and what is idealized."""
        return (
            "idealized numerics: floating-point draws of points; answers on the grid "
            f"2^{self.exponent}; conditional on convergence of the minimizer"
        )

    def choose(self, scores: Array, randomness: Randomness) -> int:
        """The place of a large score on the net, by the exponential mechanism at ``eps0``."""
        return noisy_max(scores, self.selection, randomness)

    def point(self, error: Array, randomness: Randomness) -> Array:
        """A point ``z`` of the whole ball with density ``exp(rate |<z, error>|)``."""
        radius = self.minimizer.risk.norm_bound
        return radius * draw_in_ball(error, self.rate * radius, randomness)

    def release(self, value: float, randomness: Randomness) -> float:
        """An exact prediction with fresh noise, on the grid."""
        return float(add_noise(np.array([value]), self.numeric, self.exponent, randomness)[0])


@dataclass(frozen=True)
class Round:
    """What one of ``rounds`` equal rounds is given: half for the draw, half for the answer."""

    kind: Literal["laplace", "gaussian"]
    total: float
    rounds: int

    @property
    def epsilon(self) -> float:
        """``eps0``: pure ``eps/(2 B)``, zCDP ``sqrt(8 rho/(2 B))``."""
        if self.kind == "laplace":
            return self.total / (2.0 * self.rounds)
        return math.sqrt(4.0 * self.total / self.rounds)

    @property
    def numeric_scale(self) -> float:
        """Noise of an answer for ``s = 1``: ``2 B/eps``, or ``sqrt(B/rho)``."""
        if self.kind == "laplace":
            return 2.0 * self.rounds / self.total
        return math.sqrt(self.rounds / self.total)


@dataclass(frozen=True, kw_only=True)
class Distinguishing(KernelRelease):
    """Points at which a guess is most wrong, drawn in ``rounds``, and noisy answers at them."""

    name: ClassVar[str] = "distinguishing"

    space: Space
    rounds: int | Literal["auto"] = "auto"
    failure_probability: float = 0.05

    def __post_init__(self) -> None:
        probability("failure_probability", self.failure_probability)

    def design(self, n: int) -> DistinguishingDesign:
        """The number of rounds that makes the error bound smallest, and what each of them costs."""
        kind, total = _total(self.budget)
        shift = total if kind == "laplace" else function_shift(self.budget)
        minimizer = self.minimizer(n, shift)

        def errors(count: int) -> tuple[float, float]:
            each = Round(kind, total, count)
            return _errors(minimizer, each, self.space, self.failure_probability)

        best = min(_counts(), key=lambda count: errors(count)[1])
        each = Round(kind, total, best if self.rounds == "auto" else _declared(self.rounds))
        s = minimizer.score_sensitivity
        numeric = NOISES[kind](each.numeric_scale * s, 1)
        reach = minimizer.norm * self.norm_bound
        largest = reach + numeric.norm_quantile(NEGLIGIBLE) if kind == "laplace" else 0.0
        exponent = grid_exponent(numeric.coordinate_sd, largest)
        if kind == "gaussian":
            numeric = NOISES[kind](each.numeric_scale * (s + math.ldexp(1.0, exponent)), 1)
        event = DistinguishingEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(self.budget.mixed_curve,),
            noise="exponential-mechanism and " + kind,
            scale=numeric.scale,
            sensitivity=s,
            n=n,
            dimension=self.space.dimension,
            regularization=minimizer.risk.regularization,
            theorem=THEOREM,
            why_not_private=not_private(self.insecure_seed),
        )
        found = (each.rounds, each.epsilon, numeric, *errors(each.rounds), exponent, event)
        return DistinguishingDesign(minimizer, self.space, *found)


def _declared(rounds: int) -> int:
    if not is_whole(rounds) or not 1 <= rounds <= MOST_ROUNDS:
        raise DeclarationError(f"rounds must be 'auto' or from 1 to {MOST_ROUNDS}, got {rounds!r}.")
    return rounds


def _counts() -> list[int]:
    """Numbers of rounds to choose from: all small ones, then about ten per cent apart."""
    found = {round(1.1**power) for power in range(121)}
    return sorted(count for count in found if count <= MOST_ROUNDS)


def _errors(
    minimizer: KernelMinimizer, each: Round, space: Space, failure: float
) -> tuple[float, float]:
    """``2 nu`` below which a correction is left out, and the error after the last round.

    With probability ``1 - beta`` every answer is within ``nu`` and every draw within its shortfall
    of the best. A round at error ``e >= 2 (shortfall + 3 nu)`` then shortens ``|w - w*|^2`` by at
    least ``(3/4) (e/2)^2/R^2``, so ``e <= max{2 (shortfall + 3 nu), sqrt(16/3) C R/sqrt B}`` in
    some round (linear kernel: in the last).
    """
    s, part = minimizer.score_sensitivity, failure / (2.0 * each.rounds)
    nu = NOISES[each.kind](each.numeric_scale * s, 1).norm_quantile(part)
    short = space.shortfall(each.epsilon / (2.0 * s), part)
    reach = minimizer.norm * minimizer.risk.norm_bound
    return 2.0 * nu, max(2.0 * (short + 3.0 * nu), math.sqrt(16.0 / (3.0 * each.rounds)) * reach)


def _total(budget: Budget) -> tuple[Literal["laplace", "gaussian"], float]:
    whole = budget.mixed_curve
    return ("laplace", whole.pure) if math.isfinite(whole.pure) else ("gaussian", whole.zcdp)


def draw_in_ball(u: Array, rate: float, randomness: Randomness) -> Array:
    """A point of the unit ball with density proportional to ``exp(rate |<z, u>|)``, exactly."""
    return np.asarray(randomness.draw(InBall(u, rate), 1)[0])


@dataclass(frozen=True)
class InBall:
    """Density proportional to ``exp(rate |<z, u>|)`` on the unit ball.

    The coordinate ``t`` along ``u`` has density ``exp(lam |t|) (1 - t^2)^k``, ``lam = rate |u|``,
    ``k = (d-1)/2``; the rest is uniform in the ball of radius ``sqrt(1 - t^2)``.
    """

    kind: ClassVar[str] = "ball"
    u: Array
    rate: float

    @property
    def scale(self) -> float:
        """``1/rate``."""
        return 1.0 / self.rate

    @property
    def dimension(self) -> int:
        """Of the ball."""
        return len(self.u)

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Points one by one."""
        return np.stack([_point(self.u, self.rate, randomness) for _ in range(k)])


def _point(u: Array, rate: float, randomness: Randomness) -> Array:
    d, length = len(u), float(np.linalg.norm(u))
    t = _height(rate * length, d, randomness)
    sign = 1.0 if randomness.words((1,))[0] & np.uint64(1) else -1.0
    axis = np.eye(d)[0] if length == 0.0 else u / length
    rest = randomness.normals((d,))
    rest -= (rest @ axis) * axis
    radius = math.sqrt(max(1.0 - t * t, 0.0))
    if d > 1:
        share = _unit(randomness) ** (1.0 / (d - 1))
        rest *= radius * share / float(np.linalg.norm(rest))
    return np.asarray(sign * t * axis + rest)


def _height(lam: float, d: int, randomness: Randomness) -> float:
    """``t`` in [0, 1] with density ``exp(lam t) (1 - t^2)^k``, by rejection.

    With ``v = 1 - t``: ``v^k exp(-lam v) (2 - v)^k``. The last factor lies below its tangent at
    ``v0`` in logarithms, so Gamma(k + 1) with rate ``lam + k/(2 - v0)`` is an envelope; ``v0``, the
    mode of both, accepts about every third draw or more, in every dimension.
    """
    k = (d - 1) / 2.0
    if d == 1:
        return _truncated_exponential(lam, randomness)
    v0 = 2.0 * k / (lam + k + math.hypot(lam, k))
    while True:
        v = _half_gamma(d + 1, randomness) / (lam + k / (2.0 - v0))
        if v > 1.0:
            continue
        ratio = k * (math.log((2.0 - v) / (2.0 - v0)) + (v - v0) / (2.0 - v0))
        if math.log(_unit(randomness)) <= ratio:
            return 1.0 - v


def _truncated_exponential(lam: float, randomness: Randomness) -> float:
    """Density ``exp(lam t)`` on [0, 1], by its inverse."""
    p = _unit(randomness)
    return p if lam < 1e-9 else 1.0 + math.log1p(-(1.0 - p) * -math.expm1(-lam)) / lam


def _half_gamma(twice: int, randomness: Randomness) -> float:
    """Gamma with shape ``twice/2``: exponentials, and half the square of a normal."""
    total = float(randomness.gammas(1, twice // 2)[0]) if twice >= 2 else 0.0
    if twice % 2:
        total += 0.5 * float(randomness.normals((1,))[0]) ** 2
    return total


def _unit(randomness: Randomness) -> float:
    return math.exp(-float(randomness.gammas(1, 1)[0]))
