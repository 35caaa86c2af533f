"""Mean squares of a uniform point of a domain's hull, as exact fractions.

Blocks of categories agree in ``c``, the sum of their entries over their size. The volume that a
block of ``k`` cells has at ``c``, and its integral of ``sum w_i^2``, are homogeneous in ``c`` and
``X = (1 - c)/2``: with ``p`` entries above zero that add up to ``c + N`` and ``q`` below that add
up to ``-N``, both are integrals over ``N`` in [0, X] (``domain_noise.proof.md``, step 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial
from typing import Any

from flint import fmpq, fmpq_poly

from privet.certificate.balls import Ball, ball

Polynomial = Any  # flint.fmpq_poly in X; the power of c is what is missing to the degree


def hull_squares(cells: Sequence[int]) -> list[Ball]:
    """``E w_i^2`` of one cell of each block."""
    product = fmpq_poly([1])
    volumes = {k: _volume(k) for k in set(cells)}
    for k in cells:
        product *= volumes[k]
    whole = _integral(product, sum(cells) - len(cells))
    means = {}
    for k in volumes:
        # a block's volume divides the product: its own factor is taken out and its squares put in
        with_squares = product // volumes[k] * _squares(k)
        means[k] = _integral(with_squares, sum(cells) - len(cells) + 2) / (k * whole)
    return [ball(int(means[k].p)) / ball(int(means[k].q)) for k in cells]


def _integral(polynomial: Polynomial, degree: int) -> Any:
    """``int_0^1`` of ``sum_j a_j c^(degree-j) ((1-c)/2)^j dc``, by Beta functions."""
    found = fmpq(0)
    for j, coefficient in enumerate(polynomial.coeffs()):
        beta = fmpq(factorial(degree - j) * factorial(j), factorial(degree + 1) * 2**j)
        found += coefficient * beta
    return found


def _volume(k: int) -> Polynomial:
    """``A_k``: all entries above zero, or ``p`` of them."""
    out = [fmpq(0)] * k
    out[0] += fmpq(1, factorial(k - 1))
    for p in range(1, k):
        _add(out, fmpq(comb(k, p), factorial(p - 1) * factorial(k - p - 1)), p - 1, k - p - 1)
    return fmpq_poly(out)


def _squares(k: int) -> Polynomial:
    """The integral of ``sum w_i^2``: ``2 P^2/(p+1)`` above zero and ``2 N^2/(q+1)`` below."""
    out = [fmpq(0)] * (k + 2)
    out[0] += fmpq(2, (k + 1) * factorial(k - 1))
    for p in range(1, k):
        q = k - p
        weight = fmpq(comb(k, p), factorial(p - 1) * factorial(q - 1))
        _add(out, weight * fmpq(2, p + 1), p + 1, q - 1)
        _add(out, weight * fmpq(2, q + 1), p - 1, q + 1)
    return fmpq_poly(out)


def _add(out: list[Any], weight: Any, above: int, below: int) -> None:
    """``weight int_0^X (c + N)^above N^below dN``, by the binomial theorem."""
    for i in range(above + 1):
        out[below + i + 1] += weight * fmpq(comb(above, i), below + i + 1)
