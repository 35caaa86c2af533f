"""Law: features in other units, (a X, a R, a^2 Lam), answer every query with the same score.

With the same seed both problems draw the same noise in their own units. Powers of two are exact, so
whatever is measured in the wrong units (a grid, a floor, a tolerance) shows at once.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet import ZCDP, PureDP
from privet.kernels import (
    Gaussian,
    InteractivePredictor,
    Linear,
    NonInteractiveClassifier,
    Polynomial,
    SemiInteractiveClassifier,
    SuppliedKernel,
)
from tests.kernels.people import queries, table

Array = NDArray[np.float64]
X = table(150)[0]
Y = (X[:, 0] > 0.0).astype(int)  # a linear rule, so that there is something to correct
Z = queries(12)
UNITS = [2.0**-60, 2.0**-14, 2.0**-1, 2.0**10, 2.0**27, 2.0**60]
BUDGETS = [PureDP(500.0), ZCDP(900.0)]


def declared(unit: float, budget: Any, **more: Any) -> dict[str, Any]:
    lam = 0.01 * unit**2
    told = {"budget": budget, "regularization": lam, "classes": [0, 1], "insecure_seed": 5}
    return {**told, **more}


def scaled(unit: float) -> SuppliedKernel:
    """A Gaussian kernel whose features are ``unit`` times as long."""
    plain = Gaussian(0.5)
    return SuppliedKernel(lambda a, b: unit**2 * plain(np.array(a), np.array(b)), unit**2)


def answers(way: str, unit: float, budget: Any) -> Array:
    """Scores of the queries from the problem in these units."""
    linear, x, z = Linear(2.0 * unit), unit * X, unit * Z
    model: Any
    if way == "non-interactive, linear":
        model = NonInteractiveClassifier(kernel=linear, **declared(unit, budget, rounds=5))
    elif way == "non-interactive, net":
        model, x, z = (
            NonInteractiveClassifier(
                kernel=scaled(unit), net=list(Z), **declared(unit, budget, rounds=5)
            ),
            list(X),
            list(Z),
        )
    elif way.startswith("semi-interactive"):
        method: Any = way.split(", ")[1]
        model = SemiInteractiveClassifier(
            public_points=unit * queries(8),
            kernel=linear,
            mechanism=method,
            **declared(unit, budget),
        )
    elif way == "interactive, vector":
        model = InteractivePredictor(kernel=linear, **declared(unit, budget))
    elif way == "interactive, sparse vector":
        more = {"mechanism": "sparse_vector", "queries": 100, "regularization": 2.0 * unit**2}
        x, z = unit * np.sign(X) * [2.0, 0.0, 0.0], unit * np.sign(Z) * [2.0, 0.0, 0.0]
        model = InteractivePredictor(kernel=linear, **declared(unit, budget, **more))
    else:
        model, x, z = (
            InteractivePredictor(kernel=scaled(unit), **declared(unit, ZCDP(50.0))),
            [*map(tuple, X)],
            [*map(tuple, Z)],
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.fit(x, Y).decision_function(z))


WAYS = [
    "non-interactive, linear",
    "non-interactive, net",
    "semi-interactive, span",
    "semi-interactive, kernel_noise",
    "semi-interactive, tddl",
    "interactive, vector",
    "interactive, sparse vector",
    "interactive, function",
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"2^{int(np.log2(unit))}")
def test_answers_are_the_same_in_other_units(way: str, budget: Any, unit: float) -> None:
    here, there = answers(way, 1.0, budget), answers(way, unit, budget)
    assert np.abs(here).max() > 0.0
    assert there == pytest.approx(here, rel=1e-6, abs=1e-6 * float(np.abs(here).max()))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"2^{int(np.log2(unit))}")
def test_drawn_weights_are_on_a_grid_below_their_noise(unit: float) -> None:
    """Neither finer than the noise asks for, which carries bits, nor so coarse as to be zero."""
    model = NonInteractiveClassifier(kernel=Linear(unit), **declared(unit, ZCDP(50.0), rounds=5))
    weights = model.fit(unit * X, Y).points_[0] * model.dual_coef_[0]
    noise = model.design(len(Y), 3).numeric.coordinate_sd / unit
    assert float(np.abs(weights).max()) > 0.01 * noise
    steps = weights / (2.0 ** np.floor(np.log2(noise)) * 2.0**-20)
    assert np.abs(steps - np.rint(steps)).max() <= 1e-5 * max(
        1.0, float(np.abs(steps).max()) * 1e-9
    )


def test_a_polynomial_kernel_in_other_units() -> None:
    for unit in UNITS:
        kernels = (Polynomial(2, 1.0, 1.0, 2.0), Polynomial(2, unit**-2, 1.0, 2.0 * unit))
        here, there = (
            InteractivePredictor(kernel=kernel, **declared(1.0, ZCDP(50.0)))
            .fit(a * X, Y)
            .answer(a * Z)
            for kernel, a in zip(kernels, (1.0, unit), strict=True)
        )
        assert there == pytest.approx(here, rel=1e-6, abs=1e-9)
