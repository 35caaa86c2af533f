"""What the searches share: check, charge once, fit, choose, publish the best.

    declarations -> one event for the whole search -> does it fit under the cap? -> NaN refused ->
    ledger reserves -> labels checked, candidates trained, scored, chosen -> ledger settles ->
    ``best_*_`` set

The best model carries the guarantee of the whole search: choosing it looked at all of the rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from privet._types import Array
from privet.ledger.charge import Charge, check_ledger
from privet.ledger.ledger import Ledger
from privet.mechanisms.search import Index, SearchDesign
from privet.models.digest import model_digest
from privet.models.raw_tables import encoded
from privet.models.row_wise import refuse_charge, why_not_covered
from privet.privacy import Budget, as_budget
from privet.privacy.guarantee import Guarantee
from privet.randomness import Randomness, source
from privet.schema import Schema
from privet.schema.tables import is_table
from privet.tuning.candidates import (
    Candidate,
    Chosen,
    SearchRows,
    SearchShape,
    Tuned,
    advise,
    checked_candidates,
    model_for,
    refuse_rows,
    released_fit,
)

RELEASED = (
    "best_estimator_",
    "best_params_",
    "best_index_",
    "best_score_",
    "scores_",
    "classes_",
    "guarantee_",
    "n_features_in_",
    "schema_",
)
PUBLIC_VALIDATION = "the validation rows, which nothing protects, as asserted by the user"


Design = TypeVar("Design", bound=SearchDesign)


class PrivateSearch(BaseEstimator, Generic[Design]):  # type: ignore[misc]
    """Common contract of the searches; see ``PartitionSearch`` and its siblings."""

    best_estimator_: Tuned
    best_params_: Candidate
    best_index_: int
    best_score_: float
    guarantee_: Guarantee
    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Tuned,
        candidates: Sequence[Candidate],
        budget: Budget | float,
        ledger: Ledger | None,
        dataset: str | None,
        n_jobs: int | None,
        insecure_seed: int | None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.budget = budget
        self.ledger = ledger
        self.dataset = dataset
        self.n_jobs = n_jobs
        self.insecure_seed = insecure_seed

    # -- what each search is -------------------------------------------------------------------

    @abstractmethod
    def _design(self, shape: SearchShape, m: int) -> Design:
        """What the fits of ``m`` candidates may spend, how they are chosen, and the event."""

    @abstractmethod
    def _check_candidates(
        self, rows: SearchRows, design: Design, candidates: Sequence[Candidate]
    ) -> None:
        """Refuse, uncharged, what a candidate's fit would refuse."""

    @abstractmethod
    def _search(
        self,
        rows: SearchRows,
        design: Design,
        candidates: Sequence[Candidate],
        randomness: Randomness,
    ) -> Chosen:
        """Train, score and choose. Whoever calls this has charged the design's event."""

    # -- the common road -----------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Search on private rows; spends the budget once, for everything.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            With the best model and the guarantee of the whole search.
        """
        self._forget()
        why = why_not_covered()
        refuse_charge(why, self.ledger)
        candidates = checked_candidates(self.estimator, self.candidates)
        check_ledger(self.ledger, self.dataset, self.insecure_seed)
        first = model_for(self.estimator, candidates[0], budget=self._whole())
        given = first.read(X, y)
        data, labels = given.x, given.labels
        refuse_rows(candidates, X)
        design = self._design(self._shape(data, len(labels), first), len(candidates))
        event = design.event
        if self.ledger is not None and self.dataset is not None:
            self.ledger.require(self.dataset, event)
        rows = SearchRows(data, labels, self.estimator.label_parameters(labels))
        self._check_candidates(rows, design, candidates)
        advise(candidates)
        charge = Charge(self.ledger, self.dataset, event, forget=self._forget)
        with charge:
            first.refuse_undeclared(labels)  # wherever its row is
            first.report_clipped(data)
            chosen = self._search(rows, design, candidates, source(self.insecure_seed))
            self._publish(chosen, design, candidates, first)
            charge.releases(model_digest(self.best_estimator_))
        kept = replace(self.guarantee_, receipt=charge.receipt)
        self.guarantee_ = kept.not_covered(why) if why else kept
        self.best_estimator_.guarantee_ = self.guarantee_
        return self

    def _forget(self) -> None:
        for name in RELEASED:
            self.__dict__.pop(name, None)

    def schema_parameters(self, schema: Schema, *, stepped: bool = False) -> dict[str, Any]:
        """Parameters for rows that a schema encodes; public validation rows may be a raw table.

        Parameters
        ----------
        schema : Schema
            What is public about the table.
        stepped : bool, default False
            Whether steps of a pipeline come between the schema and the model.

        Returns
        -------
        dict
            For ``set_params``.
        """
        estimator = clone(self.estimator).set_params(
            **self.estimator.schema_parameters(schema, stepped=stepped)
        )
        held = getattr(self, "validation", None)
        public = is_table(held) and not (isinstance(held, str) and held == "auto")
        return {"estimator": estimator} | ({"validation": encoded(schema, held)} if public else {})

    def schema_carriers(self) -> tuple[PrivateSearch[Design], Tuned]:
        """Who carries the schema: the search and its best model have one guarantee.

        Returns
        -------
        tuple
            Both of them.
        """
        return self, self.best_estimator_

    def _publish(
        self,
        chosen: Chosen,
        design: Design,
        candidates: Sequence[Candidate],
        first: Tuned,
    ) -> None:
        model = chosen.model
        assumptions = (*model.guarantee_.assumptions, f"the list of {len(candidates)} candidates")
        if isinstance(getattr(self, "validation", None), tuple):
            assumptions += (PUBLIC_VALIDATION,)
        fit = {"fit": model.guarantee_.event.to_json(), **model.guarantee_.constants}
        self.guarantee_ = Guarantee(
            design.event,
            model.guarantee_.numerics,
            assumptions,
            constants={**design.constants, **fit},
        )
        model.guarantee_ = self.guarantee_
        for name in ("n_features_in_", "feature_names_in_"):  # it was fitted on a plain array
            if hasattr(first, name):
                setattr(model, name, getattr(first, name))
        self.best_index_ = chosen.index
        self.best_params_ = dict(candidates[chosen.index])
        self.best_estimator_ = model
        self.classes_ = model.classes_
        if chosen.score is not None:
            self.best_score_ = chosen.score

    def _shape(self, data: Any, n: int, first: Tuned) -> SearchShape:
        columns = data.shape[1] if getattr(data, "ndim", 1) == 2 else 0
        declared = getattr(self.estimator, "classes", None)  # a number has one score
        scores = 1 if declared is None or isinstance(declared, str) else len(declared) - 1
        return SearchShape(n, first.planned_columns(n, columns) * max(scores, 1))

    def _whole(self) -> Budget:
        return as_budget(self.budget)

    # -- fits ----------------------------------------------------------------------------------

    def _models(
        self, rows: SearchRows, chosen: Sequence[Candidate], budgets: Sequence[Budget]
    ) -> list[Tuned]:
        """Unfitted models; a seed, in studies, gives each its own noise."""
        return [
            model_for(
                self.estimator,
                candidate,
                budget=budget,
                **rows.decided,
                insecure_seed=None if self.insecure_seed is None else self.insecure_seed + 1 + i,
            )
            for i, (candidate, budget) in enumerate(zip(chosen, budgets, strict=True))
        ]

    def _fitted(
        self,
        models: Sequence[Tuned],
        rows: SearchRows,
        parts: Sequence[Index],
    ) -> list[Tuned]:
        """Each model trained on its rows, side by side; every fit draws its own noise."""
        jobs = (
            # in the table's order, as a table that is read in parts has them
            delayed(released_fit)(model, rows.x[np.sort(part)], rows.y[np.sort(part)])
            for model, part in zip(models, parts, strict=True)
        )
        # max_nbytes: rows are not to be written into temporary files for other processes
        return list(Parallel(n_jobs=self.n_jobs, max_nbytes=None)(jobs))

    # -- the best model ------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The best model's predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or a raw table where the model carries a schema.

        Returns
        -------
        ndarray of shape (n_samples,)
            A class or a number for each row.
        """
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The best model's accuracy or R^2 on these rows. It is NOT private.

        Parameters
        ----------
        X, y : rows and their labels
        sample_weight : array, optional
            Weights of the rows in the mean.

        Returns
        -------
        float
        """
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y, sample_weight))

    @property
    def predicts_numbers(self) -> bool:
        """Whether the candidates are regressions."""
        return bool(getattr(self.estimator, "predicts_numbers", False))

    def __sklearn_tags__(self) -> Any:
        """Those of the estimator: a search is a classifier where its candidates are."""
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.target_tags.required = True
        return tags

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Array:
        """The best model's scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or a raw table where the model carries a schema.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores, one column where there are two classes.
        """
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Array:
        """The best model's probabilities, where its estimator has them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or a raw table where the model carries a schema.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities of the classes.
        """
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(X))
