"""Gaussian objective perturbation by quadrature: below its claims, and close to them."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import pytest

from privet.audit.attacks import Pair
from privet.audit.profile import densities, pairs
from privet.errors import DeclarationError, RegularizationRaised
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
from privet.mechanisms import Design, ObjectivePerturbation
from privet.privacy import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.curves import GaussianCurve, gaussian_delta
from privet.privacy.jacobian import JacobianCurve
from tests.strategies import name_of

CROWD = 10**16
CASES = [
    (Logistic(), 1),
    (Logistic(), 2),
    (HuberHinge(), 1),
    (HuberHinge(), 2),
    (SmoothHinge(), 2),
    (Softmax(2), 2),
    (Softmax(3), 1),
    (JointHuber(3), 1),
    (HuberResidual(0.5), 1),
    (HuberResidual(0.5), 2),
    (PoissonRate(), 1),
]


def design_of(
    loss: Loss, m: int, budget: Budget, ridge: float
) -> tuple[Design, JacobianCurve | GaussianCurve]:
    """The design and its claim: a curve with a Jacobian, or one Gaussian mechanism above it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegularizationRaised)
        mechanism = ObjectivePerturbation(
            loss, budget, regularization=ridge / CROWD, noise="gaussian"
        )
        design = mechanism.design(CROWD, m)
    curve = design.event.curves[0]
    assert isinstance(curve, JacobianCurve | GaussianCurve)
    return design, curve


def claimed(curve: JacobianCurve | GaussianCurve, epsilon: float) -> float:
    """The delta that a curve allows at ``epsilon``."""
    if isinstance(curve, JacobianCurve):
        return curve.delta(epsilon)
    return gaussian_delta(math.sqrt(2.0 * curve.rho), epsilon)


def places(curve: JacobianCurve | GaussianCurve) -> tuple[float, float]:
    """Two epsilons where the claim is tried beside the budget's own."""
    if isinstance(curve, JacobianCurve):
        return curve.shift, 0.1 + math.log1p(curve.k)
    return 0.5 * math.sqrt(2.0 * curve.rho), math.sqrt(2.0 * curve.rho)


def opposite(design: Design) -> list[Pair]:
    """The first pairs: saturated records, and (one column) records at score 0."""
    return pairs(design)[:12:3]


@pytest.mark.parametrize(("loss", "m"), CASES, ids=name_of)
def test_profile_and_renyi_never_exceed_the_claim(loss: Loss, m: int) -> None:
    for budget, ridge in ((ApproxDP(1.0, 1e-2), 2.0), (ZCDP(0.5), 0.5), (ZCDP(0.05), 50.0)):
        design, curve = design_of(loss, m, budget, ridge)
        main = 0.99 * budget.facts().get("epsilon", 1.0)
        for pair in pairs(design)[::5]:
            both = densities(design, pair, reach=3.0)
            assert both.mass_error < 5e-3
            for epsilon in (main, *places(curve)):
                delta = both.hockey_stick(epsilon)
                assert delta.error <= 0.05 * claimed(curve, epsilon)
                assert delta.value - delta.error <= claimed(curve, epsilon)
            for order in (1.5, 3.0):
                found = both.renyi(order)
                allowed = min(curve.renyi(order), order * curve.zcdp)
                assert found.value - found.error <= allowed


@pytest.mark.parametrize(("loss", "m"), [(Logistic(), 2), (HuberHinge(), 1)], ids=name_of)
def test_the_claimed_delta_is_reached(loss: Loss, m: int) -> None:
    """With little curvature opposite records come within two per cent of delta at eps_main."""
    budget = ApproxDP(1.0, 1e-2)
    design, curve = design_of(loss, m, budget, 1000.0)
    found = [densities(design, pair, reach=2.0) for pair in opposite(design)]
    deltas = [both.hockey_stick(0.99 * budget.epsilon) for both in found]
    assert max(delta.value for delta in deltas) >= 0.98 * budget.delta
    assert max(delta.value - delta.error for delta in deltas) <= budget.delta
    assert 0.99 <= max(both.renyi(2.0).value for both in found) / curve.renyi(2.0) <= 1.0


def test_opposite_saturated_records_have_the_gaussian_profile() -> None:
    """No curvature anywhere: quadrature gives the Gaussian mechanism's own profile."""
    design, _ = design_of(HuberHinge(), 2, ZCDP(0.5), 100.0)
    shift = design.risk.loss.difference_bound / design.main.scale
    shift *= math.cos(0.01)  # the rows are 0.02 away from opposite
    both = densities(design, pairs(design)[0])
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        found = both.hockey_stick(epsilon)
        assert found.value == pytest.approx(gaussian_delta(shift, epsilon), rel=3e-3)


@pytest.mark.parametrize(("loss", "m"), [(Logistic(), 2), (HuberHinge(), 1)], ids=name_of)
def test_a_tenth_less_noise_is_found(loss: Loss, m: int) -> None:
    budget = ApproxDP(1.0, 1e-2)
    design, curve = design_of(loss, m, budget, 1000.0)
    thin = replace(design, main=replace(design.main, scale=0.9 * design.main.scale))
    found = [densities(thin, pair, reach=2.0) for pair in opposite(thin)]
    deltas = [both.hockey_stick(0.99 * budget.epsilon) for both in found]
    assert max(delta.value - delta.error for delta in deltas) > budget.delta
    assert max(both.renyi(2.0).value for both in found) > curve.renyi(2.0)


def test_quadrature_refuses_what_it_cannot_do() -> None:
    wide, _ = design_of(Logistic(), 3, ZCDP(0.5), 10.0)
    pure = ObjectivePerturbation(Logistic(), PureDP(1.0)).design(100, 1)
    pair = pairs(design_of(Logistic(), 1, ZCDP(0.5), 10.0)[0])[0]
    for design in (wide, pure):
        with pytest.raises(DeclarationError, match="one or two numbers"):
            densities(design, pair)
