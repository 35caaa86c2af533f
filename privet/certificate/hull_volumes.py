"""Mean squares of a uniform point of a domain's hull.

Blocks of categories agree in ``c``, the sum of their entries over their size. The volume that a
block of ``k`` cells has at ``c``, and its integral of ``sum w_i^2``, are homogeneous in ``c`` and
``X = (1 - c)/2``: with ``p`` entries above zero that add up to ``c + N`` and ``q`` below that add
up to ``-N``, both are integrals over ``N`` in [0, X] (``domain_noise.proof.md``, step 5). By
Vandermonde's identity the sums over ``p`` are, but for ``1/(k-1)!``, polynomials in ``X`` with

    volume     C(k+j-1, j) (k-1)!/((k-1-j)! j!)
    squares    2 k (C(k+j-2, j) + C(k+j-2, j-3)) (k-1)!/((k+1-j)! j!)

No coefficient is negative, so that nothing cancels in sums and products of balls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from flint import arb_poly

from privet.certificate.balls import Ball, ball, ratio
from privet.certificate.verdicts import Undecided

#: Categories of all blocks together: with more of them this takes longer than a fit.
MOST_CELLS = 2048
Polynomial = Any  # flint.arb_poly in X; the power of c is what is missing to the degree


def hull_squares(cells: Sequence[int]) -> list[Ball]:
    """``E w_i^2`` of one cell of each block."""
    if sum(cells) > MOST_CELLS:
        raise Undecided(f"more than {MOST_CELLS} categories: the size of the hull is not computed")
    counts, one = Counter(cells), arb_poly([1])
    volumes = [arb_poly(_volume(k)) ** times for k, times in counts.items()]
    before = list(accumulate(volumes, mul, initial=one))
    after = list(accumulate(reversed(volumes), mul, initial=one))[-2::-1]
    degree = sum(cells) - len(cells)
    whole, means = _integral(before[-1], degree), {}
    for (k, times), left, right in zip(counts.items(), before, after, strict=False):
        others = left * arb_poly(_volume(k)) ** (times - 1) * right
        means[k] = _integral(others * arb_poly(_squares(k)), degree + 2) / (k * whole)
    return [means[k] for k in cells]


def _integral(polynomial: Polynomial, degree: int) -> Ball:
    """``int_0^1`` of ``sum_j a_j c^(degree-j) ((1-c)/2)^j dc``, by Beta functions."""
    found, beta = ball(0), 1 / ball(degree + 1)
    for j, coefficient in enumerate(polynomial.coeffs()):
        found += coefficient * beta
        if j < degree:  # (degree-j)! j!/(degree+1)! / 2^j
            beta *= ratio(j + 1, 2 * (degree - j))
    return found


def _volume(k: int) -> list[Ball]:
    """Coefficients of a block's volume, each from the one before."""
    steps = (ratio((k + j - 1) * (k - j), j * j) for j in range(1, k))
    return list(accumulate(steps, mul, initial=ball(1)))


def _squares(k: int) -> list[Ball]:
    """Those of the integral of ``sum w_i^2``: entries above zero, then those below."""
    steps = (ratio((k + j - 2) * (k + 2 - j), j * j) for j in range(1, k + 2))
    above = accumulate(steps, mul, initial=ratio(2, k + 1))
    cube = max((k + 1) * k * (k - 1), 1)  # one cell: nothing but the first
    return [a * (1 + ratio(j * (j - 1) * (j - 2), cube)) for j, a in enumerate(above)]
