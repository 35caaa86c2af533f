"""The tables of a ledger in a file: how they are made, told from others and brought up to date.

The file is marked in its header. A file that carries another mark, other tables, or anything in
its schema that Privet does not write is left as it is: a view that never ends, a trigger or a
condition would be run by whoever looks at the entries.
"""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any

from privet._files import canonical
from privet.errors import LedgerError
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
#: All that the texts of a ledger's schema are made of, in every format.
_WORDS = {*re.findall(r"\w+", _TABLE + _INDEX), "(", ")", ","}


#: The other table that a ledger may have, as it is made.
ANSWERS = f"CREATE TABLE answers {ANSWER_COLUMNS}"


def one_value(connection: sqlite3.Connection, statement: str) -> Any:
    """The one value that a statement answers."""
    return connection.execute(statement).fetchone()[0]


def found_format(connection: sqlite3.Connection, place: str) -> str | None:
    """The format in the file; None for a file without tables. A foreign one is refused."""
    version = one_value(connection, "PRAGMA user_version")
    application = one_value(connection, "PRAGMA application_id")
    schema = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if not (application or version or schema):
        return None
    columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(entries)"))
    found = {
        (APPLICATION, VERSION, _TODAY): FORMAT,
        (APPLICATION, 2, _SECOND): SECOND_FORMAT,
        (0, 0, _FIRST): FIRST_FORMAT,
    }.get((application, version, columns))
    if found is None or not all(_is_ours(*made) for made in schema):
        raise LedgerError(FOREIGN.format(place=place))
    return found


def _is_ours(kind: str, name: str, sql: str | None) -> bool:
    """Whether Privet could have written this part of a schema, or SQLite for itself."""
    if (kind, name) == ("table", "answers"):
        return (sql or "").split() == ANSWERS.split()
    statistics = kind == "table" and name.startswith("sqlite_stat")
    return statistics or _WORDS.issuperset(re.findall(r"\w+|[^\w\s]", sql or ""))


def upgrade(connection: sqlite3.Connection, found: str) -> None:
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


def _add_parts(connection: sqlite3.Connection) -> None:
    """From the first format to the second: a column for parts, and texts as they are hashed."""
    for statement in ("ALTER TABLE entries ADD COLUMN part TEXT", _INDEX):
        connection.execute(statement)
    found = connection.execute("SELECT sequence, body, totals FROM entries").fetchall()
    for sequence, *texts in found:
        try:
            body, totals = (canonical(json.loads(text)) for text in texts)
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerError(f"Entry {sequence} of the ledger cannot be read.") from error
        connection.execute(
            "UPDATE entries SET body = ?, totals = ? WHERE sequence = ?", (body, totals, sequence)
        )
