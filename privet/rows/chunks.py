"""What a task sees of a table that is read in parts, here or on another machine.

    chunk     consecutive encoded rows, cut by their number in the whole table
    unit      consecutive chunks that one task reads: where they lie, or the rows themselves
    job       what is computed from the chunks of a unit; it holds neither budget nor noise
    answer    the job's value, with the rows that were counted and a digest of what was read

A unit can be read again anywhere, so a lost task is simply done anew. Whoever adds up answers
takes one for each unit, by its place: a task that ran twice is never added twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet._types import Codes, Flags
from privet.errors import DataError, PrivetError, quietly
from privet.rows.arrays import MOST_BLOCK_ROWS, ArrayRows
from privet.rows.blas import one_thread
from privet.rows.checked import Checked
from privet.rows.digests import fresh_key, joint
from privet.rows.engine import Compensated, Kernel, Rows
from privet.schema.packed import Packed, dense

#: Rows of a chunk: a power of two, so that whole blocks fit in, of about this many entries.
CHUNK_ENTRIES = 1 << 21
MOST_CHUNK_ROWS, LEAST_CHUNK_ROWS = 1 << 16, 1 << 12
CHANGED = (
    "The table changed while it was read: {what}. Nothing was released. Let nobody write to the "
    "files during a fit, and start again."
)


def chunk_rows(d: int) -> int:
    """Rows in a chunk of ``d`` encoded columns: public, since sums round by it."""
    wanted = max(LEAST_CHUNK_ROWS, min(MOST_CHUNK_ROWS, CHUNK_ENTRIES // max(d, 1)))
    return 1 << (wanted.bit_length() - 1)


@dataclass(frozen=True)
class Chunk:
    """Encoded rows from number ``start`` on, their labels' codes, and their groups' if asked.

    Rows are packed, or dense. A code is the label's place among the schema's classes, or the number
    that is to be predicted. ``digest`` is of all rows of the chunk of the whole table that these
    rows are from. A cluster's logs show arguments of tasks: no row is to be seen there.
    """

    start: int
    features: Packed | NDArray[Any] = field(repr=False)
    codes: NDArray[Any] = field(repr=False)
    groups: Codes = field(repr=False)
    digest: bytes = field(default=b"", repr=False)
    checked: Checked | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.codes)

    def taken(self, start: int, which: slice | Flags) -> Chunk:
        """Some of the rows, now from number ``start`` on."""
        codes, groups = self.codes[which], self.groups[which]
        return Chunk(start, self.features[which], codes, groups, self.digest)

    @property
    def x(self) -> NDArray[Any]:
        """Dense rows."""
        return dense(self.features)

    def kept(self) -> Chunk:
        """The same rows, dense, and copied where they are a view of a larger array."""
        view = isinstance(self.features, np.ndarray) and self.features.base is not None
        x = self.x.copy() if view else self.x
        return Chunk(self.start, x, self.codes.copy(), self.groups.copy(), self.digest, Checked())


class Unit(ABC):
    """Where consecutive rows are; small enough to be sent, unless it holds the rows themselves."""

    start: int
    rows: int

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """The rows, read anew."""


@dataclass(frozen=True)
class HeldUnit(Unit):
    """Chunks in memory."""

    held: tuple[Chunk, ...] = field(repr=False)
    start: int
    rows: int

    def chunks(self) -> Iterator[Chunk]:
        """The same chunks every time."""
        return iter(self.held)

    def __sizeof__(self) -> int:
        """Bytes of all rows: a cluster that is told less sends them to and fro between workers."""
        return sum(
            each.features.nbytes + each.codes.nbytes + each.groups.nbytes for each in self.held
        )


@dataclass(frozen=True)
class ThinnedUnit(Unit):
    """The rows of another unit whose numbers are multiples of ``stride``."""

    whole: Unit
    stride: int
    start: int
    rows: int

    def chunks(self) -> Iterator[Chunk]:
        """Thinned chunks; also empty ones, which hold their digest."""
        for chunk in self.whole.chunks():
            number = -(-chunk.start // self.stride)
            first = number * self.stride - chunk.start
            yield chunk.taken(number, slice(first, None, self.stride))


@dataclass(frozen=True)
class ChosenUnit(Unit):
    """The rows of another unit that ``bits`` choose, one bit for each row."""

    whole: Unit
    bits: NDArray[np.uint8] = field(repr=False)
    start: int
    rows: int

    def chunks(self) -> Iterator[Chunk]:
        """Chosen rows of each chunk; also of one without any, which holds its digest."""
        flags = np.unpackbits(self.bits, count=self.whole.rows).astype(np.bool_)
        number = self.start
        for chunk in self.whole.chunks():
            first = chunk.start - self.whole.start
            mine = flags[first : first + len(chunk)]
            yield chunk.taken(number, mine)
            number += int(mine.sum())


@dataclass(frozen=True)
class Thin:
    """One row in ``stride``, by the rows' numbers."""

    stride: int

    def place(self, start: int, rows: int) -> tuple[int, int]:
        """Where the rows that stay begin among themselves, and how many they are."""
        first = -(-start // self.stride)
        return first, -(-(start + rows) // self.stride) - first

    def __call__(self, unit: Unit) -> Unit:
        """The thinned unit."""
        return ThinnedUnit(unit, self.stride, *self.place(unit.start, unit.rows))


@dataclass(frozen=True)
class Choose:
    """Rows by one bit for each, from number ``start`` on among those that stay."""

    bits: NDArray[np.uint8] = field(repr=False)
    start: int
    rows: int

    def __call__(self, unit: Unit) -> Unit:
        """The chosen rows of the unit."""
        return ChosenUnit(unit, self.bits, self.start, self.rows)


# -- jobs ----------------------------------------------------------------------------------------


class View(Protocol):
    """Encoded rows and the codes of their labels as an algorithm sees them.

    A view that has a true ``takes_packed`` is given packed rows as they are, others dense ones.
    """

    def __call__(self, x: Any, codes: NDArray[Any]) -> Rows:
        """Rows in memory, each a function of itself and of what is public."""


class Job(Protocol):
    """What is computed from the chunks of a unit; values of consecutive units can be joined."""

    def __call__(self, chunks: Iterable[Chunk]) -> Any:
        """The value for one unit."""

    def joined(self, values: Iterable[Any]) -> Any:
        """The value for several units."""


@dataclass(frozen=True)
class Sums:
    """A kernel's sums over blocks, with what they have lost to rounding.

    ``token`` is the view's own: rows in memory are checked once by each view, not in every pass.
    """

    view: View
    kernel: Kernel
    args: tuple[Any, ...]
    rough: bool = False
    token: bytes = field(default_factory=fresh_key, repr=False)

    def __call__(self, chunks: Iterable[Chunk]) -> list[Compensated]:
        """Compensated sums over all blocks of all chunks."""
        return self.joined(self._one(rows) for chunk in chunks for rows in self._seen(chunk))

    def _seen(self, chunk: Chunk) -> Iterator[Rows]:
        """A few whole blocks at a time: rows are checked, and summed while the cache has them."""
        kept = {} if chunk.checked is None else chunk.checked.by(self.token)
        for start in range(0, len(chunk), MOST_BLOCK_ROWS):
            rows = kept.get(start)
            if rows is None:
                place = slice(start, start + MOST_BLOCK_ROWS)
                part = chunk.features[place]
                x = part if getattr(self.view, "takes_packed", False) else dense(part)
                with quietly():
                    rows = self.view(x, chunk.codes[place])
                if isinstance(rows, ArrayRows) and rows.lies_in(chunk.features):
                    kept[start] = rows
            yield rows

    def _one(self, rows: Rows) -> list[Compensated]:
        rows = rows.rough() if self.rough else rows
        return rows.totals(self.kernel, *self.args)

    def joined(self, values: Iterable[list[Compensated]]) -> list[Compensated]:
        """One sum; nothing where there were no rows."""
        found: list[Compensated] = []
        for value in values:
            if value and not found:
                found = [Compensated(each.value.shape) for each in value]
            for total, part in zip(found, value, strict=True) if value else ():
                total.merge(part)
        return found


@dataclass(frozen=True)
class EachChunk:
    """A function's values for the chunks, in their order."""

    function: Callable[[Chunk], Any]

    def __call__(self, chunks: Iterable[Chunk]) -> list[Any]:
        """A list with one value for each chunk."""
        return [self.function(chunk) for chunk in chunks]

    def joined(self, values: Iterable[list[Any]]) -> list[Any]:
        """One list after the other."""
        return [each for value in values for each in value]


# -- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitFact:
    """What was read of a unit: its first row's number, how many rows, and a digest.

    The digest is that of the rows of the whole table that the unit's own rows were chosen from.
    """

    start: int
    rows: int
    digest: bytes = field(repr=False)


@dataclass(frozen=True)
class UnitAnswer:
    """A job's value for consecutive units, and what was read of each."""

    facts: tuple[UnitFact, ...]
    value: Any


class _Counted:
    """Chunks that are counted as they pass; a gap between them is refused."""

    def __init__(self, unit: Unit) -> None:
        self._unit, self.rows = unit, 0
        self.digests: list[bytes] = []

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self._unit.chunks():
            if chunk.start != self._unit.start + self.rows:
                raise DataError(CHANGED.format(what="rows are missing from its middle"))
            self.rows += len(chunk)
            self.digests.append(chunk.digest)
            if len(chunk):
                yield chunk


def answer(unit: Unit, job: Job) -> UnitAnswer:
    """Read a unit and compute; what every engine calls, wherever it does."""
    counted = _Counted(unit)
    value = job(counted)
    return UnitAnswer((UnitFact(unit.start, counted.rows, joint(counted.digests)),), value)


def joined(job: Job, answers: Sequence[UnitAnswer]) -> UnitAnswer:
    """Answers of consecutive units as one: a step of a tree of sums."""
    facts = tuple(fact for each in answers for fact in each.facts)
    return UnitAnswer(facts, job.joined([each.value for each in answers]))


def held(unit: Unit) -> HeldUnit:
    """A unit with its rows in memory, copied out of what they were cut from."""
    return HeldUnit(tuple(each.kept() for each in unit.chunks()), unit.start, unit.rows)


@one_thread
def remote_answer(unit: Unit, job: Job) -> UnitAnswer:
    """``answer`` in another process: its logs show an error's text, which may quote a row."""
    try:
        return answer(unit, job)
    except PrivetError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise TaskFailed(kind)  # outside of the handler, which may quote a row


class TaskFailed(RuntimeError):
    """What a cluster's log shows of an error in a task: its kind."""
