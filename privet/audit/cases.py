"""Every mechanism with every law of noise and every loss, ready for the battery.

A combination that no theorem covers is not one: its mechanism refuses the noise, or the budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from privet.domain import Box, Domain, OneHot
from privet.errors import DeclarationError, InfeasibleBudget, quietly
from privet.losses import (
    HuberHinge,
    HuberResidual,
    JointHuber,
    Logistic,
    Loss,
    PoissonRate,
    SmoothHinge,
    Softmax,
)
from privet.mechanisms import RELEASES, Trainer
from privet.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP

#: A number and a category: the smallest domain in which product, hull and sphere differ.
DOMAIN = Domain((Box(1, 0.5), OneHot(2, 0.5)))
#: The same with blocks unlike enough for noise of their own.
UNLIKE = Domain((Box(1, 0.5), OneHot(2, 0.05)))
SHAPED = ("product", "hull", "grouped", "class product", "class hull")
LOSSES: tuple[Loss, ...] = (
    Logistic(),
    HuberHinge(),
    SmoothHinge(),
    Softmax(3),
    JointHuber(3),
    HuberResidual(),
    PoissonRate(),
)
BUDGETS: tuple[tuple[Budget, tuple[str, ...]], ...] = (
    (
        PureDP(1.0),
        (
            *("laplace", "product", "hull", "grouped", "matrix laplace", "class product"),
            *("class laplace", "class hull"),
        ),
    ),
    (ZCDP(0.5), ("laplace", "gaussian")),
    (ApproxDP(1.0, 1e-6), ("laplace", "gaussian")),
    (GDP(1.0), ("laplace", "gaussian")),
)
#: Whatever fits the parameters of a linear model.
FITTED: dict[str, type[Trainer]] = {
    name: kind for name, kind in sorted(RELEASES.items()) if issubclass(kind, Trainer)
}
#: The losses of a quick audit: those of the models, and what a mechanism of its own is for.
QUICK = ("logistic", "huber")
QUICK_OF = {"statistics": ("huber_residual",), "means": ("softmax",)}


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
    for name in FITTED:
        if only not in ("all", name):
            continue
        for loss in LOSSES:
            if quick and loss.name not in QUICK_OF.get(name, QUICK):
                continue
            for budget, kinds in BUDGETS:
                if quick:  # the noise that a budget is meant for
                    kinds = () if budget.facts().get("delta") else kinds[budget.allows_gaussian :]
                for kind in kinds:
                    yield from _case(name, loss, budget, kind)


def _case(name: str, loss: Loss, budget: Budget, kind: Any) -> Iterator[AuditCase]:
    shape: dict[str, Any] = {}
    if kind in SHAPED:
        domain = UNLIKE if kind == "grouped" else DOMAIN
        shape = {"domain": domain, "norm_bound": domain.norm}
    try:
        with quietly():
            mechanism = FITTED[name](loss, budget, noise=kind, **shape)
            mechanism.design(60, DOMAIN.columns if shape else 2)
    except (DeclarationError, InfeasibleBudget):
        return  # no theorem has this noise for this loss, or none at this budget
    yield AuditCase(mechanism, kind)
