"""The schema: declarations of a table, and what is done by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from privet.errors import DeclarationError
from privet.schema import encode as encoding
from privet.schema import toml
from privet.schema.columns import Effect, Numeric
from privet.schema.declarations import Declarations
from privet.schema.encode import Encoded
from privet.schema.look import Look, looked


@dataclass(frozen=True, eq=False)
class Schema(Declarations):
    """Declared columns, label and person of a table.

    Numbers are clipped to their bounds and centered on [-1, 1], categories become one-hot columns,
    and everything is multiplied by ``1/sqrt(number of columns)``: every row is in the unit ball
    whatever the table holds. With ``rows="unit"`` each encoded row is divided by its own norm
    instead, which uses the whole ball but has no coefficients in original units. ``file`` says how
    CSV files are written, and ``look`` how many cells may miss their declaration before the
    curator is asked; neither changes what a read cell means for privacy.
    """

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

    def compare(self, table: Any, *, label: bool = True) -> Look:
        """How many cells of each column miss their declaration: for the curator's eyes only.

        The counts are exact and no guarantee covers them. They are for a person who may see the
        rows anyway, before a budget is spent on a table that does not fit its schema. Without
        ``label`` the table needs no label and no person, as for predictions.
        """
        return looked(self, table, label=label)

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

    def with_knots(self, knots: int) -> Schema:
        """The same with this many knots in every number that has none declared."""
        columns = {
            name: replace(column, knots=knots)
            if isinstance(column, Numeric) and column.knots is None
            else column
            for name, column in self.columns.items()
        }
        return replace(self, columns=columns)

    def bent_like(self, other: Schema | None) -> Schema:
        """The same with the other schema's knots in numbers that declare none here."""
        theirs = {} if other is None else dict(other.columns)
        columns = {
            name: replace(column, knots=known.knots)
            if isinstance(column, Numeric)
            and isinstance(known := theirs.get(name), Numeric)
            and column.knots is None
            else column
            for name, column in self.columns.items()
        }
        return replace(self, columns=columns)

    def to_toml(self) -> str:
        """The schema as TOML, which ``from_toml`` reads back."""
        return toml.write(self)

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """A schema from a TOML file, or from TOML text of more than one line.

        A mistake is reported with its line and column.
        """
        return toml.read(cls, source)

    @classmethod
    def from_text(cls, text: str) -> Schema:
        """A schema from TOML text, which is never taken for the name of a file.

        For text out of a file that somebody else wrote: it must not choose what is read here.
        """
        return toml.of_text(cls, text)
