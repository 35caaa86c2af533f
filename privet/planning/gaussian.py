"""What is proved about the large-margin Gaussian classifier's risk, before it is fitted.

Pathak and Raj 2010 bound the regularised empirical risk (their Theorem 2) and the true risk (their
Theorem 3). Put right, with ``J`` the regularised empirical risk of the mean objective, ``J~`` its
expectation, ``f*`` and ``f~`` their minimisers, ``f`` the release, ``b`` the noise that is really
drawn (dimension ``(C-1) m``, not one matrix), ``Lam`` the ridge that makes ``J`` strongly convex,
``g`` the largest row gradient and ``D`` the largest difference of two:

    Theorem 2   J(f) - J(f*) <= |b|^2/(2 n^2 Lam), at most ``excess_quantile`` with probability
                1 - beta (exact quantile of |b|; the gap and the grid included, see ``bounds``)
    Theorem 3   E J~(f) - J~(f~) <= E[J(f) - J(f*)] + g D/(n Lam), over rows and noise

The second one is by stability. Given ``b`` the release is the minimiser of a strongly convex
objective, and replacing a row moves it by at most ``D/(n Lam)``, so the loss of a fresh row by at
most ``g D/(n Lam)``; and ``E J(f*) <= E J(f~) = J~(f~)``. (The paper quotes a theorem for scores
that are one number, and drops a factor two of it.) For any reference ``f0`` the true risk without
the ridge obeys ``E L~(f) <= L~(f0) + (Lam/2)|f0|^2 +`` the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privet.errors import quietly
from privet.mechanisms import Design
from privet.models.gaussian import LargeMarginGaussian
from privet.planning.bounds import excess_mean, excess_quantile, zero_risk
from privet.planning.declared import whole
from privet.planning.needed import probability
from privet.planning.text import line
from privet.privacy import Budget


@dataclass(frozen=True)
class GaussianPlan:
    """Sizes and proved bounds of a fit that has not been made."""

    features: int
    parameters: int
    noise_norm: float
    regularization: float
    beta: float
    empirical_excess: float  # with probability 1 - beta
    mean_excess: float
    generalisation: float
    nothing: float  # the risk of a model that knows nothing

    @property
    def true_excess(self) -> float:
        """Bound on the mean excess of the regularised true risk."""
        return self.mean_excess + self.generalisation

    def __str__(self) -> str:
        lines = [
            line("features", f"{self.features:,} products, {self.parameters:,} parameters"),
            line("noise", f"{self.noise_norm:.4g} in the objective (mean norm)"),
            line("regularization", f"{self.regularization:.4g}"),
            line(
                "empirical risk",
                f"at most {self.empirical_excess:.3g} above its minimum with probability "
                f"{1.0 - self.beta:g}; {self.mean_excess:.3g} in the mean",
            ),
            line(
                "true risk",
                f"at most {self.true_excess:.3g} above its minimum in the mean, of which "
                f"{self.generalisation:.3g} would remain without noise",
            ),
            line("knowing nothing", f"has risk {self.nothing:.3g}"),
        ]
        return "\n".join(lines)


def plan_gaussian(
    n: int, d: int, classes: int, budget: Budget | float, *, beta: float = 0.05, **options: Any
) -> GaussianPlan:
    """The plan for ``LargeMarginGaussian(budget, **options)`` on ``n`` rows of ``d`` columns."""
    n, d, classes = whole("n", n, 1), whole("d", d, 1), whole("classes", classes, 2)
    model = LargeMarginGaussian(budget, **options)
    with quietly():
        design = model._planned((n, d), classes, None)[1]
    return GaussianPlan(
        features=design.m,
        parameters=design.parameters,
        noise_norm=model_noise(design),
        regularization=design.risk.regularization,
        beta=probability("beta", beta),
        empirical_excess=excess_quantile(design, beta),
        mean_excess=excess_mean(design),
        generalisation=generalisation(design),
        nothing=zero_risk(design),
    )


def model_noise(design: Design) -> float:
    """``E|b|`` as a linear term of the objective, for either mechanism."""
    unit = 1.0 if design.gap is not None else design.n * design.risk.regularization
    return design.main.expected_norm * unit


def generalisation(design: Design) -> float:
    """``g D/(n Lam)``: how much the true risk can exceed the empirical one, in the mean."""
    risk = design.risk
    return risk.row_gradient * risk.gradient_difference / (design.n * risk.regularization)
