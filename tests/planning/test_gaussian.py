"""The corrected risk bounds of the Gaussian classifier hold on simulated tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet import ZCDP, ApproxDP, LargeMarginGaussian, PureDP
from privet.errors import DeclarationError
from privet.losses.multiclass import sum_zero_basis
from privet.minimize import minimize
from privet.planning import Plan, plan
from privet.planning.gaussian import plan_gaussian as old_plan
from privet.rows import checked_rows
from tests.strategies import Array

CLASSES = 3
OPTIONS = {"regularization": 0.5, "norm_bound": 1.0}


def planned(n: int, d: int, classes: int, budget: PureDP | ZCDP | float, **options: Any) -> Plan:
    return plan(LargeMarginGaussian(budget, **options), n=n, d=d, classes=classes)


def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    x = rng.normal(size=(n, 2)) * 0.7
    radius = np.linalg.norm(x, axis=1) + 0.1 * rng.normal(size=n)
    return x, np.digitize(radius, [0.5, 1.0])


def regularized(model: LargeMarginGaussian, theta: Array, x: Array, y: Array) -> float:
    """The mean loss of parameters plus the ridge."""
    lifted = model._lifted(2)
    loss = model._loss(CLASSES)
    value = loss.value(lifted(x) @ theta.reshape(CLASSES - 1, -1).T, y).mean()
    return float(value + 0.5 * OPTIONS["regularization"] * (theta**2).sum())


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1)], ids=str)
@pytest.mark.parametrize("loss", ["softmax", "huber"])
def test_both_theorems_hold_in_the_mean(loss: str, budget: PureDP | ZCDP) -> None:
    rng = np.random.default_rng()
    n, fits = 400, 12
    made = planned(n, 2, CLASSES, budget, loss=loss, **OPTIONS)
    model = LargeMarginGaussian(budget, classes=[0, 1, 2], loss=loss, **OPTIONS)
    fresh = draw(20_000, rng)
    basis, lifted = sum_zero_basis(CLASSES), model._lifted(2)
    best = None
    empirical, true = [], []
    for _ in range(fits):
        x, y = draw(n, rng)
        theta = (basis.T @ model.fit(x, y).coef_).ravel()
        risk = model.revisit(x, y).design.risk
        if best is None:
            rows = checked_rows(lifted(fresh[0]), fresh[1], norm_bound=lifted.norm)
            best = minimize(risk, rows, tolerance=1e-7).certified()
        rows = checked_rows(lifted(x), y, norm_bound=lifted.norm)
        at = minimize(risk, rows, tolerance=1e-7).certified()
        empirical.append(regularized(model, theta, x, y) - regularized(model, at, x, y))
        true.append(regularized(model, theta, *fresh) - regularized(model, best, *fresh))
    # the bound is nearly attained where the ridge dominates: leave room for twelve draws
    error = np.std(empirical) / np.sqrt(fits)
    assert 0.2 * made.excess_risk_mean < np.mean(empirical) <= made.excess_risk_mean + 7.0 * error
    assert np.sum(np.array(empirical) > made.excess_risk()) < 8  # of twelve, 0.6 expected
    assert np.mean(true) <= made.excess_true_risk
    assert made.excess_true_risk < 50.0 * np.mean(true)  # a bound, not a platitude


def test_the_plan_is_the_fits_own() -> None:
    x, y = draw(300, np.random.default_rng())
    for options in ({}, {"standardize": "private", "column_bounds": (-3, 3)}, {"components": 2}):
        made = planned(300, 2, 3, ApproxDP(1.0, 1e-6), **options)
        model = LargeMarginGaussian(ApproxDP(1.0, 1e-6), classes=[0, 1, 2], **options).fit(x, y)
        assert made.regularization == model.regularization_
        assert made.design.m == model.coef_.shape[1]
    assert made.design.parameters == 5 * 6
    assert "new rows" in str(planned(300, 2, 3, 1.0))


def test_more_rows_cost_less_and_more_classes_more() -> None:
    base = planned(10_000, 3, 3, 1.0, regularization=0.01)
    assert planned(20_000, 3, 3, 1.0, regularization=0.01).excess_true_risk < base.excess_true_risk
    assert (
        planned(10_000, 3, 6, 1.0, regularization=0.01).main.expected_norm > base.main.expected_norm
    )
    narrow = planned(10_000, 3, 3, 1.0, regularization=0.01, covariance="spherical")
    assert narrow.main.expected_norm < base.main.expected_norm


def test_bad_sizes_are_refused() -> None:
    for sizes in ((0, 2, 3), (10, 0, 3), (10, 2, 1)):
        with pytest.raises(DeclarationError):
            planned(*sizes, 1.0)


def test_the_old_name_works_for_one_version() -> None:
    with pytest.warns(FutureWarning, match="LargeMarginGaussian"):
        old = old_plan(500, 2, 3, ZCDP(0.1), beta=0.1, **OPTIONS)
    new = planned(500, 2, 3, ZCDP(0.1), **OPTIONS)
    assert (old.features, old.parameters, old.nothing) == (6, 12, new.zero_risk)
    assert old.empirical_excess == new.excess_risk(0.1)
    assert old.true_excess == new.excess_true_risk == old.mean_excess + old.generalisation
    assert str(old) == str(new)
    with pytest.raises(AttributeError):
        old.nonsense  # noqa: B018
