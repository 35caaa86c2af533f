"""Losses of users: true ones, and ones whose declarations are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import ConvexLoss

Array = NDArray[np.float64]


def pseudo_huber(**wrong: Any) -> ConvexLoss:
    """``sqrt(1 + r^2) - 1``: slopes of up to one, curvature one at zero."""
    parts: dict[str, Any] = {
        "value": lambda z, t: np.sqrt(1 + (z - t) ** 2) - 1,
        "gradient": lambda z, t: (z - t) / np.sqrt(1 + (z - t) ** 2),
        "hessian": lambda z, t: (1 + (z - t) ** 2) ** -1.5,
        "gradient_bound": 1.0,
        "curvature_bound": 1.0,
    }
    return ConvexLoss("pseudo-Huber", **{**parts, **wrong})


def huber(knee: float, **wrong: Any) -> ConvexLoss:
    """Slopes of one beyond the knee, curvature ``1/knee`` within."""
    parts: dict[str, Any] = {
        "value": lambda z, t: np.where(
            abs(z - t) < knee, (z - t) ** 2 / (2 * knee), abs(z - t) - knee / 2
        ),
        "gradient": lambda z, t: np.clip((z - t) / knee, -1, 1),
        "hessian": lambda z, t: (abs(z - t) <= knee) / knee,
        "gradient_bound": 1.0,
        "curvature_bound": 1.0 / knee,
    }
    return ConvexLoss("Huber", **{**parts, **wrong})


def two_scores(**wrong: Any) -> ConvexLoss:
    """Pseudo-Huber losses of both scores: rank two, slopes of up to ``sqrt2``."""
    parts: dict[str, Any] = {
        "value": lambda z, t: (np.sqrt(1 + (z - t[:, None]) ** 2) - 1).sum(axis=1),
        "gradient": lambda z, t: (z - t[:, None]) / np.sqrt(1 + (z - t[:, None]) ** 2),
        "hessian": lambda z, t: ((1 + (z - t[:, None]) ** 2) ** -1.5)[:, :, None] * np.eye(2)[None],
        "gradient_bound": 2**0.5,
        "curvature_bound": 1.0,
        "scores": 2,
    }
    return ConvexLoss("two", **{**parts, **wrong})


def one_direction(**wrong: Any) -> ConvexLoss:
    """A pseudo-Huber loss of the difference of two scores: rank one, curvature two."""

    def r(z: Array, t: Array) -> Array:
        return z[:, 0] - z[:, 1] - t

    way = np.array([1.0, -1.0])
    parts: dict[str, Any] = {
        "value": lambda z, t: np.sqrt(1 + r(z, t) ** 2) - 1,
        "gradient": lambda z, t: (r(z, t) / np.sqrt(1 + r(z, t) ** 2))[:, None] * way,
        "hessian": lambda z, t: ((1 + r(z, t) ** 2) ** -1.5)[:, None, None] * np.outer(way, way),
        "gradient_bound": 2**0.5,
        "curvature_bound": 2.0,
        "scores": 2,
        "rank": 1,
    }
    return ConvexLoss("difference", **{**parts, **wrong})


TRUE: dict[str, ConvexLoss] = {
    "pseudo-Huber": pseudo_huber(),
    "narrow knee": huber(1e-3),
    "wide knee": huber(50.0),
    "two scores": two_scores(),
    "rank one of two": one_direction(),
}


class Counter:
    """A function whose answers change from call to call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, z: Array, t: Array) -> Array:
        self.calls += 1
        return np.sqrt(1 + (z - t) ** 2) - 1 + 1e-3 * self.calls


