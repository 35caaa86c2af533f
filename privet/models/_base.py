"""What every private classifier does: check, charge, release, forget.

    ready      declarations checked -> event -> does it fit under the cap? -> NaN refused
    fit        ready -> ledger reserves -> release -> ledger settles
    release    labels encoded, rows bounded -> stages before the fit -> noise drawn, minimum
               certified -> attributes with a trailing underscore are set

Nothing that depends on the rows survives ``fit`` except what was released. A refused or failed fit
leaves no ``coef_``. What makes several releases at once (intervals, tuning) calls ``_ready`` and
``_release`` itself and reserves once for all of them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from privet.errors import DeclarationError
from privet.ledger.charge import Charge, check_ledger
from privet.losses import Loss
from privet.losses.multiclass import sum_zero_basis
from privet.losses.weighted import Weighted
from privet.mechanisms import MECHANISMS, Mechanism
from privet.mechanisms.release import Design, ReleasedVector
from privet.models._above import refuse_charge, why_not_covered
from privet.models._features import Features
from privet.models._numbers import table_shape
from privet.models._show import Shown
from privet.models.labels import class_weights, declared_classes, encode_labels, told_classes
from privet.models.stages import Shared, Stage, shared
from privet.models.standardize import Standardisation, declared_ranges
from privet.privacy import Event
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.rows import Rows

RELEASED = (
    "coef_",
    "intercept_",
    "classes_",
    "guarantee_",
    "regularization_",
    "schema_",
    "center_",
    "scale_",
)


@dataclass(frozen=True)
class Ready:
    """A fit that passed every public check and has cost nothing yet. It lives while ``fit`` runs.

    ``codes`` and ``rows`` look at the rows, refuse or log: they are for after the charge.
    """

    model: PrivateLinearClassifier
    data: Any
    labels: NDArray[Any]
    classes: NDArray[Any]
    mechanism: Mechanism
    design: Design
    shared: Shared  # the budget, between the fit and the stages that come before it
    event: Event  # what all of it will cost

    @cached_property
    def codes(self) -> NDArray[np.int_]:
        """Each row's class by its place; an undeclared label is refused, with the charge spent."""
        return encode_labels(self.labels, self.classes)

    @cached_property
    def rows(self) -> Rows:
        """What the mechanism reads; known once the stages have released what shapes it."""
        targets = self.mechanism.loss.targets(
            self.model._codes(self.data, self.codes, len(self.classes))
        )
        return self.model._rows(self.data, targets)


