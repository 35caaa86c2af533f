"""Declared columns and label, all frozen: numbers between bounds, categories or classes in a list.

Each column becomes one block of encoded columns of Euclidean norm at most one, whatever its cells
hold, so that ``k`` columns times ``1/sqrt(k)`` lie in the unit ball.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privet._types import Array, Flags
from privet.domain import Box, OneHot, Part
from privet.schema.cells import Cells, Index, Value, lookup, text_of
from privet.schema.declared_values import (
    OTHER,
    Misdeclared,
    boolean,
    mark,
    number,
    text,
    values,
)
from privet.schema.scales import on_scale, put_shares

#: more would be a table of its own
MOST_KNOTS = 100
#: read from the data: no; yes and waiting for a person; yes and a person took it over
Mark = bool | Literal["confirmed"]


@dataclass(frozen=True)
class Effect:
    """What one feature does to the scores, one number for each score.

    The score of a row is the baseline, plus for each number its change times the distance from
    ``middle`` in units or doublings, plus the change of each category that the row is in. Between
    two knots of a number the change goes from one to the other in a straight line.
    """

    name: str
    unit: str
    changes: tuple[float, ...]
    middle: float | None = None

    @property
    def change(self) -> float:
        """The change of the only score of a two-class model."""
        (only,) = self.changes
        return only

    def __str__(self) -> str:
        shown = ", ".join(f"{change:+.4g}" for change in self.changes)
        return f"{self.name}: {shown} {self.unit}"


class Column(ABC):
    """How one column of a table becomes encoded columns; holds declarations only."""

    from_data: Mark

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of encoded columns."""

    @abstractmethod
    def names(self, column: str) -> tuple[str, ...]:
        """A name for each encoded column."""

    @abstractmethod
    def read(self, cells: Cells) -> NDArray[Any]:
        """One number for each row that says all: the cell's own, or its category's place."""

    @abstractmethod
    def put(self, found: NDArray[Any], out: NDArray[Any], start: int, factor: float) -> None:
        """``factor`` times what was read, from column ``start`` of ``out`` on, which is zero."""

    @abstractmethod
    def block(self, factor: float) -> Part:
        """What ``factor`` times the encoded columns can be."""

    @abstractmethod
    def effects(self, column: str, weights: Array) -> list[Effect]:
        """What ``weights`` (scores x width) on the unscaled encoding mean in the table's units."""


