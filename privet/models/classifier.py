"""What the private classifiers share: scores that are linear in a row's features.

The features are the columns, or a public map of them (``features=``, ``privet.models.fit``), after
a private standardization if it is asked for. Declarations become a mechanism, a released vector
becomes ``coef_`` and ``intercept_``.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from privet._types import Array
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.losses import Loss
from privet.losses.multiclass import sum_zero_basis
from privet.losses.weighted import Weighted
from privet.mechanisms import MECHANISMS, TRAINERS, Trainer
from privet.mechanisms.release import NoiseChoice, ReleasedVector
from privet.models.featured import FeaturedModel, Standardize
from privet.models.fit import Fit, Planned
from privet.models.inputs import (
    class_weights,
    declared_classes,
    schema_classes,
    table_shape,
    told_classes,
)
from privet.models.model_display import Displayed
from privet.models.model_file import save
from privet.models.raw_tables import encoded_features
from privet.models.standardize import (
    Stage,
    Standardization,
    declared_ranges,
    staged_budget,
)
from privet.models.whiten import Whitening, refuse_pure, worth_whitening
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.schema import Schema


class PrivateLinearClassifier(Displayed, ClassifierMixin, FeaturedModel):  # type: ignore[misc]
    """Common contract of classifiers that are linear in the features or in a public map of them."""

    released_names: ClassVar[tuple[str, ...]] = (
        "coef_",
        "intercept_",
        "classes_",
        "guarantee_",
        "regularization_",
        "schema_",
        "center_",
        "scale_",
        "whitening_",
    )

    #: what the model can be fitted by
    mechanisms: ClassVar[tuple[str, ...]] = tuple(MECHANISMS)

    regularization_: float

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        mechanism: str = "objective",
        noise: NoiseChoice = "auto",
        calibration: str | None = None,
        regularization: float | Literal["auto"] = "auto",
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        standardize: Standardize | None = None,
        column_bounds: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.budget = budget
        self.mechanism = mechanism
        self.noise: NoiseChoice = noise
        self.calibration = calibration
        self.regularization = regularization
        self.classes = classes
        self.class_weight = class_weight
        self.standardize = standardize
        self.column_bounds = column_bounds
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    @abstractmethod
    def _loss(self, n_classes: int) -> Loss:
        """The loss for this many classes."""

    def _mechanism(
        self,
        n_classes: int,
        weights: tuple[float, ...] | None,
        budget: Budget | None = None,
    ) -> Trainer:
        """The fit's mechanism; ``budget`` is its share where stages come before it."""
        if self.mechanism not in self.mechanisms:
            names = ", ".join(repr(name) for name in self.mechanisms)
            raise DeclarationError(f"mechanism must be one of {names}; got {self.mechanism!r}.")
        loss = self._loss(n_classes)
        return TRAINERS[self.mechanism](
            loss=loss if weights is None else Weighted(loss, weights),
            budget=as_budget(self.budget) if budget is None else budget,
            norm_bound=self._row_norm(),
            regularization=self.regularization,
            noise=self.noise,
            calibration=self.calibration,
            insecure_seed=self.insecure_seed,
            domain=self._mechanism_domain(),
        )

    def _stages(self, d: int, n_classes: int) -> tuple[Stage, ...]:
        """What is released before the fit, for a table with ``d`` columns."""
        if self.standardize not in (None, *get_args(Standardize)):
            raise DeclarationError(
                "standardize must be None, 'auto', 'private', 'unit' or 'whiten', got "
                f"{self.standardize!r}."
            )
        if self.standardize != "private" and self.column_bounds is not None:
            raise DeclarationError(
                "column_bounds are for standardize='private'; without it rows are bounded by "
                "norm_bound alone."
            )
        match self.standardize:
            case "private":
                ranges = declared_ranges(self.column_bounds, d)
                return (Standardization(ranges, self.insecure_seed),)
            case "whiten":
                refuse_pure(as_budget(self.budget))
                return (Whitening(self._sphere_rows(d), self.insecure_seed),)
            case "unit":
                self._sphere_rows(d)  # refuses a model that has a map of its own
        return ()

    def planned(self, n: int, d: int, classes: NDArray[Any] | int = 2) -> Planned:
        """What a fit would do and cost, from declarations and the table's shape.

        Parameters
        ----------
        n, d : int
            Rows and columns of the table.
        classes : array or int, default 2
            The classes in their order, or their number.

        Returns
        -------
        Planned
            Mechanism, design, stages and the one event. Nothing is drawn.
        """
        if isinstance(classes, int) and self.class_weight is not None:
            classes = declared_classes(self.classes)  # weights are for classes by their names
        count = classes if isinstance(classes, int) else len(classes)
        weights = None if isinstance(classes, int) else class_weights(self.class_weight, classes)
        parts = staged_budget(
            as_budget(self.budget), self._stages(d, count), n, gaussian=self._is_gaussian(count)
        )
        mechanism = self._mechanism(count, weights, parts.fit)
        design = mechanism.design(n, self._columns(n, d))
        return Planned(mechanism, design, parts, parts.event(design.event, n))

    def _is_gaussian(self, count: int) -> bool:
        """Whether Gaussian noise of the fit is that of a Gaussian mechanism, at little cost.

        On the minimizer and on gradients it is; in the objective it lies inside one, which is
        cheap for logistic loss alone.
        """
        return self.noise != "laplace" and (
            self.mechanism != "objective" or self._loss(count).jacobian_family == "logistic"
        )

    def _assumptions(self) -> tuple[str, ...]:
        named = " and the columns' names" if hasattr(self, "feature_names_in_") else ""
        told = [f"the number of rows and columns{named}"]
        if self.standardize == "private":
            told.append("each column's range, clipped to the declared column_bounds")
        told += self._told_features()
        told.append(told_classes(self.classes))
        if self.class_weight is not None:
            told.append("the class weights")
        return tuple(told)

    # -- releasing -----------------------------------------------------------------------------

    def _publish(self, release: ReleasedVector, fit: Fit[Any]) -> None:
        """Released parameters in the user's units."""
        loss = fit.planned.mechanism.loss
        weights = release.value.reshape(loss.scores, -1)
        if loss.family != "margin":
            weights = sum_zero_basis(loss.classes) @ weights
            if loss.classes == 2:  # two opposite rows say the same: keep the difference
                weights = weights[1:] - weights[:1]
        constant = self._constant()
        if constant is not None:
            self.coef_ = np.ascontiguousarray(weights[:, :-1])
            self.intercept_ = weights[:, -1] * constant
        else:
            self.coef_ = np.ascontiguousarray(weights)
            self.intercept_ = np.zeros(len(weights))
        self.classes_ = fit.classes
        self.regularization_ = release.event.regularization
        numerics = fit.planned.stages.numerics(release.numerics, release.event.n)
        constants = fit.planned.design.constants
        self.guarantee_ = Guarantee(fit.event, numerics, self._assumptions(), constants=constants)

    # -- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, (n,) for two classes and (n, C) for more.

        Rows are clipped as in training, so both are one function of a row. A model that carries a
        schema also takes raw tables, and encodes them as in training.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a raw table

        Returns
        -------
        array
            One column for each class; for two classes the second class's score alone.
        """
        check_is_fitted(self, "coef_")
        data = self._table(encoded_features(self, X), reset=False)
        view = self._view(table_shape(data)[1])
        scores = view.scores(data, self.coef_, self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely declared class of each row.

        Parameters
        ----------
        X : as in ``decision_function``

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on these rows, as scikit-learn computes it. It is NOT private.

        The number is computed from the rows without noise and no guarantee covers it: look at it,
        do not publish it. ``privet.evaluate`` releases an accuracy that is paid for.

        Parameters
        ----------
        X, y : rows and their labels
        sample_weight : array, optional
            Weights of the rows in the mean.

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    # -- schemas and files ---------------------------------------------------------------------

    def preparation(self, n: int, d: int) -> Standardize | None:
        """How ``n`` rows of ``d`` encoded columns are prepared where that is left to Privet.

        Parameters
        ----------
        n, d : int
            Rows and columns of the table.

        Returns
        -------
        "unit", "whiten" or None
            Gaussian noise is the same in every direction: rows get their full length, and alike
            directions where the matrix would be more than its noise. Pure noise has the shape of
            the declared domain, which this would bend: None.
        """
        budget = as_budget(self.budget)
        of_papers = self.calibration not in (None, "exact")
        if not budget.allows_gaussian or self.maps_rows or of_papers:
            return None
        return "whiten" if worth_whitening(budget, n, d + bool(self.fit_intercept)) else "unit"

    def schema_parameters(self, schema: Schema, *, stepped: bool = False) -> dict[str, Any]:
        """Parameters for rows that a schema encodes.

        The intercept goes where the encoded columns, used as they are, hold a constant already.
        Centered columns do not: private standardization takes the constant out of them; it uses
        the bounds that the encoding keeps by itself. Columns that are used as they are have the
        domain that the schema declares.

        Parameters
        ----------
        schema : Schema
            What is public about the table.
        stepped : bool, default False
            Whether other steps come between: what is constant after them is not known.

        Returns
        -------
        dict
            For ``set_params``.
        """
        options: dict[str, Any] = {"classes": schema_classes(self.classes, schema)}
        used_as_they_are = self.standardize != "private" and not self.maps_rows and not stepped
        if self.fit_intercept and schema.has_constant and used_as_they_are:
            options["fit_intercept"] = False
        if self.standardize == "private" and self.column_bounds is None:
            options["column_bounds"] = schema.column_bounds
        as_they_are = used_as_they_are and self.standardize in (None, "auto")
        declared = self.norm_bound != 1.0  # rows are clipped as the user says, to a ball
        if as_they_are and self.takes_domain and self.domain is None and not declared:
            options["domain"] = schema.domain
        return options

    def schema_carriers(self) -> tuple[Self]:
        """What a fit through a schema leaves that must carry it.

        Returns
        -------
        tuple
            The model itself.
        """
        return (self,)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the released model to a file; see ``privet.save``.

        Parameters
        ----------
        path : path of the file
        overwrite : whether another file of that name is replaced, default False
        """
        save(self, path, overwrite=overwrite)

    @abstractmethod
    def to_sklearn(self) -> Any:
        """A fitted scikit-learn estimator with the released coefficients."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def probabilities(scores: Array) -> Array:
    """Class probabilities of log-odds, (n,) for two classes and (n, C) for more; shape (n, C)."""
    if scores.ndim == 1:
        return np.stack([expit(-scores), expit(scores)], axis=1)
    return np.asarray(softmax(scores, axis=1))
