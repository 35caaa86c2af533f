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
from privet.tuning._search import Found, PrivateSearch, Shape, Table, mistakes, refuse_unproved


class RandomStoppingSearch(PrivateSearch):
    """Private choice among candidates by the best of a random number of runs.

    Parameters
    ----------
    estimator, candidates, budget, ledger, dataset, n_jobs, insecure_seed :
        As in ``PartitionSearch``.
    runs : "auto" or float, default "auto"
        Mean number of runs; "auto" is twice the number of candidates.
    eta : float, default 0.0
        Shape of the number's law: a smaller one is cheaper per run and more often stops early.
    validation : "auto", int or (X, y), default "auto"
        Private rows held back for the scores, or public rows, which cost nothing.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_ : the released choice
    best_score_ : its noisy accuracy on the validation rows, the best of several and so optimistic
    guarantee_ : covers the search as a whole; the best model carries it too
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

    def _design(self, shape: Shape, m: int) -> StoppingDesign:
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
        self, table: Table, shape: Shape, candidates: Sequence[dict[str, Any]]
    ) -> None:
        design = self._design(shape, len(candidates))
        size = table.n - design.held
        models = self._models(table, candidates, design.fits)
        models[0].prepare(table.x, table.y)  # every row, whatever its part will be
        for model in models:
            refuse_unproved(model, table.x[:size], table.y[:size])

    def _search(
        self,
        table: Table,
        shape: Shape,
        candidates: Sequence[dict[str, Any]],
        randomness: Randomness,
    ) -> Found:
        design = self._design(shape, len(candidates))
        train, validate = design.divide(randomness)
        chosen = design.runs(randomness)
        budgets = [design.fits[i] for i in chosen]
        models = self._models(table, [candidates[i] for i in chosen], budgets)
        fitted = self._fitted(models, table, [train] * len(chosen))
        x, y = self._public() or (table.x[validate], table.y[validate])
        counts = [mistakes(model, x, np.asarray(y)) for model in fitted]
        scores = design.scores(counts, randomness)
        best = int(np.argmin(scores))
        return Found(chosen[best], fitted[best], 1.0 - float(scores[best]) / len(y))
