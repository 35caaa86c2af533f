"""The plan: declarations, the design they lead to, and everything that follows from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from privet.errors import DeclarationError
from privet.mechanisms import Design
from privet.mechanisms.release import NoiseChoice
from privet.noise import Noise
from privet.planning import bounds
from privet.planning.answers import AnswersPlan, answers_plan
from privet.planning.declared import Declared
from privet.planning.kernels import KernelNeeded, kernel_needed
from privet.planning.needed import RowsNeeded, probability, rows_needed
from privet.planning.prediction import Typical, meeting_amount, typical
from privet.privacy.attacker import attacker_accuracy, odds_factor
from privet.privacy.budget import Budget, as_budget

#: what a curve may run over
CURVES = ("n", "d", "epsilon", "rho", "regularization")


@dataclass(frozen=True)
class Plan:
    """What a fit with these declarations will be like. Public numbers only.

    Proved for every table: ``regularization``, ``floor``, ``main``, ``gap``, ``release_noise``,
    ``coefficient_noise``, ``excess_risk``, ``excess_risk_mean``, ``attacker_accuracy``. Rough, for
    a table whose columns all vary alike: ``typical``, ``meeting``, ``half_width``, ``verdict``;
    coefficients of rare categories have up to ``coefficient_noise``.
    """

    declared: Declared
    design: Design

    # -- the noise -----------------------------------------------------------------------------

    @property
    def regularization(self) -> float:
        """``Lam`` that the fit will use."""
        return self.design.risk.regularization

    @cached_property
    def floor(self) -> float:
        """The smallest ``Lam`` that is not raised; 0 where there is no floor."""
        return self.declared.floor(self.main.kind)

    @property
    def raised(self) -> bool:
        """Whether the declared regularisation was below the floor."""
        asked = self.declared.regularization
        return not isinstance(asked, str) and self.regularization > asked

    @property
    def main(self) -> Noise:
        """The noise: in the objective (``b``), or on the minimiser with output perturbation."""
        return self.design.main

    @property
    def gap(self) -> Noise | None:
        """Extra noise on the release that pays for stopping short of the exact minimum."""
        return self.design.gap

    @cached_property
    def release_noise(self) -> bounds.ReleaseNoise:
        """Bounds on the norm of the noise in the released vector."""
        return bounds.release_noise(self.design)

    @cached_property
    def coefficient_noise(self) -> float:
        """Noise moves a coefficient by at most this in 95 of 100 fits, whatever the table.

        Of the parameters as they are released; of more than two classes, before they are mixed.
        """
        return bounds.coefficient_noise(self.design)

    # -- the price in risk ---------------------------------------------------------------------

    def excess_risk(self, beta: float = bounds.TAIL) -> float:
        """``J(release) - min J`` is at most this with probability ``1 - beta``, for every table."""
        return bounds.excess_quantile(self.design, probability("beta", beta))

    @property
    def excess_risk_mean(self) -> float:
        """The mean of ``J(release) - min J`` over the noise is at most this, for every table."""
        return bounds.excess_mean(self.design)

    @property
    def zero_risk(self) -> float:
        """What the model that knows nothing loses: a larger excess bound says nothing."""
        return bounds.zero_risk(self.design)

    def rows_needed(
        self,
        excess: float = 0.01,
        reference_norm: float = 1.0,
        *,
        beta: float = bounds.TAIL,
        score_noise: float = 0.5,
    ) -> RowsNeeded:
        """How many rows it takes, the other declarations unchanged.

        ``reference_norm`` is the length of the coefficients that you hope to compete with, with the
        intercept over ``norm_bound`` as one more of them. See ``privet.planning.needed``.
        """
        return rows_needed(self.declared, self.design, excess, reference_norm, beta, score_noise)

    def kernel_needed(
        self,
        excess: float = 0.1,
        reference_bound: float = 1.0,
        *,
        beta: float = bounds.TAIL,
        score_noise: float = 0.5,
    ) -> KernelNeeded:
        """How many random features and rows a kernel model takes; see ``privet.planning.kernels``.

        ``reference_bound`` bounds the coefficients of the kernel expansion that you hope to
        compete with. ``d`` plays no part: random features replace the columns.
        """
        return kernel_needed(self.declared, excess, reference_bound, beta, score_noise)

    def answers(self, queries: int = 10_000, *, beta: float = bounds.TAIL) -> AnswersPlan:
        """How exact a kernel's answers will be, interactive or not; see ``planning.answers``."""
        return answers_plan(self.declared, queries, beta)

    # -- what to expect ------------------------------------------------------------------------

    @cached_property
    def typical(self) -> Typical:
        """Rough sizes for a table whose columns all vary alike."""
        return typical(self.design)

    @cached_property
    def meeting(self) -> float | None:
        """The epsilon (zCDP: rho) at which noise equals sampling error in an even table."""
        return meeting_amount(self.declared, self.design)

    @property
    def half_width(self) -> float:
        """Rough 95 % half-width of a coefficient's interval, in an even table."""
        return self.typical.half_width()

    @property
    def verdict(self) -> str:
        """``comfortable``, ``tight`` or ``hopeless``, by a stated public rule."""
        return self.typical.verdict

    @property
    def verdict_sentence(self) -> str:
        """The verdict and what it means; the rule is ``privet.planning.prediction.RULE``."""
        meaning = {
            "comfortable": "expect nearly the model that you would get without privacy",
            "tight": "expect a noisy model; more rows, fewer columns or more budget help",
            "hopeless": "expect noise; do not spend the budget on this",
        }[self.verdict]
        share = self.typical.noise_to_signal
        return f"{self.verdict}: {meaning} (noise to signal {share:.2g})."

    @property
    def attacker_accuracy(self) -> float:
        """The best guess, from even odds, which of two records was in the table."""
        return attacker_accuracy(self.declared.budget)

    @property
    def odds_factor(self) -> float | None:
        """By what factor an attacker's odds can change; None for zCDP."""
        return odds_factor(self.declared.budget)

    # -- other plans, and ways to show this one ------------------------------------------------

    def curve(self, over: str, values: Sequence[float]) -> list[Plan]:
        """The plans with ``over`` ("n", "d", "epsilon", "rho", "regularization") set to values."""
        if over not in CURVES:
            raise DeclarationError(f"over must be one of {', '.join(CURVES)}, got {over!r}.")
        if over in ("epsilon", "rho"):
            if over != self.declared.amount_name:
                raise DeclarationError(
                    f"{self.declared.budget} has no {over}; use over={self.declared.amount_name!r}."
                )
            return [make(self.declared.with_amount(value)) for value in values]
        return [make(self.declared.but(**{over: value})) for value in values]

    def plot(
        self,
        path: str | os.PathLike[str],
        over: str | None = None,
        values: Sequence[float] | None = None,
    ) -> None:
        """Draw noise and excess risk against ``over`` (default ``n``) into a file."""
        from privet.planning.picture import draw

        draw(self, path, over or "n", values)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        from privet.planning.table import facts

        return facts(self)

    def __str__(self) -> str:
        from privet.planning.table import table

        return table(self)


