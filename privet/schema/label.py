"""The declared label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.schema.cells import Cells, Index, Value, lookup, text_of
from privet.schema.columns import Mark, Misdeclared, mark, text, values


@dataclass(frozen=True)
class Label:
    """The column to predict and its declared classes: all text, all whole numbers or all booleans.

    A row whose label is missing or not declared is not dropped, for that would change the public
    number of rows: it becomes constant, with zero features and the class ``missing`` (without it,
    the first one).
    """

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
        """Each row's class by its place; -1 where it is missing or not declared."""
        return cells.codes(lookup(self.classes))

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Classes as they were declared."""
        return np.asarray(np.array(self.classes)[codes])
