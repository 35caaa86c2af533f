"""Killed processes, a server that is stopped at once, fifty for the last unit, a late replica.

    python benchmarks/server_storm.py [kills]        writes benchmarks/server_storm.md

Every line is a run of ``tests/ledger/children.py`` or ``storms.py`` on a fresh server, which fail
where an entry is lost or gained, something is granted twice or ``verify`` finds a fault. The tests
run the same with smaller numbers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests import postgres  # noqa: E402

CRASHES, CLIENTS, RACERS, RACES = 40, 4, 50, 3


def run(module: str, *arguments: Any) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.ledger.{module}", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    print(module, *arguments[-2:], found if len(str(found)) < 300 else "", flush=True)
    return found


def races(url: str) -> list[str]:
    """Of many who ask for the last unit at once, one is granted it."""
    found = []
    for i in range(RACES):
        told = run("children", "last", postgres.fresh(url, f"race_{i}"), RACERS)["told"]
        found.append(Counter(line.split()[0] for line in told))
    assert all(each == {"granted": 1, "refused": RACERS - 1} for each in found), found
    return [f"| {RACES} races of {RACERS} for the last unit | granted 1 each, {RACES} of {RACES} |"]


def told(found: dict[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in found.items())


def main() -> None:
    """Run the storms and write the page."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as memory:
        os.environ["PRIVET_STATE"] = memory
        with postgres.server() as url:
            killed = run("children", "kill", postgres.fresh(url, "kills"), kills)
            raced = races(url)
        crashed = run("storms", "crashes", CRASHES, CLIENTS)
        stale = run("storms", "stale", RACERS)
    lines = [
        "# Storms on PostgreSQL",
        "",
        f"Written by `python benchmarks/server_storm.py {kills}`. Clients are killed (`kill -9`)",
        "at random moments of a charge; the server is stopped at once (`immediate`) while clients",
        "charge, and started again. No confirmed entry was lost, none was gained that nobody",
        "asked for, nothing was granted twice, and the ledgers verify. *Untold* and *unknown* are",
        "commits whose answer was lost with the client or the server: they may be there.",
        "",
        "| storm | found |",
        "|---|---|",
        f"| clients killed | {told(killed)} |",
        f"| server stopped at once | {told(crashed)} |",
        *raced,
        f"| {RACERS} for the last unit, half at a promoted replica that lacks the newest charge | "
        f"{told(stale)} |",
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
