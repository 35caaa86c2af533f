"""Parts of ``answers.py``: exact losses of transcripts, and accuracies on Covertype."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import tables
from numpy.typing import NDArray

from privet import ZCDP, ApproxDP, PureDP
from privet.answers.dual import Expansion, kernel_minimum
from privet.answers.sessions import FunctionSession
from privet.errors import PrivetWarning
from privet.kernels import Gaussian, InteractivePredictor, Kernel, SemiInteractiveClassifier
from privet.losses.margin import MarginLoss
from privet.mechanisms.function import FunctionDesign, FunctionRelease, function_rho
from privet.privacy import Budget
from privet.randomness import SystemRandomness

Array = NDArray[np.float64]
Tables = tuple[tuple[Array, Array], tuple[Array, Array]]


def neighbors(n: int, lam: float) -> Tables:
    """A table, and the same with one row's label turned."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 2)) if lam < 1.0 else np.zeros((n, 2))
    y = np.where(x[:, 0] >= 0.0, 1.0, -1.0)
    turned = y.copy()
    turned[0] = -y[0]
    return (x, y), (x, turned)


def transcript_losses(
    tables: Tables, budget: Budget, lam: float, kernel: Kernel, loss: MarginLoss
) -> tuple[list[float], list[float]]:
    """``2 rho`` of 20 adaptive transcripts over the claim; and with independent noise."""
    design = FunctionRelease(loss=loss, budget=budget, norm_bound=1.0, regularization=lam).design(
        len(tables[0][1]), 2
    )
    facts = design.minimizer
    first, second = (kernel_minimum(facts.risk, kernel, x, y, facts.tolerance) for x, y in tables)
    claim, found, naive = 2.0 * function_rho(budget), [], []
    for _ in range(20):
        z, marks, before = adaptive(design, kernel, first)
        shift = first(z) - second(z)
        found.append(joint_loss(design, kernel, z, marks, before, shift) / claim)
        naive.append(float(shift @ shift) / design.sigma**2 / claim)
    return found, naive


def adaptive(
    design: FunctionDesign, kernel: Kernel, predict: Expansion
) -> tuple[Array, NDArray[np.bool_], NDArray[np.int_]]:
    """120 queries of a user who looks at the answers; marks, and how many came before each."""
    rng, source = np.random.default_rng(), SystemRandomness()
    session = FunctionSession(design, kernel, predict)
    z, answers, marks = np.empty((0, 2)), np.empty(0), np.empty(0, dtype=bool)
    before = np.empty(0, dtype=int)
    for step in range(24):
        if step % 3 == 0:
            new = rng.normal(size=(5, 2))
        else:
            spread = 0.1 if step % 3 == 1 else 1e-9
            new = z[int(np.argmax(np.abs(answers)))] + spread * rng.normal(size=(5, 2))
        batch = session.answer(new, source)
        before = np.append(before, np.full(5, len(z)))
        z, answers = np.concatenate([z, new]), np.append(answers, batch.answers)
        marks = np.append(marks, batch.marked)
    return z, marks, before


def joint_loss(
    design: FunctionDesign,
    kernel: Kernel,
    z: Array,
    marks: NDArray[np.bool_],
    before: NDArray[np.int_],
    shift: Array,
) -> float:
    """``2 rho`` of the transcript's Gaussian law under a shift of its means."""
    kept = np.flatnonzero(marks)
    m = kernel(z[kept], z[kept]) + design.jitter * np.eye(len(kept))
    total = float(shift[kept] @ np.linalg.solve(m, shift[kept]))
    for i in np.flatnonzero(~marks):
        earlier = kept[kept < before[i]]
        k = kernel(z[earlier], z[i : i + 1])[:, 0]
        c = np.linalg.solve(m[: len(earlier), : len(earlier)], k)
        v = max(1.0 - float(k @ c), 0.0)
        total += float(shift[i] - c @ shift[earlier]) ** 2 / (v + design.extra)
    return total / design.sigma**2


def prediction_table() -> list[str]:
    """Accuracy on Covertype, class 2 against the rest, with 8,000 training rows."""
    lines = [
        "## Which way of answering",
        "",
        "Covertype, class 2 against the rest, ten numbers scaled by declared ranges to [-1, 1];",
        "8,000 training rows, 200 public points without labels, 4,000 test rows; Gaussian kernel,",
        "gamma = 2; regularization by the public rule. Accuracy, mean of 3 draws.",
        "",
        "| budget | span | kernel_noise | tddl | interactive, function |",
        "|---|---|---|---|---|",
    ]
    x, y = covertype()
    kernel = Gaussian(2.0)
    budgets: list[Budget] = [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5), ApproxDP(4.0, 1e-6)]
    for budget in budgets:
        found: dict[str, list[float]] = {}
        for draw in range(3):
            order = np.random.default_rng(draw).permutation(len(y))
            train, test, public = order[:8_000], order[8_000:12_000], order[12_000:12_200]
            models: dict[str, Any] = {
                method: SemiInteractiveClassifier(
                    budget, public_points=x[public], kernel=kernel, mechanism=method, classes=[0, 1]
                )
                for method in ("span", "kernel_noise", "tddl")
            }
            if not isinstance(budget, PureDP):
                models["function"] = InteractivePredictor(budget, kernel=kernel, classes=[0, 1])
            for name, model in models.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PrivetWarning)
                    model.fit(x[train], y[train])
                accuracy = float((model.predict(x[test]) == y[test]).mean())
                found.setdefault(name, []).append(accuracy)
        cells = [
            found.get(name, [math.nan]) for name in ("span", "kernel_noise", "tddl", "function")
        ]
        told = " | ".join("-" if math.isnan(c[0]) else f"{np.mean(c):.3f}" for c in cells)
        lines.append(f"| {budget} | {told} |")
        print(lines[-1], flush=True)
    base = max(float(y.mean()), 1.0 - float(y.mean()))
    return [*lines, "", f"The larger class has a share of {base:.3f}.", ""]


def covertype() -> tuple[Array, NDArray[np.int_]]:
    """Ten numbers in [-1, 1] by declared ranges, and whether the cover type is 2."""
    columns, labels = tables.covertype()
    ranges = tables.COVERTYPE_NUMBERS
    x = np.column_stack(
        [
            2.0 * (np.clip(columns[name], r.low, r.high) - r.low) / (r.high - r.low) - 1.0
            for name, r in ranges.items()
        ]
    )
    return x.astype(np.float64), (labels == 2).astype(int)
