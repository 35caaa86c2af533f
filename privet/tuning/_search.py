"""What the searches share: check, charge once, fit, choose, publish the best.

    declarations -> one event for the whole search -> does it fit under the cap? -> NaN refused ->
    ledger reserves -> labels checked, candidates trained, scored, chosen -> ledger settles ->
    ``best_*_`` set

The best model carries the guarantee of the whole search: choosing it looked at all of the rows.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from privet.errors import DeclarationError, PrivetWarning, quietly
from privet.grid import opendp
from privet.ledger.charge import Charge, check_ledger
from privet.mechanisms.search import Index, SearchDesign
from privet.models.callers import refuse_charge, why_not_covered
from privet.models.inputs import declared_classes, encode_labels
from privet.models.tables import encoded
from privet.privacy import Budget, Event, as_budget
from privet.privacy.guarantee import Guarantee
from privet.randomness import Randomness, source
from privet.schema import Schema
from privet.schema.tables import is_table
from privet.tuning.candidates import checked_candidates, model_for, only_regularization, refuse_rows

FOUND = (
    "best_estimator_",
    "best_params_",
    "best_index_",
    "best_score_",
    "classes_",
    "guarantee_",
    "n_features_in_",
    "schema_",
)


class TuningAdvice(PrivetWarning):
    """The default rule, which is free, is likely to be better than this search."""


@dataclass(frozen=True)
class Table:
    """Rows and labels; lives while ``fit`` runs."""

    x: Any
    y: NDArray[Any]
    classes: list[Any]

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.y)


@dataclass(frozen=True)
class Shape:
    """What is public about the table: rows, and roughly how many parameters a model has."""

    n: int
    parameters: int


@dataclass(frozen=True)
class Found:
    """What a search releases."""

    index: int
    model: Any
    score: float | None = None


class PrivateSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Common contract of the searches; see ``PartitionSearch`` and its siblings."""

    estimator: Any
    candidates: Any
    budget: Any
    ledger: Any
    dataset: str | None
    n_jobs: int | None
    insecure_seed: int | None
    best_estimator_: Any
    best_params_: dict[str, Any]
    guarantee_: Guarantee
    classes_: NDArray[Any]

    # -- what each search is -------------------------------------------------------------------

    @abstractmethod
    def _design(self, shape: Shape, m: int) -> SearchDesign:
        """What the fits of ``m`` candidates may spend, how they are chosen, and the event."""

    @abstractmethod
    def _check_candidates(
        self, table: Table, shape: Shape, candidates: Sequence[dict[str, Any]]
    ) -> None:
        """Refuse, uncharged, what a candidate's fit would refuse."""

    @abstractmethod
    def _search(
        self,
        table: Table,
        shape: Shape,
        candidates: Sequence[dict[str, Any]],
        randomness: Randomness,
    ) -> Found:
        """Train, score and choose. Whoever calls this has charged the event."""

    # -- the common road -----------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Search on ``X`` and ``y``; spends the budget once, for everything."""
        for name in FOUND:
            self.__dict__.pop(name, None)
        why = why_not_covered()
        refuse_charge(why, self.ledger)
        candidates = checked_candidates(self.estimator, self.candidates)
        check_ledger(self.ledger, self.dataset, self.insecure_seed)
        first = model_for(self.estimator, candidates[0], budget=self._whole())
        rows = first.read(X, y)
        data, labels = rows.x, rows.labels
        refuse_rows(candidates, X)
        shape = self._shape(data, len(labels), first)
        event = self._design(shape, len(candidates)).event
        if self.ledger is not None:
            self.ledger.require(self.dataset, event)
        classes = declared_classes(self.estimator.classes, labels)
        table = Table(data, labels, classes.tolist())
        self._check_candidates(table, shape, candidates)
        self._advise(candidates)
        if event.private:
            opendp("A private choice")  # where it is missing, before the charge
        charge = Charge(self.ledger, self.dataset, event)
        with charge:
            encode_labels(labels, classes)  # an undeclared label is refused wherever its row is
            first.report_clipped(data)
            found = self._search(table, shape, candidates, source(self.insecure_seed))
        self._publish(found, event, candidates, first)
        self.guarantee_ = replace(self.guarantee_, receipt=charge.receipt)
        if why:
            self.guarantee_ = self.guarantee_.not_covered(why)
        self.best_estimator_.guarantee_ = self.guarantee_
        return self

    def schema_parameters(self, schema: Schema, *, stepped: bool = False) -> dict[str, Any]:
        """Parameters for rows that a schema encodes; public validation rows may be a raw table."""
        estimator = clone(self.estimator).set_params(
            **self.estimator.schema_parameters(schema, stepped=stepped)
        )
        held = getattr(self, "validation", None)
        public = is_table(held) and not (isinstance(held, str) and held == "auto")
        return {"estimator": estimator} | ({"validation": encoded(schema, held)} if public else {})

    def schema_carriers(self) -> tuple[Any, ...]:
        """The search and its best model have one guarantee."""
        return self, self.best_estimator_

    def _publish(
        self, found: Found, event: Event, candidates: Sequence[dict[str, Any]], first: Any
    ) -> None:
        model = found.model
        assumptions = (*model.guarantee_.assumptions, f"the list of {len(candidates)} candidates")
        self.guarantee_ = Guarantee(event, model.guarantee_.numerics, assumptions)
        model.guarantee_ = self.guarantee_
        for name in ("n_features_in_", "feature_names_in_"):  # it was fitted on a plain array
            if hasattr(first, name):
                setattr(model, name, getattr(first, name))
        self.best_index_ = found.index
        self.best_params_ = dict(candidates[found.index])
        self.best_estimator_ = model
        self.classes_ = model.classes_
        if found.score is not None:
            self.best_score_ = found.score

    def _shape(self, data: Any, n: int, first: Any) -> Shape:
        columns = data.shape[1] if getattr(data, "ndim", 1) == 2 else 0
        declared = self.estimator.classes
        scores = 1 if declared is None or isinstance(declared, str) else len(declared) - 1
        return Shape(n, first.planned_columns(n, columns) * max(scores, 1))

    def _whole(self) -> Budget:
        return as_budget(self.budget)

    @staticmethod
    def _advise(candidates: Sequence[dict[str, Any]]) -> None:
        if only_regularization(candidates):
            warnings.warn(
                "The candidates differ in the regularisation alone. regularization='auto' is a "
                "public rule that costs nothing; a search pays for its choice with more noise and "
                "was seldom better. See docs/tuning.md.",
                TuningAdvice,
                stacklevel=3,
            )

    # -- fits ----------------------------------------------------------------------------------

    def _models(
        self, table: Table, chosen: Sequence[dict[str, Any]], budgets: Sequence[Budget]
    ) -> list[Any]:
        """Unfitted models; a seed, in studies, gives each its own noise."""
        return [
            model_for(
                self.estimator,
                candidate,
                budget=budget,
                classes=table.classes,
                insecure_seed=None if self.insecure_seed is None else self.insecure_seed + 1 + i,
            )
            for i, (candidate, budget) in enumerate(zip(chosen, budgets, strict=True))
        ]

    def _fitted(self, models: Sequence[Any], table: Table, parts: Sequence[Index]) -> list[Any]:
        """Each model trained on its rows, side by side; every fit draws its own noise."""
        jobs = (
            delayed(_fit)(model, table.x[part], table.y[part])
            for model, part in zip(models, parts, strict=True)
        )
        # max_nbytes: rows are not to be written into temporary files for other processes
        return list(Parallel(n_jobs=self.n_jobs, max_nbytes=None)(jobs))

    # -- the best model ------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The best model's predictions."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The best model's scores."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The best model's probabilities, where its estimator has them."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(X))


def refuse_unproved(model: Any, x: Any, y: Any) -> None:
    """Refuse, uncharged, what the fit would refuse, and a calibration that is not private.

    Whether a paper's calibration is covered depends on the rows and the budget of this very fit.
    """
    event = model.prepare(x, y).event
    if not event.private and model.insecure_seed is None:
        raise DeclarationError(
            f"A candidate is not private ({event.why_not_private}), so the search would not be. "
            "Leave it out, or give it another calibration or regularization."
        )


def _fit(model: Any, x: Any, y: Any) -> Any:
    # Said once, before the first fit. A line for each fit would also tell how many
    # there were, which random stopping must hide.
    with quietly():
        fitted = model.prepare(x, y).release()
    if not fitted.guarantee_.private and model.insecure_seed is None:
        raise DeclarationError("A candidate's release is not private; nothing is released.")
    return fitted


def mistakes(model: Any, x: Any, y: NDArray[Any]) -> int:
    """Wrong predictions: one row changes it by one at most."""
    return int((model.predict(x) != y).sum())
