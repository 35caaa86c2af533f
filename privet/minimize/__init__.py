"""Minimize a regularized risk to a certified gradient norm.

certified        one linear term: Newton or L-BFGS, chosen by public numbers
batch            many linear terms on the same rows, and a cheap approach to all of them
descent          the loop and its steps
mean_objective   what is minimized, its derivatives and models of its curvature
certificate      what is handed back, and what it can be worth in double precision
"""

from privet.minimize.batch import curvature_at, minimize_many
from privet.minimize.certificate import (
    Solution,
    Status,
    clip_rounding,
    gradient_rounding,
    minimizer_norm,
    rounding_floor,
)
from privet.minimize.certified import MAX_ITER, minimize

__all__ = [
    "MAX_ITER",
    "Solution",
    "Status",
    "clip_rounding",
    "curvature_at",
    "gradient_rounding",
    "minimize",
    "minimize_many",
    "minimizer_norm",
    "rounding_floor",
]
