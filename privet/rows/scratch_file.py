"""Encoded rows in a file between passes, where that is allowed: ``stream(..., scratch=folder)``.

To decode and encode a table takes longer than to sum it. The first pass writes its rows, numbers
and places of categories as they are summed, to a file in the folder, and later passes read them
there. The file has no name: nobody else can open it by one, and nothing of it stays when this
process ends, however it does. Every pass compares a digest of what it has read from the file with
that of what was written, so a row that changes on the way is noticed.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError, DeclarationError
from privet.rows.chunks import CHANGED, Chunk, Unit
from privet.rows.cutting import Cutter
from privet.rows.digests import digest
from privet.schema.packed import Encodings, Packed, Parts

#: Where arrays begin in the file, with their shapes and types.
Places = list[tuple[int, tuple[int, ...], np.dtype[Any]]]


class ScratchFile:
    """A file that only this process has: mode 0600, and without a name."""

    def __init__(self, folder: str | Path) -> None:
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError:
            raise DeclarationError(
                f"No file can be made in the scratch folder {str(folder)!r}. Name a folder that "
                "exists and that you may write to."
            ) from None
        finalize(self, self._file.close)  # with the last unit that reads from it
        self._end, self._lock = 0, Lock()

    def write(self, parts: Parts) -> Places:
        """Where the arrays are, once they are written."""
        with self._lock:  # threads write side by side, each at its own place
            start = self._end
            self._end += sum(part.nbytes for part in parts)
        places: Places = []
        for part in parts:
            self._moved(os.pwrite, np.ascontiguousarray(part), start)
            places.append((start, part.shape, part.dtype))
            start += part.nbytes
        return places

    def read(self, places: Places) -> Parts:
        """The arrays that were written there."""
        return tuple(self._read(*place) for place in places)

    def _read(self, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        found: NDArray[Any] = np.empty(shape, dtype=dtype)
        self._moved(lambda file, octets, at: os.preadv(file, [octets], at), found, start)
        return found

    def _moved(self, move: Callable[[int, Any, int], int], array: NDArray[Any], start: int) -> None:
        """Move all octets of an array, in as many steps as the system takes."""
        octets, done = array.reshape(-1).view(np.uint8), 0
        try:
            while done < len(octets):
                moved = move(self._file.fileno(), octets[done:], start + done)
                if not moved:
                    raise DataError(CHANGED.format(what="its scratch file is shorter than it was"))
                done += moved
        except OSError:
            raise DataError(
                "The scratch file cannot be written or read: its disk may be full. Nothing was "
                "released. Name a folder with more room, or leave scratch out."
            ) from None


@dataclass(frozen=True)
class Written:
    """A chunk in the file: its first row, its digest in the table, and where it is and its own."""

    start: int
    digest: bytes = field(repr=False)
    places: Places = field(repr=False)
    own: bytes = field(repr=False)


@dataclass(frozen=True)
class ScratchUnit(Unit):
    """A unit whose rows are read from where they are once, and then from a scratch file."""

    whole: Unit
    file: ScratchFile = field(repr=False)
    cutter: Cutter
    start: int
    rows: int
    #: empty until all of the unit is written
    written: list[Written] = field(default_factory=list, repr=False)

    def chunks(self) -> Iterator[Chunk]:
        """The rows; those from the file are what was written, or the pass ends."""
        return map(self._again, self.written) if self.written else self._first()

    def _first(self) -> Iterator[Chunk]:
        written = []
        for chunk in self.whole.chunks():
            parts = _parts(chunk)
            own = digest(self.cutter.key, chunk.start, *parts)
            written.append(Written(chunk.start, chunk.digest, self.file.write(parts), own))
            yield chunk
        self.written[:] = written

    def _again(self, chunk: Written) -> Chunk:
        parts = self.file.read(chunk.places)
        if digest(self.cutter.key, chunk.start, *parts) != chunk.own:
            raise DataError(CHANGED.format(what="its cells are not what they were a pass before"))
        codes, groups, constant, numbers, *rest = parts
        packing = self.cutter.encoder.packing
        places = [place.astype(np.intp) for place in rest[: len(packing.groups)]]
        ready = Encodings(numbers.T, places, rest[len(packing.groups) :])
        rows = Packed(packing, (), constant, ready)
        return Chunk(chunk.start, rows, codes, groups, chunk.digest)


def _parts(chunk: Chunk) -> Parts:
    """What is written of a chunk."""
    assert isinstance(chunk.features, Packed)
    ready, groups = chunk.features.encoded(), chunk.features.packing.groups
    places = [
        place.astype(np.min_scalar_type(math.prod(group.sizes)))
        for place, group in zip(ready.places, groups, strict=True)
    ]
    rows = chunk.features.constant, ready.numbers.T, *places, *ready.bends
    return chunk.codes, chunk.groups, *rows


def with_scratch(units: Sequence[Unit], folder: str | Path, cutter: Cutter) -> list[Unit]:
    """The same units, each read from the table once."""
    file = ScratchFile(folder)
    return [ScratchUnit(unit, file, cutter, unit.start, unit.rows) for unit in units]
