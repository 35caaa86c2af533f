"""The matrices behind intervals, from what a fit at the same parameters left of one budget.

Guarantee
---------
Replace-one neighbors of the same size ``n``, logistic loss, a fit by objective perturbation with
noise of a pure law and claim ``e_fit``, then the pair ``(eta H, M)`` of ``matrix.py`` at the
released parameters with noise by the nuclear norm. A row that pushes the fit hardest has the slope
1 there, and no curvature; one that pushes the matrices hardest has a slope near 0.6. No row does
both. The unit of the noise is therefore chosen, after the parameters are public, so that the fit's
loss at the slopes of any two rows and the matrices' at the same slopes never exceed
``e_fit + e_matrices`` together. The matrices alone, given the parameters, may cost more than
``e_matrices``: fit and matrices are **one** pure release, and the event cannot be composed but with
the fit's, as one number. Proof: ``matrix_beside.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import expit

from privet._types import Array
from privet.errors import DeclarationError
from privet.losses import Logistic
from privet.losses.second_moments import trace_bound
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.matrix import FAR, HESSIAN_PRICE, MatrixDesign, SecondMoments, Weighing
from privet.mechanisms.trainer import Design
from privet.noise import ConeLaplace
from privet.privacy.kinds import MatrixBesideFitEvent, MatrixEvent

THEOREM = "privet/mechanisms/matrix_beside.proof.md"
#: laws whose log-density moves by a row's slope times the rate
LAWS = ("laplace", "product", "hull", "grouped")
#: the function of the slope is concave from 1 on; beyond 16 the covariance drowns
ETAS = tuple(np.geomspace(1.0, 16.0, 25).tolist())
#: taken off what Newton's steps find
SAFE = 1e-9


@dataclass(frozen=True)
class FitLoss:
    """What replacing a row does to a released fit, by the rows' slopes there: public numbers.

    A row of slope ``t`` that leaves costs ``a t + log(1 + q t (1 - t))``, one that enters ``a t``.
    """

    a: float
    q: float  # a row's squared norm over n Lam
    claimed: float  # that no two rows' costs exceed together
    off: float  # between a slope at the released parameters and at the exact minimum, at most

    @property
    def blurred(self) -> float:
        """What the fit may cost more at the exact minimum than by slopes at the released one."""
        return (2.0 * self.a + self.q) * self.off


@dataclass(frozen=True)
class MomentsBesideFit(SecondMoments):
    """The private pair of matrices of one risk, beside the fit that was released with it."""

    name: ClassVar[str] = "matrix_beside_fit"
    event_kind: ClassVar[type[MatrixEvent]] = MatrixBesideFitEvent
    cone_theorem: ClassVar[str] = THEOREM

    fit: FitLoss | None = None

    def __post_init__(self) -> None:
        if self.fit is None or not fits_beside(self, self.fit):
            raise DeclarationError(
                "Matrices beside a fit need its public losses, a pure epsilon and logistic loss."
            )

    @property
    def beside(self) -> FitLoss:
        """Of the fit."""
        assert self.fit is not None  # refused above
        return self.fit

    @property
    def reduction(self) -> float:
        """The unit is at least the sensitivity over this: two equal rows may cost all there is."""
        return (self.beside.claimed + self.budget.amount) / self.budget.amount

    def design(self, n: int, m: int) -> MatrixDesign:
        """By the nuclear norm: the proof is for that."""
        return self.design_with(ConeLaplace.kind, n, m)

    def weigh(self, n: int, theta: Array, kind: str = ConeLaplace.kind) -> Weighing:
        """``eta`` by declarations alone, and the unit at the released parameters."""
        eta = best_eta(self.beside, self.budget.amount)
        return Weighing(eta, self._unit(eta, n, self.reach(theta), kind))

    def best_far_eta(self, kind: str) -> float:
        """The same for parameters of any length."""
        return best_eta(self.beside, self.budget.amount)

    def _unit(self, eta: float, n: int, reach: float, kind: str) -> float:
        epsilon = self.budget.amount
        rate = pair_rate(self.beside, epsilon, eta, float(expit(reach)))
        return self.risk.norm_bound**2 * epsilon / (rate * n)


def fits_beside(moments: SecondMoments, fit: FitLoss) -> bool:
    """Whether a row's slope and curvature are ``t`` and ``t (1 - t)``, and little is blurred."""
    pure = moments.budget.kind == "pure" and isinstance(moments.risk.loss, Logistic)
    return pure and fit.blurred < moments.budget.amount / 2.0


