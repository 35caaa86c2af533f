"""A raw table in place of rows and labels: encoded by the schema that the model carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import DeclarationError
from privet.ledger.charge import check_unit
from privet.models.carried import unit
from privet.models.tables import labelled_rows
from privet.privacy.budget import Budget
from privet.schema import Categorical, Schema
from privet.schema.cells import lookup
from privet.schema.tables import open_table

OTHER = "(other)"


@dataclass(frozen=True)
class Given:
    """What an evaluation reads, as rows: ``schema`` is None where arrays were passed."""

    X: Any
    y: Any
    groups: Any
    values: Any
    schema: Schema | None

    def budget(self, whole: Budget) -> Budget:
        """What each row may cost, so that a unit costs ``whole``."""
        return whole if self.schema is None else whole.per_row(self.schema.group_size)

    def unit(self) -> dict[str, Any]:
        """What the guarantee says of its unit, where that is not a row."""
        return {} if self.schema is None else unit(self.schema)


def given(model: Any, X: Any, y: Any, groups: Any, values: Any, account: Any) -> Given:
    """Rows, labels and groups of a raw table, or the arrays as they are.

    With a raw table ``groups`` names a categorical column. ``account`` (ledger and data set) must
    count for the schema's persons.
    """
    rows, labels, schema = labelled_rows(model, X, y)
    if schema is not None:
        ledger, dataset = account
        check_unit(ledger, dataset, schema.group_size)
        if groups is not None:
            groups, values = groups_of(schema, X, groups)
    return Given(rows, labels, groups, values, schema)


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
            "does not count would still show its group."
        )
    names = [str(category) for category in declared.categories] + [OTHER]
    batches = open_table(table, schema.file).batches([column])
    codes = [batch.cells(column).codes(lookup(declared.categories)) for batch in batches]
    found = np.concatenate(codes) if codes else np.zeros(0, dtype=np.intp)
    return np.array(names)[np.where(found < 0, len(names) - 1, found)], names
