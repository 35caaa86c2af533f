"""Three ways to choose privately, each with its theorem in ``privet/mechanisms/search.py``.

``PartitionSearch`` (``DisjointParts``): train each candidate on its own rows, select on rows of
none. With probability ``1 - beta`` the chosen candidate makes at most ``2 log(m/beta)/eps``
mistakes more than the best of the ``m`` on the validation part, ``eps`` the selection's.

``RandomStoppingSearch`` (``RandomStopping``): the best of a random number of runs, each with a
private score. Under rho and (eps, delta) a run is paid for with a pure epsilon or with a rho,
whichever needs the smaller noise in the fit. Public validation rows cost nothing: then every row
of the table is for training.

A regression's mistakes are the sum of its absolute errors, each at most a quarter of the target's
interval and in units of it (``error_steps``).

``PublicSearch`` (``PublicChoice``): train every candidate on the private rows, validate on public
ones. All the models are paid for, so all are kept. Sharing the budget is never worse than sharing
the rows: for pure budgets the noise relative to the number of rows is the same and each fit sees
every row; for Gaussian noise it is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.mechanisms.search import (
    DisjointParts,
    PartsDesign,
    PublicChoice,
    RandomStopping,
    SearchDesign,
    StoppingDesign,
)
from privet.privacy import Budget
from privet.randomness import Randomness
from privet.tuning.candidates import (
    Candidate,
    Chosen,
    SearchRows,
    SearchShape,
    Tuned,
    mistakes,
    refuse_unproved,
)
from privet.tuning.private_search import PrivateSearch


class PartitionSearch(PrivateSearch[PartsDesign]):
    """Private choice among candidates by disjoint parts of the rows.

    Parameters
    ----------
    estimator : classifier or regressor
        The Privet model that the candidates are parameters of.
    candidates : list of dict
        Parameters of the estimator, declared before the rows were looked at.
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
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
    best_estimator_ : classifier or regressor
        The chosen model, which carries the guarantee of the whole search.
    best_params_ : dict
        The chosen candidate.
    best_index_ : int
        Its place among the candidates.
    guarantee_ : Guarantee
        Covers the search as a whole.
    classes_ : ndarray of shape (n_classes,)
        The declared classes, or the ends of the target's interval.
    """

    def __init__(
        self,
        estimator: Tuned,
        candidates: Sequence[Candidate],
        budget: Budget | float = 1.0,
        *,
        validation: int | Literal["auto"] = "auto",
        calibration: str | None = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(estimator, candidates, budget, ledger, dataset, n_jobs, insecure_seed)
        self.validation = validation
        self.calibration = calibration

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


class RandomStoppingSearch(PrivateSearch[StoppingDesign]):
    """Private choice among candidates by the best of a random number of runs.

    Parameters
    ----------
    estimator : classifier or regressor
        The Privet model that the candidates are parameters of.
    candidates : list of dict
        Parameters of the estimator, declared before the rows were looked at.
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
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
    best_estimator_ : classifier or regressor
        The chosen model, which carries the guarantee of the whole search.
    best_params_ : dict
        The chosen candidate.
    best_index_ : int
        Its place among the candidates.
    best_score_ : float
        Its noisy accuracy on the validation rows, the best of several and so optimistic. Of a
        regression one minus its mean error, in quarters of the target's interval.
    guarantee_ : Guarantee
        Covers the search as a whole.
    classes_ : ndarray of shape (n_classes,)
        The declared classes, or the ends of the target's interval.
    """

    def __init__(
        self,
        estimator: Tuned,
        candidates: Sequence[Candidate],
        budget: Budget | float = 1.0,
        *,
        runs: float | Literal["auto"] = "auto",
        eta: float = 0.0,
        validation: Any = "auto",
        ledger: Ledger | None = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(estimator, candidates, budget, ledger, dataset, n_jobs, insecure_seed)
        self.runs = runs
        self.eta = eta
        self.validation = validation

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
        counts = [mistakes(model, x, y) for model in fitted]
        scores = design.scores(counts, randomness)
        best = int(np.argmin(scores))
        return Chosen(chosen[best], fitted[best], 1.0 - float(scores[best]) / len(y))


class PublicSearch(PrivateSearch[SearchDesign]):
    """Choice among candidates by public validation rows.

    Parameters
    ----------
    estimator : classifier or regressor
        The Privet model that the candidates are parameters of.
    candidates : list of dict
        Parameters of the estimator, declared before the rows were looked at.
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
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
    best_estimator_ : classifier or regressor
        The chosen model, which carries the guarantee of the whole search.
    best_params_ : dict
        The chosen candidate.
    best_index_ : int
        Its place among the candidates.
    best_score_ : float
        Its accuracy on the public rows; of a regression one minus its mean error, in quarters of
        the target's interval.
    scores_ : list of float
        Every candidate's accuracy there.
    guarantee_ : Guarantee
        Covers the search as a whole.
    classes_ : ndarray of shape (n_classes,)
        The declared classes, or the ends of the target's interval.
    """

    def __init__(
        self,
        estimator: Tuned,
        candidates: Sequence[Candidate],
        budget: Budget | float = 1.0,
        *,
        validation: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(estimator, candidates, budget, ledger, dataset, n_jobs, insecure_seed)
        self.validation = validation

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
        counts = [mistakes(model, x, y) for model in fitted]
        self.scores_ = [1.0 - count / len(y) for count in counts]
        best = int(np.argmin(counts))
        return Chosen(best, fitted[best], self.scores_[best])
