"""How long a recomputation takes, beside a fit of 50,000 rows: processor time on one core.

``python benchmarks/verify.py`` prints the table of ``verify.md``. Where a file is of intervals that
are one release with their fit, the fit is that of the same model alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from privet import (
    GDP,
    ZCDP,
    ApproxDP,
    Box,
    LinearSVC,
    LogisticRegression,
    OneHot,
    PureDP,
    fit_with_intervals,
)
from privet.certificate import rounding
from privet.certificate.recompute import recompute
from privet.errors import quietly
from privet.privacy import domination, jacobian

ROWS = 50_000
BESIDE = "with intervals"


def cases(d: int) -> Iterator[tuple[str, Any, int]]:
    """Models by what is special about them, and their number of classes."""
    for budget in (PureDP(1.0), ZCDP(0.5), GDP(1.0), ApproxDP(1.0, 1e-6)):
        for kind in (LogisticRegression, LinearSVC):
            yield f"{kind.__name__}, {budget}", kind(budget), 2
    domain = [Box(d - 4, 1.0 / np.sqrt(d)), OneHot(4, 0.5)]
    yield "LogisticRegression, hull", LogisticRegression(1.0, domain=domain, noise="hull"), 2
    unlike = [Box(d - 4, 1.0 / np.sqrt(d)), OneHot(4, 0.05)]
    grouped = LogisticRegression(1.0, domain=unlike, noise="grouped")
    yield "LogisticRegression, grouped", grouped, 2
    yield f"LogisticRegression, {BESIDE}", LogisticRegression(4.0), 2
    grouped = LogisticRegression(4.0, domain=unlike, noise="grouped")
    yield f"LogisticRegression, grouped, {BESIDE}", grouped, 2
    yield "LogisticRegression, three classes", LogisticRegression(1.0), 3


def main() -> None:
    rng = np.random.default_rng(0)
    place = Path(tempfile.mkdtemp()) / "model.privet"
    print("| columns | model | fit, ms | recomputation, ms | ratio |")
    print("|---|---|---|---|---|")
    for d in (5, 20, 50):
        x = rng.uniform(-1.0, 1.0, (ROWS, d)) / np.sqrt(d)
        score = x[:, 0] + 0.1 * rng.normal(size=ROWS)
        for name, model, classes in cases(d):
            y = np.digitize(score, [0.0] if classes == 2 else [-0.1, 0.1])
            for kept in (domination.dominated_shift, jacobian.floor_within_mu):
                kept.cache_clear()  # a fit in a process of its own finds nothing computed
            with quietly():
                start = time.process_time()
                model.set_params(classes=list(range(classes))).fit(x, y)
                fit = time.process_time() - start
                if name.endswith(BESIDE):
                    _, made = fit_with_intervals(model, x, y, budget=PureDP(6.0), share=2 / 3)
                    made.save(place, overwrite=True)
                else:
                    model.save(place, overwrite=True)
            rounding.quantile_of_one.cache_clear()
            start = time.process_time()
            recompute(place)
            took = time.process_time() - start
            told = f"{1e3 * fit:.0f} | {1e3 * took:.0f} | {took / fit:.2f}"
            print(f"| {d} | {name} | {told} |", flush=True)


if __name__ == "__main__":
    main()
