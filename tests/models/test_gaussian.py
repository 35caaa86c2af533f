"""The large-margin Gaussian classifier: what it learns, what it releases, what it refuses."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.utils.estimator_checks import check_estimator

from privet import ZCDP, ApproxDP, LargeMarginGaussian, Ledger, PureDP, load
from privet.errors import DeclarationError
from privet.losses import JointHuber, Softmax
from privet.minimize import minimize
from privet.models import Released
from privet.models.lifted import lifted_columns
from privet.privacy.compose import Composition
from privet.rows import checked_rows
from tests.strategies import Array

BUDGETS = [PureDP(2.0), ZCDP(0.3), ApproxDP(2.0, 1e-6)]


def shells(n: int = 6000, d: int = 2, classes: int = 3) -> tuple[Array, Any]:
    """Classes by distance from the origin: no linear model can tell them apart."""
    x = np.random.default_rng(2).normal(size=(n, d)) / np.sqrt(d)
    radius = np.linalg.norm(x, axis=1)
    return x, np.searchsorted(np.quantile(radius, np.arange(1, classes) / classes), radius)


def blobs(n: int = 20_000) -> tuple[Array, Any]:
    """Four blobs on the corners of a square, opposite corners one class; a third in the middle."""
    rng = np.random.default_rng(4)
    corner = rng.integers(0, 5, n)
    middles = np.array([[0.6, 0.6], [-0.6, -0.6], [0.6, -0.6], [-0.6, 0.6], [0.0, 0.0]])
    return middles[corner] + 0.08 * rng.normal(size=(n, 2)), np.array([0, 0, 1, 1, 2])[corner]


def model_of(budget: Any = 4.0, classes: int = 3, **options: Any) -> Any:
    return LargeMarginGaussian(budget, classes=list(range(classes)), norm_bound=2.0, **options)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("loss", ["softmax", "huber"])
def test_it_learns_shells_under_every_budget(loss: str, budget: Any) -> None:
    x, y = shells(20_000)
    model = model_of(budget, loss=loss).fit(x, y)
    assert model.score(x, y) > 0.85
    assert model.guarantee_.budget == budget
    assert model.guarantee_.private
    assert model.coef_.shape == (3, 6)
    assert np.abs(model.coef_.sum(axis=0)).max() < 1e-9


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_shape_of_ellipsoid(covariance: str, classes: int, mechanism: str) -> None:
    x, y = shells(8000, 3, classes)
    model = model_of(20.0, classes, covariance=covariance, mechanism=mechanism).fit(x, y)
    assert model.coef_.shape == (1 if classes == 2 else 3, lifted_columns(3, covariance))
    assert model.score(x, y) > 0.8


def test_scores_and_probabilities() -> None:
    x, y = shells()
    many = model_of().fit(x, y)
    scores = many.decision_function(x)
    assert scores.shape == (len(x), 3)
    assert np.allclose(many.predict_proba(x), softmax(scores, axis=1))
    assert np.allclose(np.exp(many.predict_log_proba(x)), many.predict_proba(x))
    assert np.array_equal(many.predict(x), scores.argmax(axis=1))
    x, y = shells(classes=2)
    two = model_of(classes=2).fit(x, y)
    assert two.decision_function(x).shape == (len(x),)
    assert np.allclose(two.predict_proba(x).sum(axis=1), 1.0)
    assert not hasattr(model_of(loss="huber"), "predict_proba")


def test_the_fit_is_the_minimum_over_the_lifted_table() -> None:
    """A nearly noiseless fit against the same risk on features held in memory."""
    x, y = shells(500)
    model = model_of(1000.0, regularization=1e-2).fit(x, y)
    lifted = model._lifted(2)
    ready = model.revisit(x, y)
    rows = checked_rows(lifted(x), y, norm_bound=lifted.norm)
    theta = minimize(ready.design.risk, rows, tolerance=1e-9).certified().reshape(2, -1)
    assert np.abs(ready.mechanism.loss.basis @ theta - model.coef_).max() < 0.02


def test_declared_losses_reach_the_mechanism() -> None:
    x, y = shells(200)
    huber = model_of(loss="huber", h=0.3, margin=2.0).fit(x, y)
    assert huber.revisit(x, y).mechanism.loss == JointHuber(3, 0.3, 2.0, lifted=True)
    diagonal = model_of(loss="huber", covariance="diagonal").fit(x, y)
    assert diagonal.revisit(x, y).mechanism.loss == JointHuber(3, lifted=False)
    assert model_of().fit(x, y).revisit(x, y).mechanism.loss == Softmax(3)
    # in the nuclear norm two rows' gradients add up, whatever their angle
    event = huber.guarantee_.event
    assert event.noise == "matrix laplace"
    assert event.sensitivity == pytest.approx(2.0 * np.sqrt(6.0) * 4.0 * 1.25)
    sphere = model_of(loss="huber", h=0.3, margin=2.0, noise="sphere").fit(x, y).guarantee_.event
    assert sphere.sensitivity == pytest.approx(np.sqrt(2.0) * 3 * 4.0 * 1.25)
    assert "non-negative" in sphere.theorem


def test_units_do_not_matter() -> None:
    """Twice the rows with twice the bound is the same problem."""
    x, y = shells(1000)
    one = LargeMarginGaussian(1.0, classes=[0, 1, 2], insecure_seed=3).fit(x, y)
    two = LargeMarginGaussian(1.0, classes=[0, 1, 2], insecure_seed=3, norm_bound=2.0)
    two.fit(2.0 * x, y)
    assert np.allclose(two.decision_function(2.0 * x), one.decision_function(x), atol=1e-5)


def test_sparse_and_dense_tables_agree() -> None:
    x, y = shells(500)
    dense = model_of(insecure_seed=1).fit(x, y)
    sparse = model_of(insecure_seed=1).fit(sp.csr_array(x), y)
    assert np.allclose(dense.coef_, sparse.coef_, atol=1e-6)
    assert np.allclose(dense.decision_function(x), dense.decision_function(sp.csr_array(x)))


# -- mixtures --------------------------------------------------------------------------------------

CORNERS = [
    [[0.6, 0.6], [-0.6, -0.6]],
    [[0.6, -0.6], [-0.6, 0.6]],
    [[0.0, 0.1], [0.0, -0.1]],
]


@pytest.mark.parametrize("loss", ["softmax", "huber"])
@pytest.mark.parametrize("centers", [None, CORNERS], ids=["private", "public"])
def test_mixtures_learn_more_than_one_place_per_class(loss: str, centers: Any) -> None:
    x, y = blobs()
    model = LargeMarginGaussian(
        20.0, classes=[0, 1, 2], components=2, centers=centers, loss=loss
    ).fit(x, y)
    assert model.coef_.shape == (6, 6)
    assert model.score(x, y) > 0.95
    assert len(model.ellipsoids()) == 6
    if loss == "softmax":
        assert np.allclose(model.predict_proba(x).sum(axis=1), 1.0)


def test_private_centers_find_the_blobs_and_are_paid_for() -> None:
    x, y = blobs()
    model = LargeMarginGaussian(ZCDP(5.0), classes=[0, 1, 2], components=2).fit(x, y)
    assert model.centers_.shape == (3, 2, 2)
    for label, places in ((0, CORNERS[0]), (1, CORNERS[1])):
        gaps = np.linalg.norm(model.centers_[label][:, None] - np.array(places), axis=2)
        assert gaps.min(axis=0).max() < 0.1
    event = model.guarantee_.event
    assert [part.mechanism for part in event.parts] == ["objective", "moments"]
    assert ZCDP(5.0).keeps(Composition(event.parts))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_all_stages_share_one_budget(budget: Any) -> None:
    x, y = blobs(3000)
    model = LargeMarginGaussian(
        budget, classes=[0, 1, 2], components=2, standardize="private", column_bounds=(-2, 2)
    ).fit(x, y)
    event = model.guarantee_.event
    assert [part.mechanism for part in event.parts] == ["objective", "moments", "moments"]
    assert budget.keeps(Composition(event.parts))
    text = " ".join(model.statement().split())
    assert "private standardization" in text
    assert "private centers" in text
    assert "moments.proof.md" in text


def test_components_are_a_function_of_each_row_alone() -> None:
    """Given the centers, replacing one row changes the code of no other row."""
    x, y = blobs(500)
    model = LargeMarginGaussian(5.0, classes=[0, 1, 2], components=2, centers=CORNERS).fit(x, y)
    codes = model._codes(x, y, 3)
    assert np.array_equal(codes // 2, y)
    other = x.copy()
    other[7] = [0.9, -0.9]
    assert np.array_equal(np.delete(model._codes(other, y, 3), 7), np.delete(codes, 7))


def test_class_weights_go_to_the_components() -> None:
    x, y = blobs(2000)
    model = LargeMarginGaussian(
        5.0, classes=[0, 1, 2], components=2, centers=CORNERS, class_weight={1: 3.0}
    ).fit(x, y)
    loss = model.revisit(x, y).mechanism.loss
    assert loss.weights == (1.0, 1.0, 3.0, 3.0, 1.0, 1.0)


# -- files, ledgers, refusals ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "huber", "covariance": "diagonal"},
        {"components": 2},
        {"components": 2, "centers": np.array([[1.0, 1.0], [-1.0, -1.0]])},
        {"standardize": "private", "column_bounds": (-3.0, 3.0), "components": 3},
    ],
    ids=["plain", "huber", "private centers", "public centers", "all"],
)
def test_files_keep_the_model(options: dict[str, Any], tmp_path: Path) -> None:
    x, y = shells(1000)
    model = model_of(**options).fit(x, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert np.array_equal(loaded.decision_function(x), model.decision_function(x))
    assert loaded.statement() == model.statement()
    assert loaded.get_params().keys() == model.get_params().keys()
    assert np.array_equal(loaded.ellipsoids()[0].mean, model.ellipsoids()[0].mean)


def test_one_charge(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(1.0))
    x, y = shells(400)
    model_of(0.75, components=2, ledger=ledger, dataset="people").fit(x, y)
    assert ledger.remaining("people") == 0.25


def test_nothing_of_the_rows_remains() -> None:
    x, y = shells(419)
    model = model_of(components=2).fit(x, y)
    released = {"coef_", "intercept_", "classes_", "guarantee_", "centers_", "regularization_"}
    assert set(model.__dict__) <= {
        *released,
        *model.get_params(),
        "n_features_in_",
    }
    assert all(419 not in np.shape(v) for v in model.__dict__.values() if isinstance(v, np.ndarray))


def test_the_2010_calibration_is_refused_and_says_where_it_went() -> None:
    x, y = shells(400)
    with pytest.raises(DeclarationError, match=r"not private .* reproduce/pathak2010\.py"):
        model_of(1.0, loss="huber", calibration="pathak2010").fit(x, y)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"loss": "hinge"}, "loss must be"),
        ({"covariance": "tied"}, "covariance must be"),
        ({"components": 0}, "components must be"),
        ({"components": True}, "components must be"),
        ({"components": 1.5}, "components must be"),
        ({"centers": [[0.0, 0.0]]}, "components of at least 2"),
        ({"components": 2, "centers": [[0.0], [1.0]]}, "centers must have shape"),
        ({"components": 2, "centers": [[0.0, np.nan]] * 2}, "finite"),
        ({"constant": 0.0}, "constant must be"),
        ({"constant": np.inf}, "constant must be"),
        ({"loss": "huber", "h": -1.0}, "h must be"),
        ({"loss": "huber", "margin": 0.0}, "margin must be"),
        ({"norm_bound": 1e80}, "norm_bound must be"),
    ],
    ids=str,
)
def test_bad_declarations_are_refused(options: dict[str, Any], match: str) -> None:
    x, y = shells(60)
    model = LargeMarginGaussian(1.0, classes=[0, 1, 2]).set_params(**options)
    with pytest.raises(DeclarationError, match=match):
        model.fit(x, y)
    assert not hasattr(model, "coef_")


def test_a_picture_of_two_columns() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    x, y = shells(500)
    axes = model_of(components=2).fit(x, y).plot()
    assert len(axes.lines) >= 6
    assert axes.get_xlim() == pytest.approx((-2.5, 2.5))
    with pytest.raises(DeclarationError, match="two columns"):
        model_of().fit(*shells(500, 3)).plot()
    matplotlib.pyplot.close("all")


def test_scikit_learns_checks_with_everything_on() -> None:
    model = LargeMarginGaussian(
        1000.0,
        classes="observed",
        insecure_seed=0,
        norm_bound=4.0,
        components=2,
        loss="huber",
        noise="laplace",  # a check with weights of 1,000 wants next to no noise in one direction
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []


def test_a_report_names_products_and_parts() -> None:
    """Also where the stages' noise is of another kind than the fit's."""
    report = pytest.importorskip("privet.report")
    x, y = shells(60_000, 4)
    model = LargeMarginGaussian(
        ApproxDP(1.0, 1e-6),
        classes=[0, 1, 2],
        components=2,
        standardize="private",
        column_bounds=(-4, 4),
    ).fit(x, y)
    assert model.guarantee_.event.noise == "matrix laplace and laplace"
    page = report.render(model)
    assert "part 2" in page
    assert " · column " in page
    assert "private centers" in page


def test_names_hold_the_factors_of_half_vectorized_weights() -> None:
    """``coef_`` times the named number is the coefficient of the term in the score."""
    model = LargeMarginGaussian().fit(*shells(200, classes=2))
    names = ["a²", "1.41 · a × b", "b²", "0.707 · a", "0.707 · b", "0.25 · (constant)"]
    released = Released.of(model)
    assert released.features(["a", "b"]) == names
    assert released.terms(["a", "b"]) == ["a²", "a × b", "b²", "a", "b", "(constant)"]
    a, b = 0.3, -0.5
    terms = np.array([a * a, a * b, b * b, a, b, 1.0])
    score = (model.coef_[0] * released.steps) @ terms
    assert score == pytest.approx(float(model.decision_function([[a, b]])[0]))


def test_too_many_products_are_refused() -> None:
    x, y = np.zeros((4, 500)), np.arange(4) % 2
    with pytest.raises(DeclarationError, match="diagonal"):
        LargeMarginGaussian(1.0, classes=[0, 1]).fit(x, y)


def test_bad_centers_cost_nothing(tmp_path: Path) -> None:
    """Also where they are used after the columns were standardized."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(1.0))
    x, y = shells(100)
    model = model_of(
        0.5,
        components=2,
        centers=[[0.0], [1.0]],
        standardize="private",
        column_bounds=(-4, 4),
        ledger=ledger,
        dataset="people",
    )
    with pytest.raises(DeclarationError, match="centers"):
        model.fit(x, y)
    assert ledger.remaining("people") == 1.0


@pytest.mark.parametrize(("epsilon", "share"), [(0.3, 0.1), (1.0, 0.1), (2.0, 0.2), (4.0, 0.3)])
def test_a_small_epsilon_and_delta_takes_more_regularization(epsilon: float, share: float) -> None:
    """The floor by the share of epsilon that the Jacobian may take: three times more up to 1."""
    model = LargeMarginGaussian(ApproxDP(epsilon, 1e-6), noise="gaussian")
    planned = model.planned(2000, 4, 5)
    risk = planned.design.risk
    q = risk.relative_curvature(2000)
    taken = risk.loss.log_determinant_bound(q) / (0.99 * epsilon)
    assert taken == pytest.approx(share, rel=1e-6)