def fit_loss(design: Design) -> FitLoss | None:
    """Of a fit that the proof is for; None of others."""
    event, gap = design.event, design.gap
    known = event.mechanism == "objective" and event.noise in LAWS
    if not known or gap is None or event.claim.kind != "pure":
        return None
    main, out = (curve.pure for curve in event.curves)
    risk = design.risk
    # the scale of the gap's noise is 2 distance/out; then the release is rounded to its grid
    distance = gap.scale * out / 2.0 + gap.norm_quantile(NEGLIGIBLE)
    distance += math.ldexp(math.sqrt(design.parameters), design.exponent)
    return FitLoss(
        event.sensitivity / (2.0 * event.scale),
        risk.relative_curvature(design.n),
        main,
        risk.norm_bound * distance / 4.0,
    )


def beside_fit(moments: SecondMoments, design: Design) -> SecondMoments:
    """The matrices of one budget with a fit: beside it where that is proved and less noisy."""
    fit = fit_loss(design)
    if fit is None or not fits_beside(moments, fit):
        return moments
    found = MomentsBesideFit(
        moments.risk, moments.budget, moments.insecure_seed, moments.why_not_private, fit
    )
    n, m = design.n, design.m
    return min((moments, found), key=lambda each: each.far_error(each.design(n, m)))


def pair_rate(fit: FitLoss, epsilon: float, eta: float, steepest: float) -> float:
    """The largest ``c`` that keeps the promise for slopes up to ``steepest``, from below.

        max_t {a t + log(1 + q t (1 - t)) + c w(t)} + max_t {a t + c w(t)} <= claimed + epsilon
        w(t) = t (eta (1 - t) + t)

    All terms are concave in ``t`` for ``eta >= 1``. The left side is convex in ``c`` and grows, so
    Newton's steps from above stay above and fall to the root.
    """
    a, q = fit.a, fit.q
    whole = fit.claimed + epsilon - fit.blurred
    c = whole / trace_bound(Logistic(), eta, FAR)
    for _ in range(100):
        leaves, enters = (peak(a, of_row, c, eta, steepest) for of_row in (q, 0.0))
        cost = a * (leaves + enters) + math.log1p(q * leaves * (1.0 - leaves))
        more = sum(t * (eta * (1.0 - t) + t) for t in (leaves, enters))
        step = (cost + c * more - whole) / more
        c -= step
        if step <= 1e-12 * c:
            break
    return c * (1.0 - SAFE)


def peak(a: float, q: float, c: float, eta: float, end: float) -> float:
    """Where the concave ``a t + log(1 + q t (1 - t)) + c w(t)`` is largest in [0, ``end``]."""

    def slope(t: float) -> float:
        jacobian = q * (1.0 - 2.0 * t) / (1.0 + q * t * (1.0 - t))
        return a + jacobian + c * (eta - 2.0 * (eta - 1.0) * t)

    if slope(end) >= 0.0:
        return end
    low, high = 0.0, end
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return low


@lru_cache(maxsize=256)
def best_eta(fit: FitLoss, epsilon: float) -> float:
    """The ``eta`` with the smallest predicted error for long parameters."""

    def cost(eta: float) -> float:
        return math.sqrt(HESSIAN_PRICE / eta**2 + 1.0) / pair_rate(fit, epsilon, eta, 1.0)

    return float(min(ETAS, key=cost))
