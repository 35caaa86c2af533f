"""Tables as batches of rows: pandas, polars, Arrow, DuckDB, and Parquet or CSV files.

Only the declared columns are read, and only once. Errors of the readers are not passed on, since
they quote the rows they stumble over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from privet._untrusted import refuse_special
from privet.errors import DataError, MissingExtra
from privet.schema.cells import Cells, arrow_cells, is_readable
from privet.schema.file_format import (
    CSV_NAMES,
    PARQUET_NAMES,
    PLAIN,
    TABLES,
    FileFormat,
    listed,
    look_like_cells,
    pyarrow,
    refuse_twice,
)

BATCH = 32_768


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a table; columns are looked into one at a time."""

    frame: Any
    decimal: str = "."

    def __len__(self) -> int:
        return len(self.frame)

    def cells(self, name: str) -> Cells:
        """A column by its name."""
        return Cells(name, self.frame[name], self.decimal)


class ArrowBatch(Batch):
    """A batch as Arrow's readers give it."""

    def cells(self, name: str) -> Cells:
        """A column by its name."""
        return arrow_cells(name, self.frame.column(name))


@dataclass(frozen=True)
class OpenTable:
    """An open table: its columns with their narwhals types, its size if known, its batches.

    A CSV file holds text; ``guess`` tells the types that its first rows suggest, and ``separator``
    what stands between its cells.
    """

    types: dict[str, Any]
    n: int | None
    source: Callable[[list[str]], Iterator[Batch]]
    guess: Callable[[], dict[str, Any]] | None = None
    separator: str | None = None

    def likely_types(self) -> dict[str, Any]:
        """The columns with their types, where the container has none by its first rows."""
        return self.types if self.guess is None else self.guess()

    def require(self, names: Sequence[str]) -> None:
        """Refuse a table without the declared columns, or with a column of no use, by all names."""
        absent = [name for name in names if name not in self.types]
        if absent:
            word, named = "column" if len(absent) == 1 else "columns", ", ".join(map(repr, absent))
            raise DataError(
                f"The table has no {word} {named}, which the schema declares. {self.known(absent)}"
            )
        useless = [name for name in names if not is_readable(self.types[name])]
        if useless:
            told = ", ".join(f"column {name!r} holds {self.types[name]}" for name in useless)
            raise DataError(
                f"{told[0].upper()}{told[1:]}: neither numbers nor text. Turn such columns into "
                "numbers or text before encoding."
            )

    def known(self, absent: Sequence[str] = ()) -> str:
        """A sentence with the names of the columns, unless they look like cells.

        Those spelled like an absent one are told apart: the list ends after a dozen.
        """
        if look_like_cells(self.types):
            return "Is its first line a line of names?"
        told = f"Its columns are {listed(list(self.types))}."
        if len(self.types) == 1 and self.separator is not None:
            return f"{told} They were split at {self.separator!r}: is that the separator?"
        alike = _alike(absent, list(self.types))
        return (
            f"{told} Is {listed(alike)} meant? Names must agree letter by letter."
            if alike
            else told
        )

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """The rows in order, with these columns only."""
        self.require(names)
        return self.source(list(names))


def _alike(absent: Sequence[str], present: Sequence[str]) -> list[str]:
    """Of the columns that are there, those spelled much like an absent one."""
    plain = {name.strip().casefold(): name for name in present}
    near = (get_close_matches(name.strip().casefold(), plain, 1, 0.75) for name in absent)
    return list(dict.fromkeys(plain[name] for found in near for name in found))


