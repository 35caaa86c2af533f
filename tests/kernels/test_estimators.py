"""Kernel classifiers: what they learn, what they promise, what they keep and what they refuse."""

from __future__ import annotations

import math
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.utils.estimator_checks import check_estimator

import privet
from privet import ZCDP, ApproxDP, LinearSVC, PureDP
from privet.errors import BudgetExceeded, DataError, DeclarationError
from privet.features.fourier import default_frequencies
from privet.features.named import WIDTHS
from privet.kernels import (
    KERNEL_MODELS,
    Gaussian,
    InteractivePredictor,
    Kernel,
    KernelLogisticRegression,
    KernelSVC,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    PublicNystroem,
    RandomFourierFeatures,
    SemiInteractiveClassifier,
    Spectrum,
    SuppliedKernel,
)
from privet.kernels.estimators import KernelClassifier
from privet.ledger import Ledger
from privet.models import Released
from privet.randomness import source
from tests.kernels.test_kernels import jaccard

Array = NDArray[np.float64]
MODELS = list(KERNEL_MODELS.values())
BUDGET = ApproxDP(3.0, 1e-6)
ROOT = Path(privet.__file__).parents[1]


def ring(n: int = 4000) -> tuple[Array, NDArray[np.int_]]:
    """Points inside and outside of a circle, half and half: nothing for a linear classifier."""
    x = np.random.default_rng().normal(size=(n, 2))
    return x, ((x**2).sum(axis=1) < 2.0 * math.log(2.0)).astype(int)


def words(n: int) -> tuple[list[str], NDArray[np.int_]]:
    """Strings over two letters, and strings that never repeat a letter."""
    rng = np.random.default_rng()
    labels = rng.integers(0, 2, n)
    plain = ["".join(rng.choice(["a", "b"], 12)) for _ in range(n)]
    turns = ["ab" * 6, "ba" * 6]
    return [turns[i % 2] if labels[i] else plain[i] for i in range(n)], labels


Z = np.random.default_rng(3).normal(size=(60, 2))
#: every way to make features, for a table of two columns
WAYS: dict[str, dict[str, Any]] = {
    "fourier": {},
    "matern": {"kernel": "matern", "nu": 2.5, "orthogonal": False},
    "laplacian": {"kernel": "laplacian"},
    "kernel object": {"kernel": Gaussian(0.3), "n_frequencies": 50},
    "weights": {"column_weights": [1.0, 2.0]},
    "standardized": {"standardize": "private", "column_bounds": (-5.0, 5.0)},
    "landmarks": {"public_points": Z},
    "polynomial": {"kernel": Polynomial(2, norm_bound=3.0), "public_points": Z.tolist()},
    "standardized landmarks": {
        "public_points": Z,
        "column_weights": np.array([1.0, 1.5]),
        "standardize": "private",
        "column_bounds": ([-5.0, -5.0], [5.0, 5.0]),
    },
    "ready fourier": {"features": RandomFourierFeatures(80, gamma=0.5).fit(Z)},
    "ready landmarks": {"features": PublicNystroem(Gaussian(0.5), Z).fit()},
}


@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("way", WAYS)
def test_it_learns_and_comes_back_from_its_file(
    model_class: type[KernelClassifier], way: str, tmp_path: Path
) -> None:
    x, y = ring()
    model = model_class(BUDGET, **WAYS[way]).fit(x, y)
    assert model.score(x, y) > 0.85
    assert model.guarantee_.private
    assert model.guarantee_.budget == BUDGET
    model.save(tmp_path / "model", overwrite=True)
    again = privet.load(tmp_path / "model")
    assert np.array_equal(again.decision_function(x), model.decision_function(x))
    assert again.guarantee_ == model.guarantee_
    assert again.statement() == model.statement()
    assert np.array_equal(model.to_sklearn().predict(x), model.predict(x))


def test_a_linear_classifier_does_not() -> None:
    x, y = ring()
    assert LinearSVC(BUDGET, norm_bound=3.0).fit(x, y).score(x, y) < 0.75


@pytest.mark.parametrize("model_class", MODELS)
def test_many_classes_share_one_budget(model_class: type[KernelClassifier]) -> None:
    x = np.random.default_rng().normal(size=(6000, 2))
    y = np.digitize(np.linalg.norm(x, axis=1), [0.76, 1.48])
    model = model_class(ApproxDP(10.0, 1e-6), classes=[0, 1, 2], gamma=0.5).fit(x, y)
    assert model.coef_.shape == (3, 2 * len(model.frequencies_))
    assert model.score(x, y) > 0.75


@pytest.mark.parametrize("budget", [PureDP(20.0), ZCDP(1.0)], ids=str)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_every_budget_and_mechanism(budget: Any, mechanism: str) -> None:
    x, y = ring()
    model = KernelSVC(budget, mechanism=mechanism, n_frequencies=20).fit(x, y)
    assert model.guarantee_.budget == budget
    assert model.coef_.shape == (1, 40)


