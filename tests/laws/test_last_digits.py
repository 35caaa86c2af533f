"""Terms of a proof that are as small as a rounding error, each against exact arithmetic.

No statistical test can see them. Here they are compared with hand numbers or with fractions, which
round nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from privet import ZCDP, ApproxDP, Numeric, PureDP
from privet.answers.dual import Gram
from privet.audit.attacks import Finding
from privet.grid import GRID_BITS
from privet.kernels import Gaussian, Linear
from privet.losses import HuberHinge, Logistic
from privet.mechanisms.counts import Histogram
from privet.mechanisms.gap import output_gap
from privet.mechanisms.gradient import GradientDescent
from privet.mechanisms.kernel_minimizer import KernelMinimizer
from privet.mechanisms.matrix import SecondMoments
from privet.mechanisms.output import output_curve
from privet.minimize import rounding_floor
from privet.models.standardize import MomentColumns, Ranges
from privet.privacy.budget import Budget
from privet.privacy.curves import GaussianCurve
from privet.risk import RegularizedRisk
from privet.rows.ball import in_ball
from reproduce.two_matrices import TwoMatrices
from tests.strategies import Array, seeds

UNIT = 2.0**-53


def gamma(terms: float) -> float:
    """Higham's ``gamma_k``."""
    return terms * UNIT / (1.0 - terms * UNIT)


# -- private gradient descent ----------------------------------------------------------------------


@pytest.mark.parametrize("center", [None, (3.0, -4.0)])
@pytest.mark.parametrize("n", [50, 10**8])
def test_rounding_in_a_sum_of_clipped_gradients_is_paid_for(
    n: int, center: tuple[float, ...] | None
) -> None:
    """``gradient.proof.md``, step 4, by hand for logistic loss, rows of norm 2 and two columns."""
    made = GradientDescent(
        Logistic(), ZCDP(0.5), 2.0, steps=7, relative_step=3.0, relative_clip=0.25, center=center
    )
    design = made.design(n, 2)
    clip, step = 0.25 * 2.0, 1.0 / (0.25 * 4.0 / 3.0 + design.risk.regularization)
    assert (design.schedule.clip, design.schedule.step) == pytest.approx((clip, step), rel=1e-14)
    radius = design.radius + (0.0 if center is None else 5.0)
    scores = 0.25 * 4.0 * gamma(2 + 2 + 8) * radius
    slopes, sums = 8.0 * 2 * UNIT * 2.0, gamma(min(n, 4096) + 8) * 2.0
    rounding = scores + slopes + sums + gamma(2 + 2 + 16) * 2.0
    grid = math.ldexp(math.sqrt(2.0), design.exponent)
    needed = 2.0 * clip + 2.0 * n * rounding + grid
    assert design.event.sensitivity == pytest.approx(needed, rel=1e-13)
    (curve,) = design.event.curves
    assert isinstance(curve, GaussianCurve)
    assert curve.slack == pytest.approx(1.5e-10 * 2 * 7, rel=1e-14)
    assert 7 * (design.event.sensitivity / design.event.scale) ** 2 / 2.0 == pytest.approx(0.5)


# -- noise and sensitivity -------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 1000, 100_000])
def test_the_profile_of_discrete_noise_is_paid_for(p: int) -> None:
    """``u1 + u2`` of output.proof.md, step 4, at 2^20 points per standard deviation."""
    s = Fraction(2) ** GRID_BITS
    distance = (Fraction(1, 8) + Fraction(3600, 24)) / s**2 * p
    for budget in (ApproxDP(1.0, 1e-6), ZCDP(0.5)):
        curve = output_curve("gaussian", budget, p)
        assert isinstance(curve, GaussianCurve)
        assert Fraction(curve.slack) >= distance
    shift = math.sqrt(2.0 * output_curve("gaussian", ApproxDP(1.0, 1e-6), p).zcdp)
    epsilon = 1.0 - float(distance)
    delta = norm.cdf(shift / 2.0 - epsilon / shift) - math.exp(epsilon) * norm.cdf(
        -shift / 2.0 - epsilon / shift
    )
    assert delta <= 1e-6 * (1.0 + 1e-11)


@given(epsilon=st.floats(1e-6, 100.0), touched=st.integers(1, 5))
def test_counts_lose_no_unit_in_the_last_place(epsilon: float, touched: int) -> None:
    """``sensitivity/scale <= epsilon`` in exact arithmetic."""
    scale = Histogram(10, PureDP(epsilon), touched).scale
    assert Fraction(scale) * Fraction(epsilon) >= 2 * touched


def test_a_quotient_that_is_rounded_down_is_among_those() -> None:
    """Power: without the last place the loss would be above epsilon for some budgets."""
    budgets = [0.1 * k for k in range(1, 100)]
    assert any(Fraction(2.0 / epsilon) * Fraction(epsilon) < 2 for epsilon in budgets)
    for epsilon in budgets:
        assert Fraction(Histogram(10, PureDP(epsilon)).scale) * Fraction(epsilon) >= 2


