"""Plans for kernels: how exact answers will be, and how many rows random features need.

Errors are of predictions ``<w*, phi(z)>`` (margins are about one), from public numbers alone; each
holds for all answers together with probability ``1 - beta``. ``norm_bound`` is taken as the root of
the kernel's bound on ``K(x, x)``.

    function       any number of adaptive answers     sd sigma R; T answers within sigma R q(beta/T)
    sparse vector  T answers, at most B corrections   3 alpha        (Jain and Thakurta, Theorem 3)
    predictions    T public points at once            sd sqrt(T) sigma R at most       (Theorem 4)
    points drawn   the whole ball, linear kernel      see ``distinguishing.proof.md``  (Theorem 8)

The paper's own bounds have unnamed constants; these are the ones that Privet proves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtri

from privet._checks import positive, probability
from privet.mechanisms.distinguishing import Distinguishing, Space
from privet.mechanisms.function import FunctionRelease
from privet.mechanisms.projection import Projection, prediction_stretch
from privet.mechanisms.sparse_vector import SparseVector
from privet.planning.numbers import Declaration, at_least
from privet.planning.rows_needed import RowsNeeded, rows_needed
from privet.statement.writers import labeled


@dataclass(frozen=True)
class AnswersPlan:
    """Errors of ``queries`` answers; ``None`` where the budget's kind does not allow it."""

    queries: int
    beta: float
    regularization: float
    function_sd: float | None
    function_error: float | None
    sparse_vector_error: float
    updates: int
    predictions_sd: float
    drawn_error: float
    rounds: int

    def __str__(self) -> str:
        sure = f"with probability {1.0 - self.beta:g}"
        if self.function_sd is None:
            function = "not with a pure budget"
        else:
            function = (
                f"standard deviation {self.function_sd:.3g} at every query; {self.queries:,} "
                f"answers within {self.function_error:.3g} {sure}"
            )
        return "\n".join(
            [
                labeled("regularization", f"{self.regularization:.3g}"),
                labeled("function release", function),
                labeled(
                    "sparse vector",
                    f"{self.queries:,} answers within {self.sparse_vector_error:.3g} {sure}, at "
                    f"most {self.updates:,} corrections",
                ),
                labeled("public points", f"standard deviation {self.predictions_sd:.3g} at most"),
                labeled(
                    "points drawn",
                    f"linear kernel: within {self.drawn_error:.3g} everywhere {sure}, in "
                    f"{self.rounds:,} rounds",
                ),
            ]
        )


def answers_plan(declared: Declaration, queries: int, beta: float) -> AnswersPlan:
    """All four ways, with the declarations of a plan and its own rule for the regularization."""
    queries, beta = at_least("queries", queries, 1), probability("beta", beta)
    loss, budget, radius = declared.release.loss, declared.budget, declared.norm_bound
    n, d = declared.n, declared.d
    common: dict[str, Any] = {
        "loss": loss,
        "budget": budget,
        "norm_bound": radius,
        "regularization": declared.model.regularization,
    }
    sparse = SparseVector(**common, queries=queries, failure_probability=beta).design(n, d)
    drawn = Distinguishing(**common, space=Space(d), failure_probability=beta).design(n)
    stretch = prediction_stretch(radius, queries, queries * radius**2)
    predictions = Projection(**common, size=queries, of="predictions", stretch=stretch).design(n)
    sd: float | None = None
    error: float | None = None
    if budget.allows_gaussian:
        sd = FunctionRelease(**common).design(n, d).answer_sd
        error = sd * -float(ndtri(beta / (2.0 * queries)))
    return AnswersPlan(
        queries=queries,
        beta=beta,
        regularization=sparse.minimizer.risk.regularization,
        function_sd=sd,
        function_error=error,
        sparse_vector_error=sparse.error,
        updates=sparse.epochs,
        predictions_sd=predictions.noise.coordinate_sd,
        drawn_error=drawn.error,
        rounds=drawn.rounds,
    )


# -- rows for random features --------------------------------------------------------------------


@dataclass(frozen=True)
class KernelNeeded:
    """Random features and rows for a kernel model; both up to a theorem's constant.

    Attributes
    ----------
    frequencies : int
        Random frequencies, a cosine and a sine each.
    rows : RowsNeeded
        Rows for a linear model in that many columns.
    """

    frequencies: int
    rows: RowsNeeded

    @property
    def columns(self) -> int:
        """A cosine and a sine for each frequency."""
        return 2 * self.frequencies

    def __str__(self) -> str:
        features = (
            f"{self.frequencies:,} frequencies, so {self.columns:,} columns, up to the theorem's "
            "unnamed constant. Then, as for a linear model of that many columns:"
        )
        return f"{labeled('random features', features)}\n{self.rows}"


def kernel_needed(
    declared: Declaration, excess: float, reference_bound: float, beta: float, score_noise: float
) -> KernelNeeded:
    """Features first, half of the excess for them, then rows for the other half.

    A kernel classifier with random features is a linear one in a dimension of our choosing. For a
    reference ``f0`` whose coefficients in the kernel's expansion are bounded by ``B``, ``k`` random
    features represent it to within about ``B sqrt(log(1/beta)/k)`` (Rahimi and Recht 2008), so ``k
    = B^2 log(1/beta)/excess^2``, up to the theorem's constant, leave room for the noise (Chaudhuri,
    Monteleoni and Sarwate 2011, section 5: the same ``k``, then their theorem for linear
    classifiers in ``k`` dimensions). Each pair of features has norm one.
    """
    excess, bound = positive("excess", excess), positive("reference_bound", reference_bound)
    beta = probability("beta", beta)
    frequencies = math.ceil((bound / (excess / 2.0)) ** 2 * math.log(1.0 / beta))
    lifted = declared.but(d=2 * frequencies, fit_intercept=False)
    rows = rows_needed(lifted, lifted.design(), excess / 2.0, bound, beta, score_noise)
    return KernelNeeded(frequencies, rows)
