"""What intervals cost in time: a fit, the same fit with intervals, and intervals alone.

500,000 rows of 100 columns of the made-up census, logistic and Huber loss, processor seconds of one
thread (the machine may be busy). The release of two 101 x 101 matrices is one pass over the rows.

Run: python benchmarks/intervals.py   (three minutes, two gigabytes)
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privet import ZCDP, LinearSVC, LogisticRegression, confidence_intervals, fit_with_intervals
from privet.datasets import census_like

ROWS, COLUMNS, REPEATS = 500_000, 100, 5
BUDGET = ZCDP(0.5)
MODELS = {"logistic": LogisticRegression(), "Huber": LinearSVC()}
INTRO = f"""# Time of confidence intervals

Written by `python benchmarks/intervals.py`: {ROWS:,} rows of {COLUMNS} columns and an intercept,
objective perturbation, {BUDGET}; the median of {REPEATS} runs in processor seconds of one thread
({platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}).

| loss | fit | fit with intervals | ratio | intervals of a fitted model |
|---|---|---|---|---|
"""


def seconds(actions: Sequence[Callable[[], Any]]) -> list[float]:
    """Median processor times; the actions take turns."""
    taken: list[list[float]] = [[] for _ in actions]
    for _ in range(REPEATS):
        for action, times in zip(actions, taken, strict=True):
            start = time.process_time()
            action()
            times.append(time.process_time() - start)
    return [float(np.median(times)) for times in taken]


def line(name: str, model: Any, x: Any, y: Any) -> str:
    """One loss."""
    model.set_params(budget=ZCDP(0.9 * BUDGET.rho))
    alone, both, after = seconds(
        [
            lambda: model.fit(x, y),
            lambda: fit_with_intervals(model, x, y, budget=BUDGET, share=0.9),
            lambda: confidence_intervals(model, x, y, budget=ZCDP(0.1 * BUDGET.rho)),
        ]
    )
    return f"| {name} | {alone:.2f} s | {both:.2f} s | {both / alone:.2f} | {after:.2f} s |\n"


def main() -> None:
    """Measure and write."""
    x, y = census_like(ROWS)
    x = np.ascontiguousarray(x[:, :COLUMNS])
    text = INTRO + "".join(line(name, model, x, y) for name, model in MODELS.items())
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
