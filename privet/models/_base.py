"""What every private classifier does: check, charge, release, forget.

    declarations checked -> rows checked and bounded -> event -> ledger reserves -> noise drawn,
    minimum certified -> ledger settles -> attributes with a trailing underscore are set

Nothing that depends on the rows survives ``fit`` except what was released. A refused or failed fit
leaves no ``coef_``.
"""

from __future__ import annotations

import html
import logging
import math
import warnings
from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from privet.errors import DataError, DeclarationError, PrivetWarning
from privet.losses import Loss
from privet.losses.multiclass import sum_zero_basis
from privet.losses.weighted import Weighted
from privet.mechanisms import MECHANISMS, Mechanism
from privet.models.labels import class_weights, declared_classes, encode_labels
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.privacy.ledger import Ledger
from privet.privacy.statement import statement
from privet.risk import norm_bound
from privet.rows.arrays import ArrayRows, checked_rows, clip_factors, sound_sparse

Array = NDArray[np.float64]
LOGGER = logging.getLogger("privet")
# What scikit-learn says when it quotes cells, and what is said instead.
QUOTING = {
    "could not convert": (
        "The table holds text where numbers are expected. Encode text columns as numbers with "
        "declared categories first."
    ),
    "Complex data": "Complex data not supported: the table and the labels must hold real numbers.",
    "array=": "Expected a table with two dimensions, one row per person. Reshape your data.",
}
RELEASED = ("coef_", "intercept_", "classes_", "guarantee_", "regularization_", "schema_")


class PrivateLinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Common contract of the linear classifiers; see ``LogisticRegression`` and ``LinearSVC``."""

    coef_: Array
    intercept_: Array
    classes_: NDArray[Any]
    guarantee_: Guarantee
    regularization_: float

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        mechanism: str = "objective",
        noise: Literal["auto", "laplace", "gaussian"] = "auto",
        calibration: str | None = None,
        regularization: float | Literal["auto"] = "auto",
        norm_bound: float = 1.0,
        fit_intercept: bool = True,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.budget = budget
        self.mechanism = mechanism
        self.noise = noise
        self.calibration = calibration
        self.regularization = regularization
        self.norm_bound = norm_bound
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.class_weight = class_weight
        self.ledger = ledger
        self.dataset = dataset
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    @abstractmethod
    def _loss(self, n_classes: int) -> Loss:
        """The loss for this many classes."""

    def _mechanism(self, n_classes: int, weights: tuple[float, ...] | None) -> Mechanism:
        if self.mechanism not in MECHANISMS:
            names = " or ".join(repr(name) for name in sorted(MECHANISMS))
            raise DeclarationError(f"mechanism must be {names}, got {self.mechanism!r}.")
        loss = self._loss(n_classes)
        bound = norm_bound(self.norm_bound)
        return MECHANISMS[self.mechanism](
            loss=loss if weights is None else Weighted(loss, weights),
            budget=as_budget(self.budget),
            norm_bound=bound * math.sqrt(2.0) if self.fit_intercept else bound,
            regularization=self.regularization,
            noise=self.noise,
            calibration=self.calibration,
            insecure_seed=self.insecure_seed,
        )

    def _check_ledger(self) -> None:
        if self.ledger is None:
            if self.dataset is not None:  # the statement would name an account that nobody charged
                raise DeclarationError(
                    "dataset= names an account in a ledger, but there is no ledger."
                )
            return
        if not isinstance(self.ledger, Ledger):
            raise DeclarationError(
                "ledger must be a Ledger, for example Ledger('sqlite:///budget.db')."
            )
        if not isinstance(self.dataset, str) or not self.dataset:
            raise DeclarationError("With a ledger, dataset= must name the data set to charge.")
        if self.insecure_seed is not None:
            raise DeclarationError(
                "A ledger refuses seeded noise: drop insecure_seed, or fit without a ledger."
            )

    def _assumptions(self) -> tuple[str, ...]:
        features = f"each row's features, clipped to Euclidean norm {self.norm_bound:g}"
        if isinstance(self.classes, str):
            labels = "the set of classes, read from the labels and declared public by the user"
        elif self.classes is None:
            labels = "the coding of the two classes (0/1, -1/+1 or false/true)"
        else:
            labels = "the set of classes"
        told = ["the number of rows and columns", features, labels]
        if self.class_weight is not None:
            told.append("the class weights")
        return tuple(told)

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, **refused: Any) -> Any:
        """Train on ``X`` (n x d, dense or sparse) and labels ``y``; spends the budget once.

        Rows above ``norm_bound`` are clipped. NaN, infinity or an undeclared label is an error
        and costs nothing. ``sample_weight`` is refused: a weight chosen after looking at the rows
        would let one record count for many, which no declared bound covers; use ``class_weight``.
        """
        self._forget()
        self._refuse(refused)
        self._check_ledger()
        data, labels = self._numbers(X, y)
        self._check_cap(data.shape)
        rows, classes, mechanism = self._check(data, labels)
        if rows.clipped:  # to the curator's terminal; neither kept nor released
            LOGGER.warning(
                "%d of %d rows are longer than norm_bound and were scaled down. For the curator's "
                "eyes only: if they are many, scale the columns by declared bounds.",
                rows.clipped,
                rows.n,
            )
        design = mechanism.design(rows.n, rows.m)
        event = design.event
        reservation = None if self.ledger is None else self.ledger.reserve(self.dataset, event)
        release = mechanism.run(rows, design)
        if reservation is not None:
            self.ledger.settle(reservation)
        self._publish(release.value, mechanism, classes)
        self.regularization_ = event.regularization
        self.guarantee_ = Guarantee(event, release.numerics, self._assumptions())
        return self

    def _forget(self) -> None:
        for name in RELEASED:
            self.__dict__.pop(name, None)

    @staticmethod
    def _refuse(unknown: dict[str, Any]) -> None:
        if unknown.get("sample_weight") is not None:
            raise DeclarationError(
                "sample_weight is refused: a per-row weight changes what one record can do and no "
                "declared bound covers it. Use class_weight with public weights instead."
            )
        extra = sorted(set(unknown) - {"sample_weight"})
        if extra:
            raise TypeError(f"fit() got an unexpected keyword argument {extra[0]!r}")

    def _check_cap(self, shape: tuple[int, int]) -> None:
        """Refuse what does not fit under the cap by the table's shape, before any value counts."""
        if self.ledger is None or isinstance(self.classes, str):
            return
        classes = np.array([0, 1]) if self.classes is None else declared_classes(self.classes)
        weights = None if self.classes is None else class_weights(self.class_weight, classes)
        mechanism = self._mechanism(len(classes), weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivetWarning)  # the fit itself will say it
            event = mechanism.event(shape[0], shape[1] + bool(self.fit_intercept))
        self.ledger.require(self.dataset, event)

    def _check(self, data: Any, labels: NDArray[Any]) -> tuple[ArrayRows, NDArray[Any], Mechanism]:
        classes = declared_classes(self.classes, labels)
        codes = encode_labels(labels, classes)
        weights = class_weights(self.class_weight, classes)
        mechanism = self._mechanism(len(classes), weights)
        rows = checked_rows(
            data,
            mechanism.loss.targets(codes),
            norm_bound=norm_bound(self.norm_bound),
            intercept=bool(self.fit_intercept),
        )
        return rows, classes, mechanism

    def _numbers(self, X: ArrayLike, *y: ArrayLike, reset: bool = True) -> Any:
        """scikit-learn's own validation, without its habit of quoting what it refuses."""
        if any(np.ma.isMaskedArray(part) for part in (X, *y)):
            raise DataError("Masked arrays are refused. Fill the masked values before fitting.")
        try:
            return validate_data(
                self,
                X,
                *y,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
            )
        except ValueError as error:
            reasons = [told for sign, told in QUOTING.items() if sign in str(error)]
            if not reasons:
                raise
        raise DataError(reasons[0])  # outside of the handler, which would quote the cell

    def _publish(self, value: Array, mechanism: Mechanism, classes: NDArray[Any]) -> None:
        """Released parameters in the user's units; everything here is post-processing."""
        weights = value.reshape(mechanism.loss.scores, -1)
        if mechanism.loss.family != "margin":
            weights = sum_zero_basis(len(classes)) @ weights
            if len(classes) == 2:  # two opposite rows say the same: keep the difference
                weights = weights[1:] - weights[:1]
        if self.fit_intercept:
            self.coef_ = np.ascontiguousarray(weights[:, :-1])
            self.intercept_ = weights[:, -1] * float(self.norm_bound)
        else:
            self.coef_ = np.ascontiguousarray(weights)
            self.intercept_ = np.zeros(len(weights))
        self.classes_ = classes

    # -- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, (n,) for two classes and (n, C) for more.

        Rows are clipped to ``norm_bound`` as in training, so both are one function of a row.
        """
        check_is_fitted(self, "coef_")
        data = self._numbers(X, reset=False)
        data = sound_sparse(data) if issparse(data) else data
        factors = clip_factors(data, float(self.norm_bound))
        scores = np.asarray(data @ self.coef_.T, dtype=np.float64)
        if factors is not None:
            scores *= factors[:, None]
        scores += self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely declared class of each row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    # -- telling -------------------------------------------------------------------------------

    def statement(self) -> str:
        """The privacy statement of the fitted model, as text."""
        check_is_fitted(self, "guarantee_")
        return statement(
            self.guarantee_,
            model=type(self).__name__,
            ledger=self.dataset,
        )

    def save(self, path: Any) -> None:
        """Write the released model to ``path``; see ``privet.save``."""
        from privet.store import save

        save(self, path)

    @abstractmethod
    def to_sklearn(self) -> Any:
        """A fitted scikit-learn estimator with the released coefficients."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        guarantee = self.__dict__.get("guarantee_")
        return text if guarantee is None else f"{text}\nreleased with {guarantee}"

    def _repr_html_(self) -> str:
        """scikit-learn's diagram with the guarantee under it, for notebooks."""
        diagram = estimator_html_repr(self)
        guarantee = self.__dict__.get("guarantee_")
        if guarantee is None:
            return str(diagram)
        facts = {
            "Guarantee": str(guarantee),
            "Theorem": guarantee.theorem,
            "Neighbours": guarantee.neighbours,
            "Numerics": guarantee.numerics,
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in facts.items()
        )
        return f"{diagram}<table>{cells}</table>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
