"""What to expect roughly of an even table, one whose columns all vary alike: no theorems.

How much a table damps noise, and how far its own coefficients scatter from sample to sample,
depends on its curvature, which a plan must not look at. Public facts bound its mean over directions
by ``c R^2/m``; an even table is taken to have a tenth of that in every direction,

    kappa = 0.1 c R^2/m,   tau^2 = 0.1 min(c, L^2/K) R^2/m

(``tau^2`` the variance of a row's gradient per coordinate; for a correct probability model it
equals the curvature). On the embedded census table with 105 columns the mean over directions was
between 0.03 and 0.2 for epsilon from 3 to 0.1. But real tables are not even: a category that few
rows have is hardly curved at all, and its coefficient moves up to ``(Lam + kappa)/Lam`` times as
far. On one-hot tables these numbers are three to four times too small for most coefficients; what
holds for every table is ``bounds.coefficient_noise``. To first order a coefficient has

    sampling sd = tau/(sqrt n (Lam + kappa)),   noise sd = sd(b)/(n (Lam + kappa))

with objective perturbation (Wang, Kifer and Lee 2018, with ``H = (Lam + kappa) I``): the two meet
where ``sd(b) = tau sqrt n``, whatever the curvature. Output perturbation has the sd of its noise.
Regularization shrinks an even table's model by ``kappa/(Lam + kappa)``, and its noise with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from privet.mechanisms import Design
from privet.risk import RegularizedRisk

#: an even table's curvature, relative to the largest mean over directions
TYPICAL_SHARE = 0.1
#: noise relative to the largest coefficients of an even table: up to here, and from here on
COMFORTABLE, HOPELESS = 0.002, 0.1
RULE = (
    "Rule: the noise-to-signal ratio is the mean norm of the noise over that of the longest "
    "coefficient vector, both for an even table (its curvature cancels); comfortable up to "
    f"{COMFORTABLE:g}, hopeless from {HOPELESS:g}."
)


@dataclass(frozen=True)
class Typical:
    """First-order sizes for an even table.

    Standard deviations of a coefficient from sampling and from noise; of the score of a row at the
    norm bound from noise, as released and with the regularizer's shrinkage undone; and the expected
    noise norm over ``L R/(Lam + kappa)``, the longest coefficient vector that an even table has.
    """

    curvature: float
    sampling_sd: float
    noise_sd: float
    score_noise: float
    unshrunk_score_noise: float
    noise_to_signal: float

    def half_width(self, level: float = 0.95) -> float:
        """Half-width of a coefficient's interval from sampling and noise, as if both normal."""
        return float(ndtri((1.0 + level) / 2.0)) * math.hypot(self.sampling_sd, self.noise_sd)

    @property
    def verdict(self) -> str:
        """``comfortable``, ``tight`` or ``hopeless``; see ``RULE``."""
        if self.noise_to_signal <= COMFORTABLE:
            return "comfortable"
        return "tight" if self.noise_to_signal < HOPELESS else "hopeless"


def typical_curvature(risk: RegularizedRisk, m: int) -> float:
    """``kappa = 0.1 c R^2/m``."""
    return TYPICAL_SHARE * risk.row_curvature / m


def gradient_sd(risk: RegularizedRisk, m: int) -> float:
    """``tau``: one coordinate of a row's gradient, ``sqrt(0.1 min(c, L^2/K) R^2/m)``."""
    loss = risk.loss
    variance = min(loss.curvature_bound, loss.row_gradient_bound**2 / loss.scores)
    return risk.norm_bound * math.sqrt(TYPICAL_SHARE * variance / m)


def typical(design: Design) -> Typical:
    """The sizes for an even table under this design."""
    risk, n = design.risk, design.n
    kappa = typical_curvature(risk, design.m)
    total = risk.regularization + kappa
    response = 1.0 if design.gap is None else 1.0 / (n * total)
    noise_sd = design.main.coordinate_sd * response
    return Typical(
        curvature=kappa,
        sampling_sd=gradient_sd(risk, design.m) / (math.sqrt(n) * total),
        noise_sd=noise_sd,
        score_noise=risk.norm_bound * noise_sd,
        unshrunk_score_noise=risk.norm_bound * noise_sd * total / kappa,
        noise_to_signal=design.main.expected_norm * response * total / risk.row_gradient,
    )
