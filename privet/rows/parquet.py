"""Parquet files as units: a file, a folder, or a folder of folders named ``column=value`` (hive).

The order of the rows is that of the paths, then of the rows in a file. Units begin where row groups
do, as nearly as chunks allow: the rows before a chunk's first one in its row group are decoded for
nothing, and they are fewer than a chunk has. A file is known by its size and time of change, which
every unit looks at again before it reads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from privet._untrusted import refuse_special
from privet.errors import DataError
from privet.rows.chunks import CHANGED
from privet.rows.cutting import Cutter, CutUnit, Piece
from privet.rows.folders import table_files
from privet.schema.file_format import pyarrow
from privet.schema.tables import BATCH, ArrowBatch, Batch, OpenTable, typed

#: Chunks that one task reads, about: enough work to be worth a task, little to be done again.
UNIT_CHUNKS = 8
#: Rows that are decoded at a time, of however many columns: fewer are more calls than work.
BATCH_ROWS = 1 << 16
#: Bytes of a column that are read at a time: many columns' buffers fit the cache together.
BUFFER = 1 << 16
#: The mark of a file that is not there.
NOWHERE = (-1, -1)
#: What hive writes in the place of a missing value.
NOTHING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class ParquetPart:
    """Row groups of one file, and how many of their rows are taken after how many are skipped."""

    path: str
    known: tuple[int, int]  # size and time of change
    groups: tuple[int, ...]
    skip: int
    rows: int
    words: tuple[str, ...]  # columns of text
    named: tuple[tuple[str, str], ...]  # values that the folders' names give

    def batches(self, names: list[str], size: int) -> Iterator[Batch]:
        """The rows with these columns; a reader's complaint is passed on without what it quotes."""
        pa, left, skip = pyarrow(), self.rows, self.skip
        self._refuse_changed()
        try:
            with _opened(self.path, self.words) as file:
                known = set(file.schema_arrow.names)
                there = [name for name in names if name in known]
                for batch in file.iter_batches(
                    size, row_groups=list(self.groups), columns=there, use_threads=False
                ):
                    taken = batch.slice(skip, left)
                    skip, left = max(0, skip - len(batch)), left - len(taken)
                    if len(taken):
                        yield ArrowBatch(self._with_named(taken, names))
                    if not left:
                        break
        except (pa.ArrowException, OSError, UnicodeError):
            left = -1
        if left < 0:  # outside of the handler, which may quote a cell
            name = Path(self.path).name
            raise DataError(f"The Parquet file {name!r} cannot be read to its end: it is damaged.")
        self._refuse_changed()

    def _with_named(self, batch: Any, names: list[str]) -> Any:
        pa = pyarrow()
        for name, value in self.named:
            if name in names:
                cell = None if value == NOTHING else value
                column = pa.array([cell] * len(batch), pa.string())
                batch = batch.append_column(name, column.dictionary_encode())
        return batch

    def _refuse_changed(self) -> None:
        refuse_changed(self.path, self.known)


@dataclass(frozen=True)
class ParquetUnit(CutUnit):
    """Consecutive rows in one file or several."""

    start: int
    rows: int
    parts: tuple[ParquetPart, ...]
    cutter: Cutter

    def pieces(self) -> Iterator[Piece]:
        """The rows, decoded a batch at a time."""
        return self.cutter.pieces(self._batches(), self.start)

    def _batches(self) -> Iterator[Batch]:
        for part in self.parts:
            yield from part.batches(self.cutter.names, BATCH_ROWS)


@dataclass(frozen=True)
class ParquetFile:
    """What a footer says, and what the folders on the way to the file do."""

    path: Path
    known: tuple[int, int]
    groups: tuple[int, ...]  # rows of each row group
    schema: Any
    named: tuple[tuple[str, str], ...]

    @cached_property
    def ends(self) -> list[int]:
        """Rows up to the end of each row group."""
        return list(accumulate(self.groups))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Columns of text."""
        return tuple(field.name for field in self.schema if _kind(field.type) == "text")


def open_parquet(
    path: Path, names: Sequence[str] | None = None
) -> tuple[list[ParquetFile], OpenTable]:
    """Footers of all files, and their columns; no row is read.

    ``names`` (default: all columns) must have one type in all files.
    """
    files = [_footer(each, path) for each in table_files(path).parquet]
    if not files:
        raise DataError(f"The folder {str(path)!r} holds no Parquet file.")
    for file in files:
        _refuse_twice(file, names)
        _refuse_other_columns(files[0], file, names)
    types = typed(files[0].schema)
    types |= typed(pyarrow().schema([(name, pyarrow().string()) for name, _ in files[0].named]))
    starts = _starts(files)

    def batches(names: list[str]) -> Iterator[Batch]:
        for part in _parts(files, starts, 0, starts[-1]):
            yield from part.batches(names, BATCH)

    return files, OpenTable(types, starts[-1], batches)


def parquet_units(files: Sequence[ParquetFile], cutter: Cutter) -> list[CutUnit]:
    """All rows in units that begin near the beginnings of row groups."""
    size, edges, start = cutter.size, [0], 0
    starts = _starts(files)
    n = starts[-1]
    for file in files:
        for rows in file.groups:
            edge = -(-start // size) * size
            if edge - edges[-1] >= UNIT_CHUNKS * size and edge < n:
                edges.append(edge)
            start += rows
    pairs = zip(edges, [*edges[1:], n], strict=True)
    return [
        ParquetUnit(first, last - first, _parts(files, starts, first, last), cutter)
        for first, last in pairs
        if last > first
    ]


def _starts(files: Sequence[ParquetFile]) -> list[int]:
    """The number of each file's first row, and behind them of all rows."""
    return list(accumulate((file.ends[-1] if file.ends else 0 for file in files), initial=0))


