"""What the kernel classifiers share: declared classes, and features of a kernel."""

from __future__ import annotations

from typing import Any, Literal

from privet.features.kernel import Kernel
from privet.kernels.kernel_model import KernelModel
from privet.ledger import Ledger
from privet.models.classifier import PrivateLinearClassifier
from privet.privacy.budget import Budget
from privet.rows.mapped import FeatureMap


class KernelClassifier(KernelModel, PrivateLinearClassifier):
    """A linear classifier of public kernel features."""

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        kernel: str | Kernel = "gaussian",
        gamma: float | Literal["auto"] = "auto",
        nu: float = 1.5,
        n_frequencies: int | Literal["auto"] = "auto",
        orthogonal: bool | Literal["auto"] = "auto",
        public_points: Any = None,
        features: FeatureMap | None = None,
        column_weights: Any = None,
        mechanism: str = "objective",
        noise: Literal["auto", "laplace", "gaussian"] = "auto",
        calibration: str | None = None,
        regularization: float | Literal["auto"] = "auto",
        fit_intercept: bool = False,
        constant: float = 0.5,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        standardize: Literal["private"] | None = None,
        column_bounds: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(
            budget,
            mechanism=mechanism,
            noise=noise,
            calibration=calibration,
            regularization=regularization,
            classes=classes,
            class_weight=class_weight,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
        self.fit_intercept = fit_intercept
        self.constant = constant
        self._declare_kernel(
            kernel,
            gamma,
            nu,
            n_frequencies,
            orthogonal,
            public_points,
            features,
            column_weights,
        )
