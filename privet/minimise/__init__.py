"""Minimise a regularised risk to a certified gradient norm.

certified        one linear term: which solver, from public numbers
batch            many linear terms on the same rows, and a cheap approach to all of them
solvers          Newton and L-BFGS: what to use as curvature, and when to renew it
descent          the loop and its steps; curvature: its directions
rounding         what a certificate can be worth in double precision
"""

from privet.minimise.batch import curvature_at, minimise_many
from privet.minimise.certified import MAX_ITER, minimise
from privet.minimise.result import Solution, Status
from privet.minimise.rounding import minimiser_norm, rounding_floor

__all__ = [
    "MAX_ITER",
    "Solution",
    "Status",
    "curvature_at",
    "minimise",
    "minimise_many",
    "minimiser_norm",
    "rounding_floor",
]
