"""Privacy as algebra: budgets, curves, events and their composition. No data enters here."""

from privet.privacy.budget import BUDGETS, GDP, ZCDP, ApproxDP, Budget, PureDP, as_budget
from privet.privacy.compose import Composition, Filter
from privet.privacy.event import Event
from privet.privacy.kinds import FitEvent, event_from_json

__all__ = [
    "BUDGETS",
    "GDP",
    "ZCDP",
    "ApproxDP",
    "Budget",
    "Composition",
    "Event",
    "Filter",
    "FitEvent",
    "PureDP",
    "as_budget",
    "event_from_json",
]
