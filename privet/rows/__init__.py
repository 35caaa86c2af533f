"""Rows over a closed list of engines."""

from privet.rows.arrays import ArrayRows, checked_rows
from privet.rows.engine import Block, Rows

__all__ = ["ArrayRows", "Block", "Rows", "checked_rows"]
