"""CSV files as batches of rows, every cell as text.

A reader that guesses types would let one row decide how another is understood. Types are guessed
for drafts only. What the reader says of a row is not passed on, since it quotes the row.

Arrow's reader wants UTF-8 and quotes the bytes that are not, and names that occur twice confuse it.
So the text is decoded here, where a fault is reported by its line, and the first line is read here
and replaced: the reader then sees the columns by their numbers.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from privet.errors import DataError
from privet.schema.file_format import SEPARATORS, FileFormat, pyarrow, refuse_twice

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
        """Arrow batches; a reader's complaint is passed on without the row it quotes."""
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
        places = {name: place for place, name in enumerate(self.names)}
        wanted = [column(places[name]) for name in names]

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


# -- bytes to UTF-8 text, behind a first line of our own -------------------------------------------

CHUNK = 1 << 20
MOST_HEADER = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SEP = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
_HOW = 'encoding = "latin-1" or "cp1252" under [file] in the schema, or with --encoding'


class Unreadable(OSError):
    """The file is not what it should be; the text may be shown, for it quotes nothing."""


class CsvText:
    """A CSV file from the line after the names on, behind a line that numbers the columns.

    ``names`` are those of the first line, ``separator`` what stands between them, and ``before``
    says how many lines came before the names.
    """

    def __init__(self, path: Path, declared: FileFormat) -> None:
        self.closed = False
        self.fault: str | None = None
        self._lines = 1
        self._file: Any = _opened(path)
        try:
            start = self._raw(CHUNK)
            mark, encoding = _encoding(start, declared.encoding)
            self.encoding = encoding
            self._decoder = codecs.getincrementaldecoder(encoding)()
            text = self._decoded(start[mark:])
            self._start(text, declared.separator)
        except BaseException:
            self.close()
            raise

    def _start(self, text: str, separator: str | None) -> None:
        """Read the first line, and before it the one with which Excel names the separator."""
        line, text = self._first_line(text)
        self.before = 0
        told = _SEP.fullmatch(line)
        if told is not None:
            self.before, separator = 1, told[1]
            line, text = self._first_line(text)
        self.separator = separator or guess(line)
        self.names = _split(line, self.separator)
        numbered = self.separator.join(column(i) for i in range(len(self.names)))
        self._ready = f"{numbered}\n{text}".encode()

    def _first_line(self, text: str) -> tuple[str, str]:
        """The text up to the first end of a line outside quotes, and what follows it."""
        while (end := _line_end(text)) is None:
            more = self._more()
            if not more or len(text) > MOST_HEADER:
                if len(text) <= MOST_HEADER and text.count('"') % 2 == 0:
                    return text, ""
                raise self._found("its first line opens a quote that does not end")
            text += more
        return text[: end[0]], text[end[1] :]

    # -- what Arrow asks for -----------------------------------------------------------------------

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``."""
        while size < 0 or len(self._ready) < size:
            text = self._more()
            if not text:
                break
            self._ready += text.encode()
        if size < 0:
            size = len(self._ready)
        found, self._ready = self._ready[:size], self._ready[size:]
        return found

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """No."""
        return False

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- bytes to text -----------------------------------------------------------------------------

    def _more(self) -> str:
        """More text; none at the end of the file."""
        while raw := self._raw(CHUNK):
            if text := self._decoded(raw):
                return text
        return self._decoded(b"", final=True)

    def _raw(self, size: int) -> bytes:
        try:
            return bytes(self._file.read(size))
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise self._found("its compressed bytes are cut short or damaged") from None

    def _decoded(self, raw: bytes, *, final: bool = False) -> str:
        try:
            text = self._decoder.decode(raw, final)
        except UnicodeDecodeError as error:
            good = bytes(error.object[: error.start]).decode(self.encoding, "ignore")
            line = self._lines + good.count("\n")
        else:
            self._lines += text.count("\n")
            return text
        # outside the handler, so that the error which holds the bytes is not passed on
        raise self._found(f"line {line} is not {self.encoding.upper()} text. Declare {_HOW}")

    def _found(self, fault: str) -> Unreadable:
        self.fault = fault
        return Unreadable(fault)


def column(number: int) -> str:
    """What the reader is told to call a column."""
    return f"c{number}"


def guess(line: str) -> str:
    """The separator of a first line: the sign that it holds most often outside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(SEPARATORS, key=bare.count)


def _opened(path: Path) -> Any:
    """The file, unpacked where its first bytes say gzip."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(b"PK\x03\x04"):
        raise Unreadable("it is an Excel workbook or a zip archive. Save the table as CSV")
    return gzip.open(path) if magic.startswith(b"\x1f\x8b") else path.open("rb")


def _encoding(start: bytes, declared: str | None) -> tuple[int, str]:
    """The length of a byte order mark, and the encoding: by the mark, or else the declared one."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return len(mark), encoding
    if declared is None and b"\0" in start[:64]:
        raise Unreadable('it looks like UTF-16 text without its mark. Declare encoding = "utf-16"')
    name = codecs.lookup(declared or "utf-8").name
    # without a mark, the machines that write such files put the low byte first
    return 0, "utf-16-le" if name == "utf-16" else name


def _line_end(text: str) -> tuple[int, int] | None:
    """Where the first line ends and where the next one begins; None where neither is sure."""
    quoted = False
    for found in re.finditer(r'"|\r\n|\n|\r(?!$)', text):
        if found[0] == '"':
            quoted = not quoted
        elif not quoted:
            return found.span()
    return None


def _split(line: str, separator: str) -> list[str]:
    """The names in a first line; blank ones where a spreadsheet left columns without a name."""
    names = next(csv.reader([line], delimiter=separator), [])
    if not any(name.strip() for name in names):
        raise Unreadable("it has no first line of names")
    refuse_twice([name for name in names if name.strip()])  # a spreadsheet leaves some unnamed
    return names
