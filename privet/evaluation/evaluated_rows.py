"""The rows of an evaluation: arrays, or a raw table that the model's schema encodes; their groups.

Before the charge only declarations and shapes are looked at, and NaN is refused. Which label and
which group a row has is checked when the tables are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from privet._types import Codes
from privet.errors import DataError, DeclarationError
from privet.evaluation.evaluated_model import EvaluatedModel, unquoted
from privet.ledger.charge import check_unit
from privet.models.classifier import PrivateLinearClassifier
from privet.models.inputs import encode_labels, refuse_unsound
from privet.models.tables import carried, labeled_rows, unit
from privet.privacy.budget import Budget
from privet.schema import Categorical, Schema
from privet.schema.cells import lookup
from privet.schema.tables import open_table

OTHER = "(other)"


@dataclass(frozen=True)
class Groups:
    """The group of each row, and every value that may occur; no values: there are no groups."""

    found: NDArray[Any]
    values: tuple[Any, ...] = ()

    def codes(self) -> Codes:
        """Groups by their place among the declared values; it may refuse, so after the charge."""
        if not self.values:
            return np.zeros(len(self.found), dtype=np.intp)
        ordered, place = np.unique(np.asarray(self.values), return_index=True)
        try:
            codes = encode_labels(self.found, ordered)
        except DataError:
            known = False
        else:
            known = True
        if not known:  # outside of the handler, which speaks of labels
            raise DataError(
                "A row's group is not among group_values. Nothing was released, but that much is "
                "now known of the rows, so a charge to a ledger stands. Declare every group, or "
                "map it to a declared one."
            )
        return np.asarray(place[codes])


@dataclass(frozen=True)
class EvaluatedRows:
    """What an evaluation reads; ``schema`` is None where arrays were passed."""

    X: Any
    labels: NDArray[Any]
    groups: Groups
    schema: Schema | None = None

    @property
    def n(self) -> int:
        """The public number of rows."""
        return len(self.labels)

    def budget(self, whole: Budget) -> Budget:
        """What each row may cost, so that a unit costs ``whole``."""
        return whole if self.schema is None else whole.per_row(self.schema.group_size)

    def unit(self, *, training: bool) -> dict[str, Any]:
        """What the guarantee says of its unit: a row, or a person of the schema."""
        row = {"unit": f"one row of the {'training' if training else 'evaluated'} table"}
        return row | ({} if self.schema is None else unit(self.schema))

    def refuse_unsound(self, model: EvaluatedModel) -> None:
        """Refuse, before a charge, a table of another shape and one that holds NaN or infinity.

        What a pipeline's steps make of a row is only known once they have seen it, after the
        charge.
        """
        shape = getattr(self.X, "shape", None)
        if (len(self.X) if shape is None else int(shape[0])) != self.n:
            raise DataError("X, y and groups must have the same number of rows.")
        last = getattr(model.last, "best_estimator_", model.last)
        if not model.steps and isinstance(last, PrivateLinearClassifier):
            unquoted(last.check_rows, self.X)
        elif issparse(self.X) or (isinstance(self.X, np.ndarray) and self.X.dtype.kind == "f"):
            refuse_unsound(self.X)


def evaluated_rows(
    model: EvaluatedModel, X: Any, y: Any, groups: Any, values: Any, account: tuple[Any, Any]
) -> EvaluatedRows:
    """Rows, labels and groups of a raw table, or of the arrays as they are.

    With a raw table ``groups`` names a categorical column. ``account`` (ledger and data set) must
    count for the schema's persons.
    """
    declared = carried(model.whole)
    if model.steps and y is not None and (declared is None or declared.person is None):
        rows, schema = X, None  # the pipeline takes the rows as they are
    else:
        rows, y, schema = labeled_rows(declared, X, y)
    if schema is not None:
        check_unit(*account, schema.group_size)
        if groups is not None:
            groups, values = groups_of(schema, X, groups)
    labels = label_list(y)
    return EvaluatedRows(rows, labels, declared_groups(groups, values, len(labels)), schema)


def label_list(y: Any) -> NDArray[Any]:
    """Labels as an array; only their shape is looked at."""
    if np.ma.isMaskedArray(y):
        raise DataError("Masked labels are refused. Fill the masked values first.")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError("The labels must be a list with one label for each row.")
    if len(labels) == 0:
        raise DataError("There are no rows to evaluate on.")
    return labels


def declared_groups(groups: Any, declared: Any, n: int) -> Groups:
    """Groups whose declaration and shape were checked; which group a row has was not."""
    if groups is None:
        if declared is not None:
            raise DeclarationError(
                "group_values are declared, but no row has a group: pass groups=."
            )
        return Groups(np.zeros(n, dtype=np.intp))
    if declared is None or isinstance(declared, str) or not np.iterable(declared):
        raise DeclarationError(
            "Groups need group_values=[...], every value that may occur: which ones do occur in "
            "the rows is private."
        )
    values = np.asarray(list(declared))
    if len(values) == 0 or len(np.unique(values)) != len(values):
        raise DeclarationError("group_values must name every group once.")
    found = np.asarray(groups)
    if found.ndim != 1:
        raise DataError("groups must be a list with one group for each row.")
    if len(found) != n:
        raise DataError("X, y and groups must have the same number of rows.")
    return Groups(found, tuple(values.tolist()))


def groups_of(schema: Schema, table: Any, column: Any) -> tuple[Any, list[str]]:
    """Each row's category by name, and all declared names; undeclared cells are one group."""
    declared = schema.columns.get(column) if isinstance(column, str) else None
    if not isinstance(declared, Categorical):
        raise DeclarationError(
            "The groups of a raw table are the name of a categorical column of its schema: only "
            "declared categories can be groups."
        )
    if schema.person is not None:
        raise DeclarationError(
            "Groups are not offered with a schema that bounds the rows of a person: a row that "
            "does not count would still show its group. Leave the groups out."
        )
    names = [str(category) for category in declared.categories] + [OTHER]
    batches = open_table(table, schema.file).batches([column])
    codes = [batch.cells(column).codes(lookup(declared.categories)) for batch in batches]
    found = np.concatenate(codes) if codes else np.zeros(0, dtype=np.intp)
    return np.array(names)[np.where(found < 0, len(names) - 1, found)], names
