"""Kernel classifiers: public feature maps, and three ways of answering queries."""

from privet.kernels.estimators import KERNEL_MODELS, KernelLogisticRegression, KernelSVC
from privet.kernels.features import PublicNystroem, RandomFourierFeatures, features_from_json
from privet.kernels.interactive import InteractivePredictor
from privet.kernels.kernels import (
    KERNELS,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Spectrum,
    SuppliedKernel,
    kernel_from_json,
)
from privet.kernels.non_interactive import NonInteractiveClassifier
from privet.kernels.semi_interactive import SemiInteractiveClassifier
from privet.kernels.transcript import Transcript, load_transcript

__all__ = [
    "KERNELS",
    "KERNEL_MODELS",
    "Gaussian",
    "InteractivePredictor",
    "Kernel",
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
