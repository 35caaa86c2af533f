"""Which blocks of a declared domain share a noise: the rule of ``domain_noise.proof.md``, step 9.

It decides nothing about privacy, which any groups keep whose shares add up to one: only how large
the noise of a column is, and so which grid it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    found, least = None, 0.98 * _size(blocks)
    for place in range(1, len(blocks)):
        one, two = blocks[:place], blocks[place:]
        if _spread(one[-1]) == _spread(two[0]):
            continue
        sizes = _size(one), _size(two)
        roots = [size ** (1 / 3) for size in sizes]
        first = min(max(round(64 * roots[0] / sum(roots)), 1), 63)
        left = sizes[0] * (64 / first) ** 2 + sizes[1] * (64 / (64 - first)) ** 2
        if left < least:
            found, least = (first, one, two), left
    return found


def _spread(block: DeclaredBlock) -> float:
    """The mean square of a coordinate, of numbers and of categories."""
    size, k = float(block.size.mid()), block.width
    return (2 / ((k + 1) * (k + 2)) if block.hot else 1 / 3) * size**2


def _size(blocks: Blocks) -> float:
    """``(dim + 1)(dim + 2)`` times the sum of the mean squares."""
    complete = sum(block.hot and not block.missing for block in blocks)
    dim = sum(block.width for block in blocks) - max(complete - 1, 0)
    return (dim + 1) * (dim + 2) * sum(block.width * _spread(block) for block in blocks)
