"""Privet: differentially private classifiers and regressions whose epsilon is a theorem.

The public names, loaded when they are first used, so that ``import privet`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privet._version import __version__

if TYPE_CHECKING:
    from privet.domain import Box, Domain, OneHot
    from privet.evaluation import evaluate
    from privet.inference import confidence_intervals, fit_with_intervals
    from privet.ledger import Ledger
    from privet.losses import ConvexLoss
    from privet.models import (
        HuberRegressor,
        LargeMarginGaussian,
        LinearRegression,
        LinearSVC,
        LogisticRegression,
        PoissonRegressor,
        PrivateERM,
        Ridge,
        fit_table,
    )
    from privet.planning import plan
    from privet.privacy import GDP, ZCDP, ApproxDP, PureDP
    from privet.rows.door import stream
    from privet.schema import Categorical, Label, Numeric, Person, Schema, Target
    from privet.store import load, save

_HOMES = {
    "PureDP": "privet.privacy",
    "GDP": "privet.privacy",
    "ZCDP": "privet.privacy",
    "ApproxDP": "privet.privacy",
    "Ledger": "privet.ledger",
    "LargeMarginGaussian": "privet.models",
    "LogisticRegression": "privet.models",
    "LinearSVC": "privet.models",
    "LinearRegression": "privet.models",
    "HuberRegressor": "privet.models",
    "PoissonRegressor": "privet.models",
    "PrivateERM": "privet.models",
    "Ridge": "privet.models",
    "ConvexLoss": "privet.losses",
    "fit_table": "privet.models",
    "evaluate": "privet.evaluation",
    "confidence_intervals": "privet.inference",
    "fit_with_intervals": "privet.inference",
    "plan": "privet.planning",
    "stream": "privet.rows.door",
    "Box": "privet.domain",
    "OneHot": "privet.domain",
    "Domain": "privet.domain",
    "Schema": "privet.schema",
    "Numeric": "privet.schema",
    "Categorical": "privet.schema",
    "Label": "privet.schema",
    "Person": "privet.schema",
    "Target": "privet.schema",
    "save": "privet.store",
    "load": "privet.store",
}

__all__ = [
    "GDP",
    "ZCDP",
    "ApproxDP",
    "Box",
    "Categorical",
    "ConvexLoss",
    "Domain",
    "HuberRegressor",
    "Label",
    "LargeMarginGaussian",
    "Ledger",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Numeric",
    "OneHot",
    "Person",
    "PoissonRegressor",
    "PrivateERM",
    "PureDP",
    "Ridge",
    "Schema",
    "Target",
    "__version__",
    "confidence_intervals",
    "evaluate",
    "fit_table",
    "fit_with_intervals",
    "load",
    "plan",
    "save",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
