"""What error a budget buys in a regression: from public numbers alone, in the target's units.

Proved is what the design fixes: the law of the noise, the regularization, and for a minimizer the
excess of its regularized training risk (``bounds``). How far noise moves a prediction depends on
the rows; it is told for an *even* table (``prediction``), one whose mean square of a row is a tenth
of the largest, spread alike over all directions, with all residuals within the knee:

    added error   sqrt(0.1) R sd/(Lam + kappa),   kappa = 0.1 c R^2/m

the root mean square over rows of what noise adds to a prediction, ``sd`` that of the noise in one
coordinate of the mean gradient and ``c`` the curvature at score zero and the middle of the bounds:
one of a residual, a quarter of a rate. Output perturbation adds its noise as it is. The same with
the regularizer's shrinkage undone, ``(Lam + kappa)/kappa`` times as much, is what rows and
budgets are compared by: much regularization would else pass for accuracy. Real tables are not
even: a category that few rows have is predicted worse.
"""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privet._checks import positive
from privet.errors import DeclarationError
from privet.mechanisms import MECHANISMS, Design
from privet.planning.bounds import excess_mean, excess_quantile, zero_risk
from privet.planning.numbers import LARGEST_AMOUNT, SMALLEST_AMOUNT, Declaration
from privet.planning.plan_display import LAWS
from privet.planning.prediction import TYPICAL_SHARE, gradient_sd, typical_curvature
from privet.planning.rows_needed import smallest
from privet.privacy.attacker import attacker_accuracy
from privet.statement import in_words
from privet.statement.facts import percent
from privet.statement.writers import WIDTH, labeled

#: added error, shrinkage undone, in half intervals (or logarithms of a rate): up to here, from here
COMFORTABLE, HOPELESS = 0.02, 0.5
RULE = (
    "Rule: the added error of an even table, the regularizer's shrinkage undone, in halves of the "
    f"target's interval (of a rate: in logarithms); comfortable up to {COMFORTABLE:g}, hopeless "
    f"from {HOPELESS:g}."
)
#: amounts of budget that are tried, by their logarithm
STEPS = 200


