"""Gaussian differential privacy as a budget: no better told apart than N(0, 1) and N(mu, 1).

Dong, Roth and Su (2022): whatever is mu-Gaussian differentially private is a post-processing of one
Gaussian mechanism with sensitivity ``mu`` standard deviations, so its curve is that mechanism's, at
every epsilon and every order, and mus add up in squares, exactly. ``k`` rows at once have ``k mu``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from scipy.special import log_ndtr

from privet._checks import number_between
from privet.bisection import largest
from privet.privacy import jacobian
from privet.privacy.calculus import SAFE_ROW, Budget, Cost, rows_of_one
from privet.privacy.curves import Curve, GaussianCurve, PureCurve
from privet.privacy.jacobian import Curved
from privet.privacy.jacobian_cost import one_sided

#: Of mu^2, what the Jacobian may take where "auto" chooses: its price rises slowly here.
USUAL_SHARE = 0.25


@dataclass(frozen=True)
class GDP(Budget):
    """Gaussian differential privacy (Dong, Roth and Su 2022).

    Parameters
    ----------
    mu : float
        Between 1e-10 and 40. Neighbors are no better told apart than two normal laws whose means
        are ``mu`` standard deviations apart.
    """

    kind: ClassVar[str] = "gdp"
    amount_name: ClassVar[str] = "mu"
    noises: ClassVar[tuple[str, ...]] = ("laplace", "gaussian")
    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", number_between("mu", self.mu, 1e-10, 40.0))

    def fraction(self, share: float) -> GDP:
        """``sqrt(share) mu``: squares add up."""
        return GDP(math.sqrt(share) * self.mu)

    def set_aside(self, share: float) -> tuple[GDP, GDP]:
        """``share mu^2``."""
        return GDP(math.sqrt(1.0 - share) * self.mu), GDP(math.sqrt(share) * self.mu)

    def for_group(self, size: int) -> GDP:
        """``k mu`` (Dong, Roth and Su 2022, Theorem 2.14)."""
        return GDP(rows_of_one(size) * self.mu)

    def per_row(self, size: int) -> GDP:
        """``mu/k``."""
        k = rows_of_one(size)
        return self if k == 1 else GDP(self.mu / k * SAFE_ROW)

    @property
    def laplace_epsilon(self) -> float:
        """``log(Phi(mu/2)/Phi(-mu/2))``: where the pure trade-off's corner touches the Gaussian's.

        A convex trade-off through (0, 1) and (1, 0) is below the two lines of a pure guarantee if
        it is below their corner, ``1/(1 + e^eps)`` on both axes.
        """
        found = float(log_ndtr(self.mu / 2.0) - log_ndtr(-self.mu / 2.0))
        return found * (1.0 - 1e-14)

    def gaussian_rho(self, slack: float = 0.0) -> float:
        """``mu^2/2``, less what a discrete noise's slack takes; 0 where it takes all."""
        if slack == 0.0:
            return self.mu**2 / 2.0
        fits = largest(lambda shift: GaussianCurve(shift**2 / 2.0, slack).gdp <= self.mu, self.mu)
        return fits**2 / 2.0

    def objective_shift(self, loss: Curved, q: float) -> float:
        """The largest whose whole profile is below the Gaussian one."""
        return jacobian.shift_within_mu(loss, q, self.mu)

    def objective_floor(self, loss: Curved, share: float) -> float:
        """By the noise that the rest of ``mu^2`` would allow, of which a quarter is little."""
        return jacobian.floor_within_mu(loss, max(share, USUAL_SHARE), self.mu)

    def objective_curve(self, loss: Curved, shift: float, q: float) -> Curve:
        """The Gaussian mechanism's, below which the profile was proved to be."""
        return self.whole_curve

    def jacobian_limit(self, loss: Curved, share: float) -> float:
        """Seven tenths of ``mu^2``: there the floor is as low as under (epsilon, delta)."""
        tight = one_sided(loss.jacobian_family, loss.classes)
        return max(share, jacobian.MOST_SHARE) if tight else share

    @property
    def whole_curve(self) -> Curve:
        """The Gaussian mechanism's own: all that keeps this budget is a post-processing of it."""
        return GaussianCurve(self.mu**2 / 2.0)

    @property
    def mixed_curve(self) -> Curve:
        """The pure loss inside the Gaussian trade-off: only Gaussian noise has more of it."""
        return PureCurve(self.laplace_epsilon)

    def keeps(self, cost: Cost) -> bool:
        """The squares of the mus add up to at most ``mu^2``."""
        return cost.gdp() <= self.mu * (1.0 + 1e-15)

    def covers(self, other: Budget) -> bool:
        """A Gaussian guarantee of no larger mu, or a pure one within its trade-off."""
        epsilon, _, delta, mu = other.numbers
        if epsilon is not None and delta == 0.0:
            mu = PureCurve(epsilon).gdp
        return mu is not None and mu <= self.mu * (1.0 + 1e-14)

    def __str__(self) -> str:
        return f"mu = {self.mu:g} (Gaussian)"
