"""Private kernel classifiers with scikit-learn's contract.

Each is the linear classifier of the same loss on the features of a kernel.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from privet._types import Array
from privet.features.kernel import Kernel
from privet.kernels.kernel_model import KernelModel
from privet.ledger import Ledger
from privet.losses import Loss, named_loss
from privet.models.classifier import PrivateLinearClassifier, probabilities
from privet.models.export import exported
from privet.privacy.budget import Budget
from privet.rows.mapped import FeatureMap

# What the kernel classifiers share: declared classes, and features of a kernel.


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


class KernelLogisticRegression(KernelClassifier):
    """Differentially private logistic regression on the features of a kernel.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost. With many features ``ApproxDP`` or ``ZCDP`` need far less noise than
        a pure epsilon, whose noise grows with the number of features.
    kernel : "gaussian", "laplacian", "matern" or a Kernel, default "gaussian"
        A ``Kernel`` object carries its own parameters; those that are not stationary need
        ``public_points``.
    gamma : float or "auto", default "auto"
        Width of a named kernel. "auto" expects columns of about unit variance: for the Gaussian
        kernel ``1/4`` over the sum of squared column weights, that is ``1/(4 d)`` without weights.
    nu : float, default 1.5
        Smoothness of ``kernel="matern"``.
    n_frequencies : int or "auto", default "auto"
        How many random frequencies; each makes two features. "auto" is a public rule, about
        ``sqrt(n) min(1, epsilon)^(1/4)``.
    orthogonal : bool or "auto", default "auto"
        Orthogonal random frequencies, where the kernel allows them.
    public_points : table or sequence of objects, default None
        Landmarks: features are spanned by these points, which must be public. In the units of the
        rows as passed. None: random Fourier features.
    features : feature map, default None
        A ready public map with ``columns``, ``norm`` and ``__call__``, a fitted
        ``RandomFourierFeatures`` or ``PublicNystroem`` for example, instead of all the above.
    column_weights : list, default None
        Public weights of the columns: how much each counts in the kernel's distance.
    fit_intercept : bool, default False
        A constant column adds to the noise, and the kernel's features hardly need one.
    constant : float, default 0.5
        That column, in units of the features' norm bound.
    mechanism, noise, calibration, regularization :
        As in ``privet.LogisticRegression``. There is no ``norm_bound``: the features have one.
    classes, class_weight, standardize, column_bounds, ledger, dataset, insecure_seed :
        As in ``privet.LogisticRegression``.

    Attributes
    ----------
    coef_, intercept_, classes_ : the released model, in the units of the features
    frequencies_ or whitener_ : the public map
    center_, scale_ : released centers and scales of the columns, with ``standardize``
    regularization_, guarantee_ : as in ``privet.LogisticRegression``

    Examples
    --------
    >>> import numpy as np
    >>> from privet import ApproxDP
    >>> from privet.kernels import KernelLogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> inside = (X**2).sum(axis=1) < 1.4
    >>> model = KernelLogisticRegression(ApproxDP(2.0, 1e-6)).fit(X, inside)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]])
    array([ True, False])
    """

    def _loss(self, n_classes: int) -> Loss:
        return named_loss("logistic", n_classes, 1.0)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities in the order of ``classes_``.

        Parameters
        ----------
        X : as in ``decision_function``

        Returns
        -------
        array of shape (n, C)
        """
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of ``predict_proba``.

        Parameters
        ----------
        X : as in ``decision_function``

        Returns
        -------
        array of shape (n, C)
        """
        return np.log(self.predict_proba(X))

    def to_sklearn(self) -> Any:
        """The released model as scikit-learn knows it.

        Returns
        -------
        Pipeline
            The public map and a ``sklearn.linear_model.LogisticRegression``.
        """
        from sklearn.linear_model import LogisticRegression as Plain

        return exported(self, Plain())


class KernelSVC(KernelClassifier):
    """Differentially private support vector classifier with a kernel.

    Two classes by a smoothed hinge, more by the joint Huber loss with one budget for all classes.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost.
    loss : "huber" or "smooth_hinge", default "huber"
        A hinge with a quadratic or a twice differentiable knee.
    h : float, default 1.0
        Half-width of the knee. It is wider than the 0.5 of ``privet.LinearSVC`` because under
        Gaussian noise kernel features get the least regularization that is proven, which is
        proportional to ``1/h``; the rule of the linear models stays above that floor.
    kernel, gamma, nu, n_frequencies, orthogonal, public_points, features, column_weights :
        As in ``KernelLogisticRegression``, and so are the attributes.
    mechanism, noise, calibration, regularization, fit_intercept, constant, classes, class_weight :
        As in ``KernelLogisticRegression``.
    standardize, column_bounds, ledger, dataset, insecure_seed :
        As in ``KernelLogisticRegression``.
    """

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        loss: Literal["huber", "smooth_hinge"] = "huber",
        h: float = 1.0,
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
            kernel=kernel,
            gamma=gamma,
            nu=nu,
            n_frequencies=n_frequencies,
            orthogonal=orthogonal,
            public_points=public_points,
            features=features,
            column_weights=column_weights,
            mechanism=mechanism,
            noise=noise,
            calibration=calibration,
            regularization=regularization,
            fit_intercept=fit_intercept,
            constant=constant,
            classes=classes,
            class_weight=class_weight,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
        self.loss = loss
        self.h = h

    def _loss(self, n_classes: int) -> Loss:
        return named_loss(self.loss, n_classes, self.h, self._opposite(), ("huber", "smooth_hinge"))

    def to_sklearn(self) -> Any:
        """The released model as scikit-learn knows it.

        Returns
        -------
        Pipeline
            The public map and a ``sklearn.svm.LinearSVC``.
        """
        from sklearn.svm import LinearSVC as Plain

        return exported(self, Plain())


#: Every kernel classifier by its name: what files may name and what the laws run over.
KERNEL_MODELS: dict[str, type[KernelClassifier]] = {
    model.__name__: model for model in (KernelLogisticRegression, KernelSVC)
}
