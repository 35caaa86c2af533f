"""Every mechanism with every law of noise and every loss, ready for the battery.

A combination that no theorem covers is not one: its mechanism refuses the noise, or the budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from privet.audit.battery import CROWD_ROWS
from privet.domain import Box, Domain, OneHot
from privet.errors import DeclarationError, InfeasibleBudget, quietly
from privet.losses import HuberHinge, JointHuber, Logistic, Loss, SmoothHinge, Softmax
from privet.mechanisms import TRAINERS, GradientDescent, Trainer
from privet.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP

#: A number and a category: the smallest domain in which product, hull and sphere differ.
DOMAIN = Domain((Box(1, 0.5), OneHot(2, 0.5)))
SHAPED = ("product", "hull", "class product")
LOSSES: tuple[Loss, ...] = (Logistic(), HuberHinge(), SmoothHinge(), Softmax(3), JointHuber(3))
BUDGETS: tuple[tuple[Budget, tuple[str, ...]], ...] = (
    (PureDP(1.0), ("laplace", "product", "hull", "matrix laplace", "class product")),
    (ZCDP(0.5), ("gaussian",)),
    (ApproxDP(1.0, 1e-6), ("gaussian",)),
    (GDP(1.0), ("gaussian",)),
)
#: What a quick audit takes: the two losses of the models, and one law for many classes.
QUICK = ("logistic", "huber")


@dataclass(frozen=True)
class AuditCase:
    """One mechanism, its noise and its loss."""

    mechanism: Trainer
    kind: str

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Mechanism, noise, loss and budget, in words."""
        found = self.mechanism
        return found.name, self.kind, found.loss.name.replace("_", " "), short(found.budget)

    def __str__(self) -> str:
        return ", ".join(self.names)


def short(budget: Budget) -> str:
    """A budget in a narrow column."""
    return (
        f"{budget.amount_name} {budget.amount:g}{', delta' if budget.facts().get('delta') else ''}"
    )


def audit_cases(only: str = "all", *, quick: bool = False) -> Iterator[AuditCase]:
    """The cases of one mechanism, or all of them."""
    for name in (GradientDescent.name, *sorted(CROWD_ROWS)):
        if only not in ("all", name):
            continue
        for loss in LOSSES:
            for budget, kinds in BUDGETS:
                if quick and (loss.name not in QUICK or budget.facts().get("delta")):
                    continue
                for kind in kinds:
                    yield from _case(name, loss, budget, kind)


def _case(name: str, loss: Loss, budget: Budget, kind: Any) -> Iterator[AuditCase]:
    shape: dict[str, Any] = {}
    if kind in SHAPED:
        shape = {"domain": DOMAIN, "norm_bound": DOMAIN.norm}
    try:
        with quietly():
            mechanism = TRAINERS[name](loss, budget, noise=kind, **shape)
            mechanism.design(60, DOMAIN.columns if shape else 2)
    except (DeclarationError, InfeasibleBudget):
        return  # no theorem has this noise for this loss, or none at this budget
    yield AuditCase(mechanism, kind)
