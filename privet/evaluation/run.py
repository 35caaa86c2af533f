"""``evaluate``: how good a released model is, itself released privately.

declarations checked -> does it fit under the cap? -> rows checked, predicted one by one
-> ledger reserves once -> tables counted, noise drawn -> ledger settles -> measures read off
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privet.errors import DataError, DeclarationError
from privet.evaluation.account import charged, check_account, row_count
from privet.evaluation.raw import given
from privet.evaluation.reading import Public, read
from privet.evaluation.result import TRAINING, Evaluation, measure
from privet.evaluation.shares import event as event_of
from privet.evaluation.shares import histograms
from privet.evaluation.subject import (
    Groups,
    Subject,
    declared_groups,
    label_list,
    refuse_rows,
    subject,
)
from privet.evaluation.tables import FEWEST_BINS, Seen, Table, score_bins, tables, wanted
from privet.mechanisms.counts import Histogram
from privet.models.labels import encode_labels
from privet.privacy import Event
from privet.privacy.budget import Budget, amount, as_budget
from privet.privacy.guarantee import Guarantee, Receipt


@dataclass(frozen=True)
class Plan:
    """Every number of an evaluation that is fixed before a row is read."""

    n: int
    tables: tuple[Table, ...]
    mechanisms: tuple[Histogram, ...]
    event: Event


def plan(
    budget: Budget,
    n: int,
    measures: Sequence[str],
    classes: int,
    groups: int,
    seed: int | None = None,
    scores: tuple[float, float] = (-4.0, 4.0),
) -> Plan:
    """The tables for these measures, their mechanisms and what they cost together."""
    tried = histograms(budget, tables(measures, classes, groups, FEWEST_BINS, scores), seed)
    noise = max(mechanism.variance for mechanism in tried)
    found = tables(measures, classes, groups, score_bins(n, noise), scores)
    mechanisms = histograms(budget, found, seed)
    return Plan(n, found, mechanisms, event_of(mechanisms, budget, n))


def evaluate(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    budget: Budget | float,
    measures: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
    group_values: Sequence[Any] | None = None,
    level: float = 0.95,
    ledger: Any = None,
    dataset: str | None = None,
    training_rows: bool | None = None,
    insecure_seed: int | None = None,
) -> Evaluation:
    """Measure a released model on rows kept apart from its training, privately, with intervals.

    Parameters
    ----------
    model :
        A fitted Privet classifier, or a scikit-learn pipeline that ends in one.
    X, y :
        Rows and their labels. The number of rows is public; nothing else about them is. A model
        that carries a schema also takes a raw table, without ``y``: then the budget is for whom
        the schema protects, a row or a person.
    budget : float, PureDP, ZCDP or ApproxDP
        What the whole evaluation may cost, on top of what the training cost.
    measures : list, optional
        Of "accuracy", "confusion", "auc", "calibration", "groups"; fewer are more exact. By default
        all that the model has ("auc" of more than two classes only when asked for).
    groups, group_values :
        The group of each row, and every value that may occur there. With a raw table ``groups`` is
        the name of a categorical column, whose categories are the values.
    level : float
        Of each interval, for the value on fresh rows.
    ledger, dataset :
        The account to charge, once, before anything is counted.
    training_rows : bool, optional
        None refuses rows that look like the training rows (same number, same account). True
        evaluates on them, stamped as optimistic; False declares that they are others.
    insecure_seed : int, optional
        For tests: the result is not private.
    """
    tested = subject(model)
    seen = given(tested.last, X, y, groups, group_values, (ledger, dataset))
    X, y, n = seen.X, seen.y, row_count(seen.y)
    level = amount("level", level, 0.9999, 0.5)
    training = check_account(
        tested, n, ledger=ledger, dataset=dataset, training_rows=training_rows, seed=insecure_seed
    )
    labels, of_group = label_list(y), _declared_groups(seen.groups, seen.values)
    values = () if of_group is None else of_group.values
    if of_group is not None and len(of_group.found) != n:
        raise DataError("X, y and groups must have the same number of rows.")
    asked, classes = wanted(measures, tested, grouped=groups is not None), tested.classes.tolist()
    sizes = len(classes), len(values)
    planned = plan(
        seen.budget(as_budget(budget)), n, asked, *sizes, insecure_seed, tested.score_range
    )
    if ledger is not None:
        ledger.require(dataset, planned.event)
    refuse_rows(tested, X, n)
    noisy, receipt = charged(
        ledger,
        dataset,
        planned.event,
        lambda: _release(planned, look(tested, X, labels, planned, of_group)),
    )
    declared = training_rows is False
    relied = assumptions(values, training=training, declared=declared, steps=tested.steps)
    public = Public(n, level, tuple(classes), values)
    found = _told(planned, noisy, public, relied, receipt, training=training)
    return replace(found, guarantee=replace(found.guarantee, **seen.unit()))


def _declared_groups(groups: Any, values: Any) -> Groups | None:
    """The groups, if rows have any."""
    if groups is not None:
        return declared_groups(groups, values)
    if values is not None:
        raise DeclarationError("group_values are declared, but no row has a group: pass groups=.")
    return None


def _told(
    planned: Plan,
    noisy: list[Any],
    public: Public,
    relied: tuple[str, ...],
    receipt: Receipt | None,
    *,
    training: bool,
) -> Evaluation:
    """Measures read off the noisy tables, with the guarantee that covers them."""
    reading, counts = read(planned.tables, planned.mechanisms, noisy, public)
    shapes = {table.name: table.shape for table in planned.tables}
    values = zip(
        reading.names, reading.estimate[0], reading.lower[0], reading.upper[0], strict=True
    )
    return Evaluation(
        n=public.n,
        level=public.level,
        measures=tuple(measure(*each) for each in values),
        counts={name: found[0].reshape(shapes[name]).tolist() for name, found in counts.items()},
        classes=public.classes,
        guarantee=Guarantee(
            planned.event,
            planned.mechanisms[0].numerics,
            relied,
            unit=f"one row of the {'training' if training else 'evaluated'} table",
            receipt=receipt,
        ),
        on_training_rows=training,
    )


def look(
    model: Subject, X: Any, labels: NDArray[Any], planned: Plan, groups: Groups | None
) -> Seen:
    """The rows as the tables see them; what is wrong with one is refused here, charged."""
    names = {table.name for table in planned.tables}
    return Seen(
        truth=encode_labels(labels, model.classes),
        predicted=model.predicted(X),
        group=None if groups is None else groups.codes(),
        score=model.places(model.scores(X)) if "scores" in names else None,
        probability=model.probabilities(X) if names & {"ranks", "calibration"} else None,
    )


def _release(planned: Plan, seen: Seen) -> list[Any]:
    """Noisy tables; whoever calls this has charged the plan's event."""
    return [
        mechanism.run(mechanism.count(seen.places(table)), planned.n).values[np.newaxis]
        for table, mechanism in zip(planned.tables, planned.mechanisms, strict=True)
    ]


def assumptions(
    groups: Sequence[Any], *, training: bool, declared: bool, steps: bool
) -> tuple[str, ...]:
    """What the guarantee and the intervals rely on."""
    told = ["the number of rows", "the set of classes", "the released model itself"]
    if groups:
        told.append("the set of groups")
    if steps:
        told.append(
            "that each step of the pipeline before the model maps a row without looking at the "
            "others, and learnt nothing from private rows"
        )
    if training:
        told.append(f"the values are {TRAINING}")
    elif declared:
        told.append("that the rows are not the training rows, as the user declared")
    return tuple(told)