def residual(function: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    """A function of the residual."""
    return lambda z, t: function(z - t)


#: What is wrong, the loss, and what the refusal says. Targets are in [0, 1].
WRONG: dict[str, tuple[ConvexLoss, str]] = {
    "a gradient bound that is far too small": (pseudo_huber(gradient_bound=0.5), "gradient has"),
    "a gradient bound that is nearly right": (pseudo_huber(gradient_bound=0.99999), "gradient has"),
    "least squares have no gradient bound": (
        pseudo_huber(
            value=residual(lambda r: r**2 / 2),
            gradient=residual(lambda r: r),
            hessian=residual(np.ones_like),
            gradient_bound=1000.0,
        ),
        "gradient has norm",
    ),
    "steep for the largest targets alone": (
        pseudo_huber(
            value=lambda z, t: (1 + (t > 0.97)) * (np.sqrt(1 + (z - t) ** 2) - 1),
            gradient=lambda z, t: (1 + (t > 0.97)) * (z - t) / np.sqrt(1 + (z - t) ** 2),
            hessian=lambda z, t: (1 + (t > 0.97)) * (1 + (z - t) ** 2) ** -1.5,
            curvature_bound=2.0,
        ),
        "gradient has norm 2",
    ),
    "a difference below that of opposite rows": (pseudo_huber(difference_bound=1.0), "opposite"),
    "a curvature bound that is too small": (pseudo_huber(curvature_bound=0.5), "curvature"),
    "a curvature that the Hessian hides": (
        pseudo_huber(
            hessian=residual(lambda r: np.minimum((1 + r**2) ** -1.5, 0.9)), curvature_bound=0.9
        ),
        "faster than curvature_bound",
    ),
    "a knee that is a thousand times steeper": (huber(1e-3, curvature_bound=1.0), "curvature"),
    "a steep knee that the Hessian hides": (
        huber(1e-3, curvature_bound=1.0, hessian=residual(lambda r: 1.0 * (abs(r) <= 0.5))),
        "faster than curvature_bound",
    ),
    "the absolute value": (
        pseudo_huber(
            value=residual(np.abs), gradient=residual(np.sign), hessian=residual(np.zeros_like)
        ),
        "jumps",
    ),
    "a small jump of the gradient": (
        pseudo_huber(
            value=lambda z, t: np.sqrt(1 + (z - t) ** 2) - 1 + 0.01 * np.maximum(z - 1.2345678, 0),
            gradient=lambda z, t: (z - t) / np.sqrt(1 + (z - t) ** 2) + 0.01 * (z > 1.2345678),
            gradient_bound=1.01,
        ),
        "jumps",
    ),
    "a loss that flattens out": (
        pseudo_huber(
            value=residual(lambda r: 1 - np.exp(-(r**2) / 2)),
            gradient=residual(lambda r: r * np.exp(-(r**2) / 2)),
            hessian=residual(lambda r: (1 - r**2) * np.exp(-(r**2) / 2)),
        ),
        "not convex",
    ),
    "a loss that flattens out, with a Hessian that hides it": (
        pseudo_huber(
            value=residual(lambda r: np.log1p(r**2) / 2),
            gradient=residual(lambda r: r / (1 + r**2)),
            hessian=residual(lambda r: np.maximum(1 - r**2, 0) / (1 + r**2) ** 2),
        ),
        "not convex",
    ),
    "a gradient of the other sign": (
        pseudo_huber(gradient=residual(lambda r: -r / np.sqrt(1 + r**2))),
        "not convex",
    ),
    "a gradient of another function": (
        pseudo_huber(value=residual(lambda r: 2 * np.sqrt(1 + r**2) - 2)),
        "not the derivative of the value",
    ),
    "no Hessian": (pseudo_huber(hessian=residual(np.zeros_like)), "derivative of the gradient"),
    "half of the Hessian": (
        pseudo_huber(hessian=residual(lambda r: 0.5 * (1 + r**2) ** -1.5)),
        "derivative of the gradient",
    ),
    "an overflow far out": (
        pseudo_huber(
            value=lambda z, t: np.log(1 + np.exp(z)) - t * z,
            gradient=lambda z, t: np.exp(z) / (1 + np.exp(z)) - t,
            hessian=lambda z, t: np.exp(z) / (1 + np.exp(z)) ** 2,
        ),
        "not a finite number",
    ),
    "no number for the target zero": (
        pseudo_huber(
            value=lambda z, t: np.sqrt(1 + (z - t) ** 2) - 1 + np.log(t),
        ),
        "not a finite number",
    ),
    "rank two where one is declared": (two_scores(rank=1), "rank above"),
    "a rank that the Hessian hides": (
        two_scores(
            rank=1,
            hessian=lambda z, t: (
                ((1 + (z - t[:, None]) ** 2) ** -1.5)[:, :, None] * np.diag([1.0, 0.0])[None]
            ),
        ),
        "derivative of the gradient",
    ),
    "the curvature of a sum of scores": (one_direction(curvature_bound=1.0), "curvature"),
    "the gradient of two scores": (two_scores(gradient_bound=1.0), "gradient has norm"),
    "a Hessian that is not symmetric": (
        two_scores(hessian=lambda z, t: np.tile([[1.0, 0.5], [0.0, 1.0]], (len(t), 1, 1))),
        "not symmetric",
    ),
    "a row that looks at its neighbors": (
        pseudo_huber(
            gradient=lambda z, t: (z - z.mean() - t) / np.sqrt(1 + (z - z.mean() - t) ** 2)
        ),
        "rows beside it",
    ),
    "answers that change": (pseudo_huber(value=Counter()), "from call to call"),
    "a gradient that cancels its digits away": (
        pseudo_huber(
            gradient=residual(lambda r: ((r + 1e9) - 1e9) / np.sqrt(1 + ((r + 1e9) - 1e9) ** 2))
        ),
        "is not what is declared",
    ),
    "one number for all rows": (pseudo_huber(value=lambda z, t: 1.0), "must have shape"),
}
