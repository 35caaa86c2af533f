"""Choose the candidate with the fewest mistakes, privately.

Guarantee
---------
Replacing one row changes each count by at most one. Both mechanisms add noise of scale ``2/eps`` to
each count and take the smallest; they are OpenDP's, exact on integers.

    permute-and-flip    exponential noise: eps-pure, and never worse than the exponential mechanism
                        (McKenna and Sheldon 2020); not bounded-range, so eps^2/2-zCDP only
    exponential         Gumbel noise: eps-pure and, being eps-bounded-range, eps^2/8-zCDP
                        (Cesar and Rogers 2021; Dong, Durfee and Rogers 2020)

So pure budgets take the first with ``eps``, concentrated ones the second with ``sqrt(8 rho)``. With
probability ``1 - beta`` the chosen count is within ``2 log(m/beta)/eps`` of the smallest of ``m``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from privet.errors import DeclarationError
from privet.grid import opendp
from privet.privacy import ZCDP, Budget, PureDP

Selection = Literal["permute_and_flip", "exponential"]


def selection_epsilon(budget: Budget, selection: Selection) -> float:
    """The ``eps`` of the noise scale ``2/eps`` that ``budget`` pays for."""
    if isinstance(budget, PureDP):
        return budget.epsilon
    if isinstance(budget, ZCDP):
        return math.sqrt((8.0 if selection == "exponential" else 2.0) * budget.rho)
    raise DeclarationError("A selection takes a PureDP or ZCDP budget.")


def best_selection(budget: Budget) -> Selection:
    """The mechanism with the smaller noise for this kind of budget."""
    return "permute_and_flip" if isinstance(budget, PureDP) else "exponential"


def fewest(counts: Sequence[int], budget: Budget, selection: Selection | None = None) -> int:
    """The index of a small count; charge ``budget`` before this."""
    chosen = best_selection(budget) if selection is None else selection
    dp = opendp("Choosing privately")
    noise = (
        dp.max_divergence() if chosen == "permute_and_flip" else dp.zero_concentrated_divergence()
    )
    measurement = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64"),
        noise,
        scale=2.0 / selection_epsilon(budget, chosen),
        negate=True,
    )
    return int(measurement([int(count) for count in counts]))


def noisy_count(count: int, budget: Budget) -> int:
    """``count`` with exact discrete noise: Laplace of scale 1/eps, or Gaussian 1/sqrt(2 rho)."""
    dp = opendp("Exact noise on a count")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="f64")
    if isinstance(budget, PureDP):
        space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
        return int(dp.m.make_laplace(*space, scale=1.0 / budget.epsilon)(int(count)))
    if isinstance(budget, ZCDP):
        scale = 1.0 / math.sqrt(2.0 * budget.rho)
        return int(dp.m.make_gaussian(*space, scale=scale)(int(count)))
    raise DeclarationError("A count takes a PureDP or ZCDP budget.")
