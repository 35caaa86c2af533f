"""The numbers of private gradient descent.

    S >= min(2 C, D R) + 2 n rho_0, widened by the grid;  scale >= sqrt(T) S/sqrt(2 rho)

Written from ``gradient.proof.md``. Steps, clip and radius are public choices: the file states them,
and the noise must be that for these, neither less nor more. Another number of steps, fewer or more,
gives another scale and another slack of the discrete noise.
"""

from __future__ import annotations

from collections.abc import Iterator

from privet.certificate.balls import Ball, ball, smaller
from privet.certificate.center_length import center_number
from privet.certificate.fit_numbers import FitFacts, needed_before, slack_number
from privet.certificate.rounding import gradient_lost, grid_number, lost, noise_scale, widened
from privet.certificate.verdicts import Number, Undecided, at_least, fact, stated

#: Sensitivity and scale are closed formulas of the file's facts: a claim above is of other facts.
WIDEST = 1e-12
WIDEST_NOISE = 1e-9  # the curve is found by bisection


def descent_numbers(fit: FitFacts) -> Iterator[Number]:
    """Every number of a descent."""
    event, name, kept = fit.event, fit.release, fit.constants
    if fit.rows.columns is not None:
        told = "must match the released arrays plus the constant column"
        yield fact(name, "columns", fit.m, fit.m == fit.rows.columns, told)
    for bound, value in fit.rows.loss.taken():
        yield stated(name, bound, value, "its author's word: a file holds no code")
    if not {"steps", "clip", "radius"} <= set(kept) or fit.grid is None:
        raise Undecided("the file does not keep the steps, the clip and the grid of the descent")
    yield from center_number(name, fit.declared, kept.get("center_norm", 0.0))
    steps, told = kept["steps"], "must be a whole number; noise and slack are for this many steps"
    yield fact(name, "steps", steps, type(steps) is int and steps >= 1, told)
    sound = kept["clip"] > 0.0 and kept["radius"] > 0.0
    yield fact(
        name, "clip", kept["clip"], sound, "must be positive: gradients are clipped to this norm"
    )
    yield stated(
        name,
        "regularization",
        event["regularization"],
        "a public setting; the guarantee does not depend on it",
    )
    needed = widened(_sensitivity(fit, ball(kept["clip"])), fit.grid, fit.p)
    told = "min(2 C, D R), plus rounding in the sums and the grid"
    yield at_least(name, "sensitivity", event["sensitivity"], needed, told, WIDEST)
    (curve,) = event["curves"]
    scale = noise_scale(event["noise"], ball(event["sensitivity"]), curve) * ball(steps).sqrt()
    told = f"required by this sensitivity in each of {steps} steps, and by their curve"
    yield at_least(name, "noise scale", event["scale"], scale, told, WIDEST_NOISE)
    yield slack_number(name, curve, fit.p * int(steps), WIDEST_NOISE)
    sd = ball(event["scale"]) * needed_before(needed, fit.grid, fit.p) / needed
    yield grid_number(name, fit.grid, sd)


def _sensitivity(fit: FitFacts, clip: Ball) -> Ball:
    """How far a replaced row moves a computed sum of clipped gradients."""
    loss, n, m = fit.rows.loss, fit.n, fit.m
    farthest = ball(fit.constants["radius"]) + ball(fit.constants.get("center_norm", 0.0))
    rounding = gradient_lost(fit.rows, n, m, farthest)
    clipping = lost(m + loss.classes + 16) * loss.slope * fit.rows.norm
    return smaller(2 * clip, fit.difference) + 2 * n * (rounding + clipping)
