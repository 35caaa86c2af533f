"""Private regression on the features of a kernel: a curve instead of a line."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from privet.features.kernel import Kernel
from privet.kernels.kernel_model import KernelModel
from privet.ledger import Ledger
from privet.mechanisms import MECHANISMS
from privet.models.regression import RobustRegressor
from privet.privacy.budget import Budget
from privet.rows.mapped import FeatureMap


class KernelHuberRegressor(KernelModel, RobustRegressor):
    """Differentially private robust regression of a number on the features of a kernel.

    Least squares up to a knee, absolute deviations beyond, of random Fourier features or of
    features that public points span. With a wide knee it is kernel ridge regression.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost. With many features ``ApproxDP`` or ``ZCDP`` need far less noise than
        a pure epsilon, whose noise grows with the number of features.
    target_bounds : (low, high)
        What the target can be, in its own units; values outside are clipped.
    knee : float or None, default None
        Where the loss becomes linear, in the target's units. None: a quarter of the interval.
    kernel, gamma, nu, n_frequencies, orthogonal, public_points, features, column_weights :
        As in ``KernelLogisticRegression``.
    mechanism : "objective" or "output", default "objective"
        Where the noise goes.
    noise, regularization, fit_intercept, constant :
        As in ``KernelLogisticRegression``. Predictions shrink to the middle of the bounds.
    standardize, column_bounds, ledger, dataset, insecure_seed :
        As in ``privet.LinearRegression``.

    Attributes
    ----------
    coef_, intercept_ : the released model, in units of the target per unit of a feature
    frequencies_ or whitener_ : the public map
    center_, scale_ : released centers and scales of the columns, with ``standardize``
    classes_, regularization_, guarantee_ : as in ``privet.LinearRegression``

    Examples
    --------
    >>> import numpy as np
    >>> from privet import ApproxDP
    >>> from privet.kernels import KernelHuberRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> y = 10 * X[:, 0] ** 2 + rng.normal(size=5000)
    >>> model = KernelHuberRegressor(ApproxDP(2.0, 1e-6), target_bounds=(0, 40)).fit(X, y)
    >>> bool(abs(model.predict([[1.0]])[0] - 10) < 5)
    True
    """

    mechanisms: ClassVar[tuple[str, ...]] = tuple(MECHANISMS)

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        target_bounds: Any = None,
        knee: float | None = None,
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
        regularization: float | Literal["auto"] = "auto",
        fit_intercept: bool = False,
        constant: float = 0.5,
        standardize: Literal["private"] | None = None,
        column_bounds: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(
            budget,
            target_bounds=target_bounds,
            mechanism=mechanism,
            noise=noise,
            regularization=regularization,
            fit_intercept=fit_intercept,
            constant=constant,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
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
        self.knee = knee
