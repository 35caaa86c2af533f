"""What double precision can lose, and the grid that releases are rounded to; from the proofs.

The floor is the public bound of ``gap.proof.md`` on rounding in a computed gradient (Higham 2002,
section 3.1), at a point of at most twice the largest norm of a minimizer.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from privet.certificate.balls import Ball, above, ball, gamma_quantile, smaller
from privet.certificate.declared_rows import DeclaredRows
from privet.certificate.verdicts import Number, Undecided

UNIT = 2.0**-53
BLOCK = 4096  # rows whose sum is not compensated
NEGLIGIBLE = 1e-18  # the tail of a noise's norm that is neglected
#: A grid lies this many bits below the noise, and not below a double's last bits but two.
GRID_BITS, DOUBLE_BITS = 20, 51


def lost(terms: int) -> Ball:
    """``gamma_k = k u/(1 - k u)``."""
    share = terms * ball(UNIT)
    return share / (1 - share)


def minimizer_norm(declared: DeclaredRows, n: int, lam: Ball, noise: Ball) -> Ball:
    """No minimizer is longer, for a linear term ``|b| <= noise``."""
    slope, beta = declared.loss.slope * declared.norm, noise / n
    by_slope, at_zero = (slope + beta) / lam, declared.loss.at_zero
    if at_zero is None:
        return by_slope
    return smaller(by_slope, beta / lam + ((beta / lam) ** 2 + 2 * at_zero / lam).sqrt())


def gradient_floor(declared: DeclaredRows, n: int, m: int, lam: Ball, noise: Ball) -> Ball:
    """How far a computed gradient can be from the exact one."""
    radius = 2 * minimizer_norm(declared, n, lam, noise)
    rest = 4 * ball(UNIT) * (lam * radius + noise / n + declared.loss.slope * declared.norm)
    return gradient_lost(declared, n, m, radius) + rest


def gradient_lost(declared: DeclaredRows, n: int, m: int, radius: Ball) -> Ball:
    """What rounding can do to the mean gradient of the rows at a point of norm ``radius``."""
    loss, R = declared.loss, declared.norm
    slope, scores = loss.slope * R, loss.curvature * R**2 * lost(m + loss.classes + 8) * radius
    slopes = 8 * loss.classes * ball(UNIT) * (slope + loss.curvature * loss.offset * R)
    # a block's sum of r rows is r roundings off, the compensated sum of all blocks two more
    return lost(min(n, BLOCK) + 8) * slope + scores + slopes


def norm_quantile(noise: str, scale: Ball, p: int) -> Ball:
    """What the norm of the noise exceeds with probability 1e-18 at most."""
    return scale * quantile_of_one(noise, p)


@lru_cache(maxsize=32)
def quantile_of_one(noise: str, p: int) -> Ball:
    """At scale one, once for the floor, the gap and the grid of a release."""
    if noise == "laplace":
        return gamma_quantile(ball(p), NEGLIGIBLE)
    return (2 * gamma_quantile(ball(p) / 2, NEGLIGIBLE)).sqrt()


def coordinate_sd(noise: str, scale: Ball, p: int) -> Ball:
    """The standard deviation of one coordinate."""
    return scale * ball(p + 1).sqrt() if noise == "laplace" else scale


def fine_exponent(sd: Ball) -> int:
    """``floor(log2(sd)) - 20``."""
    low, high = (math.floor(math.log2(float(end))) for end in (sd.lower(), sd.upper()))
    if low != high:
        raise Undecided("the noise is too near to a power of two to know the grid")
    return low - GRID_BITS


def coarse_exponent(largest: Ball) -> int:
    """The finest grid that is still above the last bits of doubles of this size."""
    return math.frexp(above(largest))[1] - DOUBLE_BITS


def grid_number(
    release: str, claimed: int, sd: Ball, largest: Ball | None = None, most: int | None = None
) -> Number:
    """The exponent of the grid: 20 bits below the noise, above the last bits of what is rounded."""
    wanted = fine_exponent(sd)
    if largest is not None:
        wanted = max(wanted, coarse_exponent(largest))
    if most is not None:
        wanted = min(wanted, most)
    why = "grid exponent, computed from the public noise scale"
    right = claimed == wanted
    return Number(release, "grid", float(claimed), float(wanted), float(wanted), right, why)


def widened(sensitivity: Ball, exponent: int, p: int) -> Ball:
    """Rounding to the grid before exact noise moves ``p`` coordinates by half a step each."""
    return sensitivity + ball(2) ** exponent * ball(p).sqrt()


#: Kinds of curves whose numbers a scale is tied to; another kind may claim one and use the other.
NOISE_CURVES = {"laplace": "pure", "gaussian": "gaussian"}


def noise_scale(noise: str, sensitivity: Ball, curve: dict[str, Any]) -> Ball:
    """The scale that noise on a query of this sensitivity needs for its curve."""
    if noise in ("laplace", "gaussian") and curve.get("kind") != NOISE_CURVES[noise]:
        raise Undecided(f"the curve of {noise} noise must be {NOISE_CURVES[noise]!r}")
    if noise == "laplace":
        loss = curve.get("loss", 0.0)
        if not loss > 0.0:
            raise Undecided("the curve has no pure epsilon for Laplace noise")
        return sensitivity / ball(loss)
    if noise == "gaussian" and "rho" in curve:
        return sensitivity / (2 * ball(curve["rho"])).sqrt()
    raise Undecided(f"the noise {noise!r} is not known here")
