"""The price of lifting features block by block, in time and memory.

    python benchmarks/gaussian.py [rows ...]        writes benchmarks/gaussian.md

The large-margin Gaussian classifier makes its features anew for each pass over the rows (and keeps
what fits a fixed number of bytes); the contender is a plain softmax fit on the same lifted features
held in memory. Same mechanism, noise, regularization and tolerance. One thread; contenders take
turns and medians of CPU times are compared. Memory is the peak that numpy allocates during a fit,
beyond the table itself.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from privet import ApproxDP, LargeMarginGaussian
from privet.rows import checked_rows
from privet.rows.mapped import MappedRows

Array = NDArray[np.float64]
CLASSES, COLUMNS, ROUNDS, BLOCK = 7, 10, 3, 4096
INTRO = """# Lifted features: time and memory

Written by `python benchmarks/gaussian.py`. {columns} columns become {features} lifted features,
{classes} classes, (1, 1e-6)-privacy. CPU seconds of one fit (median of {rounds}) and peak memory
beyond the table. "in memory" is a plain softmax fit on the lifted table; "kept" is the classifier
as it is (features that fit 256 MiB are kept between passes, which is all of them up to half a
million rows here); "never kept" makes them anew each time.

"""
HEADER = (
    "rows",
    "in memory",
    "kept",
    "never kept",
    "kept / in memory",
    "never kept / in memory",
    "MiB in memory",
    "MiB kept",
    "MiB never kept",
)


def made_up(n: int) -> tuple[Array, NDArray[np.int_]]:
    """Overlapping Gaussian classes of different shapes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    middles = rng.normal(size=(CLASSES, COLUMNS))
    widths = rng.uniform(0.5, 1.5, size=(CLASSES, COLUMNS))
    return middles[y] + widths[y] * rng.normal(size=(n, COLUMNS)), y


def contenders(n: int) -> dict[str, Callable[[], Any]]:
    """The three fits; each makes its own view of the same table."""
    x, y = made_up(n)
    model = LargeMarginGaussian(
        ApproxDP(1.0, 1e-6), classes=list(range(CLASSES)), norm_bound=3.0, insecure_seed=1
    )
    model._numbers(x, y)
    ready = model._check(x, y)
    mechanism, design, lifted = ready.mechanism, ready.design, model._lifted(COLUMNS)
    targets = mechanism.loss.targets(y)

    def in_memory() -> Any:
        table = np.empty((n, lifted.columns))  # row after row, as tables are
        for start in range(0, n, BLOCK):
            table[start : start + BLOCK] = lifted(x[start : start + BLOCK])
        rows = checked_rows(table, targets, norm_bound=lifted.norm)
        return mechanism.run(rows, design)

    def kept() -> Any:
        return mechanism.run(MappedRows(x, targets, lifted), design)

    def never_kept() -> Any:
        return mechanism.run(MappedRows(x, targets, lifted, kept_bytes=0), design)

    return {"in memory": in_memory, "kept": kept, "never kept": never_kept}


def cpu(run: Callable[[], Any]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def peak(run: Callable[[], Any]) -> float:
    """Peak of allocated memory in MiB."""
    tracemalloc.start()
    run()
    _, high = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return high / 2**20


def line(n: int) -> str:
    """One line of the table."""
    runs = contenders(n)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(cpu(run))
    seconds = {name: float(np.median(each)) for name, each in times.items()}
    base = seconds["in memory"]
    ratios = [seconds[name] / base for name in ("kept", "never kept")]
    cells = [f"{n:,}", *(f"{s:.2f}" for s in seconds.values()), *(f"{r:.2f}" for r in ratios)]
    cells += [f"{peak(run):.0f}" for run in runs.values()]
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    """Measure and write the page."""
    sizes = [int(size) for size in sys.argv[1:]] or [50_000, 200_000, 1_000_000]
    features = (COLUMNS + 1) * (COLUMNS + 2) // 2
    text = INTRO.format(columns=COLUMNS, features=features, classes=CLASSES, rounds=ROUNDS)
    text += "| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|\n"
    with threadpool_limits(1):
        for n in sizes:
            text += line(n)
            print(text.splitlines()[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
