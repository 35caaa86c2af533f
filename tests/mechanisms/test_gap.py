"""The gap's noise is drawn, charged and small."""

import math
from dataclasses import replace

import numpy as np
import pytest

from privet import ZCDP, ApproxDP, PureDP
from privet.losses import Logistic
from privet.mechanisms import ObjectivePerturbation
from privet.mechanisms.gap import gap_is_visible, least_response, reserve
from privet.privacy import Budget
from privet.randomness import InsecureSeed
from privet.rows import checked_rows
from tests.models.tables import two_classes

BUDGETS = [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_release_contains_the_gaps_noise(budget: Budget) -> None:
    """With one seed, the release moves in proportion to the scale of the gap's noise alone."""
    x, y = two_classes()
    rows = checked_rows(x, Logistic().targets(y), norm_bound=1.0)
    mechanism = ObjectivePerturbation(Logistic(), budget)
    design = mechanism.design(rows.n, rows.m)
    assert design.gap is not None

    def released(times: float) -> np.ndarray:
        wide = replace(design.gap, scale=times * design.gap.scale)
        return mechanism.perturb(rows, replace(design, gap=wide), InsecureSeed(5))

    bare = mechanism.perturb(rows, replace(design, gap=None), InsecureSeed(5))
    large = 1e3 * design.main.expected_norm / design.gap.scale
    one, three = released(large) - bare, released(3.0 * large) - bare
    assert np.linalg.norm(one) > 1.0
    assert np.allclose(three, 3.0 * one, rtol=1e-6)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("n", [1_000, 100_000])
def test_the_gaps_noise_is_small_beside_the_main_noise(budget: Budget, n: int) -> None:
    """One per cent of the least that the main noise does; where rounding forbids it, a tenth of
    the geometric mean of the least and the most."""
    design = ObjectivePerturbation(Logistic(), budget).design(n, 50)
    least = design.main.expected_norm * least_response(design.risk, n, 50)
    most = design.main.expected_norm / (n * design.risk.regularization)
    assert design.gap is not None
    if n == 1_000:
        assert design.gap.expected_norm <= 0.011 * least
    assert design.gap.expected_norm <= 0.1 * math.sqrt(least * most)


def test_huge_tables_are_regularized_more_than_the_rule_says() -> None:
    """A hundred million rows: rounding in their sums would be visible at the rule's ridge."""
    mechanism = ObjectivePerturbation(Logistic(), ApproxDP(1.0, 1e-6))
    design = mechanism.design(10**8, 50)
    rule = mechanism._design_once(design.event.noise, 10**8, 50)
    assert gap_is_visible(rule)
    assert not gap_is_visible(design)
    assert design.risk.regularization > rule.risk.regularization


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_main_and_gap_add_up_to_the_claim(budget: Budget) -> None:
    kept = reserve(budget)
    event = ObjectivePerturbation(Logistic(), budget).event(1_000, 3)
    assert event.curves[1] == kept.curve
    assert event.claim == budget
    if isinstance(budget, ZCDP):
        assert sum(curve.zcdp for curve in event.curves) == pytest.approx(budget.rho)
        return
    epsilon = budget.facts()["epsilon"]
    assert kept.main.facts()["epsilon"] + kept.curve.pure == pytest.approx(epsilon)
