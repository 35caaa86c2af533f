"""Output perturbation: minimize, then add noise to the minimizer.

Guarantee
---------
Replace-one neighbors of the same size. For a convex loss with row gradients that differ by at most
``D R`` the exact minimizers of neighbors differ by at most ``S = D R/(n Lam)`` (Chaudhuri,
Monteleoni and Sarwate 2011, Corollary 8; margins: ``D = 2 L``); minimizers known to gradient norm
``gamma`` by at most ``S + 2 gamma/Lam``. Added noise:

    pure eps       spherical Laplace, scale S/eps                    (2011, Theorem 6)
    rho-zCDP       Gaussian, S/sqrt(2 rho)                           (Bun and Steinke 2016)
    (eps, delta)   Gaussian, by the exact profile                    (Balle and Wang 2018)

Gaussian noise is an exact discrete Gaussian on the public grid; rounding to the grid widens ``S``
by ``2^j sqrt p``. Proof: ``output.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privet._types import Array
from privet.errors import DeclarationError, InfeasibleBudget
from privet.grid import grid_exponent
from privet.mechanisms.gap import largest_value, output_gap, public
from privet.mechanisms.regularization import (
    choose_regularization,
    default_regularization,
    expect_more_than_noise,
)
from privet.mechanisms.release import add_noise
from privet.mechanisms.trainer import Design, Mechanism
from privet.minimize import minimize
from privet.noise import NOISES, Noise
from privet.privacy.budget import Budget
from privet.privacy.curves import Curve, GaussianCurve, PureCurve
from privet.privacy.event import not_private
from privet.privacy.kinds import FitEvent
from privet.randomness import Randomness
from privet.risk import RegularizedRisk
from privet.rows import Rows

# How far the profile of a discrete Gaussian with 2^20 grid points per standard deviation can be
# from the continuous one's, in epsilon per coordinate (output.proof.md, step 4).
DISCRETE_SLACK = 1.5e-10
THEOREM = "Chaudhuri, Monteleoni and Sarwate 2011, Theorem 6 and Corollary 8"


@dataclass(frozen=True)
class OutputPerturbation(Mechanism):
    """The minimizer plus noise calibrated to its sensitivity."""

    name: ClassVar[str] = "output"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.calibration not in (None, "exact"):
            raise DeclarationError(
                f"Output perturbation has one calibration; got calibration={self.calibration!r}. "
                "Leave it None."
            )

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """Sensitivity and noise from declarations."""
        p = self.loss.scores * m
        curve = output_curve(kind, self.budget, p)
        # E|b_0| of the same noise in gradient units, so that one rule serves both mechanisms
        unit = unit_noise(kind, curve, p).expected_norm * self.loss.difference_bound
        default = default_regularization(
            self.name, kind, self.loss, self.norm_bound, unit * self.norm_bound, n
        )
        lam = choose_regularization(self.regularization, default, 0.0, self.loss, self.norm_bound)
        expect_more_than_noise(lam, self.loss, self.norm_bound)
        risk = RegularizedRisk(self.loss, lam, self.norm_bound)
        center = self.center_norm(m)
        tolerance, gap = output_gap(risk, n, m, center)
        sensitivity = risk.minimizer_sensitivity(n, gap)
        scale = unit_noise(kind, curve, p).scale
        noise = NOISES[kind](scale * sensitivity, p)
        largest = (
            largest_value(risk, n, public(risk, n, center), noise) if kind == "laplace" else 0.0
        )
        exponent = grid_exponent(noise.coordinate_sd, largest)
        if kind == "gaussian":
            sensitivity += math.ldexp(math.sqrt(p), exponent)
        main = NOISES[kind](scale * sensitivity, p)
        event = FitEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(curve,),
            noise=kind,
            scale=main.scale,
            sensitivity=sensitivity,
            n=n,
            columns=m,
            regularization=lam,
            theorem="; for ".join(filter(None, (THEOREM, self.loss.assumption))),
            why_not_private=not_private(self.insecure_seed),
        )
        return Design(risk, n, m, main, tolerance, None, exponent, event, self.domain, self.center)

    def noise_in_gradient(self, design: Design) -> float:
        """Noise on the minimizer times ``n Lam``: designs may differ in their regularization."""
        return design.main.expected_norm * design.n * design.risk.regularization

    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """Minimize to the certified gradient norm, add noise, round."""
        return np.asarray(self.perturb_many(rows, design, randomness, 1)[0])

    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """One minimum, ``k`` noises."""
        linear = -design.shift / design.n
        found = minimize(design.risk, rows, linear=linear, tolerance=design.tolerance)
        minimum = found.certified()
        values = np.tile(minimum, (k, 1))
        return add_noise(values, design.main, design.exponent, randomness)


def output_curve(kind: str, budget: Budget, p: int) -> Curve:
    """The curve of noise that spends exactly ``budget`` on a query of ``p`` coordinates."""
    if kind == "laplace":
        return PureCurve(budget.laplace_epsilon)
    rho = budget.gaussian_rho(DISCRETE_SLACK * p)
    if rho <= 0.0:
        raise InfeasibleBudget(
            f"{budget} is too small for {p} parameters with Gaussian noise. Use noise='laplace' "
            "or a larger epsilon."
        )
    return GaussianCurve(rho, DISCRETE_SLACK * p)


def unit_rate(curve: Curve) -> float:
    """One over the scale of the noise for a query of sensitivity 1 that costs ``curve``."""
    return math.sqrt(2.0 * curve.rho) if isinstance(curve, GaussianCurve) else curve.pure


def unit_noise(kind: str, curve: Curve, p: int) -> Noise:
    """The noise for a query of sensitivity 1 that costs ``curve``."""
    return NOISES[kind](1.0 / unit_rate(curve), p)
