"""The minimizer of a kernel risk: how far one row can move it, and how exactly it is known.

Guarantee
---------
Replace-one neighbors of the same size, any kernel with ``K(x, x) <= R^2``, a convex loss with
slope at most ``L``. In the kernel's space the exact minimizers of neighbors differ by at most
``2 L R/(n Lam)``; minimizers known to a gradient norm ``gamma`` there, by at most

    S = (2 L R/n + 2 gamma)/Lam

A duality gap bounds ``gamma``: ``gap <= g`` gives ``gamma <= sqrt(2 g Lam)``. The bound has no
dimension in it, so it feeds every way of answering (Jain and Thakurta 2013, Lemma 1; Chaudhuri,
Monteleoni and Sarwate 2011, Corollary 8). Proof: ``kernel_minimizer.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from privet._checks import positive
from privet.errors import DeclarationError
from privet.losses import Loss
from privet.mechanisms.release import Release
from privet.minimize.certificate import UNIT, minimizer_norm
from privet.privacy import Budget
from privet.risk import RegularizedRisk

#: ``gamma`` relative to what one row can do, ``2 L R/n``: it makes the noise 0.1 % larger.
RELATIVE_GAP = 5e-4
#: The solver's coefficients sum, in absolute value, to at most this many times ``L/Lam``.
COEFFICIENTS = 2.0
#: A named kernel's value is computed to this many units in the last place of ``R^2``.
KERNEL_UNITS = 1024.0
#: A gap wider than this share of the sensitivity is refused: the arithmetic cannot certify it.
LARGEST_WIDENING = 0.5


@dataclass(frozen=True)
class KernelMinimizer:
    """Public facts about the minimizer of ``n`` rows' kernel risk.

    ``minimizers`` counts how often it may be found anew for one release. Their distances to the
    exact one add up in squares (``function.proof.md``, step 5), so each is found more exactly.
    """

    risk: RegularizedRisk
    n: int
    minimizers: int = 1

    def __post_init__(self) -> None:
        if self.widening > LARGEST_WIDENING:
            raise DeclarationError(
                f"regularization = {self.risk.regularization:g} is too small for double precision "
                f"with {self.n} rows: the minimizer cannot be certified. Use a larger one."
            )

    @property
    def rounding(self) -> float:
        """How far the computed gradient can be from the exact one (worst case, Higham 2002).

        A score is a sum of ``n`` products with kernel values that are themselves known to
        ``KERNEL_UNITS``, off by ``gamma_{n + 1024} R^2 |beta|_1`` at most; it moves a row's slope
        by ``c`` times that, and the mean gradient by ``R`` times that.
        """
        terms = rounded(self.n + KERNEL_UNITS)
        size = COEFFICIENTS * self.risk.row_gradient / self.risk.regularization
        offsets = self.risk.loss.curvature_bound * self.risk.loss.offset * self.risk.norm_bound
        return terms * self.risk.row_curvature * size + 16.0 * UNIT * (
            self.risk.row_gradient + offsets
        )

    @property
    def tolerance(self) -> float:
        """The gradient norm that the solver must certify."""
        wanted = RELATIVE_GAP * self.risk.gradient_difference / self.n / math.sqrt(self.minimizers)
        return max(wanted - self.rounding, 2.0 * self.rounding)

    @property
    def sensitivity(self) -> float:
        """``S``: largest distance between two neighbors' computed minimizers."""
        gap = math.sqrt(self.minimizers) * (self.tolerance + self.rounding)
        return self.risk.minimizer_sensitivity(self.n, gap)

    @property
    def widening(self) -> float:
        """The share of the sensitivity that the gap adds."""
        return self.sensitivity / self.risk.minimizer_sensitivity(self.n) - 1.0

    @property
    def score_sensitivity(self) -> float:
        """``R S``: largest change of one prediction, with the rounding of both of its values."""
        return self.risk.norm_bound * self.sensitivity + 2.0 * self.prediction_rounding

    @property
    def prediction_rounding(self) -> float:
        """How far a computed prediction ``sum_j beta_j K(z, x_j)`` can be from the exact one."""
        size = COEFFICIENTS * self.risk.loss.row_gradient_bound / self.risk.regularization
        return rounded(self.n + KERNEL_UNITS) * self.risk.norm_bound**2 * size

    @property
    def norm(self) -> float:
        """``C``: no minimizer is longer than ``min{L R/Lam, sqrt(2 l(0)/Lam)}``, plus the gap."""
        gap = (self.tolerance + self.rounding) / self.risk.regularization
        return minimizer_norm(self.risk, self.n, 0.0) + gap

    @property
    def gap(self) -> float:
        """The duality gap that the tolerance is equal to, ``gamma^2/(2 Lam)``."""
        return self.tolerance**2 / (2.0 * self.risk.regularization)


@dataclass(frozen=True, kw_only=True)
class KernelRelease(Release):
    """What every way of answering from a kernel minimizer declares."""

    loss: Loss
    budget: Budget
    norm_bound: float  # the root of the kernel's bound on K(x, x)
    regularization: float | Literal["auto"] = "auto"
    insecure_seed: int | None = None

    def minimizer(self, n: int, shift: float, minimizers: int = 1) -> KernelMinimizer:
        """At the declared regularization, or at the rule's for ``shift = S/sigma``."""
        if self.regularization == "auto":
            bound = self.loss.row_gradient_bound * self.norm_bound**2
            lam = auto_regularization(bound, shift, n)
        else:
            lam = positive("regularization", self.regularization)
        return KernelMinimizer(RegularizedRisk(self.loss, lam, self.norm_bound), n, minimizers)


def rounded(terms: float) -> float:
    """``gamma_k = k u/(1 - k u)``: the relative error of a sum of ``k`` products (Higham 2002)."""
    return terms * UNIT / (1.0 - terms * UNIT)


def auto_regularization(risk_bound: float, shift: float, n: int) -> float:
    """The public rule ``Lam = 2 L R^2/(n D a)``: a prediction's noise is ``a`` = 0.1.

    ``risk_bound`` is ``L R^2`` and ``shift = D = S/sigma`` what the budget allows. It obeys the
    unit law: features times ``c``, kernel times ``c^2``, ``Lam`` times ``c^2``.
    """
    return 2.0 * risk_bound / (n * shift * TARGET_NOISE)


#: The standard deviation of a prediction that the rule aims at; margins are about one.
TARGET_NOISE = 0.1
