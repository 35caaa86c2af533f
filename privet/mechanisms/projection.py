"""Predictions of a kernel minimizer on public points, released at once.

Guarantee
---------
Replace-one neighbors; ``S`` is the sensitivity of the minimizer ``w*`` in the kernel's space and
``Z`` is public. Noise is added to one of

    coordinates    of the projection of w* on span phi(Z) in an orthonormal basis: L2 sensitivity S
    predictions    <w*, phi(z)>, each with its own noise: L2 sensitivity sqrt(lambda_max(K_ZZ)) S,
                   L1 sensitivity min{|Z| R, sqrt(|Z| lambda_max)} S

The first is a function release on ``Z`` (noise with covariance ``sigma^2 K_ZZ`` on the predictions;
Hall, Rinaldo and Wasserman 2013), the second the learner of Jain and Thakurta 2013, Algorithm 2.
The rounding of the exact predictions, twice, is in each sensitivity. Gaussian noise is an exact
discrete Gaussian on the public grid; pure noise is spherical Laplace on coordinates, independent
Laplace on predictions. Proof: ``projection.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from privet._types import Array
from privet.grid import grid_exponent
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.kernel_minimizer import KernelMinimizer, KernelRelease, rounded
from privet.mechanisms.output import output_curve, unit_rate
from privet.mechanisms.release import Draw, ReleaseDesign, add_noise, grid_draw
from privet.noise import NOISES, Noise
from privet.privacy.event import not_private
from privet.privacy.kinds import ProjectionEvent
from privet.randomness import Randomness

THEOREM = {
    "coordinates": "Hall, Rinaldo and Wasserman 2013, Proposition 7",
    "predictions": "Jain and Thakurta 2013, Theorem 4",
}


@dataclass(frozen=True)
class Stretch:
    """How much longer a change of what gets noise can be than one of ``w*``; public."""

    points: int
    l2: float = 1.0
    l1: float | None = None  # None: the pure noise is spherical, for the L2 sensitivity
    basis: float = 0.0  # largest singular value of W; 0 where the predictions get the noise
    size: int = 0  # columns of W

    def rounding(self, minimizer: KernelMinimizer, *, in_l1: bool) -> float:
        """How far what is computed can be from what is meant, in the norm of the noise.

        Each prediction is off by its own rounding; ``W'`` lengthens that, and its products of
        values of size ``R C`` are rounded too.
        """
        each = minimizer.prediction_rounding
        if not self.basis:
            return each * (self.points if in_l1 else math.sqrt(self.points))
        reach = minimizer.risk.norm_bound * minimizer.norm
        product = rounded(self.points + 2.0) * math.sqrt(self.size) * (reach + each)
        return math.sqrt(self.points) * self.basis * (each + product)


def coordinate_stretch(basis: Array) -> Stretch:
    """Of noise on the coordinates ``W'<w, phi(Z)>``."""
    points, size = basis.shape
    return Stretch(points, basis=float(np.linalg.norm(basis, 2)) * (1.0 + 1e-9), size=size)


def prediction_stretch(norm_bound: float, points: int, largest_eigenvalue: float) -> Stretch:
    """Of independent noise on the predictions of ``points`` public points."""
    l2 = math.sqrt(largest_eigenvalue)
    return Stretch(points, l2, min(points * norm_bound, math.sqrt(points) * l2))


@dataclass(frozen=True)
class ProjectionDesign(ReleaseDesign):
    """Every number of the release that is fixed before a row is read."""

    minimizer: KernelMinimizer
    noise: Noise  # of each number (dimension 1), or of all of them (spherical)
    size: int
    exponent: int
    event: ProjectionEvent

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One for each number, or one for all of them."""
        return (grid_draw(self.noise, self.exponent, self.size // self.noise.dimension),)

    @property
    def numerics(self) -> str:
        """What is exact and what is idealized."""
        if self.noise.kind == "gaussian":
            kind = f"exact discrete Gaussian on the grid 2^{self.exponent}"
        else:
            kind = f"idealized numerics: floating-point Laplace rounded to 2^{self.exponent}"
        return f"{kind}; conditional on convergence of the minimizer"

    def perturb(self, values: Array, randomness: Randomness) -> Array:
        """``values`` with fresh noise on the grid. Charge the event before this."""
        return add_noise(values, self.noise, self.exponent, randomness)


@dataclass(frozen=True, kw_only=True)
class Projection(KernelRelease):
    """``size`` numbers about the minimizer on public points: coordinates or predictions."""

    name: ClassVar[str] = "projection"

    size: int
    of: Literal["coordinates", "predictions"]
    stretch: Stretch

    def design(self, n: int) -> ProjectionDesign:
        """Noise and event for ``n`` rows."""
        kind = "gaussian" if self.budget.allows_gaussian else "laplace"
        curve = output_curve(kind, self.budget, self.size)
        rate, l1 = unit_rate(curve), self.stretch.l1
        independent = kind == "gaussian" or l1 is not None
        unit = NOISES[kind](1.0 / rate, 1 if independent else self.size)
        wide = self.stretch.l2 if kind == "gaussian" or l1 is None else l1
        minimizer = self.minimizer(n, 1.0 / (unit.coordinate_sd * wide))
        in_l1 = kind != "gaussian" and l1 is not None
        lost = self.stretch.rounding(minimizer, in_l1=in_l1)
        sensitivity = wide * minimizer.sensitivity + 2.0 * lost
        scaled = replace(unit, scale=unit.scale * sensitivity)
        reach = self.stretch.l2 * minimizer.norm
        largest = reach + scaled.norm_quantile(NEGLIGIBLE) if kind == "laplace" else 0.0
        exponent = grid_exponent(scaled.coordinate_sd, largest)
        if kind == "gaussian":
            sensitivity += math.ldexp(math.sqrt(self.size), exponent)
        noise = NOISES[kind](unit.scale * sensitivity, unit.dimension)
        event = ProjectionEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(curve,),
            noise=kind,
            scale=noise.scale,
            sensitivity=sensitivity,
            n=n,
            numbers=self.size,
            regularization=minimizer.risk.regularization,
            theorem=THEOREM[self.of],
            why_not_private=not_private(self.insecure_seed),
        )
        return ProjectionDesign(minimizer, noise, self.size, exponent, event)
