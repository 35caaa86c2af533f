"""How far the computed gradient can be from the exact one: a public bound.

The certificate ``|grad J| <= tolerance`` is about a gradient computed in double precision. With
``u = 2^-53`` and ``gamma_k = k u/(1 - k u)`` (Higham 2002, section 3.1: the first-order worst case
of any order of summation), at a point of norm at most ``T``:

    scores       |dz|  <= gamma_{m+8} R T            inner products of m terms, clipping, intercept
    slopes       |dg|  <= c |dz| + 8 C u L           moved scores, then C exponentials or so
    mean         gamma_{r+B+4} L R                   r rows in a block, B blocks
    the rest     4 u (Lam T + |b|/n + L R)           regulariser, linear term, division

so that ``floor = gamma_{r+B+4} L R + c R^2 gamma_{m+8} T + 8 C u L R + 4 u (Lam T + |b|/n + L R)``.
``T`` is twice the largest norm of a minimiser: from ``J(theta*) <= J(0)``, and from
``Lam theta* = -(mean gradient) - b/n``, whichever is smaller (``beta = |b|/n``, ``l0`` the largest
loss at zero scores):

    |theta*| <= min{ (L R + beta)/Lam,  beta/Lam + sqrt(beta^2/Lam^2 + 2 l0/Lam) }

Twice, because a point of gradient norm ``tolerance`` is within ``tolerance/Lam`` of the minimiser.
What is assumed: ``exp`` and its relatives are good to a few units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from privet.risk import RegularisedRisk
from privet.rows.arrays import MOST_BLOCK_ROWS, block_rows

UNIT = 2.0**-53


def _gamma(terms: float) -> float:
    return terms * UNIT / (1.0 - terms * UNIT)


def minimiser_norm(risk: RegularisedRisk, n: int, noise_norm: float) -> float:
    """Largest norm of a minimiser of any table, for ``|b| <= noise_norm``."""
    lam, beta = risk.regularization, noise_norm / n
    targets = risk.loss.targets(np.arange(risk.loss.classes))
    at_zero = float(risk.loss.value(np.zeros((len(targets), risk.loss.scores)), targets).max())
    by_value = beta / lam + math.sqrt((beta / lam) ** 2 + 2.0 * at_zero / lam)
    return min((risk.row_gradient + beta) / lam, by_value)


def rounding_floor(n: int, m: int, risk: RegularisedRisk, noise_norm: float) -> float:
    """Largest distance between the computed and the exact gradient at a near-minimum.

    ``noise_norm`` bounds ``|b|``, the linear term times ``n``. No tolerance below this floor can be
    certified; a certificate of ``tolerance`` proves a gradient norm of ``tolerance + floor``.
    """
    slope, radius = risk.row_gradient, 2.0 * minimiser_norm(risk, n, noise_norm)
    rows = min(n, MOST_BLOCK_ROWS) + math.ceil(n / block_rows(m))
    scores = risk.row_curvature * _gamma(m + 8) * radius
    slopes = 8.0 * risk.loss.classes * UNIT * slope
    rest = 4.0 * UNIT * (risk.regularization * radius + noise_norm / n + slope)
    return _gamma(rows + 4) * slope + scores + slopes + rest
