"""``plan``: what a fit of an estimator will be like, and the questions that a plan answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet.errors import DeclarationError
from privet.planning import plan_display as show
from privet.planning.bounds import TAIL
from privet.planning.kernel_plans import (
    AnswersPlan,
    KernelNeeded,
    answers_plan,
    kernel_needed,
)
from privet.planning.numbers import Declaration, PlanNumbers, named_classes
from privet.planning.regression_plans import regression_plan
from privet.planning.rows_needed import RowsNeeded, rows_needed

if TYPE_CHECKING:
    from privet.models import PrivateLinearClassifier

#: what a curve may run over
CURVES = ("n", "d", "epsilon", "rho", "mu", "regularization")


@dataclass(frozen=True)
class Plan(PlanNumbers):
    """What a fit with these declarations will be like, from public numbers only.

    Attributes
    ----------
    declared : Declaration
        The estimator and the size of the table.
    design : Design
        The fit's own: regularization, noise, tolerance, grid.
    regularization, floor, raised, main, gap, release_noise, excess_risk, excess_risk_mean,
    excess_true_risk, zero_risk, attacker_accuracy, odds_factor :
        Proved, whatever the table.
    coefficient_noise : float
        To first order in the noise, whatever the table; exact with output perturbation.
    typical, meeting, half_width, verdict, verdict_sentence :
        Rough, for a table whose columns all vary alike.
    """

    def rows_needed(
        self,
        excess: float = 0.01,
        reference_norm: float = 1.0,
        *,
        beta: float = TAIL,
        score_noise: float = 0.5,
    ) -> RowsNeeded:
        """How many rows it takes, the other declarations unchanged.

        Parameters
        ----------
        excess : float, default 0.01
            How much worse than the reference the training loss may be.
        reference_norm : float, default 1.0
            The length of the coefficients that you hope to compete with, with the intercept over
            its constant, ``constant * norm_bound``, as one more of them.
        beta : float, default 0.05
            In which share of fits more may be lost.
        score_noise : float, default 0.5
            Noise in a score, as a standard deviation.

        Returns
        -------
        RowsNeeded
            Proved, for an even table, and up to a theorem's constant.
        """
        return rows_needed(self.declared, self.design, excess, reference_norm, beta, score_noise)

    def kernel_needed(
        self,
        excess: float = 0.1,
        reference_bound: float = 1.0,
        *,
        beta: float = TAIL,
        score_noise: float = 0.5,
    ) -> KernelNeeded:
        """How many random features and rows a kernel model takes, up to a theorem's constant.

        ``d`` plays no part: random features replace the columns.

        Parameters
        ----------
        excess : float, default 0.1
            How much worse than the reference the loss may be.
        reference_bound : float, default 1.0
            Bound on the coefficients of the kernel expansion that you hope to compete with.
        beta, score_noise : float
            As in ``rows_needed``.

        Returns
        -------
        KernelNeeded
            Frequencies, and rows for them.
        """
        return kernel_needed(self.declared, excess, reference_bound, beta, score_noise)

    def answers(self, queries: int = 10_000, *, beta: float = TAIL) -> AnswersPlan:
        """How exact a kernel's answers will be, interactive or not; see ``planning.answers``.

        Parameters
        ----------
        queries : int, default 10,000
            How many answers.
        beta : float, default 0.05
            With which probability one of them may be further off.

        Returns
        -------
        AnswersPlan
            The error of each way of answering.
        """
        return answers_plan(self.declared, queries, beta)

    def curve(self, over: str, values: Sequence[float]) -> list[Plan]:
        """The plans with one declaration changed.

        Parameters
        ----------
        over : {"n", "d", "epsilon", "rho", "mu", "regularization"}
            Which one.
        values : sequence of numbers
            What it is set to.

        Returns
        -------
        list of Plan
            One for each value.
        """
        if over not in CURVES:
            raise DeclarationError(f"over must be one of {', '.join(CURVES)}, got {over!r}.")
        if over not in ("epsilon", "rho", "mu"):
            return [_made(self.declared.but(**{over: value})) for value in values]
        budget = self.declared.budget
        if over != budget.amount_name:
            raise DeclarationError(f"{budget} has no {over}; use over={budget.amount_name!r}.")
        return [_made(self.declared.with_amount(value)) for value in values]

    def plot(
        self,
        path: str | os.PathLike[str],
        over: str | None = None,
        values: Sequence[float] | None = None,
    ) -> None:
        """Draw noise and excess risk against one declaration.

        Parameters
        ----------
        path : path-like
            PNG, SVG or PDF by its name.
        over : str, default "n"
            As in ``curve``.
        values : sequence of numbers, default None
            None: three powers of ten around this plan's own value.
        """
        over = over or "n"
        chosen = show.default_values(self, over) if values is None else list(values)
        show.draw(self, self.curve(over, chosen), chosen, over, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON.

        Returns
        -------
        dict
            Declared, proved and rough numbers, and the verdict.
        """
        return show.facts(self)

    def __str__(self) -> str:
        return show.table(self)


