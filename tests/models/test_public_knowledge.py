"""A public center of the ridge, and whitening by public rows: they help, cost nothing, are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Plain

from privet import (
    ZCDP,
    ApproxDP,
    LinearSVC,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    load,
    plan,
)
from privet.domain import Box
from privet.errors import DeclarationError
from privet.losses import Logistic
from privet.mechanisms import TRAINERS, ObjectivePerturbation
from privet.mechanisms.gap import reserve, rounding_of
from privet.randomness import source
from privet.rows import checked_rows
from tests.laws.releases.registry import people, quiet

X, Y = people(2, 500)
PUBLIC = np.random.default_rng(3).uniform(-0.5, 0.5, (60, 3))
CENTER = ([[2.0, -1.0, 0.5]], [0.3])


def test_the_gradient_is_that_of_a_ridge_around_the_center() -> None:
    """By hand: mean gradient + Lam (theta - c) + b/n = 0, with the noise that was drawn."""
    center = np.array([2.0, -1.0, 0.5])
    made = ObjectivePerturbation(Logistic(), PureDP(1.0), center=tuple(center))
    design = made.design(len(X), 3)
    signs = Logistic().targets(Y)
    theta = made.perturb(checked_rows(X, signs, norm_bound=1.0), design, source(4))
    b = design.main.sample(source(4), 1)[0]
    slopes = -signs / (1.0 + np.exp(signs * (X @ theta)))
    gradient = X.T @ slopes / len(X) + design.risk.regularization * (theta - center) + b / len(X)
    assert np.linalg.norm(gradient) < 1e-6


def test_the_rounding_that_is_told_is_the_one_that_is_paid_for() -> None:
    """The gap's noise hides ``2 (tolerance + rounding)/Lam``, with a center or without."""
    for center in (None, (2.0, -1.0, 5e5)):
        design: Any = ObjectivePerturbation(Logistic(), PureDP(1.0), center=center).design(100, 3)
        told = 2.0 * (design.tolerance + rounding_of(design)) / design.risk.regularization
        paid = reserve(PureDP(1.0)).gap_noise(told, 3)
        assert paid.scale == pytest.approx(design.gap.scale, rel=1e-12)


