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
from privet.tuning.candidates import Candidate, refuse_unproved
from privet.tuning.private_search import (
    Chosen,
    PrivateSearch,
    SearchRows,
    SearchShape,
    mistakes,
)


class PublicSearch(PrivateSearch[SearchDesign]):
    """Choice among candidates by public validation rows.

    Parameters
    ----------
    estimator : PrivateLinearClassifier
        The Privet model that the candidates are parameters of.
    candidates : list of dict
        Parameters of the estimator, declared before the rows were looked at.
    budget : float, PureDP, ZCDP or ApproxDP, default 1.0
        What the whole search may cost. A number is the epsilon of pure differential privacy.
    validation : (X, y)
        Public rows with their labels. Rows of people in the private table are not public.
    ledger : Ledger, optional
        The ledger to charge, once, for everything.
    dataset : str, optional
        The account in the ledger.
    n_jobs : int, optional
        Fits side by side.
    insecure_seed : int, optional
        For tests: the result is not private.

    Attributes
    ----------
    best_estimator_ : PrivateLinearClassifier
        The chosen model, which carries the guarantee of the whole search.
    best_params_ : dict
        The chosen candidate.
    best_index_ : int
        Its place among the candidates.
    best_score_ : float
        Its accuracy on the public rows.
    scores_ : list of float
        Every candidate's accuracy there.
    guarantee_ : Guarantee
        Covers the search as a whole.
    classes_ : ndarray of shape (n_classes,)
        The declared classes.
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

    def _design(self, shape: SearchShape, m: int) -> SearchDesign:
        """Shares by ``mechanisms/search.py``."""
        held = len(self._rows()[1])
        return PublicChoice(self._whole(), m, self.insecure_seed, held).design(shape.n)

    # -- with rows -----------------------------------------------------------------------------

    def _check_candidates(
        self, rows: SearchRows, design: SearchDesign, candidates: Sequence[Candidate]
    ) -> None:
        for model in self._models(rows, candidates, design.fits):
            refuse_unproved(model, rows.x, rows.y)
            model.check_rows(*self._rows())

    def _search(
        self,
        rows: SearchRows,
        design: SearchDesign,
        candidates: Sequence[Candidate],
        randomness: Randomness,
    ) -> Chosen:
        m = len(candidates)
        models = self._models(rows, candidates, design.fits)
        fitted = self._fitted(models, rows, [np.arange(rows.n)] * m)
        x, y = self._rows()
        counts = [mistakes(model, x, np.asarray(y)) for model in fitted]
        self.scores_ = [1.0 - count / len(y) for count in counts]
        best = int(np.argmin(counts))
        return Chosen(best, fitted[best], self.scores_[best])
