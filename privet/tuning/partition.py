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
from privet.tuning._search import Found, PrivateSearch, Shape, Table, mistakes, refuse_unproved


class PartitionSearch(PrivateSearch):
    """Private choice among candidates by disjoint parts of the rows.

    Parameters
    ----------
    estimator : a Privet model
        What the candidates are parameters of.
    candidates : list of dict
        Declared before the rows were looked at.
    budget : float, PureDP, ZCDP or ApproxDP, default 1.0
        What the whole search may cost. A number is the epsilon of pure differential privacy.
    validation : "auto" or int, default "auto"
        Rows for the selection; "auto" takes as many as keep its error below half a point, and at
        most an equal part.
    calibration : None or "chaudhuri2011", default None
        "chaudhuri2011" is Algorithm 4 as printed: equal parts and the exponential mechanism.
    ledger, dataset, insecure_seed : as in the models
    n_jobs : int or None
        Fits side by side.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_ : the released choice
    guarantee_ : covers the search as a whole; the best model carries it too
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

    def _design(self, shape: Shape, m: int) -> PartsDesign:
        """Parts and selection by ``mechanisms/search.py``."""
        return DisjointParts(
            self._whole(), m, self.insecure_seed, self.validation, self.calibration
        ).design(shape.n)

    # -- with rows -----------------------------------------------------------------------------

    def _check_candidates(
        self, table: Table, shape: Shape, candidates: Sequence[dict[str, Any]]
    ) -> None:
        design = self._design(shape, len(candidates))
        models = self._models(table, candidates, design.fits)
        models[0].prepare(table.x, table.y)  # every row, whatever its part will be
        for model in models:
            refuse_unproved(model, table.x[: design.size], table.y[: design.size])

    def _search(
        self,
        table: Table,
        shape: Shape,
        candidates: Sequence[dict[str, Any]],
        randomness: Randomness,
    ) -> Found:
        design = self._design(shape, len(candidates))
        parts, held = design.divide(randomness)
        fitted = self._fitted(self._models(table, candidates, design.fits), table, parts)
        counts = [mistakes(model, table.x[held], table.y[held]) for model in fitted]
        index = design.choose(counts, randomness)
        return Found(index, fitted[index])
