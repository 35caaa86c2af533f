"""Choose by random stopping: the best of a random number of runs, each with a private score.

Guarantee: ``RandomStopping`` in ``privet/mechanisms/search.py``. Under rho and (eps, delta) a run
is paid for with a pure epsilon or with a rho, whichever needs the smaller noise in the fit. Public
validation rows cost nothing: then every row of the table is for training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from privet.mechanisms.search import RandomStopping, StoppingDesign
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


class RandomStoppingSearch(PrivateSearch[StoppingDesign]):
    """Private choice among candidates by the best of a random number of runs.

    Parameters
    ----------
    estimator : PrivateLinearClassifier
        The Privet model that the candidates are parameters of.
    candidates : list of dict
        Parameters of the estimator, declared before the rows were looked at.
    budget : float, PureDP, ZCDP or ApproxDP, default 1.0
        What the whole search may cost. A number is the epsilon of pure differential privacy.
    runs : "auto" or float, default "auto"
        Mean number of runs; "auto" is twice the number of candidates.
    eta : float, default 0.0
        Shape of the number's law: a smaller one is cheaper per run and more often stops early.
    validation : "auto", int or (X, y), default "auto"
        Private rows held back for the scores, or public rows, which cost nothing.
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
        Its noisy accuracy on the validation rows, the best of several and so optimistic.
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
        runs: float | Literal["auto"] = "auto",
        eta: float = 0.0,
        validation: Any = "auto",
        ledger: Any = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.budget = budget
        self.runs = runs
        self.eta = eta
        self.validation = validation
        self.ledger = ledger
        self.dataset = dataset
        self.n_jobs = n_jobs
        self.insecure_seed = insecure_seed

    # -- declarations --------------------------------------------------------------------------

    def _public(self) -> tuple[Any, Any] | None:
        held = self.validation
        return held if isinstance(held, tuple) and len(held) == 2 else None

    def _design(self, shape: SearchShape, m: int) -> StoppingDesign:
        """Law, shares and noise by ``mechanisms/search.py``."""
        return RandomStopping(
            self._whole(),
            m,
            self.insecure_seed,
            parameters=shape.parameters,
            runs=self.runs,
            eta=self.eta,
            validation=self.validation if self._public() is None else None,
        ).design(shape.n)

    # -- with rows -----------------------------------------------------------------------------

    def _check_candidates(
        self, rows: SearchRows, design: StoppingDesign, candidates: Sequence[Candidate]
    ) -> None:
        size = rows.n - design.held
        models = self._models(rows, candidates, design.fits)
        models[0].prepare(rows.x, rows.y)  # every row, whatever its part will be
        for model in models:
            refuse_unproved(model, rows.x[:size], rows.y[:size])

    def _search(
        self,
        rows: SearchRows,
        design: StoppingDesign,
        candidates: Sequence[Candidate],
        randomness: Randomness,
    ) -> Chosen:
        train, validate = design.divide(randomness)
        chosen = design.runs(randomness)
        budgets = [design.fits[i] for i in chosen]
        models = self._models(rows, [candidates[i] for i in chosen], budgets)
        fitted = self._fitted(models, rows, [train] * len(chosen))
        x, y = self._public() or (rows.x[validate], rows.y[validate])
        counts = [mistakes(model, x, np.asarray(y)) for model in fitted]
        scores = design.scores(counts, randomness)
        best = int(np.argmin(scores))
        return Chosen(chosen[best], fitted[best], 1.0 - float(scores[best]) / len(y))
