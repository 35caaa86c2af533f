"""Least squares from noisy second moments of rows and targets.

Guarantee
---------
Replace-one neighbors of the same size ``n``; rows of norm at most ``R``; targets ``t`` in [-1, 1].
The query is the mean of ``u u^T`` over the rows, ``u = (x/R, w t)/sqrt(1 + w^2)``, without its last
entry: products of the columns, and their products with the target. ``|u| <= 1``, so two neighbors'
means differ by at most ``sqrt2/n`` in Frobenius norm, and noise is added as in ``moments.py``:

    pure eps                spherical Laplace on the upper triangle, scale S/eps
    rho, mu, (eps, delta)   exact discrete Gaussian on the public grid

The ridge solution of the noisy equations is post-processing (Wang 2018, "Revisiting differentially
private linear regression", releases the parts one by one; here they share one noise). Its ridge is
a public multiple of the noise's own spectral size. Proof: ``statistics.proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privet._types import Array, Targets
from privet.errors import DeclarationError
from privet.mechanisms.moments import Mean, mean_noise, second_moments
from privet.mechanisms.regularization import choose_regularization
from privet.mechanisms.release import add_noise
from privet.mechanisms.trainer import Design, Mechanism
from privet.noise import Noise
from privet.noise.cone_noise import half_vector, symmetric
from privet.privacy.event import not_private
from privet.privacy.kinds import FitEvent
from privet.randomness import Randomness
from privet.risk import RegularizedRisk
from privet.rows import Rows
from privet.rows.engine import Block, Parts

THEOREM = "privet/mechanisms/statistics.proof.md (Gaussian and Laplace mechanisms)"
#: The target's weight ``w`` beside a row of norm 1. At 1/2 the products of columns are known twice
#: as well as those with the target, which a solution of norm above 1 asks for.
TARGET_WEIGHT = 0.5
#: The default ridge, in units of the spectral size of the noise in the columns' products.
RIDGE = 0.7


def equations(m: int) -> Mean:
    """Second moments of ``m`` columns and a target, without the target's own."""
    whole = second_moments(m + 1)
    return replace(whole, columns=m, dimension=whole.dimension - 1)


class StatisticsDesign(Design):
    """The design of noisy equations; ``main`` is in units of their sensitivity's own rows."""

    @property
    def numerics(self) -> str:
        """Nothing is minimized: the equations are solved."""
        if self.main.kind == "gaussian":
            return f"exact discrete Gaussian on the grid 2^{self.exponent}"
        return (
            "idealized numerics: floating-point spherical Laplace rounded to the grid "
            f"2^{self.exponent}"
        )


@dataclass(frozen=True)
class RidgeStatistics(Mechanism):
    """The ridge solution of noisy normal equations.

    ``loss`` says what a target is (``HuberResidual.targets``) and that there is one score; its knee
    plays no part.
    """

    name: ClassVar[str] = "statistics"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.calibration is not None:
            raise DeclarationError("Noisy statistics have one calibration. Leave it None.")
        if self.center is not None:
            raise DeclarationError("Noisy statistics have no public center. Leave it None.")
        if self.loss.family != "residual":
            raise DeclarationError("Noisy statistics are for least squares with one score.")

    @property
    def _square(self) -> float:
        """``1 + w^2``."""
        return 1.0 + TARGET_WEIGHT**2

    # -- without data --------------------------------------------------------------------------

    def design_with(self, kind: str, n: int, m: int) -> StatisticsDesign:
        """Noise of the second moments and the ridge, from declarations."""
        found = mean_noise(equations(m), self.budget, kind, n)
        default = RIDGE * self._in_columns(found.noise) * math.sqrt(m)
        lam = choose_regularization(self.regularization, default, 0.0, self.loss, self.norm_bound)
        event = FitEvent(
            mechanism=self.name,
            claim=self.budget,
            curves=(found.curve,),
            noise=kind,
            scale=found.noise.scale,
            sensitivity=found.sensitivity,
            n=n,
            columns=m,
            regularization=lam,
            theorem=THEOREM,
            why_not_private=not_private(self.insecure_seed),
        )
        risk = RegularizedRisk(self.loss, lam, self.norm_bound)
        return StatisticsDesign(
            risk, n, m, found.noise, 0.0, None, found.exponent, event, self.domain
        )

    def _in_columns(self, noise: Noise) -> float:
        """Standard deviation of the noise in an off-diagonal product of two columns."""
        return noise.coordinate_sd * self._square * self.norm_bound**2 / math.sqrt(2.0)

    def noise_in_gradient(self, design: Design) -> float:
        """``n`` times the noise in ``G theta - v`` at a solution of norm ``1/R``."""
        columns = self._in_columns(design.main) / self.norm_bound
        return design.n * math.sqrt(design.m) * columns * math.hypot(1.0, 1.0 / TARGET_WEIGHT)

    # -- with data -----------------------------------------------------------------------------

    def perturb(self, rows: Rows, design: Design, randomness: Randomness) -> Array:
        """Noisy second moments, then their ridge solution."""
        return np.asarray(self.perturb_many(rows, design, randomness, 1)[0])

    def perturb_many(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """One sum over the rows, ``k`` noises."""
        noisy = self.noisy_moments(rows, design, randomness, k)
        whole = np.pad(noisy, ((0, 0), (0, 1)))  # the last entry is not asked for
        return np.array([self.solution(each, design) for each in symmetric(whole, rows.m + 1)])

    def noisy_moments(self, rows: Rows, design: Design, randomness: Randomness, k: int) -> Array:
        """What the solutions are computed from, on the grid: ``k`` half vectors."""
        exact = np.tile(self.query(rows), (k, 1))
        return add_noise(exact, design.main, design.exponent, randomness)

    def query(self, rows: Rows) -> Array:
        """The mean of ``u u^T`` without its last entry, exact: a curator's intermediate."""
        columns, targets = (part / rows.n for part in rows.sum(_products))
        whole = np.zeros((rows.m + 1, rows.m + 1))
        whole[:-1, :-1] = columns / self.norm_bound**2
        whole[:-1, -1] = targets[0] * (TARGET_WEIGHT / self.norm_bound)
        return half_vector(whole / self._square)[:-1]

    def solution(self, moments: Array, design: Design) -> Array:
        """``(G + Lam)^-1 v`` of released moments, with eigenvalues of ``G`` not below zero."""
        whole = moments * self._square
        values, vectors = np.linalg.eigh(whole[:-1, :-1] * self.norm_bound**2)
        ridged = np.maximum(values, 0.0) + design.risk.regularization
        cross = whole[:-1, -1] * (self.norm_bound / TARGET_WEIGHT)
        return np.asarray(vectors @ ((vectors.T @ cross) / ridged))


def _products(block: Block, y: Targets) -> Parts:
    return block.gram(np.ones(len(y))), block.pull(y[:, None])
