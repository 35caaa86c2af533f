"""Gaussian objective perturbation inside one Gaussian mechanism, checked point by point.

``gaussian_objective.proof.md``, steps 14 to 17: the profile ``H`` of the release is convex in
``gamma = e^eps``, so bounds at points hold on the chords between them; that of the Gaussian
mechanism with shift ``mu`` is convex too and lies above its tangents. It is enough that each chord
is below the larger tangent at their corner, and that the last point is where the proof takes over.
The points are chosen in floating point; every comparison is of balls.

The points are those of step 17, no more: the noise is the least that these comparisons allow. With
more of them a little less noise could be proved, but no release has it, so that a file with less
was not made from its own facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from privet.certificate.balls import (
    Ball,
    ball,
    gaussian_delta,
    larger,
    normal_tail,
    precision,
    smaller,
)

POINTS = 240  # on each curve
FARTHEST = 300.0  # epsilons beyond are not looked at
BITS = 96  # of the many comparisons: the calibration leaves a part in 10^10
Tangent = tuple[Ball, Ball, Ball, Ball]
Curve = Callable[[float], tuple[Ball, Ball]]


def is_dominated(mu: Ball, shift: Ball, k: Ball, *, logistic: bool) -> bool:
    """Whether the profile of shift ``D`` and Jacobian ``k`` is certainly below ``G_mu``."""
    if not (shift > 0 and shift < mu):
        return False
    last = _last(mu, shift, k, logistic=logistic)
    if not last < FARTHEST:
        return False
    with precision(BITS):
        found = [_point(*pair) for pair in _chosen(shift, k, last, POINTS, logistic=logistic)]
        return bool(found[-1][0] >= last.exp() and found[0][0] <= 1 and _below(mu, found))


def _last(mu: Ball, shift: Ball, k: Ball, *, logistic: bool) -> Ball:
    """From this epsilon on the proof is enough."""
    quarter = shift**2 / 4
    if logistic:
        return larger(larger(quarter, 8 * k - quarter), mu)
    cost = k.log1p()
    crossing = ((mu - shift) / 2 + cost / shift) / (1 / shift - 1 / mu)
    return larger(larger(quarter + cost, crossing), mu)


def _prices(a: Ball, k: Ball, *, logistic: bool) -> tuple[Ball, Ball]:
    """``S(a)`` from below and from above: a concave function is below each of its tangents."""
    if not logistic:
        return a + k.log1p(), a + k.log1p()
    q = 4 * k
    if a >= q or q <= 0:
        return a, a
    r = (a + q) / q
    t = (2 * r / ((2 - a) + ((a - 2) ** 2 + 4 * a * r).sqrt())).mid()
    t = smaller(larger(t, ball(0)), ball(1))
    at, slope = a * t + (q * t * (1 - t)).log1p(), a + q * (1 - 2 * t) / (1 + q * t * (1 - t))
    return at, at + abs(slope)


def _curves(shift: Ball, k: Ball, *, logistic: bool) -> list[Curve]:
    """Epsilon and a bound on the profile there: steps 15, 16 and 14."""
    half, eighth = shift / 2, shift**2 / 8
    at_zero = gaussian_delta(half, ball(0))

    def price(a: Ball) -> Ball:
        return _prices(a, k, logistic=logistic)[1]

    def together(place: float) -> tuple[Ball, Ball]:
        e = 2 * eighth + ball(place)
        added, removed = e / 2 - eighth, e / 2 + eighth
        bound = gaussian_delta(half, added) + added.exp() * gaussian_delta(half, removed)
        return added + price(removed), bound

    def turned(place: float) -> tuple[Ball, Ball]:
        e = 2 * eighth * ball(place)
        back, removed = eighth - e / 2, eighth + e / 2
        least, most = _prices(back, k, logistic=logistic)
        share = (-most).exp()
        bound = 1 - share + share * (gaussian_delta(half, back) + gaussian_delta(half, removed))
        # S grows with a, at a rate of at most one: S(removed) - S(back) <= removed - back
        step = ball(0) if place == 0.0 else smaller(price(removed) - least, e)
        return step, bound

    def alone(place: float) -> tuple[Ball, Ball]:
        e = ball(place)
        return e, gaussian_delta(half, e) + e.exp() * at_zero

    return [together, turned, alone]


def _chosen(
    shift: Ball, k: Ball, last: Ball, count: int, *, logistic: bool
) -> list[tuple[Ball, Ball]]:
    """The points of the lower hull, from gamma 1 to the first beyond the last epsilon."""
    together, turned, alone = _curves(shift, k, logistic=logistic)
    quarter, end = float((shift**2 / 4).mid()), float(last.mid())
    far = end + max(quarter, 1e-3 * end) - quarter
    grid = [i / (count - 1) for i in range(count)]
    pairs = [together(g * g * max(far, 0.0)) for g in grid]
    pairs += [turned(g) for g in grid] + [alone(g * g * end) for g in grid]
    most = float(pairs[count - 1][0].mid())
    placed = sorted(
        (
            (math.exp(float(epsilon.mid())), float(bound.mid()), epsilon, bound)
            for epsilon, bound in pairs
            if float(epsilon.mid()) <= most
        ),
        key=lambda point: point[:2],
    )
    kept: list[tuple[float, float, Ball, Ball]] = []
    for point in placed:
        if kept and point[0] <= kept[-1][0]:
            continue
        while len(kept) > 1 and _is_above(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return [(epsilon, bound) for _, _, epsilon, bound in kept]


def _is_above(
    first: tuple[float, float, Ball, Ball],
    middle: tuple[float, float, Ball, Ball],
    third: tuple[float, float, Ball, Ball],
) -> bool:
    """Whether the middle point is on or above the chord of the others."""
    (x0, y0), (x1, y1), (x, y) = first[:2], middle[:2], third[:2]
    return (y1 - y0) * (x - x0) >= (y - y0) * (x1 - x0)


def _point(epsilon: Ball, bound: Ball) -> tuple[Ball, Ball]:
    """An exact gamma, and a bound that holds there: the profile falls with gamma."""
    gamma = ball(1) if epsilon.is_zero() else epsilon.exp().upper()
    return gamma, bound.upper()


def _below(mu: Ball, points: list[tuple[Ball, Ball]]) -> bool:
    """The chords of the bounds against the tangents of ``G_mu``."""
    ends = [_tangent(mu, gamma, bound) for gamma, bound in points]
    return all(_chord_below(*pair) for pair in pairwise(ends))


def _tangent(mu: Ball, gamma: Ball, bound: Ball) -> Tangent:
    """Gamma, the bound there, ``G_mu`` and how fast it falls."""
    epsilon = gamma.log()
    return gamma, bound, gaussian_delta(mu, epsilon), normal_tail(mu / 2 + epsilon / mu)


def _chord_below(left: Tangent, right: Tangent) -> bool:
    """Below the larger of the two tangents at their corner."""
    (g0, h0, t0, f0), (g1, h1, t1, f1) = left, right
    if not (h0 <= t0 and h1 <= t1):
        return False
    width = g1 - g0
    corner = (t0 - t1 - f1 * width) / (f0 - f1) if f0 > f1 else ball(0)
    corner = smaller(larger(corner, ball(0)), width)
    return bool(h0 + (h1 - h0) * corner / width <= t0 - f0 * corner)
