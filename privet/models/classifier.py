"""What the private classifiers share: declared classes, and the one with the largest score."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from privet._types import Array
from privet.ledger import Ledger
from privet.losses.loss import UNREDUCED
from privet.losses.multiclass import sum_zero_basis
from privet.mechanisms.trainer import NoiseChoice, ReleasedVector
from privet.models.featured import Standardize
from privet.models.fit import Fit
from privet.models.inputs import (
    class_weights,
    declared_classes,
    encode_labels,
    schema_classes,
    told_classes,
)
from privet.models.linear_model import PrivateLinearModel
from privet.models.preparation import preparation_for
from privet.privacy.budget import Budget, as_budget
from privet.schema import Schema


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]
    """Common contract of classifiers that are linear in the features or in a public map of them."""

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
        self.noise = noise
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

    def _counted(self, classes: NDArray[Any] | int) -> tuple[int, tuple[float, ...] | None]:
        if isinstance(classes, int) and self.class_weight is not None:
            classes = declared_classes(self.classes)  # weights are for classes by their names
        if isinstance(classes, int):
            return classes, None
        return len(classes), class_weights(self.class_weight, classes)

    def label_parameters(self, labels: NDArray[Any]) -> dict[str, Any]:
        """The classes, as a parameter of a copy.

        Parameters
        ----------
        labels : array
            The labels, which are looked at only where no classes are declared.

        Returns
        -------
        dict
            For ``set_params``.
        """
        return {"classes": declared_classes(self.classes, labels).tolist()}

    def refuse_undeclared(self, labels: NDArray[Any]) -> None:
        """Refuse labels that are not among the declared classes.

        Parameters
        ----------
        labels : array
            The labels.
        """
        encode_labels(labels, declared_classes(self.classes, labels))

    def _schema_label(self, schema: Schema) -> dict[str, Any]:
        return {"classes": schema_classes(self.classes, schema)}

    def _assumptions(self) -> tuple[str, ...]:
        told = [*self._told_table(), *self._told_public()]
        told.append(told_classes(self.classes))
        if self.class_weight is not None:
            told.append("the class weights")
        return tuple(told)

    # -- releasing -----------------------------------------------------------------------------

    def _publish(self, release: ReleasedVector, fit: Fit[Any]) -> None:
        """Released parameters in the user's units."""
        loss = fit.planned.mechanism.loss
        weights = release.value.reshape(loss.scores, -1)
        if loss.family not in UNREDUCED:
            weights = sum_zero_basis(loss.classes) @ weights
            if loss.classes == 2:  # two opposite rows say the same: keep the difference
                weights = weights[1:] - weights[:1]
        self._set_weights(weights)
        self._promise(release, fit)

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
        scores = self._scores(X)
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
            What leaves the least noise for what a row pulls, by a public rule of budget, rows,
            columns and declared domain (``privet/models/preparation.py``).
        """
        of_papers = self.calibration not in (None, "exact")
        if self.public_rows is not None and not self.maps_rows:
            return "whiten"
        if not self.takes_domain or self.maps_rows or of_papers:
            return None
        if self.center is not None:
            return "unit" if as_budget(self.budget).allows_gaussian else None
        return preparation_for(self, n, d)

    @abstractmethod
    def to_sklearn(self) -> Any:
        """A fitted scikit-learn estimator with the released coefficients."""


def probabilities(scores: Array) -> Array:
    """Class probabilities of log-odds, (n,) for two classes and (n, C) for more; shape (n, C)."""
    if scores.ndim == 1:
        found = np.empty((len(scores), 2))  # stacking takes longer than all else for one row
        expit(-scores, out=found[:, 0])
        expit(scores, out=found[:, 1])
        return found
    return np.asarray(softmax(scores, axis=1))
