"""Pure noise in the shape of a declared domain whose blocks are in groups, each with its own noise.

The gauge of a product or a hull is the largest over the blocks: one wide block of categories then
makes the noise of every number larger, since the radius grows with the dimension. Groups take
shares ``w_g`` of the gauge instead, which add up to one:

    |v| = sum_g w_g |v_g|        |v_g| the gauge of the group's own hull, or product

Rows have gauge one at most, as before, and the noise of different groups is independent, that of a
group at ``scale/w_g``. (Hardt and Talwar 2010 split a body in the same way, by its long and short
axes.) ``mechanisms/domain_noise.proof.md``, step 9.

Which groups there are is a rule of the domain alone. Blocks are ordered by the variance of their
coordinates and cut in two where that lowers the noise most, and each half again. The meaning of
this law's name in files is this rule: another one needs another name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.domain import Domain, OneHot
from privet.noise.domain_noise import DomainNoise, Hull, Product, shares
from privet.randomness import Randomness

#: Shares are multiples of one over this, so that they add up to one exactly.
PARTS = 64
#: A cut is made where it leaves at most this much of the noise's squared size.
WORTH = 0.98
#: Every double is a whole multiple of one over this.
_FINEST = 1 << 1074


class BlockGroup(NamedTuple):
    """Blocks by their places, and the share of the gauge that is theirs."""

    share: float
    blocks: tuple[int, ...]


class GroupNoise(NamedTuple):
    """A group's columns and the law of its noise."""

    share: float
    columns: NDArray[np.intp]
    law: Product | Hull


@lru_cache(maxsize=128)
def groups_of(domain: Domain) -> tuple[BlockGroup, ...]:
    """The groups of a domain's blocks; one where no cut is worth it."""
    each = [float(shares(block)[0]) for block in domain.blocks]
    order = sorted(range(len(each)), key=lambda place: (-each[place], place))
    return tuple(_cut(domain, order, each, 1.0))


def _cut(domain: Domain, order: list[int], each: list[float], share: float) -> list[BlockGroup]:
    """Between blocks that differ; the halves have the shares that leave the least noise."""
    upper, lower = _energies(domain, order), _energies(domain, order[::-1])[::-1]
    best, found = WORTH * upper[-1], None
    for place in range(1, len(order)):
        if each[order[place]] == each[order[place - 1]]:
            continue
        one, two = upper[place - 1], lower[place]
        first = round(PARTS * one ** (1 / 3) / (one ** (1 / 3) + two ** (1 / 3)))
        first = min(max(first, 1), PARTS - 1)
        cost = one * (PARTS / first) ** 2 + two * (PARTS / (PARTS - first)) ** 2
        if cost < best:
            best, found = cost, (place, first / PARTS)
    if found is None:
        return [BlockGroup(share, tuple(sorted(order)))]
    place, part = found
    return [
        *_cut(domain, order[:place], each, share * part),
        *_cut(domain, order[place:], each, share * (1.0 - part)),
    ]


def _energies(domain: Domain, places: list[int]) -> list[float]:
    """About ``E|b|^2`` of the first of these blocks, of the first two, and so on, at scale one.

    By the moments of the product; the sums are exact, so that no cut depends on their order.
    """
    found, complete, width, total = [], 0, 0, 0
    for block in (domain.blocks[place] for place in places):
        complete += isinstance(block, OneHot) and not block.missing
        width += block.width
        top, bottom = float(shares(block).sum()).as_integer_ratio()
        total += top * (_FINEST // bottom)
        span = width - max(complete - 1, 0)
        found.append((span + 1.0) * (span + 2.0) * (total / _FINEST))
    return found


@dataclass(frozen=True)
class Grouped(DomainNoise):
    """Independent noise in each group of blocks, in the shape of its hull or product."""

    kind: ClassVar[str] = "grouped"

    @cached_property
    def groups(self) -> tuple[GroupNoise, ...]:
        """The laws of the groups, by the rule."""
        places = [np.arange(at.start, at.stop) for _, at in self.domain.parts()]
        found = []
        for share, blocks in groups_of(self.domain):
            own = Domain(tuple(self.domain.blocks[block] for block in blocks))
            law = (Hull if own.has_constant else Product)(self.scale / share, own.columns, own)
            found.append(GroupNoise(share, np.concatenate([places[b] for b in blocks]), law))
        return tuple(found)

    @property
    def span(self) -> int:
        """Added up over the groups."""
        return sum(group.law.span for group in self.groups)

    def gauge(self, b: Array) -> Array:
        """``sum_g w_g |b_g|``."""
        parts = [group.share * group.law.gauge(b[..., group.columns]) for group in self.groups]
        return np.asarray(np.sum(parts, axis=0))

    def from_words(self, randomness: Randomness, k: int) -> Array:
        """Each group by itself: the density is a product over them."""
        out = np.empty((k, self.dimension))
        for group in self.groups:
            out[:, group.columns] = group.law.from_words(randomness, k)
        return out

    def uniform(self, randomness: Randomness, k: int) -> Array:
        """A draw's direction is independent of its gauge, and that of a uniform point."""
        points = self.from_words(randomness, k)
        reach = randomness.uniforms((k,)) ** (1.0 / self.span)
        return np.asarray(points * (reach / self.gauge(points))[:, None])

    @property
    def variances(self) -> Array:
        """Those of the groups, of a point that is uniform in the whole body."""
        out = np.empty(self.dimension)
        for group in self.groups:
            out[group.columns] = group.law.variances * self._relative(group)
        return out

    def _along(self, directions: Array) -> Array:
        parts = [
            group.law._along(directions[..., group.columns]) * self._relative(group)
            for group in self.groups
        ]
        return np.asarray(np.sum(parts, axis=0))

    def _relative(self, group: GroupNoise) -> float:
        return (group.law._radius / self._radius) ** 2

    @property
    def largest_sd(self) -> float:
        """Groups are independent of each other."""
        return max(group.law.largest_sd for group in self.groups)

    @property
    def longest(self) -> float:
        """The body's points are means of those of ``K_g/w_g``."""
        return max(group.law.domain.norm / group.share for group in self.groups)
