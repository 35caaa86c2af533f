"""Choosing the decision threshold for unequal classes, privately.

One noisy histogram, true class x interval between declared candidates, gives the confusion table at
every candidate as running sums; the best candidate is post-processing. So every measure has the
histogram's guarantee, also those whose denominators depend on the data (balanced accuracy, F1),
for which a selection by score would have no bounded sensitivity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from privet._types import Array, Codes
from privet.errors import DeclarationError
from privet.evaluation.counting import Counts, added_counts, blind
from privet.evaluation.evaluated import EvaluatedModel, evaluated_model
from privet.evaluation.private_evaluation import examination
from privet.ledger import Ledger
from privet.mechanisms.counts import Histogram, cell_counts
from privet.models.row_wise import Scored
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee, released_digest

COSTS = ("false_positive", "false_negative")


@dataclass(frozen=True)
class Threshold:
    """The chosen threshold: rows with a larger score are predicted to be of the second class.

    Attributes
    ----------
    threshold : float
        The chosen candidate.
    measure : str
        What it is best in.
    candidates : tuple of float
        All of them.
    values : tuple of float
        Their noisy measures. The chosen one's is optimistic, because it was chosen; evaluate the
        model at the threshold on other rows.
    classes : tuple
        The two classes in order.
    guarantee : Guarantee
        What the choice cost.
    """

    threshold: float
    measure: str
    candidates: tuple[float, ...]
    values: tuple[float, ...]
    classes: tuple[Any, ...]
    guarantee: Guarantee

    def predict(self, model: Scored | Pipeline, X: Any) -> NDArray[Any]:
        """Classes of rows at this threshold.

        Parameters
        ----------
        model : classifier or Pipeline
            The model that the threshold was chosen for.
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            One of the two classes for each row.
        """
        above = np.asarray(model.decision_function(X)) > self.threshold
        return np.asarray(np.array(self.classes)[above.astype(np.intp)])


def choose_threshold(
    model: Scored | Pipeline,
    X: Any,
    y: ArrayLike | None = None,
    *,
    budget: Budget | float,
    candidates: Sequence[float],
    measure: str | Mapping[str, float] = "balanced_accuracy",
    ledger: Ledger | None = None,
    dataset: str | None = None,
    training_rows: bool | None = None,
    insecure_seed: int | None = None,
) -> Threshold:
    """The candidate threshold on ``model.decision_function`` with the best private measure.

    Two classes only; the second of ``classes_`` is the positive one.

    Parameters
    ----------
    model : classifier or Pipeline
        A fitted Privet classifier, or a scikit-learn pipeline that ends in one.
    X : array-like of shape (n_samples, n_features), or a raw table
        The rows. A model that carries a schema also takes a raw table, without ``y``: then the
        budget is for whom the schema protects, a row or a person.
    y : array-like of shape (n_samples,), optional
        The labels of the rows.
    budget : float, PureDP, ZCDP, ApproxDP or GDP
        What the choice may cost, on top of what the training cost.
    candidates : list of float
        In increasing order. Declared, never read from the scores; fewer mean less noise.
    measure : "balanced_accuracy", "f1" or dict
        What is best; a dictionary has the public costs of the two mistakes, for example
        ``{"false_positive": 1, "false_negative": 5}``.
    ledger : Ledger, optional
        The ledger to charge, once, before anything is counted.
    dataset : str, optional
        The account in the ledger.
    training_rows : bool, optional
        As in ``evaluate``.
    insecure_seed : int, optional
        For tests: the result is not private.

    Returns
    -------
    Threshold
        The chosen candidate, the noisy measure of each, and the guarantee that covers them.
    """
    tested, whole = evaluated_model(model), as_budget(budget)
    if len(tested.classes) != 2 or not tested.has_scores:
        raise DeclarationError("A threshold needs a model of two classes with scores.")
    edges = _edges(candidates)
    name, costs = _measure(measure)
    account, table = (ledger, dataset), (X, y, None, None)
    seen = examination(tested, table, account, training_rows, insecure_seed)
    tested, rows = seen.model, seen.rows
    mechanism = Histogram(2 * (len(edges) + 1), rows.budget(whole), 1, insecure_seed)
    charge = seen.charge(mechanism.event(rows.n))
    with charge:
        (counts,) = added_counts(rows, tested, ScoreCounts(blind(tested), edges))
        noisy = mechanism.run(counts, rows.n)
        values = measured(noisy.values.reshape(2, -1), rows.n, name, costs)
        numbers = {"candidates": edges.tolist(), "measure": name, "values": values.tolist()}
        charge.releases(released_digest("threshold", charge.event, numbers))
    promise = seen.guarantee(charge.event, noisy.numerics, "the candidate thresholds")
    return Threshold(
        threshold=float(edges[int(np.argmax(values))]),
        measure=name,
        candidates=tuple(edges.tolist()),
        values=tuple(values.tolist()),
        classes=tuple(tested.classes.tolist()),
        guarantee=replace(promise, receipt=charge.receipt),
    )


@dataclass(frozen=True)
class ScoreCounts:
    """The table of true class and interval between candidates; it holds no budget."""

    model: EvaluatedModel
    edges: Array

    def __call__(self, X: Any, truth: Codes, group: Codes) -> list[Counts]:
        """Rows in each cell."""
        intervals = len(self.edges) + 1
        # a score equal to a candidate is not above it
        above = np.searchsorted(self.edges, self.model.scores(X)[:, 0], side="left")
        return [cell_counts(truth * intervals + above, 2 * intervals)]


def measured(table: Array, n: int, name: str, costs: tuple[float, float]) -> Array:
    """The measure at each candidate, larger is better, from noisy counts (2, candidates + 1)."""
    table = np.asarray(table) + (n - table.sum()) / table.size
    negative, positive = (np.maximum(row.sum(), 1.0) for row in table)
    # rows above each candidate, within what is possible
    above = np.cumsum(table[:, ::-1], axis=1)[:, ::-1][:, 1:]
    wrong = np.clip(above[0], 0.0, negative)
    right = np.clip(above[1], 0.0, positive)
    if name == "balanced_accuracy":
        return np.asarray((right / positive + 1.0 - wrong / negative) / 2.0)
    if name == "f1":
        return np.asarray(2.0 * right / np.maximum(positive + right + wrong, 1.0))
    return np.asarray(-(costs[0] * wrong + costs[1] * (positive - right)) / n)


def _edges(candidates: Sequence[float]) -> Array:
    try:
        edges = np.asarray(candidates, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.array([np.nan])
    if edges.ndim != 1 or len(edges) == 0 or not np.isfinite(edges).all():
        raise DeclarationError("candidates must be a list of finite thresholds, at least one.")
    if (np.diff(edges) <= 0.0).any():
        raise DeclarationError("candidates must be in increasing order, each once.")
    return edges


def _measure(measure: str | Mapping[str, float]) -> tuple[str, tuple[float, float]]:
    if measure in ("balanced_accuracy", "f1"):
        return str(measure), (1.0, 1.0)
    if isinstance(measure, Mapping) and set(measure) == set(COSTS):
        costs = [float(measure[name]) for name in COSTS]
        if all(np.isfinite(cost) and cost > 0.0 for cost in costs):
            return "cost", (costs[0], costs[1])
    raise DeclarationError(
        "measure must be 'balanced_accuracy', 'f1' or positive costs {'false_positive': ..., "
        "'false_negative': ...}."
    )
