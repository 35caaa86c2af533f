"""What is public about a table, as one frozen value: checked declarations, and facts that follow.

What is done with a table by these declarations is in the modules above: ``encode``, ``look``,
``toml``, and ``Schema``, which has them all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from privet._checks import is_number, shown
from privet._names import alike
from privet.domain import Domain
from privet.schema.cells import Value
from privet.schema.columns import Column, Label, Mark
from privet.schema.declared_values import Misdeclared, is_plain
from privet.schema.file_format import FileFormat
from privet.schema.persons import Person
from privet.schema.target import Target

ROWS = ("scaled", "unit")


@dataclass(frozen=True)
class Tolerance:
    """The ``[look]`` table of a schema: which shares of cells may miss their declaration.

    Parameters
    ----------
    cells : float
        Of each column.
    labels : float
        Of the label, whose misses make whole rows constant.
    """

    cells: float = 0.05
    labels: float = 0.01

    def __post_init__(self) -> None:
        for key in ("cells", "labels"):
            share = getattr(self, key)
            if not is_number(share) or not 0.0 <= share <= 1.0:
                raise Misdeclared(
                    f"{key} must be a share between 0 and 1, got {shown(share)}.", key
                )


def unit_factor(columns: int) -> float:
    """``1/sqrt(columns)``, less what rounding could add to the norm of a row.

    A row has at most ``columns`` entries of at most this size. Their squares, summed in any order
    in single precision (unit roundoff 2^-24), exceed the exact sum by a factor of about
    ``1 + (columns + 3) 2^-24``; more is taken off, so no computed norm passes 1.
    """
    return (1.0 - (columns + 4) * 2.0**-23) / math.sqrt(columns)


@dataclass(frozen=True, eq=False)
class Declarations:
    """Declared columns, label and person of a table, how its files are written and looked at."""

    columns: Mapping[str, Column]
    label: Label | Target
    person: Person | None = None
    rows: Literal["scaled", "unit"] = "scaled"
    file: FileFormat | None = None
    look: Tolerance | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise Misdeclared("columns must name at least one column.", "columns")
        if not isinstance(self.label, Label | Target):
            raise Misdeclared("label must be a Label or a Target.", "label")
        if not isinstance(self.person, Person | None):
            raise Misdeclared("person must be a Person or None.", "person")
        if not isinstance(self.file, FileFormat | None):
            raise Misdeclared("file must be a FileFormat or None.", "file")
        if not isinstance(self.look, Tolerance | None):
            raise Misdeclared("look must be a Tolerance or None.", "look")
        if self.rows not in ROWS:
            raise Misdeclared(f"rows must be 'scaled' or 'unit', got {shown(self.rows)}.", "rows")
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        self._check_names()

    def _check_names(self) -> None:
        for name, column in self.columns.items():
            if not isinstance(name, str) or not is_plain(name):
                raise Misdeclared(
                    "A column must have a name that is plain text, without control characters.",
                    "columns",
                    name,
                )
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
        self._check_looks()

    def _check_looks(self) -> None:
        """Refuse names that a reader would take for one another."""
        counted = Counter(self.feature_names)
        twice = next((name for name, count in counted.items() if count > 1), None)
        if twice is not None:
            raise Misdeclared(f"Two encoded columns would be called {shown(twice)}.", "columns")
        person = [] if self.person is None else [self.person.column]
        same = alike([self.label.name, *person, *self.columns])
        if same is not None:
            raise Misdeclared(
                f"The names {shown(same[0])} and {shown(same[1])} look the same, but for capitals "
                f"or signs that nobody sees. Rename one; the second is {same[1]!a}.",
                *(("columns", same[1]) if same[1] in self.columns else ("person", "column")),
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Declarations) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __reduce__(self) -> tuple[Any, ...]:
        more = (self.label, self.person, self.rows, self.file, self.look)
        return type(self), (dict(self.columns), *more)

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
        return unit_factor(len(self.columns))

    @property
    def classes(self) -> tuple[Value, ...] | None:
        """The label's classes; None where it is a number."""
        return self.label.classes if isinstance(self.label, Label) else None

    @property
    def target_bounds(self) -> tuple[float, float] | None:
        """The bounds of a label that is a number; None where it has classes."""
        return self.label.bounds if isinstance(self.label, Target) else None

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
    def domain(self) -> Domain | None:
        """What an encoded row can be, by the declarations alone; None where only its norm is known.

        With ``rows="unit"`` each row is divided by its own norm, and nothing else is known of it.
        """
        if self.rows == "unit":
            return None
        return Domain(tuple(column.block(self.factor) for column in self.columns.values()))

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
        named: list[tuple[str, Column | Label | Target]] = [*self.columns.items()]
        named.append((self.label.name, self.label))
        return tuple(name for name, declared in named if declared.from_data == mark)
