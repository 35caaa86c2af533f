"""Would a least-squares classifier be better than logistic loss at small epsilon?

    python -m reproduce.least_squares_classifier [regression] [prepared]

Labels -1 and 1 as numbers, a regression of them, and the sign of the prediction, beside
``LogisticRegression`` with the same rows, norm bound and budget: on the rows as they are, and
prepared as ``fit_table`` prepares them (rows at norm 1; clipped gradients where delta is positive).
Noisy statistics are least squares proper; "auto" takes a Huber loss where their noise is large.
The second table is ``LinearSVC(loss="least_squares")``, beside its hinge and logistic loss, all on
prepared rows. Test errors, means of ``FITS`` fits with other training rows and other noise.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel
from sklearn.datasets import load_breast_cancer, load_digits

from privet import ApproxDP, LinearRegression, LinearSVC, LogisticRegression, PureDP
from privet.errors import quietly
from privet.privacy import Budget

Array = NDArray[np.float64]
PAGE = Path(__file__).with_name("least_squares_classifier.md")
FITS = 12
BUDGETS: tuple[Budget, ...] = tuple(
    budget for eps in (0.1, 0.3, 1.0) for budget in (PureDP(eps), ApproxDP(eps, 1e-6))
)
LOGISTIC, REGRESSION = ("as it is", "prepared"), ("auto", "statistics")
WAYS = (*LOGISTIC, *REGRESSION)
LOSSES = ("prepared", "huber", "least_squares")
SECOND, JUDGED = "\n## On prepared rows\n\n", "\n## What follows\n\n"


def tables() -> Iterator[tuple[str, Array, Array]]:
    """Rows in the unit ball and labels of -1 and 1."""
    for n, d in ((2_000, 50), (20_000, 20), (20_000, 100)):
        rng = np.random.default_rng([n, d])
        x = rng.normal(size=(n, d))
        score = x @ rng.normal(size=d) / math.sqrt(d)
        y = np.where(score + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
        yield f"made up, n = {n:,}, d = {d}", x / (1.3 * math.sqrt(d)), y
    x, y = load_digits(return_X_y=True)
    yield "digits, odd or even (d = 64)", (x - 5.0) / 70.0, np.where(y % 2 == 1, 1.0, -1.0)
    x, y = load_breast_cancer(return_X_y=True)
    scaled = 2.0 * (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0)) - 1.0
    yield "breast cancer (d = 30)", scaled / math.sqrt(30), np.where(y == 1, 1.0, -1.0)


def error(way: str, budget: Budget, train: tuple[Array, Array], test: tuple[Array, Array]) -> float:
    """The share of wrong signs."""
    made: Any
    if way == "as it is":
        made = LogisticRegression(budget, classes=[-1.0, 1.0])
    elif way in LOSSES:
        how = "gradient" if budget.allows_gaussian else "objective"
        common: Any = {"classes": [-1.0, 1.0], "standardize": "unit", "mechanism": how}
        if way == "prepared":
            made = LogisticRegression(budget, **common)
        else:
            made = LinearSVC(budget, loss=way, **common)
    else:
        made = LinearRegression(budget, target_bounds=(-1, 1), mechanism=way)
    with quietly():
        found = made.fit(*train).predict(test[0])
    return float(np.mean(np.sign(found) != test[1]))


def measured(ways: tuple[str, ...]) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """For each table and budget its name, and the errors of each way."""
    for name, x, y in tables():
        for budget in BUDGETS:
            errors: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(FITS):
                order = np.random.default_rng(turn).permutation(len(y))
                held, kept = order[: len(y) // 5], order[len(y) // 5 :]
                for way in ways:
                    found = error(way, budget, (x[kept], y[kept]), (x[held], y[held]))
                    errors[way].append(found)
            yield f"{name} | {budget}", errors


def compared(
    errors: dict[str, list[float]], ours: tuple[str, ...], theirs: tuple[str, ...]
) -> float:
    """p of a one-sided paired test that the best of ``ours`` is worse than that of ``theirs``."""
    one, other = (min(ways, key=lambda way: np.mean(errors[way])) for ways in (ours, theirs))
    found = ttest_rel(errors[one], errors[other], alternative="greater").pvalue
    return float(np.nan_to_num(found, nan=0.5))


def lines(ways: tuple[str, ...], *pairs: tuple[tuple[str, ...], tuple[str, ...]]) -> Iterator[str]:
    """One for each table and budget."""
    for name, errors in measured(ways):
        means = " | ".join(f"{np.mean(errors[way]):.3f}" for way in ways)
        ps = " | ".join(f"{compared(errors, *pair):.2g}" for pair in pairs)
        line = f"| {name} | {means} | {ps} |"
        print(line, flush=True)
        yield line


def regression() -> str:
    """Regressions of the labels, on rows as they are."""
    head = (
        "# Least squares as a classifier\n\n"
        f"Made by `python -m reproduce.least_squares_classifier`; test errors, means of {FITS} "
        "fits. The last column is p of a one-sided paired test that the better of the two logistic "
        "fits is worse than the better of the two regressions.\n\n"
        "| table | budget | logistic, as it is | logistic, prepared | regression, auto | "
        "regression, statistics | p |\n|---|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(lines(WAYS, (LOGISTIC, REGRESSION))) + "\n"


def prepared() -> str:
    """Three losses on rows at norm 1."""
    head = (
        "All three on rows at norm 1, by clipped gradients where delta is positive. The last "
        "columns are p of one-sided paired tests that logistic loss, and that the better of "
        "logistic loss and hinge, is worse than least squares.\n\n"
        "| table | budget | logistic | hinge | least squares | p, logistic | p, the better |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    theirs = ("least_squares",)
    found = lines(LOSSES, (("prepared",), theirs), (("prepared", "huber"), theirs))
    return SECOND + head + "\n".join(found) + "\n"


def main() -> None:
    """Measure what is asked for, and keep the rest of the page."""
    wanted = sys.argv[1:] or ["regression", "prepared"]
    kept = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    tables, *judged = kept.partition(JUDGED)  # written by hand: read it again after a new run
    first, sign, rest = tables.partition(SECOND)
    first = regression() if "regression" in wanted else first
    second = prepared() if "prepared" in wanted else sign + rest
    PAGE.write_text(first + second + "".join(judged), encoding="utf-8")


if __name__ == "__main__":
    main()
