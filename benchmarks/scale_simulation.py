"""How long a pass takes on a cluster: a small simulation of disks, cores, network and tree of sums.

    python benchmarks/scale_simulation.py [--per-row 0.12e-6]

Units are handed to cores one after the other, each taking a time that scatters around its mean (one
in a hundred is three times slower, as stragglers are). Answers are joined by a tree of fan-in 16,
where a message of ``p^2`` numbers takes latency plus size over bandwidth. ``--per-row`` is the
measured time of one core for one row, read, encoded and summed.
"""

from __future__ import annotations

import argparse
import heapq
import math

import numpy as np

UNIT_ROWS, FAN_IN = 262_144, 16
LATENCY, BANDWIDTH = 1e-3, 1.25e9 / 2  # of one message, of half of a 10 Gbit line
HANDING_OUT = 2e-4  # the scheduler's time for one task
DISK = 400e6  # bytes a second of each worker's share of the storage
BYTES_PER_ROW = 8.0  # of the Parquet files of the benchmark


def pass_seconds(rows: float, cores: int, per_row: float, p: int, *, hessian: bool) -> float:
    """One pass: the last unit's end, or the scheduler's, then the tree."""
    units = math.ceil(rows / UNIT_ROWS)
    generator = np.random.default_rng(0)
    seconds = per_row * UNIT_ROWS + BYTES_PER_ROW * UNIT_ROWS / DISK
    times = seconds * generator.lognormal(0.0, 0.1, units)
    times[generator.random(units) < 0.01] *= 3.0
    free = [0.0] * cores
    for number, took in enumerate(times):
        begun = max(heapq.heappop(free), number * HANDING_OUT)
        heapq.heappush(free, begun + took)
    levels = max(1, math.ceil(math.log(max(units, 2), FAN_IN)))
    message = LATENCY + 16.0 * (p * p if hessian else p) / BANDWIDTH
    return max(free) + levels * FAN_IN * message + units / FAN_IN * HANDING_OUT


def main() -> None:
    """A table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-row", type=float, default=0.12e-6)
    parser.add_argument("--passes", type=int, default=8)
    given = parser.parse_args()
    print("| rows | cores | a pass, s | a fit, s | of which not parallel |")
    print("|---|---|---|---|---|")
    for rows in (1e8, 1e9, 1e10):
        for cores in (2, 64, 512):
            one = pass_seconds(rows, cores, given.per_row, 40, hessian=False)
            ideal = rows * (given.per_row + BYTES_PER_ROW / DISK) / cores
            share = 100.0 * (1.0 - ideal / one)
            print(
                f"| {rows:.0e} | {cores} | {one:,.0f} | {given.passes * one:,.0f} | {share:.0f} % |"
            )


if __name__ == "__main__":
    main()
