"""Two private symmetric matrices as Wang, Kifer and Lee (2018) release them, for comparison.

Guarantee
---------
As in ``matrix.py``, with their constants: each matrix is a query of its own with half the budget
(Algorithm 2, Lemma 1), of sensitivity twice the largest row's contribution over ``n`` (Lemmas 2-5;
``sqrt2`` times would do), with noise on all ``p^2`` entries, symmetrized afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet._types import Array
from privet.grid import grid_exponent
from privet.losses.second_moments import joint_bound
from privet.mechanisms.gap import NEGLIGIBLE
from privet.mechanisms.matrix import (
    ROUNDING,
    MatrixDesign,
    NoisyMatrices,
    SecondMoments,
    Weighing,
)
from privet.mechanisms.output import output_curve, unit_noise
from privet.mechanisms.release import add_noise
from privet.noise import NOISES, Noise
from privet.noise.cone_noise import triangle
from privet.randomness import Randomness

THEOREM = "Wang, Kifer and Lee 2018, Lemmas 1-5"
# The Hessian's own bound: the joint one where the covariance's share vanishes.
_ALONE = 1e8


@dataclass(frozen=True)
class TwoMatrices(SecondMoments):
    """Hessian and covariance as two queries."""

    def design(self, n: int, m: int) -> MatrixDesign:
        """Noise of each query in units of its sensitivity, and the event of both."""
        return self.design_with("gaussian" if self.budget.allows_gaussian else "laplace", n, m)

    def design_with(self, kind: str, n: int, m: int) -> MatrixDesign:
        """The design for one kind of noise."""
        side = self.risk.parameters(m)
        entries = side * side
        curves = tuple(output_curve(kind, half, entries) for half in self.budget.split((1.0, 1.0)))
        unit = unit_noise(kind, curves[0], entries)
        # each row is at most one sensitivity of n: the means are at most n of them
        largest = n + unit.norm_quantile(NEGLIGIBLE) if kind == "laplace" else 0.0
        exponent = grid_exponent(unit.coordinate_sd, largest)
        widened = 1.0 + math.sqrt(2.0) * n * ROUNDING
        if kind == "gaussian":
            widened += math.ldexp(math.sqrt(entries), exponent)
        noise = NOISES[kind](unit.scale * widened, entries)
        event = self._event(kind, curves, noise, widened, n, m, THEOREM)
        return MatrixDesign(n, m, side, noise, exponent, event)

    def weigh(self, n: int, theta: Array, kind: str = "laplace") -> Weighing:
        """No choice: ``eta`` is the ratio of the two sensitivities."""
        reach = self.reach(theta)
        hessian = joint_bound(self.risk.loss, _ALONE, reach) / _ALONE
        covariance = joint_bound(self.risk.loss, 0.0, reach)
        return Weighing(covariance / hessian, 2.0 * self.risk.norm_bound**2 * covariance / n)

    def perturb(
        self,
        hessian: Array,
        covariance: Array,
        weighing: Weighing,
        design: MatrixDesign,
        randomness: Randomness,
    ) -> NoisyMatrices:
        """Each mean with noise of its own."""
        units = weighing.sensitivity / weighing.eta, weighing.sensitivity
        noisy = [
            self._noisy(matrix / unit, design, randomness) * unit
            for matrix, unit in zip((hessian, covariance), units, strict=True)
        ]
        return NoisyMatrices(noisy[0], noisy[1], weighing, self._triangular(design))

    def _noisy(self, matrix: Array, design: MatrixDesign, randomness: Randomness) -> Array:
        flat = add_noise(matrix.reshape(-1), design.noise, design.exponent, randomness)
        square = flat.reshape(design.side, design.side)
        return np.asarray((square + square.T) / 2.0)

    @staticmethod
    def _triangular(design: MatrixDesign) -> Noise:
        """The noise that is left in the triangle after symmetrizing, by its size."""
        entries = 2 * triangle(design.side)
        return NOISES["gaussian"](design.noise.coordinate_sd, entries)
