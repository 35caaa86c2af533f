"""Every kernel there is: the named ones, and the closed list that a model file may name."""

from __future__ import annotations

from typing import Any

from privet.errors import DataError
from privet.kernels.base import Kernel
from privet.kernels.numeric import Gaussian, Laplacian, Linear, Matern, Polynomial
from privet.kernels.objects import Spectrum, SuppliedKernel

__all__ = [
    "KERNELS",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Spectrum",
    "SuppliedKernel",
    "kernel_from_json",
]

#: The kernels that a model file may name: a closed list.
KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Gaussian, Laplacian, Matern, Linear, Polynomial, Spectrum)
}


def kernel_from_json(record: dict[str, Any]) -> Kernel:
    """The kernel that ``to_json`` described."""
    parameters = dict(record)
    kind = KERNELS.get(str(parameters.pop("name", None)))
    if kind is None:
        raise DataError("The file names a kernel that this Privet does not have.")
    return kind(**parameters)
