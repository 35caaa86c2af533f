"""What an interactive answer costs, beside the linear algebra that it cannot do without.

Writes ``interactive.md``: CPU seconds of 10,000 answers in batches of 100 beside one Cholesky
factorization of that size, of one more answer beside one triangular solve, and of answers from
kernels of finite rank.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/interactive.py
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.blas import dtrsv

from privet import ZCDP
from privet.answers.dual import kernel_minimum
from privet.kernels import Gaussian, InteractivePredictor, Linear
from privet.losses.margin import Logistic
from privet.mechanisms.kernel_minimizer import KernelMinimizer
from privet.risk import RegularizedRisk

Array = NDArray[np.float64]
# wide enough apart that the queries do not determine each other
KERNEL = Gaussian(0.5)
QUERIES, BATCH, ADAPTIVE = 10_000, 100, 9
RANKS = (50, 200, 800)


def seconds(action: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def general() -> list[str]:
    """The lazily sampled path beside plain linear algebra of the same size."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(QUERIES + ADAPTIVE, 5))
    asked, one, kept = answers(z)
    factored, solve = algebra(z[:QUERIES])
    return [
        "| what | CPU seconds | beside | CPU seconds | ratio | at most |",
        "|---|---|---|---|---|---|",
        f"| {QUERIES:,} answers in batches of {BATCH} | {asked:.2f} | one Cholesky factorization "
        f"| {factored:.2f} | {asked / factored:.2f} | 25 |",
        f"| one answer after {QUERIES:,} | {one:.4f} | one triangular solve "
        f"| {solve:.4f} | {one / solve:.2f} | 3 |",
        "",
        f"Of {len(z):,} queries {kept:,} were kept; the others were determined by them.",
    ]


def answers(z: Array) -> tuple[float, float, int]:
    """Batches, then single answers after 10,000."""
    x = np.random.default_rng(1).normal(size=(500, 5))
    predictor = InteractivePredictor(ZCDP(0.5), kernel=KERNEL, regularization=0.01).fit(
        x, (x[:, 0] > 0).astype(int)
    )
    batches = range(0, QUERIES, BATCH)
    asked = sum(seconds(partial(predictor.answer, z[i : i + BATCH])) for i in batches)
    rest = range(QUERIES, len(z))
    one = statistics.median(seconds(partial(predictor.answer, z[i : i + 1])) for i in rest)
    kept = sum(int(batch.marked.sum()) for batch in predictor.transcript_.batches)
    return asked, one, kept


def algebra(z: Array) -> tuple[float, float]:
    """One factorization and one solve, in place on one matrix in Fortran order."""
    matrix = np.asfortranarray(KERNEL(z, z))
    matrix[np.diag_indices(len(z))] += 1e-9
    factor = partial(cholesky, matrix, lower=True, overwrite_a=True, check_finite=False)
    factored, right = seconds(factor), np.ones(len(z))
    solve = partial(dtrsv, matrix, right, lower=1)
    return factored, statistics.median(seconds(solve) for _ in range(5))


def finite() -> list[str]:
    """Released vectors: the cost of an answer before and after 10,000 others."""
    lines = [
        "",
        "| rank | microseconds per answer, fresh | after 10,000 answers |",
        "|---|---|---|",
    ]
    rng = np.random.default_rng(1)
    for rank in RANKS:
        x = rng.normal(size=(400, rank)) / rank**0.5
        z = rng.normal(size=(QUERIES, rank)) / rank**0.5
        predictor = InteractivePredictor(ZCDP(0.5), kernel=Linear(1.0), regularization=0.01)
        predictor.fit(x, (x[:, 0] > 0).astype(int))
        ask = partial(predictor.answer, z[:2_000])
        spent = []
        for _ in range(2):
            spent.append(1e6 * statistics.median(seconds(ask) for _ in range(5)) / 2_000)
            predictor.answer(z)
        lines.append(f"| {rank} | {spent[0]:.2f} | {spent[1]:.2f} |")
    return lines


def minimizers() -> list[str]:
    """Logistic loss, Lam = 1e-3, to the certified gap."""
    lines = [
        "",
        "| rows of the minimizer | CPU seconds | certified gradient | tolerance |",
        "|---|---|---|---|",
    ]
    for n in (5_000, 20_000):
        x = np.random.default_rng(n).normal(size=(n, 5))
        y = np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0)
        known = KernelMinimizer(RegularizedRisk(Logistic(), 1e-3, 1.0), n)
        start = time.process_time()
        found = kernel_minimum(known.risk, KERNEL, x, y, known.tolerance)
        spent = time.process_time() - start
        lines.append(f"| {n:,} | {spent:.1f} | {found.gradient:.1e} | {known.tolerance:.1e} |")
    return lines


def main() -> None:
    """Measure and write."""
    lines = [
        "# Interactive answers",
        "",
        "Written by `OPENBLAS_NUM_THREADS=1 python benchmarks/interactive.py`; CPU seconds on one",
        f"thread, load average {os.getloadavg()[0]:.1f} at the start.",
        "",
    ]
    lines += [*general(), *finite(), *minimizers()]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
