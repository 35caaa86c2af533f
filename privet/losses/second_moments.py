"""What one row can add to the Hessian and to the covariance of the gradients: public facts.

A row ``x`` with ``|x| <= 1`` adds ``h (x) x x^T`` to the sum of the Hessians and
``g g^T (x) x x^T`` to the sum of the gradients' outer products, ``g`` and ``h`` the loss's
derivatives at its scores. ``joint_bound`` is the largest norm of the pair,
``sqrt(eta^2 |h|_F^2 + |g|^4)``, over all targets and all scores of norm at most ``reach``. Slope
and curvature are taken at the *same* scores, which is why asking for both matrices at once costs
hardly more than asking for the dearer one. ``trace_bound`` is the largest ``eta tr h + |g|^2``, the
sum of the two traces, in the same way.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from scipy.special import expit

from privet.errors import DeclarationError
from privet.losses.loss import Loss
from privet.losses.margin import HuberHinge, Logistic, SmoothHinge
from privet.losses.multiclass import JointHuber, Softmax
from privet.losses.residual import HuberResidual, PoissonRate
from privet.losses.weighted import Weighted

_CELLS = 1024


@singledispatch
def joint_bound(loss: Loss, eta: float, reach: float) -> float:
    """Largest ``sqrt(eta^2 |h|_F^2 + |g|^4)`` of one row at scores of norm at most ``reach``."""
    raise DeclarationError(f"No bound on second moments is known for the loss {loss.name!r}.")


@joint_bound.register
def _logistic(loss: Logistic, eta: float, reach: float) -> float:
    """``max p sqrt(eta^2 (1-p)^2 + p^2)`` over ``p <= pm = S(reach)``.

    The square's derivative vanishes where ``2 (eta^2+1) p^2 - 3 eta^2 p + eta^2 = 0``: from
    ``eta^2 = 8`` on the smaller root is a maximum, below the function increases up to ``pm``.
    """

    def size(p: float) -> float:
        return p * math.hypot(eta * (1.0 - p), p)

    most = float(expit(reach))
    square = eta * eta
    if square < 8.0:
        return size(most)
    root = square / (4.0 * (square + 1.0)) * (3.0 - math.sqrt(1.0 - 8.0 / square))
    return max(size(most), size(min(root, most)))


@joint_bound.register
def _huber(loss: HuberHinge, eta: float, reach: float) -> float:
    """At the lower end of the knee slope and curvature are both largest."""
    return math.hypot(eta * loss.curvature_bound, 1.0)


@joint_bound.register
def _smooth(loss: SmoothHinge, eta: float, reach: float) -> float:
    """``w`` in [0, 1] in small cells: the curvature falls with ``w`` and the slope rises.

    So in each cell the curvature at its lower end and the slope at its upper end bound both.
    """
    ends = np.linspace(0.0, 1.0, _CELLS + 1)
    low, high = ends[:-1], ends[1:]
    slope = 0.5 + high * (0.75 - 0.25 * high * high)
    return float(np.hypot(eta * loss.curvature_bound * (1.0 - low * low), slope**2).max())


@joint_bound.register
def _softmax(loss: Softmax, eta: float, reach: float) -> float:
    """A quadratic in ``s = sum p_c^2``, at the largest ``r = 1 - p_y``.

    ``|h|_F^2 <= s - s^2`` (``sum p^3 >= s^2`` by Cauchy-Schwarz) and ``|g|^2 = s + 2 r - 1``, with
    ``s <= (1-r)^2 + r^2``. The largest ``r`` is the worst (``matrix.proof.md``, step 3), and
    ``r <= 1/(1 + exp(-sqrt2 reach)/(C-1))``, since class scores differ by at most ``sqrt2 reach``.
    Two classes are the logistic loss of ``sqrt2`` times the reduced score, exactly.
    """
    if loss.n_classes == 2:
        return 2.0 * joint_bound(Logistic(), eta, math.sqrt(2.0) * reach)
    others = loss.n_classes - 1.0
    odds = others * math.exp(min(math.sqrt(2.0) * reach, 700.0))
    r = odds / (1.0 + odds)
    square, top = eta * eta, (1.0 - r) ** 2 + r * r

    def size(s: float) -> float:
        return math.sqrt(square * s * (1.0 - s) + (s + 2.0 * r - 1.0) ** 2)

    ends = max(size(0.0), size(top))
    if square <= 1.0:
        return ends  # convex in s
    middle = (square + 2.0 * (2.0 * r - 1.0)) / (2.0 * (square - 1.0))
    return max(ends, size(min(max(middle, 0.0), top)))


@joint_bound.register
def _joint_huber(loss: JointHuber, eta: float, reach: float) -> float:
    """All ``C - 1`` wrong classes on the knee's lower end: a star with equal weights.

    Its Laplacian has eigenvalues ``C t``, and ``t`` for ``C - 2`` times, ``t = 1/(2h)``.
    """
    classes = float(loss.n_classes)
    t = HuberHinge(loss.h).curvature_bound
    curvature = t * math.sqrt(classes**2 + classes - 2.0)
    return math.hypot(eta * curvature, classes * (classes - 1.0))


@joint_bound.register
def _huber_residual(loss: HuberResidual, eta: float, reach: float) -> float:
    """Curvature 1 up to the knee, where slopes end; residuals end at ``reach + 1``."""
    return math.hypot(eta, min(loss.h, reach + 1.0) ** 2)


@joint_bound.register
def _poisson_rate(loss: PoissonRate, eta: float, reach: float) -> float:
    """At rate ``r``: curvature ``r``, slope up to ``max(r, 1 - r)``; convex in ``r``: at an end."""
    rates = (math.exp(min(loss.start + side * reach, 0.0)) for side in (-1.0, 1.0))
    return max(math.hypot(eta * r, max(r, 1.0 - r) ** 2) for r in rates)


@joint_bound.register
def _weighted(loss: Weighted, eta: float, reach: float) -> float:
    """A weight ``w`` multiplies ``h`` by ``w`` and ``g g^T`` by ``w^2``: largest at the largest."""
    return loss.largest**2 * joint_bound(loss.base, eta / loss.largest, reach)


@singledispatch
def trace_bound(loss: Loss, eta: float, reach: float) -> float:
    """Largest ``eta tr h + |g|^2`` of one row at scores of norm at most ``reach``."""
    raise DeclarationError(f"No bound on second moments is known for the loss {loss.name!r}.")


@trace_bound.register
def _logistic_trace(loss: Logistic, eta: float, reach: float) -> float:
    """``max eta p (1-p) + p^2`` over ``1 - pm <= p <= pm``: at ``eta/(2 (eta - 1))`` or at ``pm``.

    Up to ``eta = 2`` it grows up to ``p = 1``; beyond, that place is above 1/2.
    """
    most = float(expit(reach))
    p = most if eta <= 2.0 else min(most, eta / (2.0 * (eta - 1.0)))
    return p * (eta * (1.0 - p) + p)


@trace_bound.register
def _huber_trace(loss: HuberHinge, eta: float, reach: float) -> float:
    """Both largest at the lower end of the knee."""
    return eta * loss.curvature_bound + 1.0


@trace_bound.register
def _smooth_trace(loss: SmoothHinge, eta: float, reach: float) -> float:
    """In cells of ``w``, as for the joint bound."""
    ends = np.linspace(0.0, 1.0, _CELLS + 1)
    low, high = ends[:-1], ends[1:]
    slope = 0.5 + high * (0.75 - 0.25 * high * high)
    return float((eta * loss.curvature_bound * (1.0 - low * low) + slope**2).max())


@trace_bound.register
def _softmax_trace(loss: Softmax, eta: float, reach: float) -> float:
    """``tr h = 1 - s`` and ``|g|^2 = s + 2 r - 1``: linear in ``s``, then a quadratic in ``r``.

    ``(1-r)^2 + r^2/(C-1) <= s <= (1-r)^2 + r^2``. For ``eta >= 1`` the smallest ``s`` is the worst:
    ``2 eta r - (eta-1) r^2 C/(C-1)``, concave; for ``eta < 1`` the largest:
    ``2 eta r + 2 (1-eta) r^2``, which grows.
    """
    classes = float(loss.n_classes)
    odds = (classes - 1.0) * math.exp(min(math.sqrt(2.0) * reach, 700.0))
    r = odds / (1.0 + odds)
    if eta < 1.0:
        return 2.0 * r * (eta + (1.0 - eta) * r)
    bend = (eta - 1.0) * classes / (classes - 1.0)
    r = min(r, eta / bend) if bend > 0.0 else r
    return r * (2.0 * eta - bend * r)


@trace_bound.register
def _joint_huber_trace(loss: JointHuber, eta: float, reach: float) -> float:
    """The star's trace is ``2 (C-1) t``."""
    classes = float(loss.n_classes)
    t = HuberHinge(loss.h).curvature_bound
    return (classes - 1.0) * (2.0 * eta * t + classes)


@trace_bound.register
def _huber_residual_trace(loss: HuberResidual, eta: float, reach: float) -> float:
    """Both largest at the knee, or at the longest residual before it."""
    return eta + min(loss.h, reach + 1.0) ** 2


@trace_bound.register
def _poisson_rate_trace(loss: PoissonRate, eta: float, reach: float) -> float:
    """Convex in the rate: at an end."""
    rates = (math.exp(min(loss.start + side * reach, 0.0)) for side in (-1.0, 1.0))
    return max(eta * r + max(r, 1.0 - r) ** 2 for r in rates)


@trace_bound.register
def _weighted_trace(loss: Weighted, eta: float, reach: float) -> float:
    """``w eta tr h + w^2 |g|^2`` grows with the weight."""
    return loss.largest**2 * trace_bound(loss.base, eta / loss.largest, reach)
