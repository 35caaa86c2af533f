"""Files that other people wrote: regular, of bounded size, read as JSON or TOML in bounded time.

A name may be a pipe that nobody writes to, a file may be larger than the memory, and a text may be
nested or numbered so that reading it never ends. All of this is refused here, once for every room,
before anything is believed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from privet.errors import DataError, DeclarationError

#: No file of Privet's own nests deeper than about a dozen levels.
DEEPEST = 64
#: Lists and tables in one text; each takes far more memory than the two signs that open it.
MOST_CONTAINERS = 2_000_000
#: Numbers and texts in them: what is read takes ten times the memory of "1,1,1".
MOST_ITEMS = 1 << 24
#: Digits of a whole number: with one more it may be beyond every double.
MOST_DIGITS = 308
MEGABYTE = 1 << 20
_KEY = r"(?:[A-Za-z0-9_-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+"
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_KEY}){{{DEEPEST}}}")
# opening must not wait for a writer, nor make a terminal ours
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def refuse_special(path: str | os.PathLike[str]) -> os.stat_result:
    """Facts about a regular file; a pipe, a socket or a device is refused without opening it."""
    found = os.stat(path)
    _refuse_irregular(found, path)
    return found


#: A file that was read, and its bytes, where all who read it must see the same.
_ONCE: ContextVar[tuple[str, bytes] | None] = ContextVar("_ONCE", default=None)


@contextmanager
def read_once(path: str | os.PathLike[str], most: int) -> Iterator[None]:
    """Read the file now; ``read_whole`` within gives these bytes, whatever its name holds then.

    For what is checked in several ways: another file in its place would pass one check each.
    """
    before = _ONCE.set((os.fspath(path), read_whole(path, most)))
    try:
        yield
    finally:
        _ONCE.reset(before)


def read_whole(path: str | os.PathLike[str], most: int) -> bytes:
    """What a regular file of at most ``most`` bytes holds.

    It is looked at before it is opened and again after: another file may have taken its name.
    """
    once = _ONCE.get()
    if once is not None and once[0] == os.fspath(path):
        content, size = once[1], len(once[1])
    else:
        refuse_special(path)
        with open(os.open(path, _FLAGS), "rb") as file:
            found = os.fstat(file.fileno())
            _refuse_irregular(found, path)
            size = found.st_size
            told = file.read(most + 1) if size <= most else b""
        if told is None:  # one that the kernel calls regular, and that would wait for more
            raise _no_file(path)
        content = told
    if max(size, len(content)) > most:
        raise DataError(
            f"{Path(path).name} is larger than {most / MEGABYTE:,.0f} MB, the most that such a "
            "file may have. Check that it is the right file."
        )
    return content


def first_bytes(path: str | os.PathLike[str], count: int) -> bytes:
    """How a file begins; nothing where it would have to be waited for."""
    with open(os.open(path, _FLAGS), "rb", buffering=0) as file:
        return file.read(count) or b""


def _refuse_irregular(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise _no_file(path)


def _no_file(path: str | os.PathLike[str]) -> DataError:
    return DataError(
        f"{Path(path).name} is a pipe or a device, not a file. Save what it gives under a name "
        "and pass that."
    )


# -- JSON ------------------------------------------------------------------------------------------


def parsed_json(text: bytes) -> Any:
    """The value of a JSON text; a ``ValueError`` for everything that Privet would not write.

    That is: NaN and infinities, also by overflow; a key that occurs twice, of which readers would
    believe different ones; numbers and nesting beyond any use.
    """
    if text.count(b"[") + text.count(b"{") > MOST_CONTAINERS:
        raise ValueError("too many lists and tables")
    if text.count(b",") > MOST_ITEMS:
        raise ValueError("too many numbers")
    try:
        found = json.loads(
            text.decode(),
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_once,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    _refuse_deep(found)
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is not finite")
    return number


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError("a number with too many digits")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key that occurs twice")
    return found


def _refuse_deep(value: Any) -> None:
    """Level by level and not by recursion, which is what a deep value would break."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise ValueError("nested too deeply")


# -- JSON that shows damage ------------------------------------------------------------------------

SEAL = "sha256"
_BLANK = "0" * 64


def sealed(record: dict[str, Any]) -> str:
    """A record as JSON text whose first field is the digest of all the rest of the file.

    It is taken over the text as it is written, with zeros in its own place.
    """
    text = json.dumps({SEAL: _BLANK, **record}, indent=2, allow_nan=False) + "\n"
    return text.replace(_BLANK, hashlib.sha256(text.encode()).hexdigest(), 1)


def unsealed(text: bytes) -> dict[str, Any]:
    """The record of a sealed text; a ``ValueError`` where one bit is not as it was written."""
    record = parsed_json(text)
    told = record.pop(SEAL, None) if isinstance(record, dict) else None
    if not isinstance(told, str) or len(told) != len(_BLANK):
        raise ValueError("no digest")
    blank = text.replace(told.encode(), _BLANK.encode(), 1)
    if hashlib.sha256(blank).hexdigest() != told:
        raise ValueError("another digest")
    return dict(record)


# -- TOML ------------------------------------------------------------------------------------------


class Unbounded(tomllib.TOMLDecodeError):
    """A text that would take too long, or too much memory, to read; it has no one place."""


def parsed_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; ``tomllib.TOMLDecodeError`` says what is wrong with any other."""
    if _LONG_KEY.search(text):  # the parser's time grows with the square of a key's parts
        raise Unbounded(f"A key has more than {DEEPEST} parts")
    try:
        found = tomllib.loads(text)
        _refuse_deep(found)
        _refuse_long_numbers(found)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError):
        raise Unbounded(
            "A number has too many digits, or lists and tables are nested too deeply"
        ) from None
    return found


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a small TOML file that a person wrote."""
    try:
        return parsed_toml(read_whole(path, MEGABYTE).decode().replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        what = error if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8 text"
        raise DeclarationError(f"{Path(path).name} is not a TOML file: {what}.") from None


def _refuse_long_numbers(value: Any) -> None:
    """Refuse whole numbers that Python would not even show: in hexadecimal they have no limit."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict | list):
            todo.extend(one.values() if isinstance(one, dict) else one)
        elif isinstance(one, int) and one.bit_length() > 3 * MOST_DIGITS:
            raise ValueError("a number with too many digits")
