"""Tables that are read from beginning to end: CSV files, DuckDB relations, Polars plans.

A CSV file is a unit, in any engine. A relation or a plan is computed anew in every pass, as a
stream of Arrow batches in this process; its order must be the same each time, as it is where it
is sorted or read from files. A pass in which it is not ends the fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from privet.errors import DataError
from privet.rows.chunks import Chunk
from privet.rows.cutting import Cutter, CutUnit, Piece
from privet.rows.parquet import mark_of, refuse_changed
from privet.schema.file_format import CSV_NAMES
from privet.schema.tables import Batch, collected, open_table

T = TypeVar("T")


@dataclass(frozen=True)
class CsvUnit(CutUnit):
    """All rows of a CSV file."""

    path: str
    known: tuple[int, int]
    start: int
    rows: int
    cutter: Cutter

    def pieces(self) -> Iterator[Piece]:
        """The rows, parsed a batch at a time."""
        refuse_changed(self.path, self.known)
        opened = open_table(self.path, self.cutter.encoder.schema.file)
        return self.cutter.pieces(opened.batches(self.cutter.names), self.start)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, parsed and encoded while the last chunk is worked on."""
        return _ahead(super().chunks())


@dataclass(frozen=True)
class FrameUnit(CutUnit):
    """All rows of a lazy table, computed anew; it stays in this process."""

    frame: Any = field(repr=False)
    start: int
    rows: int
    cutter: Cutter

    def pieces(self) -> Iterator[Piece]:
        """The rows, computed a batch at a time."""
        return self.cutter.pieces(_lazy_batches(self.frame, self.cutter.names), self.start)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, computed and encoded while the last chunk is worked on."""
        return _ahead(super().chunks())


def csv_paths(path: Path) -> list[Path]:
    """The file itself, or the CSV files of a folder in the order of their names."""
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if each.name.lower().endswith(CSV_NAMES))


def csv_units(path: Path, cutter: Cutter) -> list[CutUnit]:
    """A unit for each file; their rows are counted by reading them once."""
    units: list[CutUnit] = []
    start, first = 0, cutter.names[:1]
    for each in csv_paths(path):
        before, opened = mark_of(each), open_table(each, cutter.encoder.schema.file)
        opened.require(cutter.names)
        rows = sum(len(batch) for batch in opened.batches(first))
        if rows:
            units.append(CsvUnit(str(each), before, start, rows, cutter))
        start += rows
    return units


def frame_units(table: Any, cutter: Cutter) -> list[CutUnit]:
    """One unit for a data frame or a lazy table of any kind."""
    import narwhals.stable.v2 as nw

    opened = open_table(table)
    opened.require(cutter.names)
    frame = nw.from_native(table).lazy()
    rows = opened.n if opened.n is not None else int(collected(frame.select(nw.len())).item())
    return [FrameUnit(frame, 0, rows, cutter)] if rows else []


def _lazy_batches(frame: Any, names: list[str]) -> Iterator[Batch]:
    """Arrow batches of a lazy table by the stream that its library offers; else all at once."""
    import narwhals.stable.v2 as nw

    chosen = frame.select(*names)
    native = chosen.to_native()
    offered = [name for name in ("collect_batches", "to_arrow_reader") if hasattr(native, name)]
    if not offered:
        yield Batch(collected(chosen))
        return
    try:
        for batch in getattr(native, offered[0])():
            yield Batch(nw.from_native(_table(batch), eager_only=True))
        return
    except Exception as error:  # what an engine says may quote a row
        kind = type(error).__name__
    raise DataError(f"The table cannot be computed; its engine answered {kind}.")


def _table(batch: Any) -> Any:
    """A batch as a frame: Arrow's batches are no tables yet."""
    import pyarrow as pa

    return pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next one being made while the last is used."""
    nothing = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, nothing)
        while (item := coming.result()) is not nothing:
            coming = pool.submit(next, items, nothing)
            yield item  # type: ignore[misc]
