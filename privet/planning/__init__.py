"""Is my table large enough? Answered from public numbers, before any budget is spent.

``plan`` takes what a person would declare anyway (rows, columns, budget, loss) and says how large
the noise will be, what is proved about the price in risk, and what to expect roughly. It reads no
data, so it costs nothing and may be asked as often as one likes.
"""

from privet.planning.needed import RowsNeeded
from privet.planning.planned import Plan, plan

__all__ = ["Plan", "RowsNeeded", "plan"]
