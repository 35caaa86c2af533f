"""Law 3: neighbors' minimizers differ by at most the declared sensitivity, and nearly by it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.losses import HuberHinge, JointHuber, Logistic, Loss, SmoothHinge, Softmax
from privet.losses.weighted import Weighted
from privet.minimize import minimize, rounding_floor
from privet.risk import RegularizedRisk
from privet.rows import checked_rows
from tests.strategies import LOSS_CASES, Array, name_of, seeds, table

every_loss = pytest.mark.parametrize("loss", LOSS_CASES, ids=name_of)
Codes = NDArray[np.int_]


def minimum(risk: RegularizedRisk, x: Array, codes: Codes) -> tuple[Array, float]:
    """The certified minimizer and the gradient norm it is known to."""
    rows = checked_rows(x, risk.loss.targets(codes), norm_bound=risk.norm_bound)
    rounding = rounding_floor(rows.n, rows.m, risk, 0.0)
    tolerance = max(1e-9 * risk.row_gradient, 4.0 * rounding)
    return minimize(risk, rows, tolerance=tolerance).certified(), tolerance + rounding


def ratio(risk: RegularizedRisk, x: Array, codes: Codes, new: Array, label: int) -> float:
    """Distance between the minimizers of a table and its neighbor over the declared one.

    The last row is replaced by ``new``.
    """
    other, labels = x.copy(), codes.copy()
    other[-1], labels[-1] = new, label
    (here, gap), (there, _) = minimum(risk, x, codes), minimum(risk, other, labels)
    return float(np.linalg.norm(here - there)) / risk.minimizer_sensitivity(len(x), gap)


def lift(x: Array) -> Array:
    """Rows ``x x^T`` as vectors: no two of them have a negative inner product."""
    return np.einsum("ij,ik->ijk", x, x).reshape(len(x), -1)


def with_constant(x: Array, share: float) -> Array:
    """Rows of norm at most 1 as ``(share x, sqrt(1 - share^2))``."""
    return np.column_stack([share * x, np.full(len(x), math.sqrt(1.0 - share**2))])


def as_declared(loss: Loss, x: Array) -> Array:
    """Rows of norm at most 1 with what the loss's bounds assume of them."""
    if isinstance(loss, JointHuber) and loss.lifted:
        return lift(x)
    if isinstance(loss, JointHuber) and loss.opposite < 1.0:
        return with_constant(x, loss.opposite)
    return x


@every_loss
@given(
    seed=seeds(),
    n=st.integers(1, 8),
    m=st.integers(1, 3),
    power=st.floats(-3.0, 1.0),
    bound=st.sampled_from([0.25, 1.0, 7.0]),
)
@settings(max_examples=20)
def test_random_neighbors_stay_within_the_sensitivity(
    loss: Loss, seed: int, n: int, m: int, power: float, bound: float
) -> None:
    x, codes = table(seed, n + 1, m, loss.classes)
    x = as_declared(loss, x)
    risk = RegularizedRisk(loss, 10.0**power * bound**2, bound)
    x *= bound
    assert ratio(risk, x[:-1], codes[:-1], x[-1], int(codes[-1])) <= 1.0


@every_loss
@given(seed=seeds(), n=st.integers(1, 30), power=st.floats(-3.0, 0.0))
@settings(max_examples=10)
def test_opposite_neighbors_stay_within_the_sensitivity(
    loss: Loss, seed: int, n: int, power: float
) -> None:
    """A crowd that agrees, and one full-norm row that is turned around or relabeled."""
    rng = np.random.default_rng(seed)
    x = np.tile([0.0, 1.0], (n, 1)) * rng.random()
    x[-1] = [1.0, 0.0]
    codes = np.zeros(n, dtype=int)
    turned = as_declared(loss, -x[-1:])[0]
    x = as_declared(loss, x)
    risk = RegularizedRisk(loss, 10.0**power, 1.0)
    for new, label in ((turned, 0), (x[-1], loss.classes - 1), (turned, loss.classes - 1)):
        assert ratio(risk, x, codes, new, label) <= 1.0


def crowd_against(rivals: list[int], n: int) -> tuple[Array, Codes]:
    """Tiny rows that push the parameters far along the second axis, against class 0."""
    x = np.tile([0.0, 1e-3], (n, 1))
    return x, np.resize(np.array(rivals), n)


@pytest.mark.parametrize(
    ("loss", "rivals"),
    [
        (Logistic(), [1]),
        (HuberHinge(), [1]),
        (SmoothHinge(), [1]),
        (Softmax(3), [1]),
        (JointHuber(3), [1, 2]),
        (Weighted(Logistic(), (3.0, 1.0)), [1]),
    ],
    ids=name_of,
)
def test_the_sensitivity_is_nearly_reached(loss: Loss, rivals: list[int]) -> None:
    """The equality case: two nearly opposite rows, both saturated on the wrong side.

    The crowd has no component along the first axis and next to no curvature, so the row's whole
    gradient goes into the distance.
    """
    n, angle = 60_000, 0.3
    x, codes = crowd_against(rivals, n)
    x[-1] = [math.cos(angle), math.sin(angle)]
    codes[-1] = 0
    risk = RegularizedRisk(loss, 1e-5, 1.0)
    new = np.array([-math.cos(angle), math.sin(angle)])
    found = ratio(risk, x, codes, new, 0)
    assert 0.9 < found <= 1.0


def test_two_different_labels_reach_the_lifted_sensitivity() -> None:
    """The same lifted row under two labels: the gradients are ``sqrt2 C`` apart."""
    classes, n = 4, 50
    loss = JointHuber(classes, lifted=True)
    x, codes = lift(np.tile([0.0, 1.0], (n, 1))), np.arange(n) % classes
    x[-1] = lift(np.array([[1.0, 0.0]]))[0]
    codes[-1] = 0
    # enough regularization that one row cannot leave its linear branch
    risk = RegularizedRisk(loss, 1.0, 1.0)
    assert 0.9 < ratio(risk, x, codes, x[-1], 1) <= 1.0


def test_a_constant_column_reaches_its_sensitivity_and_opposite_rows_would_pass_it() -> None:
    """Rows turned around beside a constant of half the norm bound; the planted bug has no constant.

    Without the column the bound's assumption is broken, and the distance shows it.
    """
    n, angle, share = 60_000, 0.3, 1.0 / math.sqrt(1.25)
    x, codes = crowd_against([1, 2], n)
    x[-1], codes[-1] = [math.cos(angle), math.sin(angle)], 0
    new = np.array([[-math.cos(angle), math.sin(angle)]])
    risk = RegularizedRisk(JointHuber(3, opposite=share), 1e-5, 1.0)
    crowd = with_constant(x, share)
    crowd[:-1, 2] = 0.0  # the others' constant would only add curvature
    assert 0.9 < ratio(risk, crowd, codes, with_constant(new, share)[0], 0) <= 1.0
    assert ratio(risk, x, codes, new[0], 0) > 1.03


def test_hand_numbers_of_the_risk() -> None:
    risk = RegularizedRisk(HuberHinge(0.25), 0.01, 3.0)
    assert risk.row_gradient == 3.0
    assert risk.gradient_difference == 6.0
    assert risk.row_curvature == 2.0 * 9.0
    assert risk.relative_curvature(100) == pytest.approx(9.0)
    assert risk.minimizer_sensitivity(100) == pytest.approx(6.0)
    assert risk.minimizer_sensitivity(100, 0.5) == pytest.approx(106.0)
