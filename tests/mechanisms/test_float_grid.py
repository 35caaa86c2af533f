"""Where noise is a floating-point sample, the grid is coarser than the doubles of the release.

A finer grid would round nothing, and the last bits of a sample carry its input. That happens from
about epsilon n = 1e9, where the noise is a billionth of the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet.grid import GRID_BITS, grid_exponent, round_to_grid
from privet.losses import HuberHinge, Logistic, Softmax
from privet.mechanisms.distinguishing import Distinguishing, Space
from privet.mechanisms.function import FunctionRelease
from privet.mechanisms.matrix import SecondMoments
from privet.mechanisms.moments import PrivateMean, column_moments
from privet.mechanisms.objective import ObjectivePerturbation
from privet.mechanisms.output import OutputPerturbation
from privet.mechanisms.projection import Projection, Stretch
from privet.privacy import ZCDP, Budget, PureDP
from privet.risk import RegularizedRisk
from reproduce.two_matrices import TwoMatrices

LAM = 1e-4
PURE = PureDP(100.0)
# by hand: J(theta*) <= J(0) bounds a minimizer's norm by sqrt(2 l(0)/Lam)
LONGEST = math.sqrt(2.0 * math.log(2.0) / LAM)


def objective(n: int, budget: Any = PURE, loss: Any = None) -> int:
    mechanism = ObjectivePerturbation(loss or Logistic(), budget, regularization=LAM)
    return mechanism.design(n, 5).exponent


def output(n: int) -> int:
    return OutputPerturbation(Logistic(), PURE, regularization=LAM).design(n, 5).exponent


def risk() -> RegularizedRisk:
    return RegularizedRisk(Logistic(), LAM, 1.0)


# the grid for so many rows, and what a released number can be by hand
CASES: dict[str, tuple[Callable[[int], int], Callable[[int], float]]] = {
    "objective": (objective, lambda n: LONGEST),
    "objective, gaussian": (lambda n: objective(n, ZCDP(1000.0)), lambda n: LONGEST),
    "objective, huber": (
        lambda n: objective(n, PURE, HuberHinge(0.5)),
        lambda n: math.sqrt(2.0 / LAM) / 2.0,
    ),
    "objective, softmax": (lambda n: objective(n, PURE, Softmax(3)), lambda n: LONGEST),
    "output": (output, lambda n: LONGEST),
    "matrix": (
        lambda n: SecondMoments(risk(), PURE).design_with("laplace", n, 5).exponent,
        lambda n: n / 2.0,  # in units of the sensitivity
    ),
    "two matrices": (
        lambda n: TwoMatrices(risk(), PURE).design_with("laplace", n, 5).exponent,
        lambda n: n / 2.0,
    ),
    "moments": (
        lambda n: PrivateMean(column_moments(4), PURE).design(n).exponent,
        lambda n: math.sqrt(2.0),  # the mean of a column's weighted squares
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [10**9, 10**12, 10**14])
def test_neighboring_doubles_fall_together(case: str, n: int) -> None:
    fall_together(CASES[case][0](n), CASES[case][1](n))


def declared(budget: Budget, lam: float) -> dict[str, Any]:
    return {"loss": Logistic(), "budget": budget, "norm_bound": 1.0, "regularization": lam}


# kernel minimizers of so many rows are refused with less regularization
KERNELS: dict[str, Callable[[float, int], Any]] = {
    "projection": lambda lam, n: Projection(
        **declared(PureDP(1000.0), lam), size=5, of="coordinates", stretch=Stretch(5)
    ).design(n),
    "function": lambda lam, n: FunctionRelease(**declared(ZCDP(1000.0), lam)).design(n, 3),
    "distinguishing": lambda lam, n: Distinguishing(
        **declared(PureDP(1000.0), lam), space=Space(3), rounds=1
    ).design(n),
}


@pytest.mark.parametrize("case", KERNELS)
def test_kernel_answers_alike(case: str) -> None:
    lam, n = 100.0, 10**8
    fall_together(KERNELS[case](lam, n).exponent, 1.0 / lam)  # |w| <= L R/Lam


def fall_together(exponent: int, largest: float) -> None:
    """Doubles of the largest size that lie beside each other are rounded to the same number."""
    assert math.ldexp(1.0, exponent) >= 4.0 * float(np.spacing(largest))
    values = np.random.default_rng().uniform(largest / 2.0, largest, 1000)
    values = round_to_grid(values, exponent)
    beside = np.nextafter(values, np.inf)
    assert (values < beside).all()
    assert (round_to_grid(beside, exponent) == values).all()


def test_ordinary_tables_keep_the_grid_of_their_noise() -> None:
    for sd, largest in ((1e-3, 1e3), (1e-6, 10.0), (2.0, 1e9)):
        assert grid_exponent(sd, largest) == math.floor(math.log2(sd)) - GRID_BITS


@pytest.mark.parametrize("largest", [1.0, 1.5, 2.0, 1000.0, 2.0**40])
def test_a_step_is_four_spacings_of_the_largest_value(largest: float) -> None:
    assert math.ldexp(1.0, grid_exponent(1e-200, largest)) == 4.0 * float(np.spacing(largest))
