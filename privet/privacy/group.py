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

from privet.privacy.budget import Budget


def for_group(budget: Budget, size: int) -> Budget:
    """The guarantee for ``size`` rows at once of a release that spent ``budget`` for each row."""
    return budget.for_group(size)


def per_row(budget: Budget, size: int) -> Budget:
    """What a release may spend for each row so that ``size`` rows at once have ``budget``."""
    return budget.per_row(size)
