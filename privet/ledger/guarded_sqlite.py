"""What a stranger's file may make SQLite do: nothing that it names, and nothing without an end.

SQLite trusts what it opens, and a ledger may come from anybody.

*Other files.* A rollback journal may end with the name of a file that SQLite deletes once the
journal is played back. That is for transactions over several databases; Privet makes none.

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
#: The last bytes of a journal that names another file.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")


def refuse_named_files(real: str) -> None:
    """Refuse a rollback journal that would have SQLite delete a file of its choice."""
    try:
        with open(f"{real}-journal", "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - len(_NAMES_ANOTHER), 0))
            named = file.read() == _NAMES_ANOTHER
    except FileNotFoundError:
        return
    if named:
        name = Path(real).name
        raise LedgerError(
            f"{name}-journal names another file, which would be deleted. No program of Privet "
            "writes such a journal. Look who put it there, and remove it."
        )


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
