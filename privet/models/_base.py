"""What every private classifier does: check, charge, release, forget.

    ready      declarations checked -> does it fit under the cap? -> rows checked -> event
    fit        ready -> ledger reserves -> release -> ledger settles
    release    noise drawn, minimum certified -> attributes with a trailing underscore are set

Nothing that depends on the rows survives ``fit`` except what was released. A refused or failed fit
leaves no ``coef_``. What makes several releases at once (intervals, tuning) calls ``_ready`` and
``_release`` itself and reserves once for all of them.
"""

from __future__ import annotations

import logging
import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from privet.errors import DeclarationError, PrivetWarning
from privet.losses import Loss
from privet.losses.multiclass import sum_zero_basis
from privet.losses.weighted import Weighted
from privet.mechanisms import MECHANISMS, Mechanism
from privet.mechanisms.release import Design, Release
from privet.models._numbers import numbers
from privet.models._show import Shown
from privet.models.labels import class_weights, declared_classes, encode_labels
from privet.privacy import Event
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.privacy.ledger import Ledger
from privet.privacy.statement import statement
from privet.risk import norm_bound
from privet.rows import Rows
from privet.rows.arrays import (
    ArrayRows,
    block_rows,
    checked_rows,
    clip_factors,
    sound_sparse,
    squared_norms,
)
from privet.rows.base import Targets
from privet.rows.mapped import FeatureMap, MappedRows, mapped

Array = NDArray[np.float64]
LOGGER = logging.getLogger("privet")
RELEASED = (
    "coef_",
    "intercept_",
    "classes_",
    "guarantee_",
    "regularization_",
    "schema_",
)


@dataclass(frozen=True)
class Ready:
    """A fit that passed every check and has cost nothing yet. It lives while ``fit`` runs."""

    rows: Rows
    classes: NDArray[Any]
    mechanism: Mechanism
    design: Design

    @property
    def event(self) -> Event:
        """What the release will cost."""
        return self.design.event


