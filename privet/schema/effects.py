"""Coefficients in the table's own units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effect:
    """What one feature does to the scores, one number for each score.

    The score of a row is the baseline, plus for each number its change times the distance from
    ``middle`` in units or doublings, plus the change of each category that the row is in.
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
