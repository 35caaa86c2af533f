"""The old address of plans for the Gaussian classifier, for one version.

``plan(LargeMarginGaussian(...), n=..., d=..., classes=...)`` says the same and more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privet.models.large_margin import LargeMarginGaussian
from privet.planning import bounds
from privet.planning.plans import Plan, plan
from privet.privacy import Budget


@dataclass(frozen=True)
class GaussianPlan:
    """A plan under the names that it had."""

    plan: Plan
    beta: float

    def __getattr__(self, name: str) -> Any:
        design = self.plan.design
        known: dict[str, Callable[[], Any]] = {
            "features": lambda: design.m,
            "parameters": lambda: design.parameters,
            "noise_norm": lambda: bounds.noise_in_objective(design, design.main.expected_norm),
            "regularization": lambda: self.plan.regularization,
            "empirical_excess": lambda: self.plan.excess_risk(self.beta),
            "mean_excess": lambda: self.plan.excess_risk_mean,
            "generalisation": lambda: bounds.generalization(design),
            "true_excess": lambda: self.plan.excess_risk_mean + bounds.generalization(design),
            "nothing": lambda: self.plan.zero_risk,
        }
        if name not in known:
            raise AttributeError(name)
        return known[name]()

    def __str__(self) -> str:
        return str(self.plan)


def plan_gaussian(
    n: int, d: int, classes: int, budget: Budget | float, *, beta: float = 0.05, **options: Any
) -> GaussianPlan:
    """The plan for ``LargeMarginGaussian(budget, **options)`` on ``n`` rows of ``d`` columns."""
    warnings.warn(
        "plan_gaussian goes in the next version: "
        "privet.plan(LargeMarginGaussian(budget), n=..., d=..., classes=...) says the same.",
        FutureWarning,
        stacklevel=2,
    )
    made = plan(LargeMarginGaussian(budget, **options), n=n, d=d, classes=classes)
    made.excess_risk(beta)  # refuses what is not a probability
    return GaussianPlan(made, beta)
