"""Losses of users, with true declarations unless others are asked for."""

from __future__ import annotations

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


def softmax(**wrong: Any) -> ConvexLoss:
    """Three scores and a class; the largest gradient is sqrt2, the largest curvature 1/2."""

    def own(t: Array) -> NDArray[np.bool_]:
        return np.asarray(np.clip((3 * t).astype(int), 0, 2)[:, None] == np.arange(3))

    def shares(z: Array) -> Array:
        found = np.exp(z - z.max(axis=1)[:, None])
        return np.asarray(found / found.sum(axis=1)[:, None])

    def value(z: Array, t: Array) -> Array:
        top = z.max(axis=1)
        return np.asarray(top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[own(t)])

    parts: dict[str, Any] = {
        "value": value,
        "gradient": lambda z, t: shares(z) - own(t),
        "hessian": lambda z, t: (
            shares(z)[:, :, None] * np.eye(3) - shares(z)[:, :, None] * shares(z)[:, None, :]
        ),
        "gradient_bound": 2**0.5,
        "curvature_bound": 0.5,
        "scores": 3,
        "rank": 2,
    }
    return ConvexLoss("softmax", **{**parts, **wrong})


TRUE: dict[str, ConvexLoss] = {
    "pseudo-Huber": pseudo_huber(),
    "narrow knee": huber(1e-3),
    "wide knee": huber(50.0),
    "two scores": two_scores(),
    "rank one of two": one_direction(),
    "softmax": softmax(),
}