@dataclass(frozen=True)
class Numeric(Column):
    """A number between declared bounds; cells beyond them are moved to the bound.

    The bounds become -1 and 1. ``log`` spaces values by their logarithm (by that of 1 + value where
    ``low`` is zero). A missing cell takes the value ``missing``, or without it the middle of the
    scale, which is encoded as zero. ``from_data`` marks bounds that were read from the table and
    that nobody has confirmed yet; ``"confirmed"`` that somebody has.

    With ``knots`` the number has that many encoded columns, one for each of equally spaced values
    from ``low`` to ``high``: at such a value its column is one, and between two of them both hold
    their shares. A linear model of these columns bends at every knot.
    """

    low: float
    high: float
    log: bool = False
    missing: float | None = None
    from_data: Mark = False
    knots: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", number("low", self.low))
        object.__setattr__(self, "high", number("high", self.high))
        boolean("log", self.log)
        mark(self.from_data)
        if not self.low < self.high:
            raise Misdeclared(f"low = {self.low:g} must be below high = {self.high:g}.", "low")
        if self.log and self.low < 0:
            raise Misdeclared("A logarithmic scale needs low to be zero or more.", "low")
        if not self.scale[1] > 0.0:
            raise Misdeclared("low and high are too close together for this scale.", "low")
        if self.missing is not None:
            object.__setattr__(self, "missing", number("missing", self.missing))
            if not self.low <= self.missing <= self.high:
                raise Misdeclared("missing must lie between low and high.", "missing")
        if self.knots is not None:
            whole = isinstance(self.knots, int) and not isinstance(self.knots, bool)
            if not whole or not 3 <= self.knots <= MOST_KNOTS:
                raise Misdeclared(
                    f"knots must be a whole number from 3 to {MOST_KNOTS}; leave it out for a "
                    "straight line.",
                    "knots",
                )

    @property
    def width(self) -> int:
        """One column, or one for each knot."""
        return self.knots or 1

    def names(self, column: str) -> tuple[str, ...]:
        """The column's own name, or ``column@value`` for each knot."""
        if self.knots is None:
            return (column,)
        told = [f"{value:.6g}" for value in self.knot_values]
        if len(set(told)) < len(told):
            told = [str(place) for place in range(1, self.knots + 1)]
        return tuple(f"{column}@{value}" for value in told)

    @property
    def knot_values(self) -> list[float]:
        """What the number is at each knot."""
        places = np.linspace(*self._ends, self.width)
        if self.log:
            places = np.exp(places) if self.low > 0 else np.expm1(places)
        return [float(value) for value in places]

    def _stretch(self, values: Array) -> Array:
        if not self.log:
            return values
        return np.log(values) if self.low > 0 else np.log1p(values)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self._stretch(np.array([self.low, self.high])).tolist()
        return low, high

    @cached_property
    def scale(self) -> tuple[float, float]:
        """Where the scale begins, and half of its length."""
        low, high = self._ends
        return low, (high - low) / 2.0

    @property
    def middle(self) -> float:
        """The value that is encoded as zero."""
        center = sum(self._ends) / 2.0
        if not self.log:
            return center
        return math.exp(center) if self.low > 0 else math.expm1(center)

    @cached_property
    def bare(self) -> bool:
        """Whether values lie on the scale as they are."""
        return self.missing is None and not self.log and not math.isinf(self.scale[1])

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values with gaps filled where one is declared, as they lie on the scale."""
        if self.missing is not None:
            values = np.where(np.isnan(values), np.float64(self.missing), values)
        if self.log or math.isinf(self.scale[1]):  # what is infinite has no logarithm, nor a place
            values = self._stretch(np.clip(values, self.low, self.high, dtype=np.float64))
        return values

    def positions(self, values: NDArray[Any]) -> Array:
        """Values on the scale from -1 to 1, gaps filled; never outside, also after rounding."""
        return on_scale(self.flat(values).astype(np.float64), *self.scale)

    def read(self, cells: Cells) -> NDArray[Any]:
        """Numbers as they are in the table."""
        return cells.floats()

    def put(self, found: NDArray[Any], out: NDArray[Any], start: int, factor: float) -> None:
        """One column between ``-factor`` and ``factor``, or shares of it in two columns."""
        places = self.positions(found)
        if self.knots is not None:
            put_shares(places, out[:, start : start + self.knots], factor)
            return
        np.multiply(places, factor, out=out[:, start], casting="same_kind")

    def block(self, factor: float) -> Part:
        """A number between ``-factor`` and ``factor``, or two columns that share it."""
        return Box(1, factor) if self.knots is None else OneHot(self.knots, factor, between=True)

    def effects(self, column: str, weights: Array) -> list[Effect]:
        """Change of the score per unit, or per doubling on a logarithmic scale; or at each knot."""
        if self.knots is not None:
            changes = zip(self.names(column), weights.T.tolist(), strict=True)
            return [Effect(name, "at this value", tuple(change)) for name, change in changes]
        low, high = self._ends
        step = 2.0 / (high - low) * (math.log(2.0) if self.log else 1.0)
        unit = "per unit"
        if self.log:
            unit = "per doubling" if self.low > 0 else "per doubling of 1 + value"
        return [Effect(column, unit, tuple((weights[:, 0] * step).tolist()), self.middle)]


@dataclass(frozen=True)
class Categorical(Column):
    """One of the declared categories: one encoded column each, and one for all others.

    A missing or undeclared cell is in ``(other)``; with ``other=False`` its columns are all zero.
    Categories are text, whole numbers or booleans. ``from_data`` marks a list that was read from
    the table and that nobody has confirmed yet; ``"confirmed"`` that somebody has.
    """

    categories: tuple[Value, ...]
    other: bool = True
    from_data: Mark = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", values("categories", self.categories, lines=True))
        boolean("other", self.other)
        mark(self.from_data)

    @property
    def width(self) -> int:
        """One column for each category and, if kept, for the others."""
        return len(self.categories) + self.other

    def names(self, column: str) -> tuple[str, ...]:
        """``column=category``."""
        told = [" ".join(str(text_of(category)).split()) for category in self.categories]
        return tuple(f"{column}={name}" for name in [*told, OTHER][: self.width])

    def read(self, cells: Cells) -> NDArray[Any]:
        """Each row's place among the categories, behind the last one for any other cell."""
        last = len(self.categories)
        return cells.codes(lookup(self.categories), np.min_scalar_type(last), last)

    def put(self, found: NDArray[Any], out: NDArray[Any], start: int, factor: float) -> None:
        """``factor`` in the column of each row's category."""
        assert out.flags.c_contiguous  # else what is written below would be a copy
        places = np.arange(start, start + out.size, out.shape[1])
        places += found
        known = found < self.width  # without a column for others they have no place
        out.reshape(-1)[places if known.all() else places[known]] = factor

    def block(self, factor: float) -> Part:
        """One of the columns is ``factor``; none, where others have no column."""
        return OneHot(self.width, factor, missing=not self.other)

    def effects(self, column: str, weights: Array) -> list[Effect]:
        """Change of the score for being in a category."""
        changes = zip(self.names(column), weights.T.tolist(), strict=True)
        return [Effect(name, "in this category", tuple(change)) for name, change in changes]


@dataclass(frozen=True)
class Label:
    """The column to predict and its declared classes: all text, all whole numbers or all booleans.

    Of two classes the second is the positive one: scores, coefficients and rates speak of it.
    A row whose label is missing or not declared is not dropped, for that would change the public
    number of rows: it becomes constant, with zero features and the class ``missing`` (without it,
    the first one).
    """

    #: what a row's label is kept as while a table is read
    code_type: ClassVar[DTypeLike] = np.intp

    name: str
    classes: tuple[Value, ...]
    missing: Value | None = None
    from_data: Mark = False

    def __post_init__(self) -> None:
        text("name", self.name)
        if self.name == "?":
            raise Misdeclared("name is still '?'. Name the column to predict.", "name")
        object.__setattr__(self, "classes", values("classes", self.classes, fewest=2))
        mark(self.from_data)
        if len({type(value) for value in self.classes}) > 1:
            raise Misdeclared(
                "classes must be all text, all whole numbers or all booleans.", "classes"
            )
        if self.missing is not None and self._place(self.missing) < 0:
            raise Misdeclared("missing must be one of the classes.", "missing")

    def _place(self, value: Value) -> int:
        same = [text_of(known) == text_of(value) for known in self.classes]
        return same.index(True) if any(same) else -1

    @property
    def missing_code(self) -> int:
        """The place of the class that rows without a label take."""
        return 0 if self.missing is None else self._place(self.missing)

    def codes(self, cells: Cells) -> Index:
        """Each row's class by its place, in few bytes; -1 where it is missing or not declared."""
        return cells.codes(lookup(self.classes), np.min_scalar_type(-len(self.classes)))

    def unknown(self, codes: Index) -> Flags:
        """Which rows have no declared class."""
        return np.asarray(codes < 0)

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Classes as they were declared."""
        return np.asarray(np.array(self.classes)[codes])
