"""Is my table large enough? Answered from public numbers, before any budget is spent.

``plan`` takes an estimator, which holds what a person would declare anyway, and the size of the
table. It says how large the noise will be, what is proved about the price in risk, and what to
expect roughly. It reads no data, so it costs nothing and may be asked as often as one likes.
"""

from privet.planning.plans import Plan, plan
from privet.planning.regression_plans import RegressionPlan
from privet.planning.rows_needed import RowsNeeded

__all__ = ["Plan", "RegressionPlan", "RowsNeeded", "plan"]
