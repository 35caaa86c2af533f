"""The tables of a ledger in a file: how they are made, told from others and brought up to date.

The file is marked in its header. A file that carries another mark, other tables, or anything in
its schema that is not word for word what Privet writes is left as it is. A view that never ends, a
trigger or a condition would be run by whoever looks at the entries. A table with the right columns
and other indices can have two faces: one for ``verify``, which reads on from entry to entry, and
another for whoever asks for the entry on a receipt.
"""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any

from privet._files import canonical
from privet.errors import LedgerError
from privet.ledger.guarded_sqlite import GuardedConnection
from privet.ledger.store import ANSWER_COLUMNS, FIRST_FORMAT, FOREIGN, FORMAT, SECOND_FORMAT

#: Written into the file's header: "priv", and the number of the format.
APPLICATION = int.from_bytes(b"priv", "big")
VERSION = 3

#: The entries of the second format, as a query that has today's columns.
SECOND_TABLE = "(SELECT *, NULL AS ledger, NULL AS nonce FROM entries) AS entries"
_TABLE = """
CREATE TABLE entries (
  sequence INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT,
  body TEXT NOT NULL,
  totals TEXT NOT NULL,
  time TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  part TEXT,
  ledger TEXT,
  nonce TEXT,
  UNIQUE (dataset, kind, key)
)
"""
_INDEX = "CREATE INDEX entries_by_dataset ON entries (dataset, sequence)"
_MARK = (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}")
CREATE = (_TABLE, _INDEX, *_MARK)


def _words(text: Any) -> tuple[str, ...]:
    """A text of a schema without its spaces; none for what is no text."""
    return tuple(re.findall(r"\w+|[^\w\s]", text)) if isinstance(text, str) else ()


#: The other table that a ledger may have, as it is made.
ANSWERS = f"CREATE TABLE answers {ANSWER_COLUMNS}"

#: A part of a schema: its kind, name, table and words; SQLite's own index of a UNIQUE has no words.
Made = tuple[Any, Any, Any, tuple[str, ...] | None]


def _table(name: str, sql: str, unique: int = 0) -> set[Made]:
    indices = {("index", f"sqlite_autoindex_{name}_{i + 1}", name, None) for i in range(unique)}
    return {("table", name, name, _words(sql)), *indices}


_BY_DATASET: set[Made] = {("index", "entries_by_dataset", "entries", _words(_INDEX))}
_SECOND_TEXT = _TABLE.replace("  ledger TEXT,\n  nonce TEXT,\n", "")
_FIRST_TEXT = _SECOND_TEXT.replace("  part TEXT,\n", "")
#: The whole schema of each format, ...
_SCHEMAS = {
    FORMAT: _table("entries", _TABLE, 1) | _BY_DATASET,
    SECOND_FORMAT: _table("entries", _SECOND_TEXT, 1) | _BY_DATASET,
    FIRST_FORMAT: _table("entries", _FIRST_TEXT, 1),
}
#: ... and what may be there beside it, whole or not at all: answers, and SQLite's statistics.
_BESIDE = (
    _table("answers", ANSWERS, 2),
    _table("sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    _table("sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
)
#: More tables and indices than a ledger has.
_MOST = 20


def one_value(connection: sqlite3.Connection, statement: str) -> Any:
    """The one value that a statement answers."""
    return connection.execute(statement).fetchone()[0]


def found_format(connection: sqlite3.Connection, place: str) -> str | None:
    """The format in the file; None for a file without tables. A foreign one is refused."""
    version = one_value(connection, "PRAGMA user_version")
    application = one_value(connection, "PRAGMA application_id")
    query = "SELECT type, name, tbl_name, sql, rootpage FROM sqlite_master"
    schema = connection.execute(query).fetchmany(_MOST)
    if not (application or version or schema):
        return None
    found = {
        (APPLICATION, VERSION): FORMAT,
        (APPLICATION, 2): SECOND_FORMAT,
        (0, 0): FIRST_FORMAT,
    }.get((application, version))
    if found is None or not _is_ours(schema, found) or not _is_plain(connection):
        raise LedgerError(FOREIGN.format(place=place))
    return found


def _is_ours(schema: list[Any], found: str) -> bool:
    """Whether this is the schema of the format, exactly, with a page for each part of it."""
    made = [
        (kind, name, of, sql if sql is None else _words(sql)) for kind, name, of, sql, _ in schema
    ]
    wanted = set(_SCHEMAS[found])
    for more in _BESIDE:
        if more <= set(made):
            wanted |= more
    pages = {page for *_, page in schema}
    return len(made) == len(wanted) == len(pages) and set(made) == wanted


def _is_plain(connection: sqlite3.Connection) -> bool:
    """Whether the file is written as Privet has SQLite write it."""
    encoding = one_value(connection, "PRAGMA encoding")
    return bool(encoding == "UTF-8" and one_value(connection, "PRAGMA auto_vacuum") == 0)


def upgrade(connection: GuardedConnection, found: str) -> None:
    """Today's table, from one of another format."""
    if found == FIRST_FORMAT:
        _add_parts(connection)
    if found != FORMAT:
        _add_identity(connection)


def _add_identity(connection: sqlite3.Connection) -> None:
    """From the second format to this: columns that its entries leave empty."""
    for name in ("ledger", "nonce"):
        connection.execute(f"ALTER TABLE entries ADD COLUMN {name} TEXT")
    for statement in _MARK:
        connection.execute(statement)


def _add_parts(connection: GuardedConnection) -> None:
    """From the first format to the second: a column for parts, and texts as they are hashed."""
    for statement in ("ALTER TABLE entries ADD COLUMN part TEXT", _INDEX):
        connection.execute(statement)
    found = connection.found("SELECT sequence, body, totals FROM entries", {})
    for sequence, *texts in found:
        try:
            body, totals = (canonical(json.loads(text)) for text in texts)
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(f"Entry {sequence} of the ledger cannot be read.") from error
        connection.execute(
            "UPDATE entries SET body = ?, totals = ? WHERE sequence = ?", (body, totals, sequence)
        )
