"""Rows that are read anew in every pass: the driver's side of every engine.

    engine     where units are read and jobs are done: threads here, or workers elsewhere
    source     a table's units in their order; it checks what every pass has read
    table      what stands for ``X`` in a fit: a shape, and a source behind it
    rows       the sums that algorithms ask for

Every pass counts the rows and compares a digest of each unit with that of the first pass over the
table or over a part of it. Where they differ, the pass fails, and with it the fit, before anything
is released. So a row's number means the same row throughout, and parts of a table stay disjoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Array, Codes, Flags, Targets
from privet.errors import DataError
from privet.rows.blas import one_thread
from privet.rows.chunks import (
    CHANGED,
    Choose,
    Chunk,
    EachChunk,
    Job,
    Sums,
    Thin,
    UnitFact,
    View,
)
from privet.rows.digests import fresh_key
from privet.rows.engine import Block, Compensated, Kernel, Rows
from privet.rows.threads import Engine, Progress, watcher

#: Entries of a sample that the driver keeps between passes: 128 MB.
SAMPLE_ENTRIES = 1 << 24


# -- sources -------------------------------------------------------------------------------------


@dataclass
class Source:
    """A table in units, on an engine; ``places`` are each unit's first row and number of rows."""

    handles: Sequence[Any]
    places: tuple[tuple[int, int], ...]
    d: int
    engine: Engine
    passes: int = 0
    goal: float | None = None
    reached: float | None = None
    #: what the first pass has read of each unit; one list for a table and all its parts
    digests: list[bytes] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if not self.places:
            raise DataError("The table has no rows.")

    @property
    def n(self) -> int:
        """Rows of the table, as its files say; every pass counts them."""
        start, rows = self.places[-1]
        return start + rows

    @one_thread
    def ask(self, job: Job) -> Any:
        """The job's value for the whole table, returned once every row was counted."""
        value = None
        for found in self._pass(job):
            value = found if value is None else job.joined([value, found])
        return value

    def _pass(self, job: Job) -> Iterator[Any]:
        """The job's values in the order of the units; an error at the end if they do not count."""
        begun, seen = time.perf_counter(), 0
        self.passes += 1
        facts: list[UnitFact] = []
        for found in self.engine.run(self.handles, job):
            facts += found.facts
            seen += sum(fact.rows for fact in found.facts)
            self._tell(seen, time.perf_counter() - begun)
            yield found.value
        self._check(facts)

    def _check(self, facts: list[UnitFact]) -> None:
        """Refuse a pass that has not read each row once, or others than the first pass has.

        A part's pass reads all rows of its units, so its digests are those of the whole table.
        """
        found = tuple((fact.start, fact.rows) for fact in facts)
        if found != self.places:
            counted = sum(rows for _, rows in found)
            what = f"{counted:,} rows were counted, and {self.n:,} are expected"
            raise DataError(CHANGED.format(what=what))
        digests = [fact.digest for fact in facts]
        if self.digests and digests != self.digests:
            what = "its cells, or their order, are not what they were a pass before"
            raise DataError(CHANGED.format(what=what))
        self.digests[:] = digests

    def _tell(self, rows: int, seconds: float) -> None:
        tell = watcher()
        if tell is not None:
            tell(Progress(self.passes, rows, self.n, seconds, self.reached, self.goal))

    def each(self, function: Callable[[Chunk], Any]) -> list[Any]:
        """A function's values for all chunks, in their order, once every row was counted."""
        return list(self.flow(function))

    def flow(self, function: Callable[[Chunk], Any]) -> Iterator[Any]:
        """The same one by one, for what is written as it comes; an error at the end undoes it."""
        for values in self._pass(EachChunk(function)):
            yield from values

    def thinned(self, stride: int) -> Source:
        """One row in ``stride``, kept in the workers' memory."""
        thin = Thin(stride)
        handles = self.engine.derived(self.handles, [thin] * len(self.places), keep=True)
        places = tuple(thin.place(*place) for place in self.places)
        return Source(handles, places, self.d, self.engine, digests=self.digests)

    def chosen(self, flags: Flags) -> Source:
        """The rows that ``flags`` (n) choose, in the order of the table.

        Parts that are disjoint by number are disjoint in rows: all passes over all parts are held
        to the same digests.
        """
        chosen, number = [], 0
        for start, rows in self.places:
            mine = flags[start : start + rows]
            chosen.append(Choose(np.packbits(mine), number, int(mine.sum())))
            number += chosen[-1].rows
        handles = self.engine.derived(self.handles, chosen, keep=False)
        places = tuple((c.start, c.rows) for c in chosen)
        return Source(handles, places, self.d, self.engine, digests=self.digests)


