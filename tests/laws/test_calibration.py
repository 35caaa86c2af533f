"""Law 6: calibrate, then account: the budget comes back, and 1 % less noise would not keep it."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import DeclarationError, InfeasibleBudget, RegularizationRaised
from privet.losses import HuberHinge, JointHuber, Logistic, Loss, Softmax
from privet.mechanisms import MECHANISMS, Design, Mechanism, ObjectivePerturbation
from privet.mechanisms.gap import output_gap, reserve
from privet.mechanisms.objective import REFUTED
from privet.mechanisms.output import DISCRETE_SLACK
from privet.noise import DomainNoise, GaussianNoise, MatrixLaplace
from privet.privacy import ZCDP, ApproxDP, Budget, PureDP
from privet.privacy.curves import gaussian_delta, renyi_epsilon
from privet.privacy.domination import dominates
from privet.privacy.jacobian import CurvatureCurve
from reproduce.chaudhuri2008 import ChaudhuriMonteleoni2008
from tests.strategies import EACH_SPENDING, LOSS_CASES, budgets, epsilons, mechanism, name_of

N, M = 500, 3
every_loss = pytest.mark.parametrize("loss", LOSS_CASES, ids=name_of)
every_spending = pytest.mark.parametrize(("budget", "noise"), EACH_SPENDING, ids=name_of)


# -- an accountant that reads the noise, not the event ---------------------------------------------


def pure_cost(design: Design, less: float = 1.0) -> float:
    """Epsilon of the main pure noise, scaled by ``less``."""
    scale, risk = less * design.main.scale, design.risk
    if design.event.mechanism == "output":
        return design.event.sensitivity / scale
    q = risk.relative_curvature(design.n)
    if isinstance(design.main, MatrixLaplace):
        return risk.loss.rank_one_loss_bound(risk.norm_bound / scale, q)
    if isinstance(design.main, DomainNoise):
        return risk.loss.gauge_loss_bound(1.0 / scale, q)
    return risk.loss.privacy_loss_bound(risk.norm_bound / scale, q)


def jacobian_curve(design: Design, less: float = 1.0) -> CurvatureCurve:
    """The curve of the main Gaussian noise in the objective."""
    risk, scale = design.risk, less * design.main.scale
    k = risk.row_curvature / (design.n * risk.regularization)
    return CurvatureCurve(
        risk.loss.jacobian_family, risk.loss.classes, risk.gradient_difference / scale, k
    )


def spent(design: Design, budget: Budget, less: float = 1.0) -> float:
    """What the main noise costs, as a share of what it may cost."""
    main = reserve(budget).main if design.event.mechanism == "objective" else budget
    laplace = not isinstance(design.main, GaussianNoise)
    if isinstance(main, PureDP) or (laplace and isinstance(main, ApproxDP)):
        return pure_cost(design, less) / main.epsilon  # type: ignore[union-attr]
    if isinstance(main, ZCDP):
        if laplace:
            return pure_cost(design, less) ** 2 / 2.0 / main.rho
        if design.event.mechanism == "output":
            return (design.event.sensitivity / (less * design.main.scale)) ** 2 / 2.0 / main.rho
        curve = jacobian_curve(design, less)
        mu = math.sqrt(2.0 * main.rho)
        if curve.classes == 2 and dominates(mu, curve.shift, curve.k, logistic=curve.can_be_free):
            return 1.0  # inside one Gaussian mechanism of this rho, which the Renyi bound misses
        return curve.zcdp / main.rho
    assert isinstance(main, ApproxDP)
    if design.event.mechanism == "output":
        shift = design.event.sensitivity / (less * design.main.scale)
        slack = DISCRETE_SLACK * design.parameters
        return gaussian_delta(shift, main.epsilon - slack) / main.delta
    curve = jacobian_curve(design, less)
    by_profile = curve.delta(main.epsilon) / main.delta
    return min(by_profile, renyi_epsilon([curve], main.delta) / main.epsilon)


@every_loss
@every_spending
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("regularization", ["auto", 0.5])
def test_calibrate_then_account_returns_the_budget(
    name: str, loss: Loss, budget: Budget, noise: str, regularization: float | str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegularizationRaised)
        design = mechanism(name, loss, budget, noise, regularization).design(N, M)
    share = spent(design, budget)
    # at most the budget, to rounding; a converted Renyi bound is read at another set of orders
    assert share <= 1.0 + 1e-8
    assert share >= 1.0 - (1e-3 if _renyi_only(design, budget) else 1e-6)
    assert spent(design, budget, less=0.99) > 1.0


def _renyi_only(design: Design, budget: Budget) -> bool:
    """Many classes under (epsilon, delta) may rest on a Renyi conversion."""
    many = not jacobian_curve(design).profile_is_tight
    return isinstance(budget, ApproxDP) and isinstance(design.main, GaussianNoise) and many


@given(
    name=st.sampled_from(sorted(MECHANISMS)),
    loss=st.sampled_from(LOSS_CASES),
    budget=budgets(),
    n=st.integers(1, 10**7),
    bound=st.floats(1e-3, 1e3),
)
@settings(max_examples=60)
def test_every_budget_size_and_unit_keeps_its_promise(
    name: str, loss: Loss, budget: Budget, n: int, bound: float
) -> None:
    design = mechanism(name, loss, budget, norm_bound=bound).design(n, M)
    assert spent(design, budget) <= 1.0 + 1e-8
    assert spent(design, budget, less=0.99) > 1.0
    assert all(math.isfinite(value) and value > 0.0 for value in numbers_of(design))


def numbers_of(design: Design) -> list[float]:
    gap = [] if design.gap is None else [design.gap.scale]
    return [design.main.scale, design.tolerance, design.risk.regularization, *gap]


@every_spending
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_events_own_accounts_return_the_claim(name: str, budget: Budget, noise: str) -> None:
    event = mechanism(name, Logistic(), budget, noise).event(N, M)
    if isinstance(budget, PureDP):
        assert sum(c.pure for c in event.curves) == pytest.approx(budget.epsilon, rel=1e-12)
        assert event.pure() == budget.epsilon
    elif isinstance(budget, ZCDP):
        assert sum(c.zcdp for c in event.curves) == pytest.approx(budget.rho, rel=1e-12)
        assert event.zcdp() == budget.rho
    elif isinstance(budget, ApproxDP):
        main, *rest = event.curves
        paid = main.epsilon(budget.delta) + sum(c.pure for c in rest)
        assert paid == pytest.approx(budget.epsilon, rel=1e-6)
        assert event.epsilon(budget.delta) == budget.epsilon


@given(budgets())
def test_the_reserve_and_the_rest_are_the_whole(budget: Budget) -> None:
    kept = reserve(budget)
    if isinstance(budget, ZCDP):
        assert kept.main.facts()["rho"] + kept.curve.zcdp == pytest.approx(budget.rho, rel=1e-15)
        assert kept.curve.zcdp == pytest.approx(budget.rho / 1000.0)
    else:
        whole = budget.facts()["epsilon"]
        assert kept.main.facts()["epsilon"] + kept.curve.pure == pytest.approx(whole, rel=1e-15)
        assert kept.curve.pure == pytest.approx(whole / 100.0)


@every_spending
def test_the_gap_is_paid_for_and_stays_small(budget: Budget, noise: str) -> None:
    design = mechanism("objective", Logistic(), budget, noise).design(N, M)
    risk, kept = design.risk, reserve(budget)
    assert design.gap is not None
    from privet.minimize import rounding_floor

    rounding = rounding_floor(N, M, risk, design.main.norm_quantile(1e-18))
    sensitivity = 2.0 * (design.tolerance + rounding) / risk.regularization
    if isinstance(budget, ZCDP):
        cost = (sensitivity / design.gap.scale) ** 2 / 2.0
        assert cost == pytest.approx(kept.curve.zcdp, rel=1e-9)
    else:
        assert sensitivity / design.gap.scale == pytest.approx(kept.curve.pure, rel=1e-9)
    effect = design.main.expected_norm / (N * (risk.regularization + risk.row_curvature))
    assert design.gap.expected_norm <= 0.0101 * effect


# -- logistic: the Jacobian is free ----------------------------------------------------------------


@given(
    epsilon=epsilons,
    n=st.integers(1, 10**6),
    bound=st.floats(0.01, 100.0),
    more=st.floats(1.0, 100.0),
)
def test_logistic_noise_is_exactly_2r_over_epsilon(
    epsilon: float, n: int, bound: float, more: float
) -> None:
    """From ``n Lam eps_main >= 2 R^2`` on, equality and not only closeness."""
    main = reserve(PureDP(epsilon)).main.facts()["epsilon"]
    lam = more * 2.0 * bound**2 / (n * main) * (1.0 + 1e-14)
    made = ObjectivePerturbation(Logistic(), PureDP(epsilon), bound, lam)
    assert made.design(n, M).main.scale == 2.0 * bound / main


@given(epsilon=epsilons, n=st.integers(1, 10**6))
def test_at_the_floor_logistic_noise_is_free(epsilon: float, n: int) -> None:
    main = reserve(PureDP(epsilon)).main.facts()["epsilon"]
    made = ObjectivePerturbation(Logistic(), PureDP(epsilon), 1.0, 1e-11)
    with pytest.warns(RegularizationRaised):
        design = made.design(n, M)
    assert design.risk.regularization == pytest.approx(2.0 / (n * main), rel=1e-14)
    assert design.main.scale == pytest.approx(2.0 / main, rel=1e-11)
    assert design.main.scale >= 2.0 / main


# -- floors ----------------------------------------------------------------------------------------


def scale_and_total(made: Mechanism) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegularizationRaised)
        design = made.design(N, M)
    return design.main.scale, design.risk.regularization


@every_loss
@every_spending
def test_noise_falls_with_regularization_without_a_jump(
    loss: Loss, budget: Budget, noise: str
) -> None:
    """Across the floor too, where the total is continuous and monotone."""
    auto = mechanism("objective", loss, budget, noise).design(N, M).risk.regularization
    lams = auto * np.geomspace(1e-3, 1e2, 70)
    found = [scale_and_total(mechanism("objective", loss, budget, noise, float(v))) for v in lams]
    scales, totals = np.array(found).T
    step = lams[1] / lams[0]
    assert (np.diff(totals) >= 0.0).all()
    assert (totals[1:] / totals[:-1] <= step * (1.0 + 1e-9)).all()
    assert (np.diff(scales) <= 1e-9 * scales[:-1]).all()
    assert (scales[:-1] / scales[1:] <= step).all()
    assert totals[0] > lams[0]  # the floor was crossed
    assert totals[-1] == lams[-1]


@every_loss
@every_spending
def test_a_value_below_the_floor_is_raised_with_a_warning(
    loss: Loss, budget: Budget, noise: str
) -> None:
    made = mechanism("objective", loss, budget, noise, 1e-9)
    with pytest.warns(RegularizationRaised, match="1e-09 is below the proven floor"):
        design = made.design(N, M)
    total = design.risk.regularization
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = mechanism("objective", loss, budget, noise, total).design(N, M)
    assert again.risk.regularization == total
    assert again.main.scale == pytest.approx(design.main.scale, rel=1e-9)
    with pytest.warns(RegularizationRaised):
        mechanism("objective", loss, budget, noise, 0.999 * total).design(N, M)


def number_in(error: InfeasibleBudget) -> float:
    """The regularization that the message advises: its last number."""
    found = re.findall(r"(?:more than|at least) ([-+.\de]*\d)", str(error))
    assert len(found) == 1
    return float(found[0])


@every_loss
@every_spending
def test_an_infeasible_budget_names_a_regularization_that_works(
    loss: Loss, budget: Budget, noise: str
) -> None:
    def exact(lam: float) -> Mechanism:
        return mechanism("objective", loss, budget, noise, lam, calibration="exact")

    with pytest.raises(InfeasibleBudget) as refusal:
        exact(1e-7).design(N, M)
    smallest = number_in(refusal.value)
    assert math.isfinite(exact(1.001 * smallest).design(N, M).main.scale)
    if noise == "laplace":  # there it is the smallest that works
        with pytest.raises(InfeasibleBudget):
            exact(0.999 * smallest).design(N, M)


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Softmax(3)], ids=name_of)
def test_the_exact_calibration_has_no_floor(loss: Loss) -> None:
    free = mechanism("objective", loss, PureDP(1.0)).design(N, M)
    lam = 0.9 * loss.curvature_bound / (N * loss.curvature_floor(0.99) * loss.curvature_bound)
    exact = mechanism(
        "objective", loss, PureDP(1.0), regularization=lam, calibration="exact"
    ).design(N, M)
    assert exact.risk.regularization == lam
    assert pure_cost(exact) == pytest.approx(0.99, rel=1e-6)
    assert exact.main.scale * 1.5 > free.main.scale


@pytest.mark.parametrize("bad", [0, 0.0, -1.0, math.nan, math.inf, 1e300, "much", True, None])
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_impossible_regularization_is_refused(name: str, bad: object) -> None:
    with pytest.raises(DeclarationError, match="regularization"):
        mechanism(name, Logistic(), PureDP(1.0), regularization=bad).design(N, M)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 1e300, "1", True, None])
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_impossible_norm_bound_is_refused(name: str, bad: object) -> None:
    with pytest.raises(DeclarationError, match="norm_bound"):
        mechanism(name, Logistic(), PureDP(1.0), norm_bound=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "10", None])
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_impossible_size_is_refused(name: str, bad: object) -> None:
    made = mechanism(name, Logistic(), PureDP(1.0))
    for size in ((bad, M), (N, bad)):
        with pytest.raises(DeclarationError, match="must be a positive integer"):
            made.design(*size)  # type: ignore[arg-type]


# -- the papers ------------------------------------------------------------------------------------


def paper(name: str, loss: Loss, lam: float, bound: float = 1.0) -> Design:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegularizationRaised)
        return mechanism(
            "objective", loss, PureDP(1.0), "laplace", lam, bound, calibration=name
        ).design(N, M)


def test_wang2018_by_hand() -> None:
    """``eps' = 0.99 - log(1 + c R^2/(n Lam))``; scale ``2 R/eps'``."""
    design = paper("wang2018", Logistic(), 0.01, bound=2.0)
    left = 0.99 - math.log(1.0 + 0.25 * 4.0 / (500 * 0.01))
    assert design.main.scale == pytest.approx(4.0 / left, rel=1e-12)
    joint = paper("wang2018", JointHuber(3), 1.0)
    jacobian = math.log(1.0 + 3.0 / 500) + math.log(1.0 + 1.0 / 500)
    assert joint.main.scale == pytest.approx(2.0 * math.sqrt(6.0) / (0.99 - jacobian), rel=1e-12)
    assert design.event.private


def test_chaudhuri2011_by_hand() -> None:
    """Algorithm 2: the logarithm twice; where it takes all, more ridge and half of epsilon."""
    design = paper("chaudhuri2011", HuberHinge(0.5), 0.1, bound=2.0)
    left = 0.99 - 2.0 * math.log(1.0 + 4.0 / (500 * 0.1))
    assert design.main.scale == pytest.approx(4.0 / left, rel=1e-12)
    assert design.risk.regularization == 0.1
    branch = paper("chaudhuri2011", HuberHinge(0.5), 0.001, bound=2.0)
    assert branch.main.scale == pytest.approx(4.0 / (0.99 / 2.0), rel=1e-12)
    assert branch.risk.regularization == pytest.approx(4.0 / (500 * math.expm1(0.99 / 4.0)))
    assert design.event.private
    assert branch.event.private


@pytest.mark.parametrize("name", ["wang2018", "chaudhuri2011"])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5)], ids=name_of)
@given(lam=st.floats(1e-3, 10.0))
@settings(max_examples=25)
def test_a_papers_calibration_is_covered_and_no_smaller(name: str, loss: Loss, lam: float) -> None:
    try:
        theirs = paper(name, loss, lam)
    except InfeasibleBudget:
        return
    assert pure_cost(theirs) <= 0.99 * (1.0 + 1e-12)
    ours = paper("exact", loss, theirs.risk.regularization)
    assert ours.main.scale <= theirs.main.scale * (1.0 + 1e-9)


def test_chaudhuri2008_is_private_exactly_from_its_condition_on() -> None:
    """No Jacobian term: right for logistic loss from ``n Lam = 2 R^2/eps`` on, wrong before."""
    edge = 2.0 / (N * 0.99)

    def theirs(loss: Loss, lam: float) -> Design:
        return ChaudhuriMonteleoni2008(loss, PureDP(1.0), regularization=lam).design(N, M)

    above, below = (theirs(Logistic(), edge * f) for f in (1.001, 0.999))
    assert above.main.scale == below.main.scale == pytest.approx(2.0 / 0.99, rel=1e-12)
    assert above.event.private
    assert not below.event.private
    assert "Jacobian" in below.event.why_not_private
    assert pure_cost(below) > 0.99
    assert not theirs(HuberHinge(), 100.0).event.private
    with pytest.raises(DeclarationError, match="two-class"):
        theirs(Softmax(3), 1.0)


def test_a_papers_calibration_for_two_classes_refuses_more() -> None:
    with pytest.raises(DeclarationError, match="two-class"):
        paper("chaudhuri2011", Softmax(3), 1.0)


@pytest.mark.parametrize("name", REFUTED)
def test_a_refuted_rule_is_refused_and_says_where_it_went(name: str) -> None:
    with pytest.raises(DeclarationError, match=rf"not private .* reproduce/{name}\.py"):
        paper(name, Logistic(), 1.0)
    assert find_spec(f"reproduce.{name}") is not None


def test_an_unknown_calibration_is_refused() -> None:
    with pytest.raises(DeclarationError, match="calibration must be one of"):
        mechanism("objective", Logistic(), PureDP(1.0), calibration="guess")
    with pytest.raises(DeclarationError, match="one calibration"):
        mechanism("output", Logistic(), PureDP(1.0), calibration="wang2018")


# -- which noise -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("budget", [ZCDP(0.5), ApproxDP(1.0, 1e-6)], ids=str)
@pytest.mark.parametrize("m", [1, 3, 30, 400])
def test_auto_takes_the_smaller_noise(name: str, budget: Budget, m: int) -> None:
    def norm(noise: str) -> float:
        made = mechanism(name, Logistic(), budget, noise, 0.5)
        return made.design(N, m).main.expected_norm

    assert norm("auto") == min(norm("laplace"), norm("gaussian"))


def test_both_noises_are_taken_somewhere() -> None:
    made = mechanism("objective", Logistic(), ApproxDP(1.0, 1e-6), regularization=0.5)
    assert {made.design(N, m).main.kind for m in (1, 400)} == {"laplace", "gaussian"}


@pytest.mark.parametrize("name", MECHANISMS)
def test_pure_budgets_take_laplace_and_refuse_gaussian(name: str) -> None:
    assert mechanism(name, Logistic(), PureDP(1.0)).design(N, M).main.kind == "laplace"
    with pytest.raises(DeclarationError, match="no pure epsilon"):
        mechanism(name, Logistic(), PureDP(1.0), "gaussian")
    with pytest.raises(DeclarationError, match="noise must be"):
        mechanism(name, Logistic(), PureDP(1.0), "cauchy")


@pytest.mark.parametrize("budget", [ZCDP(0.5), ApproxDP(1.0, 1e-6)], ids=str)
def test_a_papers_calibration_brings_its_own_noise(budget: Budget) -> None:
    """The papers' rules are for spherical Laplace noise: "auto" takes it, Gaussian is refused."""
    made = mechanism("objective", Logistic(), budget, calibration="wang2018", regularization=1.0)
    assert made.design(N, 400).main.kind == "laplace"
    with pytest.raises(DeclarationError, match="spherical Laplace"):
        mechanism("objective", Logistic(), budget, "gaussian", 1.0, calibration="wang2018").design(
            N, M
        )