@pytest.mark.parametrize("name", TRAINERS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("prepared", [None, "unit", "public"])
def test_a_strong_ridge_ends_at_the_center(name: str, classes: int, prepared: str | None) -> None:
    rng = np.random.default_rng(classes)
    coef = rng.normal(size=(1 if classes == 2 else classes, 3))
    coef = coef - (coef.mean(axis=0) if classes > 2 else 0.0)
    offsets = 0.5 * coef[:, 0]
    options: dict[str, Any] = {"standardize": prepared}
    if prepared == "public":
        options = {"standardize": "whiten", "public_rows": PUBLIC}
    model = LogisticRegression(
        ZCDP(100.0), mechanism=name, regularization=1e4, center=(coef, offsets), **options
    )
    with quiet():
        model.set_params(classes=list(range(classes))).fit(*people(classes))
    weights, found = model.linear_rule()
    np.testing.assert_allclose(weights, coef, atol=0.01)
    np.testing.assert_allclose(found, offsets, atol=0.01)


@pytest.mark.parametrize("name", TRAINERS)
def test_a_center_changes_nothing_that_is_charged(name: str) -> None:
    plain = LogisticRegression(ZCDP(0.1), mechanism=name).planned(500, 3)
    there = LogisticRegression(ZCDP(0.1), mechanism=name, center=CENTER).planned(500, 3)
    assert there.event.curves == plain.event.curves
    assert there.event.scale == pytest.approx(plain.event.scale, rel=1e-6)
    assert there.event.sensitivity == pytest.approx(plain.event.sensitivity, rel=1e-6)


def test_public_rows_whiten_for_nothing_under_every_budget() -> None:
    for budget in (PureDP(0.5), ApproxDP(0.5, 1e-6)):
        unit = LogisticRegression(budget, standardize="unit").planned(500, 3)
        made = LogisticRegression(budget, standardize="whiten", public_rows=PUBLIC)
        assert made.planned(500, 3).event == unit.event
        made.set_params(insecure_seed=1)
        with quiet():
            again = clone(made).fit(X[::-1], Y)
            np.testing.assert_array_equal(made.fit(X, Y).whitening_, again.whitening_)


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
def test_files_and_statements_tell_of_both(model: Any, tmp_path: Path) -> None:
    made = model(1.0, standardize="whiten", public_rows=PUBLIC, center=CENTER).fit(X, Y)
    assert [told for told in made.guarantee_.assumptions if "center" in told]
    assert "public rows for whitening" in str(made.statement())
    made.save(tmp_path / "m")
    read = load(tmp_path / "m")
    np.testing.assert_array_equal(read.decision_function(X), made.decision_function(X))
    assert read.center == [[[2.0, -1.0, 0.5]], [0.3]]
    assert read.public_rows["rows"] == 60
    with pytest.raises(DeclarationError, match="does not keep the public rows"):
        clone(read).fit(X, Y)


def test_a_release_and_a_public_fit_can_be_centers() -> None:
    last = LogisticRegression(ApproxDP(1.0, 1e-6), standardize="whiten").fit(X, Y)
    model = LogisticRegression(0.1, center=last)
    assert clone(model).center is last
    with quiet():
        assert model.fit(X, Y).score(X, Y) > 0.5
        LinearSVC(0.1, center=Plain().fit(PUBLIC, PUBLIC[:, 0] > 0.0)).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"center": 3}, "must be a fitted linear model"),
        ({"center": ([[1.0, 2.0]], [0.0])}, "coefficients of shape"),
        ({"center": ([[1.0, 2.0, np.inf]], [0.0])}, "finite"),
        ({"center": ([[1.0, 2.0, 1e7]], [0.0])}, "scores of declared rows"),
        ({"center": ([[1.0, 2.0, 1.0]], [0.0, 1.0])}, "one offset for each row"),
        ({"center": CENTER, "fit_intercept": False}, "no intercept"),
        ({"center": CENTER, "standardize": "private", "column_bounds": (-1, 1)}, "as they are"),
        ({"center": CENTER, "standardize": "whiten", "budget": ZCDP(1.0)}, "as they are passed"),
        ({"public_rows": PUBLIC}, "for standardize='whiten'"),
        ({"public_rows": PUBLIC[:, :2], "standardize": "whiten"}, "have 2 columns"),
        ({"public_rows": PUBLIC[:1], "standardize": "whiten"}, "two rows or more"),
        ({"public_rows": X, "standardize": "whiten"}, "are to be protected"),
        ({"public_rows": X[100:], "standardize": "whiten"}, "are to be protected"),
    ],
)
def test_refusals_are_sentences(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DeclarationError, match=sentence):
        LogisticRegression(**{"budget": 1.0, **options}).fit(X, Y)


def test_plans_and_intervals_are_for_a_ridge_around_zero() -> None:
    with pytest.raises(DeclarationError, match="ridge around zero"):
        plan(n=500, d=3, budget=1.0, center=CENTER)
    with quiet(), pytest.raises(DeclarationError, match="no intervals for a model with a center"):
        confidence_intervals(LogisticRegression(1.0, center=CENTER).fit(X, Y), X, Y, budget=1.0)


def test_a_model_that_is_not_private_is_no_center() -> None:
    x, y = people()
    with quiet():
        seeded = LogisticRegression(1.0, insecure_seed=3).fit(x, y)
    with pytest.raises(DeclarationError, match="not private"):
        LogisticRegression(1.0, center=seeded).fit(x, y)


def test_verify_knows_the_constant_beside_a_domain(tmp_path: Path) -> None:
    pytest.importorskip("flint")
    from privet.certificate.recompute import recompute

    x, y = people()
    center = (np.array([[1.0, 2.0, -1.0]]), np.array([0.7]))
    model = LogisticRegression(1.0, domain=Box(3, 2.0), center=center).fit(x, y)
    model.save(tmp_path / "model.privet")
    numbers = recompute(tmp_path / "model.privet")
    assert "length of the center" in {number.name for number in numbers}
    assert all(number.holds is not False for number in numbers)
