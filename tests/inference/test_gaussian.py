"""Intervals for the large-margin Gaussian classifier: coefficients of products, and decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import (
    ZCDP,
    LargeMarginGaussian,
    LinearSVC,
    LogisticRegression,
    Numeric,
    PureDP,
    Schema,
    confidence_intervals,
    fit_with_intervals,
)
from privet.errors import DataError, DeclarationError, InfeasibleBudget
from privet.inference import Intervals, load_intervals
from privet.inference.released_model import released_model
from privet.inference.usefulness import prediction
from privet.mechanisms.matrix import SecondMoments
from privet.minimize import minimize
from privet.models.lifted import COVARIANCES
from privet.report.page import intervals_section as fragment
from privet.schema import Label
from tests.inference.tables import Array

BIG = ZCDP(5.0)


def shells(n: int, classes: int = 3, seed: int | None = 0) -> tuple[Array, Any]:
    """Two columns; classes by distance from the origin and chance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    radius = (x**2).sum(axis=1) + x[:, 0] + rng.logistic(size=n)
    return x, np.searchsorted(np.linspace(0.0, 4.0, classes + 1)[1:-1], radius)


def model_of(classes: int = 3, **options: Any) -> Any:
    options = {"norm_bound": 2.0, "budget": ZCDP(0.5), **options}
    return LargeMarginGaussian(classes=list(range(classes)), **options)


def released(classes: int = 3, n: int = 6000, **options: Any) -> tuple[Any, Intervals]:
    x, y = shells(n, classes)
    model = model_of(classes, **options).fit(x, y)
    return model, confidence_intervals(model, x, y, budget=BIG)


# -- what the numbers are --------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("loss", ["softmax", "huber"])
@pytest.mark.parametrize("classes", [2, 3])
def test_estimates_are_the_score_as_a_polynomial(
    classes: int, loss: str, covariance: str, mechanism: str
) -> None:
    model, found = released(classes, loss=loss, covariance=covariance, mechanism=mechanism)
    assert found.guarantee.private
    assert (found.half_width > 0.0).all()
    assert np.isfinite(found.half_width).all()
    a, b = 0.7, -0.4  # within the norm bound
    known = {
        "column 1²": a * a,
        "column 1 × column 2": a * b,
        "column 2²": b * b,
        "sum of squares": a * a + b * b,
        "column 1": a,
        "column 2": b,
        "(constant)": 1.0,
    }
    names = [name.split(" → ")[0] for name in found.names]
    terms = found.estimate * np.array([known[name] for name in names])
    scores = np.atleast_1d(np.squeeze(model.decision_function([[a, b]])))
    np.testing.assert_allclose(terms.reshape(len(scores), -1).sum(axis=1), scores, atol=1e-9)
    np.testing.assert_allclose(found.decision([[a, b]]).estimate, scores, atol=1e-9)


def test_differences_between_classes() -> None:
    """A decision's difference is an interval of its own, with the correlation in it."""
    model, found = released()
    at = found.decision([[0.5, 0.5]])
    assert at.names == ("point 1 → 0", "point 1 → 1", "point 1 → 2")
    gap = at.contrast({"point 1 → 2": 1.0, "point 1 → 0": -1.0})
    scores = model.decision_function([[0.5, 0.5]])[0]
    assert gap.estimate[0] == pytest.approx(scores[2] - scores[0])
    assert gap.std_error[0] != pytest.approx(np.hypot(*at.std_error[[0, 2]]), rel=0.02)
    ends = found.contrast({"column 1² → 2": 1.0, "column 1² → 0": -1.0})
    assert ends.lower[0] > 0.0  # far out the last class wins
    assert {found.names[place] for place in found.clearest()[-3:]} == {
        f"(constant) → {label}" for label in range(3)
    }


def test_standardized_columns_are_named_and_given(tmp_path: Path) -> None:
    import pandas as pd

    x, y = shells(20_000)
    frame = pd.DataFrame(30.0 + 10.0 * x, columns=["age", "dose"])
    model = model_of(standardize="private", column_bounds=(-50.0, 110.0))
    fit, found = fit_with_intervals(model, frame, y, budget=ZCDP(2.0))
    assert found.names[:6] == tuple(
        f"{name} → 0" for name in ("age²", "age × dose", "dose²", "age", "dose", "(constant)")
    )
    points = np.array([[35.0, 20.0], [60.0, 90.0]])
    scores = fit.decision_function(pd.DataFrame(points, columns=["age", "dose"]))
    np.testing.assert_allclose(found.decision(points).estimate, scores.T.reshape(-1), atol=1e-9)
    text = " ".join(str(found).split())
    assert "theta0 is the minimizer for them" in text
    assert "count as given" not in str(released()[1])
    assert "half range" not in fragment(found).lower()
    found.save(tmp_path / "i.json")
    back = load_intervals(tmp_path / "i.json")
    assert str(back) == str(found)
    np.testing.assert_allclose(back.layout.coefficients().directions, found.named.directions)
    with pytest.raises(DeclarationError, match="map"):
        back.decision(points)


def test_points_and_units_that_do_not_fit() -> None:
    found = released()[1]
    with pytest.raises(DataError, match="2 columns"):
        found.decision([[1.0, 2.0, 3.0]])
    columns = {f"c{i}": Numeric(0, 1) for i in range(6)}  # as many as there are features
    with pytest.raises(DeclarationError, match="products"):
        found.in_units(Schema(columns, Label("y", ["0", "1"])))
    x, y = shells(20_000)
    bounds = {"standardize": "private", "column_bounds": (-5.0, 5.0)}
    linear = fit_with_intervals(LogisticRegression(**bounds), x, y > 0, budget=ZCDP(2.0))[1]
    pair = {name: Numeric(0, 1) for name in ("a", "b")}
    with pytest.raises(DeclarationError, match="standardized"):
        linear.in_units(Schema(pair, Label("y", ["0", "1"])))


