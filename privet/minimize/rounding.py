"""How far the computed gradient can be from the exact one: a public bound.

The certificate ``|grad J| <= tolerance`` is about a gradient computed in double precision. With
``u = 2^-53`` and ``gamma_k = k u/(1 - k u)`` (Higham 2002, section 3.1: the first-order worst case
of any order of summation), at a point of norm at most ``T``:

    scores       |dz|  <= gamma_{m+C+8} R T          inner products of m terms, C scores
    slopes       |dg|  <= c (|dz| + 8 C u o) + 8 C u L
                                                     moved scores, hinges compared with constants of
                                                     size o, then C exponentials or so
    mean         gamma_{r+8} L R                     r rows in a block; compensated over the blocks
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

import numpy as np

from privet.risk import RegularizedRisk
from privet.rows.arrays import MOST_BLOCK_ROWS

UNIT = 2.0**-53


def _gamma(terms: float) -> float:
    return terms * UNIT / (1.0 - terms * UNIT)


def minimizer_norm(risk: RegularizedRisk, n: int, noise_norm: float) -> float:
    """Largest norm of a minimizer of any table, for ``|b| <= noise_norm``."""
    lam, beta = risk.regularization, noise_norm / n
    targets = risk.loss.targets(np.arange(risk.loss.classes))
    at_zero = float(risk.loss.value(np.zeros((len(targets), risk.loss.scores)), targets).max())
    by_value = beta / lam + math.sqrt((beta / lam) ** 2 + 2.0 * at_zero / lam)
    return min((risk.row_gradient + beta) / lam, by_value)


def rounding_floor(n: int, m: int, risk: RegularizedRisk, noise_norm: float) -> float:
    """Largest distance between the computed and the exact gradient at a near-minimum.

    ``noise_norm`` bounds ``|b|``, the linear term times ``n``. No tolerance below this floor can be
    certified; a certificate of ``tolerance`` proves a gradient norm of ``tolerance + floor``.
    """
    slope, radius = risk.row_gradient, 2.0 * minimizer_norm(risk, n, noise_norm)
    rows = min(n, MOST_BLOCK_ROWS)
    classes, loss = risk.loss.classes, risk.loss
    scores = risk.row_curvature * _gamma(m + classes + 8) * radius
    offsets = loss.curvature_bound * loss.offset * risk.norm_bound
    slopes = 8.0 * classes * UNIT * (slope + offsets)
    rest = 4.0 * UNIT * (risk.regularization * radius + noise_norm / n + slope)
    return _gamma(rows + 8) * slope + scores + slopes + rest
