"""Minimise a regularised risk to a certified gradient norm.

one, many        one linear term, or many on the same rows
cost             which solver, from public numbers
newton, lbfgs    what to use as curvature, and when to renew it
nearby           a cheap approach for many draws around one point
descent          the loop; linesearch: its steps; curvature: its directions
rounding         what a certificate can be worth in double precision
"""

from privet.minimise.many import curvature_at, minimise_many
from privet.minimise.one import MAX_ITER, minimise
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
