"""Black-box audit at full size: 2e6 draws a side, 95 % lower bounds on epsilon at epsilon = 1.

``python reproduce/black_box_audit.py`` prints the table kept in ``black_box_audit.md``. Huber loss
in one dimension goes through ``perturb_many``, the path of ``Mechanism.sample``; logistic loss in
two needs a crowd of rows with multiplicities and follows the definition (draw, minimize).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privet.audit.black_box import epsilon_lower_bound, likelihood_ratio, table_releases
from privet.audit.exact import worst_loss
from privet.losses import HuberHinge, Logistic
from privet.mechanisms import Design, ObjectivePerturbation
from privet.privacy import PureDP
from privet.randomness import InsecureSeed
from privet.rows import checked_rows

DRAWS = 2_000_000
ALPHA = 0.05
CROWD = 10**16


def thinner(design: Design, factor: float) -> Design:
    """The design with less noise than it states."""
    return replace(design, main=replace(design.main, scale=factor * design.main.scale))


def huber(factor: float) -> float:
    """One row among nine zeros, and its opposite."""
    n, mechanism = 10, ObjectivePerturbation(HuberHinge(), PureDP(1.0), regularization=10.0)
    design = thinner(mechanism.design(n, 1), factor)
    sides = []
    for sign, seed in ((1.0, 1), (-1.0, 2)):
        x = np.zeros((n, 1))
        x[0] = sign
        rows = checked_rows(x, np.ones(n), norm_bound=1.0)
        sides.append(mechanism.perturb_many(rows, design, InsecureSeed(seed), DRAWS)[:, 0])
    return epsilon_lower_bound(*sides, ALPHA)


def logistic(factor: float) -> float:
    """The worst pair that the exact attack finds, with the likelihood ratio as statistic."""
    mechanism = ObjectivePerturbation(Logistic(), PureDP(1.0), regularization=30.0 / CROWD)
    design = mechanism.design(CROWD, 2)
    pair = worst_loss(design).pair
    thin = thinner(design, factor)
    sides = []
    for table, seed in ((pair.first, 3), (pair.second, 4)):
        outputs = table_releases(thin, table, DRAWS, InsecureSeed(seed))
        sides.append(likelihood_ratio(thin, pair, outputs))
    return epsilon_lower_bound(*sides, ALPHA)


if __name__ == "__main__":
    print("| loss | columns | noise | lower bound on epsilon (95 %) |")
    print("|---|---|---|---|")
    for factor in (1.0, 0.9):
        for name, columns, bound in (("Huber", 1, huber), ("logistic", 2, logistic)):
            print(f"| {name} | {columns} | x {factor:g} | {bound(factor):.3f} |", flush=True)
