"""Which blocks of a declared domain share a noise: the rule of ``domain_noise.proof.md``, step 9.

It decides nothing about privacy, which any groups keep whose shares add up to one: only how large
the noise of a column is, and so which grid it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from privet.certificate.declared_rows import DeclaredBlock

Blocks = list[DeclaredBlock]


def grouped(blocks: Sequence[DeclaredBlock]) -> Iterator[tuple[float, Blocks]]:
    """Shares, multiples of powers of 1/64, and the blocks that have them."""
    waiting = [(1.0, sorted(blocks, key=_spread, reverse=True))]
    while waiting:
        share, together = waiting.pop()
        halves = _halves(together)
        if halves is None:
            yield share, together
        else:
            first, one, two = halves
            waiting += [(share * (64 - first) / 64, two), (share * first / 64, one)]


def _halves(blocks: Blocks) -> tuple[int, Blocks, Blocks] | None:
    """The cut between unlike blocks that leaves least, if that is at most .98 of the whole."""
    first_sizes, last_sizes = _sizes(blocks), _sizes(blocks[::-1])[::-1]
    spreads, found, least = list(map(_spread, blocks)), None, 0.98 * first_sizes[-1]
    for place in range(1, len(blocks)):
        if spreads[place - 1] == spreads[place]:
            continue
        sizes = first_sizes[place - 1], last_sizes[place]
        roots = [size ** (1 / 3) for size in sizes]
        first = min(max(round(64 * roots[0] / sum(roots)), 1), 63)
        left = sizes[0] * (64 / first) ** 2 + sizes[1] * (64 / (64 - first)) ** 2
        if left < least:
            found, least = (first, blocks[:place], blocks[place:]), left
    return found


def _spread(block: DeclaredBlock) -> float:
    """The mean square of a coordinate, of numbers and of categories."""
    size, k = float(block.size.mid()), block.width
    return (2 / ((k + 1) * (k + 2)) if block.hot else 1 / 3) * size**2


def _sizes(blocks: Blocks) -> list[float]:
    """``(dim + 1)(dim + 2)`` times the sum of the mean squares, of the first, the first two, ..."""
    found, complete, width, whole = [], 0, 0, Fraction(0)
    for block in blocks:
        complete += block.hot and not block.missing
        width += block.width
        whole += Fraction(block.width * _spread(block))
        dim = width - max(complete - 1, 0)
        found.append((dim + 1) * (dim + 2) * float(whole))
    return found
