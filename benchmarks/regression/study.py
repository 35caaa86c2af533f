"""Privet's LinearRegression against other private least squares, with the same declared bounds.

    python -m benchmarks.regression.study [--most 100000] [--page]

Each cell (table, epsilon, delta) is one line of ``results.jsonl``, so that a stopped run goes on
where it was. The error is the root mean squared error on rows that were not trained on, over the
spread of the target there: 1 is what the mean alone has. The census and forest tables need
PRIVET_DATA; the others come with packages. ``--page`` writes ``reproduce/regression.md`` from the
lines.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm, ttest_rel

from benchmarks.regression.package_tables import package_tables
from benchmarks.regression.peers import PEERS, Spending
from privet import ApproxDP, LinearRegression, PureDP

Array = NDArray[np.float64]
HERE = Path(__file__).parent
RESULTS = HERE / "results.jsonl"
PAGE = HERE.parent.parent / "reproduce" / "regression.md"
EPSILONS, DELTAS = (0.1, 1.0, 4.0), (0.0, 1e-6)
CONSTANT = 0.5
OURS = "Privet"
#: One-sided p below which a difference counts.
SIGNIFICANT = 0.001


@dataclass(frozen=True)
class Numbers:
    """Columns in [-1, 1] over the root of their number, and a target in [-1, 1]."""

    name: str
    x: Array
    y: Array


def scaled(columns: Array, low: Any, high: Any) -> Array:
    """Columns clipped to declared bounds, in [-1, 1]."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return np.asarray(2.0 * (np.clip(columns, low, high) - low) / (high - low) - 1.0)


def made(n: int, d: int, shape: str) -> Numbers:
    """Made-up numbers; "skewed" has exponential residuals, "alike" one common factor."""
    rng = np.random.default_rng([n, d, len(shape)])
    u = rng.uniform(-1.0, 1.0, (n, d))
    if shape == "alike":
        u = np.clip(0.35 * (rng.normal(size=(n, d)) + rng.normal(size=(n, 1))), -1.0, 1.0)
    score = u @ rng.normal(size=d)
    residual = rng.exponential(size=n) - 1.0 if shape == "skewed" else rng.normal(size=n)
    y = 0.2 * score / score.std() + 0.2 * residual
    return Numbers(f"made up, {shape}, n = {n:,}, d = {d}", u / math.sqrt(d), np.clip(y, -1, 1))


def diabetes() -> Numbers:
    """Of scikit-learn: bounds as a form would have them."""
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    low = [18, 1, 15, 50, 80, 30, 15, 1, 2.5, 50]
    high = [85, 2, 50, 150, 320, 260, 110, 10, 7, 140]
    x = scaled(found.data, low, high) / math.sqrt(10)
    return Numbers("diabetes (442 rows)", x, scaled(found.target, 20, 350))


#: Tables of PRIVET_DATA: numeric columns with declared bounds, and those to predict.
FILES: dict[str, tuple[dict[str, tuple[float, float]], tuple[str, ...]]] = {
    "adult": (
        {
            "age": (17, 90),
            "education-num": (1, 16),
            "capital-gain": (0, 20_000),
            "capital-loss": (0, 4_500),
            "hours-per-week": (0, 100),
        },
        ("age", "education-num", "hours-per-week"),
    ),
    "covertype": (
        {
            "Elevation": (1_800, 3_900),
            "Aspect": (0, 360),
            "Slope": (0, 70),
            "Horizontal_Distance_To_Hydrology": (0, 1_400),
            "Vertical_Distance_To_Hydrology": (-200, 610),
            "Horizontal_Distance_To_Roadways": (0, 7_200),
            "Hillshade_9am": (0, 255),
            "Hillshade_Noon": (0, 255),
            "Hillshade_3pm": (0, 255),
            "Horizontal_Distance_To_Fire_Points": (0, 7_200),
        },
        ("Elevation", "Slope", "Hillshade_Noon", "Horizontal_Distance_To_Roadways"),
    ),
}


def files(most: int) -> Iterator[Numbers]:
    """Real tables, each with every target that is declared for it."""
    folder = os.environ.get("PRIVET_DATA")
    if folder is None:
        return
    import pyarrow.parquet as parquet

    for name, (bounds, targets) in FILES.items():
        table = parquet.read_table(Path(folder) / f"{name}.parquet")
        known = {_plain(column): column for column in table.column_names}
        columns = {key: known[_plain(key)] for key in bounds if _plain(key) in known}
        values = {key: np.asarray(table[column], dtype=float) for key, column in columns.items()}
        pick = np.random.default_rng(5).permutation(len(next(iter(values.values()))))[:most]
        for target in targets:
            others = [key for key in columns if key != target]
            parts = [scaled(values[key][pick], *bounds[key]) for key in others]
            x = np.stack(parts, axis=1) / math.sqrt(len(others))
            y = scaled(values[target][pick], *bounds[target])
            yield Numbers(f"{name}: {target} ({len(pick):,} rows)", x, y)


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def packaged() -> Iterator[Numbers]:
    """Real tables of a package, with the bounds that are declared for them."""
    for name, columns, values, bounds, interval in package_tables():
        low, high = np.transpose(list(bounds.values()))
        x = scaled(columns, low, high) / math.sqrt(len(bounds))
        yield Numbers(name, x, scaled(values, *interval))


