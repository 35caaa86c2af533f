"""Choose by disjoint parts: train each candidate on its own rows, select on rows of none.

Guarantee: ``DisjointParts`` in ``privet/mechanisms/search.py``. With probability ``1 - beta`` the
chosen candidate makes at most ``2 log(m/beta)/eps`` mistakes more than the best of the ``m`` on the
validation part, ``eps`` the selection's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from privet.mechanisms.search import DisjointParts, PartsDesign
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


class PartitionSearch(PrivateSearch[PartsDesign]):
    """Private choice among candidates by disjoint parts of the rows.

    Parameters
    ----------
    estimator : PrivateLinearClassifier
        The Privet model that the candidates are parameters of.
    candidates : list of dict
        Parameters of the estimator, declared before the rows were looked at.
    budget : float, PureDP, ZCDP or ApproxDP, default 1.0
        What the whole search may cost. A number is the epsilon of pure differential privacy.
    validation : "auto" or int, default "auto"
        Rows for the selection; "auto" takes as many as keep its error below half a point, and at
        most an equal part.
    calibration : "chaudhuri2011", optional
        Algorithm 4 as printed: equal parts and the exponential mechanism.
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
        validation: int | Literal["auto"] = "auto",
        calibration: str | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.budget = budget
        self.validation = validation
        self.calibration = calibration
        self.ledger = ledger
        self.dataset = dataset
        self.n_jobs = n_jobs
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _design(self, shape: SearchShape, m: int) -> PartsDesign:
        """Parts and selection by ``mechanisms/search.py``."""
        return DisjointParts(
            self._whole(), m, self.insecure_seed, self.validation, self.calibration
        ).design(shape.n)

    # -- with rows -----------------------------------------------------------------------------

    def _check_candidates(
        self, rows: SearchRows, design: PartsDesign, candidates: Sequence[Candidate]
    ) -> None:
        models = self._models(rows, candidates, design.fits)
        models[0].prepare(rows.x, rows.y)  # every row, whatever its part will be
        for model in models:
            refuse_unproved(model, rows.x[: design.size], rows.y[: design.size])

    def _search(
        self,
        rows: SearchRows,
        design: PartsDesign,
        candidates: Sequence[Candidate],
        randomness: Randomness,
    ) -> Chosen:
        parts, held = design.divide(randomness)
        fitted = self._fitted(self._models(rows, candidates, design.fits), rows, parts)
        counts = [mistakes(model, rows.x[held], rows.y[held]) for model in fitted]
        index = design.choose(counts, randomness)
        return Chosen(index, fitted[index])
