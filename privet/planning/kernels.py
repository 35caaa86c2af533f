"""How large a kernel model is, in features and rows.

A kernel classifier with random features is a linear one in a dimension of our choosing. For a
reference ``f0`` whose coefficients in the kernel's expansion are bounded by ``B``, ``k`` random
features represent it to within about ``B sqrt(log(1/beta)/k)`` (Rahimi and Recht 2008), so

    k = B^2 log(1/beta)/excess^2

features, up to the theorem's constant, leave room for the noise (Chaudhuri, Monteleoni and Sarwate
2011, section 5: the same ``k``, then their theorem for linear classifiers in ``k`` dimensions). As
Privet pairs cosine and sine, each frequency is two columns of norm one together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privet._checks import positive
from privet.planning.declared import Declared
from privet.planning.needed import RowsNeeded, probability, rows_needed
from privet.planning.text import line


@dataclass(frozen=True)
class KernelNeeded:
    """Random features and rows for a kernel model; both up to a theorem's constant."""

    frequencies: int
    rows: RowsNeeded

    @property
    def columns(self) -> int:
        """A cosine and a sine for each frequency."""
        return 2 * self.frequencies

    def __str__(self) -> str:
        features = (
            f"{self.frequencies:,} frequencies, so {self.columns:,} columns, up to the theorem's "
            "unnamed constant. Then, as for a linear model of that many columns:"
        )
        return f"{line('random features', features)}\n{self.rows}"


def kernel_needed(
    declared: Declared, excess: float, reference_bound: float, beta: float, score_noise: float
) -> KernelNeeded:
    """Features first, half of the excess for them, then rows for the other half."""
    excess, bound = positive("excess", excess), positive("reference_bound", reference_bound)
    beta = probability("beta", beta)
    frequencies = math.ceil((bound / (excess / 2.0)) ** 2 * math.log(1.0 / beta))
    lifted = declared.but(d=2 * frequencies, fit_intercept=False)
    rows = rows_needed(lifted, lifted.design(), excess / 2.0, bound, beta, score_noise)
    return KernelNeeded(frequencies, rows)