@pytest.mark.parametrize("n", [100, 10_000])
@pytest.mark.parametrize("m", [1, 20])
def test_output_perturbation_pays_for_the_rounding_of_its_certificate(n: int, m: int) -> None:
    risk = RegularizedRisk(Logistic(), 0.01, 1.0)
    tolerance, gap = output_gap(risk, n, m)
    assert Fraction(gap) - Fraction(tolerance) >= Fraction(
        rounding_floor(n, m, risk, 0.0)
    ) * Fraction(99, 100)


@pytest.mark.parametrize("kind", [SecondMoments, TwoMatrices])
@pytest.mark.parametrize("n", [1000, 1_000_000])
def test_the_matrices_pay_for_the_rounding_of_their_sums(kind: type[SecondMoments], n: int) -> None:
    """Sums over blocks of 4,096 rows: ``sqrt2 n (4096 + 16) 2^-53`` of the sensitivity."""
    made = kind(RegularizedRisk(Logistic(), 0.01, 1.0), PureDP(1.0)).design_with("laplace", n, 3)
    assert made.event.sensitivity - 1.0 == pytest.approx(
        math.sqrt(2.0) * n * 4112.0 * UNIT, rel=1e-3, abs=0.0
    )
    curves = len(made.event.curves)
    assert made.noise.scale == pytest.approx(curves * made.event.sensitivity, rel=1e-11, abs=0.0)
    assert made.noise.scale / curves > 1.0 + n * 4112.0 * UNIT


# -- what rounding does to a minimizer -------------------------------------------------------------


def test_the_kernel_minimizer_pays_for_rounding() -> None:
    """Logistic loss, R = 1, Lam = 0.01, 1,000 rows: slope 1, curvature 1/4, coefficients 200."""
    made = KernelMinimizer(RegularizedRisk(Logistic(), 0.01, 1.0), 1000)
    rounding = gamma(2024.0) * 0.25 * 200.0 + 16.0 * UNIT
    assert made.rounding == pytest.approx(rounding, rel=1e-12, abs=0.0)
    tolerance = 5e-4 * 2.0 / 1000 - rounding
    assert made.tolerance == pytest.approx(tolerance, rel=1e-12, abs=0.0)
    exact = (Fraction(2, 1000) + 2 * Fraction(made.tolerance) + 2 * Fraction(made.rounding)) * 100
    # 0.01 is not a hundredth: a part in 1e17
    assert float(Fraction(made.sensitivity) / exact) == pytest.approx(1.0, abs=1e-14)
    assert Fraction(made.norm) > Fraction(made.tolerance) * 100


def test_the_kernel_minimizer_s_predictions_are_rounded_too() -> None:
    made = KernelMinimizer(RegularizedRisk(Logistic(), 0.01, 2.0), 1000)
    error = gamma(2024.0) * 4.0 * 200.0
    assert made.prediction_rounding == pytest.approx(error, rel=1e-12, abs=0.0)
    more = made.score_sensitivity - 2.0 * made.sensitivity
    assert more == pytest.approx(2.0 * error, rel=1e-3, abs=0.0)


@pytest.mark.parametrize(
    ("loss", "slope", "curvature", "offset"),
    [(Logistic(), 1.0, 0.25, 0.0), (HuberHinge(0.5), 1.0, 1.0, 1.5)],
)
def test_the_rounding_floor_is_the_sum_in_its_text(
    loss: Logistic | HuberHinge, slope: float, curvature: float, offset: float
) -> None:
    """100 rows, 5 columns, R = 1, Lam = 10: no minimizer is longer than ``(1 + 0.3)/10``.

    The point may be twice as far out as the minimizer.
    """
    risk, beta = RegularizedRisk(loss, 10.0, 1.0), 0.3
    radius = 2.0 * (slope + beta) / 10.0
    by_hand = (
        gamma(108.0) * slope
        + curvature * gamma(5.0 + 2.0 + 8.0) * radius
        + 16.0 * UNIT * (slope + curvature * offset)
        + 4.0 * UNIT * (10.0 * radius + beta + slope)
    )
    assert rounding_floor(100, 5, risk, 100 * beta) == pytest.approx(by_hand, rel=1e-9, abs=0.0)


def exact_square(x: Array, r: Array) -> Fraction:
    """``|sum_j r_j x_j|^2`` without rounding."""
    columns = [
        sum(
            (Fraction(float(w)) * Fraction(float(v)) for w, v in zip(r, column, strict=True)),
            Fraction(),
        )
        for column in x.T
    ]
    return sum((value * value for value in columns), Fraction())


