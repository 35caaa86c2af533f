"""Killed processes and second names, in full numbers: what the tests do with smaller ones.

    python benchmarks/storm.py [kills] [racers]        writes benchmarks/storm.md

Processes that charge a ledger in a file are killed at random moments, one after another; all that a
killed one had told must be there, and at most one entry more. Then racers ask at once for the last
unit, half of them by a second name of the ledger. Nothing may be granted twice.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_suffix(".md")
NAMES = ("hard_link", "symbolic_link", "copy", "mount")


def children(what: str, count: int) -> Any:
    """What ``tests/ledger/children.py`` found with a new ledger; None where it may not mount."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/budget.db"
        alone = ["unshare", "-m"] if what == "mount" else []
        done = subprocess.run(
            [*alone, sys.executable, "-m", "tests.ledger.children", what, url, str(count)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PRIVET_STATE": f"{folder}/state"},
        )
    if done.returncode and what == "mount":
        return None
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    """Run all of it and write the page."""
    kills, racers = [int(each) for each in (*sys.argv[1:], *("300", "50")[len(sys.argv) - 1 :])]
    found = children("kill", kills)
    lines = [
        "# Killed processes and second names",
        "",
        f"Written by `python benchmarks/storm.py {kills} {racers}`. Python "
        f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}.",
        "",
        f"{found['kills']} processes were killed while they charged a ledger in a file: "
        f"{found['reserved']} reservations, {found['settled']} settlements, {found['orphans']} "
        f"orphans, {found['untold']} entries that were written and not yet told. None was lost and "
        "none was gained; the totals are those of the reservations.",
        "",
        f"{racers} processes ask for the last unit at once, half of them by a second name:",
        "",
        "| second name | granted | refused | found spent | left |",
        "|---|---|---|---|---|",
    ]
    for name in NAMES:
        raced = children(name, racers)
        if raced is None:
            lines.append(f"| {name.replace('_', ' ')} | not permitted here | | | |")
            continue
        told = Counter(line.split()[-1] for line in raced["told"])
        counts = " | ".join(str(told[word]) for word in ("granted", "refused", "spent"))
        lines.append(f"| {name.replace('_', ' ')} | {counts} | {raced['remaining']:g} |")
    PAGE.write_text("\n".join(lines) + "\n")
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
