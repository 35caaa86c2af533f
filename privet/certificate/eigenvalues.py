"""The largest eigenvalue of a symmetric matrix of balls, also where others lie close together.

positive entries    min (K v)_i/v_i <= lambda <= max (K v)_i/v_i for any positive v (Collatz and
                    Wielandt); v is sought in floating point, and the ratios are of balls
W W^T               its own, or that of W^T W, whichever is smaller
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb_mat

from privet.certificate.balls import Ball, above, ball, below, hull, larger, smaller, total

Rows = Sequence[Sequence[Ball]]
#: Enclosures as narrow as this are as good as a number of twelve digits.
NARROW = 1e-13
STEPS, BETWEEN = 400, 10


def largest_eigenvalue(rows: Rows) -> Ball:
    """By isolating all of them; a ``ValueError`` where that cannot be done."""
    top = ball(0)
    for value in arb_mat([list(row) for row in rows]).eig(multiple=True):
        top = larger(top, value.real)
    return top


def largest_singular_value(rows: Rows) -> Ball:
    """Of a matrix: the smaller of its two products has no eigenvalues that must be zero."""
    columns = [*zip(*rows, strict=True)]
    sides = rows if len(rows) <= len(columns) else columns
    gram = [[total(x * z for x, z in zip(a, b, strict=True)) for b in sides] for a in sides]
    return largest_eigenvalue(gram).sqrt()


def largest_of_positive(rows: Rows) -> Ball:
    """Of a symmetric matrix of positive numbers; wide where no vector was found that tells it."""
    plain = [[float(entry.mid()) for entry in row] for row in rows]
    vector = [1.0] * len(plain)
    for step in range(STEPS):
        image = [sum(map(float.__mul__, row, vector)) for row in plain]
        most = max(image)
        if not min(image) > 1e-300 * most:
            break
        ratios = [new / old for new, old in zip(image, vector, strict=True)]
        vector = [new / most for new in image]
        if step % BETWEEN == 0 and max(ratios) - min(ratios) <= NARROW / 4 * max(ratios):
            break
    return _between(rows, [ball(entry) for entry in vector])


def _between(rows: Rows, vector: list[Ball]) -> Ball:
    """The ratios of a positive vector's image to itself."""
    low, high = None, ball(0)
    for row, own in zip(rows, vector, strict=True):
        ratio = total(entry * each for entry, each in zip(row, vector, strict=True)) / own
        high = larger(high, ratio)
        low = ratio if low is None else smaller(low, ratio)
    return high if low is None else hull(low, high)


def is_narrow(found: Ball) -> bool:
    """Whether an enclosure is as good as a number."""
    return above(found) - below(found) <= NARROW * above(found)