@given(seed=seeds(), n=st.integers(2, 40))
def test_the_norm_of_a_combination_is_never_below_the_exact_one(seed: int, n: int) -> None:
    """Near copies of one row with weights that cancel: the product loses all its digits."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=3) / 4.0 + 1e-9 * rng.normal(size=(n, 3))
    r = rng.normal(size=n)
    r -= r.mean()
    found = Gram(Linear(10.0), x).norm_above(r)
    assert Fraction(found) ** 2 >= exact_square(x, r)


def test_some_computed_squares_are_below_the_exact_ones() -> None:
    """Power: without the slack the bound would fail on such rows."""
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(50):
        x = rng.normal(size=3) / 4.0 + 1e-9 * rng.normal(size=(20, 3))
        r = rng.normal(size=20)
        r -= r.mean()
        below += Fraction(max(float(r @ (x @ x.T @ r)), 0.0)) < exact_square(x, r)
    assert below > 5


def test_the_slack_of_a_gram_matrix_is_n_units_twice() -> None:
    """Equal rows of a Gaussian kernel: ``r'Kr = (sum r)^2 = 0`` up to the slack."""
    r = np.array([1.0, -1.0, 2.0, -2.0])
    found = Gram(Gaussian(1.0), np.zeros((4, 2))).norm_above(r)
    assert found == pytest.approx(math.sqrt(2.0 * 4 * UNIT * 36.0), rel=1e-12, abs=0.0)


# -- rows within their bounds ----------------------------------------------------------------------


@given(low=st.floats(-100.0, 100.0), width=st.floats(1e-3, 100.0))
def test_scaled_columns_stay_within_one(low: float, width: float) -> None:
    ends = Ranges(np.array([low]), np.array([low + width]))
    table = np.array([[low - 1.0], [low], [low + width], [low + width + 1.0]])
    assert np.abs(MomentColumns(ends)(table)[:, 0]).max() <= 1.0


def test_some_quotients_pass_one_before_they_are_clipped() -> None:
    """Power: ranges whose own ends would be scaled beyond 1 by rounding."""
    low = np.round(np.arange(-50, 50) / 7.0, 3)
    ends = Ranges(low, low + 0.3)
    raw = np.abs((np.stack([ends.low, ends.high]) - ends.middle) / ends.half)
    assert (raw > 1.0).any()
    assert np.abs(MomentColumns(ends)(np.stack([ends.low, ends.high]))[:, :100]).max() <= 1.0


class Wavering(Numeric):
    """The logarithms of long arrays are a unit above those of short ones, as in some libraries."""

    def _stretch(self, values: Array) -> Array:
        found = super()._stretch(values)
        return found if len(found) <= 2 else np.nextafter(found, np.inf)


def test_a_column_never_leaves_its_scale() -> None:
    for high in (3.0, 10.0, 1e5):
        column = Wavering(1.0, high, log=True)
        cells = np.array([-5.0, 0.5, 1.0, high, 2.0 * high])
        places = column.positions(cells)
        assert np.abs(places).max() == 1.0
        # below a logarithm's domain is below the bound, not missing
        np.testing.assert_allclose(places, [-1.0, -1.0, -1.0, 1.0, 1.0], atol=1e-14)


@given(seed=seeds(), m=st.integers(1, 6), power=st.integers(-16, -6))
def test_a_row_a_little_too_long_is_clipped(seed: int, m: int, power: int) -> None:
    """Whatever a row's length is, in exact arithmetic it ends within ``(m + 16)`` units."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, m))
    x *= ((1.0 + 10.0**power * rng.uniform(-1, 1, 20)) / np.linalg.norm(x, axis=1))[:, None]
    rows, factors = in_ball(x, 1.0)
    factors = np.ones(20) if factors is None else factors
    limit = (1 + Fraction(m + 16) * Fraction(UNIT)) ** 2
    for row, factor in zip(rows, factors, strict=True):
        square = (
            sum((Fraction(float(v)) ** 2 for v in row), Fraction()) * Fraction(float(factor)) ** 2
        )
        assert square <= limit


# -- claims are compared without a margin ----------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "more"),
    [
        (PureDP(1.0), PureDP(1.0 + 1e-7)),
        (ZCDP(0.5), ZCDP(0.5 * (1.0 + 1e-7))),
        (ZCDP(0.5), PureDP(1.0 + 1e-7)),
        (ApproxDP(1.0, 1e-6), ApproxDP(1.0 + 1e-7, 1e-6)),
        (ApproxDP(1.0, 1e-6), ApproxDP(1.0, 1e-6 * (1.0 + 1e-7))),
        (ApproxDP(1.0, 1e-6), PureDP(1.0 + 1e-7)),
    ],
)
def test_a_budget_covers_itself_and_nothing_larger(budget: Budget, more: Budget) -> None:
    assert budget.covers(budget)
    assert not budget.covers(more)


def test_an_audit_s_finding_has_room_for_rounding_alone() -> None:
    assert Finding("check", 1.0 + 1e-10, 1.0, "").passed
    assert not Finding("check", 1.0 + 1e-8, 1.0, "").passed
    assert not Finding("check", math.nan, 1.0, "").passed
