"""How a CSV file is written (separator, encoding, decimal sign), and the library that reads it."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from privet._checks import shown
from privet.errors import DataError, MissingExtra
from privet.schema.cells import number_of
from privet.schema.declared_values import Misdeclared

#: what a separator is guessed from, the likelier first
SEPARATORS = (",", ";", "\t", "|")
#: how the names of tables end
CSV_NAMES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_NAMES = (".parquet", ".pq")
TABLES = (*PARQUET_NAMES, *CSV_NAMES)
_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}


@dataclass(frozen=True)
class FileFormat:
    """The ``[file]`` table of a schema: how its CSV files are written.

    Parameters
    ----------
    separator : str, optional
        What stands between two cells; without it, it is guessed from the first line, which holds
        the names of the columns and is public.
    encoding : str, optional
        Such as ``"latin-1"`` or ``"cp1252"``; without it UTF-8, or what a byte order mark at the
        start of the file says.
    decimal : str
        The decimal sign of numbers, ``"."`` or ``","``.
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str = "."

    def __post_init__(self) -> None:
        if self.separator is not None:
            object.__setattr__(self, "separator", _separator(self.separator))
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.decimal not in (".", ","):
            raise Misdeclared(f'decimal must be "." or ",", got {shown(self.decimal)}.', "decimal")


def _separator(given: Any) -> str:
    found = _NAMED.get(given, given) if isinstance(given, str) else given
    if (
        not isinstance(found, str)
        or len(found) != 1
        or not found.isascii()
        or found.isalnum()
        or found in "\"\r\n\0.'_-+"
    ):
        raise Misdeclared(
            "separator must be a single sign such as ',', ';', '|' or a tab (\"tab\"), "
            f"got {shown(given)}.",
            "separator",
        )
    return found


def _check_encoding(given: Any) -> None:
    try:
        codecs.lookup(given)
        "a;1".encode(given)  # refuses the codecs that are not from text to bytes
    except (LookupError, TypeError, ValueError, UnicodeError):
        raise Misdeclared(
            "encoding must name a text encoding such as 'utf-8', 'latin-1', 'cp1252' or 'utf-16', "
            f"got {shown(given)}.",
            "encoding",
        ) from None


PLAIN = FileFormat()
MOST_NAMES = 12


def listed(names: Sequence[str]) -> str:
    """Names of columns for a sentence; the first ones of very many."""
    told = ", ".join(map(shown, names[:MOST_NAMES]))
    return told + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def look_like_cells(names: Iterable[str]) -> bool:
    """Whether a first line may be somebody's row: it holds a number, so nobody quotes it."""
    return any(number_of(name) == number_of(name) for name in names)


def refuse_twice(names: Sequence[str]) -> None:
    """Refuse columns that share a name, without quoting a first line that may be a row."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice and look_like_cells(names):
        raise DataError(
            "The first line of the file repeats a cell and holds numbers, so it seems to be a row. "
            "Put a line with the names of the columns before it."
        )
    if twice:
        raise DataError(
            f"The file has several columns of the same name: {listed(twice)}. Rename them."
        )


def pyarrow() -> Any:
    """Arrow with its readers, or a refusal that names the extra that brings it."""
    try:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Reading files needs pyarrow: pip install 'privet[parquet]'.") from None
    return pa
