"""What the laws run over: every loss, budget, noise and mechanism, and random tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.audit.cases import LOSSES
from privet.losses import (
    HuberHinge,
    HuberResidual,
    JointHuber,
    Logistic,
    Loss,
    OwnLoss,
    PoissonRate,
    SmoothHinge,
    Softmax,
)
from privet.losses.weighted import Weighted
from privet.mechanisms import MECHANISMS, Mechanism
from privet.noise import NOISES
from privet.privacy import ZCDP, ApproxDP, Budget, Event, Filter, FitEvent, PureDP
from privet.privacy.compose import add_costs, basic_costs, costs
from privet.privacy.curves import Curve, GaussianCurve, PureCurve
from privet.privacy.jacobian import ONE_SCORE, CurvatureCurve, JacobianCurve
from tests.losses.own import huber

Array = NDArray[np.float64]

settings.register_profile("privet", deadline=None, max_examples=50)
settings.load_profile("privet")

#: Instances of every loss, with the parameters at which their facts could go wrong.
LOSS_CASES: tuple[Loss, ...] = (
    Logistic(),
    HuberHinge(0.5),
    HuberHinge(0.1),
    HuberHinge(2.0),
    SmoothHinge(0.5),
    SmoothHinge(2.0),
    Softmax(2),
    Softmax(3),
    Softmax(6),
    JointHuber(2),
    JointHuber(3),
    JointHuber(5, h=0.2, margin=2.0),
    JointHuber(4, lifted=True),
    JointHuber(4, opposite=0.8),
    JointHuber(3, opposite=0.6),
    HuberResidual(0.25),
    HuberResidual(2.0),
    PoissonRate(),
    PoissonRate(0.01),
    OwnLoss(huber(0.5), -1.0, 1.0),
    Weighted(Logistic(), (1.0, 3.0)),
    Weighted(Softmax(3), (0.5, 2.0, 1.0)),
)

#: One instance of each loss, for laws in which its parameters hardly matter.
EACH_LOSS: tuple[Loss, ...] = (
    *LOSSES,  # those that the audit attacks
    OwnLoss(huber(0.5), -1.0, 1.0),
    Weighted(Logistic(), (1.0, 3.0)),
)

EACH_BUDGET: tuple[Budget, ...] = (PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6))

#: Every budget with every noise that may spend it.
EACH_SPENDING: tuple[tuple[Budget, str], ...] = tuple(
    (budget, kind)
    for budget in EACH_BUDGET
    for kind in NOISES
    if not (kind == "gaussian" and isinstance(budget, PureDP))
)


def name_of(value: object) -> str:
    """A short name for a test's id."""
    if isinstance(value, type):
        return value.__name__
    return str(value) if isinstance(value, str | int | float) else repr(value).replace(" ", "")


def mechanism(
    name: str,
    loss: Loss,
    budget: Budget,
    noise: str = "auto",
    regularization: float | str = "auto",
    norm_bound: float = 1.0,
    calibration: str | None = None,
    insecure_seed: int | None = None,
) -> Mechanism:
    """A mechanism from the registry."""
    return MECHANISMS[name](
        loss=loss,
        budget=budget,
        norm_bound=norm_bound,
        regularization=regularization,  # type: ignore[arg-type]
        noise=noise,  # type: ignore[arg-type]
        calibration=calibration,
        insecure_seed=insecure_seed,
    )


def seeds() -> st.SearchStrategy[int]:
    """Seeds for a test's own data."""
    return st.integers(0, 2**32 - 1)


def table(seed: int, n: int, m: int, classes: int) -> tuple[Array, NDArray[np.int_]]:
    """Random rows of norm at most 1, a third of them at the bound, and class indices."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, m))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x *= np.minimum(1.0, 1.5 * rng.random((n, 1)))
    return x, rng.integers(0, classes, size=n)


epsilons = st.floats(1e-3, 20.0)
rhos = st.floats(1e-5, 20.0)
deltas = st.floats(-12.0, -0.5).map(lambda power: 10.0**power)


@st.composite
def jacobian_curves(draw: st.DrawFn) -> JacobianCurve:
    """Curves of Gaussian objective perturbation, of both kinds and every family."""
    family = draw(st.sampled_from(["margin", "logistic", "softmax", "joint_huber", "residual"]))
    classes = 2 if family in ONE_SCORE else draw(st.integers(2, 9))
    shift, k = draw(st.floats(1e-3, 5.0)), draw(st.floats(0.0, 3.0))
    curve = draw(st.sampled_from([JacobianCurve, CurvatureCurve]))
    return curve(family, classes, shift, k)


def curves() -> st.SearchStrategy[Curve]:
    """Curves of every class."""
    return st.one_of(epsilons.map(PureCurve), rhos.map(GaussianCurve), jacobian_curves())


def budgets(most: float = 20.0) -> st.SearchStrategy[Budget]:
    """Budgets of every kind, up to this epsilon."""
    epsilons, rhos = st.floats(1e-3, most), st.floats(1e-5, most**2 / 2.0)
    return st.one_of(epsilons.map(PureDP), rhos.map(ZCDP), st.builds(ApproxDP, epsilons, deltas))


def pure_event(epsilon: float) -> Event:
    """An event of a pure mechanism."""
    return event(PureDP(epsilon), (PureCurve(epsilon),))


def gaussian_event(rho: float) -> Event:
    """An event of a Gaussian mechanism."""
    return event(ZCDP(rho), (GaussianCurve(rho),))


def event(claim: Budget, curves: tuple[Curve, ...]) -> Event:
    """An event with this claim and these curves, and facts that composition does not read."""
    return FitEvent(
        mechanism="output",
        claim=claim,
        curves=curves,
        noise="laplace",
        scale=0.5,
        sensitivity=0.25,
        share=1.0,
        n=100,
        columns=3,
        regularization=0.01,
        theorem="a theorem",
    )


@st.composite
def events(draw: st.DrawFn, most: float = 20.0) -> Event:
    """Events of every mechanism, loss, budget and noise, from real designs."""
    name = draw(st.sampled_from(sorted(MECHANISMS)))
    loss = draw(st.sampled_from(EACH_LOSS))
    n, m = draw(st.integers(50, 5000)), draw(st.integers(1, 5))
    return mechanism(name, loss, draw(budgets(most))).event(n, m)


def admits(cap: Budget, spent: Sequence[Event], event: Event) -> bool:
    """Whether ``event`` fits after ``spent``, by the whole list, as a ledger's totals must say."""
    events, rule = (*spent, event), Filter(cap)
    totals = reduce(add_costs, map(costs, events))
    if rule.basic_limits() is None or rule.room(costs(events[0])) >= 0:
        return rule.room(totals) >= 0
    return rule.room(reduce(add_costs, map(basic_costs, events))) >= 0
