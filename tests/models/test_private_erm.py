"""A user's loss takes the road of the built-in models: designs, guarantees, files, statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privet import (
    GDP,
    ZCDP,
    ApproxDP,
    Box,
    ConvexLoss,
    HuberRegressor,
    Ledger,
    Numeric,
    PrivateERM,
    PureDP,
    Ridge,
    Schema,
    Target,
    evaluate,
    fit_table,
    load,
)
from privet.errors import DeclarationError, InfeasibleBudget, quietly
from privet.losses import OwnLoss
from privet.mechanisms import ObjectivePerturbation
from privet.minimize import minimize
from privet.models.column_weights import WeightedColumns
from privet.privacy import Budget
from privet.risk import RegularizedRisk
from privet.rows.mapped import MappedRows
from tests.losses.own import Array, huber, one_direction, pseudo_huber, two_scores

KNEE = 0.5


def numbers(n: int = 2_000, d: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(n + d)
    x = rng.uniform(-0.5, 0.5, (n, d))
    return x, 0.6 * x[:, 0] + 0.1 * rng.normal(size=n)


def residual_half() -> ConvexLoss:
    """``HuberResidual(0.5)`` as a user would write it, on targets in [-1, 1]."""
    return ConvexLoss(
        "half",
        lambda z, t: np.where(abs(z - t) < KNEE, (z - t) ** 2 / 2, KNEE * abs(z - t) - KNEE**2 / 2),
        lambda z, t: np.clip(z - t, -KNEE, KNEE),
        lambda z, t: 1.0 * (abs(z - t) <= KNEE),
        gradient_bound=KNEE,
        curvature_bound=1.0,
        largest_constant=1.0 + KNEE,
    )


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.3), ApproxDP(1.0, 1e-6), GDP(0.8)], ids=str)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_a_built_in_loss_brought_by_a_user_is_the_built_in_model(
    budget: Budget, mechanism: str
) -> None:
    """Same noise, same regularization, same released numbers: there is one code path."""
    x, y = numbers()
    common: dict[str, Any] = {"target_bounds": (-1, 1), "mechanism": mechanism, "insecure_seed": 3}
    with quietly():
        ours = HuberRegressor(budget, **common).fit(x, y)
        theirs = PrivateERM(budget, loss=residual_half(), **common).fit(x, y)
    one, two = ours.guarantee_.event, theirs.guarantee_.event
    assert (one.noise, one.sensitivity) == (two.noise, two.sensitivity)
    assert one.scale == pytest.approx(two.scale, rel=1e-3)  # the gap's share may differ
    assert one.regularization == pytest.approx(two.regularization, rel=1e-12)
    # bounds on rounding differ, and so does the little noise that pays for the gap
    assert theirs.coef_ == pytest.approx(ours.coef_, rel=1e-2, abs=1e-3)
    assert theirs.predict(x[:5]) == pytest.approx(ours.predict(x[:5]), abs=1e-3)


def test_the_bounds_are_what_the_design_is_made_of() -> None:
    """Twice the gradient bound is twice the noise; a rank of two pays two logarithms."""

    def cost(own: ConvexLoss, a: float, q: float) -> float:
        return OwnLoss(own, 0.0, 1.0).privacy_loss_bound(a, q)

    assert cost(pseudo_huber(), 0.3, 0.2) == pytest.approx(0.6 + np.log(1.2))
    assert cost(two_scores(), 0.3, 0.2) == pytest.approx(0.6 * 2**0.5 + 2 * np.log(1.2))
    assert cost(one_direction(), 0.3, 0.2) == pytest.approx(0.6 * 2**0.5 + np.log(1.4))

    def scale(own: ConvexLoss) -> float:
        made = ObjectivePerturbation(OwnLoss(own, 0.0, 1.0), PureDP(1.0), regularization=1.0)
        return float(made.design(500, 3).main.scale)

    assert scale(pseudo_huber(gradient_bound=2.0)) == pytest.approx(2.0 * scale(pseudo_huber()))


def test_gaussian_noise_in_the_objective_is_refused_for_several_scores() -> None:
    for budget in (ZCDP(0.5), ApproxDP(1.0, 1e-6), GDP(1.0)):
        wanted = PrivateERM(budget, loss=two_scores(), target_bounds=(0, 1), noise="gaussian")
        with pytest.raises(InfeasibleBudget):
            wanted.planned(500, 3)
        chosen = PrivateERM(budget, loss=two_scores(), target_bounds=(0, 1)).planned(500, 3)
        assert "laplace" in chosen.event.noise


# -- weights of the columns ----------------------------------------------------------------------


def test_weights_are_the_plain_ridge_on_other_rows() -> None:
    """The minimizer of the weighted problem, by itself: gradient zero with ``Lam w theta``."""
    x, y = numbers(300)
    ridge, lam = Ridge((1.0, 9.0, 0.25)), 0.05
    columns = WeightedColumns(ridge, 1.0)
    risk = RegularizedRisk(OwnLoss(pseudo_huber(), -1.0, 1.0), lam, columns.norm)
    found = minimize(risk, MappedRows(x, y, columns), tolerance=1e-9).certified()
    theta = found / columns.roots
    residual = x @ theta - y
    mean = (residual / np.sqrt(1 + residual**2)) @ x / len(y)
    assert mean + lam * np.array(ridge.weights) * theta == pytest.approx(np.zeros(3), abs=1e-8)


def test_the_guarantee_depends_on_the_smallest_weight_alone() -> None:
    def scale(*weights: float) -> float:
        ridge = Ridge(weights) if weights else None
        made = PrivateERM(
            loss=pseudo_huber(),
            target_bounds=(0, 1),
            regularizer=ridge,
            regularization=0.1,
            fit_intercept=False,
            mechanism="output",
        )
        return float(made.planned(500, 3).event.scale)

    assert scale(1.0, 1.0, 1.0) == pytest.approx(scale())
    assert scale(1.0, 50.0, 3.0) == pytest.approx(scale())
    assert scale(1.0, 0.25, 3.0) == pytest.approx(2.0 * scale())


def test_only_ratios_of_weights_matter_with_the_default_ridge() -> None:
    x, y = numbers()
    with quietly():
        one, two = (
            PrivateERM(
                loss=pseudo_huber(), target_bounds=(-1, 1), regularizer=ridge, insecure_seed=1
            ).fit(x, y)
            for ridge in (Ridge((1.0, 4.0, 16.0)), Ridge((3.0, 12.0, 48.0)))
        )
    assert one.coef_ == pytest.approx(two.coef_, abs=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_long_rows_are_clipped_before_they_are_weighted(sparse: bool) -> None:
    x = np.array([[3.0, 4.0], [0.0, 0.5]])
    columns = WeightedColumns(Ridge((0.25, 1.0)), 1.0)
    found = columns(sp.csr_array(x) if sparse else x)
    assert found == pytest.approx(np.array([[1.2, 0.8], [0.0, 0.5]]))
    assert np.linalg.norm(found, axis=1).max() <= columns.norm == pytest.approx(2.0)


@pytest.mark.parametrize("weights", [(), (1.0, -1.0), (0.0,), (np.inf,), 3.0, ("a",), (1e13,)])
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(DeclarationError, match="weights of a Ridge"):
        Ridge(weights)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"regularizer": Ridge((1.0, 2.0))}, "2 weights, but the table has 3"),
        ({"regularizer": Ridge((1.0,) * 3), "domain": Box(3, 0.5)}, "columns as they are"),
        ({"regularizer": 3.0}, "must be a Ridge"),
        ({"loss": None}, "must be a ConvexLoss"),
        ({"loss": "huber"}, "must be a ConvexLoss"),
        ({"target_bounds": None}, "target_bounds must be"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any], told: str) -> None:
    declared = {"loss": pseudo_huber(), "target_bounds": (0, 1), "column_bounds": None}
    with pytest.raises(DeclarationError, match=told):
        PrivateERM(**{**declared, **wrong}).planned(100, 3)


# -- what becomes of a release -------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [None, Ridge((1.0, 4.0, 0.5))], ids=["plain", "weighted"])
def test_files_name_the_loss_and_never_hold_it(ridge: Ridge | None, tmp_path: Path) -> None:
    x, y = numbers()
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open("rows", cap=PureDP(3.0))
    model = PrivateERM(
        1.0,
        loss=huber(KNEE),
        regularizer=ridge,
        target_bounds=(-1, 1),
        ledger=ledger,
        dataset="rows",
    ).fit(x, y)
    assert model.guarantee_.receipt is not None
    model.save(tmp_path / "m.privet")
    again = load(tmp_path / "m.privet")
    assert (again.predict(x) == model.predict(x)).all()
    assert again.loss.facts == model.loss.facts
    assert again.regularizer == ridge
    with pytest.raises(DeclarationError, match="is code"):
        again.set_params(dataset=None).fit(x, y)


def test_the_statement_says_whose_word_the_bounds_are() -> None:
    x, y = numbers()
    made = PrivateERM(loss=pseudo_huber(), target_bounds=(-1, 1), regularizer=Ridge((1, 2, 3)))
    text = " ".join(made.fit(x, y).statement().split())
    assert "'pseudo-Huber' is code of the user's" in text
    assert "its author's word" in text
    assert "weights of the ridge" in text


def test_it_is_evaluated_like_every_regression() -> None:
    x, y = numbers(4_000)
    model = PrivateERM(2.0, loss=residual_half(), target_bounds=(-1, 1)).fit(x[:3000], y[:3000])
    found = evaluate(model, x[3000:], y[3000:], budget=PureDP(2.0))
    told = found.get("mean absolute error").estimate
    assert told is not None
    assert 0.0 < told < 0.5


@pytest.mark.parametrize(("link", "wanted"), [("exp", np.e), ("expit", 1 / (1 + np.exp(-1.0)))])
def test_links(link: str, wanted: float) -> None:
    model = PrivateERM(loss=pseudo_huber(link=link), target_bounds=(0, 5))
    model.fit(*numbers(100))
    model.coef_, model.intercept_ = np.zeros((1, 3)), np.ones(1)
    unit = 5.0 if link == "expit" else 1.0
    assert model.predict(np.zeros((1, 3))) == pytest.approx(unit * wanted)
    assert model.decision_function(np.zeros((1, 3))) == pytest.approx(1.0)


def test_several_scores_have_a_decision_and_no_prediction() -> None:
    model = PrivateERM(loss=two_scores(), target_bounds=(-1, 1)).fit(*numbers())
    assert model.coef_.shape == (2, 3)
    assert model.decision_function(np.zeros((4, 3))).shape == (4, 2)
    with pytest.raises(DeclarationError, match="decision_function"):
        model.predict(np.zeros((4, 3)))


def test_through_a_schema() -> None:
    rng = np.random.default_rng(0)
    table = {"age": rng.uniform(20, 60, 500), "stay": rng.uniform(0, 30, 500)}
    schema = Schema(columns={"age": Numeric(0, 100)}, label=Target("stay", 0, 30))
    model = fit_table(PrivateERM(loss=pseudo_huber()), schema, table)
    assert model.target_bounds == (0, 30)
    assert ((model.predict(table) >= 0) & (model.predict(table) <= 30)).all()
