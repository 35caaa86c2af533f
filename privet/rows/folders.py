"""The files of a folder that is one table: each once, none left out, in the order of their paths.

A person whose rows are read twice would be protected half as well as stated, and rows that are left
out make another table than the one that was meant. So what would do either is refused: a file under
two names, a table format whose files hold rows that the table no longer has, a folder of two kinds
of files, and a Parquet file whose name does not say so. Links to folders are followed. Names that
begin with a dot or an underscore are no data, unless they are a column's name and value.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from privet.errors import DataError
from privet.schema.file_format import CSV_NAMES, PARQUET_NAMES

#: How a Parquet file begins.
MAGIC = b"PAR1"
#: What a table format keeps beside its files.
LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}


class TableFiles(NamedTuple):
    """Files of a folder by their kind; one of the lists is empty."""

    parquet: list[Path]
    csv: list[Path]


def table_files(path: Path) -> TableFiles:
    """The file itself, or all files of a folder and the folders in it that are its table."""
    if not path.is_dir():
        parquet = path.suffix.lower() in PARQUET_NAMES
        return TableFiles([path], []) if parquet else TableFiles([], [path])
    found = TableFiles([], [])
    for each in sorted(_files(path, ())):
        if each.suffix.lower() in PARQUET_NAMES:
            found.parquet.append(each)
        elif each.name.lower().endswith(CSV_NAMES):
            found.csv.append(each)
        elif _begins_as_parquet(each):
            raise DataError(
                f"{each.name!r} is a Parquet file by what it holds and not by its name, so its "
                "rows would be left out. Give it the ending .parquet, or move it away."
            )
    if found.parquet and found.csv:
        raise DataError(
            f"The folder {path.name!r} holds Parquet and CSV files ({found.parquet[0].name!r}, "
            f"{found.csv[0].name!r}), which do not make one table. Keep one kind in it."
        )
    _refuse_twice(found.parquet or found.csv)
    return found


def _files(folder: Path, above: tuple[tuple[int, int], ...]) -> Iterator[Path]:
    """All files below a folder; ``above`` are the folders on the way to it."""
    try:
        found = folder.stat()
        entries = sorted(folder.iterdir())
    except OSError:
        raise DataError(
            f"The folder {folder.name!r} cannot be read. Ask for the right to, or move it away."
        ) from None
    here = (found.st_dev, found.st_ino)
    if here in above:
        raise DataError(
            f"{folder.name!r} is a link to a folder that it lies in. Remove it: it has no end."
        )
    _refuse_format(folder, entries)
    for each in entries:
        if _hidden(each.name):
            continue
        _refuse_odd_name(each)
        if each.is_dir():
            yield from _files(each, (*above, here))
        else:
            yield each


def _hidden(name: str) -> bool:
    """Whether a name says that it is no data; ``_region=north`` names a column, as Spark has it."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _refuse_format(folder: Path, entries: list[Path]) -> None:
    """Refuse a folder whose files alone are not the table: it may hold removed rows, or rows twice.

    A format that changes rows writes them anew, and its log says which files count.
    """
    found = [LOGS[each.name] for each in entries if each.name in LOGS]
    # a data file may be called so as well, but none ends in .metadata.json
    if any(each.name == "metadata" for each in entries):
        found += ["Iceberg"] * any((folder / "metadata").glob("*.metadata.json"))
    if found:
        raise DataError(
            f"The folder {folder.name!r} is a table of {found[0]}: its files also hold rows that "
            "were removed or changed since. Read it with a library that knows the format, as a "
            "DuckDB relation or a Polars plan, or write the table to plain Parquet."
        )


def _refuse_odd_name(path: Path) -> None:
    try:
        os.fsencode(path.name).decode()
    except UnicodeError:
        raise DataError(f"The name {path.name!r} is not UTF-8. Rename it.") from None


def _refuse_twice(paths: list[Path]) -> None:
    """Refuse a file that has two names here, as by a link called ``latest``."""
    names: dict[tuple[int, ...], Path] = {}
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            raise DataError(
                f"{path.name!r} cannot be looked at: it may be a link to nothing. Remove or mend "
                "it; without it the table would lack its rows."
            ) from None
        # some file systems number files alike; size and time of change tell more of them apart
        mark = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        other = names.setdefault(mark, path)
        if other is not path and found.st_ino:
            raise DataError(
                f"{other.name!r} and {path.name!r} are one file, whose rows would count twice. "
                "Remove the link."
            )


def _begins_as_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        raise DataError(
            f"{path.name!r} cannot be read, so it is not known whether it is a part of the table. "
            "Ask for the right to, or move it away."
        ) from None
