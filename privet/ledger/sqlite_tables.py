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

_FIRST = ("sequence", "dataset", "kind", "key", "body", "totals", "time", "previous", "hash")
_SECOND = (*_FIRST, "part")
_TODAY = (*_SECOND, "ledger", "nonce")
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


def _words(text: str) -> tuple[str, ...]:
    """A text of a schema without its spaces."""
    return tuple(re.findall(r"\w+|[^\w\s]", text))


#: The other table that a ledger may have, as it is made.
ANSWERS = f"CREATE TABLE answers {ANSWER_COLUMNS}"
#: What may be in a schema, by kind and name: the tables of every format, and SQLite's statistics.
_SCHEMA = {
    ("table", "entries"): {
        _words(_TABLE),
        _words(_TABLE.replace("  ledger TEXT,\n  nonce TEXT,\n", "")),
        _words(_TABLE.replace("  part TEXT,\n  ledger TEXT,\n  nonce TEXT,\n", "")),
    },
    ("index", "entries_by_dataset"): {_words(_INDEX)},
    ("table", "answers"): {_words(ANSWERS)},
    ("table", "sqlite_stat1"): {_words("CREATE TABLE sqlite_stat1(tbl,idx,stat)")},
    ("table", "sqlite_stat4"): {
        _words("CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
    },
}
#: More tables and indices than a ledger has.
_MOST = 20


def one_value(connection: sqlite3.Connection, statement: str) -> Any:
    """The one value that a statement answers."""
    return connection.execute(statement).fetchone()[0]


def found_format(connection: sqlite3.Connection, place: str) -> str | None:
    """The format in the file; None for a file without tables. A foreign one is refused."""
    version = one_value(connection, "PRAGMA user_version")
    application = one_value(connection, "PRAGMA application_id")
    schema = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(_MOST)
    if not (application or version or schema):
        return None
    columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(entries)"))
    found = {
        (APPLICATION, VERSION, _TODAY): FORMAT,
        (APPLICATION, 2, _SECOND): SECOND_FORMAT,
        (0, 0, _FIRST): FIRST_FORMAT,
    }.get((application, version, columns))
    if found is None or len(schema) == _MOST or not all(_is_ours(*made) for made in schema):
        raise LedgerError(FOREIGN.format(place=place))
    return found


def _is_ours(kind: str, name: str, sql: str | None) -> bool:
    """Whether Privet has written this part of a schema, or SQLite for itself."""
    if sql is None:  # the index of a UNIQUE, which has no text of its own
        return kind == "index" and name.startswith("sqlite_autoindex_")
    return _words(sql) in _SCHEMA.get((kind, name), ())


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