def is_table(value: Any) -> bool:
    """Whether ``open_table`` takes it: it has columns with names, or is a path."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(value, pass_through=True)
    return isinstance(frame, str | Path | Mapping | nw.DataFrame | nw.LazyFrame)


def open_table(table: Any, file: FileFormat | None = None) -> OpenTable:
    """Columns by name, a data frame, a relation, or the path of a Parquet or CSV file, opened.

    ``file`` says how a CSV file is written.
    """
    if isinstance(table, OpenTable):
        return table
    if isinstance(table, Mapping):
        return _open_frame(_framed(table))
    if not isinstance(table, str | Path):
        return _open_frame(table)
    path = Path(table)
    if not path.exists() or path.is_dir():
        where = ": it is a folder, and one file is needed here" if path.is_dir() else ""
        raise DataError(f"There is no file {str(path)!r}{where}.")
    refuse_special(path)
    if path.suffix.lower() in PARQUET_NAMES:
        return _open_parquet(path)
    if path.name.lower().endswith(CSV_NAMES):
        return _open_csv(path, file or PLAIN)
    raise DataError(
        f"{path.name!r} is no table that can be read: save it as Parquet or CSV, with a name that "
        f"ends in {', '.join(TABLES)}."
    )


# -- data frames -------------------------------------------------------------------------------


def _framed(columns: Mapping[str, Any]) -> Any:
    """Columns by name as a data frame, by whichever of the libraries is there."""
    import narwhals.stable.v2 as nw

    for library in ("pyarrow", "pandas", "polars"):
        try:
            return nw.from_dict(dict(columns), backend=library)
        except ModuleNotFoundError:
            continue
        except Exception as error:  # their messages quote cells
            kind = type(error).__name__
        raise DataError(f"The columns do not make a table; {library} answered {kind}.")
    raise MissingExtra(
        "A table as a dictionary needs pandas, or pyarrow: pip install 'privet[parquet]'."
    )


def _open_frame(table: Any) -> OpenTable:
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
        eager = collected(frame.select(*names)) if lazy else frame
        return (Batch(eager[i : i + BATCH]) for i in range(0, len(eager), BATCH))

    return OpenTable(types, None if lazy else len(frame), batches)


def collected(frame: Any) -> Any:
    """A lazy table's rows; what its engine says of a row it cannot compute is not passed on."""
    try:
        return frame.collect()
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"Reading this table needs {error.name}: pip install 'privet[parquet]'."
        ) from None
    except Exception as error:
        kind = type(error).__name__
        raise DataError(f"The table cannot be computed; its engine answered {kind}.") from None


# -- files -------------------------------------------------------------------------------------


def typed(schema: Any) -> dict[str, Any]:
    """Columns of an Arrow schema with their narwhals types."""
    import narwhals.stable.v2 as nw

    refuse_twice(schema.names)
    return dict(nw.from_native(schema.empty_table(), eager_only=True).collect_schema())


def _checked(open_file: Callable[[], Any], names: list[str]) -> Iterator[Batch]:
    """Batches of a Parquet file; a reader's complaint is passed on without the row it quotes."""
    pa = pyarrow()
    try:
        with open_file() as file:
            for batch in file.iter_batches(BATCH, columns=names):
                yield ArrowBatch(batch)
    except (pa.ArrowException, OSError, UnicodeError):
        raise DataError("The Parquet file cannot be read to its end: it is damaged.") from None


def _open_parquet(path: Path) -> OpenTable:
    pa = pyarrow()
    try:
        with pa.parquet.ParquetFile(path) as file:
            schema, n = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError):
        raise DataError(f"{str(path)!r} is not a Parquet file.") from None
    types = typed(schema)
    text = [
        name for name in schema.names if schema.field(name).type in (pa.string(), pa.large_string())
    ]

    def batches(names: list[str]) -> Iterator[Batch]:
        # text arrives as Arrow's dictionaries; no row group is ever whole in memory
        words = [name for name in names if name in text]
        options = {"read_dictionary": words, "pre_buffer": False, "buffer_size": 1 << 20}
        options["page_checksum_verification"] = True  # where a file has checksums, as Spark's have
        return _checked(lambda: pa.parquet.ParquetFile(path, **options), names)

    return OpenTable(types, n, batches)


def _open_csv(path: Path, declared: FileFormat) -> OpenTable:
    pyarrow()
    import narwhals.stable.v2 as nw

    from privet.schema.csv_files import CsvFile

    file = CsvFile(path, declared)

    def batches(names: list[str]) -> Iterator[Batch]:
        for table in file.batches(names):
            yield Batch(nw.from_native(table, eager_only=True), declared.decimal)

    types = dict.fromkeys(file.named, nw.String())
    return OpenTable(types, None, batches, lambda: typed(file.guessed()), file.separator)
