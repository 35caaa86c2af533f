"""The numbers of private gradient descent.

    S >= min(2 C, D R) + 2 n rho_0, widened by the grid;  scale >= sqrt(T) S/sqrt(2 rho)

Written from ``gradient.proof.md``. Steps, clip and radius are public choices: the file states them,
and whatever they are, this noise pays for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from privet.certificate.balls import Ball, ball, smaller
from privet.certificate.center_length import center_number
from privet.certificate.fit_numbers import FitFacts, needed_before, slack_number
from privet.certificate.rounding import gradient_lost, grid_number, lost, noise_scale, widened
from privet.certificate.verdicts import Number, Undecided, at_least, fact, stated

#: The sensitivity is a closed formula of the file's facts: a claim above it is of other facts.
WIDEST = 1e-12


def descent_numbers(fit: FitFacts) -> Iterator[Number]:
    """Every number of a descent."""
    event, name, kept = fit.event, fit.release, fit.constants
    if fit.rows.columns is not None:
        told = "columns of the released arrays and the constant one"
        yield fact(name, "columns", fit.m, fit.m == fit.rows.columns, told)
    if not {"steps", "clip", "radius"} <= set(kept) or fit.grid is None:
        raise Undecided("the file does not keep the steps, the clip and the grid of the descent")
    yield from center_number(name, fit.declared, kept.get("center_norm", 0.0))
    steps, told = kept["steps"], "a whole number of steps, each of them paid for below"
    yield fact(name, "steps", steps, type(steps) is int and steps >= 1, told)
    sound = kept["clip"] > 0.0 and kept["radius"] > 0.0
    yield fact(name, "clip", kept["clip"], sound, "a positive norm that gradients are clipped to")
    yield stated(name, "regularization", event["regularization"], "a public choice of the descent")
    needed = widened(_sensitivity(fit, ball(kept["clip"])), fit.grid, fit.p)
    told = "min(2 C, D R), rounding in the sums and the grid"
    yield at_least(name, "sensitivity", event["sensitivity"], needed, told, WIDEST)
    (curve,) = event["curves"]
    scale = noise_scale(event["noise"], ball(event["sensitivity"]), curve) * ball(steps).sqrt()
    told = f"for this sensitivity in each of {steps} steps, and the curve of all"
    yield at_least(name, "noise scale", event["scale"], scale, told)
    yield slack_number(name, curve, fit.p * int(steps))
    sd = ball(event["scale"]) * needed_before(needed, fit.grid, fit.p) / needed
    yield grid_number(name, fit.grid, sd)


def _sensitivity(fit: FitFacts, clip: Ball) -> Ball:
    """How far a replaced row moves a computed sum of clipped gradients."""
    loss, n, m = fit.rows.loss, fit.n, fit.m
    farthest = ball(fit.constants["radius"]) + ball(fit.constants.get("center_norm", 0.0))
    rounding = gradient_lost(fit.rows, n, m, farthest)
    clipping = lost(m + loss.classes + 16) * loss.slope * fit.rows.norm
    return smaller(2 * clip, fit.difference) + 2 * n * (rounding + clipping)