# -- what algorithms see -------------------------------------------------------------------------


class StreamedRows(Rows):
    """A view of a source's rows; nothing of them is kept but a sample, where it is small."""

    def __init__(self, source: Source, view: View, *, rough: bool = False) -> None:
        self._source, self._view, self._rough = source, view, rough
        self._samples: dict[int, Rows] = {}
        self._token = fresh_key()
        self.n = source.n
        # a view says how many columns it has of any row: one of zeros is nobody's
        self.m = view(np.zeros((1, source.d)), np.zeros(1, dtype=np.intp)).m

    def blocks(self, stride: int = 1) -> Iterator[tuple[Block, Targets]]:
        """Refused: rows do not leave whoever reads them."""
        raise NotImplementedError("Streamed rows are asked for sums only.")

    def rough(self) -> Rows:
        """The same rows in single precision where that is faster."""
        return StreamedRows(self._source, self._view, rough=True)

    def totals(self, kernel: Kernel, *args: Any, stride: int = 1) -> list[Compensated]:
        """One pass over the table, or over a sample that an earlier pass has kept."""
        job = Sums(self._view, kernel, args, self._rough, self._token)
        if stride == 1:
            return list(self._source.ask(job))
        if stride not in self._samples:
            self._samples = {stride: self._sample(stride)}
        sample = self._samples[stride]
        return (sample.rough() if self._rough else sample).totals(kernel, *args)

    def _sample(self, stride: int) -> Rows:
        """One row in ``stride``: in memory, or on the workers, or read anew where it is large."""
        thinned = self._source.thinned(stride)
        if not self._source.engine.reads_here or thinned.n * self._source.d > SAMPLE_ENTRIES:
            return StreamedRows(thinned, self._view)
        chunks = thinned.each(Chunk.kept)
        x = np.concatenate([chunk.x for chunk in chunks])
        return self._view(x, np.concatenate([chunk.codes for chunk in chunks]))

    def aim(self, tolerance: float) -> None:
        """Remember which gradient norm is to be reached, to be shown."""
        self._source.goal = tolerance

    def note(self, gradients: Array) -> None:
        """Remember how far it is, to be shown."""
        self._source.reached = float(np.linalg.norm(gradients, axis=1).max())


@dataclass(frozen=True)
class Translated:
    """A view of labels as a model codes them."""

    view: View
    coded: Callable[[NDArray[Any]], NDArray[Any]]

    @property
    def takes_packed(self) -> bool:
        """As the view does."""
        return getattr(self.view, "takes_packed", False)

    def __call__(self, x: Any, codes: NDArray[Any]) -> Rows:
        """The view, with each label's code of the model."""
        return self.view(x, self.coded(codes))


@dataclass(frozen=True)
class Places:
    """The place of each of the schema's classes in a model's order of them."""

    places: Codes

    def __call__(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Places in the other order."""
        return np.asarray(self.places[codes])


@dataclass(frozen=True)
class StreamedTable:
    """What stands for ``X``: the shape is public, the rows are asked for sums."""

    source: Source

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and encoded columns."""
        return self.source.n, self.source.d

    @property
    def ndim(self) -> int:
        """A table has two."""
        return 2

    def __len__(self) -> int:
        return self.source.n

    def __getitem__(self, which: slice | NDArray[Any]) -> StreamedTable:
        """Some rows by their numbers, in the order of the table."""
        flags = np.zeros(len(self), dtype=np.bool_)
        flags[which] = True
        return StreamedTable(self.source.chosen(flags))


@dataclass(frozen=True)
class StreamedLabels:
    """What stands for ``y``: how many, and the classes in the schema's order, if they are classes.

    ``coded`` makes a model's codes of the schema's, once the model has said how.
    """

    classes: NDArray[Any]
    count: int
    coded: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, which: slice | NDArray[Any]) -> StreamedLabels:
        """The labels of some rows."""
        count = len(range(*which.indices(self.count))) if isinstance(which, slice) else len(which)
        return replace(self, count=count)

    def among(self, places: Codes) -> StreamedLabels:
        """The same labels as places in another order of the classes."""
        return replace(self, coded=Places(places))


def rows_of(data: Any, codes: Any, view: View) -> Rows:
    """Rows of a table in memory, or of one that is read in parts, as ``view`` shows them."""
    if not isinstance(data, StreamedTable):
        return view(data, codes)
    return StreamedRows(data.source, Translated(view, codes.coded))
