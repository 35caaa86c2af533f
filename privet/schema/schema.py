"""The schema: what is public about a table, as one frozen value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from privet.errors import DeclarationError
from privet.schema import encode as encoding
from privet.schema import toml
from privet.schema.columns import Column, Effect, Label, Mark, Misdeclared, is_plain
from privet.schema.encode import Encoded
from privet.schema.file_format import FileFormat
from privet.schema.look import Look, Tolerance, looked
from privet.schema.persons import Person

__all__ = ["Encoded", "Schema"]

ROWS = ("scaled", "unit")


@dataclass(frozen=True, eq=False)
class Schema:
    """Declared columns, label and person of a table.

    Numbers are clipped to their bounds and centered on [-1, 1], categories become one-hot columns,
    and everything is multiplied by ``1/sqrt(number of columns)``: every row is in the unit ball
    whatever the table holds. With ``rows="unit"`` each encoded row is divided by its own norm
    instead, which uses the whole ball but has no coefficients in original units. ``file`` says how
    CSV files are written, and ``look`` how many cells may miss their declaration before the
    curator is asked; neither changes what a read cell means for privacy.
    """

    columns: Mapping[str, Column]
    label: Label
    person: Person | None = None
    rows: Literal["scaled", "unit"] = "scaled"
    file: FileFormat | None = None
    look: Tolerance | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise Misdeclared("columns must name at least one column.", "columns")
        if not isinstance(self.label, Label):
            raise Misdeclared("label must be a Label.", "label")
        if not isinstance(self.person, Person | None):
            raise Misdeclared("person must be a Person or None.", "person")
        if not isinstance(self.file, FileFormat | None):
            raise Misdeclared("file must be a FileFormat or None.", "file")
        if not isinstance(self.look, Tolerance | None):
            raise Misdeclared("look must be a Tolerance or None.", "look")
        if self.rows not in ROWS:
            raise Misdeclared(f"rows must be 'scaled' or 'unit', got {self.rows!r}.", "rows")
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        self._check_names()

    def _check_names(self) -> None:
        for name, column in self.columns.items():
            if not isinstance(name, str) or not is_plain(name):
                raise Misdeclared("A column must have a name that is plain text.", "columns", name)
            if not isinstance(column, Column):
                raise Misdeclared(
                    f"Column {name!r} must be Numeric or Categorical.", "columns", name
                )
        if self.label.name in self.columns:
            raise Misdeclared(
                "The label must not be among the columns.", "columns", self.label.name
            )
        if self.person is not None:
            if self.person.column in self.columns:
                raise Misdeclared(
                    "The person must not be among the columns.", "columns", self.person.column
                )
            if self.person.column == self.label.name:
                raise Misdeclared("The person must not be the label.", "person", "column")
        names = self.feature_names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise Misdeclared(f"Two encoded columns would be called {twice!r}.", "columns")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __reduce__(self) -> tuple[Any, ...]:
        more = (self.label, self.person, self.rows, self.file, self.look)
        return Schema, (dict(self.columns), *more)

    def _parts(self) -> tuple[Any, ...]:
        """Everything, with the order of the columns, which the encoding follows."""
        more = (self.label, self.person, self.rows, self.file, self.look)
        return tuple(self.columns.items()), *more

    # -- public facts ------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return sum(column.width for column in self.columns.values())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, in order."""
        return tuple(part for name, column in self.columns.items() for part in column.names(name))

    @property
    def factor(self) -> float:
        """What every encoded column is multiplied by."""
        return encoding.unit_factor(len(self.columns))

    @property
    def group_size(self) -> int:
        """How many encoded rows one person can change; see ``Budget.for_group``."""
        return 1 if self.person is None else self.person.most_rows

    @property
    def column_bounds(self) -> tuple[float, float]:
        """What every encoded number is within, by the encoding alone: no row is looked at."""
        most = 1.0 if self.rows == "unit" else 1.0 / math.sqrt(len(self.columns))
        return -most, most

    @property
    def has_constant(self) -> bool:
        """Whether a group of encoded columns adds up to a constant, as an intercept would.

        One-hot columns with an (other) do. An intercept beside them says nothing new, but its
        column makes every row longer and so costs noise.
        """
        return any(getattr(column, "other", False) for column in self.columns.values())

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Columns whose declaration was read from the data and that nobody has confirmed."""
        return self._marked(True)

    @property
    def confirmed(self) -> tuple[str, ...]:
        """Columns whose declaration was read from the data and that a person took over as it is."""
        return self._marked("confirmed")

    def _marked(self, mark: Mark) -> tuple[str, ...]:
        named: list[tuple[str, Column | Label]] = [*self.columns.items()]
        named.append((self.label.name, self.label))
        return tuple(name for name, declared in named if declared.from_data == mark)

    # -- encoding ----------------------------------------------------------------------------------

    def encode(
        self, table: Any, *, dtype: DTypeLike = np.float64, as_rows: bool = False
    ) -> Encoded:
        """Features and labels of a table, one row for each of its rows.

        ``table`` is a pandas, polars or Arrow table, a DuckDB relation, columns by name, or the
        path of a Parquet or CSV file. A row without a declared label becomes constant: zero
        features and the label declared for it. So do a person's rows beyond the allowed number
        and rows without a person, where a person is declared.

        Arrays cannot say whose row it is. With a declared person they are given only for
        ``as_rows=True``: what is fitted to them is promised to a row; ``fit_table`` means persons.
        """
        if self.person is not None and not as_rows:
            raise DeclarationError(
                "This schema says whose row each one is, which arrays cannot: a fit of them would "
                "promise its budget to a row, and a person would have a worse promise. Use "
                "privet.fit_table(model, schema, table), or pass as_rows=True and divide the "
                "budget with budget.per_row(schema.group_size)."
            )
        return encoding.encode(self, table, dtype)

    def encode_features(self, table: Any, *, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Features alone, for prediction; the table needs no label and no person."""
        return encoding.encode_features(self, table, dtype)

    def compare(self, table: Any) -> Look:
        """How many cells of each column miss their declaration: for the curator's eyes only.

        The counts are exact and no guarantee covers them. They are for a person who may see the
        rows anyway, before a budget is spent on a table that does not fit its schema.
        """
        return looked(self, table)

    # -- explaining -------------------------------------------------------------------------------

    def explain(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> list[Effect]:
        """Released coefficients in the table's units, the baseline first.

        The baseline is the score of a row with every number in the middle of its bounds and in no
        category. ``coef`` has one row for each score.
        """
        if self.rows != "scaled":
            raise DeclarationError(
                "Coefficients have original units only with rows='scaled': with rows='unit' each "
                "row is divided by its own norm."
            )
        weights = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        if weights.ndim != 2 or weights.shape[1] != self.width:
            raise DeclarationError(f"coef must have {self.width} columns, as the encoding has.")
        offsets = np.broadcast_to(np.asarray(intercept, dtype=np.float64), len(weights))
        effects = [Effect("(baseline)", "score", tuple(offsets.tolist()))]
        start = 0
        for name, column in self.columns.items():
            block = weights[:, start : start + column.width] * self.factor
            effects += column.effects(name, block)
            start += column.width
        return effects

    def to_toml(self) -> str:
        """The schema as TOML, which ``from_toml`` reads back."""
        return toml.write(self)

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """A schema from a TOML file, or from TOML text of more than one line.

        A mistake is reported with its line and column.
        """
        return toml.read(cls, source)
