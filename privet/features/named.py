"""Kernels by name: the closed list that a model file may name, and the rules for their widths.

No rule looks at a row. ``gamma="auto"`` expects columns of about unit variance, as
``standardize="private"`` makes them: ``k/sum_j v_j^2`` for column weights ``v``, that is ``k/d``
without weights. scikit-learn's ``gamma="scale"`` is ``k = 1``; with noise a wider kernel is better,
``k = 1/4`` (measured in ``reproduce/default_gamma.md``). The Laplacian kernel's sum is ``v_j``'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privet._checks import positive
from privet._types import Array
from privet.errors import DataError, DeclarationError
from privet.features.kernel import Kernel
from privet.features.numeric import Gaussian, Laplacian, Linear, Matern, Polynomial
from privet.features.objects import Spectrum

#: The kernels that a model file may name: a closed list.
KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Gaussian, Laplacian, Matern, Linear, Polynomial, Spectrum)
}
STATIONARY: dict[str, type[Gaussian] | type[Laplacian] | type[Matern]] = {
    kind.name: kind for kind in (Gaussian, Laplacian, Matern)
}
#: ``k`` of the default width ``k/spread``
WIDTHS = {"gaussian": 0.25, "laplacian": 0.5, "matern": 0.125}


def kernel_from_json(record: dict[str, Any]) -> Kernel:
    """The kernel that ``to_json`` described."""
    parameters = dict(record)
    kind = KERNELS.get(str(parameters.pop("name", None)))
    if kind is None:
        raise DataError("The file names a kernel that this Privet does not have.")
    return kind(**parameters)


def default_gamma(kernel: str, spread: float) -> float:
    """A width for rows whose squared distances (Laplacian: distances) are about ``2 spread``.

    The constants are measured, ``reproduce/default_gamma.md``; a data-free rule costs no privacy.
    """
    return WIDTHS.get(kernel, 1.0) / spread


def stationary_kernel(kernel: str, gamma: float, nu: float) -> Kernel:
    """One of the named stationary kernels."""
    if kernel not in STATIONARY:
        names = ", ".join(repr(name) for name in STATIONARY)
        raise DeclarationError(f"kernel must be one of {names}, got {kernel!r}.")
    return Matern(gamma, nu) if kernel == "matern" else STATIONARY[kernel](gamma)


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
