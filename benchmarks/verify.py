"""How long a recomputation takes, beside a fit of 50,000 rows: processor time on one core.

``python benchmarks/verify.py`` prints the table.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from privet import ZCDP, ApproxDP, LinearSVC, LogisticRegression, PureDP
from privet.certificate.recompute import recompute
from privet.errors import quietly

ROWS = 50_000


def main() -> None:
    rng = np.random.default_rng(0)
    place = Path(tempfile.mkdtemp()) / "model.privet"
    print("| columns | model | budget | fit, ms | recomputation, ms | ratio |")
    print("|---|---|---|---|---|---|")
    for d in (5, 20, 50):
        x = rng.uniform(-1.0, 1.0, (ROWS, d)) / np.sqrt(d)
        y = (x[:, 0] + 0.1 * rng.normal(size=ROWS) > 0.0).astype(int)
        for budget in (PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)):
            for kind in (LogisticRegression, LinearSVC):
                with quietly():
                    start = time.process_time()
                    model = kind(budget).fit(x, y)
                    fit = time.process_time() - start
                model.save(place)
                start = time.process_time()
                recompute(place)
                took = time.process_time() - start
                told = f"{1e3 * fit:.0f} | {1e3 * took:.0f} | {took / fit:.2f}"
                print(f"| {d} | {kind.__name__} | {budget} | {told} |")


if __name__ == "__main__":
    main()
