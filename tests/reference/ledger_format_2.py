"""A ledger as releases before identities wrote it: parts, decimals, neither identity nor nonces.

By the standard library alone and frozen: today's code must not help to write yesterday's format.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.reference.ledger_format_1 import EVENT, PURE_CAP

COLUMNS = "sequence, dataset, kind, key, part, body, totals, time, previous, hash"
TABLE = """
CREATE TABLE {table} (
  sequence {number} PRIMARY KEY,
  dataset TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT,
  body TEXT NOT NULL,
  totals TEXT NOT NULL,
  time TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  part TEXT,
  UNIQUE (dataset, kind, key)
)
"""
NOTHING = ["0"] * 12
#: What was charged for the event: pure, zCDP, then ten Renyi orders, each rounded up.
ONCE = [
    *("0.25", "0.03125", "0.047", "0.061", "0.088", "0.132"),
    *("0.18", "0.215", "0.233", "0.242", "0.246", "0.248"),
]
ENTRIES: list[tuple[str, str | None, dict[str, Any], list[str]]] = [
    ("open", "patients", PURE_CAP, NOTHING),
    ("reserve", "job 1", EVENT, ONCE),
    ("settle", "2", {"reservation": 2}, ONCE),
]


def rows() -> list[tuple[Any, ...]]:
    """The entries as a table holds them."""
    found: list[tuple[Any, ...]] = []
    previous = hashlib.sha256(b"privet-ledger-1").hexdigest()
    for number, (kind, key, body, totals) in enumerate(ENTRIES, start=1):
        told = {
            "sequence": number,
            "dataset": "patients",
            "kind": kind,
            "key": key,
            "body": body,
            "totals": totals,
            "time": "2026-02-03T04:05:06+00:00",
            "previous": previous,
        }
        texts = [_text(body), _text(totals)]
        found.append(
            (number, "patients", kind, key, None, *texts, told["time"], previous, _hash(told))
        )
        previous = _hash(told)
    return found


def write(path: Path) -> None:
    """The file of such a ledger."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (
        TABLE.format(table="entries", number="INTEGER"),
        "CREATE INDEX entries_by_dataset ON entries (dataset, sequence)",
        f"PRAGMA application_id = {int.from_bytes(b'priv', 'big')}",
        "PRAGMA user_version = 2",
        "PRAGMA journal_mode = WAL",
    ):
        connection.execute(statement)
    marks = ", ".join("?" * 10)
    connection.executemany(f"INSERT INTO entries ({COLUMNS}) VALUES ({marks})", rows())
    connection.close()


def write_to_server(url: str) -> None:
    """The tables of such a ledger on a server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE.format(table="privet_entries", number="BIGINT").encode())
        connection.execute("CREATE TABLE privet_ledger (format TEXT PRIMARY KEY)")
        connection.execute("INSERT INTO privet_ledger VALUES ('privet-ledger-2')")
        marks = ", ".join(["%s"] * 10)
        for row in rows():
            connection.execute(
                f"INSERT INTO privet_entries ({COLUMNS}) VALUES ({marks})".encode(), row
            )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _hash(told: dict[str, Any]) -> str:
    return hashlib.sha256(_text(told).encode()).hexdigest()
