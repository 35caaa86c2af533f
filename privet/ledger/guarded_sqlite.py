"""What a stranger's file may make SQLite do: nothing that it names, and nothing without an end.

SQLite trusts what it opens, and a ledger may come from anybody.

*Other files.* SQLite knows its journal, its log and the log's index by their names alone, and
removes or overwrites what it finds there, or plays it back into a file that is no database. And a
journal may end with the name of a file that SQLite deletes once the journal is played back. That is
for transactions over several databases; Privet makes none.

*The schema* is read before anybody can look at it, and tables of statistics are read with it, by
expressions that the file itself may have. Until it is known to be Privet's, texts are short and few
instructions are run.

*Pages* may be reached by many ways: a tree of forty kilobytes can hold more rows than can be
counted. An honest file has each row once. So nothing that is found is larger than the file, and
what is run is in proportion to it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privet.errors import LedgerError

#: No entry has a longer text.
LONGEST = 1 << 24
#: Nor has a schema, with the texts of its statistics.
_LONGEST_IN_SCHEMA = 1 << 16
#: Instructions of SQLite's machine between two counts, to read a schema, and to do anything.
_EACH, _FOR_SCHEMA, _FOR_ALL = 1_000, 100_000, 20_000_000
#: What a row takes in a file beside its texts: two hashes are in every one.
_ROW = 64
#: What SQLite complains of where a log cannot grow.
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
#: The first bytes of a journal, and the last of one that names another file.
_MAGIC = bytes.fromhex("d9d505f920a163d7")
#: How SQLite's files begin; with zeros where a crash kept the beginning from being written.
_BEGINNINGS = {
    "-journal": (_MAGIC, bytes(8)),
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", bytes(4)),
}
#: The index of a log is begun with three bytes and grows by pages; a kill may come in between.
_INDEX_BEGUN, _INDEX_PAGE = 3, 4096


def refuse_strange_files(real: str) -> None:
    """Refuse what SQLite would delete or overwrite, taking it for its own by its name.

    Neither the file nor the log's index is opened here except by SQLite: closing them would give
    back the locks that another thread of this process holds on them.
    """
    beside = {end: _edges(f"{real}{end}") for end in _BEGINNINGS}
    strange = [
        end
        for end, edges in beside.items()
        if edges is not None and not edges[0].startswith(_BEGINNINGS[end])
    ]
    if (index := _bytes(f"{real}-shm")) != _INDEX_BEGUN and index % _INDEX_PAGE:
        strange.append("-shm")
    name = Path(real).name
    if strange:
        raise LedgerError(
            f"{name}{strange[0]} is no file of a ledger, and SQLite would delete or overwrite it. "
            "Nothing was charged, and it was left as it is. Give it another name."
        )
    if beside["-journal"] is not None and beside["-journal"][1] == _MAGIC:
        raise LedgerError(
            f"{name}-journal names another file, which would be deleted. No program of Privet "
            "writes such a journal. Look who put it there, and remove it."
        )
    if any(beside.values()):
        _expect_database(real)


def _edges(path: str) -> tuple[bytes, bytes] | None:
    """The first and the last bytes of a file; None where it is empty or not there."""
    try:
        with open(path, "rb") as file:
            first = file.read(len(_MAGIC))
            file.seek(max(file.seek(0, os.SEEK_END) - len(_MAGIC), 0))
            return (first, file.read()) if first else None
    except FileNotFoundError:
        return None


def _expect_database(real: str) -> None:
    """Before a journal or a log is played back into a file, see that it is a database."""
    if not _bytes(real):
        return
    look = sqlite3.connect(f"{Path(real).as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        look.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
            raise LedgerError(
                f"The ledger {Path(real).name} cannot be opened: file is not a database. It was "
                "left as it is."
            ) from error
    finally:
        look.close()


def _bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _size(path: str) -> int:
    """What a file can hold: one with holes holds less than it says, a compressed one more."""
    try:
        found = os.stat(path)
    except OSError:
        return 0
    blocks = getattr(found, "st_blocks", 0)  # of 512 bytes; some systems do not count them
    return min(found.st_size, 16 * 512 * blocks) if blocks else found.st_size


def told(error: Exception) -> str:
    """What SQLite complains of, in words."""
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
        return "its file is damaged, and to read it would not end"
    if getattr(error, "sqlite_errorname", "") in _NO_ROOM:
        return "its disk has no room for a log, without which it is not even read"
    return str(error)


class GuardedConnection(sqlite3.Connection):
    """A connection to a file that anybody may have written."""

    _left = 0
    _size = 0

    def guard(self) -> None:
        """Before the first statement: enough to read a schema."""
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_IN_SCHEMA)
        self.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1)
        self._left = _FOR_SCHEMA
        self.set_progress_handler(self._is_too_long, _EACH)

    def trust(self, real: str) -> None:
        """The schema is Privet's: as much as an honest file of this size can need."""
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        self._size = LONGEST + sum(map(_size, (real, f"{real}-wal")))
        self._left = _FOR_ALL + self._size

    def found(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """All rows of a query, which cannot be more than the file holds."""
        rows, room = [], self._size
        for row in self.execute(sql, values):
            room -= _ROW + sum([len(each) for each in row if isinstance(each, str | bytes)])
            if room < 0:
                raise sqlite3.DatabaseError("it holds rows several times and is damaged")
            rows.append(row)
        return rows

    def _is_too_long(self) -> bool:
        """Whether to stop; SQLite then says that it was interrupted."""
        self._left -= _EACH
        return self._left < 0
