"""Choose by disjoint parts: train each candidate on its own rows, select on rows of none.

Guarantee
---------
The rows are divided by their numbers alone into one part per candidate and one for validation. A
replaced row lies in one part, so it meets either one fit or the selection, each within the whole
budget (Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 4 and its theorem). The number of
mistakes on the validation part changes by one at most.

    pure eps        each fit at eps; permute-and-flip at eps
    rho-zCDP        each fit at rho; the exponential mechanism at sqrt(8 rho)
    (eps, delta)    as rho-zCDP, for the largest rho that converts to (eps, delta)

With probability ``1 - beta`` the chosen candidate makes at most ``2 log(m/beta)/eps`` mistakes
more than the best of the ``m`` on the validation part. Selection: ``mechanisms/selection.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from privet.errors import DeclarationError
from privet.mechanisms.selection import (
    EXPONENTIAL,
    PERMUTE_AND_FLIP,
    Method,
    select,
    selection_epsilon,
)
from privet.privacy import ZCDP, ApproxDP, Budget, Event, PureDP
from privet.randomness import Randomness
from privet.tuning._search import (
    Found,
    Index,
    PrivateSearch,
    Shape,
    Table,
    mistakes,
    refuse_unproved,
    shuffled,
)

# Selection may add this much to the error rate ...
SELECTION_ERROR = 0.005
# ... and below this many validation rows chance decides, whatever the budget.
LEAST_VALIDATION = 1_000


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

    def _part(self) -> Budget:
        """What one fit may cost, and the selection."""
        whole = self._whole()
        return ZCDP(whole.additive.amount) if isinstance(whole, ApproxDP) else whole

    def _selection(self) -> Method:
        """The smaller noise for this kind of budget, unless the paper's is asked for."""
        pure = isinstance(self._part(), PureDP) and self.calibration is None
        return PERMUTE_AND_FLIP if pure else EXPONENTIAL

    def _sizes(self, n: int, m: int) -> tuple[int, int]:
        """Rows for each candidate and for validation."""
        if self.calibration not in (None, "chaudhuri2011"):
            raise DeclarationError("calibration must be None or 'chaudhuri2011'.")
        equal = n // (m + 1)
        if equal < 1:
            raise DeclarationError(f"{n} rows are too few for {m} candidates and a validation.")
        if self.calibration is not None:
            return equal, equal
        if self.validation == "auto":
            epsilon = selection_epsilon(self._part(), self._selection())
            enough = math.ceil(2.0 * math.log(m) / (SELECTION_ERROR * epsilon))
            held = min(max(enough, LEAST_VALIDATION), equal)
        elif type(self.validation) is int and 1 <= self.validation <= n - m:
            held = self.validation
        else:
            raise DeclarationError(
                f"validation must be 'auto' or a number of rows from 1 to {n - m}."
            )
        return (n - held) // m, held

    def _event(self, shape: Shape, candidates: Sequence[dict[str, Any]]) -> Event:
        """Parallel composition: the whole costs what its most costly part costs."""
        _, held = self._sizes(shape.n, len(candidates))
        part, selection = self._part(), self._selection()
        return self._search_event(
            shape.n,
            mechanism="partition search",
            held=held,
            noise=selection.replace("_", "-"),
            scale=2.0 / selection_epsilon(part, selection),
            theorem="Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 4 and its theorem",
        )

    # -- with rows -----------------------------------------------------------------------------

    def _check_candidates(
        self, table: Table, shape: Shape, candidates: Sequence[dict[str, Any]]
    ) -> None:
        budgets = [self._part()] * len(candidates)
        size, _ = self._sizes(table.n, len(candidates))
        models = self._models(table, candidates, budgets)
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
        size, _ = self._sizes(table.n, m)
        order = shuffled(table.n, randomness)
        parts: list[Index] = [order[i * size : (i + 1) * size] for i in range(m)]
        held = order[m * size :]  # the remainder of the division too
        models = self._models(table, candidates, [self._part()] * m)
        fitted = self._fitted(models, table, parts)
        counts = [mistakes(model, table.x[held], table.y[held]) for model in fitted]
        method = self._selection()
        epsilon = selection_epsilon(self._part(), method)
        index = select([-count for count in counts], epsilon, randomness, method=method)
        return Found(index, fitted[index])
