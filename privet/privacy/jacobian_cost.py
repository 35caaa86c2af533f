"""What the Jacobian of Gaussian objective perturbation costs by itself: Renyi divergence and rho.

One row can have ``k = c R^2/(n Lam)`` of curvature relative to the regularizer. The divergence is
that of the shift, ``order D^2/2``, plus what stands here; statement and proof are in
``privet/mechanisms/gaussian_objective.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from privet.bisection import largest


def one_sided(family: str, classes: int) -> bool:
    """Whether a row's gradients lie on a segment that ends at zero: margin losses, two classes."""
    return classes == 2 and family not in ("residual", "scores")


def renyi_cost(family: str, classes: int, k: float, order: float) -> float:
    """Renyi divergence of the Jacobian alone: the family's term, or the zCDP line if lower.

    The family's term needs ``(order-1) k < 1``; zCDP holds at every order.
    """
    line = order * zcdp_cost(family, classes, k)
    if (order - 1.0) * k >= 1.0:
        return line
    extra = _margin_renyi if classes == 2 else FAMILIES[family][0]
    return min(line, extra(order, k, classes))


def zcdp_cost(family: str, classes: int, k: float) -> float:
    """rho of the Jacobian alone: ``constant k^2``."""
    constant = 2.23 if one_sided(family, classes) else FAMILIES[family][1](classes)
    return constant * k * k


def zcdp_cost_at(family: str, classes: int, k: float) -> float:
    """rho of the Jacobian alone: ``z(k) k^2``, with ``z`` never above the constant of all ``k``."""
    return min(zcdp_cost(family, classes, k), _constant_at(family, classes, k) * k * k)


@lru_cache(maxsize=4096)
def _constant_at(family: str, classes: int, k: float) -> float:
    """``max(A(x), B(x))`` at the ``x`` where they meet: a bound for every ``x`` between 0 and 1.

    ``A``, by the eigenvalues, grows with ``x = (order - 1) k``; ``B``, by the profile, falls
    (``gaussian_objective.proof.md``, step 13).
    """
    if not 1e-6 < k < 1e3:
        return math.inf  # there the constant of all k is as good, or orders are not told from 1
    extra = _margin_renyi if classes == 2 else FAMILIES[family][0]
    freedom = classes - 1
    determinant = freedom * math.log1p(2.0 * k / classes) / k
    if one_sided(family, classes):
        several = math.log(2.0)
    elif family == "residual":
        several = math.log(3.0)
    else:
        several = math.log(classes) if family == "softmax" else freedom * math.log(4.0)

    def by_eigenvalues(x: float) -> float:
        return extra(1.0 + x / k, k, classes) / (k * (x + k))

    def by_profile(x: float) -> float:
        return (determinant + several / x) / (x + k)

    meet = largest(lambda x: x < 1.0 - 1e-9 and by_eigenvalues(x) <= by_profile(x), 0.5)
    return max(by_eigenvalues(meet), by_profile(meet)) * (1.0 + 1e-9)


def _margin_renyi(order: float, k: float, classes: int) -> float:
    """``-log(1 - a(a-1) k^2/(1+k))/(a-1)``: at most two eigenvalues of the shift's derivative."""
    a = order
    return -math.log1p(-a * (a - 1.0) * k * k / (1.0 + k)) / (a - 1.0)


def _softmax_renyi(order: float, k: float, classes: int) -> float:
    a = order
    half = a * (a - 1.0) * k * k / 2.0
    single = -(a - 1.0) * math.log1p(k) - math.log1p(-(a - 1.0) * k)
    return (max(half, single) + half) / (a - 1.0)


def _joint_huber_renyi(order: float, k: float, classes: int) -> float:
    a, tau = order, k / classes
    others = (classes - 2) * math.log1p(-a * (a - 1.0) * tau * tau / (1.0 + tau)) / (a - 1.0)
    return _margin_renyi(order, k, classes) - others


#: family -> (Renyi cost of the Jacobian, zCDP constant) for more than two classes
FAMILIES: dict[str, tuple[Callable[[float, float, int], float], Callable[[int], float]]] = {
    "margin": (_margin_renyi, lambda classes: 2.23),
    "logistic": (_margin_renyi, lambda classes: 2.23),
    "softmax": (_softmax_renyi, lambda classes: 2.1 + math.log(classes)),
    "joint_huber": (_joint_huber_renyi, lambda classes: 2.0 + 1.39 * (classes - 1.0)),
    "residual": (_margin_renyi, lambda classes: 2.34),
}
