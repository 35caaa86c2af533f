"""Tables that break careless minimizers, and a gradient that shares no code with the library."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.datasets import census_like
from privet.losses import LOSSES, Loss, MulticlassLoss
from privet.risk import RegularizedRisk
from privet.rows import ArrayRows


def unit(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=1).max()


def tables() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(7)
    x, y = census_like(5_000)
    fewer, labels = x[:1_500], y[:1_500]
    ordered = np.argsort(labels, kind="stable")
    spike = np.zeros((5_000, 3))
    spike[:, 0], spike[5, 1:] = 1e-3, 0.7
    return {
        "census": (x, y),
        "sorted by class": (fewer[ordered], labels[ordered]),
        "separable": (unit(np.c_[2.0 * y - 1.0, 0.1 * rng.normal(size=(5_000, 4))]), y),
        "duplicate and constant columns": (
            unit(np.c_[fewer, fewer[:, :5], np.ones(1_500)]),
            labels,
        ),
        "one class only": (fewer, np.zeros_like(labels)),
        "one row": (x[:1], y[:1]),
        "more columns than rows": (unit(rng.normal(size=(40, 120))), y[:40]),
        "badly scaled": (unit(rng.normal(size=(500, 12)) * np.logspace(0, -8, 12)), y[:500]),
        "tiny numbers": (1e-9 * x[:50, :3], y[:50]),
        "all zero": (np.zeros((10, 3)), y[:10]),
        "one row apart": (spike, y),
    }


TABLES = tables()


def make_loss(name: str) -> Loss:
    kind = LOSSES[name]
    return kind(n_classes=3) if issubclass(kind, MulticlassLoss) else kind()


def problem(
    loss: Loss, x: Any, codes: Any, regularization: float
) -> tuple[RegularizedRisk, ArrayRows, Any]:
    """Rows and risk; three classes out of two by splitting class 1 in turns."""
    codes = np.where(codes == 1, 1 + np.arange(len(codes)) % (loss.classes - 1), 0)
    return RegularizedRisk(loss, regularization, 1.0), ArrayRows(x, loss.targets(codes)), codes


def gradient(risk: RegularizedRisk, x: Any, codes: Any, theta: Any, linear: Any = 0.0) -> Any:
    """The mean gradient from scratch: whole table at once, no blocks, no kernels of the risk."""
    x = np.asarray(x, dtype=np.float64)
    z = x @ theta.reshape(risk.loss.scores, -1).T
    residuals = risk.loss.gradient(z, risk.loss.targets(codes))
    return (residuals.T @ x).ravel() / len(x) + risk.regularization * theta + linear
