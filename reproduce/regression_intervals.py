"""Coverage of the intervals of regressions: how many of them hold the value they are for?

    python -m reproduce.regression_intervals

Made-up rows, two columns and an intercept, fresh in each of the fits of a cell. Targets of Huber
and linear models have normal, skewed or heavy-tailed residuals, counts are Poisson. The value that
an interval is for, the minimizer of the regularized population risk, is computed without noise from
400,000 rows. Half the budget goes to the fit and half to the matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from privet import (
    ZCDP,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    PureDP,
    confidence_intervals,
)
from privet.errors import quietly
from privet.minimize import minimize
from privet.models.released import Released
from privet.privacy import Budget
from privet.rows.arrays import checked_rows

Array = NDArray[np.float64]
PAGE = Path(__file__).with_name("regression_intervals.md")
FITS, MANY = 100, 400_000
BUDGETS: tuple[tuple[Budget, Budget], ...] = (
    (ZCDP(0.05), ZCDP(0.05)),
    (PureDP(0.5), PureDP(0.5)),
)
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "linear, normal": (LinearRegression, {"target_bounds": (0, 100), "mechanism": "objective"}),
    "huber, skewed": (HuberRegressor, {"target_bounds": (0, 100), "knee": 10.0}),
    "huber, heavy tails": (HuberRegressor, {"target_bounds": (0, 100), "knee": 5.0}),
    "poisson": (PoissonRegressor, {"target_bounds": (0, 20)}),
}


def rows(kind: str, n: int, seed: int) -> tuple[Array, Array]:
    """Fresh rows and targets."""
    rng = np.random.default_rng([seed, n])
    x = rng.uniform(-0.7, 0.7, (n, 2))
    if kind == "poisson":
        return x, rng.poisson(np.exp(1.2 + 1.0 * x[:, 0] - 0.5 * x[:, 1])).astype(float)
    residual = {
        "linear, normal": lambda: rng.normal(size=n),
        "huber, skewed": lambda: rng.exponential(size=n) - 1.0,
        "huber, heavy tails": lambda: rng.standard_t(2, size=n),
    }[kind]()
    return x, 50.0 + 20.0 * x[:, 0] - 5.0 * x[:, 1] + 6.0 * residual


def population(model: Any, kind: str) -> Array:
    """What the coefficients and the intercept tend to at this model's regularization."""
    x, y = rows(kind, MANY, seed=10**6)
    released = Released.of(model)
    design, view = released.design, released.view
    codes = model._encoded_labels(y, model.classes_)
    many = checked_rows(
        x, design.risk.loss.targets(codes), norm_bound=view.bound, constant=view.constant
    )
    theta = minimize(design.risk, many, tolerance=1e-9).certified() * released.unit
    return np.append(theta[:-1], theta[-1] * (view.constant or 0.0))


def cell(kind: str, n: int, budget: Budget, matrices: Budget) -> tuple[list[int], float, float]:
    """Misses of each number, and the median length over that without privacy's noise."""
    make, declared = KINDS[kind]
    truth, misses, lengths, spread = None, np.zeros(3, dtype=int), [], []
    for turn in range(FITS):
        x, y = rows(kind, n, seed=turn)
        with quietly():
            model = make(budget, **declared).fit(x, y)
            found = confidence_intervals(model, x, y, budget=matrices)
            truth = population(model, kind) if truth is None else truth
        misses += (truth < found.lower) | (truth > found.upper)
        lengths.append(found.half_width[0])
        spread.append(found.estimate[0])
    ratio = float(np.median(lengths)) / (1.96 * float(np.std(spread)))
    return misses.tolist(), float(np.median(lengths)), ratio


def lines() -> Iterator[str]:
    """One for each cell."""
    for kind in KINDS:
        for n in (2_000, 20_000):
            for budget, matrices in BUDGETS:
                try:
                    misses, half, ratio = cell(kind, n, budget, matrices)
                except ValueError as refusal:
                    why = str(refusal).split(". ")[0]
                    yield f"| {kind} | {n:,} | {budget} | refused: {why} | | |"
                    continue
                rates = [f"{1 - miss / FITS:.3f}" for miss in misses]
                # so few would hold by chance once in ten thousand
                low = binom.cdf(FITS - max(misses), FITS, 0.95) < 1e-4
                mark = " **low**" if low else ""
                yield (
                    f"| {kind} | {n:,} | {budget} | {', '.join(rates)}{mark} | {half:.3g} | "
                    f"{ratio:.2f} |"
                )


def main() -> None:
    """Measure and write the page."""
    head = (
        "# Coverage of the intervals of regressions\n\n"
        "Made by `python -m reproduce.regression_intervals`. Nominal 95 %, "
        f"{FITS} fits in each cell (standard error {100 * math.sqrt(0.95 * 0.05 / FITS):.1f} %); "
        "the budget is spent once on the fit and once on the matrices. Shown for the two columns "
        "and the intercept. The last column is half the median length over 1.96 standard "
        "deviations of the released numbers: 1 is as short as honest intervals can be.\n\n"
        "| model | rows | budget, twice | coverage | half length | over the shortest |\n"
        "|---|---|---|---|---|---|\n"
    )
    found = []
    for line in lines():
        print(line, flush=True)
        found.append(line)
    PAGE.write_text(head + "\n".join(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
