"""What a charge costs, beside a bare loop of two durable commits to the same disk.

    python benchmarks/ledger.py [rounds]        writes benchmarks/ledger.md

A charge is two commits: ``reserve`` before the noise and ``settle`` after the release, each on a
connection of its own. So is the bare loop: it inserts rows of the same size into a table without an
index, with the same settings (SQLite: write-ahead log, synchronous FULL; PostgreSQL:
synchronous_commit), and looks at nothing. Contenders take turns in one process. Wall times mean
something on a machine with nothing else to do; elsewhere commits wait for the scheduler, which
hides what a charge costs rather than adding to it. The CPU time is this process's own, without the
server's and without waiting for the disk. On a memory disk a commit waits for nothing: what remains
is the computing.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from privet import ApproxDP, Ledger, PureDP  # noqa: E402
from privet.privacy import Budget, Event  # noqa: E402
from tests import postgres  # noqa: E402
from tests.strategies import gaussian_event, pure_event  # noqa: E402

ROUNDS = 1000
WARM_UP = 10
MEMORY_DISK = Path("/dev/shm")
COLUMNS = "dataset, kind, key, body, totals, time, previous, hash"

Run = Callable[[], None]
CHARGES: dict[str, tuple[Budget, Event]] = {
    "pure cap": (PureDP(1000.0), pure_event(1e-4)),
    "(epsilon, delta) cap": (ApproxDP(1000.0, 1e-6), gaussian_event(1e-6)),
}


def rows_like(ledger: Ledger) -> list[tuple[str | None, ...]]:
    """The columns of a reservation and of its settlement, to be written without thinking."""
    return [
        (e.dataset, e.kind, e.key, e.body_text, e.totals_text, e.time, e.previous, e.hash)
        for e in ledger.entries()[-2:]
    ]


def charging(ledger: Ledger, dataset: str, events: Iterator[Event]) -> Run:
    def charge() -> None:
        ledger.settle(ledger.reserve(dataset, next(events)))

    return charge


def opened(url: str, rounds: int) -> tuple[Ledger, dict[str, Run]]:
    """A ledger and what is timed on it."""
    ledger = Ledger(url)
    runs: dict[str, Run] = {}
    for name, (cap, event) in CHARGES.items():
        ledger.open(name, cap)
        runs[f"reserve + settle, {name}"] = charging(ledger, name, repeat(event))
    # no event twice: each has to be written as text and priced at every Renyi order
    others = [pure_event(1e-4 + 1e-9 * i) for i in range(rounds + WARM_UP + 1)]
    runs["the same, every event a new one"] = charging(ledger, "pure cap", iter(others))
    for charge in runs.values():
        charge()
    return ledger, runs


@contextmanager
def sqlite_runs(folder: Path, rounds: int) -> Iterator[dict[str, Run]]:
    ledger, charges = opened(f"sqlite:///{folder}/ledger.db", rounds)
    rows = rows_like(ledger)

    def committed(statement: str, row: tuple[str | None, ...] = ()) -> None:
        with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(statement, row)

    committed(f"CREATE TABLE bare (sequence INTEGER PRIMARY KEY, {COLUMNS})")

    def bare() -> None:
        for row in rows:
            committed(f"INSERT INTO bare ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    yield {"two commits": bare, **charges}
    ledger.verify()


@contextmanager
def postgres_runs(url: str, rounds: int) -> Iterator[dict[str, Run]]:
    import psycopg

    ledger, charges = opened(url, rounds)
    texts = ", ".join(f"{name} TEXT" for name in COLUMNS.split(", "))
    rows = rows_like(ledger)

    def committed(statement: str, row: tuple[str | None, ...] = ()) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode(), row)

    committed(f"CREATE TABLE bare (sequence BIGSERIAL PRIMARY KEY, {texts})")

    def bare() -> None:
        for row in rows:
            committed(f"INSERT INTO bare ({COLUMNS}) VALUES ({', '.join(['%s'] * 8)})", row)

    yield {"two commits": bare, **charges}
    ledger.verify()


def alternated(runs: dict[str, Run], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Wall and CPU milliseconds of each contender, taking turns."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for i in range(rounds + WARM_UP):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            if i >= WARM_UP:
                times[name].append((1e3 * wall, 1e3 * cpu))
    return times


def quantiles(times: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Lower tenth and median of the wall times, median of the CPU times."""
    wall, cpu = (sorted(column) for column in zip(*times, strict=True))
    return wall[len(wall) // 10], wall[len(wall) // 2], cpu[len(cpu) // 2]


def table(title: str, runs: dict[str, Run], rounds: int) -> list[str]:
    before = os.getloadavg()[0]
    found = {name: quantiles(times) for name, times in alternated(runs, rounds).items()}
    lines = [
        f"## {title}",
        "",
        f"Load average {before:.1f} before, {os.getloadavg()[0]:.1f} after.",
        "",
        "| | lower tenth, ms | ratio | median, ms | ratio | CPU, ms |",
        "|---|---|---|---|---|---|",
    ]
    lower, middle, _ = found["two commits"]
    for name, (low, mid, cpu) in found.items():
        cells = f"{low:.2f} | {low / lower:.2f} | {mid:.2f} | {mid / middle:.2f} | {cpu:.2f}"
        lines.append(f"| {name} | {cells} |")
        print(title, lines[-1])
    return [*lines, ""]


def sqlite_table(title: str, place: Path, rounds: int) -> list[str]:
    with (
        tempfile.TemporaryDirectory(dir=place) as folder,
        sqlite_runs(Path(folder), rounds) as runs,
    ):
        return table(title, runs, rounds)


def main() -> None:
    """Time both databases and write the page."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    lines = [
        "# The cost of a charge",
        "",
        f"Written by `python benchmarks/ledger.py {rounds}`: {rounds} alternated rounds. Two",
        "commits are a bare loop with rows of the same size, each on a fresh connection; a charge",
        "should cost at most four times as much. A new event has to be written as text and priced",
        "at every Renyi order, too; models price it earlier, when they ask whether it fits.",
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}.",
        "",
    ]
    lines += sqlite_table("SQLite", ROOT, rounds)
    if MEMORY_DISK.is_dir():
        lines += sqlite_table("SQLite on a memory disk: the computing alone", MEMORY_DISK, rounds)
    try:
        with postgres.server() as url, postgres_runs(postgres.fresh(url, "bench"), rounds) as runs:
            lines += table("PostgreSQL", runs, rounds)
    except (ImportError, postgres.NoServer) as error:
        print(f"PostgreSQL is left out: {error}")
    Path(__file__).with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