class PrivateLinearClassifier(Shown, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Common contract of classifiers that are linear in the features or in a public map of them."""

    #: released arrays beside ``coef_`` and ``intercept_``: what a model file keeps of the map
    map_arrays: ClassVar[tuple[str, ...]] = ()

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
        bound = self._bound()
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
        ready = self._ready(X, y)
        if self.ledger is None:
            return self._release(ready)
        reservation = self.ledger.reserve(self.dataset, ready.event)
        self._release(ready)
        return self._settled(self.ledger.settle(reservation))

    def _ready(self, X: Any, y: Any) -> Ready:
        """Forget an earlier fit and check everything that can be checked before a charge."""
        self._forget()
        self._check_ledger()
        data, labels = self._numbers(X, y)
        self._check_cap(_shape(data))
        return self._check(data, labels)

    def _release(self, ready: Ready) -> Any:
        """Draw noise, minimise, publish. Whoever calls this has charged ``ready.event``."""
        release = ready.mechanism.run(ready.rows, ready.design)
        self._publish(release, ready)
        return self

    def _settled(self, receipt: Any) -> Any:
        """Keep where the ledger stood, for the model file and the statement."""
        self.guarantee_ = replace(self.guarantee_, receipt=receipt)
        return self

    def _forget(self) -> None:
        for name in (*RELEASED, *self.map_arrays):
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
            event = mechanism.event(shape[0], self._columns(shape[1]))
        self.ledger.require(self.dataset, event)

    def _revisit(self, X: Any, y: Any) -> Ready:
        """The rows of a fitted model again, checked as for the fit: intervals read them anew."""
        data, labels = self._numbers(X, y, reset=False)
        return self._check(data, labels, self.classes_)

    def _check(self, data: Any, labels: NDArray[Any], classes: NDArray[Any] | None = None) -> Ready:
        classes = declared_classes(self.classes, labels) if classes is None else classes
        codes = encode_labels(labels, classes)
        weights = class_weights(self.class_weight, classes)
        mechanism = self._mechanism(len(classes), weights)
        rows = self._rows(data, mechanism.loss.targets(codes))
        return Ready(rows, classes, mechanism, mechanism.design(rows.n, rows.m))

    def _numbers(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """The table as numbers; models on other objects override it."""
        return numbers(self, X, *y, reset=reset)

    # -- features ------------------------------------------------------------------------------

    def _feature_map(self, d: int, *, fitted: bool = False) -> FeatureMap | None:
        """The public map from ``d`` columns to features; None where the columns are the features.

        ``fitted``: rebuilt from released attributes, for prediction.
        """
        return None

    def _bound(self) -> float:
        """The norm bound of the features, without the constant column."""
        return norm_bound(self.norm_bound)

    def _columns(self, d: int) -> int:
        """Columns of the rows that a mechanism sees, for a table with ``d`` columns."""
        return d + bool(self.fit_intercept)

    def _rows(self, data: Any, targets: Targets) -> Rows:
        """Checked and bounded rows; whatever is wrong with them is refused here, uncharged."""
        constant = self._bound() if self.fit_intercept else None
        feature_map = self._feature_map(_shape(data)[1])
        if feature_map is not None:
            if hasattr(data, "dtype"):  # NaN must be refused before the charge, not in a block
                squared_norms(sound_sparse(data) if issparse(data) else data)
            return MappedRows(data, targets, feature_map, constant=constant)
        rows = checked_rows(
            data, targets, norm_bound=self._bound(), intercept=bool(self.fit_intercept)
        )
        _tell_clipped(rows)
        return rows

    def _publish(self, release: Release, ready: Ready) -> None:
        """Released parameters in the user's units; everything here is post-processing."""
        weights = release.value.reshape(ready.mechanism.loss.scores, -1)
        classes = ready.classes
        if ready.mechanism.loss.family != "margin":
            weights = sum_zero_basis(len(classes)) @ weights
            if len(classes) == 2:  # two opposite rows say the same: keep the difference
                weights = weights[1:] - weights[:1]
        if self.fit_intercept:
            self.coef_ = np.ascontiguousarray(weights[:, :-1])
            self.intercept_ = weights[:, -1] * self._bound()
        else:
            self.coef_ = np.ascontiguousarray(weights)
            self.intercept_ = np.zeros(len(weights))
        self.classes_ = classes
        self.regularization_ = ready.event.regularization
        self.guarantee_ = Guarantee(release.event, release.numerics, self._assumptions())

    # -- predicting ----------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each row, (n,) for two classes and (n, C) for more.

        Rows are clipped to ``norm_bound`` as in training, so both are one function of a row.
        """
        check_is_fitted(self, "coef_")
        data = self._numbers(X, reset=False)
        feature_map = self._feature_map(_shape(data)[1], fitted=True)
        if feature_map is None:
            data = sound_sparse(data) if issparse(data) else data
            scores = self._scores(data, clip_factors(data, self._bound()))
        else:
            size = block_rows(feature_map.columns)
            starts = range(0, _shape(data)[0], size)
            blocks = (mapped(feature_map, data[start : start + size]) for start in starts)
            scores = np.concatenate([self._scores(*block) for block in blocks])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, features: Any, factors: Array | None) -> Array:
        scores = np.asarray(features @ self.coef_.T, dtype=np.float64)
        if factors is not None:
            scores *= factors[:, None]
        scores += self.intercept_
        return scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely declared class of each row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def _width(self) -> int:
        """How many features ``coef_`` has."""
        return int(self.n_features_in_)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _shape(data: Any) -> tuple[int, int]:
    """Rows and columns; objects without columns, strings for example, have none."""
    shape = np.shape(data) if not hasattr(data, "shape") else data.shape
    return int(shape[0]), int(shape[1]) if len(shape) > 1 else 0


def _tell_clipped(rows: ArrayRows) -> None:
    if rows.clipped:  # to the curator's terminal; neither kept nor released
        LOGGER.warning(
            "%d of %d rows are longer than norm_bound and were scaled down. For the curator's "
            "eyes only: if they are many, scale the columns by declared bounds.",
            rows.clipped,
            rows.n,
        )
