"""The construction of Wang, Kifer and Lee (2018), as printed, for comparison.

The matrices are released as in ``privet.mechanisms.two_matrices``. Here: eigenvalues of both at
least ``2c = Lam`` (Algorithm 2), and no correction for the noise in the inverse (Algorithms 3 and
5). The paper draws the law of the intervals by Monte Carlo; here it is integrated, which changes
nothing but the error of 10,000 draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privet.inference.variance import Uncertainty, floored

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WiderUncertainty(Uncertainty):
    """Both matrices floored at ``Lam``, nothing corrected."""

    @cached_property
    def covariance(self) -> Array:
        """The centred covariance with eigenvalues at least ``Lam``."""
        centre = self.regularization * self.theta
        return floored(self.released.covariance - np.outer(centre, centre), self.regularization)

    def sampling(self, through: Array) -> Array:
        """``<v, Sigma v>`` with the floored matrix."""
        return np.asarray(((through @ self.covariance) * through).sum(axis=-1))

    def corrections(self, directions: Array) -> Array:
        """None."""
        return np.ones(len(directions))
