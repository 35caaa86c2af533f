"""The large-margin Gaussian classifier: a private quadratic discriminant for many classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from privet._checks import positive
from privet.errors import DeclarationError
from privet.losses import JointHuber, Loss, Softmax
from privet.mechanisms import Mechanism, ObjectivePerturbation
from privet.models._products import ProductFeatures
from privet.models.ellipsoids import Ellipsoid, ellipsoids, stretched
from privet.models.exported import exported
from privet.models.lifted import COVARIANCES
from privet.models.mixtures import Centers, declared_centers
from privet.models.stages import Stage
from privet.privacy.budget import Budget

Array = NDArray[np.float64]
# Products of columns vary little in most directions, so that a ridge biases more than noise hurts:
# the default rule is a tenth of the linear models', and at its floor the Jacobian of Gaussian noise
# may take three tenths of the budget.
DEFAULT_FACTOR = 0.1
JACOBIAN_SHARE = 0.3


class LargeMarginGaussian(ProductFeatures):
    """Differentially private Gaussian classifier with large margins.

    Each class is an ellipsoid (or several): a row belongs to the class with the smallest squared
    Mahalanobis distance plus offset. All classes are trained together under one budget, in features
    that are products of a row's entries (Pathak and Raj 2010, after Sha and Saul 2006, with the
    privacy proof put right).

    Parameters
    ----------
    budget : float, PureDP, ZCDP or ApproxDP, default 1.0
        What one fit may cost. A number is the epsilon of pure differential privacy.
    loss : "softmax" or "huber", default "softmax"
        Softmax is more accurate for more than two classes and gives probabilities; "huber" is the
        paper's: every wrong class must stay a margin behind.
    margin, h : float, default 1.0 and 0.5
        Margin of the Huber loss and half-width of its knee.
    covariance : "full", "diagonal" or "spherical", default "full"
        The shape of the ellipsoids; fewer features need less noise.
    components : int, default 1
        Ellipsoids per class. Rows are assigned to the nearest centre of their class.
    centers : array (K, d) or (C, K, d), or None, default None
        Public centres of the components, in the units of the columns. None places them by noisy
        k-means with five per cent of the budget.
    constant : float, default 0.5
        The constant appended to each row, in units of ``norm_bound``.
    mechanism, noise, regularization, norm_bound, classes, class_weight, standardize,
    column_bounds, ledger, dataset, insecure_seed :
        As in ``LogisticRegression``. Centred and scaled columns matter here: use
        ``standardize="private"`` unless the columns are on one scale already.
    calibration : None, "exact" or "wang2018", default None
        The noise rule; see ``LogisticRegression``.

    Attributes
    ----------
    coef_ : half-vectorised class matrices, one row per class and component (two classes: one row)
    classes_, guarantee_, regularization_, center_, scale_ : as in ``LogisticRegression``
    centers_ : privately placed centres, in units of clipped rows over ``norm_bound``

    Examples
    --------
    >>> import numpy as np
    >>> from privet import LargeMarginGaussian
    >>> X = np.random.default_rng(0).uniform(-0.7, 0.7, size=(20000, 2))
    >>> inside = np.linalg.norm(X, axis=1) < 0.5
    >>> model = LargeMarginGaussian(budget=2.0).fit(X, inside)
    >>> model.predict([[0.1, 0.0], [0.6, 0.6]])
    array([ True, False])
    """

    map_arrays = ("centers_",)
    fit_intercept = False  # the constant is among the features
    centers_: Array

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        loss: Literal["softmax", "huber"] = "softmax",
        margin: float = 1.0,
        h: float = 0.5,
        covariance: Literal["full", "diagonal", "spherical"] = "full",
        components: int = 1,
        centers: Any = None,
        constant: float = 0.5,
        mechanism: str = "objective",
        noise: Literal["auto", "laplace", "gaussian"] = "auto",
        calibration: str | None = None,
        regularization: float | Literal["auto"] = "auto",
        norm_bound: float = 1.0,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        standardize: Literal["private"] | None = None,
        column_bounds: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(
            budget,
            mechanism=mechanism,
            noise=noise,
            calibration=calibration,
            regularization=regularization,
            norm_bound=norm_bound,
            classes=classes,
            class_weight=class_weight,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
        del self.fit_intercept  # not a parameter of this model
        self.loss = loss
        self.margin = margin
        self.h = h
        self.covariance = covariance
        self.components = components
        self.centers = centers
        self.constant = constant

    # -- declarations --------------------------------------------------------------------------

    def _check_declared(self) -> None:
        if self.loss not in ("softmax", "huber"):
            raise DeclarationError(f"loss must be 'softmax' or 'huber', got {self.loss!r}.")
        if self.covariance not in COVARIANCES:
            raise DeclarationError(
                f"covariance must be 'full', 'diagonal' or 'spherical', got {self.covariance!r}."
            )
        whole = isinstance(self.components, int | np.integer)
        if isinstance(self.components, bool) or not whole or self.components < 1:
            raise DeclarationError("components must be an integer of at least 1.")
        if self.centers is not None and self.components == 1:
            raise DeclarationError("centers are for components of at least 2.")
        positive("constant", self.constant)

    def _loss(self, n_classes: int) -> Loss:
        self._check_declared()
        parts = n_classes * int(self.components)
        if self.loss == "softmax":
            return Softmax(parts)
        # the products of two rows' features are never negative, see ``lifted.py``
        lifted = self.covariance != "diagonal"
        return JointHuber(parts, self.h, self.margin, lifted=lifted)

    def _mechanism(
        self, n_classes: int, weights: tuple[float, ...] | None, budget: Budget | None = None
    ) -> Mechanism:
        if weights is not None:  # a component weighs what its class weighs
            weights = tuple(np.repeat(weights, int(self.components)).tolist())
        if self.calibration == "pathak2010":
            raise DeclarationError(
                "calibration='pathak2010' is not private and was removed from the library; the "
                "repository keeps it for comparison in reproduce/pathak2010.py. Leave "
                "calibration=None."
            )
        made = super()._mechanism(n_classes, weights, budget)
        if isinstance(made, ObjectivePerturbation):
            return replace(made, jacobian_share=JACOBIAN_SHARE, default_factor=DEFAULT_FACTOR)
        return made

    def _stages(self, d: int, n_classes: int) -> tuple[Stage, ...]:
        self._check_declared()
        stages = super()._stages(d, n_classes)
        if self.components == 1:
            return stages
        if self.centers is not None:
            declared_centers(self.centers, n_classes, int(self.components), d)  # refuses
            return stages
        return (*stages, Centers(n_classes, int(self.components), d, self.insecure_seed))

    def _assumptions(self) -> tuple[str, ...]:
        told = super()._assumptions()
        return (*told, "the centers of the components") if self.centers is not None else told

    # -- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, (n,) for two classes and (n, C) for more; larger is more likely.

        A class with several components scores by all of them (softmax) or by its best (huber).
        """
        scores = super().decision_function(X)
        if self.components == 1:
            return scores
        parts = scores.reshape(len(scores), len(self.classes_), -1)
        joint = logsumexp(parts, axis=2) if self.loss == "softmax" else parts.max(axis=2)
        return np.asarray(joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint)

    @available_if(lambda self: self.loss == "softmax")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities, shape (n, C), in the order of ``classes_``; with softmax only."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        return np.asarray(softmax(scores, axis=1))

    @available_if(lambda self: self.loss == "softmax")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))

    # -- telling -------------------------------------------------------------------------------

    def ellipsoids(self) -> list[Ellipsoid]:
        """Mean, covariance and offset of each class and component, in the units of the columns.

        Post-processing of the release. Distances from them order the classes as ``predict`` does,
        for rows within the declared bounds (others are clipped first).
        """
        check_is_fitted(self, "coef_")
        lifted = self._lifted(int(self.n_features_in_))
        weights = (
            self.coef_ if len(self.coef_) > 1 else np.stack([-self.coef_[0], self.coef_[0]]) / 2
        )
        labels = np.repeat(self.classes_, int(self.components))
        found = ellipsoids(-lifted.matrices(weights), lifted.constant, labels)
        if self.standardize is None:
            return found
        return [stretched(one, self.center_, self.scale_) for one in found]

    def plot(self, ax: Any = None, *, reach: float | None = None) -> Any:
        """Draw the ellipses and regions of a model of two columns; returns the axes."""
        from privet.models.ellipse_plot import plot_ellipses

        return plot_ellipses(self, ax, reach)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn pipeline: the public map, then a plain linear model."""
        from sklearn.linear_model import LogisticRegression as Plain

        if self.components > 1:
            raise DeclarationError("scikit-learn has no linear model with components per class.")
        return exported(self, Plain())