# -- output perturbation by hand -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "noise", "expected"),
    [
        (PureDP(2.0), "laplace", lambda s: s / 2.0),
        (ZCDP(0.5), "gaussian", lambda s: s),
        (ZCDP(0.5), "laplace", lambda s: s),
        (ApproxDP(1.0, 1e-6), "gaussian", lambda s: s * 4.2246788892),
    ],
    ids=["pure", "zcdp, gaussian", "zcdp, laplace", "approx"],
)
def test_output_noise_by_hand(
    budget: Budget, noise: str, expected: Callable[[float], float]
) -> None:
    """``S = 2 R/(n Lam)``, widened by the gap and the grid by parts in a million."""
    design = mechanism("output", Logistic(), budget, noise, 0.1, norm_bound=3.0).design(N, M)
    sensitivity = 2.0 * 3.0 / (500 * 0.1)
    assert design.event.sensitivity == pytest.approx(sensitivity, rel=3e-4)
    assert design.event.sensitivity > sensitivity
    assert design.main.scale == pytest.approx(expected(sensitivity), rel=3e-4)


@every_spending
def test_output_sensitivity_pays_for_the_gap_and_the_grid(budget: Budget, noise: str) -> None:
    """Twice the distance at which a minimizer may stop; Gaussian noise pays for rounding too."""
    design = mechanism("output", Softmax(4), budget, noise).design(N, M)
    _, gap = output_gap(design.risk, N, M)
    rounding = math.ldexp(math.sqrt(3 * M), design.exponent) if noise == "gaussian" else 0.0
    expected = design.risk.minimizer_sensitivity(N) + 2.0 * gap / design.risk.regularization
    assert design.event.sensitivity == pytest.approx(expected + rounding, rel=1e-12)
    # the grid is fine enough for the discrete law: its proof asks for 2^20 steps in a deviation
    assert math.ldexp(design.main.coordinate_sd, -design.exponent) >= 2.0**20
