"""A label that is a number: what a regression predicts, within declared bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privet._types import Array, Flags
from privet.schema.cells import Cells
from privet.schema.columns import Mark
from privet.schema.declared_values import Misdeclared, mark, number, text


@dataclass(frozen=True)
class Target:
    """The column to predict and the interval that its numbers are in.

    Numbers outside are clipped to the bounds. A row without a number is not dropped, for that
    would change the public number of rows: it becomes constant, with zero features and the number
    ``missing`` (without it, the middle of the bounds).

    Parameters
    ----------
    name : str
        The column to predict.
    low, high : float
        The bounds, declared without looking at the rows.
    missing : float or None, default None
        The number that rows without one take; None: the middle.
    from_data : bool or "confirmed", default False
        Whether the bounds were read from the table, and whether a person took them over.
    """

    #: what a row's label is kept as while a table is read
    code_type: ClassVar[DTypeLike] = np.float64

    name: str
    low: float
    high: float
    missing: float | None = None
    from_data: Mark = False

    def __post_init__(self) -> None:
        text("name", self.name)
        if self.name == "?":
            raise Misdeclared("name is still '?'. Name the column to predict.", "name")
        for key in ("low", "high"):
            object.__setattr__(self, key, number(key, getattr(self, key)))
        mark(self.from_data)
        if not self.low < self.high:
            raise Misdeclared("high must be above low.", "high")
        if self.missing is not None:
            object.__setattr__(self, "missing", number("missing", self.missing))
            if not self.low <= self.missing <= self.high:
                raise Misdeclared("missing must lie between low and high.", "missing")

    @property
    def bounds(self) -> tuple[float, float]:
        """What a regressor's ``target_bounds`` are."""
        return self.low, self.high

    @property
    def missing_code(self) -> float:
        """The number that rows without one take."""
        return self.low / 2.0 + self.high / 2.0 if self.missing is None else self.missing

    def codes(self, cells: Cells) -> Array:
        """Each row's number; NaN where it has none. Infinity is as far as the bounds go.

        Parameters
        ----------
        cells : Cells
            The column of a batch.

        Returns
        -------
        array
        """
        found = cells.numbers()
        return np.where(np.isinf(found), np.clip(found, self.low, self.high), found)

    def unknown(self, codes: Array) -> Flags:
        """Which rows have no number.

        Parameters
        ----------
        codes : array
            As ``codes`` gives them.

        Returns
        -------
        array of bool
        """
        return np.asarray(np.isnan(codes))

    def decode(self, codes: NDArray[np.float64]) -> Array:
        """Numbers as they are.

        Parameters
        ----------
        codes : array
            As ``codes`` gives them.

        Returns
        -------
        array
        """
        return codes
