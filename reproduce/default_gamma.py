"""``gamma="auto"`` of the kernel models: regret against the best fixed width.

The rule is ``gamma = k/d`` for ``d`` columns of about unit variance, one ``k`` per kernel. Columns
are brought there by the table's own spreads, as a stand-in for declared or private ones, so that
the width alone is judged. For every table, number of rows and epsilon (delta = 1e-6) the script
measures the test error of ``KernelLogisticRegression`` over a grid of ``k`` and the regret of each:
how much worse it is than the best ``k``, which is known only in hindsight. The measurements go to
``default_gamma.json`` as they come; what is there is not measured again.

Run: python reproduce/default_gamma.py     (needs PRIVET_DATA; half an hour on one core)
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tables
from _common import HERE, SEED, Array, Data, adult, kdd99, table, tell, write

from privet import ApproxDP
from privet.features.named import WIDTHS
from privet.kernels import KernelLogisticRegression

MULTIPLES = (1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
EPSILONS = (0.2, 1.0, 4.0)
SIZES = {"gaussian": (5_000, 30_000), "laplacian": (5_000,), "matern": (5_000,)}
RESULTS = HERE / "default_gamma.json"
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


def measured_tables() -> Iterator[Data]:
    """Two classes each."""
    whole = adult(tables.ADULT_FULL, "Adult, all")
    yield adult()
    yield whole
    yield kdd99(100_000)
    columns, y = tables.covertype()
    yield Data("Covertype", tables.encode(columns, tables.COVERTYPE), (y == 2).astype(int))
    pixels, digits, _ = tables.mnist()
    small = pixels.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(len(digits), -1)
    for pair in ((3, 8), (4, 9)):
        chosen = np.isin(digits, pair)
        y = (digits[chosen] == pair[1]).astype(int)
        yield Data(f"MNIST {pair[0]}/{pair[1]}", small[chosen], y)


def error(data: Data, x: Array, n: int, epsilon: float, kernel: str, gamma: float) -> float:
    """Mean test error over draws of rows, features and noise."""
    found = []
    for draw in range(DRAWS):
        order = np.random.default_rng(SEED + draw).permutation(len(data.y))
        test, train = order[:TEST_ROWS][: len(order) // 5], order[len(order) // 5 :][:n]
        model = KernelLogisticRegression(
            ApproxDP(epsilon, DELTA),
            kernel=kernel,
            gamma=gamma,
            classes=[0, 1],
            insecure_seed=SEED + draw,
        )
        model.fit(x[train], data.y[train])
        found.append(float((model.predict(x[test]) != data.y[test]).mean()))
    return float(np.mean(found))


def measure() -> dict[str, dict[str, list[float]]]:
    """Errors over the grid by kernel and setting."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for data in measured_tables():
        x, largest = unit_variance(data.x), 4 * len(data.y) // 5
        for kernel, sizes in SIZES.items():
            for n in dict.fromkeys(min(size, largest) for size in sizes):
                for epsilon in EPSILONS:
                    name = f"{data.name}, n = {n:,}, eps {epsilon:g}"
                    if name in kept.setdefault(kernel, {}):
                        continue
                    errors = [error(data, x, n, epsilon, kernel, k / x.shape[1]) for k in MULTIPLES]
                    tell(f"{kernel} {name}: " + " ".join(f"{e:.4f}" for e in errors))
                    kept[kernel][name] = errors
                    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept


def section(kernel: str, settings: list[Setting]) -> str:
    """Regret of every ``k``, then the errors."""
    names = [f"{k:g}" if k >= 1 else f"1/{1 / k:g}" for k in MULTIPLES]
    regrets = np.array([s.regrets for s in settings])
    lines = [
        [
            f"**{name}** (the rule)" if k == WIDTHS[kernel] else name,
            *(f"{v:.2f}" for v in (np.median(r), r.mean(), np.quantile(r, 0.9), r.max())),
            settings[int(r.argmax())].name,
        ]
        for k, name, r in zip(MULTIPLES, names, regrets.T, strict=True)
    ]
    details = [
        [s.name, *(f"**{e:.4f}**" if e == s.errors.min() else f"{e:.4f}" for e in s.errors)]
        for s in settings
    ]
    header = ["k", "median", "mean", "90 %", "worst", "worst at"]
    return (
        f"## {kernel}\n\n{table(header, lines)}\n"
        f"<details><summary>errors of {len(settings)} settings</summary>\n\n"
        f"{table(['setting', *names], details)}\n</details>\n\n"
    )


def page(kept: dict[str, dict[str, list[float]]]) -> str:
    """A section for every kernel."""
    sections = [
        section(kernel, [Setting(name, np.array(errors)) for name, errors in found.items()])
        for kernel, found in kept.items()
    ]
    return (
        "# The default width of the kernel models\n\n"
        "Written by `python reproduce/default_gamma.py`. Regret of `gamma = k/d`, in points of "
        "test error above the best k of the grid, which is known only in hindsight. "
        "`KernelLogisticRegression`, delta = 1e-6, columns of unit variance by the table's own "
        f"spreads, {DRAWS} draws of rows, features and noise.\n\n" + "".join(sections)
    )


def main() -> None:
    """Measure what is missing and write the page."""
    warnings.simplefilter("ignore")
    write("default_gamma.md", page(measure()))


if __name__ == "__main__":
    main()
