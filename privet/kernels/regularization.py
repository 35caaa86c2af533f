"""How much regularization kernel features want under Gaussian noise: as little as is proven.

The default rule of the linear models grows with the number of columns, since there each further
column brings its own noise. Features of a kernel do not: isotropic noise on them is one Gaussian
process with the kernel's covariance, however many features stand for it. What costs accuracy here
is bias, and the floor of the proof, ``Lam_0 = c R^2/(n k_0)``, falls with ``n eps`` as the noise
does. So

    Lam = max(Lam_0, c R^2/n)

raised while the noise that pays for the minimizer's last digits would move a row's score by more
than a tenth. All of it is public. Pure noise grows with the number of features, and output
perturbation has no floor: both keep the rule of the linear models.
"""

from __future__ import annotations

import math
from dataclasses import replace

from privet.mechanisms import Mechanism
from privet.mechanisms.gap import reserve
from privet.mechanisms.gaussian_objective import gaussian_floor
from privet.mechanisms.regularization import regularization_floor
from privet.mechanisms.release import Design

# Scores are compared with 1; the noise of the gap may move them by this.
VISIBLE = 0.1


def least_regularized(mechanism: Mechanism, design: Design) -> tuple[Mechanism, Design]:
    """``mechanism`` at the least regularization that is proven and whose gap does not show."""
    n, m, bound = design.n, design.m, mechanism.norm_bound
    q = gaussian_floor(reserve(mechanism.budget).main, mechanism.loss)
    floor = regularization_floor(bound, n, q)
    lam = max(floor, design.risk.row_curvature / n)
    while lam < design.risk.regularization:
        least = replace(mechanism, regularization=lam, noise="gaussian")
        found = least.design(n, m)
        if _gap_in_scores(found) <= VISIBLE:
            return least, found
        lam *= 1.25
    return mechanism, design


def _gap_in_scores(design: Design) -> float:
    """What the gap's noise does to a row's scores, in root mean square; public."""
    if design.gap is None:
        return 0.0
    return design.gap.expected_norm * design.risk.norm_bound / math.sqrt(design.parameters)
