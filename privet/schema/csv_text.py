"""The bytes of a CSV file as UTF-8 text with a first line of our own.

Arrow's reader wants UTF-8 and quotes the bytes that are not, and names that occur twice confuse
it. So the text is decoded here, where a fault is told by its line, and the first line is read here
and replaced: the reader then sees the columns by their numbers.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from privet.errors import DataError
from privet.schema.format import SEPARATORS, FileFormat

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
    twice = sorted({name for name in names if name.strip() and names.count(name) > 1})
    if twice:
        shown = ", ".join(repr(name) for name in twice)
        raise DataError(f"The file has several columns of the same name: {shown}. Rename them.")
    return names