def _parts(
    files: Sequence[ParquetFile], starts: Sequence[int], first: int, last: int
) -> tuple[ParquetPart, ...]:
    """Where the rows from ``first`` to ``last`` are; other files and row groups are not visited."""
    found = []
    for number in range(bisect_right(starts, first) - 1, bisect_left(starts, last)):
        file, start = files[number], starts[number]
        skip, stop = max(0, first - start), min(last, starts[number + 1]) - start
        if stop <= skip:
            continue
        low, high = bisect_right(file.ends, skip), bisect_left(file.ends, stop) + 1
        groups = tuple(group for group in range(low, high) if file.groups[group])
        before = file.ends[low] - file.groups[low]
        place = str(file.path), file.known, groups, skip - before, stop - skip
        found.append(ParquetPart(*place, file.words, file.named))
    return tuple(found)


def refuse_changed(path: str, known: tuple[int, int]) -> None:
    """Refuse a file that is not what it was, or that whoever reads it cannot see."""
    found, name = mark_of(path), Path(path).name
    if found == NOWHERE:
        raise DataError(
            f"The file {name!r} is not there where it is read. Nothing was released. Workers of a "
            "cluster must see the same paths as this process; put the table on shared storage."
        )
    if found != known:
        what = f"the file {name!r} is not what it was when it was opened"
        raise DataError(CHANGED.format(what=what))


def mark_of(path: str | Path) -> tuple[int, int]:
    """Size and time of change of a file; something else where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return NOWHERE
    return found.st_size, found.st_mtime_ns


def _opened(path: str | Path, words: tuple[str, ...]) -> Any:
    """A Parquet file whose columns of text arrive as dictionaries; no row group is ever whole."""
    options = {"read_dictionary": list(words), "pre_buffer": False, "buffer_size": BUFFER}
    options["page_checksum_verification"] = True  # where a file has checksums, as Spark's have
    return pyarrow().parquet.ParquetFile(path, **options)


def _kind(kind: Any) -> str:
    """A type as files are compared by it: text is text, as a dictionary or not."""
    value = kind.value_type if pyarrow().types.is_dictionary(kind) else kind
    return "text" if str(value) in ("string", "large_string") else str(value)


def _footer(path: Path, root: Path) -> ParquetFile:
    pa = pyarrow()
    refuse_special(path)
    known = mark_of(path)
    try:
        with pa.parquet.ParquetFile(path) as file:
            facts, schema = file.metadata, file.schema_arrow
            groups = tuple(facts.row_group(i).num_rows for i in range(facts.num_row_groups))
    except (pa.ArrowException, OSError):
        raise DataError(f"{str(path)!r} is not a Parquet file.") from None
    folders = path.relative_to(root).parts[:-1] if root.is_dir() else ()
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    named = tuple((unquote(name), unquote(value)) for name, value in pairs)
    return ParquetFile(path, known, groups, schema, named)


def _refuse_twice(file: ParquetFile, names: Sequence[str] | None) -> None:
    """Refuse a wanted column that is there twice: it is not known which of them is meant."""
    inside, outside = file.schema.names, [name for name, _ in file.named]
    twice = (name for name, count in Counter([*inside, *outside]).items() if count > 1)
    for name in sorted(twice):
        if names is None or name in names:
            where = "and in the names of its folders" if name in outside else "twice"
            raise DataError(
                f"Column {name!r} is in {file.path.name!r} {where}. Keep one of the two."
            )


def _refuse_other_columns(
    first: ParquetFile, other: ParquetFile, names: Sequence[str] | None
) -> None:
    """Refuse a file whose columns have other names or types than the first one's."""
    ours = {field.name: _kind(field.type) for field in first.schema}
    theirs = {field.name: _kind(field.type) for field in other.schema}
    wanted = ours | theirs if names is None else names
    named = [name for name, _ in first.named] != [name for name, _ in other.named]
    differing = sorted(name for name in wanted if ours.get(name) != theirs.get(name))
    if differing or named:
        what = f"column {differing[0]!r}" if differing else "the folders' names"
        raise DataError(
            f"The Parquet files do not make one table: {what} of {other.path.name!r} differs from "
            f"{first.path.name!r} in its type, or is missing in one of them. Write all files with "
            "the same columns."
        )
