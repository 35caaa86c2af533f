"""What a ledger of 100,000 entries costs to look at, beside one of 1,000.

    python benchmarks/growth.py [entries]        writes benchmarks/growth.md

Ten accounts, charges and settlements in turn, a hundred different events. Timed: a charge (reserve
and settle), ``show`` of one account and ``verify`` of ten new entries since a checkpoint, both as
commands of their own with the start of Python, the same two inside a process, and a full
``verify``. The first four should cost at most twenty times as much for a hundred times the entries;
what they read does not grow at all.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from privet import Ledger, PureDP  # noqa: E402
from privet.ledger.account import Terms  # noqa: E402
from privet.ledger.entry import COLUMNS, Entry, follow, totals_text  # noqa: E402
from tests import postgres  # noqa: E402
from tests.strategies import pure_event  # noqa: E402

SMALL, ROUNDS, ACCOUNTS, NEW = 1_000, 5, 10, 10
TERMS = Terms(PureDP(1000.0))
MOST = 20.0


def entries(newest: Entry, count: int) -> Iterator[Entry]:
    """What charges and settlements in turn would have written."""
    totals = [TERMS.nothing() for _ in range(ACCOUNTS)]
    events = [pure_event(1e-4 + 1e-7 * i) for i in range(100)]
    bodies = [event.canonical() for event in events]
    while newest.sequence < count:
        i, k = newest.sequence // 2 % ACCOUNTS, newest.sequence // 2 % 100
        totals[i] = TERMS.charged(totals[i], events[k], None)
        text = totals_text(totals[i])
        newest = follow(
            newest, f"data {i}", "reserve", key=None, part=None, body=bodies[k], totals=text
        )
        yield newest
        key, body = str(newest.sequence), f'{{"reservation":{newest.sequence}}}'
        newest = follow(newest, f"data {i}", "settle", key=key, part=None, body=body, totals=text)
        yield newest


def filled(url: str, count: int) -> Ledger:
    """A ledger with so many entries, written past Privet's own charges, which take longer."""
    ledger = Ledger(url)
    for i in range(ACCOUNTS):
        ledger.open(f"data {i}", TERMS.cap)
    rows = entries(ledger.entries()[-1], count)
    if url.startswith("sqlite"):
        import sqlite3

        with closing(sqlite3.connect(ledger.path)) as connection, connection:
            marks = ", ".join("?" * len(COLUMNS))
            names = ", ".join(COLUMNS)
            connection.executemany(f"INSERT INTO entries ({names}) VALUES ({marks})", rows)
    else:
        import psycopg

        with (
            psycopg.connect(url) as server,
            server.cursor() as cursor,
            unguarded(server),
            cursor.copy(f"COPY privet_entries ({', '.join(COLUMNS)}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)
    return ledger


@contextmanager
def unguarded(server: Any) -> Iterator[None]:
    """The owner may write without the checks, which take longer than all the rest."""
    server.execute("ALTER TABLE privet_entries DISABLE TRIGGER privet_guard")
    yield
    server.execute("ALTER TABLE privet_entries ENABLE TRIGGER privet_guard")


def command(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "privet", "ledger", *arguments],
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )


def measured(ledger: Ledger, folder: Path) -> dict[str, float]:
    """Seconds of each operation at its fastest; ten new entries before every incremental verify."""
    kept = folder / "checkpoint.json"
    command("verify", ledger.url, "--checkpoint", str(kept))
    since = ledger.verify()

    def charge() -> None:
        ledger.settle(ledger.reserve("data 0", pure_event(1e-4)))

    runs: dict[str, tuple[Callable[[], object], int]] = {
        "a charge": (charge, 0),
        "`show` of one account, as a command": (lambda: command("show", ledger.url, "data 1"), 0),
        "`verify` of ten new entries, as a command": (
            lambda: command("verify", ledger.url, "--checkpoint", str(kept)),
            NEW,
        ),
        "the newest 50 releases of one account": (
            lambda: list(ledger.releases("data 1", 50)),
            0,
        ),
        "`verify` of ten new entries": (lambda: ledger.verify(since=since), NEW),
        "full `verify`": (ledger.verify, 0),
    }
    found = {}
    for name, (run, fresh) in runs.items():
        times = []
        for _ in range(1 if name.startswith("full") else ROUNDS):
            if name == "`verify` of ten new entries":
                since = ledger.verify(since=since)
            for _ in range(fresh // 2):
                charge()
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        found[name] = min(times)
        print(f"{found[name]:9.3f} s  {name}", flush=True)
    return found


def table(title: str, small: dict[str, float], large: dict[str, float], count: int) -> list[str]:
    lines = [
        f"## {title}",
        "",
        f"| | {SMALL:,} entries, s | {count:,} entries, s | ratio |",
        "|---|---|---|---|",
    ]
    for name, before in small.items():
        ratio = large[name] / before
        lines.append(f"| {name} | {before:.3f} | {large[name]:.3f} | {ratio:.2f} |")
        assert name.startswith("full") or ratio <= MOST, f"{name}: {ratio:.1f} times"
    return [*lines, ""]


def main() -> None:
    """Time both databases and write the page."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    lines = []
    with tempfile.TemporaryDirectory(dir=ROOT) as name:
        found = []
        for size in (SMALL, count):
            (folder := Path(name) / str(size)).mkdir()
            found.append(measured(filled(f"sqlite:///{folder}/ledger.db", size), folder))
        lines += table("SQLite", found[0], found[1], count)
        try:
            with postgres.server() as url:
                found = []
                for size in (SMALL, count):
                    place = postgres.fresh(url, f"growth_{size}")
                    found.append(measured(filled(place, size), Path(name)))
                    (Path(name) / "checkpoint.json").unlink()
                lines += table("PostgreSQL", found[0], found[1], count)
        except (ImportError, postgres.NoServer) as error:
            print(f"PostgreSQL is left out: {error}")
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    head = [
        "# The growth of a ledger",
        "",
        f"Written by `python benchmarks/growth.py {count}`: the fastest of {ROUNDS} rounds, one of",
        "the full `verify`. All but that may take at most",
        f"{MOST:g} times as long for a hundred times the entries. The largest command took",
        f"{megabytes:.0f} MB. Python {platform.python_version()}, load average",
        f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, which is in the times of commands.",
        "",
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join([*head, *lines]).rstrip() + "\n")


if __name__ == "__main__":
    main()
