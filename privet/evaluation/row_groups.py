"""The groups that an evaluation tells apart: declared values, or a categorical column of a schema.

Which group a row has is private, and is looked at when the tables are counted, after the charge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet._types import Codes
from privet.errors import DataError, DeclarationError
from privet.models.inputs import encode_labels
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
    declared = declared_column(schema, column)
    names = group_names(declared)
    batches = open_table(table, schema.file).batches([column])
    codes = [batch.cells(column).codes(lookup(declared.categories)) for batch in batches]
    found = np.concatenate(codes) if codes else np.zeros(0, dtype=np.intp)
    return np.array(names)[np.where(found < 0, len(names) - 1, found)], names


def group_names(declared: Categorical) -> list[str]:
    """All groups: the categories, and one of all other cells."""
    return [str(category) for category in declared.categories] + [OTHER]


def declared_column(schema: Schema, column: Any) -> Categorical:
    """The column of the groups, refused where it is not declared as one; no row is read."""
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
    return declared
