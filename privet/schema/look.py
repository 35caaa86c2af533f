"""A look at the cells before a budget is spent: how many miss their declaration.

A misspelled class, another unit or a decimal comma turns every row into the same constant, and the
encoding says nothing of it, since a word would tell about the rows. The person who holds the table
may know. What is counted here is exact and covered by no guarantee: it is for that person's
screen and is kept nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privet.schema.cells import Cells, lookup, number_of, text_of, with_point
from privet.schema.columns import Categorical, Label, Numeric
from privet.schema.declarations import Declarations, Tolerance
from privet.schema.persons import Allowance
from privet.schema.tables import open_table
from privet.schema.target import Target

NOT_A_NUMBER = "not numbers"
UNDECLARED = "undeclared"
OUTSIDE = "out of bounds"
BEYOND = "beyond the most rows"
#: how gaps are written where they are not left blank
_GAPS = ("na", "n/a", "nan", "null", "none", ".", "-", "?")


@dataclass
class ColumnLook:
    """How many cells of one column hold what was not declared, by kind, and what may be why."""

    name: str
    role: str
    share: float
    rows: int = 0
    missing: int = 0
    #: whether a gap was provided for by a declared value
    gaps_declared: bool = False
    #: whether a declared value could provide for one
    fillable: bool = False
    misses: dict[str, int] = field(default_factory=dict)
    #: how many misses would be hits after a change that a person could make
    cures: dict[str, int] = field(default_factory=dict)

    @property
    def affected(self) -> int:
        """Cells that do not count as they were meant."""
        return sum(self.misses.values()) + (0 if self.gaps_declared else self.missing)

    @property
    def exceeds(self) -> bool:
        """Whether more cells are affected than was declared to be normal."""
        return self.affected > self.share * self.rows

    @property
    def hint(self) -> str:
        """The likeliest cause, in words."""
        missed = sum(self.misses.values())
        if self.rows and self.missing == self.rows:
            return "every cell is empty: is it the right column?"
        if self.role == "person":
            return ""
        if self.missing > missed and self.fillable and self.exceeds:
            return "empty cells: declare what they count as, missing = ..."
        if not missed:
            return ""
        likely = max(self.cures, key=lambda words: self.cures[words], default="")
        if likely and 2 * self.cures[likely] > missed:
            return likely
        if missed + self.missing < self.rows:
            return ""
        if OUTSIDE in self.misses:
            return "every cell is outside the bounds: another unit?"
        if NOT_A_NUMBER in self.misses:
            return "no cell is a number: categories, or a date?"
        return "no cell is one of the declared values: another spelling or other codes?"


@dataclass(frozen=True)
class Look:
    """What was seen of a table, column by column, the label first."""

    columns: tuple[ColumnLook, ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.columns[0].rows

    @property
    def exceeding(self) -> tuple[str, ...]:
        """Columns of which more cells are affected than was declared to be normal."""
        return tuple(column.name for column in self.columns if column.exceeds)


def looked(schema: Declarations, table: Any, *, label: bool = True) -> Look:
    """Compare every cell of a table with its declaration; without ``label`` the features alone."""
    share = schema.look or Tolerance()
    counts: list[tuple[ColumnLook, Callable[[ColumnLook, Cells], None]]] = []
    if label:
        # a declared class for rows without a label is no label: what they say is lost all the same
        told = ColumnLook(schema.label.name, "label", share.labels)
        if isinstance(schema.label, Target):
            told.gaps_declared = schema.label.missing is not None
            counts.append((told, _numeric(schema.label)))
        else:
            counts.append((told, _listed(schema.label)))
    for name, column in schema.columns.items():
        found = ColumnLook(name, "column", share.cells)
        if isinstance(column, Numeric):
            found.gaps_declared = column.missing is not None
            found.fillable = not found.gaps_declared
            counts.append((found, _numeric(column)))
        elif isinstance(column, Categorical):
            counts.append((found, _listed(column)))
    if label and schema.person is not None:
        person = ColumnLook(schema.person.column, "person", share.cells)
        counts.append((person, _person(Allowance(schema.person))))
    for batch in open_table(table, schema.file).batches([found.name for found, _ in counts]):
        for found, count in counts:
            found.rows += len(batch)
            count(found, batch.cells(found.name))
    return Look(tuple(found for found, _ in counts))


def _add(to: dict[str, int], what: str, count: Any) -> None:
    if count:
        to[what] = to.get(what, 0) + int(count)


def _numeric(column: Numeric | Target) -> Callable[[ColumnLook, Cells], None]:
    def count(found: ColumnLook, cells: Cells) -> None:
        numbers = cells.numbers()
        gaps = np.isnan(numbers) & cells.missing()
        words = np.isnan(numbers) & ~gaps
        found.missing += int(gaps.sum())
        _add(found.misses, OUTSIDE, ((numbers < column.low) | (numbers > column.high)).sum())
        _add(found.misses, NOT_A_NUMBER, words.sum())
        if words.any():
            _cure(found, cells, words, _NUMBER_CURES)

    return count


def _listed(declared: Categorical | Label) -> Callable[[ColumnLook, Cells], None]:
    values = declared.classes if isinstance(declared, Label) else declared.categories
    place = lookup(values)
    folded = {_folded(value) for value in values}
    cures: _Cures = (
        ("another case, blanks or hyphens than declared?", lambda text: _folded(text) in folded),
        ("a word for a gap, such as NA: leave such cells empty?", _is_gap),
    )

    def count(found: ColumnLook, cells: Cells) -> None:
        gaps = cells.missing()
        unknown = (cells.codes(place) < 0) & ~gaps
        found.missing += int(gaps.sum())
        _add(found.misses, UNDECLARED, unknown.sum())
        if unknown.any():
            _cure(found, cells, unknown, cures)

    return count


def _person(allowance: Allowance) -> Callable[[ColumnLook, Cells], None]:
    def count(found: ColumnLook, cells: Cells) -> None:
        turns = allowance.turns(cells)
        found.missing += int((turns < 0).sum())
        _add(found.misses, BEYOND, (turns >= allowance.most).sum())

    return count


# -- causes ------------------------------------------------------------------------------------

_Cures = Iterable[tuple[str, Callable[[str], bool]]]


def _folded(value: Any) -> str:
    return "".join(c for c in str(text_of(value)).casefold() if c.isalnum() or c in "<>=+")


def _is_gap(text: str) -> bool:
    return text.strip().casefold() in _GAPS


def _is_number(text: str) -> bool:
    number = number_of(text)
    return number == number


def _without_thousands(text: str) -> str:
    """A number whose groups of three digits are marked, without the marks; or nothing."""
    for mark in (",", ".", "'", "\u2019", " ", "\xa0", "\u202f"):
        head, *groups = text.strip().split(mark)
        tail = groups[-1][3:] if groups else ""
        sizes = all(len(group) == 3 for group in groups[:-1]) and groups and len(groups[-1]) >= 3
        whole = head.lstrip("+-")
        if sizes and 1 <= len(whole) <= 3 and whole[0] != "0" and not tail[:1].isdigit():
            return "".join([head, *groups]).replace(",", ".")
    return ""


_NUMBER_CURES: _Cures = (
    ("a word for a gap, such as NA: leave such cells empty?", _is_gap),
    (
        "thousand separators? Write the numbers without them.",
        lambda text: _is_number(_without_thousands(text)),
    ),
    (
        'a decimal comma? Declare decimal = "," under [file].',
        lambda text: _is_number(with_point(text)),
    ),
    (
        'a decimal point? Declare decimal = "." under [file].',
        lambda text: _is_number(text) and "." in text,
    ),
)


def _cure(found: ColumnLook, cells: Cells, missed: Any, cures: _Cures) -> None:
    """Count the misses that each change would cure, the likelier of two equals first."""
    kinds, index = cells.distinct()
    counts = np.bincount(index[missed], minlength=len(kinds))
    texts = [(str(kinds[place]), counts[place]) for place in np.flatnonzero(counts).tolist()]
    for words, works in cures:
        _add(found.cures, words, sum(count for text, count in texts if works(text)))
