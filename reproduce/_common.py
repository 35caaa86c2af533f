"""What the reproductions share: folds, repeated releases, test errors, Markdown tables.

Releases come from the same calibration as the estimators', through ``Mechanism.sample``: many draws
on the same rows. They are seeded, so that a table can be made again; a seeded release protects
nobody, which is why this is done on public files only.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tables
from numpy.typing import NDArray

from privet.errors import RegularizationRaised
from privet.losses import Loss
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms import Mechanism
from privet.minimize import minimize
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows, checked_rows

Array = NDArray[np.float64]
HERE = Path(__file__).parent
SEED = 2011
# The non-private twin: the smallest regularization at which nothing changes any more.
TWIN_REGULARIZATION = 1e-6
#: KDD Cup 1999: the 10 % file holds a tenth of these classes and all of the others.
TENTHS = ("smurf", "neptune", "normal", "satan", "ipsweep", "portsweep", "nmap")


@dataclass(frozen=True)
class Data:
    """Encoded rows of norm at most 1 and class indices."""

    name: str
    x: Array
    y: NDArray[np.int_]


@dataclass(frozen=True)
class Score:
    """A mean test error over folds and draws; the standard error is that of the folds' means."""

    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.standard_error:.4f}"


def folds(n: int, count: int, used: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Training and test rows of the first ``used`` of ``count`` random folds."""
    order = np.random.default_rng(SEED).permutation(n)
    for fold in range(used):
        test = np.zeros(n, dtype=bool)
        test[order[fold::count]] = True
        yield np.flatnonzero(~test), np.flatnonzero(test)


def rows_of(loss: Loss, data: Data, index: NDArray[Any]) -> ArrayRows:
    """Rows as the estimators see them, without an intercept."""
    return checked_rows(data.x[index], loss.targets(data.y[index]), norm_bound=1.0)


def wrong(loss: Loss, thetas: Array, x: Array, y: NDArray[np.int_]) -> Array:
    """Share of wrong predictions of each parameter vector, shape (k,)."""
    if loss.family == "margin":
        return np.asarray(((x @ thetas.T > 0.0) != (y > 0)[:, None]).mean(axis=0))
    basis = sum_zero_basis(loss.classes)
    weights = (basis @ theta.reshape(loss.scores, -1) for theta in thetas)
    return np.array([((x @ w.T).argmax(axis=1) != y).mean() for w in weights])


def private_error(
    mechanism: Mechanism, data: Data, *, count: int = 10, used: int | None = None, draws: int = 20
) -> Score:
    """Mean test error of ``draws`` releases on each fold."""
    means = []
    for fold, (train, test) in enumerate(folds(len(data.y), count, used or count)):
        seeded = replace(mechanism, insecure_seed=SEED + fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RegularizationRaised)
            thetas = seeded.sample(rows_of(mechanism.loss, data, train), draws)
        means.append(float(wrong(mechanism.loss, thetas, data.x[test], data.y[test]).mean()))
    return score(means)


def twin_error(loss: Loss, data: Data, *, count: int = 10, lam: float | None = None) -> Score:
    """The same loss without noise, at ``lam`` or hardly regularized."""
    risk, means = RegularizedRisk(loss, lam or TWIN_REGULARIZATION, 1.0), []
    for train, test in folds(len(data.y), count, count):
        theta = minimize(risk, rows_of(loss, data, train), tolerance=1e-8).certified()
        means.append(float(wrong(loss, theta[None, :], data.x[test], data.y[test])[0]))
    return score(means)


def score(means: Sequence[float]) -> Score:
    """Mean and standard error of the folds' means."""
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else math.nan
    return Score(float(np.mean(means)), spread / math.sqrt(len(means)))


def adult(encoding: Any = tables.ADULT, name: str = "Adult") -> Data:
    """UCI Adult, complete rows, encoded."""
    columns, y = tables.adult()
    return Data(name, tables.encode(columns, encoding), y)


def kdd99(n: int, encoding: Any = tables.KDDCUP99, name: str = "KDD99") -> Data:
    """``n`` connections in the full file's shares, without repeating a row; class 1 is normal."""
    columns, kinds = tables.kddcup99()
    generator = np.random.default_rng(SEED)
    weight = np.where(np.isin(kinds, TENTHS), 10.0, 1.0)
    index = generator.choice(len(kinds), size=n, replace=False, p=weight / weight.sum())
    columns = {key: values[index] for key, values in columns.items()}
    return Data(name, tables.encode(columns, encoding), (kinds[index] == "normal").astype(int))


def table(header: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows) + "\n"


def write(name: str, text: str) -> None:
    """Write a result beside the scripts."""
    (HERE / name).write_text(text, encoding="utf-8")
    tell(f"wrote {name}")


_START = time.perf_counter()


def tell(text: str) -> None:
    """Progress with the elapsed time."""
    print(f"{time.perf_counter() - _START:7.1f} s  {text}", file=sys.stderr, flush=True)
