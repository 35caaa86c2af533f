"""Passes over tables that are read in parts, beside the same passes over arrays in memory.

    python benchmarks/scale.py passes folder     5 million rows of 119 columns, one core each
        [rows [name [kinds]]]                    so many rows, only who is so named, only these sums
    python benchmarks/scale.py growth folder     time of a pass over 1e5, 1e6 and 1e7 rows
    python benchmarks/scale.py workers folder    one worker against two
    python benchmarks/scale.py killed folder     thirty fits, in each of which a worker is killed
    python benchmarks/scale.py whole folder      fits of 2 million rows beside a fit in memory
    python benchmarks/scale.py fit folder        one whole fit: passes, time, memory
        [scratch]                                with encoded rows kept in that folder

The folder is filled by ``scale_table.py`` where it is missing. Results are kept in ``scale.md``.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scale_table import scale_schema, write

from privet import LogisticRegression, fit_table, stream
from privet.losses import Logistic
from privet.models.row_view import RowView
from privet.risk import RegularizedRisk
from privet.rows import parquet
from privet.rows.blas import one_thread
from privet.rows.dask import DaskEngine
from privet.rows.door import RawStream
from privet.rows.streamed import StreamedRows, rows_of
from privet.rows.threads import Progress, watched
from privet.schema import Schema

RISK = RegularizedRisk(Logistic(), 1e-4, 1.0)


class Seen:
    """Rows within the unit ball, with the signs that the loss takes."""

    takes_packed = True

    def __call__(self, x: Any, codes: Any) -> Any:
        """In memory."""
        return RowView(None, 1.0).rows(x, RISK.loss.targets(codes))


def streamed(raw: RawStream, schema: Schema) -> StreamedRows:
    """The rows of a stream as a fit asks for them."""
    x, y = raw.encoded(schema)
    found: Any = rows_of(x, y.among(np.arange(2)), Seen())
    return found


@one_thread
def timed(rows: Any, kernel: Callable[..., Any], *args: Any) -> float:
    """Seconds of one sum."""
    start = time.perf_counter()
    rows.sum(kernel, *args)
    return time.perf_counter() - start


def by_worker(raw: RawStream | None) -> dict[str, float]:
    """Seconds that cores have worked so far: for each Dask worker of a stream, or here."""
    if raw is None or not isinstance(raw.engine, DaskEngine):
        return {"here": time.process_time()}
    found: dict[str, float] = raw.engine.client.run(time.process_time)
    return found


def worked(raw: RawStream | None) -> float:
    """Seconds that cores have worked so far, here and on the Dask workers of a stream."""
    there = sum(by_worker(raw).values())
    return there + (time.process_time() if raw is not None and not raw.engine.reads_here else 0.0)


def both(block: Any, y: Any, theta: Any) -> Any:
    """Gradient and Hessian from one read."""
    return *RISK.gradients(block, y, theta[None, :]), *RISK.hessian(block, y, theta)


def passes(folder: Path, n: int = 5_000_000, rounds: int = 5) -> None:
    """A gradient, a Hessian and both at once on each engine, in turns: one thread or worker each.

    Arrays in memory are summed by one thread, so the others get no more. Seconds and ratios are
    those of the clock, then those of the cores, which other work on the machine disturbs less.
    """
    n = int(sys.argv[3]) if len(sys.argv) > 3 else n
    wanted = sys.argv[4:5] or [","]  # a part of the names of who is timed beside arrays
    kinds = sys.argv[5:] or ["gradient", "Hessian", "both"]
    write(folder, n, wide=True)
    schema = scale_schema(wide=True)
    encoded = schema.encode(stream(folder).opened())
    codes = (encoded.y == schema.label.classes[1]).astype(np.intp)
    theta = np.zeros(schema.width)
    more: dict[str, dict[str, Any]] = {
        "one thread, streamed": {"workers": 1},
        "one thread, scratch": {"workers": 1, "scratch": folder},
        "Dask, one worker, persisted": {"workers": 1, "engine": "dask"},
        "two threads, streamed": {"workers": 2},
        "two threads, scratch": {"workers": 2, "scratch": folder},
    }
    named = {name: asked for name, asked in more.items() if any(w in name for w in wanted)}
    streams = {"arrays": None} | {name: stream(folder, **asked) for name, asked in named.items()}
    engines = {
        name: Seen()(encoded.x, codes) if raw is None else streamed(raw, schema)
        for name, raw in streams.items()
    }
    asked: dict[str, tuple[Any, Any]] = {
        "gradient": (RISK.gradients, theta[None, :]),
        "Hessian": (RISK.hessian, theta),
        "both": (both, theta),
    }
    clock: dict[tuple[str, str], list[float]] = {}
    cores: dict[tuple[str, str], list[float]] = {}
    for name in engines:
        if "persisted" in name or "scratch" in name:
            timed(engines[name], *asked["gradient"])  # fills the memory, or writes the file
    for turn in range(1, rounds + 1):
        for what in kinds:
            kernel, point = asked[what]
            for name, rows in engines.items():
                before = worked(streams[name])
                clock.setdefault((what, name), []).append(timed(rows, kernel, point))
                cores.setdefault((what, name), []).append(worked(streams[name]) - before)
        print(f"{n:,} rows of {schema.width} columns, seconds a pass (median of {turn})\n")
        for what, name in clock:
            told = []
            for found in (clock, cores):
                mine, theirs = found[what, name], found[what, "arrays"]
                ratio = median(one / two for one, two in zip(mine, theirs, strict=True))
                told.append(f"{median(mine):.2f} | {ratio:.2f}")
            print(f"| {what} | {name} | {' | '.join(told)} |", flush=True)


def growth(folder: Path) -> None:
    """Parts of one folder; the time a row should not depend on how many there are."""
    write(folder / "few", 100_000)
    write(folder / "more", 1_000_000)
    write(folder / "many", 10_000_000)
    theta = np.zeros((1, scale_schema().width))
    for name in ("few", "more", "many", "few", "more", "many"):
        rows = streamed(stream(folder / name), scale_schema())
        begun = time.process_time()
        seconds = timed(rows, RISK.gradients, theta)
        used = time.process_time() - begun
        print(f"| {rows.n:,} | {seconds:.2f} | {1e6 * used / rows.n:.3f} |", flush=True)


def workers(folder: Path) -> None:
    """One and two workers, of threads and of Dask, in turns: the clock, and for Dask the cores.

    Where other work shares the cores, the busiest Dask worker's CPU seconds say more: a pass takes
    that long on cores of its own.
    """
    write(folder, 5_000_000, wide=True)
    schema = scale_schema(wide=True)
    for engine in ("threads", "dask"):
        streams = {k: stream(folder, engine=engine, workers=k) for k in (1, 2)}
        made = {k: streamed(raw, schema) for k, raw in streams.items()}
        clock: dict[int, list[float]] = {1: [], 2: []}
        cores: dict[int, list[float]] = {1: [], 2: []}
        for turn in range(6):
            for k, rows in made.items():
                before = by_worker(streams[k])
                seconds = timed(rows, both, np.zeros(schema.width))
                after = by_worker(streams[k])
                if turn:  # the first pass fills the workers' memory
                    clock[k].append(seconds)
                    cores[k].append(max(after[each] - before[each] for each in after))
        for name, found in (("clock", clock), ("busiest worker's CPU", cores)):
            one, two = (median(found[k]) for k in (1, 2))
            print(f"| {engine} | {name} | {one:.2f} | {two:.2f} | {one / two:.2f} |", flush=True)


def killed(folder: Path, times: int = 30) -> None:
    """Fits during which a worker is killed by its process id, at another point each time."""
    write(folder, 300_000)
    parquet.UNIT_CHUNKS = 1  # ten units, so that a pass has a middle
    model = LogisticRegression(1.0, insecure_seed=1)
    raw = stream(folder, engine="dask", workers=2)
    client: Any = raw.engine.client  # type: ignore[attr-defined]
    expected = fit_table(model, scale_schema(), folder)
    design = expected.planned(300_000, expected.n_features_in_, expected.classes_).design
    same = failed = 0
    for turn in range(times):
        done: list[int] = []

        def tell(progress: Progress, turn: int = turn, done: list[int] = done) -> None:
            # in another pass each time, and after another number of its ten units
            if not done and progress.passes >= 1 + turn % 6 and progress.rows >= turn % 7 * 32_768:
                found = client.run(os.getpid, on_error="ignore")  # one may just be starting
                done.extend(list(found.values())[:1])
                for each in done:
                    os.kill(each, signal.SIGKILL)

        try:
            with watched(tell):
                found = fit_table(model, scale_schema(), raw)
            steps = np.abs(found.coef_ - expected.coef_).max() / 2.0**design.exponent
            same += bool(done) and bool(steps <= 1.0)
            print(f"{turn + 1}: worker {done} killed, {steps:g} grid steps away", flush=True)
        except Exception as error:
            failed += 1
            print(f"{turn + 1}: {type(error).__name__} {error}", flush=True)
    print(f"| {times} | {same} the same release | {failed} clear errors |", flush=True)


def whole(folder: Path, rounds: int = 5) -> None:
    """From a folder to a release, in turns, one core each: the clock, and seconds of CPU.

    In memory means: the table is read and encoded once, and stays there until the fit ends.
    """
    write(folder, 2_000_000, wide=True)
    schema, model = scale_schema(wide=True), LogisticRegression(1.0)
    dask = stream(folder, engine="dask", workers=1)
    ways: dict[str, tuple[RawStream | None, Callable[[], Any]]] = {
        "in memory": (None, lambda: pq.read_table(folder, use_threads=False)),
        "from Parquet": (None, lambda: stream(folder, workers=1)),
        "with a scratch file": (None, lambda: stream(folder, workers=1, scratch=folder)),
        "Dask, one worker": (dask, lambda: dask),
    }
    clock: dict[str, list[float]] = {}
    cores: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, (raw, table) in ways.items():
            begun, before = time.perf_counter(), worked(raw)
            fit_table(model, schema, table())
            clock.setdefault(name, []).append(time.perf_counter() - begun)
            cores.setdefault(name, []).append(worked(raw) - before)
    for name in ways:
        told = []
        for found in (clock, cores):
            pairs = zip(found[name], found["in memory"], strict=True)
            ratio = median(one / two for one, two in pairs)
            told.append(f"{median(found[name]):.2f} | {ratio:.2f}")
        print(f"| {name} | {' | '.join(told)} |", flush=True)


def fit(folder: Path) -> None:
    """One fit of logistic regression at epsilon 1; a third argument is a scratch folder."""
    scratch = sys.argv[3] if len(sys.argv) > 3 else None
    last: list[Progress] = []
    start = time.perf_counter()

    def tell(progress: Progress) -> None:
        if progress.rows == progress.n:
            print(f"{time.perf_counter() - start:,.0f} s: {progress}", flush=True)
            last.append(progress)

    with watched(tell):
        fit_table(LogisticRegression(1.0), scale_schema(), stream(folder, scratch=scratch))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    used = time.process_time()
    print(f"{time.perf_counter() - start:,.0f} s, {used:,.0f} s of CPU, {memory:,.0f} MB at most")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    commands = {
        "passes": passes,
        "growth": growth,
        "workers": workers,
        "killed": killed,
        "whole": whole,
        "fit": fit,
    }
    commands[sys.argv[1]](Path(sys.argv[2]))
