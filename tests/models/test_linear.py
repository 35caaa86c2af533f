"""The front door: fit, predict, tell."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from privet import (
    ZCDP,
    ApproxDP,
    HuberRegressor,
    LinearSVC,
    LogisticRegression,
    PureDP,
    fit_with_intervals,
)
from privet.certificate.recompute import recompute
from privet.errors import DeclarationError, PrivetWarning, RegularizationRaised
from privet.kernels import KernelSVC
from privet.models.classifier import PrivateLinearClassifier
from privet.models.row_wise import RowWise
from privet.rows import checked_rows
from tests.certificate.released import failed
from tests.models.tables import MODEL_CLASSES, QUIET, three_classes, two_classes

BUDGETS = [1.0, PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)]


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_fit_releases_a_model_with_its_guarantee(
    model_class: type[PrivateLinearClassifier], mechanism: str, budget: Any
) -> None:
    x, y = two_classes()
    model = model_class(budget, mechanism=mechanism).fit(x, y)
    assert model.coef_.shape == (1, model._width())
    assert model.intercept_.shape == (1,)
    assert model.guarantee_.private
    assert model.guarantee_.budget == (PureDP(1.0) if budget == 1.0 else budget)
    assert model.guarantee_.event.regularization == model.regularization_
    assert model.guarantee_.event.mechanism == mechanism


def test_a_generous_budget_learns_what_can_be_learned() -> None:
    x, y = two_classes(4000)
    for model in (LogisticRegression(20.0), LinearSVC(20.0), LinearSVC(20.0, loss="smooth_hinge")):
        assert np.mean(model.fit(x, y).predict(x) == y) > 0.9


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
def test_many_classes_share_one_budget(model_class: type[PrivateLinearClassifier]) -> None:
    x, y = three_classes(6000)
    model = model_class(30.0, classes=["a", "b", "c"]).fit(x, y)
    assert model.coef_.shape == (3, model._width())
    assert np.abs(model.coef_.sum(axis=0)).max() < 1e-9
    assert model.guarantee_.budget == PureDP(30.0)
    assert np.mean(model.predict(x) == y) > 0.85


def test_probabilities_are_those_of_the_scores() -> None:
    x, y = two_classes()
    model = LogisticRegression(5.0).fit(x, y)
    scores = x @ model.coef_[0] + model.intercept_[0]
    assert np.allclose(model.decision_function(x), scores)
    assert np.allclose(model.predict_proba(x)[:, 1], expit(scores))
    many = LogisticRegression(5.0, classes=["a", "b", "c"]).fit(*three_classes())
    assert np.allclose(many.predict_proba(x[:, :2]).sum(axis=1), 1.0)
    assert np.allclose(np.exp(many.predict_log_proba(x[:, :2])).sum(axis=1), 1.0)


def test_prediction_clips_rows_as_training_does() -> None:
    x, y = two_classes()
    model = LogisticRegression(5.0).fit(x, y)
    far = np.array([[30.0, 40.0, 0.0]])
    assert np.allclose(model.decision_function(far), model.decision_function(far / 50.0))


def test_the_intercept_is_in_the_units_of_the_features() -> None:
    """Twice the features with twice the bound is the same problem with half the coefficients."""
    x, y = two_classes()
    one = LogisticRegression(1.0, insecure_seed=3).fit(x, y)
    two = LogisticRegression(1.0, insecure_seed=3, norm_bound=2.0).fit(2.0 * x, y)
    assert np.allclose(two.coef_, one.coef_ / 2.0, atol=1e-5)
    assert np.allclose(two.intercept_, one.intercept_, atol=1e-5)


def test_without_an_intercept_the_norm_bound_is_the_users() -> None:
    x, y = two_classes()
    bare = LogisticRegression(1.0, fit_intercept=False).fit(x, y)
    assert bare.intercept_ == [0.0]
    event = bare.guarantee_.event
    assert event.sensitivity == 2.0  # 2 L R with R = 1
    assert LogisticRegression(1.0).fit(x, y).guarantee_.event.sensitivity == 2.0 * np.sqrt(1.25)


@pytest.mark.parametrize("model_class", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("constant", [0.25, 0.5, 1.0, 3.0])
def test_the_noise_pays_for_the_declared_constant(model_class: Any, constant: float) -> None:
    """The mechanism sees rows of norm ``sqrt(1 + c^2) B`` and no longer ones."""
    x, y = two_classes()
    model = model_class(1.0, constant=constant, norm_bound=2.0, insecure_seed=3)
    longest = 2.0 * np.hypot(1.0, constant)
    assert model.planned(*x.shape).mechanism.norm_bound == pytest.approx(longest)
    rows = model.prepare(100.0 * x, y).rows  # every row is clipped
    entries = np.concatenate([block.scores(np.eye(rows.m)) for block, _ in rows.blocks()])
    assert np.linalg.norm(entries, axis=1).max() == pytest.approx(longest, rel=1e-9)


def test_the_intercept_is_in_the_units_of_the_score() -> None:
    """Hardly penalized and hardly noisy, any constant finds the same model."""
    x, y = two_classes(4000)
    found = [
        LogisticRegression(900.0, constant=c, regularization=1e-5, insecure_seed=1).fit(x, y)
        for c in (0.3, 1.0)
    ]
    assert found[0].intercept_ == pytest.approx(found[1].intercept_, abs=0.05)
    at_zero = found[0].decision_function(np.zeros((1, x.shape[1])))
    assert at_zero == pytest.approx(found[0].intercept_)


@pytest.mark.parametrize("bad", [0.0, -0.5, np.nan, np.inf, "half", None, True])
def test_an_impossible_constant_is_refused(bad: Any) -> None:
    x, y = two_classes()
    with pytest.raises(DeclarationError, match="constant must be a positive finite number"):
        LogisticRegression(1.0, constant=bad).fit(x, y)


def test_class_weights_are_paid_for() -> None:
    x, y = two_classes()
    plain = LogisticRegression(1.0).fit(x, y).guarantee_.event
    model = LogisticRegression(1.0, class_weight={0: 1.0, 1: 3.0}).fit(x, y)
    assert model.guarantee_.event.scale == pytest.approx(3.0 * plain.scale)
    assert "the class weights" in model.guarantee_.assumptions
    with pytest.raises(DeclarationError, match="balanced"):
        LogisticRegression(1.0, class_weight="balanced").fit(x, y)
    with pytest.raises(DeclarationError, match="not a class"):
        LogisticRegression(1.0, class_weight={7: 2.0}).fit(x, y)


def test_class_weights_move_the_decision() -> None:
    x, y = two_classes(4000)
    low = LogisticRegression(50.0, class_weight={1: 0.2}).fit(x, y)
    high = LogisticRegression(50.0, class_weight={0: 0.2}).fit(x, y)
    assert high.predict(x).mean() > low.predict(x).mean() + 0.05


def test_sample_weight_is_refused_with_the_reason() -> None:
    x, y = two_classes()
    with pytest.raises(DeclarationError, match="class_weight"):
        LogisticRegression().fit(x, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="nonsense"):
        LogisticRegression().fit(x, y, nonsense=1)


def test_a_seed_voids_the_guarantee_and_says_so() -> None:
    x, y = two_classes()
    model = LogisticRegression(insecure_seed=1).fit(x, y)
    assert not model.guarantee_.private
    assert "NOT PRIVATE" in repr(model)
    assert "NOT PRIVATE" in model.statement()
    again = LogisticRegression(insecure_seed=1).fit(x, y)
    assert np.array_equal(model.coef_, again.coef_)


def test_the_2008_calibration_is_refused() -> None:
    x, y = two_classes()
    with pytest.raises(DeclarationError, match=r"not private .* reproduce/chaudhuri2008\.py"):
        LogisticRegression(0.1, calibration="chaudhuri2008").fit(x, y)


def test_low_regularization_is_raised_with_a_warning() -> None:
    x, y = two_classes()
    with pytest.warns(RegularizationRaised, match="raised to"):
        model = LogisticRegression(1.0, regularization=1e-9).fit(x, y)
    assert model.regularization_ > 1e-9


def test_repr_statement_and_html_carry_the_guarantee() -> None:
    x, y = two_classes()
    model = LogisticRegression(0.5)
    assert "released" not in repr(model)
    model.fit(x, y)
    assert "epsilon = 0.5" in repr(model)
    text = model.statement()
    for word in ("epsilon = 0.5", "replace one", "Theorem", "Numerics", "Not covered", "400"):
        assert word in text
    assert "factor of at most 1.65" in " ".join(text.split())
    page = model._repr_html_()
    assert "epsilon = 0.5" in page
    assert "<table>" in page
    assert set(model._repr_mimebundle_()) == {"text/plain", "text/html"}


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
def test_to_sklearn_predicts_the_same(model_class: type[PrivateLinearClassifier]) -> None:
    x, y = two_classes()
    model = model_class(2.0).fit(x, y)
    assert np.array_equal(model.to_sklearn().predict(x), model.predict(x))
    xs, ys = three_classes()
    many = model_class(2.0, classes=["a", "b", "c"]).fit(xs, ys)
    assert np.array_equal(many.to_sklearn().predict(xs), many.predict(xs))


def test_pipelines_and_searches_work_as_in_scikit_learn() -> None:
    x, y = two_classes()
    pipeline = make_pipeline(RowWise(lambda table: table / 2.0), LogisticRegression())
    assert pipeline.fit(x, y).predict(x).shape == y.shape
    assert len(cross_val_score(LogisticRegression(**QUIET), x, y, cv=3)) == 3
    search = GridSearchCV(LogisticRegression(**QUIET), {"regularization": [0.1, 1.0]}, cv=2)
    with pytest.warns(PrivetWarning, match="GridSearchCV chose"):
        assert search.fit(x, y).best_params_["regularization"] in (0.1, 1.0)


def test_pandas_names_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    x, y = two_classes()
    frame = pandas.DataFrame(x, columns=["age", "dose", "height"])
    model = LogisticRegression().fit(frame, y)
    assert list(model.feature_names_in_) == ["age", "dose", "height"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
def test_scikit_learns_own_checks(model_class: type[PrivateLinearClassifier]) -> None:
    """Every check of the installed scikit-learn; none is excepted."""
    model = model_class(1000.0, classes="observed", insecure_seed=0, norm_bound=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert len(results) > 40
    assert failed == []


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
def test_after_fit_nothing_of_the_rows_remains(model_class: type[PrivateLinearClassifier]) -> None:
    """Law 7: no array with an axis of length n, none that holds a row, and no function of them."""
    n = 419  # a length that nothing else has
    x, y = two_classes(n)
    model = model_class(1.0).fit(x, y)
    allowed = {*model.get_params(), "coef_", "intercept_", "classes_", "guarantee_"}
    assert set(model.__dict__) <= {*allowed, "regularization_", "n_features_in_"}
    for value in model.__dict__.values():
        shape = np.shape(value) if isinstance(value, np.ndarray | list) else ()
        assert n not in shape
    rows = checked_rows(x, y, norm_bound=1.0)
    assert not any(value is x or value is y or value is rows for value in model.__dict__.values())


def test_cloning_copies_declarations_only() -> None:
    x, y = two_classes()
    model = LogisticRegression(0.7, classes=[0, 1]).fit(x, y)
    copy = clone(model)
    assert copy.budget == 0.7
    assert not hasattr(copy, "coef_")


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC, HuberRegressor, KernelSVC])
@pytest.mark.parametrize(
    ("habit", "instead"),
    [("C", "regularization="), ("random_state", "insecure_seed="), ("delta", "budget=ApproxDP")],
)
def test_habits_are_answered_by_what_stands_in_their_place(
    kind: Any, habit: str, instead: str
) -> None:
    with pytest.raises(TypeError, match=instead) as found:
        kind(**{habit: 1.0})
    assert f"{kind.__name__} has no parameter {habit!r}" in str(found.value)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        kind(colour=1)


def test_least_squares_of_the_labels_is_the_regression_of_minus_one_and_one(tmp_path: Path) -> None:
    """The same numbers, noise and promise as ``HuberRegressor``; the class is the sign."""
    x, y = two_classes()
    for budget in (PureDP(2.0), ApproxDP(2.0, 1e-6)):
        model = LinearSVC(budget, loss="least_squares", classes=[0, 1], insecure_seed=3).fit(x, y)
        numbers = HuberRegressor(budget, target_bounds=(-1, 1), knee=0.5, insecure_seed=3)
        numbers.fit(x, 2.0 * y - 1.0)
        assert np.array_equal(model.coef_, numbers.coef_)
        assert model.guarantee_.event == numbers.guarantee_.event
        assert np.array_equal(model.predict(x), numbers.predict(x) > 0.0)
    earnest = LinearSVC(8.0, loss="least_squares", classes=[0, 1], standardize="unit").fit(x, y)
    earnest.save(tmp_path / "m")
    assert failed(recompute(tmp_path / "m")) == []


def test_least_squares_is_for_two_classes_without_weights() -> None:
    for declared, table in (
        ({"classes": [0, 1, 2]}, three_classes()),
        ({"classes": [0, 1], "class_weight": {1: 2.0}}, two_classes()),
    ):
        with pytest.raises(DeclarationError, match="two classes without class weights"):
            LinearSVC(1.0, loss="least_squares", **declared).fit(*table)
    with pytest.raises(DeclarationError, match="was not measured"):
        fit_with_intervals(LinearSVC(loss="least_squares"), *two_classes(), budget=1.0)
    with pytest.raises(DeclarationError, match="loss must be 'huber' or 'smooth_hinge'"):
        KernelSVC(1.0, loss="least_squares").fit(*two_classes())  # type: ignore[arg-type]
