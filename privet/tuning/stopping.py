"""Choose by random stopping: the best of a random number of runs, each with a private score.

Guarantee
---------
One run takes a candidate at random, trains it on the training rows and releases the model together
with its number of mistakes on the validation rows, plus noise. Training and validation rows are
disjoint by their numbers, so a run costs what the dearer of its halves costs. The best of ``K``
runs costs ``(2 + eta)`` times a run's pure epsilon, or the Renyi curve of ``StoppingCurve``
(Liu and Talwar 2019; Papernot and Steinke 2022, Theorem 2 and Corollary 3), which is
``privacy/stopping.py``.

    pure eps        runs at eps/(2 + eta): discrete Laplace noise of scale 1/eps_run on the count
    rho, (eps,      the pure route, or runs at the largest rho_run whose curve keeps the budget,
     delta)         whichever needs the smaller noise in the fit

Public validation rows cost nothing: then every row of the table is for training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from privet.bisection import largest
from privet.errors import DeclarationError
from privet.mechanisms.counts import Histogram
from privet.privacy import ZCDP, ApproxDP, Budget, Event, PureDP
from privet.privacy.curves import Curve, PureCurve, renyi_epsilon
from privet.privacy.stopping import Runs, StoppingCurve, runs_with_mean
from privet.randomness import Randomness
from privet.tuning._search import (
    Found,
    PrivateSearch,
    Shape,
    Table,
    mistakes,
    refuse_unproved,
    shuffled,
)

# The share of the rows that validate, at most, and the noise on their error rate that is accepted.
MOST_VALIDATION = 0.2
SCORE_ERROR = 0.002
LEAST_VALIDATION = 1_000


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

    def _law(self, m: int) -> Runs:
        return runs_with_mean(2.0 * m if self.runs == "auto" else float(self.runs), self.eta)

    def _run_budget(self, m: int, parameters: int) -> Budget:
        """What one run may cost, so that the best of them costs the whole."""
        law, whole = self._law(m), self._whole()
        pure = math.sqrt(2.0 * whole.rho) if isinstance(whole, ZCDP) else whole.facts()["epsilon"]
        by_pure = PureDP(pure / (2.0 + law.eta) * (1.0 - 1e-12))
        if isinstance(whole, PureDP):
            return by_pure
        rho = _run_rho(whole, law)
        # spherical Laplace noise grows with the number of parameters, Gaussian with its root
        return by_pure if parameters < by_pure.epsilon**2 / (2.0 * rho) else ZCDP(rho)

    def _public(self) -> tuple[Any, Any] | None:
        held = self.validation
        return held if isinstance(held, tuple) and len(held) == 2 else None

    def _held(self, n: int, budget: Budget) -> int:
        """Private rows for validation."""
        if self._public() is not None:
            return 0
        if self.validation == "auto":
            spread = 1.0 / _rate(budget)
            enough = math.ceil(spread / SCORE_ERROR)
            held = min(max(enough, LEAST_VALIDATION), int(MOST_VALIDATION * n))
        else:
            held = self.validation
        if type(held) is not int or not 1 <= held < n:
            raise DeclarationError(
                f"validation must be 'auto', (X, y) of public rows, or a number of rows below {n}."
            )
        return held

    def _event(self, shape: Shape, candidates: Sequence[dict[str, Any]]) -> Event:
        """The best of a random number of runs."""
        budget = self._run_budget(len(candidates), shape.parameters)
        law = self._law(len(candidates))
        held = self._held(shape.n, budget)
        curve: Curve
        if isinstance(budget, ZCDP):
            curve = StoppingCurve(law.eta, law.gamma, budget.rho)
        else:
            curve = PureCurve(budget.facts()["epsilon"] * (2.0 + law.eta))
        return self._search_event(
            shape.n,
            mechanism="random stopping search",
            held=held,
            noise="discrete gaussian" if isinstance(budget, ZCDP) else "discrete laplace",
            scale=1.0 / _rate(budget),
            theorem="Papernot and Steinke 2022, Theorem 2 and Corollary 3",
            curve=curve,
        )

    # -- with rows -----------------------------------------------------------------------------

    def _check_candidates(
        self, table: Table, shape: Shape, candidates: Sequence[dict[str, Any]]
    ) -> None:
        m = len(candidates)
        budget = self._run_budget(m, shape.parameters)
        size = table.n - self._held(table.n, budget)
        models = self._models(table, candidates, [budget] * m)
        models[0]._ready(table.x, table.y)  # every row, whatever its part will be
        for model in models:
            refuse_unproved(model, table.x[:size], table.y[:size])

    def _search(
        self,
        table: Table,
        shape: Shape,
        candidates: Sequence[dict[str, Any]],
        randomness: Randomness,
    ) -> Found:
        m = len(candidates)
        budget = self._run_budget(m, shape.parameters)
        order = shuffled(table.n, randomness)
        held = self._held(table.n, budget)
        train, validate = order[held:], order[:held]
        runs = self._law(m).quantile(_uniform(randomness))
        chosen = [int(_uniform(randomness) * m) for _ in range(runs)]
        models = self._models(table, [candidates[i] for i in chosen], [budget] * runs)
        fitted = self._fitted(models, table, [train] * runs)
        x, y = self._public() or (table.x[validate], table.y[validate])
        counts = [mistakes(model, x, np.asarray(y)) for model in fitted]
        if self._public() is None:
            score = Histogram(1, budget)  # one count: a row moves it by one
            counts = score.perturb(np.array(counts), randomness).tolist()
        best = int(np.argmin(counts))
        return Found(chosen[best], fitted[best], 1.0 - counts[best] / len(y))


def _rate(budget: Budget) -> float:
    """The noise on a count has the scale one over this."""
    return math.sqrt(2.0 * budget.rho) if isinstance(budget, ZCDP) else budget.facts()["epsilon"]


def _uniform(randomness: Randomness) -> float:
    return float(randomness.words((1,))[0] >> np.uint64(11)) * 2.0**-53


@cache
def _run_rho(whole: Budget, law: Runs) -> float:
    """The largest rho of a run at which the best of them keeps ``whole``."""

    def keeps(rho: float) -> bool:
        curve = StoppingCurve(law.eta, law.gamma, rho)
        if isinstance(whole, ApproxDP):
            return renyi_epsilon([curve], whole.delta) <= whole.epsilon
        return curve.zcdp <= whole.facts()["rho"]

    return largest(keeps, 1.0)
