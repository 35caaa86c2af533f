"""Objective perturbation: add a random linear term to the objective, then minimize.

Guarantee
---------
Replace-one neighbors of the same size; convex loss; every coordinate penalized. The output's
density at ``f`` is ``mu(b_D(f)) det H_D(f)``, so replacing a row costs a change of noise and a
ratio of determinants (Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9). With ``a = R/scale`` and
``q = R^2/(n Lam)``, for spherical Laplace noise:

    default          Lam raised to a floor, then the smallest scale whose exact bound keeps eps
    "exact"          the same without the floor; refuses where no scale keeps eps
    "wang2018"       eps - logdet bound, over D R             (Wang, Kifer and Lee 2018, Theorem 1)
    "chaudhuri2011"  Algorithm 2 with its branch, in units of R

The exact bound is the loss's ``privacy_loss_bound(a, q)``. Gaussian noise is calibrated in
``privet.privacy.jacobian``, proved in ``gaussian_objective.proof.md``; noise shaped by a domain or
by the classes in ``shaped.py``. The gap to the exact minimum is paid for as in ``gap.py``.
Proof: ``objective.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privet._types import Array
from privet.errors import DeclarationError, InfeasibleBudget
from privet.grid import grid_exponent, round_to_grid
from privet.losses.loss import JACOBIAN_SHARE
from privet.mechanisms.gap import (
    NEGLIGIBLE,
    Reserve,
    gap_is_visible,
    largest_value,
    least_response,
    objective_gap,
    public,
    reserve,
)
from privet.mechanisms.laplace_rate import infeasible, laplace_rate
from privet.mechanisms.regularization import (
    choose_regularization,
    default_regularization,
    regularization_floor,
)
from privet.mechanisms.shaped import Shape, largest_rate, shapes, size_in_span
from privet.mechanisms.trainer import KINDS, Design, Mechanism
from privet.minimize import curvature_at, minimize, minimize_many
from privet.noise import NOISES, Noise
from privet.privacy.curves import Curve, PureCurve
from privet.privacy.event import not_private
from privet.privacy.kinds import FitEvent
from privet.randomness import Randomness
from privet.risk import RegularizedRisk
from privet.rows import Rows

CALIBRATIONS = (None, "exact", "wang2018", "chaudhuri2011")
#: Rules of papers that are not private; the repository keeps them for comparison.
REFUTED = ("chaudhuri2008", "pathak2010")
_EXACT = "privet/mechanisms/objective.proof.md (refines Chaudhuri et al. 2011, Theorem 9)"
_THEOREMS = {
    None: _EXACT,
    "exact": _EXACT,
    "wang2018": "Wang, Kifer and Lee 2018, Theorem 1",
    "chaudhuri2011": "Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9",
    "gaussian": "privet/mechanisms/gaussian_objective.proof.md",
}


@dataclass(frozen=True)
class Calibrated:
    """Total regularization, main noise and its curve; whether the calibration is a theorem."""

    regularization: float
    noise: Noise
    curve: Curve
    theorem: str
    why_not_private: str = ""
    #: how far a replaced row moves the noise in its own norm; 0 where that is Euclid's
    difference: float = 0.0


@dataclass(frozen=True)
class ObjectivePerturbation(Mechanism):
    """The minimizer of the risk plus ``<b, theta>/n``."""

    name: ClassVar[str] = "objective"

    #: the share of the budget that the Jacobian may take at the floor, with Gaussian noise
    jacobian_share: float = JACOBIAN_SHARE
    #: times the default rule's regularization, where "auto" is not the floor
    default_factor: float = 1.0
    #: whether intervals follow: they are shorter where a hinge's floor is that of a small table
    for_intervals: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0.0 < self.jacobian_share < 1.0 and 0.0 < self.default_factor < math.inf):
            raise DeclarationError("jacobian_share and default_factor must be positive shares.")
        if self.calibration in REFUTED:
            raise DeclarationError(
                f"calibration={self.calibration!r} is not private and was removed from the "
                f"library; the repository keeps it for comparison in "
                f"reproduce/{self.calibration}.py. Leave calibration=None."
            )
        if self.calibration not in CALIBRATIONS:
            names = ", ".join(repr(name) for name in CALIBRATIONS)
            raise DeclarationError(f"calibration must be one of {names}, got {self.calibration!r}.")

    @property
    def shaped(self) -> tuple[str, ...]:
        """By the loss, and by what is declared of the rows."""
        return shapes(self.loss, self.domain) if self.calibration in (None, "exact") else ()

    def design_with(self, kind: str, n: int, m: int) -> Design:
        """Regularization, noise, tolerance and grid from declarations.

        In very large tables the default rule asks for so little regularization that rounding in a
        sum over the rows, amplified by ``1/Lam``, would cost visible noise. "auto" then takes more.
        """
        design = self._design_once(kind, n, m)
        # beyond the rows' own mean curvature more regularization no longer helps
        most = design.risk.row_curvature / m
        while (
            self.regularization == "auto"
            and gap_is_visible(design)
            and design.risk.regularization < most
        ):
            more = replace(self, regularization=1.25 * design.risk.regularization)
            design = more._design_once(kind, n, m)
        return design

    def _design_once(self, kind: str, n: int, m: int) -> Design:
        kept = reserve(self.budget)
        found = self._calibrated(kind, kept, n, m)
        risk = RegularizedRisk(self.loss, found.regularization, self.norm_bound)
        center = self.center_norm(m)
        tolerance, gap = objective_gap(risk, n, m, found.noise, kept, center)
        # the least that one coordinate of b does to the release, so that the grid is fine enough
        least = found.noise.least_sd * least_response(risk, n, m)
        pulled = found.noise.norm_quantile(NEGLIGIBLE) + public(risk, n, center)
        largest = largest_value(risk, n, pulled, gap)
        event = FitEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(found.curve, kept.curve),
            noise=kind,
            scale=found.noise.scale,
            sensitivity=found.difference or risk.gradient_difference,
            share=kept.share,
            n=n,
            columns=m,
            regularization=risk.regularization,
            theorem="; for ".join(filter(None, (found.theorem, self.loss.assumption))),
            why_not_private=not_private(self.insecure_seed, found.why_not_private),
        )
        exponent = grid_exponent(least, largest)
        return Design(
            risk, n, m, found.noise, tolerance, gap, exponent, event, self.domain, self.center
        )

    # -- calibration: declarations only --------------------------------------------------------

    def _calibrated(self, kind: str, kept: Reserve, n: int, m: int) -> Calibrated:
        if kind in KINDS:
            calibrate = self._gaussian if kind == "gaussian" else self._laplace
            return calibrate(kept, n, self.loss.scores * m)
        return self._shaped(Shape(kind, self.loss, self.norm_bound, m, self.domain), kept, n)

    def _regularization(self, kind: str, noise_norm: float, n: int, largest_q: float) -> float:
        default = default_regularization(self.name, kind, self.loss, self.norm_bound, noise_norm, n)
        default *= self.default_factor
        floor = regularization_floor(self.norm_bound, n, largest_q)
        raised = floor if self.calibration is None else 0.0
        if self.regularization == "auto":
            default = max(default, floor)
        return choose_regularization(
            self.regularization, default, raised, self.loss, self.norm_bound
        )

    def _curvature_floor(self, epsilon: float, n: int) -> float:
        """The loss's own, for so many rows; before intervals as for few, with more curvature.

        Errors of predictions and lengths want different floors: with less regularization there is
        less that holds the noise across directions in which the rows hardly vary, and coefficients
        have all of it (measured, ``reproduce/interval_grid.md``: up to 2.7 times the length).
        """
        return self.loss.curvature_floor(epsilon, 1 if self.for_intervals else n)

    def _laplace(self, kept: Reserve, n: int, p: int) -> Calibrated:
        epsilon = kept.main.laplace_epsilon
        floor_q = self._curvature_floor(epsilon, n)
        difference = self.loss.difference_bound * self.norm_bound
        lam = self._regularization("laplace", p / epsilon * difference, n, floor_q)
        found = laplace_rate(self.loss, self.calibration, epsilon, n, lam, self.norm_bound)
        noise = NOISES["laplace"](self.norm_bound / found.a, p)
        return Calibrated(
            found.regularization,
            noise,
            PureCurve(epsilon),
            _THEOREMS[self.calibration],
        )

    def _shaped(self, shape: Shape, kept: Reserve, n: int) -> Calibrated:
        epsilon = kept.main.laplace_epsilon
        floor_q, free = self._curvature_floor(epsilon, n), shape.free_rate(epsilon)
        lam = self._regularization("laplace", shape.noise(free).expected_norm, n, floor_q)
        q = RegularizedRisk(self.loss, lam, self.norm_bound).relative_curvature(n)
        a = largest_rate(lambda rate: shape.bound(rate, q), free, epsilon)
        if a <= 0.0:
            raise infeasible(self.loss, epsilon, n, lam, self.norm_bound)
        return Calibrated(
            lam, shape.noise(a), PureCurve(epsilon), shape.theorem, "", shape.difference
        )

    def _gaussian(self, kept: Reserve, n: int, p: int) -> Calibrated:
        if self.calibration not in (None, "exact"):
            raise DeclarationError(
                f"calibration={self.calibration!r} is for spherical Laplace noise; with Gaussian "
                "noise use None or 'exact'."
            )
        free = kept.main.objective_shift(self.loss, 0.0)
        if free <= 0.0:
            raise InfeasibleBudget(
                f"{self.budget} is too small for Gaussian noise with this loss. Use "
                "noise='laplace', or a larger budget."
            )
        usual = kept.main.objective_floor(self.loss, self.jacobian_share)
        limit = kept.main.jacobian_limit(self.loss, self.jacobian_share)
        largest_q = usual
        if limit > self.jacobian_share and self.regularization != "auto":
            largest_q = kept.main.objective_floor(self.loss, limit)
        if largest_q <= 0.0:  # bounds of the profile underflow where mu is about 15 and more
            raise InfeasibleBudget(
                f"{self.budget} is too large for the proof of Gaussian noise in the objective. Use "
                "noise='laplace', or a smaller budget."
            )
        difference = self.loss.difference_bound * self.norm_bound
        lam = self._regularization("gaussian", math.sqrt(p) / free * difference, n, largest_q)
        q = RegularizedRisk(self.loss, lam, self.norm_bound).relative_curvature(n)
        shift = kept.main.objective_shift(self.loss, q)
        if shift <= 0.0:
            smallest = regularization_floor(self.norm_bound, n, largest_q)
            raise InfeasibleBudget(
                f"regularization = {lam:g} is too small for {self.budget} and {n} rows. "
                f"Use 'auto', or at least {smallest:g}."
            )
        curve = kept.main.objective_curve(self.loss, shift, q)
        scale = self.loss.difference_bound * self.norm_bound / shift
        return Calibrated(lam, NOISES["gaussian"](scale, p), curve, _THEOREMS["gaussian"])

    def noise_in_gradient(self, design: Design) -> float:
        """The noise is a linear term of the objective; what no row sees of it does not count."""
        return size_in_span(design.main, design.domain)

    # -- with data -----------------------------------------------------------------------------

    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """Draw ``b``, minimize to the certified gradient norm, pay for the gap, round."""
        b = design.main.sample(randomness, 1)[0] - design.shift
        found = minimize(design.risk, rows, linear=b / rows.n, tolerance=design.tolerance)
        return np.asarray(finish(found.certified()[None, :], design, randomness)[0])

    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """``k`` draws of ``b`` from one prepared optimum."""
        b = design.main.sample(randomness, k) - design.shift
        minima = Prepared(design.risk, rows).minimizers(b / rows.n, design.tolerance)
        return finish(minima, design, randomness)


class Prepared:
    """Many draws on the same rows: one optimum, one factor, then a few gradients per draw.

    The non-private optimum and its Hessian are intermediates of the curator's process. They live in
    this object only: it is never an attribute of a model, never written and never released.
    """

    def __init__(self, risk: RegularizedRisk, rows: Rows) -> None:
        self._risk, self._rows = risk, rows
        # good enough to start from; each draw is certified on its own
        loose = 1e-6 * risk.row_gradient
        self._optimum = minimize(risk, rows, tolerance=loose).certified()
        self._factor = curvature_at(risk, rows, self._optimum)

    def minimizers(self, linears: Array, tolerance: float) -> Array:
        """Certified minimizers for each row of ``linears``, shape (k, p)."""
        return minimize_many(
            self._risk,
            self._rows,
            linears,
            tolerance=tolerance,
            start=self._optimum,
            curvature=self._factor,
        )

    def __reduce__(self) -> str:
        raise TypeError("A prepared optimum is not private and is never pickled.")


def finish(minima: Array, design: Design, randomness: Randomness) -> Array:
    """Add the noise that pays for the gap and round to the public grid."""
    if design.gap is not None:
        minima = minima + design.gap.sample(randomness, len(minima))
    return round_to_grid(minima, design.exponent)
