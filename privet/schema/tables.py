"""Tables as batches of rows: pandas, polars, Arrow, DuckDB, and Parquet or CSV files.

Only the declared columns are read, and only once. A CSV file is read as text throughout: a reader
that guesses types would let one row decide how another is understood. Errors of the readers are
not passed on, since they quote the rows they stumble over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.errors import DataError, MissingExtra
from privet.schema.cells import Cells

BATCH = 32_768
CSV_BLOCK = 1 << 23


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a table; columns are looked into one at a time."""

    frame: Any

    def __len__(self) -> int:
        return len(self.frame)

    def cells(self, name: str) -> Cells:
        """A column by its name."""
        return Cells(name, self.frame[name])


@dataclass(frozen=True)
class Table:
    """An open table: its columns with their narwhals types, its size if known, its batches."""

    types: dict[str, Any]
    n: int | None
    source: Callable[[list[str]], Iterator[Batch]]

    def require(self, names: Sequence[str]) -> None:
        """Refuse a table without the declared columns."""
        absent = [repr(name) for name in names if name not in self.types]
        if absent:
            word = "column" if len(absent) == 1 else "columns"
            raise DataError(
                f"The table has no {word} {', '.join(absent)}, which the schema declares."
            )

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """The rows in order, with these columns only."""
        self.require(names)
        return self.source(list(names))


def open_table(table: Any) -> Table:
    """A data frame, a relation, or the path of a Parquet or CSV file, ready to be read."""
    if not isinstance(table, str | Path):
        return _open_frame(table)
    path = Path(table)
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _open_parquet(path)
    if path.suffix.lower() == ".csv":
        return _open_csv(path)
    raise DataError("A path must end in .parquet, .pq or .csv.")


# -- data frames -------------------------------------------------------------------------------


def _open_frame(table: Any) -> Table:
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(table)
        lazy = isinstance(frame, nw.LazyFrame)
        types = dict(frame.collect_schema())
    except Exception as error:
        if not isinstance(error, TypeError | ValueError | nw.exceptions.NarwhalsError):
            raise
        raise DataError(
            "The table must be a pandas, polars or Arrow table, a DuckDB relation, or the path of "
            "a .parquet or .csv file, with a different name for each column."
        ) from None

    def batches(names: list[str]) -> Iterator[Batch]:
        eager = _collected(frame.select(*names)) if lazy else frame
        return (Batch(eager[i : i + BATCH]) for i in range(0, len(eager), BATCH))

    return Table(types, None if lazy else len(frame), batches)


def _collected(frame: Any) -> Any:
    """A lazy table's rows; what its engine says of a row it cannot compute is not passed on."""
    try:
        return frame.collect()
    except ModuleNotFoundError as error:
        raise MissingExtra(f"Reading this table needs {error.name}, the extra 'parquet'.") from None
    except Exception as error:
        kind = type(error).__name__
        raise DataError(f"The table cannot be computed; its engine answered {kind}.") from None


# -- files -------------------------------------------------------------------------------------


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Reading files needs pyarrow, the extra 'parquet'.") from None
    return pa


def _typed(schema: Any) -> dict[str, Any]:
    """Columns of an Arrow schema with their narwhals types."""
    import narwhals.stable.v2 as nw

    if len(set(schema.names)) < len(schema.names):
        raise DataError("The file has two columns of the same name.")
    return dict(nw.from_native(schema.empty_table(), eager_only=True).collect_schema())


def _checked(
    open_file: Callable[[], Any], each: Callable[[Any], Any], kind: str, faults: Sequence[str] = ()
) -> Iterator[Batch]:
    """Arrow batches as ours; a reader's complaint is told without the row it quotes.

    ``faults`` are what the reader has noted by then.
    """
    import narwhals.stable.v2 as nw

    pa = _pyarrow()
    try:
        with open_file() as file:
            for batch in each(file):
                yield Batch(nw.from_native(pa.Table.from_batches([batch]), eager_only=True))
    except (pa.ArrowException, OSError, UnicodeError):
        found = faults[0] if faults else "it is damaged"
        raise DataError(f"The {kind} file cannot be read to its end: {found}.") from None


def _open_parquet(path: Path) -> Table:
    pa = _pyarrow()
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema, n = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError):
        raise DataError(f"{str(path)!r} is not a Parquet file.") from None
    text = [
        name for name in schema.names if schema.field(name).type in (pa.string(), pa.large_string())
    ]

    def batches(names: list[str]) -> Iterator[Batch]:
        # text arrives as Arrow's dictionaries; no row group is ever whole in memory
        words = [name for name in names if name in text]
        options = {"read_dictionary": words, "pre_buffer": False, "buffer_size": 1 << 20}
        return _checked(
            lambda: pa.parquet.ParquetFile(path, **options),
            lambda file: file.iter_batches(BATCH, columns=names),
            "Parquet",
        )

    return Table(_typed(schema), n, batches)


def _open_csv(path: Path) -> Table:
    pa = _pyarrow()
    faults: list[str] = []
    try:
        with _csv_reader(path, None, faults, blank_lines=False) as guessed:
            types = _typed(guessed.schema)  # for drafts only
    except (pa.ArrowException, OSError, UnicodeError):
        why = f": {faults[0]}" if faults else ""
        raise DataError(
            f"{str(path)!r} is not a CSV file with a first line of names{why}."
        ) from None

    def batches(names: list[str]) -> Iterator[Batch]:
        # in a file of one column a blank line is a row with a gap, and rows are never dropped
        blank, found = len(types) == 1, list[str]()
        return _checked(
            lambda: _csv_reader(path, names, found, blank_lines=blank), iter, "CSV", found
        )

    return Table(types, None, batches)


def _csv_reader(
    path: Path, names: list[str] | None, faults: list[str], *, blank_lines: bool
) -> Any:
    """Reads the columns of these names as text; all of them, with guessed types, for None.

    A row that does not fit the first line ends the reading; which one is noted in ``faults``.
    """
    csv = _pyarrow().csv
    types = dict.fromkeys(names or (), _pyarrow().string())

    def refuse(row: Any) -> str:
        place = "a row" if row.number is None else f"row {row.number}, counting the first line,"
        faults.append(
            f"{place} has {row.actual_columns} cells, and the first line names "
            f"{row.expected_columns} columns"
        )
        return "error"

    return csv.open_csv(
        path,
        # rows are counted by one thread only
        read_options=csv.ReadOptions(block_size=CSV_BLOCK, use_threads=False),
        parse_options=csv.ParseOptions(
            newlines_in_values=True,
            ignore_empty_lines=not blank_lines,
            invalid_row_handler=refuse,
        ),
        convert_options=csv.ConvertOptions(include_columns=names, column_types=types),
    )
