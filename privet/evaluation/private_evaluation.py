"""``evaluate``: how good a released model is, itself released privately.

declarations checked -> does it fit under the cap? -> rows checked, predicted one by one
-> ledger reserves once -> tables counted, noise drawn -> ledger settles -> measures read off
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from privet._checks import number_between
from privet._types import Array, Codes
from privet.errors import DeclarationError
from privet.evaluation.allocation import EvaluationPlan, plan_evaluation
from privet.evaluation.count_tables import CodedRows, read_tables
from privet.evaluation.counting import Counts, added_counts, blind
from privet.evaluation.evaluated import (
    EvaluatedModel,
    EvaluatedRows,
    evaluated_model,
    evaluated_rows,
)
from privet.evaluation.number_evaluation import evaluated_numbers
from privet.evaluation.released_evaluation import TRAINING, Evaluation, PublicFacts
from privet.ledger import Ledger
from privet.ledger.charge import Charge
from privet.mechanisms.counts import cell_counts
from privet.models.row_wise import Scored
from privet.privacy import Event
from privet.privacy.budget import Budget, as_budget
from privet.privacy.guarantee import Guarantee

MEASURES = ("accuracy", "confusion", "auc", "calibration", "groups")


def evaluate(
    model: Scored | Pipeline,
    X: Any,
    y: ArrayLike | None = None,
    *,
    budget: Budget | float,
    measures: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
    group_values: Sequence[Any] | None = None,
    level: float = 0.95,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    training_rows: bool | None = None,
    insecure_seed: int | None = None,
) -> Evaluation:
    """Measure a released model on rows kept apart from its training, privately, with intervals.

    Parameters
    ----------
    model : classifier, regressor or Pipeline
        A fitted Privet model, or a scikit-learn pipeline that ends in one. Of a regressor the mean
        absolute error, the RMSE and R^2 are measured.
    X : array-like of shape (n_samples, n_features), or a raw table
        The rows. Their number is public; nothing else about them is. A model that carries a schema
        also takes a raw table, without ``y``: then the budget is for whom the schema protects, a
        row or a person.
    y : array-like of shape (n_samples,), optional
        The labels of the rows.
    budget : float, PureDP, ZCDP, ApproxDP or GDP
        What the whole evaluation may cost, on top of what the training cost.
    measures : list of str, optional
        Of "accuracy", "confusion", "auc", "calibration", "groups"; fewer are more exact. By default
        all that the model has ("auc" of more than two classes only when asked for). Of a regressor
        "residuals", for a histogram of them beside the errors: a quarter of the budget.
    groups : array-like of shape (n_samples,) or str, optional
        The group of each row; with a raw table the name of a categorical column.
    group_values : list, optional
        Every value that may occur in ``groups``; a raw table's are its column's categories.
    level : float, default 0.95
        Of each interval, for the value on fresh rows.
    ledger : Ledger, optional
        The ledger to charge, once, before anything is counted.
    dataset : str, optional
        The account in the ledger.
    training_rows : bool, optional
        None refuses rows that look like the training rows (same number, same account). True
        evaluates on them, stamped as optimistic; False declares that they are others.
    insecure_seed : int, optional
        For tests: the result is not private.

    Returns
    -------
    Evaluation
        The measures with their intervals and the guarantee that covers all of them.

    Raises
    ------
    DeclarationError
        Where a declaration is wrong, or the rows look like the training rows; nothing is charged.
    DataError
        Where a row, a label or a group cannot be used. Found after the charge, it stays charged.
    BudgetExceeded
        Where the ledger's cap does not allow the evaluation.
    """
    tested, whole = evaluated_model(model), as_budget(budget)
    level = number_between("level", level, 0.5, 0.9999)
    account, table = (ledger, dataset), (X, y, groups, group_values)
    seen = examination(tested, table, account, training_rows, insecure_seed)
    if tested.predicts_numbers:
        if groups is not None:
            raise DeclarationError(
                "The errors of a regression are those of all rows: leave groups out."
            )
        return evaluated_numbers(seen, whole, measures, level, insecure_seed)
    tested, rows = seen.model, seen.rows
    values, classes = rows.groups.values, tuple(tested.classes.tolist())
    asked = asked_measures(measures, tested, grouped=groups is not None)
    plan = plan_evaluation(
        rows.budget(whole),
        rows.n,
        asked,
        len(classes),
        len(values),
        insecure_seed,
        tested.score_range,
    )
    charge = seen.charge(plan.event)
    promise = seen.guarantee(plan.event, plan.mechanisms[0].design(rows.n).numerics)
    with charge:
        drawn = draw_tables(plan, tested, rows)
        public = PublicFacts(rows.n, level, classes, values)
        found = _read(plan, drawn, public, promise, training=seen.training)
        charge.releases(found.digest(), promise.persons)
    return replace(found, guarantee=replace(promise, receipt=charge.receipt))


def _read(
    plan: EvaluationPlan,
    drawn: Any,
    public: PublicFacts,
    promise: Guarantee,
    *,
    training: bool,
) -> Evaluation:
    """What the noisy tables say: post-processing."""
    measured, counts = read_tables(plan.tables, plan.mechanisms, drawn, public)
    shapes = {table.name: table.shape for table in plan.tables}
    return Evaluation(
        n=public.n,
        level=public.level,
        measures=measured.released(),
        counts={name: found[0].reshape(shapes[name]).tolist() for name, found in counts.items()},
        classes=public.classes,
        guarantee=promise,
        on_training_rows=training,
    )


@dataclass(frozen=True)
class TableCounts:
    """The exact tables of some rows; it holds no budget and can be sent to whoever reads them."""

    model: EvaluatedModel
    tables: tuple[Any, ...]

    def __call__(self, X: Any, truth: Codes, group: Codes) -> list[Counts]:
        """Rows in each cell of each table; what is wrong with a row is refused here, charged."""
        unused, model = np.zeros((len(truth), 0)), self.model
        scored = any(table.needs_scores for table in self.tables)
        sure = any(table.needs_probabilities for table in self.tables)
        coded = CodedRows(
            truth=truth,
            predicted=model.predicted(X),
            group=group,
            score=model.places(model.scores(X)) if scored else unused,
            probability=model.probabilities(X) if sure else unused,
        )
        return [cell_counts(table.places(coded), table.cells) for table in self.tables]


def draw_tables(plan: EvaluationPlan, model: EvaluatedModel, rows: EvaluatedRows) -> list[Array]:
    """Noisy tables, (1, cells) each; whoever calls this has charged the plan's event."""
    counts = added_counts(rows, model, TableCounts(blind(model), tuple(plan.tables)))
    return [
        mechanism.run(found, plan.n).values[np.newaxis]
        for found, mechanism in zip(counts, plan.mechanisms, strict=True)
    ]


