"""CSV files as batches of rows, every cell as text.

A reader that guesses types would let one row decide how another is understood. Types are guessed
for drafts only. What the reader says of a row is not passed on, since it quotes the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.errors import DataError
from privet.schema.arrow import pyarrow
from privet.schema.csv_text import CsvText, Unreadable, column
from privet.schema.format import FileFormat

BLOCK = 1 << 23


@dataclass
class CsvFile:
    """A CSV file of which the first line was read."""

    path: Path
    declared: FileFormat
    names: list[str] = field(init=False)
    separator: str = field(init=False)

    def __post_init__(self) -> None:
        try:
            with CsvText(self.path, self.declared) as text:
                self.names, self.separator = text.names, text.separator
        except (Unreadable, UnicodeError) as error:
            why = str(error) if isinstance(error, Unreadable) else "it is not text"
        else:
            return
        raise DataError(f"The CSV file {str(self.path)!r} cannot be read: {why}.")

    @property
    def named(self) -> list[str]:
        """The columns that have a name."""
        return [name for name in self.names if name.strip()]

    def guessed(self) -> Any:
        """An Arrow schema with the types that the first rows suggest, for drafts."""
        pa = pyarrow()
        with ExitStack() as stack:
            schema = next(self._batches(stack, self.named, guess=True)).schema
        return pa.schema(
            pa.field(name, kind) for name, kind in zip(self.named, schema.types, strict=True)
        )

    def batches(self, names: list[str]) -> Iterator[Any]:
        """Arrow tables of these columns as text, in order."""
        with ExitStack() as stack:
            for batch in self._batches(stack, names, guess=False):
                yield pyarrow().Table.from_batches([batch]).rename_columns(names)

    def _batches(self, stack: ExitStack, names: list[str], *, guess: bool) -> Iterator[Any]:
        """Arrow batches; a reader's complaint is told without the row it quotes."""
        pa, faults = pyarrow(), list[str]()
        text: CsvText | None = None
        try:
            text = stack.enter_context(CsvText(self.path, self.declared))
            reader = stack.enter_context(self._reader(text, names, faults, guess=guess))
            if guess:  # also where there are no rows
                yield pa.RecordBatch.from_pylist([], schema=reader.schema)
                return
            yield from reader
            return
        except (pa.ArrowException, OSError, UnicodeError):
            told = [text.fault] if text is not None and text.fault else faults
            why = told[0] if told else "it is damaged"
        raise DataError(f"The CSV file cannot be read to its end: {why}.")

    def _reader(self, text: CsvText, names: list[str], faults: list[str], *, guess: bool) -> Any:
        """Arrow's reader of these columns.

        A row that does not fit the first line ends the reading; which one is noted in ``faults``.
        """
        pa = pyarrow()
        csv = pa.csv
        wanted = [column(self.names.index(name)) for name in names]

        def refuse(row: Any) -> str:
            place = "a row"
            if row.number is not None:
                place = f"row {row.number + text.before}, counting the first line,"
            faults.append(
                f"{place} has {row.actual_columns} cells, and the first line names "
                f"{row.expected_columns} columns"
            )
            return "error"

        return csv.open_csv(
            pa.PythonFile(text, mode="r"),
            # rows are counted by one thread only
            read_options=csv.ReadOptions(block_size=BLOCK, use_threads=False),
            parse_options=csv.ParseOptions(
                delimiter=text.separator,
                newlines_in_values=True,
                # in a file of one column a blank line is a row with a gap: rows are never dropped
                ignore_empty_lines=len(self.names) > 1,
                invalid_row_handler=refuse,
            ),
            convert_options=csv.ConvertOptions(
                include_columns=wanted,
                column_types={} if guess else dict.fromkeys(wanted, pa.string()),
                decimal_point=self.declared.decimal,
            ),
        )
