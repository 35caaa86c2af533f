"""Sensitivity replayed for answers from a kernel minimizer, asked as users ask.

    function         answers at the rows in question; their difference is a function of the kernel's
                     space, and its norm there is measured on the span of what was asked
    output           the same where a vector is released once: a linear kernel
    sparse vector    corrections, at questions that both neighbors correct
    projection       coordinates and predictions on public points, from the released weights
    distinguishing   the first answer, where neighbors draw the same point of a net

Budgets are so large that the noise triggers no later step (a projection, a guess that is kept);
sensitivities do not depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from privet._types import Array
from privet.audit.attacks import Finding
from privet.audit.release_replay import ROWS, SEED, Table, neighborhoods
from privet.errors import quietly
from privet.kernels import (
    Gaussian,
    InteractivePredictor,
    Linear,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
)
from privet.privacy import ZCDP, PureDP

MUCH, MUCH_RHO = PureDP(1000.0), ZCDP(1000.0)
POINTS = np.linspace(-0.5, 0.5, 15).reshape(5, 3)
#: Scores stay below the knee, where the loss is a line and a row moves the minimizer most.
LOSS, KNEE, RIDGE = "huber", 0.2, 1.5
#: Released numbers are rounded to a grid this far below the noise; a few steps are allowed for.
GRID = 2.0**-15

#: A fitted release, what to ask of it, and how far apart two of them are (None: not comparable).
Distance = Callable[[Any, Any, Array], float | None]


def replayed_answers() -> Iterator[Finding]:
    """Every way of answering, in the norm of its noise."""
    common: dict[str, Any] = {"classes": [0, 1], "insecure_seed": SEED, "regularization": RIDGE}
    common |= {"loss": LOSS, "h": KNEE}
    asked: dict[str, tuple[Any, Distance]] = {
        "function": (InteractivePredictor(MUCH_RHO, kernel=Gaussian(1.0), **common), _function),
        "vector": (InteractivePredictor(MUCH_RHO, kernel=Linear(1.0), **common), _vector),
    }
    for budget in (MUCH, MUCH_RHO):
        name = "rho" if budget.allows_gaussian else "epsilon"
        asked[f"sparse vector, {name}"] = (
            InteractivePredictor(
                budget, kernel=Gaussian(1.0), mechanism="sparse_vector", queries=20, **common
            ),
            _correction,
        )
        for mechanism, apart in (("kernel_noise", _coordinates), ("tddl", _predictions)):
            asked[f"{mechanism}, {name}"] = (
                SemiInteractiveClassifier(
                    budget,
                    public_points=POINTS,
                    kernel=Gaussian(1.0),
                    mechanism=mechanism,
                    **common,
                ),
                apart,
            )
        asked[f"net, {name}"] = (
            NonInteractiveClassifier(budget, kernel=Gaussian(1.0), net=POINTS, rounds=1, **common),
            _first_answer,
        )
    with quietly():
        for name, (model, distance) in asked.items():
            yield _replayed(name, model, distance)


def _replayed(name: str, model: Any, distance: Distance) -> Finding:
    """The largest distance of neighbors over the event's sensitivity."""
    shares, allowed = [0.0], 0.0
    for table, others in _tables():
        for other in others:
            first, second = (clone(model).fit(*each) for each in (table, other))
            event = first.guarantee_.event
            allowed = event.sensitivity + GRID * event.scale
            rows = np.unique([table[0][0], other[0][0]], axis=0)
            found = distance(first, second, rows)
            if found is not None:
                shares.append(found)
    return Finding("replay", max(shares), allowed, f"answers, {name}.")


def _tables() -> Iterator[tuple[Table, list[Table]]]:
    """The common ones, and two camps with a row that sides with either."""
    for table, others in neighborhoods(2):
        yield _short(table), [_short(each) for each in others]
    y = np.arange(ROWS) % 2
    x = np.outer(2.0 * y - 1.0, np.eye(3)[0])
    changed, turned = y.copy(), x.copy()
    changed[0], turned[0] = 1, np.eye(3)[1]
    yield (x, y), [(x, changed), (turned, y)]


def _short(table: Table) -> Table:
    """Rows within the unit ball, where a linear kernel has them."""
    x, y = table
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0), y


def _function(first: Any, second: Any, rows: Array) -> float:
    """``sqrt(d' K^-1 d)`` of the differences ``d`` of the answers."""
    apart = first.answer(rows) - second.answer(rows)
    return math.sqrt(apart @ np.linalg.solve(Gaussian(1.0)(rows, rows), apart))


def _vector(first: Any, second: Any, rows: Array) -> float:
    """The released vectors themselves: answers at the unit vectors."""
    del rows
    asked = np.eye(POINTS.shape[1])
    return float(np.linalg.norm(first.answer(asked) - second.answer(asked)))


def _correction(first: Any, second: Any, rows: Array) -> float | None:
    """One question, where both neighbors answer it with a corrected value."""
    ends = [each.answer(rows[:1]) for each in (first, second)]
    marks = [each.transcript_.batches[0].marked[0] for each in (first, second)]
    return float(abs(ends[0] - ends[1])[0]) if all(marks) else None


def _coordinates(first: Any, second: Any, rows: Array) -> float:
    """The norm in the kernel's space of the difference of the released weights."""
    del rows
    apart = first.dual_coef_ - second.dual_coef_
    return math.sqrt(apart @ Gaussian(1.0)(POINTS, POINTS) @ apart)


def _predictions(first: Any, second: Any, rows: Array) -> float:
    """The noisy predictions on the public points, which the released weights repeat there."""
    del rows
    apart = Gaussian(1.0)(POINTS, POINTS) @ (first.dual_coef_ - second.dual_coef_)
    order = 2 if first.guarantee_.event.noise == "gaussian" else 1
    return float(np.linalg.norm(apart, ord=order))


def _first_answer(first: Any, second: Any, rows: Array) -> float | None:
    """The answer at the drawn point, where both drew the same."""
    del rows
    if not np.array_equal(first.points_, second.points_):
        return None
    return float(abs(first.dual_coef_ - second.dual_coef_)[0])