@pytest.mark.parametrize("value", [1e308, -1e200, 5e-324, -1e-310], ids=str)
@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern(), Linear(), Polynomial()])
def test_an_extreme_row_is_no_reason_to_refuse(kernel: Kernel, value: float) -> None:
    """A refusal for it, or a warning, would tell of the row for free."""
    x, y = ring(200)
    x[3, 1], x[5] = value, value
    points = np.random.default_rng().normal(size=(10, 2))
    models: list[Any] = [
        KernelSVC(5.0, kernel=kernel, public_points=points),
        KernelSVC(5.0, kernel=kernel, public_points=points, column_weights=[2.0, 3.0]),
        InteractivePredictor(BUDGET, kernel=kernel),
        SemiInteractiveClassifier(5.0, public_points=points, kernel=kernel),
    ]
    if isinstance(kernel, Gaussian | Laplacian | Matern):
        models.append(KernelSVC(5.0, kernel=kernel))
    for model in models:
        assert np.isfinite(model.fit(x, y).decision_function(x[:8])).all()


@pytest.mark.parametrize("model_class", MODELS)
def test_scikit_learns_own_checks(model_class: type[KernelClassifier]) -> None:
    """Every check of the installed scikit-learn; none is excepted."""
    model = model_class(1000.0, classes="observed", insecure_seed=0, gamma=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert len(results) > 40
    assert failed == []


def test_a_kernel_svc_is_a_linear_one_on_the_same_features() -> None:
    x, y = ring(500)
    kernel = KernelSVC(BUDGET, regularization=0.05, n_frequencies=20, insecure_seed=1).fit(x, y)
    features = RandomFourierFeatures(20, gamma=WIDTHS["gaussian"] / 2).fit(x)
    features.frequencies_ = kernel.frequencies_
    told: dict[str, Any] = {"h": 1.0, "fit_intercept": False, "regularization": 0.05}
    linear = LinearSVC(BUDGET, features=features, insecure_seed=1, **told).fit(x, y)
    assert np.allclose(linear.coef_, kernel.coef_, rtol=1e-6, atol=1e-9)
    assert linear.guarantee_.event == kernel.guarantee_.event
    assert not isinstance(kernel, LinearSVC)


# -- the promise -------------------------------------------------------------------------------


def test_the_proof_is_given_the_features_norm() -> None:
    x, y = ring(500)
    assert KernelSVC(BUDGET).fit(x, y).guarantee_.event.sensitivity == 2.0  # 2 L R with R = 1
    constant = KernelSVC(BUDGET, fit_intercept=True).fit(x, y).guarantee_.event
    assert constant.sensitivity == pytest.approx(2.0 * math.sqrt(1.25))
    kernel = Polynomial(2, norm_bound=2.0)  # K(x, x) <= 25
    wide = KernelSVC(BUDGET, kernel=kernel, public_points=Z).fit(x, y).guarantee_.event
    assert wide.sensitivity == pytest.approx(10.0)


def test_the_statement_tells_kernel_points_and_weights() -> None:
    x, y = ring(500)
    text = " ".join(KernelSVC(BUDGET, gamma=0.25).fit(x, y).statement().split())
    for word in ("Gaussian(gamma=0.25)", "drawn without looking at the rows"):
        assert word in text
    model = KernelSVC(BUDGET, kernel=Linear(), public_points=Z, column_weights=[1, 2]).fit(x, y)
    told = model.guarantee_.assumptions
    for word in ("60 public points, declared public by the user", "column weights", "Linear"):
        assert any(word in line for line in told)
    supplied = SuppliedKernel(lambda a, b: np.asarray(a) @ np.asarray(b).T, 4.0)
    told = KernelSVC(BUDGET, kernel=supplied, public_points=Z).fit(x, y).guarantee_.assumptions
    assert any("positive semidefinite" in line for line in told)
    assert any("held to 4" in line for line in told)


def test_the_map_depends_on_declarations_only() -> None:
    x, y = ring(300)
    one = KernelSVC(BUDGET, insecure_seed=1).fit(x, y)
    two = KernelSVC(BUDGET, insecure_seed=1).fit(x + 3.0, 1 - y)
    assert np.array_equal(one.frequencies_, two.frequencies_)
    assert not one.guarantee_.private
    fresh = KernelSVC(BUDGET).fit(x, y).frequencies_
    assert not np.array_equal(fresh, KernelSVC(BUDGET).fit(x, y).frequencies_)


def test_the_frequencies_of_a_seeded_model_are_not_its_noise() -> None:
    x, y = ring(300)
    model = KernelSVC(BUDGET, insecure_seed=1, n_frequencies=40, orthogonal=False, gamma=0.5)
    repeated = source(1).normals((40, 2))
    assert not np.allclose(model.fit(x, y).frequencies_, repeated)


def test_nothing_of_the_rows_is_kept(tmp_path: Path) -> None:
    n = 1237  # no other axis has this length
    x, y = ring(n)
    for way in ("fourier", "landmarks", "standardized"):
        model = KernelSVC(BUDGET, **WAYS[way]).fit(x, y)
        for name, value in vars(model).items():
            assert n not in np.shape(value), name
        model.save(tmp_path / "model", overwrite=True)
        content = (tmp_path / "model").read_bytes()
        assert not any(row.tobytes() in content for row in x)


def test_the_ledger_is_charged_once_and_a_refused_fit_costs_nothing(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("ring", ZCDP(1.5))
    whole = ledger.remaining("ring")
    x, y = ring(500)
    bad = x.copy()
    bad[7, 1] = np.nan
    model = KernelSVC(ZCDP(1.0), ledger=ledger, dataset="ring")
    with pytest.raises(DataError, match="NaN"):
        model.fit(bad, y)
    strings = KernelSVC(
        ZCDP(1.0), kernel=Spectrum(2), public_points=["abc"], ledger=ledger, dataset="ring"
    )
    with pytest.raises(DataError, match="strings"):
        strings.fit(["abc", 3, "cab"], [0, 1, 0])  # type: ignore[arg-type]
    assert ledger.remaining("ring") == whole
    model.fit(x, y)
    assert ledger.remaining("ring") != whole
    with pytest.raises(BudgetExceeded):
        model.fit(x, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("way", ["fourier", "laplacian", "landmarks", "polynomial"])
def test_no_admissible_row_makes_a_fit_fail_after_the_charge(way: str, kind: Any) -> None:
    """Rows far outside of anything declared are mapped to something of bounded norm."""
    x, y = ring(300)
    table = x.astype(kind)
    table[0], table[1] = 1e-37, 3e37
    if kind is np.float64:
        table[2], table[3] = 1e-300, [1e150, -1e150]
    model = KernelSVC(BUDGET, **WAYS[way]).fit(table, y)
    assert np.isfinite(model.decision_function(table)).all()


# -- rules -------------------------------------------------------------------------------------


def test_column_weights_are_scaled_columns() -> None:
    x, y = ring(500)
    ways: tuple[dict[str, Any], ...] = ({}, {"public_points": Z})
    for way in ways:
        weighted = KernelSVC(
            BUDGET, gamma=0.2, column_weights=[0.5, 2.0], insecure_seed=2, **way
        ).fit(x, y)
        scale = np.array([0.5, 2.0])
        by_hand = {name: points * scale for name, points in way.items()}
        scaled = KernelSVC(BUDGET, gamma=0.2, insecure_seed=2, **by_hand).fit(x * scale, y)
        assert np.allclose(
            weighted.decision_function(x), scaled.decision_function(x * scale), atol=1e-4
        )


def test_a_column_of_weight_zero_does_not_count() -> None:
    x, y = ring(500)
    model = KernelSVC(BUDGET, column_weights=[1.0, 0.0]).fit(x, y)
    moved = x + np.array([0.0, 9.0])
    assert np.allclose(model.decision_function(x), model.decision_function(moved))


def test_public_points_are_in_the_units_of_the_rows() -> None:
    """A change of units of rows, points and bounds leaves the features' inner products alone."""
    x, y = ring(2000)
    a, b = np.array([100.0, 0.01]), np.array([-7.0, 3.0])
    names: dict[str, Any] = {"standardize": "private", "insecure_seed": 4}
    one = KernelSVC(BUDGET, public_points=Z, column_bounds=(-5.0, 5.0), **names).fit(x, y)
    bounds = (a * -5.0 + b, a * 5.0 + b)
    two = KernelSVC(BUDGET, public_points=a * Z + b, column_bounds=bounds, **names)
    two.fit(a * x + b, y)
    maps = [Released.of(model).view.feature_map for model in (one, two)]
    assert maps[0] is not None
    assert maps[1] is not None
    here, there = maps[0](x[:100]), maps[1](a * x[:100] + b)
    assert np.allclose(here @ here.T, there @ there.T, atol=1e-3)


def test_the_default_width_is_by_the_columns_and_their_weights() -> None:
    k, of_laplacian = WIDTHS["gaussian"], WIDTHS["laplacian"]
    assert KernelSVC()._declared(5).kernel == Gaussian(k / 5)
    assert KernelSVC(column_weights=[1.0, 2.0])._declared(2).kernel == Gaussian(k / 5)
    found = KernelSVC(kernel="laplacian", column_weights=[1.0, 3.0])._declared(2).kernel
    assert found == Laplacian(of_laplacian / 4)


def test_the_default_number_of_frequencies_is_public_and_grows() -> None:
    assert default_frequencies(500_000, ApproxDP(1.0, 1e-6)) == 708
    assert default_frequencies(500_000, ApproxDP(0.1, 1e-6)) == 398
    assert default_frequencies(500_000, PureDP(1.0)) == 177
    assert default_frequencies(500_000, ZCDP(0.5)) == 708
    assert default_frequencies(3, ApproxDP(0.1, 1e-6)) == 8
    assert default_frequencies(10**9, ApproxDP(1.0, 1e-6)) == 2048


def test_the_default_regularization_is_the_proven_floor_and_costs_no_warning() -> None:
    """At a size where the linear models' rule asks for several times as much."""

    def total(**names: Any) -> float:
        model = KernelSVC(ApproxDP(1.0, 1e-6), n_frequencies=400, **names)
        design = model.planned(500_000, 54).design
        return float(design.risk.regularization)

    with pytest.warns(privet.errors.RegularizationRaised):
        floor = total(regularization=1e-9)
    assert total() == floor
    assert total(regularization=0.5) == 0.5
    assert total(mechanism="output") > 2.0 * floor


# -- objects -----------------------------------------------------------------------------------


def test_strings_by_a_spectrum_kernel(tmp_path: Path) -> None:
    x, y = words(3000)
    public, _ = words(40)
    model = KernelLogisticRegression(BUDGET, kernel=Spectrum(2), public_points=public).fit(x, y)
    assert model.score(x, y) > 0.95
    model.save(tmp_path / "model", overwrite=True)
    again = privet.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(x[:50]), model.predict_proba(x[:50]))
    with pytest.raises(DataError, match="sequence"):
        model.predict("abab")


def test_sets_by_a_supplied_kernel(tmp_path: Path) -> None:
    rng = np.random.default_rng()
    y = rng.integers(0, 2, 2000)
    x: Any = [set(rng.integers(0, 12, 5) + 4 * label) for label in y]
    public = [set(rng.integers(0, 16, 5)) for _ in range(40)]
    model = KernelSVC(BUDGET, kernel=SuppliedKernel(jaccard, 1.0), public_points=public).fit(x, y)
    assert model.score(x, y) > 0.7
    with pytest.raises(DeclarationError, match="never code"):
        model.save(tmp_path / "model", overwrite=True)


def test_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    assert "random features of norm 1" in capsys.readouterr().out
    assert runpy.run_path(str(ROOT / "examples" / "strings.py"))["main"](4000) > 0.8


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"kernel": "cubic"}, "kernel must be"),
        ({"kernel": Linear()}, "public_points"),
        ({"kernel": Gaussian(1.0), "gamma": 2.0}, "belongs in the kernel"),
        ({"gamma": 0.0}, "gamma"),
        ({"n_frequencies": 0}, "n_frequencies"),
        ({"column_weights": [1.0]}, "column_weights"),
        ({"column_weights": [1.0, -1.0]}, "column_weights"),
        ({"column_weights": [0.0, 0.0]}, "no column"),
        ({"column_weights": "heavy"}, "column_weights"),
        ({"public_points": []}, "at least one"),
        ({"public_points": np.ones((4, 3))}, "2 columns"),
        ({"public_points": np.full((4, 2), np.nan)}, "2 columns"),
        ({"features": WAYS["ready fourier"]["features"], "public_points": Z}, "ready map"),
        ({"features": WAYS["ready fourier"]["features"], "column_weights": [1, 1]}, "ready map"),
        ({"kernel": "laplacian", "orthogonal": True}, "orthogonal"),
        (
            {"features": WAYS["ready fourier"]["features"], "standardize": "private"},
            "columns of numbers",
        ),
    ],
    ids=str,
)
def test_contradictions_are_refused(parameters: dict[str, Any], match: str) -> None:
    x, y = ring(50)
    with pytest.raises(DeclarationError, match=match):
        KernelSVC(BUDGET, **parameters).fit(x, y)


def test_a_map_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    class Own:
        columns, norm = 2, 1.0

        def __call__(self, x: Any) -> Any:
            return x

    x, y = ring(50)
    model = KernelSVC(BUDGET, features=Own()).fit(x, y)
    with pytest.raises(DeclarationError, match="cannot be written"):
        model.save(tmp_path / "model", overwrite=True)


def test_a_file_whose_map_does_not_fit_is_refused(tmp_path: Path) -> None:
    x, y = ring(50)
    model = KernelSVC(BUDGET, n_frequencies=4).fit(x, y)
    model.frequencies_ = model.frequencies_[:, :1]
    model.save(tmp_path / "model", overwrite=True)
    with pytest.raises(DataError, match="do not fit"):
        privet.load(tmp_path / "model")