class PrivateLinearClassifier(Shown, Features, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Common contract of classifiers that are linear in the features or in a public map of them."""

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
        standardize: Literal["private"] | None = None,
        column_bounds: Any = None,
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
    ) -> Mechanism:
        """The fit's mechanism; ``budget`` is its share where stages come before it."""
        if self.mechanism not in MECHANISMS:
            names = " or ".join(repr(name) for name in sorted(MECHANISMS))
            raise DeclarationError(f"mechanism must be {names}, got {self.mechanism!r}.")
        loss = self._loss(n_classes)
        bound = self._bound()
        return MECHANISMS[self.mechanism](
            loss=loss if weights is None else Weighted(loss, weights),
            budget=as_budget(self.budget) if budget is None else budget,
            norm_bound=bound * math.sqrt(2.0) if self.fit_intercept else bound,
            regularization=self.regularization,
            noise=self.noise,
            calibration=self.calibration,
            insecure_seed=self.insecure_seed,
        )

    def _stages(self, d: int, n_classes: int) -> tuple[Stage, ...]:
        """What is released before the fit, for a table with ``d`` columns."""
        if self.standardize is None:
            if self.column_bounds is not None:
                raise DeclarationError(
                    "column_bounds are for standardize='private'; without it rows are bounded by "
                    "norm_bound alone."
                )
            return ()
        if self.standardize != "private":
            raise DeclarationError(
                f"standardize must be None or 'private', got {self.standardize!r}."
            )
        return (Standardisation(declared_ranges(self.column_bounds, d), self.insecure_seed),)

    def _planned(
        self, shape: tuple[int, int], n_classes: int, weights: tuple[float, ...] | None
    ) -> tuple[Mechanism, Design, Shared, Event]:
        """Mechanism, design, shares and the one event, from declarations and the table's shape."""
        n, d = shape
        parts = shared(as_budget(self.budget), self._stages(d, n_classes), n)
        mechanism = self._mechanism(n_classes, weights, parts.fit)
        design = mechanism.design(n, self._columns(d))
        return mechanism, design, parts, parts.event(design.event, n)

    def _assumptions(self) -> tuple[str, ...]:
        named = " and the columns' names" if hasattr(self, "feature_names_in_") else ""
        told = [f"the number of rows and columns{named}"]
        if self.standardize is not None:
            told.append("each column's range, clipped to the declared column_bounds")
        told += self._told_features()
        told.append(told_classes(self.classes))
        if self.class_weight is not None:
            told.append("the class weights")
        return tuple(told)

    def _told_features(self) -> list[str]:
        return [f"each row's features, clipped to Euclidean norm {self.norm_bound:g}"]

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, **refused: Any) -> Any:
        """Train on ``X`` (n x d, dense or sparse) and labels ``y``; spends the budget once.

        Rows above ``norm_bound`` are clipped. NaN or infinity in ``X`` is an error and costs
        nothing. A label outside ``classes`` is an error that costs the budget: whether there is one
        is private, and a refusal for nothing would tell.

        ``sample_weight`` is refused: a weight chosen after looking at the rows would let one record
        count for many, which no declared bound covers; use ``class_weight``.
        """
        self._forget()
        self._refuse(refused)
        why = why_not_covered()
        refuse_charge(why, self.ledger)
        ready = self._ready(X, y)
        charge = Charge(self.ledger, self.dataset, ready.event)
        with charge:
            self._release(ready)
        if why:
            self.guarantee_ = self.guarantee_.not_covered(why)
        return self._settled(charge.receipt)

    def _ready(self, X: Any, y: Any) -> Ready:
        """Forget an earlier fit and check everything that can be checked before a charge."""
        self._forget()
        check_ledger(self.ledger, self.dataset, self.insecure_seed)
        data, labels = self._numbers(X, y)
        ready = self._planned_for(data, labels, declared_classes(self.classes, labels))
        if self.ledger is not None:
            self.ledger.require(self.dataset, ready.event)
        self._refuse_unsound(data)
        return ready

    def _release(self, ready: Ready) -> Any:
        """Draw noise, minimise, publish. Whoever calls this has charged ``ready.event``."""
        try:
            ready.shared.run(self, ready.data, ready.codes)
            release = ready.mechanism.run(ready.rows, ready.design)
        except BaseException:
            self._forget()  # what the stages released has no guarantee to go with it
            raise
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

    def _revisit(self, X: Any, y: Any) -> Ready:
        """The rows of a fitted model again, checked as for the fit: intervals read them anew.

        They are seen through what the model's stages released.
        """
        data, labels = self._numbers(X, y, reset=False)
        self._refuse_unsound(data)
        return self._planned_for(data, labels, self.classes_)

    def _planned_for(self, data: Any, labels: NDArray[Any], classes: NDArray[Any]) -> Ready:
        weights = class_weights(self.class_weight, classes)
        planned = self._planned(table_shape(data), len(classes), weights)
        return Ready(self, data, labels, classes, *planned)

    def _publish(self, release: ReleasedVector, ready: Ready) -> None:
        """Released parameters in the user's units; everything here is post-processing."""
        weights = release.value.reshape(ready.mechanism.loss.scores, -1)
        loss, classes = ready.mechanism.loss, ready.classes
        if loss.family != "margin":
            weights = sum_zero_basis(loss.classes) @ weights
            if loss.classes == 2:  # two opposite rows say the same: keep the difference
                weights = weights[1:] - weights[:1]
        if self.fit_intercept:
            self.coef_ = np.ascontiguousarray(weights[:, :-1])
            self.intercept_ = weights[:, -1] * self._bound()
        else:
            self.coef_ = np.ascontiguousarray(weights)
            self.intercept_ = np.zeros(len(weights))
        self.classes_ = classes
        self.regularization_ = release.event.regularization
        numerics = ready.shared.numerics(release.numerics, release.event.n)
        self.guarantee_ = Guarantee(ready.event, numerics, self._assumptions())

    # -- telling -------------------------------------------------------------------------------

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on these rows, as scikit-learn computes it. It is NOT private.

        The number is computed from the rows without noise and no guarantee covers it: look at it,
        do not publish it. ``privet.evaluate`` releases an accuracy that is paid for.
        """
        return float(super().score(X, y, sample_weight))

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
