"""Minimize a regularized risk to a certified gradient norm.

certified        one linear term: which solver, from public numbers
batch            many linear terms on the same rows, and a cheap approach to all of them
solvers          Newton and L-BFGS: what to use as curvature, and when to renew it
descent          the loop and its steps; curvature: its directions
rounding         what a certificate can be worth in double precision
"""

from privet.minimize.batch import curvature_at, minimize_many
from privet.minimize.certified import MAX_ITER, minimize
from privet.minimize.result import Solution, Status
from privet.minimize.rounding import minimizer_norm, rounding_floor

__all__ = [
    "MAX_ITER",
    "Solution",
    "Status",
    "curvature_at",
    "minimize",
    "minimize_many",
    "minimizer_norm",
    "rounding_floor",
]
