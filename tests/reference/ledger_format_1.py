"""Writes ``ledger-format-1.db``: a ledger as the first release of Privet wrote it.

By the standard library alone and frozen: today's code must not help to write yesterday's format.
One table without a mark, bodies and totals as JSON with spaces, and one release never settled.

Run: python tests/reference/ledger_format_1.py
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

TABLE = """
CREATE TABLE IF NOT EXISTS entries (
  sequence INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT,
  body TEXT NOT NULL,
  totals TEXT NOT NULL,
  time TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (dataset, kind, key)
)
"""
PURE_CAP = {"kind": "pure", "epsilon": 1.0}
APPROX_CAP = {"kind": "approx", "epsilon": 1.0, "delta": 1e-06}
EVENT = {
    "mechanism": "objective",
    "noise": "laplace",
    "scale": 8.0,
    "sensitivity": 2.0,
    "share": 1.0,
    "n": 1000,
    "m": 4,
    "regularization": 0.01,
    "theorem": "Chaudhuri et al. 2011, Theorem 9",
    "private": True,
    "why_not_private": "",
    "version": 1,
    "claim": {"kind": "pure", "epsilon": 0.25},
    "curves": [{"kind": "pure", "loss": 0.25}],
}
NOTHING = [0] * 12
#: What the first release charged for the event: pure, zCDP, then ten Renyi orders.
ONCE = [
    *(250000000, 31250000, 46275129, 60931587, 87994831, 131066785),
    *(179778005, 214020113, 232001896, 241000947, 245500474, 247750237),
]
ENTRIES: list[tuple[str, str, str | None, dict[str, Any], list[int]]] = [
    ("patients", "open", "patients", PURE_CAP, NOTHING),
    ("patients", "reserve", "job 1", EVENT, ONCE),
    ("patients", "settle", "2", {"reservation": 2}, ONCE),
    ("visits", "open", "visits", APPROX_CAP, NOTHING),
    ("patients", "reserve", None, EVENT, [2 * each for each in ONCE]),
    ("visits", "reserve", None, EVENT, ONCE),
    ("visits", "settle", "6", {"reservation": 6}, ONCE),
]


def write(path: Path) -> None:
    """The entries, chained."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(TABLE)
    previous = hashlib.sha256(b"privet-ledger-1").hexdigest()
    for sequence, (dataset, kind, key, body, totals) in enumerate(ENTRIES, start=1):
        fields = {
            "sequence": sequence,
            "dataset": dataset,
            "kind": kind,
            "key": key,
            "body": body,
            "totals": totals,
            "time": f"2026-01-0{sequence}T12:00:00+00:00",
            "previous": previous,
        }
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        written = {**fields, "body": json.dumps(body, sort_keys=True), "totals": json.dumps(totals)}
        row = (*written.values(), digest)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        previous = digest
    connection.execute("COMMIT")
    connection.close()


if __name__ == "__main__":
    write(Path(__file__).with_name("ledger-format-1.db"))
