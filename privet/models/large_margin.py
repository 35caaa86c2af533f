"""The large-margin Gaussian classifier: a private quadratic discriminant for many classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from privet._checks import norm_bound, positive, positive_whole
from privet._types import Array, Codes
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.losses import JointHuber, Loss, Softmax
from privet.mechanisms import ObjectivePerturbation, Trainer
from privet.models.classifier import PrivateLinearClassifier, probabilities
from privet.models.export import exported
from privet.models.inputs import table_shape
from privet.models.lifted import (
    COVARIANCES,
    Ellipsoid,
    Lifted,
    checked_columns,
    curvature_spread,
    ellipsoids,
    lifted_names,
    plot_ellipses,
    stretched,
)
from privet.models.mixtures import Centers, components_of, declared_centers, unit_centers, unit_rows
from privet.models.standardize import Stage, declared_ranges
from privet.privacy.budget import Budget
from privet.rows.mapped import FeatureMap

# Products of columns vary little in most directions, so that a ridge biases more than noise hurts:
# the default rule is a tenth of the linear models', and at its floor the Jacobian of Gaussian noise
# may take three tenths of the budget; of (epsilon, delta) a tenth up to 1, then epsilon tenths.
DEFAULT_FACTOR = 0.1
JACOBIAN_SHARE = 0.3


class LargeMarginGaussian(PrivateLinearClassifier):
    """Differentially private Gaussian classifier with large margins.

    Each class is an ellipsoid (or several): a row belongs to the class with the smallest squared
    Mahalanobis distance plus offset. All classes are trained together under one budget, in features
    that are products of a row's entries (Pathak and Raj 2010, after Sha and Saul 2006, with the
    privacy proof put right).

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost. A number is the epsilon of pure differential privacy.
    loss : "softmax" or "huber", default "softmax"
        Softmax is more accurate for more than two classes and gives probabilities; "huber" is the
        paper's: every wrong class must stay a margin behind.
    margin : float, default 1.0
        Margin of the Huber loss.
    h : float, default 0.5
        Half-width of the Huber loss's knee.
    covariance : "full", "diagonal" or "spherical", default "full"
        The shape of the ellipsoids; fewer features need less noise.
    components : int, default 1
        Ellipsoids per class. Rows are assigned to the nearest center of their class.
    centers : array (K, d) or (C, K, d), or None, default None
        Public centers of the components, in the units of the columns. None places them by noisy
        k-means with five per cent of the budget.
    constant : float, default 0.5
        The constant appended to each row, in units of ``norm_bound``.
    mechanism : "objective" or "output", default "objective"
        Where the noise goes: into the objective (more accurate) or onto the minimizer.
    noise : "auto", "laplace" or "gaussian", default "auto"
        By the budget's kind; the smaller one where both are allowed.
    calibration : None, "exact" or "wang2018", default None
        The noise rule; see ``LogisticRegression``.
    regularization : float or "auto", default "auto"
        Lam of the mean objective; "auto" is a tenth of the linear models' public rule.
    norm_bound : float, default 1.0
        Rows are clipped to this Euclidean norm before products are taken.
    classes : list, None or "observed", default None
        Every possible label; of two, the second is the positive one, whatever the alphabet says.
        None declares booleans, or numbers that are 0 or 1; "observed" reads them from y and thereby
        declares the observed set public.
    class_weight : dict or None, default None
        Public weights per class; the noise pays for the largest.
    standardize : None or "private", default None
        Centered and scaled columns matter here: use "private" unless the columns are on one scale
        already; see ``LogisticRegression``.
    column_bounds : (low, high), two numbers or two lists, default None
        Declared ranges of the columns for ``standardize``; values outside are clipped to them.
    ledger : Ledger or None, default None
        Where the fit is charged. Without one the guarantee covers this one fit.
    dataset : str or None, default None
        The ledger's name for the data set to charge.
    insecure_seed : int or None, default None
        For tests and studies only: the release is stamped as not private.

    Attributes
    ----------
    coef_ : array
        Half-vectorized class matrices, one row per class and component (two classes: one row).
    intercept_ : array
        Zero: the constant is among the features.
    classes_, guarantee_, regularization_, center_, scale_ : as in ``LogisticRegression``
    centers_ : array of shape (C, K, d)
        Privately placed centers, in units of clipped rows over ``norm_bound``.

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
        self.norm_bound = norm_bound
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
        positive_whole("components", self.components, "an integer of at least 1")
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
        self,
        n_classes: int,
        weights: tuple[float, ...] | None,
        budget: Budget | None = None,
        name: str | None = None,
    ) -> Trainer:
        if weights is not None:  # a component weighs what its class weighs
            weights = tuple(np.repeat(weights, int(self.components)).tolist())
        made = super()._mechanism(n_classes, weights, budget, name)
        if isinstance(made, ObjectivePerturbation):
            epsilon, _, delta, _ = made.budget.numbers
            share = max(0.1 * epsilon, 0.1) if epsilon and delta > 0.0 else JACOBIAN_SHARE
            share = min(share, JACOBIAN_SHARE)
            return replace(made, jacobian_share=share, default_factor=DEFAULT_FACTOR)
        return made

    def _stages(self, d: int, n_classes: int) -> tuple[Stage, ...]:
        self._check_declared()
        stages = super()._stages(d, n_classes)
        if self.components == 1:
            return stages
        if self.centers is not None:
            declared_centers(self.centers, n_classes, int(self.components), d)  # refuses
            return stages
        ranges = None if self.standardize is None else declared_ranges(self.column_bounds, d)
        parts, seed = int(self.components), self.insecure_seed
        return (*stages, Centers(n_classes, parts, self._lifted(d), ranges, seed))

    def _assumptions(self) -> tuple[str, ...]:
        told = super()._assumptions()
        return (*told, "the centers of the components") if self.centers is not None else told

    def _lifted(self, d: int) -> Lifted:
        self._check_declared()
        bound = norm_bound(self.norm_bound)
        return Lifted(d, bound, positive("constant", self.constant) * bound, self.covariance)

    def _feature_map(self, d: int) -> FeatureMap:
        return self._lifted(d)

    @property
    def maps_rows(self) -> bool:
        """True: features are products of columns."""
        return True

    def _bound(self) -> float:
        return norm_bound(self._lifted(1).norm)

    def _columns(self, n: int, d: int) -> int:
        return checked_columns(self._lifted(d))

    def _codes(self, data: Any, codes: Codes, n_classes: int) -> Codes:
        if self.components == 1:
            return codes
        d = table_shape(data)[1]
        lifted, first = self._lifted(d), self._standardizer(d)
        if self.centers is None:
            centers = self.centers_
        else:
            declared = declared_centers(self.centers, n_classes, int(self.components), d)
            centers = unit_centers(declared, lifted, first)
        return components_of(unit_rows(data, codes, lifted, first), centers)

    def _width(self) -> int:
        return self._columns(0, int(self.n_features_in_))

    def _score_rows(self) -> int:
        parts = len(self.classes_) * int(self.components)
        return 1 if parts == 2 else parts

    def _score_names(self) -> list[str]:
        parts = int(self.components)
        if parts == 1:
            return super()._score_names()
        return [f"{label}, part {k + 1}" for label in self.classes_ for k in range(parts)]

    def _feature_names(self, columns: list[str]) -> list[str]:
        return self._lifted(len(columns)).feature_names(columns)

    def _term_names(self, columns: list[str]) -> list[str]:
        return lifted_names(columns, self.covariance)

    def _feature_steps(self, d: int) -> Array:
        return self._lifted(d).steps

    def _curvature_spread(self, parameters: int) -> float:
        return curvature_spread(parameters)

    @property
    def released_arrays(self) -> tuple[str, ...]:
        """Names of the arrays that a model file keeps beside ``coef_`` and ``intercept_``."""
        placed = self.components > 1 and self.centers is None
        return tuple(name for name in super().released_arrays if placed or name != "centers_")

    def is_consistent(self) -> bool:
        """Whether the arrays of a model file fit its classes and columns."""
        shape = (len(self.classes_), self.components, self.n_features_in_)
        return super().is_consistent() and (
            "centers_" not in self.released_arrays or self.centers_.shape == shape
        )

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
        return probabilities(self.decision_function(X))

    @available_if(lambda self: self.loss == "softmax")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of ``predict_proba``."""
        return np.asarray(np.log(self.predict_proba(X)))

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
        return plot_ellipses(self, ax, reach)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn pipeline: the public map, then a plain linear model."""
        from sklearn.linear_model import LogisticRegression as Plain

        if self.components > 1:
            raise DeclarationError("scikit-learn has no linear model with components per class.")
        return exported(self, Plain())