def asked_measures(
    measures: Sequence[str] | None, model: EvaluatedModel, *, grouped: bool
) -> tuple[str, ...]:
    """The measures asked for, or all that make sense for this model."""
    if measures is None:
        two = len(model.classes) == 2
        possible = {
            "auc": two and model.has_scores,  # with more classes only when asked: it costs C times
            "calibration": model.has_probabilities,
            "groups": grouped,
        }
        return tuple(name for name in MEASURES if possible.get(name, True))
    listed = not isinstance(measures, str) and np.iterable(measures)
    asked = tuple(dict.fromkeys(measures)) if listed else ()
    if not asked or any(name not in MEASURES for name in asked):
        raise DeclarationError(f"measures must be a list of {', '.join(MEASURES)}.")
    for name, there in (("auc", model.has_scores), ("calibration", model.has_probabilities)):
        if name in asked and not there:
            what = "scores" if name == "auc" else "probabilities"
            raise DeclarationError(
                f"{type(model.last).__name__} has no {what}, so it has no {name}. Leave it out."
            )
    if ("groups" in asked) != grouped:
        raise DeclarationError("The measure 'groups' and groups=... go together.")
    return asked


# -- what every release about a released model shares --------------------------------------------


@dataclass(frozen=True)
class Examination:
    """A released model and rows whose declarations were checked, about to be measured."""

    model: EvaluatedModel
    rows: EvaluatedRows
    account: tuple[Ledger | None, str | None]
    training: bool  # whether these are the training rows
    said: bool  # whether the caller says that they are others

    def charge(self, event: Event) -> Charge:
        """To be entered before anything is counted; the cap and the rows are checked here."""
        ledger, dataset = self.account
        if ledger is not None and dataset is not None:
            ledger.require(dataset, event)
        self.rows.refuse_unsound(self.model)
        return Charge(ledger, dataset, event)

    def guarantee(self, event: Event, numerics: str, *more: str) -> Guarantee:
        """The promise, without the ledger's receipt yet; ``more`` is what else it relies on."""
        unit = self.rows.unit(training=self.training)
        return Guarantee(event, numerics, (*self._relied(), *more), **unit)

    def _relied(self) -> Iterator[str]:
        """What the guarantee and the intervals rely on."""
        label = "the target's interval" if self.model.predicts_numbers else "the set of classes"
        yield from ("the number of rows", label, "the released model itself")
        if self.rows.groups.values:
            yield "the set of groups"
        if self.model.steps:
            yield (
                "that each step of the pipeline before the model maps a row without looking at the "
                "others, and learned nothing from private rows"
            )
        if self.training:
            yield f"the values are {TRAINING}"
        elif self.said:
            yield "that the rows are not the training rows, as the user declared"


def examination(
    model: EvaluatedModel,
    table: tuple[Any, Any, Any, Any],
    account: tuple[Ledger | None, str | None],
    training_rows: bool | None,
    seed: int | None,
) -> Examination:
    """Rows, labels, groups and their values (``table``), refused where a declaration is wrong."""
    rows = evaluated_rows(model, *table, account)
    model = model.of(rows.schema)
    training = model.refuse_training_rows(rows.n, account, training_rows, seed)
    return Examination(model, rows, account, training, training_rows is False)
