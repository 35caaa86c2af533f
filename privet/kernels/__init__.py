"""Kernel models: public feature maps, and three ways of answering queries.

The door to ``privet.features`` (kernels and maps), to the models that are linear in a kernel's
features, and to ``privet.answers``.
"""

from privet.answers import (
    InteractivePredictor,
    NonInteractiveClassifier,
    SemiInteractiveClassifier,
    Transcript,
    load_transcript,
)
from privet.features import (
    KERNELS,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    PublicNystroem,
    RandomFourierFeatures,
    Spectrum,
    SuppliedKernel,
    features_from_json,
    kernel_from_json,
)
from privet.kernels.estimators import KERNEL_MODELS, KernelLogisticRegression, KernelSVC
from privet.kernels.kernel_regression import KernelHuberRegressor

__all__ = [
    "KERNELS",
    "KERNEL_MODELS",
    "Gaussian",
    "InteractivePredictor",
    "Kernel",
    "KernelHuberRegressor",
    "KernelLogisticRegression",
    "KernelSVC",
    "Laplacian",
    "Linear",
    "Matern",
    "NonInteractiveClassifier",
    "Polynomial",
    "PublicNystroem",
    "RandomFourierFeatures",
    "SemiInteractiveClassifier",
    "Spectrum",
    "SuppliedKernel",
    "Transcript",
    "features_from_json",
    "kernel_from_json",
    "load_transcript",
]
