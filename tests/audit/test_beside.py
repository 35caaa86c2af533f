"""The exact loss of a fit and of the matrices beside it: never above both claims, and near them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from privet import PureDP
from privet.audit.beside_replay import (
    fit_beside,
    fit_in_domain,
    moments_beside,
    worst_beside,
    worst_beside_in_domain,
)
from privet.audit.cases import DOMAIN, UNLIKE
from privet.errors import DeclarationError
from privet.inference.budget_shares import prepared_intervals
from privet.losses import HuberHinge, Logistic
from privet.mechanisms import ObjectivePerturbation
from privet.mechanisms.matrix import SecondMoments
from privet.mechanisms.matrix_beside import (
    LAWS,
    FitLoss,
    MomentsBesideFit,
    beside_fit,
    fit_loss,
    pair_rate,
)
from privet.mechanisms.trainer import NoiseChoice
from privet.models import LogisticRegression
from privet.privacy import ZCDP, Budget
from privet.risk import RegularizedRisk

#: claims of the fit and of the matrices, n Lam, and how near to both the attack comes
SETTINGS = [(6.0, 2.0, 0.35, 0.8), (6.0, 2.0, 10.0, 0.85), (1.0, 4.0, 3.0, 0.93)]


@pytest.mark.parametrize(("epsilon", "more", "ridge", "near"), SETTINGS)
def test_both_together_stay_within_both_claims(
    epsilon: float, more: float, ridge: float, near: float
) -> None:
    design = fit_beside(epsilon, ridge)
    worst, claimed = worst_beside(design, moments_beside(design, more))
    assert near * claimed < worst <= claimed


@dataclass(frozen=True)
class FitForgotten(MomentsBesideFit):
    """A planted bug: as if the fit left all of its claim at every slope."""

    def _unit(self, eta: float, n: int, reach: float, kind: str) -> float:
        nothing = FitLoss(1e-9, 1e-9, self.beside.claimed, 0.0)
        rate = pair_rate(nothing, self.budget.amount, eta, 1.0)
        return self.risk.norm_bound**2 * self.budget.amount / (rate * n)


@dataclass(frozen=True)
class OneRowOnly(MomentsBesideFit):
    """A planted bug: the row that leaves is forgotten."""

    def _unit(self, eta: float, n: int, reach: float, kind: str) -> float:
        return super()._unit(eta, n, reach, kind) / 2.0


@pytest.mark.parametrize("planted", [FitForgotten, OneRowOnly])
def test_the_attack_finds_planted_bugs(planted: type[MomentsBesideFit]) -> None:
    design = fit_beside(6.0, 10.0)
    worst, claimed = worst_beside(design, plant(planted, moments_beside(design, 2.0)))
    assert worst > 1.02 * claimed


def plant(planted: type[MomentsBesideFit], honest: MomentsBesideFit) -> MomentsBesideFit:
    return planted(honest.risk, honest.budget, fit=honest.fit)


@pytest.mark.parametrize("law", [law for law in LAWS if law != "laplace"])
def test_within_a_domain_too(law: NoiseChoice) -> None:
    design = fit_in_domain(UNLIKE if law == "grouped" else DOMAIN, law, 6.0, 1.0)
    honest = moments_beside(design, 2.0)
    worst, claimed = worst_beside_in_domain(design, honest)
    assert 0.85 * claimed < worst <= claimed
    worst, _ = worst_beside_in_domain(design, plant(FitForgotten, honest))
    assert worst > 1.02 * claimed


@pytest.mark.parametrize("steepest", [0.7, 0.95, 1.0])
@pytest.mark.parametrize("eta", [1.0, 3.0, 9.0])
def test_the_rate_is_the_largest_that_keeps_the_condition(eta: float, steepest: float) -> None:
    fit, epsilon = FitLoss(2.9, 2.5, 5.9, 1e-4), 2.0
    t = np.linspace(0.0, steepest, 200_001)
    width = t * (eta * (1.0 - t) + t)

    def cost(c: float) -> float:
        leaves = fit.a * t + np.log1p(fit.q * t * (1.0 - t)) + c * width
        return float(leaves.max() + (fit.a * t + c * width).max())

    rate, whole = pair_rate(fit, epsilon, eta, steepest), fit.claimed + epsilon - fit.blurred
    assert cost(rate) <= whole
    assert cost(1.001 * rate) > whole


def test_two_equal_rows_bound_how_small_the_unit_is() -> None:
    """What the rounding of sums is widened by."""
    fit = FitLoss(1e-9, 1e-9, 50.0, 0.0)
    moments = MomentsBesideFit(RegularizedRisk(Logistic(), 0.1, 1.0), PureDP(0.1), fit=fit)
    theta = np.full(5, 1e6)
    small = moments.weigh(100, theta)
    alone = moments.pair_nuclear(100, moments.reach(theta), small.eta)
    assert alone / small.sensitivity <= moments.reduction


def fit_of(budget: Budget, loss: Logistic | HuberHinge | None = None) -> ObjectivePerturbation:
    return ObjectivePerturbation(loss or Logistic(), budget)


def test_they_are_taken_only_where_they_are_proved_and_less_noisy() -> None:
    def taken(fit: ObjectivePerturbation, budget: Budget, n: int = 2000) -> type:
        design = fit.design(n, 5)
        return type(beside_fit(SecondMoments(design.risk, budget), design))

    assert taken(fit_of(PureDP(6.0)), PureDP(2.0)) is MomentsBesideFit
    assert taken(fit_of(PureDP(6.0), HuberHinge()), PureDP(2.0)) is SecondMoments
    assert taken(fit_of(ZCDP(1.0)), ZCDP(1.0)) is SecondMoments
    gaussian = replace(fit_of(ZCDP(1.0)), noise="gaussian").design(2000, 5)
    assert fit_loss(gaussian) is None
    fit = fit_loss(fit_of(PureDP(6.0)).design(2000, 5))
    risk = RegularizedRisk(HuberHinge(), 0.1, 1.0)
    with pytest.raises(DeclarationError, match="logistic"):
        MomentsBesideFit(risk, PureDP(2.0), fit=fit)
    with pytest.raises(DeclarationError, match="pure"):
        MomentsBesideFit(replace(risk, loss=Logistic()), ZCDP(2.0), fit=fit)


@pytest.mark.parametrize(
    ("standardize", "kind"), [(None, MomentsBesideFit), ("private", SecondMoments)]
)
def test_only_a_fit_that_is_one_release_has_them(standardize: Any, kind: type) -> None:
    """With features that cost something the fit is a part of its event: no proof is for that."""
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (2000, 3))
    bounds = None if standardize is None else ([-1.0] * 3, [1.0] * 3)
    model = LogisticRegression(standardize=standardize, column_bounds=bounds)
    found = prepared_intervals(model, x, (x[:, 0] > 0.0).astype(int), PureDP(8.0), 0.75)
    assert type(found.moments) is kind
