"""The price of a near-minimum.

The theorems speak of the exact minimizer; a computer stops at ``|grad J| <= gamma``, within
``gamma/Lam`` of it. That gap is a function of the rows with sensitivity ``2 gamma/Lam``. Objective
perturbation pays for it with a small reserved share of the budget and extra output noise:

    pure, (eps, delta)   eps_out = eps/100   spherical Laplace, scale 2 gamma/(Lam eps_out)
    zCDP                 rho_out = rho/1000  Gaussian, scale 2 gamma/(Lam sqrt(2 rho_out))

Output perturbation widens its sensitivity instead. ``gamma`` includes a public bound on rounding in
the computed gradient, and is chosen so that the extra noise stays under one per cent of what the
main noise does to the release at least. Proof: ``gap.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet.mechanisms.trainer import Design
from privet.minimize import minimizer_norm, rounding_floor
from privet.noise import NOISES, Noise
from privet.privacy.budget import Budget
from privet.privacy.curves import Curve, GaussianCurve, PureCurve
from privet.risk import RegularizedRisk

SHARES = {"epsilon": 0.01, "rho": 0.001, "mu": 0.001}
# The largest tolerance, relative to L R; the size of the extra noise asks for less where it must.
LARGEST_TOLERANCE = 1e-10
# The extra noise may be this large relative to the least effect of the main noise.
RELATIVE_NOISE = 0.01
# A noise norm above its quantile at this tail probability does not occur.
NEGLIGIBLE = 1e-18
# Extra noise of less than this share of the main noise's effect is not worth a larger ridge.
VISIBLE = 0.1


@dataclass(frozen=True)
class Reserve:
    """A budget cut in two: what the main noise may use, and what the gap costs."""

    main: Budget
    curve: Curve
    share: float

    @property
    def kind(self) -> str:
        """The kind of noise that pays for the gap."""
        return "gaussian" if isinstance(self.curve, GaussianCurve) else "laplace"

    def gap_noise(self, sensitivity: float, dimension: int) -> Noise:
        """The noise that hides a function of this sensitivity within the reserved share."""
        if isinstance(self.curve, GaussianCurve):
            return NOISES["gaussian"](sensitivity / math.sqrt(2.0 * self.curve.rho), dimension)
        return NOISES["laplace"](sensitivity / self.curve.pure, dimension)


def reserve(budget: Budget) -> Reserve:
    """Set the gap's share of ``budget`` aside."""
    share = SHARES[budget.amount_name]
    main, out = budget.set_aside(share)
    # the gap's noise is a single mechanism: Gaussian where it is paid in rho
    curve = GaussianCurve(out.gaussian_rho()) if out.allows_gaussian else PureCurve(out.amount)
    return Reserve(main, curve, 1.0 - share)


def largest_value(risk: RegularizedRisk, n: int, objective: float, added: Noise) -> float:
    """What the norm of a release does not exceed: the minimizer's bound and the added noise.

    ``objective`` bounds the norm of a linear term's ``b``; the noise is bounded by its quantile.
    """
    return minimizer_norm(risk, n, objective) + added.norm_quantile(NEGLIGIBLE)


def least_response(risk: RegularizedRisk, n: int, m: int) -> float:
    """``1/(n (Lam + c R^2/m))``: least mean response of the minimizer to ``b``."""
    return 1.0 / (n * (risk.regularization + risk.row_curvature / m))


def objective_gap(
    risk: RegularizedRisk, n: int, m: int, main: Noise, kept: Reserve, center: float = 0.0
) -> tuple[float, Noise]:
    """Tolerance of the minimizer and the extra noise, for objective perturbation.

    ``center`` is the norm of the public point that the ridge pulls to, a linear term of
    ``n Lam center``.

    The Hessian of the mean loss has trace at most ``K c R^2``, so its ``p = K m`` eigenvalues
    average at most ``c R^2/m`` and an isotropic ``b`` moves the minimizer, in root mean square, by
    at least ``|b|/(n (Lam + c R^2/m))`` (Jensen). Of noise whose coordinates differ the smallest
    counts.
    """
    p = risk.parameters(m)
    rounding = rounding_floor(n, m, risk, main.norm_quantile(NEGLIGIBLE) + public(risk, n, center))
    mean = min(main.expected_norm, math.sqrt(p) * main.least_sd)
    least_effect = mean * least_response(risk, n, m)
    unit = kept.gap_noise(2.0 / risk.regularization, p).expected_norm
    wanted = RELATIVE_NOISE * least_effect / unit
    tolerance = max(min(LARGEST_TOLERANCE * risk.row_gradient, wanted) - rounding, 2.0 * rounding)
    sensitivity = 2.0 * (tolerance + rounding) / risk.regularization
    return tolerance, kept.gap_noise(sensitivity, p)


def public(risk: RegularizedRisk, n: int, center: float) -> float:
    """``n Lam |c|``: the norm of the linear term that a ridge around ``c`` amounts to."""
    return n * risk.regularization * center


def output_gap(risk: RegularizedRisk, n: int, m: int, center: float = 0.0) -> tuple[float, float]:
    """Tolerance, and the gradient norm to widen the sensitivity by, for output perturbation."""
    rounding = rounding_floor(n, m, risk, public(risk, n, center))
    wanted = 1e-4 * risk.gradient_difference / n
    tolerance = max(min(LARGEST_TOLERANCE * risk.row_gradient, wanted) - rounding, 2.0 * rounding)
    return tolerance, tolerance + rounding


def rounding_of(design: Design) -> float:
    """How far the computed gradient may be from the exact one; public.

    With a center the linear term is longer by ``n Lam |c|``, as in ``objective_gap``.
    """
    objective = 0.0 if design.gap is None else design.main.norm_quantile(NEGLIGIBLE)
    pulled = public(design.risk, design.n, math.hypot(*(design.center or (0.0,))))
    return rounding_floor(design.n, design.m, design.risk, objective + pulled)


def gap_is_visible(design: Design) -> bool:
    """Whether the gap's noise passes a tenth of what the main noise does; public.

    Between the least that it does to any table and the most, ``|b|/(n Lam)``, the geometric mean
    is taken: the least is for rows that are as spread out as rows can be.
    """
    if design.gap is None:
        return False
    least = least_response(design.risk, design.n, design.m)
    most = 1.0 / (design.n * design.risk.regularization)
    return design.gap.expected_norm > VISIBLE * design.main.expected_norm * math.sqrt(least * most)
