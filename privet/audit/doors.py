"""Black boxes in one dimension: the mechanisms' many-draws door, and the ``fit`` that users call.

One row among zeros and its opposite, through the operating system's source; Huber loss, whose slope
is one at either side. Only releases are looked at, so the bound holds of whatever is in the box.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from privet._types import Array
from privet.audit.black_box import WatchedBound, watched_bound
from privet.domain import Box, Domain
from privet.errors import quietly
from privet.losses import HuberHinge
from privet.mechanisms import MECHANISMS, Mechanism
from privet.models import LinearSVC
from privet.privacy import PureDP
from privet.rows import checked_rows
from privet.rows.inside import in_domain

EPSILON, ROWS, RIDGE = 1.0, 10, 10.0
#: a bound is below the true epsilon but for this probability
FALSE_ALARM = 0.001
Tell = Callable[[WatchedBound], None]

BOXES: dict[str, Mechanism] = {
    "objective, laplace": MECHANISMS["objective"](
        HuberHinge(), PureDP(EPSILON), regularization=RIDGE, noise="laplace"
    ),
    "objective, product": MECHANISMS["objective"](
        HuberHinge(),
        PureDP(EPSILON),
        regularization=RIDGE,
        noise="product",
        domain=Domain((Box(1, 1.0),)),
        norm_bound=Domain((Box(1, 1.0),)).norm,
    ),
    "output, laplace": MECHANISMS["output"](HuberHinge(), PureDP(EPSILON), regularization=RIDGE),
}


def _table(side: int) -> Array:
    x = np.zeros((ROWS, 1))
    x[0] = 1.0 - 2.0 * side
    return x


def through_many_draws(
    name: str, most: int, enough: float, tell: Tell = lambda bound: None
) -> WatchedBound:
    """The bound from ``Mechanism.sample``; ``enough`` is a share of epsilon at which to stop."""
    mechanism = BOXES[name]

    def draw(side: int, k: int) -> Array:
        x = _table(side)
        more: dict[str, Any] = {}
        if mechanism.domain is not None:
            x = in_domain(x, mechanism.domain, zero_rows=True)
            more = {"domain": mechanism.domain}
        rows = checked_rows(x, np.ones(ROWS), norm_bound=mechanism.norm_bound, **more)
        return np.asarray(mechanism.sample(rows, k)[:, 0])

    return _bounded(draw, most, enough, tell)


def through_fit(most: int, enough: float, tell: Tell = lambda bound: None) -> WatchedBound:
    """The bound from whole fits of ``LinearSVC``, one by one."""
    y = np.ones(ROWS, dtype=int)

    def draw(side: int, k: int) -> Array:
        x, found = _table(side), np.empty(k)
        for i in range(k):
            model = LinearSVC(
                EPSILON, regularization=RIDGE, fit_intercept=False, classes=[0, 1], noise="laplace"
            )
            found[i] = model.fit(x, y).coef_[0, 0]
        return found

    return _bounded(draw, most, enough, tell)


def _bounded(
    draw: Callable[[int, int], Array], most: int, enough: float, tell: Tell
) -> WatchedBound:
    with quietly():
        return watched_bound(
            draw, most=most, enough=enough * EPSILON, false_alarm=FALSE_ALARM, tell=tell
        )
