"""Checks on private gradient descent: what its whole transcript tells about one row.

Given the noisy sums so far, the next one is a Gaussian around a sum over the rows, so that the
transcript's privacy loss is that of one Gaussian mechanism whose shift is known exactly: the
distances of the neighbors' sums at the points of the transcript, in standard deviations, added in
squares. ``replayed`` runs the descent on one table and sums the other at the same points.

    transcript   the shift of adversarial neighbors against the mu that is claimed
    noise        recovered from the sums: scale and normality
    fresh        no two runs share noise, and a seed is stamped
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import chi2, kstest

from privet._types import Array, Codes
from privet.audit.attacks import Finding, surprise
from privet.audit.replay import MakeRows
from privet.mechanisms.gradient import DescentDesign, GradientDescent
from privet.privacy.curves import GaussianCurve
from privet.randomness import source
from privet.rows import Rows, checked_rows

# Rows on one side that hold the descent where the two neighbors differ most.
CROWD = 0.9
TILTS = (0.02, 0.1, 0.5)


def audit_descent(
    mechanism: GradientDescent,
    *,
    n: int = 100,
    m: int = 3,
    draws: int = 6000,
    seed: int = 0,
    make_rows: MakeRows = checked_rows,
) -> list[Finding]:
    """Every check on tables of ``n`` rows and ``m`` columns; ``make_rows`` as ``checked_rows``."""
    design = mechanism.design(n, m)
    shifts = [
        replayed(mechanism, design, *pair, seed=seed)
        for pair in neighbors(mechanism, n, m, seed, make_rows)
    ]
    told = "Largest shift of a transcript between neighbors, in standard deviations."
    rows, _ = next(neighbors(mechanism, n, m, seed, make_rows))
    return [
        Finding("transcript", max(shifts), claimed_mu(design), told),
        *_noise(mechanism, design, rows, draws, seed),
        *_fresh(mechanism, design, rows),
    ]


def claimed_mu(design: DescentDesign) -> float:
    """The shift of the Gaussian mechanism that the claim, not the curve, pays for."""
    return math.sqrt(2.0 * design.event.claim.gaussian_rho())


def replayed(
    mechanism: GradientDescent, design: DescentDesign, first: Rows, second: Rows, *, seed: int
) -> float:
    """How far apart the neighbors' sums are at the points of a run on the first, all steps."""
    point, total = design.start, 0.0
    for _, after in mechanism.descend(first, design, source(seed)):
        apart = mechanism.pull(first, design, point) - mechanism.pull(second, design, point)
        total += float(apart @ apart)
        point = after
    return math.sqrt(total) / design.event.scale


def neighbors(
    mechanism: GradientDescent, n: int, m: int, seed: int, make_rows: MakeRows
) -> Iterator[tuple[Rows, Rows]]:
    """Tables that differ in their first row.

    A crowd holds the descent on one side, where both rows are classified wrongly and pull in
    opposite directions; then random tables, of rows far beyond the bound.
    """
    loss, bound = mechanism.loss, mechanism.norm_bound
    rng = np.random.default_rng(seed)
    low, high = loss.classes - 2, loss.classes - 1

    def pair(x: Array, codes: Codes, other: Array, code: int) -> tuple[Rows, Rows]:
        changed, labels = x.copy(), codes.copy()
        changed[0], labels[0] = other, code
        return tuple(  # type: ignore[return-value]
            make_rows(table, loss.targets(told), norm_bound=bound)
            for table, told in ((x, codes), (changed, labels))
        )

    for tilt in TILTS:
        x, codes = np.zeros((n, m)), rng.integers(0, loss.classes, n)
        held = np.arange(n) < CROWD * n
        x[held, 0], codes[held] = bound, high
        x[0], codes[0] = row(bound, tilt, m, 1.0), high
        yield pair(x, codes, row(bound, tilt, m, -1.0), high)
        yield pair(x, codes, row(bound, tilt, m, 1.0), low)
    for _ in range(3):
        x, codes = 5.0 * bound * rng.normal(size=(n, m)), rng.integers(0, loss.classes, n)
        codes[0] = high
        yield pair(x, codes, -x[0], high)


def row(bound: float, tilt: float, m: int, sign: float) -> Array:
    """A row against the crowd by ``tilt`` and across it otherwise."""
    out = np.zeros(m)
    out[0], out[-1] = -math.sin(tilt), sign * math.cos(tilt)
    return bound * out


def _noise(
    mechanism: GradientDescent, design: DescentDesign, rows: Rows, draws: int, seed: int
) -> list[Finding]:
    """Noise recovered from the sums of as many descents as give ``draws`` numbers."""
    found: list[Array] = []
    while sum(len(each) for each in found) < draws:
        seed, point = seed + 1, design.start
        for noisy, after in mechanism.descend(rows, design, source(seed)):
            found.append((noisy - mechanism.pull(rows, design, point)) / design.event.scale)
            point = after
    noise = np.concatenate(found)
    square = float(noise @ noise)
    tail = 2.0 * min(chi2.cdf(square, len(noise)), chi2.sf(square, len(noise)))
    return [
        surprise("noise scale", tail, "The mean square of the noise in the sums."),
        surprise("noise law", float(kstest(noise, "norm").pvalue), "Whether it is normal."),
    ]


def _fresh(mechanism: GradientDescent, design: DescentDesign, rows: Rows) -> list[Finding]:
    stamped = mechanism.insecure_seed is None or not design.event.private
    told = "Whether a seed is stamped as not private (1: it is not)."
    found = [Finding("seed stamped", float(not stamped), 0.0, told)]
    if design.event.private:
        one, two = (mechanism.run(rows, design).value for _ in range(2))
        told = "Whether two runs released the same vector (1: they did)."
        found.append(Finding("fresh noise", float((one == two).all()), 0.0, told))
    # the curve may not claim less than the sums of all steps do
    steps, curve = design.schedule.steps, design.event.curves[0]
    shift = math.sqrt(steps) * design.event.sensitivity / design.event.scale
    charged = math.sqrt(2.0 * curve.rho) if isinstance(curve, GaussianCurve) else 0.0
    found.append(Finding("steps counted", shift, charged, "All steps together, and the charge."))
    return found