def plan(
    model: PrivateLinearClassifier | None = None,
    /,
    *,
    n: int,
    d: int,
    classes: int | None = None,
    **keywords: Any,
) -> Any:
    """Say what a private fit will be like, from public numbers alone; nothing is read or spent.

    Parameters
    ----------
    model : estimator, optional
        What would be fitted: ``LogisticRegression``, ``LinearSVC``, ``LargeMarginGaussian``,
        ``KernelLogisticRegression``, ``KernelSVC`` or a regression. It is not changed.
    n, d : int
        Rows and feature columns of the table.
    classes : int, default 2
        Number of classes; those that the estimator declares count.
    **keywords
        Instead of an estimator: ``budget``, and ``loss`` "logistic" (the default), "huber" or
        "smooth_hinge" with the other parameters of ``LogisticRegression`` or ``LinearSVC``.

    Returns
    -------
    Plan or RegressionPlan

    Examples
    --------
    >>> from privet import LogisticRegression, plan
    >>> plan(LogisticRegression(budget=1.0), n=20_000, d=10).verdict
    'comfortable'
    >>> plan(n=20_000, d=10, budget=1.0).verdict
    'comfortable'
    >>> from privet import HuberRegressor
    >>> plan(HuberRegressor(1.0, target_bounds=(0, 60)), n=20_000, d=10).verdict
    'comfortable'
    """
    if model is None:
        model = linear_model(**keywords)
    elif keywords:
        raise DeclarationError(
            f"Declare {', '.join(sorted(keywords))} in the estimator; beside it a plan takes n, d "
            "and classes."
        )
    plannable = _plannable(model)
    if plannable.predicts_numbers:
        return regression_plan(Declaration(plannable, n, d, 2))
    return _made(Declaration(plannable, n, d, _count(model, classes)))


def linear_model(budget: Any, loss: Any = "logistic", h: float = 0.5, **options: Any) -> Any:
    """The linear classifier with this loss."""
    from privet.models import LinearSVC, LogisticRegression

    if loss == "logistic":
        return LogisticRegression(budget, **options)
    if loss not in ("huber", "smooth_hinge"):
        raise DeclarationError(
            f"loss must be 'huber' or 'logistic' or 'smooth_hinge', got {loss!r}."
        )
    return LinearSVC(budget, loss=loss, h=h, **options)


def _plannable(model: object) -> Any:
    from sklearn.base import clone

    from privet.models import PrivateLinearClassifier, PrivateLinearRegressor

    if isinstance(model, PrivateLinearClassifier | PrivateLinearRegressor):
        copy: Any = clone(model)  # what changes later is not planned
        return copy
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    raise DeclarationError(
        f"There is no plan for {name}. Pass an estimator such as LogisticRegression(budget=1.0); "
        "for kernel answers, interactive or not, ask its plan for answers()."
    )


def _count(model: PrivateLinearClassifier, classes: int | None) -> int:
    named = named_classes(model)
    if named is None:
        return 2 if classes is None else classes
    if classes is not None and classes != len(named):
        raise DeclarationError(
            f"classes is {classes!r}, but the estimator names {len(named)} of them. Leave one out."
        )
    return len(named)


def _made(declared: Declaration) -> Plan:
    return Plan(declared, declared.design())
