"""Choose by public rows: train every candidate on the private rows, validate on public ones.

Guarantee: ``PublicChoice`` in ``privet/mechanisms/search.py``. All the models are paid for, so all
are kept.

Sharing the budget is never worse than sharing the rows: for pure budgets the noise relative to the
number of rows is the same and each fit sees every row; for Gaussian noise it is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.errors import DeclarationError
from privet.mechanisms.search import PublicChoice, SearchDesign
from privet.privacy import Budget
from privet.randomness import Randomness
from privet.tuning._search import Found, PrivateSearch, Shape, Table, mistakes, refuse_unproved


class PublicSearch(PrivateSearch):
    """Choice among candidates by public validation rows.

    Parameters
    ----------
    estimator, candidates, budget, ledger, dataset, n_jobs, insecure_seed :
        As in ``PartitionSearch``.
    validation : (X, y)
        Public rows with their labels. Rows of people in the private table are not public.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_ : the best on the public rows
    best_score_ : its accuracy there
    scores_ : every candidate's accuracy there
    guarantee_ : covers all the fits together; the best model carries it too
    """

    def __init__(
        self,
        estimator: Any,
        candidates: Any,
        budget: Budget | float = 1.0,
        *,
        validation: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.budget = budget
        self.validation = validation
        self.ledger = ledger
        self.dataset = dataset
        self.n_jobs = n_jobs
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _rows(self) -> tuple[Any, Any]:
        if not isinstance(self.validation, tuple) or len(self.validation) != 2:
            raise DeclarationError("validation must be (X, y): public rows with their labels.")
        return self.validation

    def _design(self, shape: Shape, m: int) -> SearchDesign:
        """Shares by ``mechanisms/search.py``."""
        held = len(self._rows()[1])
        return PublicChoice(self._whole(), m, self.insecure_seed, held).design(shape.n)

    # -- with rows -----------------------------------------------------------------------------

    def _check_candidates(
        self, table: Table, shape: Shape, candidates: Sequence[dict[str, Any]]
    ) -> None:
        design = self._design(shape, len(candidates))
        for model in self._models(table, candidates, design.fits):
            refuse_unproved(model, table.x, table.y)
            model.check_rows(*self._rows())

    def _search(
        self,
        table: Table,
        shape: Shape,
        candidates: Sequence[dict[str, Any]],
        randomness: Randomness,
    ) -> Found:
        m = len(candidates)
        models = self._models(table, candidates, self._design(shape, m).fits)
        fitted = self._fitted(models, table, [np.arange(table.n)] * m)
        x, y = self._rows()
        counts = [mistakes(model, x, np.asarray(y)) for model in fitted]
        self.scores_ = [1.0 - count / len(y) for count in counts]
        best = int(np.argmin(counts))
        return Found(best, fitted[best], self.scores_[best])
