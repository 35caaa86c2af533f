"""Public maps of rows, as values: kernels, random Fourier features, landmarks.

kernel, numeric, objects, named   what a kernel and a map are, and every kernel there is
fourier, landmarks                features of a kernel, made without a row of the private table
"""

from __future__ import annotations

from typing import Any

from privet.errors import DataError
from privet.features.fourier import RandomFourierFeatures
from privet.features.kernel import Kernel
from privet.features.landmarks import PublicNystroem
from privet.features.named import KERNELS, kernel_from_json
from privet.features.numeric import Gaussian, Laplacian, Linear, Matern, Polynomial
from privet.features.objects import Spectrum, SuppliedKernel

__all__ = [
    "KERNELS",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "PublicNystroem",
    "RandomFourierFeatures",
    "Spectrum",
    "SuppliedKernel",
    "features_from_json",
    "kernel_from_json",
]


def features_from_json(record: dict[str, Any]) -> RandomFourierFeatures | PublicNystroem:
    """The fitted transformer that ``to_json`` described."""
    if record["name"] == "fourier":
        return RandomFourierFeatures.from_json(record)
    if record["name"] == "landmarks":
        return PublicNystroem.from_json(record)
    raise DataError("The file names features that this Privet does not have.")
