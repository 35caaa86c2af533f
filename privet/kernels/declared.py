"""Public declarations of a kernel model, and the rules that fill in what was left open.

No rule looks at a row. ``gamma="auto"`` expects columns of about unit variance, as
``standardize="private"`` makes them: ``k/sum_j v_j^2`` for column weights ``v``, that is ``k/d``
without weights. scikit-learn's ``gamma="scale"`` is ``k = 1``; with noise a wider kernel is better,
``k = 1/4`` (measured in ``reproduce/default_gamma.md``). The Laplacian kernel's sum is ``v_j``'s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privet.errors import DeclarationError
from privet.kernels.base import Array, Kernel, count
from privet.kernels.features import default_gamma, stationary_kernel
from privet.kernels.objects import SuppliedKernel
from privet.privacy.budget import ApproxDP, Budget, PureDP
from privet.risk import positive
from privet.rows.mapped import FeatureMap

FEWEST, MOST = 8, 2048


def declared_weights(column_weights: Any, d: int) -> Array | None:
    """One public number for each of ``d`` columns; zero leaves a column out."""
    if column_weights is None:
        return None
    try:
        weights = np.asarray(column_weights, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.shape != (d,) or not bool(((weights >= 0.0) & (weights <= 1e6)).all()):
        raise DeclarationError(f"column_weights must hold {d} numbers between 0 and 1e6.")
    if not weights.any():
        raise DeclarationError("column_weights leave no column: at least one must be positive.")
    return weights


def declared_kernel(
    kernel: str | Kernel, gamma: Any, nu: float, d: int, weights: Array | None
) -> Kernel:
    """The kernel itself, or the named one with its width by declaration or by the rule."""
    if isinstance(kernel, Kernel):
        if gamma != "auto":
            raise DeclarationError("gamma belongs in the kernel when kernel is not a name.")
        return kernel
    if gamma != "auto":
        return stationary_kernel(kernel, positive("gamma", gamma), nu)
    v = np.ones(max(d, 1)) if weights is None else weights
    spread = float(v.sum()) if kernel == "laplacian" else float(np.square(v).sum())
    return stationary_kernel(kernel, default_gamma(kernel, spread), nu)


def default_frequencies(n: int, budget: Budget) -> int:
    """``sqrt(n) min(1, eps)^(1/4)`` random frequencies, a public rule.

    About ``sqrt n`` frequencies lose nothing beside sampling error in kernel ridge regression (Rudi
    and Rosasco 2017). A small epsilon leaves less to resolve; the power is a choice that keeps the
    time of a fit in proportion, more features do no harm. Pure noise grows with the number of
    columns, so a pure budget takes a quarter. zCDP counts as ``eps = sqrt(2 rho)``.
    """
    if isinstance(budget, PureDP | ApproxDP):
        epsilon = budget.epsilon
    else:
        epsilon = math.sqrt(2.0 * float(budget.to_json()["rho"]))
    share = 0.25 if isinstance(budget, PureDP) else 1.0
    frequencies = math.ceil(share * math.sqrt(n) * math.sqrt(math.sqrt(min(1.0, epsilon))))
    return min(max(frequencies, FEWEST), MOST)


def told_features(
    features: FeatureMap | None, kernel: Kernel, width: int, public_points: Any, norm: float
) -> list[str]:
    """What a statement says about the map and the kernel behind it."""
    if features is not None:
        return [
            f"the feature map ({width} features, clipped to Euclidean norm {norm:g}), made without "
            "the rows as asserted by the user"
        ]
    supplied = isinstance(kernel, SuppliedKernel)
    named = f"a supplied kernel with K(x, x) held to {kernel.bound:g}" if supplied else str(kernel)
    told = [f"the kernel, {named}"]
    if supplied:
        told.append("that the supplied kernel is positive semidefinite, as asserted by the user")
    if public_points is None:
        told.append(f"{width} random features of norm 1, drawn without looking at the rows")
    else:
        told.append(
            f"{count(public_points)} public points, declared public by the user; {width} features "
            f"of Euclidean norm at most {norm:g}"
        )
    return told