@dataclass(frozen=True)
class RegressionPlan:
    """What a private regression will be like, from public numbers only.

    Attributes
    ----------
    declared : Declaration
        The estimator and the size of the table.
    design : Design
        The fit's own: regularization, noise, grid.
    mechanism, regularization, excess_risk_mean, attacker_accuracy :
        Proved, whatever the table; there is no excess risk of noisy statistics.
    added_error, unshrunk_error, sampling_error, kept, verdict :
        Rough, for a table whose columns all vary alike.
    """

    declared: Declaration
    design: Design

    # -- proved --------------------------------------------------------------------------------

    @property
    def mechanism(self) -> str:
        """The mechanism that the fit would take."""
        return self.design.event.mechanism

    @property
    def regularization(self) -> float:
        """``Lam`` that the fit will use."""
        return self.design.risk.regularization

    @property
    def is_minimizer(self) -> bool:
        """Whether a perturbed minimum is released, of which bounds are proved."""
        return self.mechanism in MECHANISMS

    @property
    def excess_risk_mean(self) -> float | None:
        """The mean of ``J(release) - min J`` is at most this, in units of the loss."""
        return excess_mean(self.design) if self.is_minimizer else None

    def excess_risk(self, beta: float = 0.05) -> float | None:
        """``J(release) - min J`` is at most this with probability ``1 - beta``.

        Parameters
        ----------
        beta : float, default 0.05
            How often it may be more.

        Returns
        -------
        float or None
            In units of the loss; None for noisy statistics.
        """
        return excess_quantile(self.design, beta) if self.is_minimizer else None

    @property
    def attacker_accuracy(self) -> float:
        """The best guess, from even odds, which of two records was in the table."""
        return attacker_accuracy(self.declared.budget)

    # -- rough ---------------------------------------------------------------------------------

    @property
    def unit(self) -> float:
        """What one unit of a score is in the target's units."""
        return float(self.declared.model.target_unit)

    @cached_property
    def _curvature(self) -> float:
        risk = self.design.risk
        loss, middle = risk.loss, risk.loss.targets(np.array([0.5]))
        here = loss.hessian(np.zeros((1, loss.scores)), middle)[0]
        share = float(np.trace(here)) / loss.scores / loss.curvature_bound
        return share * typical_curvature(risk, self.design.m)

    @property
    def kept(self) -> float:
        """The share of an effect that the regularizer leaves."""
        return self._curvature / (self.regularization + self._curvature)

    def _error(self, gradient: float) -> float:
        """Root mean square over rows of what this much in each coordinate of the gradient adds."""
        return self._row * gradient / (self.regularization + self._curvature)

    @property
    def _row(self) -> float:
        """Root mean square length of an even table's rows, times the unit of the target."""
        return self.unit * math.sqrt(TYPICAL_SHARE) * self.design.risk.norm_bound

    @cached_property
    def added_error(self) -> float:
        """What noise adds to a prediction, root mean square over rows, in the target's units."""
        if self.is_minimizer and self.design.gap is None:
            return self._row * self.design.main.coordinate_sd
        noise = self.declared.release.noise_in_gradient(self.design)
        return self._error(noise / (self.design.n * math.sqrt(self.design.m)))

    @property
    def unshrunk_error(self) -> float:
        """``added_error`` with the regularizer's shrinkage undone."""
        return self.added_error / self.kept

    @property
    def sampling_error(self) -> float:
        """What other rows of the same population would add, with residuals as large as the knee."""
        spread = gradient_sd(self.design.risk, self.design.m)
        return self._error(spread / math.sqrt(self.design.n))

    @property
    def verdict(self) -> str:
        """``comfortable``, ``tight`` or ``hopeless``; see ``RULE``."""
        low, high = self.declared.model.target_ends
        half = (high - low) / 2.0 if self.declared.model.plain_link == "identity" else 1.0
        share = self.unshrunk_error / half
        if share <= COMFORTABLE:
            return "comfortable"
        return "tight" if share < HOPELESS else "hopeless"

    # -- questions -----------------------------------------------------------------------------

    def rows_needed(self, error: float) -> int | None:
        """Rows from which noise adds at most ``error``, shrinkage undone, for an even table.

        Parameters
        ----------
        error : float
            In the target's units (of a rate: in logarithms).

        Returns
        -------
        int or None
            None where no number of rows up to 1e13 is enough.
        """
        asked = positive("error", error)
        return smallest(self._enough(lambda n: self.declared.but(n=n), asked), self.declared.n)

    def budget_needed(self, error: float) -> float | None:
        """The least epsilon (rho, mu) with which noise adds at most ``error``, shrinkage undone.

        Parameters
        ----------
        error : float
            In the target's units (of a rate: in logarithms).

        Returns
        -------
        float or None
            To a tenth; None where none between 1e-4 and 1,000 is enough.
        """
        asked = positive("error", error)
        ratio = (LARGEST_AMOUNT / SMALLEST_AMOUNT) ** (1.0 / STEPS)
        amounts = [SMALLEST_AMOUNT * ratio**step for step in range(STEPS + 1)]
        enough = self._enough(self.declared.with_amount, asked)
        first = bisect_left(amounts, True, key=enough)
        return None if first > STEPS else amounts[first]

    @staticmethod
    def _enough(changed: Callable[[Any], Declaration], error: float) -> Callable[[Any], bool]:
        def enough(value: Any) -> bool:
            try:
                return regression_plan(changed(value)).unshrunk_error <= error
            except DeclarationError:  # a budget with which there is no design
                return False

        return enough

    # -- telling -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON.

        Returns
        -------
        dict
            Declared, proved and rough numbers, and the verdict.
        """
        low, high = self.declared.model.target_ends
        return {
            "declared": {
                "n": self.declared.n,
                "d": self.declared.d,
                "budget": self.declared.budget.to_json(),
                "model": type(self.declared.model).__name__,
                "target_bounds": [low, high],
            },
            "mechanism": self.mechanism,
            "regularization": self.regularization,
            "noise": self.design.main.facts(),
            "excess_risk_mean": self.excess_risk_mean,
            "excess_risk_95": self.excess_risk(),
            "added_error": self.added_error,
            "unshrunk_error": self.unshrunk_error,
            "sampling_error": self.sampling_error,
            "kept": self.kept,
            "attacker_accuracy": self.attacker_accuracy,
            "verdict": self.verdict,
            "rule": RULE,
        }

    def __str__(self) -> str:
        declared, (low, high) = self.declared, self.declared.model.target_ends
        title = (
            f"Plan for {declared.n:,} rows, {declared.d:,} column{'s' * (declared.d != 1)}, a "
            f"target from {low:g} to {high:g}: {type(declared.model).__name__} by "
            f"{self.mechanism}, {declared.budget}"
        )
        what = declared.model.changed_words
        main = self.design.main
        proved = [
            ("regularization", f"{self.regularization:.4g}"),
            ("noise", f"{LAWS[main.kind]}, scale {main.scale:.4g} in {main.dimension:,} numbers"),
            *self._risk_words(),
            (
                "an attacker",
                f"{in_words(declared.budget)} A guess from even odds is right at most "
                f"{percent(self.attacker_accuracy)} of the time.",
            ),
        ]
        rough = [
            ("noise adds", f"about {self.added_error:.3g} to a {what} (root mean square)"),
            ("regularizer", f"leaves {percent(self.kept)} of an effect; with that undone noise "
             f"adds {self.unshrunk_error:.3g}"),
            ("sampling adds", f"about {self.sampling_error:.3g}, if residuals reach the knee"),
        ]  # fmt: skip
        parts = [*textwrap.wrap(title, WIDTH), "", "Proved, whatever the table"]
        parts += [labeled(*pair) for pair in proved]
        parts += ["", "Rough, for a table whose columns all vary alike (one-hot columns do not)"]
        parts += [labeled(*pair) for pair in rough]
        rule = textwrap.wrap(RULE, WIDTH, initial_indent="  ", subsequent_indent="  ")
        return "\n".join([*parts, "", f"Verdict: {self.verdict}.", *rule])

    def _risk_words(self) -> list[tuple[str, str]]:
        mean, most = self.excess_risk_mean, self.excess_risk()
        if mean is None or most is None:
            words = "not bounded: noise is in the equations that are solved"
        else:
            words = (
                f"mean below {mean:.3g} (95 % below {most:.3g}) in units of the loss, in which "
                f"knowing nothing costs at most {zero_risk(self.design):.3g}"
            )
        return [("excess training risk", words)]


def regression_plan(declared: Declaration) -> RegressionPlan:
    """The plan of a regression's declarations."""
    return RegressionPlan(declared, declared.design())
