"""``stream``: a raw table that is too large to be held, and who is to read it.

    fit_table(model, schema, "folder/")                            this machine, in parts
    fit_table(model, schema, stream("people.csv"))                 the same
    fit_table(model, schema, stream("folder/", engine="dask", scheduler="tcp://host:8786"))

A folder is read in parts whether or not it is said. Everything that takes a raw table takes these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import DataError, DeclarationError
from privet.rows.chunks import Unit
from privet.rows.cutting import Cutter, CutUnit
from privet.rows.dask import DaskEngine, is_dask_frame
from privet.rows.folders import table_files
from privet.rows.parquet import open_parquet, parquet_units
from privet.rows.scratch_file import with_scratch
from privet.rows.sequential import csv_units, frame_units
from privet.rows.streamed import Source, StreamedLabels, StreamedTable
from privet.rows.threads import Engine, Threads
from privet.schema.encode import ChunkEncoder
from privet.schema.file_format import FileFormat
from privet.schema.schema import Schema
from privet.schema.tables import Batch, OpenTable, open_table

ENGINES = ("threads", "dask", "spark")


@dataclass(frozen=True)
class RawStream:
    """A raw table with the engine that reads it in parts."""

    table: Any
    engine: Engine
    #: where encoded rows may be kept between passes
    scratch: Path | None = None

    @property
    def path(self) -> Path | None:
        """The file or folder, if it is one; workers may have another working directory."""
        return Path(self.table).absolute() if isinstance(self.table, str | Path) else None

    @property
    def name(self) -> str:
        """What to call it on a terminal."""
        return "the table" if self.path is None else self.path.name

    def opened(self, written: FileFormat | None = None) -> OpenTable:
        """Its columns with their types; ``written`` says how CSV files are."""
        path = self.path
        if path is None or not path.is_dir():
            return open_table(self.table, written)
        found = table_files(path)
        if found.parquet:
            return open_parquet(path)[1]
        files = [open_table(each, written) for each in found.csv]
        if not files:
            raise DataError(f"The folder {str(path)!r} holds no Parquet or CSV file.")

        def batches(names: list[str]) -> Iterator[Batch]:
            for file in files:
                yield from file.batches(names)

        return replace(files[0], source=batches)

    def source(self, encoder: ChunkEncoder) -> Source:
        """The table in units, encoded where they are read."""
        cutter, width = Cutter.of(encoder), encoder.schema.width
        if is_dask_frame(self.table):
            if not isinstance(self.engine, DaskEngine):
                raise DeclarationError("A Dask dataframe is read by stream(table, engine='dask').")
            handles, found = self.engine.partitioned(self.table, cutter)
            return Source(handles, tuple(found), width, self.engine)
        units: Sequence[Unit] = self._units(cutter)
        if self.scratch is not None:
            units = with_scratch(units, self.scratch, cutter)
        places = tuple((unit.start, unit.rows) for unit in units)
        return Source(self.engine.placed(units, width), places, width, self.engine)

    def _units(self, cutter: Cutter) -> list[CutUnit]:
        path = self.path
        if path is None and not self.engine.reads_here:
            raise DeclarationError(
                "A cluster reads files, or a Dask dataframe. A data frame, a DuckDB relation or a "
                "Polars plan is computed in this process: use engine='threads', or write Parquet."
            )
        if path is None:
            return frame_units(self.table, cutter)
        if not path.exists():
            raise DataError(f"There is no file or folder {str(path)!r}.")
        if table_files(path).parquet:
            files, opened = open_parquet(path, cutter.names)
            opened.require(cutter.names)
            return parquet_units(files, cutter)
        self.opened(cutter.encoder.schema.file).require(cutter.names)
        return csv_units(path, cutter)

    def encoded(self, schema: Schema, group: str | None = None) -> tuple[Any, Any]:
        """What stands for the features and the labels of the table."""
        source = self.source(ChunkEncoder(schema, group=group))
        classes = np.array(schema.classes or ())
        return StreamedTable(source), StreamedLabels(classes, source.n)


def stream(
    table: Any,
    *,
    engine: str = "threads",
    scheduler: Any = None,
    workers: int | None = None,
    scratch: str | Path | None = None,
) -> RawStream:
    """A raw table that is read in parts, in every pass anew.

    Parameters
    ----------
    table : path, DuckDB relation, Polars lazy frame, data frame or Dask dataframe
        A Parquet or CSV file, or a folder of them. A Dask dataframe goes with the engine "dask".
    engine : "threads", "dask" or "spark", default "threads"
        Who reads it: threads of this process, or a cluster, which must see the same paths.
    scheduler : str or client, default None
        Address of a Dask scheduler or Spark master, or a Dask client or Spark session; None starts
        a cluster on this machine.
    workers : int, default None
        Threads of this process, or workers of a cluster that is started; None: one for each core.
    scratch : path, default None
        A folder in which the engine "threads" may keep encoded rows between passes, which are then
        several times as fast. They are private: the folder must be one that may hold them. The file
        has no name and is gone with this process; it is encrypted only if the folder is.

    Returns
    -------
    RawStream
        For ``fit_table``, ``evaluate``, ``confidence_intervals``, ``fit_with_intervals`` and
        ``predict_to``.
    """
    if isinstance(table, RawStream):
        table = table.table
    if engine == "threads":
        if scheduler is not None:
            raise DeclarationError("scheduler is for the engines 'dask' and 'spark'.")
        return RawStream(table, Threads(workers), None if scratch is None else Path(scratch))
    if scratch is not None:
        raise DeclarationError("scratch is for the engine 'threads', which reads in this process.")
    if engine == "dask":
        return RawStream(table, DaskEngine(scheduler, workers))
    if engine == "spark":
        from privet.rows.spark import SparkEngine

        return RawStream(table, SparkEngine(scheduler, workers))
    raise DeclarationError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}.")


def as_stream(table: Any) -> RawStream | None:
    """The table as one that is read in parts, where it says so or is a folder; else None."""
    if isinstance(table, RawStream):
        return table
    if isinstance(table, str | Path) and Path(table).is_dir():
        return RawStream(table, Threads())
    return None