def plan(
    *,
    n: int,
    d: int,
    budget: Budget | float,
    loss: str = "logistic",
    classes: int = 2,
    mechanism: str = "objective",
    noise: NoiseChoice = "auto",
    regularization: float | Literal["auto"] = "auto",
    norm_bound: float = 1.0,
    fit_intercept: bool = True,
    h: float = 0.5,
) -> Plan:
    """Say what a private fit will be like, from public numbers alone; nothing is read or spent.

    Parameters
    ----------
    n, d : rows and feature columns of the table
    budget : float, PureDP, ZCDP or ApproxDP; a number is the epsilon of pure privacy
    loss : "logistic" (many classes: softmax), "huber" or "smooth_hinge"; ``h`` as in ``LinearSVC``
    classes : number of classes
    mechanism, noise, regularization, norm_bound, fit_intercept : as in ``LogisticRegression``

    Examples
    --------
    >>> plan(n=20_000, d=10, budget=1.0).verdict
    'comfortable'
    """
    return make(
        Declared(
            n=n,
            d=d,
            budget=as_budget(budget),
            loss=loss,
            classes=classes,
            mechanism=mechanism,
            noise=noise,
            regularization=regularization,
            norm_bound=norm_bound,
            fit_intercept=fit_intercept,
            h=h,
        )
    )


def make(declared: Declared) -> Plan:
    """The plan that declarations lead to."""
    return Plan(declared, declared.design())
