"""Gaussian objective perturbation inside one Gaussian mechanism: its whole profile below ``G_mu``.

A release is mu-Gaussian differentially private if no test tells neighbors apart better than it
tells N(0, 1) from N(mu, 1) (Dong, Roth and Su 2022): its profile is at most ``delta_G(mu, eps)`` at
*every* epsilon. Then it composes like a Gaussian mechanism. Objective perturbation with two classes
has such a mu, a little above its shift ``D``; this module finds the largest ``D`` for a given mu.

The profile as a function of ``gamma = e^eps``, ``H(gamma) = sup_S P(S) - gamma P'(S)``, is convex.
So bounds at single points hold on the chords between them, and a convex profile ``G_mu`` is above
its tangents: finitely many comparisons cover every epsilon up to the last point, and beyond it the
proof covers the rest. Statement and proof: ``privet/mechanisms/gaussian_objective.proof.md``, steps
14 to 17.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from privet._types import Array

#: points on each of the curves that bound the profile; files are verified by this number of them
_POINTS = 240
#: what the computed numbers may be wrong by, relative to themselves
_ROUNDING = 1e-10
#: beyond this epsilon nothing is computed; the shift is then taken to be too large
_LARGEST_EPSILON = 300.0


def gaussian_profile(shift: float, epsilon: Array) -> Array:
    """``delta_G(D, eps)`` at every epsilon, negative ones too."""
    near, far = shift / 2.0 - epsilon / shift, -shift / 2.0 - epsilon / shift
    return np.asarray(ndtr(near) - np.exp(np.minimum(epsilon + log_ndtr(far), 0.0)))


def removal_price(a: Array, k: float, *, logistic: bool) -> Array:
    """``S(a)``: what the removed row costs where ``a`` of it is for the noise."""
    if not logistic:
        return np.asarray(a + math.log1p(k))
    q = 4.0 * k
    if q == 0.0:
        return a
    ratio = (a + q) / q
    t = np.minimum(2.0 * ratio / ((2.0 - a) + np.sqrt((a - 2.0) ** 2 + 4.0 * a * ratio)), 1.0)
    return np.where(a >= q, a, a * t + np.log1p(q * t * (1.0 - t)))


@lru_cache(maxsize=512)
def dominated_shift(mu: float, k: float, *, logistic: bool) -> float:
    """The largest ``D`` found whose profile with the Jacobian ``k`` stays below ``G_mu``; or 0.

    Margin losses. By bisection from below; whatever is returned was checked itself.
    """
    if k == 0.0 and dominates(mu, mu * (1.0 - 1e-9), 0.0, logistic=logistic):
        return mu * (1.0 - 1e-9)
    low, high = 0.0, mu
    for _ in range(34):
        middle = 0.5 * (low + high)
        if dominates(mu, middle, k, logistic=logistic):
            low = middle
        else:
            high = middle
    return low


def dominates(mu: float, shift: float, k: float, *, logistic: bool) -> bool:
    """Whether ``G_mu`` is proved to be above the profile of shift ``D`` and Jacobian ``k``."""
    if not 0.0 < shift < mu:
        return False
    last = last_epsilon(mu, shift, k, logistic)
    if last > _LARGEST_EPSILON:
        return False
    gamma, bound = _hull(*_points(shift, k, last, logistic))
    epsilon = np.log(gamma)
    above = gaussian_profile(mu, epsilon) * (1.0 - _ROUNDING)
    if gamma[0] > 1.0 or epsilon[-1] < last * (1.0 - 1e-9) or (bound > above).any():
        return False
    # between two points: the chord of the bounds against the two tangents of G_mu
    fall = ndtr(-mu / 2.0 - epsilon / mu)
    width, change = np.diff(gamma), np.diff(above)
    steeper = fall[:-1] - fall[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = np.where(steeper > 0.0, (-change - fall[1:] * width) / steeper, 0.0)
    meet = np.clip(meet, 0.0, width)
    chord = bound[:-1] + np.diff(bound) * meet / width
    tangent = above[:-1] - fall[:-1] * meet
    return not bool((chord * (1.0 + _ROUNDING) > tangent).any())


def last_epsilon(mu: float, shift: float, k: float, logistic: bool) -> float:
    """From here on the proof is enough (step 17)."""
    quarter = shift**2 / 4.0
    if logistic:
        return max(quarter, 8.0 * k - quarter, mu)
    cost = math.log1p(k)
    return max(quarter + cost, ((mu - shift) / 2.0 + cost / shift) / (1.0 / shift - 1.0 / mu), mu)


def _points(shift: float, k: float, last: float, logistic: bool) -> tuple[Array, Array]:
    """Gammas, and what the profile does not exceed there (steps 14 to 16)."""

    def price(a: Array) -> Array:
        return removal_price(a, k, logistic=logistic)

    half, grid = shift / 2.0, np.linspace(0.0, 1.0, _POINTS)
    at_zero = gaussian_profile(half, np.zeros(1))
    far = last + max(shift**2 / 4.0, 1e-3 * last)
    # both half-steps where they fit together
    e = shift**2 / 4.0 + grid**2 * (far - shift**2 / 4.0)
    added, removed = e / 2.0 - shift**2 / 8.0, e / 2.0 + shift**2 / 8.0
    together = (
        added + price(removed),
        gaussian_profile(half, added) + np.exp(added) * gaussian_profile(half, removed),
    )
    # the same below D^2/4, where the row that is added is one that would be removed the other way
    e = grid * shift**2 / 4.0
    back, removed = shift**2 / 8.0 - e / 2.0, shift**2 / 8.0 + e / 2.0
    share = np.exp(-price(back))
    turned = (
        price(removed) - price(back),
        1.0 - share + share * (gaussian_profile(half, back) + gaussian_profile(half, removed)),
    )
    # all of epsilon for the row that is added: the other one is told apart by its noise alone
    e = grid**2 * last
    alone = (e, gaussian_profile(half, e) + np.exp(e) * at_zero)
    most = float(together[0][-1])
    epsilon, bound = (np.concatenate(parts) for parts in zip(together, turned, alone, strict=True))
    kept = epsilon <= most
    return np.exp(epsilon[kept]), bound[kept]


def _hull(gamma: Array, bound: Array) -> tuple[Array, Array]:
    """The lower convex hull of points: a convex function below all of them is below it."""
    order = np.lexsort((bound, gamma))
    kept: list[tuple[float, float]] = []
    for x, y in zip(gamma[order].tolist(), bound[order].tolist(), strict=True):
        if kept and x <= kept[-1][0]:
            continue
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
                break
            kept.pop()
        kept.append((x, y))
    xs, ys = zip(*kept, strict=True)
    return np.array(xs), np.array(ys)
