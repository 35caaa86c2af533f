"""What a guarantee for one row says about several rows of one person, and the way back.

    pure         epsilon             ->  k epsilon
    zCDP         rho                 ->  k^2 rho
    approximate  (epsilon, delta)    ->  (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))

Two tables that differ in ``k`` rows are joined by ``k`` steps of one row each. Pure: the factors
``e^epsilon`` multiply (Dwork and Roth 2014, Theorem 2.2). zCDP: Bun and Steinke 2016, Proposition
1.9. Approximate: after ``i`` steps ``P(S) <= e^(i epsilon) P_i(S) + delta (1 + ... + e^((i-1)
epsilon))``, a geometric sum (Vadhan 2017, Lemma 2.2, before it is bounded).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privet.errors import DeclarationError
from privet.privacy.budget import ZCDP, ApproxDP, Budget, PureDP

#: Taken off a share, so that rounding cannot make the group's guarantee larger than was asked.
_SAFE = 1.0 - 1e-14


def for_group(budget: Budget, size: int) -> Budget:
    """The guarantee for ``size`` rows at once of a release that spent ``budget`` for each row."""
    k = _size(size)
    if isinstance(budget, PureDP):
        return PureDP(k * budget.epsilon)
    if isinstance(budget, ZCDP):
        return ZCDP(k * k * budget.rho)
    if isinstance(budget, ApproxDP):
        return ApproxDP(k * budget.epsilon, budget.delta * _growth(budget.epsilon, k))
    raise DeclarationError("budget must be PureDP, ZCDP or ApproxDP.")


def per_row(budget: Budget, size: int) -> Budget:
    """What a release may spend for each row so that ``size`` rows at once have ``budget``."""
    k = _size(size)
    if k == 1:
        return budget
    if isinstance(budget, PureDP):
        return PureDP(budget.epsilon / k * _SAFE)
    if isinstance(budget, ZCDP):
        return ZCDP(budget.rho / (k * k) * _SAFE)
    if isinstance(budget, ApproxDP):
        epsilon = budget.epsilon / k * _SAFE
        return ApproxDP(epsilon, budget.delta / _growth(epsilon, k) * _SAFE)
    raise DeclarationError("budget must be PureDP, ZCDP or ApproxDP.")


def _growth(epsilon: float, k: int) -> float:
    """``1 + e^epsilon + ... + e^((k-1) epsilon)``; infinite where it cannot be held."""
    try:
        return math.expm1(k * epsilon) / math.expm1(epsilon) if k > 1 else 1.0
    except OverflowError:
        return math.inf


def _size(size: Any) -> int:
    if isinstance(size, bool | np.bool_) or not isinstance(size, int | np.integer) or size < 1:
        raise DeclarationError(f"size must be a whole number of rows, at least 1, got {size!r}.")
    return int(size)
