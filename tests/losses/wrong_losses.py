"""Losses of users whose declarations are wrong on purpose: each must be refused before any fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet import ConvexLoss
from tests.losses.own import Array, huber, one_direction, pseudo_huber, softmax, two_scores


class Counter:
    """A function whose answers change from call to call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, z: Array, t: Array) -> Array:
        self.calls += 1
        return np.sqrt(1 + (z - t) ** 2) - 1 + 1e-3 * self.calls


def residual(function: Callable[[Array], Any]) -> Callable[[Array, Array], Any]:
    """A function of the residual."""
    return lambda z, t: function(z - t)


def raised(error: Exception) -> Any:
    """A function that gives up on long scores."""

    def function(z: Array, t: Array) -> Array:
        if (abs(z) > 100).any():
            raise error
        return np.sqrt(1 + (z - t) ** 2) - 1

    return function


def jump(height: float, place: float) -> ConvexLoss:
    """A gradient that jumps once, where nothing else happens."""
    return pseudo_huber(
        value=lambda z, t: np.sqrt(1 + (z - t) ** 2) - 1 + height * np.maximum(z - place, 0),
        gradient=lambda z, t: (z - t) / np.sqrt(1 + (z - t) ** 2) + height * (z > place),
        gradient_bound=1.0 + height,
    )


def twice_where(chosen: Callable[[Array], NDArray[np.bool_]]) -> ConvexLoss:
    """Twice as steep and as curved for some targets."""
    return pseudo_huber(
        value=lambda z, t: (1 + chosen(t)) * (np.sqrt(1 + (z - t) ** 2) - 1),
        gradient=lambda z, t: (1 + chosen(t)) * (z - t) / np.sqrt(1 + (z - t) ** 2),
        hessian=lambda z, t: (1 + chosen(t)) * (1 + (z - t) ** 2) ** -1.5,
    )


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
    "a gradient that is right near zero alone": (
        pseudo_huber(
            gradient=residual(
                lambda r: np.where(
                    abs(r) < 0.5,
                    r / np.sqrt(1 + r**2),
                    np.sign(r) * np.minimum(0.5 / np.sqrt(1.25) + 0.7 * (abs(r) - 0.5), 1.0),
                )
            )
        ),
        "not the derivative of the value",
    ),
    "a slope that grows like a logarithm": (
        pseudo_huber(
            value=residual(lambda r: r * np.arcsinh(r) - np.sqrt(1 + r * r) + 1),
            gradient=residual(np.arcsinh),
            hessian=residual(lambda r: 1 / np.sqrt(1 + r * r)),
            gradient_bound=30.0,
        ),
        "gradient has norm",
    ),
    "a jump of a thousandth far from the targets": (jump(1e-3, 37.7), "jumps"),
    "a jump of a ten-thousandth": (jump(1e-4, 2.71), "jumps"),
    "a knee far from the targets": (
        pseudo_huber(
            value=residual(
                lambda r: (
                    np.sqrt(1 + r**2)
                    - 1
                    + 5 * np.clip(r - 39.999, 0, 0.002) ** 2 / 2
                    + 0.01 * np.maximum(r - 40.001, 0)
                )
            ),
            gradient=residual(lambda r: r / np.sqrt(1 + r**2) + 5 * np.clip(r - 39.999, 0, 0.002)),
            gradient_bound=1.01,
        ),
        "is not what is declared",
    ),
    "twice as steep for one target in fifty": (
        twice_where(lambda t: abs(t - 0.31) < 0.01),
        "gradient has norm",
    ),
    "twice as steep for targets that are no whole numbers": (
        twice_where(lambda t: t != np.round(t)),
        "gradient has norm",
    ),
    "not convex far out": (
        pseudo_huber(
            value=residual(
                lambda r: (
                    np.sqrt(1 + np.minimum(abs(r), 50) ** 2)
                    - 1
                    + 0.9998 * np.maximum(abs(r) - 50, 0)
                    - 1e-4 * np.clip(abs(r) - 50, 0, 1) ** 2
                )
            ),
            gradient=residual(
                lambda r: np.where(
                    abs(r) < 50,
                    r / np.sqrt(1 + r**2),
                    np.sign(r) * (0.9998 - 2e-4 * np.clip(abs(r) - 50, 0, 1)),
                )
            ),
        ),
        "not convex",
    ),
    "a gradient of no function": (
        two_scores(
            gradient=lambda z, t: (
                (z - t[:, None]) / np.sqrt(1 + (z - t[:, None]) ** 2)
                + 0.05 * np.tanh(z[:, ::-1]) * np.array([1.0, -1.0])
            ),
            gradient_bound=1.6,
            curvature_bound=1.1,
        ),
        "derivative of the gradient",
    ),
    "the gradient of three classes as if there were two": (
        softmax(gradient_bound=1.3),
        "gradient has norm",
    ),
    "the curvature of three classes as if there were one": (
        softmax(curvature_bound=0.25),
        "curvature",
    ),
    "three classes of rank one": (softmax(rank=1), "rank above"),
    "other numbers for a table than for its parts": (
        pseudo_huber(
            gradient=lambda z, t: (
                (z - t) / np.sqrt(1 + (z - t) ** 2) / (1.0 if len(z) < 1000 else 1.5)
            )
        ),
        "rows beside it",
    ),
    "a function that raises far out": (
        pseudo_huber(value=raised(ArithmeticError("too far"))),
        r"raised ArithmeticError \(too far",
    ),
    "a function of one number": (
        pseudo_huber(value=lambda z, t: float(np.sqrt(1 + (z - t) ** 2))),
        "raised TypeError",
    ),
    "a function that writes to its scores": (
        pseudo_huber(gradient=lambda z, t: np.divide(z - t, 2.0, out=z)),
        "must not change",
    ),
    "complex numbers": (
        pseudo_huber(gradient=residual(lambda r: r / np.sqrt(1 + r**2) + 1e-3j)),
        "real numbers",
    ),
    "texts": (
        pseudo_huber(gradient=residual(lambda r: (r / np.sqrt(1 + r**2)).astype(str))),
        "real numbers",
    ),
}
