"""``gamma="auto"`` of the kernel models: regret against the best fixed width.

The rule is ``gamma = 1/d`` for ``d`` columns of about unit variance. Columns are brought there by
the table's own spreads, as a stand-in for declared or private ones, so that the width alone is
judged. For every table, number of rows and epsilon (delta = 1e-6) the script measures the test
error of ``KernelLogisticRegression`` over a grid of multiples of ``1/d`` and the regret of each:
how much worse it is than the best multiple, which is known only in hindsight.

Run: python reproduce/default_gamma.py     (needs PRIVET_DATA; half an hour on one core)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from _common import SEED, Array, Data, adult, kdd99, table, tell, write

from privet import ApproxDP, datasets
from privet.kernels import KernelLogisticRegression

MULTIPLES = (1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
EPSILONS = (0.2, 1.0, 4.0)
SIZES = (5_000, 30_000)
DELTA = 1e-6
DRAWS = 4
TEST_ROWS = 10_000


class Setting(NamedTuple):
    """One table, size and epsilon with the errors over the grid."""

    name: str
    errors: Array

    @property
    def regrets(self) -> Array:
        """Points of error above the best of the grid."""
        return np.asarray(100.0 * (self.errors - self.errors.min()))


def unit_variance(x: Array) -> Array:
    """Columns of unit variance; constant ones are left out."""
    spread = x.std(axis=0)
    return np.asarray(((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, spread > 0])


def tables() -> Iterator[Data]:
    """Two classes each."""
    whole = adult(datasets.ADULT_FULL, "Adult, all")
    yield adult()
    yield whole
    yield kdd99(100_000)
    columns, y = datasets.covertype()
    yield Data("Covertype", datasets.encode(columns, datasets.COVERTYPE), (y == 2).astype(int))
    pixels, digits, _ = datasets.mnist()
    small = pixels.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(len(digits), -1)
    for pair in ((3, 8), (4, 9)):
        chosen = np.isin(digits, pair)
        y = (digits[chosen] == pair[1]).astype(int)
        yield Data(f"MNIST {pair[0]}/{pair[1]}", small[chosen], y)


def error(data: Data, x: Array, n: int, epsilon: float, gamma: float) -> float:
    """Mean test error over draws of rows, features and noise."""
    found = []
    for draw in range(DRAWS):
        order = np.random.default_rng(SEED + draw).permutation(len(data.y))
        test, train = order[:TEST_ROWS][: len(order) // 5], order[len(order) // 5 :][:n]
        model = KernelLogisticRegression(
            ApproxDP(epsilon, DELTA), gamma=gamma, classes=[0, 1], insecure_seed=SEED + draw
        )
        model.fit(x[train], data.y[train])
        found.append(float((model.predict(x[test]) != data.y[test]).mean()))
    return float(np.mean(found))


def measure() -> Iterator[Setting]:
    """Every setting."""
    for data in tables():
        x = unit_variance(data.x)
        largest = 4 * len(data.y) // 5
        for n in dict.fromkeys(min(size, largest) for size in SIZES):
            for epsilon in EPSILONS:
                errors = [error(data, x, n, epsilon, k / x.shape[1]) for k in MULTIPLES]
                tell(f"{data.name} {n} {epsilon:g}: " + " ".join(f"{e:.4f}" for e in errors))
                yield Setting(f"{data.name}, n = {n:,}, eps {epsilon:g}", np.array(errors))


def page(settings: list[Setting]) -> str:
    """Regret of every multiple, then the errors."""
    names = [f"{k:g}" if k >= 1 else f"1/{1 / k:g}" for k in MULTIPLES]
    regrets = np.array([s.regrets for s in settings])
    lines = [
        [
            f"**{name}** (the rule)" if k == 1.0 else name,
            *(f"{v:.2f}" for v in (np.median(r), r.mean(), np.quantile(r, 0.9), r.max())),
            settings[int(r.argmax())].name,
        ]
        for k, name, r in zip(MULTIPLES, names, regrets.T, strict=True)
    ]
    details = [
        [s.name, *(f"**{e:.4f}**" if e == s.errors.min() else f"{e:.4f}" for e in s.errors)]
        for s in settings
    ]
    header = ["gamma d", "median", "mean", "90 %", "worst", "worst at"]
    return (
        "# The default width of the kernel models\n\n"
        "Written by `python reproduce/default_gamma.py`. Regret of `gamma = k/d`, in points of "
        "test error above the best k of the grid, which is known only in hindsight. "
        f"`KernelLogisticRegression`, delta = 1e-6, columns of unit variance, {DRAWS} draws of "
        f"rows, features and noise; {len(settings)} settings.\n\n"
        f"{table(header, lines)}\n## Errors\n\n{table(['setting', *names], details)}"
    )


def main() -> None:
    """Measure and write."""
    warnings.simplefilter("ignore")
    write("default_gamma.md", page(list(measure())))


if __name__ == "__main__":
    main()