def test_a_schema_names_the_products() -> None:
    """Products have no unit of one column: encoded names, not effects."""
    schema = Schema({"age": Numeric(0, 100), "dose": Numeric(0, 9)}, Label("y", ["0", "1"]))
    x, y = shells(20_000, 2)
    model = model_of(2).fit(x / 4.0, y)
    model.schema_ = schema.to_toml()
    found = confidence_intervals(model, x / 4.0, y, budget=BIG)
    first, second = schema.feature_names
    assert found.names[:3] == (f"{first}²", f"{first} × {second}", f"{second}²")
    assert not any(found.units)


# -- what they cost --------------------------------------------------------------------------------


def test_one_budget_for_standardization_fit_and_matrices() -> None:
    from privet.privacy.compose import Composition

    x, y = shells(20_000)
    model = model_of(standardize="private", column_bounds=(-5.0, 5.0))
    fit, found = fit_with_intervals(model, x, y, budget=ZCDP(1.0))
    assert [part.mechanism for part in fit.guarantee_.event.parts] == ["objective", "moments"]
    spent = Composition((fit.guarantee_.event, found.guarantee.event)).zcdp()
    assert 0.999 < spent <= 1.0
    assert found.guarantee.event.mechanism == "matrix"


def test_the_matrices_are_those_of_the_lifted_rows() -> None:
    """A nearly noiseless release against sums over features held in memory."""
    x, y = shells(2000)
    model = model_of(budget=ZCDP(1.0)).fit(x, y)
    found = confidence_intervals(model, x, y, budget=ZCDP(1000.0))
    features, about = model._lifted(2)(x), released_model(model)
    z = features @ about.theta.reshape(2, -1).T
    loss = about.design.risk.loss
    h = np.einsum("nab,ni,nj->aibj", loss.hessian(z, y), features, features).reshape(12, 12)
    g = np.einsum("na,ni->nai", loss.gradient(z, y), features).reshape(-1, 12)
    matrices = found.uncertainty.released
    assert matrices.covariance_sd < 0.002
    np.testing.assert_allclose(matrices.hessian, h / 2000, atol=6.5 * matrices.hessian_sd)
    np.testing.assert_allclose(
        matrices.covariance, g.T @ g / 2000, atol=6.5 * matrices.covariance_sd
    )


def test_a_budget_that_would_do_for_unlike_columns_is_refused_for_products() -> None:
    """Products' curvatures are far apart, and the noise hides the smallest first."""
    x, y = shells(20_000)
    model = model_of().fit(x, y)
    design, few = released_model(model).design, ZCDP(6e-4)
    moments = SecondMoments(design.risk, few)
    assert prediction(moments, design, 0.95).useful
    with pytest.raises(InfeasibleBudget, match=r"half of a .* would do"):
        confidence_intervals(model, x, y, budget=few)
    with pytest.raises(InfeasibleBudget) as refusal:
        confidence_intervals(model, x, y, budget=PureDP(0.01))
    named = str(refusal.value).split("about epsilon = ")[1].split(" ")[0]
    confidence_intervals(model, x, y, budget=PureDP(float(named)))
    # the spread is theirs alone
    assert LinearSVC()._curvature_spread(99) == LogisticRegression()._curvature_spread(99) == 1.0


def test_many_columns_are_refused_before_a_row_is_read() -> None:
    """Six columns and four classes: 84 parameters, matrices of 3,570 numbers each."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3000, 6)), rng.integers(0, 4, 3000)
    model = model_of(4, norm_bound=3.0).fit(x, y)
    with pytest.raises(InfeasibleBudget, match="fewer columns"):
        confidence_intervals(model, x[:0], y[:0], budget=PureDP(1.0))


# -- coverage --------------------------------------------------------------------------------------

LAM, N, REPEATS, POPULATION = 0.02, 4000, 30, 20_000


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        ({"standardize": "private", "column_bounds": (-5.0, 5.0)}, ZCDP(1.0)),
        ({"loss": "huber", "mechanism": "output"}, PureDP(100.0)),
    ],
    ids=["standardized softmax", "pure output Huber"],
)
def test_coverage(options: dict[str, Any], budget: Any) -> None:
    """The minimizer over everyone's features, for the centers and scales that were released."""
    x, y = shells(POPULATION)
    rng = np.random.default_rng()
    covered, tight, best = [], [], None
    for _ in range(REPEATS):
        sample = rng.integers(0, POPULATION, N)
        model = model_of(regularization=LAM, **options)
        fit, found = fit_with_intervals(model, x[sample], y[sample], budget=budget, share=0.8)
        about = released_model(fit)
        everyone = fit._bounded(x.shape[1])(x, about.design.risk.loss.targets(y))
        best = minimize(about.design.risk, everyone, tolerance=1e-5, start=best).certified()
        truth = found.named.directions @ best
        covered.append((found.lower <= truth) & (truth <= found.upper))
        half = found.at(0.5)
        tight.append((half.lower <= truth) & (truth <= half.upper))
    # 18 numbers of 12 parameters, correlated: as if there were four
    assert np.mean(covered) > 0.95 - 5.5 * np.sqrt(0.95 * 0.05 / (4 * REPEATS)) - 0.01
    assert abs(np.mean(tight) - 0.5) < 5.5 * np.sqrt(0.25 / (4 * REPEATS)) + 0.02