def tables(most: int) -> Iterator[Numbers]:
    """Every table of at most so many rows."""
    yield diabetes()
    yield from packaged()
    yield from files(min(most, 50_000))
    for n in (1_000, 10_000, 100_000, 1_000_000):
        if n <= most:
            for d in (5, 50):
                for shape in ("even", "alike", "skewed"):
                    yield made(n, d, shape)


def spending_of(epsilon: float, delta: float) -> Spending:
    """Pure, or the mu whose exact profile is (epsilon, delta)."""
    if delta == 0.0:
        return Spending(epsilon, pure=True)

    def excess(mu: float) -> float:
        return float(
            norm.cdf(mu / 2 - epsilon / mu)
            - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
            - delta
        )

    return Spending(float(brentq(excess, 1e-4, 100.0)), pure=False)


def ours(
    x: Array, y: Array, epsilon: float, delta: float, seed: int
) -> tuple[Callable[[Array], Array], str]:
    """Privet with its default settings."""
    budget = PureDP(epsilon) if delta == 0.0 else ApproxDP(epsilon, delta)
    model = LinearRegression(budget, target_bounds=(-1, 1), insecure_seed=seed).fit(x, y)
    return model.predict, model.guarantee_.event.mechanism


def cell(data: Numbers, epsilon: float, delta: float, times: int) -> dict[str, Any]:
    """Relative errors of every method, each time with other training rows and other noise."""
    bound, spending = math.hypot(1.0, CONSTANT), spending_of(epsilon, delta)
    errors: dict[str, list[float]] = {name: [] for name in (OURS, "no privacy", *PEERS)}
    how = ""
    for turn in range(times):
        rng = np.random.default_rng([turn, 7])
        order = rng.permutation(len(data.y))
        held, kept = np.split(order, [max(len(order) // 5, 80)])
        x, y = data.x[kept], data.y[kept]
        wide = np.column_stack([x, np.full(len(x), CONSTANT)])
        test = np.column_stack([data.x[held], np.full(len(held), CONSTANT)])
        predict, how = ours(x, y, epsilon, delta, seed=turn)
        found = {OURS: predict(data.x[held])}
        exact = np.linalg.lstsq(wide.T @ wide, wide.T @ y, rcond=None)[0]
        thetas = {name: peer(wide, y, bound, spending, rng) for name, peer in PEERS.items()}
        thetas["no privacy"] = exact
        found |= {name: np.clip(test @ theta, -1.0, 1.0) for name, theta in thetas.items()}
        for name, values in found.items():
            error = math.sqrt(float(np.mean((values - data.y[held]) ** 2)))
            errors[name].append(error / float(data.y[held].std()))
    return {
        "table": data.name,
        "epsilon": epsilon,
        "delta": delta,
        "mechanism": how,
        "errors": errors,
    }


def main() -> None:
    """Every cell that is not there yet, smaller tables first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=100_000, help="rows of the largest table")
    parser.add_argument("--page", action="store_true", help="write the page and stop")
    given = parser.parse_args()
    if not given.page:
        done = {(line["table"], line["epsilon"], line["delta"]) for line in lines()}
        for data in tables(given.most):
            times = 20 if len(data.y) <= 20_000 else 10 if len(data.y) <= 500_000 else 6
            for epsilon in EPSILONS:
                for delta in DELTAS:
                    if (data.name, epsilon, delta) not in done:
                        found = cell(data, epsilon, delta, times)
                        with RESULTS.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(found) + "\n")
    from benchmarks.regression.page import page

    PAGE.write_text(page(lines()), encoding="utf-8")


def lines() -> list[dict[str, Any]]:
    """What was measured so far."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def compared(line: dict[str, Any]) -> tuple[str, float, float]:
    """The best peer, by how much Privet is better than it, and p that it is worse."""
    means = {name: float(np.mean(line["errors"][name])) for name in PEERS}
    best = min(means, key=means.__getitem__)
    mine, other = line["errors"][OURS], line["errors"][best]
    p = float(ttest_rel(mine, other, alternative="greater").pvalue)
    return best, means[best] - float(np.mean(mine)), p


if __name__ == "__main__":
    main()
