"""The numbers of noisy sums by class.

    rows of norm R        S >= 2 R (1 + n rho)     class laplace
    a declared domain     S >= 2 (1 + 3 n rho)   class hull, in the gauge of the hull

with ``rho`` what rounding can do to a sum, relatively, and ``scale >= S/epsilon``. Written from
``means.proof.md``. What is computed from the sums is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator

from privet.certificate.balls import Ball, ball, gamma_quantile
from privet.certificate.fit_numbers import FitFacts
from privet.certificate.noise_laws import HullLaw
from privet.certificate.rounding import (
    BLOCK,
    NEGLIGIBLE,
    UNIT,
    coordinate_sd,
    grid_number,
    noise_scale,
)
from privet.certificate.verdicts import Number, Undecided, at_least, fact

#: Sensitivity and scale are closed formulas of the file's facts: a claim above is of other facts.
WIDEST = 1e-12
#: What else a model can declare, and class means cannot have.
NOT_MEANS = ("class_weight", "center", "public_rows", "calibration")


def class_numbers(fit: FitFacts) -> Iterator[Number]:
    """Every number of sums by class."""
    event, name, rows = fit.event, fit.release, fit.rows
    if rows.loss.name != "softmax" or any(fit.declared.get(each) is not None for each in NOT_MEANS):
        raise Undecided("no theorem on sums by class is known here for what the model declares")
    told = "must match the released arrays plus the constant column"
    yield fact(name, "columns", fit.m, fit.m == rows.columns, told)
    wanted = "class hull" if rows.blocks else "class laplace"
    told = f"must be {wanted}, by what is declared of the rows"
    yield fact(name, "noise of the sums", event["scale"], event["noise"] == wanted, told)
    if event["noise"] != wanted:
        return
    lost = fit.n * 4 * BLOCK * ball(UNIT)
    needed = 2 * (1 + 3 * lost) if rows.blocks else 2 * rows.norm * (1 + lost)
    told = "one row out of a sum and one into a sum, plus rounding"
    yield at_least(name, "sensitivity", event["sensitivity"], needed, told, WIDEST)
    (curve,) = event["curves"]
    scale = noise_scale("laplace", ball(event["sensitivity"]), curve)
    told = "required by this sensitivity and curve"
    yield at_least(name, "noise scale", event["scale"], scale, told, WIDEST)
    if fit.grid is None:
        raise Undecided("the file does not say which grid the sums are on")
    yield _grid(fit, fit.grid)


def _grid(fit: FitFacts, grid: int) -> Number:
    """Fine against the least noise in a number, above the last bits of the longest sums."""
    scale, classes, longest = ball(fit.event["scale"]), fit.rows.loss.classes, ball(1)
    span, sd = fit.m, coordinate_sd("laplace", scale, fit.m)
    if fit.rows.blocks:
        law = HullLaw(fit.rows, scale, fit.m)
        span, sd, longest = law.span, law.least_sd, fit.rows.norm
    noise: Ball = scale * longest * gamma_quantile(ball(classes * span), NEGLIGIBLE)
    return grid_number(fit.release, grid, sd, fit.n * fit.rows.norm + noise)
