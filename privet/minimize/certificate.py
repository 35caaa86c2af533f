"""What a minimizer hands back: a point, its certified gradient norm, and what that can be worth.

The certificate ``|grad J| <= tolerance`` is about a gradient computed in double precision. With
``u = 2^-53`` and ``gamma_k = k u/(1 - k u)`` (Higham 2002, section 3.1: the first-order worst case
of any order of summation), at a point of norm at most ``T``:

    scores       |dz|  <= gamma_{m+C+8} R T          inner products of m terms, C scores
    slopes       |dg|  <= c (|dz| + 8 C u o) + 8 C u L
                                                     moved scores, hinges compared with constants of
                                                     size o, then C exponentials or so
    mean         gamma_{r+8} L R                     r rows in a block, r roundings; two more in the
                                                     compensated sum over all blocks, in whatever
                                                     groups (``privet.rows.engine.Compensated``)
    the rest     4 u (Lam T + |b|/n + L R)           regularizer, linear term, division

and the floor is the sum of these, the slopes' times ``R``.
``T`` is twice the largest norm of a minimizer: from ``J(theta*) <= J(0)``, and from
``Lam theta* = -(mean gradient) - b/n``, whichever is smaller (``beta = |b|/n``, ``l0`` the largest
loss at zero scores):

    |theta*| <= min{ (L R + beta)/Lam,  beta/Lam + sqrt(beta^2/Lam^2 + 2 l0/Lam) }

Twice, because a point of gradient norm ``tolerance`` is within ``tolerance/Lam`` of the minimizer.
What is assumed: ``exp`` and its relatives are good to a few units in the last place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from privet._types import Array
from privet.errors import NotConverged
from privet.risk import RegularizedRisk
from privet.rows.arrays import MOST_BLOCK_ROWS

#: which of several paths, as true or false for each, or as their numbers
Mask = NDArray[np.bool_]
Numbers = NDArray[np.intp]


class Status(Enum):
    """How a run ended; the value is the sentence that a message quotes."""

    CONVERGED = "The gradient norm reached the tolerance."
    SLOW = "The gradient norm stopped falling fast under the curvature model in use."
    STALLED = (
        "No step lowers the objective any further: the tolerance is below what rounding allows."
    )
    EXHAUSTED = "The largest number of gradients was used before the tolerance was reached."


ADVICE = {
    Status.STALLED: "Raise the tolerance above privet.minimize.rounding_floor.",
    Status.EXHAUSTED: "Raise max_iter or the regularization.",
}


@dataclass(frozen=True)
class Solution:
    """A point and its certificate.

    ``gradient_norm`` is the Euclidean norm of the gradient of the mean objective over *all* rows,
    computed at exactly this ``theta``. ``passes`` and ``hessians`` count the work in reads of the
    whole table; a read of every eighth row counts an eighth. All of these depend on private rows.
    """

    theta: Array
    gradient_norm: float
    status: Status
    passes: float
    hessians: float

    def certified(self) -> Array:
        """``theta``, or ``NotConverged`` when the tolerance was not reached."""
        if self.status is Status.CONVERGED:
            return self.theta
        raise NotConverged(
            f"{self.status.value} Nothing can be released from this point. {ADVICE[self.status]}"
        )


UNIT = 2.0**-53


def _gamma(terms: float) -> float:
    return terms * UNIT / (1.0 - terms * UNIT)


def minimizer_norm(risk: RegularizedRisk, n: int, noise_norm: float) -> float:
    """Largest norm of a minimizer of any table, for ``|b| <= noise_norm``."""
    lam, beta = risk.regularization, noise_norm / n
    by_value = beta / lam + math.sqrt((beta / lam) ** 2 + 2.0 * risk.loss.largest_at_zero / lam)
    return min((risk.row_gradient + beta) / lam, by_value)


def rounding_floor(n: int, m: int, risk: RegularizedRisk, noise_norm: float) -> float:
    """Largest distance between the computed and the exact gradient at a near-minimum.

    ``noise_norm`` bounds ``|b|``, the linear term times ``n``. No tolerance below this floor can be
    certified; a certificate of ``tolerance`` proves a gradient norm of ``tolerance + floor``.
    """
    radius = 2.0 * minimizer_norm(risk, n, noise_norm)
    rest = 4.0 * UNIT * (risk.regularization * radius + noise_norm / n + risk.row_gradient)
    return gradient_rounding(n, m, risk, radius) + rest


def clip_rounding(m: int, risk: RegularizedRisk) -> float:
    """What rounding can do to one row's gradient when it is clipped by its computed norm."""
    return _gamma(m + risk.loss.classes + 16) * risk.row_gradient


def gradient_rounding(n: int, m: int, risk: RegularizedRisk, radius: float) -> float:
    """What rounding can do to the mean gradient of the loss at a point of norm ``radius``."""
    slope, rows = risk.row_gradient, min(n, MOST_BLOCK_ROWS)
    classes, loss = risk.loss.classes, risk.loss
    scores = risk.row_curvature * _gamma(m + classes + 8) * radius
    offsets = loss.curvature_bound * loss.offset * risk.norm_bound
    slopes = 8.0 * classes * UNIT * (slope + offsets)
    return _gamma(rows + 8) * slope + scores + slopes
