"""The models that a user can ask for by a word, and where their classes live: nothing is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODELS = {
    "logistic": ("privet.models", "LogisticRegression"),
    "svm": ("privet.models", "LinearSVC"),
    "gaussian": ("privet.models", "LargeMarginGaussian"),
    "kernel-logistic": ("privet.kernels", "KernelLogisticRegression"),
    "kernel-svm": ("privet.kernels", "KernelSVC"),
    "kernel-huber": ("privet.kernels", "KernelHuberRegressor"),
    "linear": ("privet.models", "LinearRegression"),
    "huber": ("privet.models", "HuberRegressor"),
    "poisson": ("privet.models", "PoissonRegressor"),
}
#: Models of a label that is a number.
NUMBERS = ("linear", "huber", "poisson", "kernel-huber")


def model_class(name: str) -> Any:
    """The class behind a word of ``MODELS``."""
    home, found = MODELS[name]
    return getattr(import_module(home), found)
