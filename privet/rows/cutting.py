"""From batches of a raw table, as a reader gives them, to chunks by the rows' numbers.

Whatever the batches are, a chunk ends at a multiple of its size. It is known by a digest of what
its rows are made of, which every part of the table that is derived from it keeps: a row's number
means the same row in all passes over the table and over its parts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from privet.rows.chunks import Chunk, Unit, chunk_rows
from privet.rows.digests import digest, fresh_key
from privet.schema.encode import ChunkEncoder
from privet.schema.packed import Parts
from privet.schema.tables import Batch

#: The number of a chunk's first row, and what was read of each column of its rows.
Piece = tuple[int, Parts]


@dataclass(frozen=True)
class Cutter:
    """How the batches of one table become chunks; a value that can be sent to whoever reads it."""

    encoder: ChunkEncoder
    size: int
    key: bytes = field(default_factory=fresh_key, repr=False)

    @classmethod
    def of(cls, encoder: ChunkEncoder) -> Cutter:
        """Chunks of the public size, under a key of their own."""
        return cls(encoder, chunk_rows(encoder.schema.width))

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return self.encoder.names

    def pieces(self, batches: Iterator[Batch], start: int) -> Iterator[Piece]:
        """What was read of the rows from number ``start`` on, in pieces of a chunk each."""
        return cut(map(self.encoder.parts, batches), start, self.size)

    def chunk(self, number: int, parts: Parts) -> Chunk:
        """A chunk from row ``number`` on, encoded, with the digest of what was read of its rows."""
        return Chunk(number, *self.encoder.rows(parts), digest(self.key, number, *parts))


class CutUnit(Unit):
    """A unit that reads a raw table, and encodes what it has read in every pass."""

    cutter: Cutter

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """What was read of the rows, in pieces of a chunk each."""

    def chunks(self) -> Iterator[Chunk]:
        """The rows, read and encoded a chunk at a time."""
        return (self.cutter.chunk(*piece) for piece in self.pieces())


def cut(batches: Iterator[Parts], start: int, size: int) -> Iterator[Piece]:
    """Batches of any length as pieces that end at multiples of ``size``, the last one at its end.

    A batch that is such a piece already is passed on without a copy.
    """
    waiting: list[Parts] = []
    number, held = start, 0
    for batch in batches:
        first, rows = 0, len(batch[0])
        while first < rows:
            room = size - number % size - held
            taken = tuple(part[first : first + room] for part in batch)
            waiting.append(taken)
            held, first = held + len(taken[0]), first + room
            if len(taken[0]) == room:
                yield number, _together(waiting)
                number, held, waiting = number + held, 0, []
    if waiting:
        yield number, _together(waiting)


def _together(pieces: list[Parts]) -> Parts:
    if len(pieces) == 1:
        return pieces[0]
    return tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))
