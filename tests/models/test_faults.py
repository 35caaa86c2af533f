"""Hostile inputs: a clear error, no release, nothing charged, no value quoted."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from privet import (
    ZCDP,
    ApproxDP,
    LargeMarginGaussian,
    Ledger,
    LinearSVC,
    LogisticRegression,
    PureDP,
    confidence_intervals,
    fit_with_intervals,
    load,
)
from privet.errors import (
    BudgetExceeded,
    DataError,
    DeclarationError,
    LedgerError,
    NotConverged,
    PrivetError,
)
from privet.mechanisms import objective
from privet.minimize import minimize
from privet.models.classifier import PrivateLinearClassifier
from privet.models.inputs import held
from privet.rows import arrays
from privet.rows.ball import in_ball
from tests.models.tables import MODEL_CLASSES, two_classes


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(1.0))
    return ledger


def refused(model: Any, x: Any, y: Any, error: Any = PrivetError, match: str | None = None) -> str:
    """The fit raises, leaves no model and charges nothing."""
    with pytest.raises(error, match=match) as caught:
        model.fit(x, y)
    assert not hasattr(model, "coef_")
    if model.ledger is not None:
        assert model.ledger.remaining("people") == 1.0
    return str(caught.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_1_what_is_no_number_is_refused(ledger: Ledger, bad: float, sparse: bool) -> None:
    x, y = two_classes()
    x[17, 1] = bad
    model = LogisticRegression(0.1, ledger=ledger, dataset="people")
    text = refused(model, sp.csr_array(x) if sparse else x, y, DataError)
    assert "inf" not in text.replace("infinity", "")
    assert "17" not in text


STANDARDIZED = {"standardize": "private", "column_bounds": (-1.0, 1.0)}


@pytest.mark.parametrize("value", [1e308, -1e200, 1e50, 5e-324, -1e-310], ids=str)
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("options", [{}, STANDARDIZED], ids=["plain", "standardize"])
@pytest.mark.parametrize("model_class", MODEL_CLASSES)
def test_1_an_extreme_entry_is_repaired_in_its_row_alone(
    model_class: type[PrivateLinearClassifier],
    options: dict[str, Any],
    store: Callable[[Any], Any],
    value: float,
) -> None:
    """The fit is that of a table in which the row was repaired by hand; so are the scores."""
    x, y = two_classes(60)
    x[17, 1] = value
    by_hand = x.copy()
    if abs(value) < 1.0:
        by_hand[17, 1] = 0.0
    elif options:
        by_hand[17, 1] = np.sign(value)
    else:
        by_hand[17] = [0.0, np.sign(value), 0.0]
    one, two = (model_class(5.0, insecure_seed=3, **options) for _ in range(2))
    one.fit(store(x), y)
    two.fit(store(by_hand), y)
    assert np.allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-9)
    assert np.allclose(one.decision_function(store(x)), two.decision_function(store(by_hand)))


@pytest.mark.parametrize("value", [3e38, -1e30, 1e-45], ids=str)
def test_1_single_precision_alike(value: float) -> None:
    x, y = two_classes(60)
    x = x.astype(np.float32)
    x[17, 1] = value
    by_hand = x.copy()
    if abs(value) < 1.0:
        by_hand[17, 1] = 0.0
    else:
        by_hand[17] = [0.0, np.sign(value), 0.0]
    one, two = (LogisticRegression(5.0, insecure_seed=3).fit(t, y) for t in (x, by_hand))
    assert np.allclose(one.coef_, two.coef_, atol=1e-6)


def test_2_clipped_rows_are_counted_on_the_terminal_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    x, y = two_classes()
    LogisticRegression().fit(x, y)
    assert not caplog.records
    x[:7] *= 1000.0
    model = LogisticRegression().fit(x, y)
    assert "7 of 400 rows" in caplog.text
    assert "7 of" not in model.statement() + repr(model)


def test_2_nothing_is_told_of_the_rows_before_the_charge(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    """The fit alone would fit under the cap, the fit with intervals does not."""
    x, y = two_classes()
    x[:7] *= 1000.0
    ledger.open("few", ZCDP(0.095))
    model = LogisticRegression(ledger=ledger, dataset="few")
    with pytest.raises(BudgetExceeded):
        fit_with_intervals(model, x, y, budget=ZCDP(0.1), share=0.9)
    LogisticRegression().prepare(x, y)
    assert not caplog.records
    fit_with_intervals(model, x, y, budget=ZCDP(0.09), share=0.9)
    assert "7 of 400 rows" in caplog.text


def test_2_long_rows_are_clipped_and_nothing_released_tells_of_them() -> None:
    x, y = two_classes()
    long = x.copy()
    long[:5] *= 1000.0
    clipped = long.copy()
    clipped[:5] /= np.linalg.norm(clipped[:5], axis=1, keepdims=True)
    one = LogisticRegression(insecure_seed=2).fit(long, y)
    two = LogisticRegression(insecure_seed=2).fit(clipped, y)
    assert np.allclose(one.coef_, two.coef_, atol=1e-6)
    assert one.guarantee_ == two.guarantee_


def charged_and_refused(model: Any, x: Any, y: Any) -> str:
    """The fit raises, leaves no model, and its charge stands: asking was not for free."""
    before = model.ledger.remaining("people")
    with pytest.raises(DataError, match="outside the declared classes") as caught:
        model.fit(x, y)
    assert not hasattr(model, "coef_")
    assert model.ledger.remaining("people") == pytest.approx(before - model.budget)
    assert len(model.ledger.orphans("people")) == 1
    told: BaseException | None = caught.value
    while told is not None:  # a context would quote the label or its type
        assert type(told) is DataError
        told = told.__cause__ or told.__context__
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "label"),
    [(object, label) for label in (7, "x", np.nan, np.inf, None, 0.5)]
    + [(float, label) for label in (7, np.nan, np.inf, 0.5)],
)
def test_3_an_undeclared_label_is_charged_and_refused(
    ledger: Ledger, kind: Any, label: Any
) -> None:
    """Whether a row has such a label is private: a free refusal would answer any such question."""
    x, y = two_classes()
    y = y.astype(kind)
    y[3] = label
    model = LogisticRegression(0.25, classes=[0, 1], ledger=ledger, dataset="people")
    assert "7" not in charged_and_refused(model, x, y)


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
@pytest.mark.parametrize("options", [{}, STANDARDIZED], ids=["plain", "standardize"])
def test_3_every_model_charges_for_an_undeclared_label(
    ledger: Ledger, model_class: type[PrivateLinearClassifier], options: dict[str, Any]
) -> None:
    x, y = two_classes(60)
    y[3] = 2
    charged_and_refused(model_class(0.25, ledger=ledger, dataset="people", **options), x, y)


def test_3_intervals_charge_for_an_undeclared_label(ledger: Ledger) -> None:
    x, y = two_classes(4000)
    model = LogisticRegression(0.5, ledger=ledger, dataset="people").fit(x, y)
    y[3] = 7
    with pytest.raises(DataError, match="outside the declared classes"):
        confidence_intervals(model, x, y, budget=0.5)
    assert ledger.remaining("people") == 0.0
    x[3, 0] = np.nan
    with pytest.raises(BudgetExceeded):
        confidence_intervals(model, x, y, budget=0.5)


@pytest.mark.parametrize("labels", [[1, 2], [-1, 1], [-1, 0], [0.5, 1.0]], ids=str)
def test_3_numbers_are_zero_or_one_unless_declared(ledger: Ledger, labels: Any) -> None:
    """The coding is not read from the labels, where one row could decide it."""
    x, _ = two_classes()
    y = np.array(labels)[np.arange(len(x)) % 2]
    options: dict[str, Any] = {"ledger": ledger, "dataset": "people"}
    charged_and_refused(LogisticRegression(0.25, **options), x, y)
    model = LogisticRegression(0.25, classes=labels, **options).fit(x, y)
    assert model.classes_.tolist() == sorted(labels)
    assert set(model.predict(x).tolist()) <= set(labels)


@pytest.mark.parametrize("kind", [int, float, bool, np.uint8], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("only", [None, 0, 1])
def test_3_what_the_labels_are_changes_nothing_about_the_classes(kind: Any, only: Any) -> None:
    x, y = two_classes(60)
    y = (y if only is None else np.full(60, only)).astype(kind)
    model = LogisticRegression(1.0).fit(x, y)
    assert model.classes_.tolist() == ([False, True] if kind is bool else [0, 1])
    assert model.score(x, y) >= 0.0


def test_3_text_needs_declared_classes(ledger: Ledger) -> None:
    x, y = two_classes()
    model = LogisticRegression(0.1, ledger=ledger, dataset="people")
    refused(model, x, np.array(["no", "yes"])[y], DeclarationError, "classes=")
    refused(model, x, y.astype(object), DeclarationError, "classes=")


def test_4_no_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 sample"):
        LogisticRegression(classes=[0, 1]).fit(np.zeros((0, 3)), np.zeros(0))


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
@pytest.mark.parametrize(
    "shape", [(1, 3), (50, 1), (5, 40), (30, 3000)], ids=["one row", "d=1", "d>n", "wide"]
)
def test_4_odd_shapes_work(
    model_class: type[PrivateLinearClassifier], shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)
    y = np.zeros(shape[0], dtype=int)  # one class only
    options = {"covariance": "diagonal"} if model_class is LargeMarginGaussian else {}
    model = model_class(1.0, classes=[0, 1], **options).fit(x, y)
    assert model.coef_.shape == (1, model._width())
    assert np.isfinite(model.coef_).all()


def test_4_very_wide_sparse_tables_work() -> None:
    x = sp.random_array((40, 100_000), density=1e-4, format="csr", rng=np.random.default_rng(2))
    model = LogisticRegression(1.0, classes=[0, 1]).fit(x, np.arange(40) % 2)
    assert model.coef_.shape == (1, 100_000)


def test_4_constant_and_duplicate_columns_work() -> None:
    x, y = two_classes()
    odd = np.column_stack([x[:, 0], x[:, 0], np.ones(len(x)), np.zeros(len(x))]) / 2.0
    assert np.isfinite(LogisticRegression().fit(odd, y).coef_).all()


def test_5_every_container_gives_the_same_release() -> None:
    pandas = pytest.importorskip("pandas")
    x, y = two_classes()
    x = np.asarray(x, dtype=np.float32).astype(np.float64)  # exactly representable in both
    frozen = x.copy()
    frozen.flags.writeable = False
    doubled = sp.csr_array(  # every entry stored as two halves
        (np.repeat(x.ravel() / 2, 2), np.repeat(np.tile(np.arange(3), 400), 2), np.arange(401) * 6),
        shape=x.shape,
    )
    tables = [np.asfortranarray(x), frozen, x.astype(np.float32), sp.csr_matrix(x), sp.csc_array(x)]
    tables += [sp.coo_matrix(x), doubled, x.tolist(), pandas.DataFrame(x).to_numpy()]
    expected = LogisticRegression(insecure_seed=4).fit(x, y).coef_
    for table in tables:
        found = LogisticRegression(insecure_seed=4).fit(table, y).coef_
        assert np.allclose(found, expected, atol=1e-6)


def test_5_integers_are_numbers_and_masks_are_refused() -> None:
    x, y = two_classes()
    whole = (x * 10).astype(int)
    one = LogisticRegression(insecure_seed=4, norm_bound=10.0).fit(whole, y)
    two = LogisticRegression(insecure_seed=4, norm_bound=10.0).fit(whole.astype(float), y)
    assert np.array_equal(one.coef_, two.coef_)
    refused(LogisticRegression(), np.ma.masked_greater(x, 0.5), y, DataError, "Masked")


def test_5_missing_values_of_frames_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    x, y = two_classes()
    frame = pandas.DataFrame(x).convert_dtypes()
    frame.iloc[3, 1] = pandas.NA
    refused(LogisticRegression(), frame, y, ValueError)


def test_5_text_is_refused_without_quoting_it() -> None:
    x, y = two_classes()
    table = x.astype(object)
    table[3, 1] = "Jane Doe"
    text = refused(LogisticRegression(), table, y, DataError, "text where numbers")
    assert "Jane" not in text


@pytest.mark.parametrize("bound", [0, -1.0, np.nan, np.inf, 1e200, 1e-200, "1", True])
def test_2_norm_bounds_that_are_none(bound: Any) -> None:
    x, y = two_classes()
    refused(LogisticRegression(norm_bound=bound), x, y, DeclarationError, "norm_bound")


@pytest.mark.parametrize("declared", [["a", "b"], [True, False], [0.5, 1.5], [0], [0, 0], 3])
def test_3_declared_classes_that_do_not_fit(declared: Any) -> None:
    x, y = two_classes()
    refused(LogisticRegression(classes=declared), x, y + 5, PrivetError)


@pytest.mark.parametrize("budget", [0, -1, np.nan, np.inf, "1", True, 1e-320, None, [1.0]])
def test_6_budgets_that_are_none(ledger: Ledger, budget: Any) -> None:
    x, y = two_classes()
    model = LogisticRegression(budget, ledger=ledger, dataset="people")
    refused(model, x, y, DeclarationError)


@pytest.mark.parametrize("make", [lambda: ApproxDP(1, -1), lambda: ApproxDP(1, 1), lambda: ZCDP(0)])
def test_6_malformed_budgets(make: Callable[[], Any]) -> None:
    with pytest.raises(DeclarationError, match="must be between"):
        make()


@pytest.mark.parametrize("lam", [0, -1.0, np.nan, np.inf, 1e300, "much", True, None])
def test_7_regularization_that_is_none(ledger: Ledger, lam: Any) -> None:
    x, y = two_classes()
    model = LogisticRegression(0.1, regularization=lam, ledger=ledger, dataset="people")
    refused(model, x, y, DeclarationError)


def test_7_too_little_regularization_names_what_would_do() -> None:
    x, y = two_classes()
    model = LogisticRegression(0.1, regularization=1e-300, calibration="exact")
    text = refused(model, x, y, DeclarationError, "more than")
    enough = float(text.split("more than ")[1].rstrip("."))
    LogisticRegression(0.1, regularization=enough * 1.01, calibration="exact").fit(x, y)


def test_8_no_convergence_charges_and_releases_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = two_classes()

    def hasty(risk: Any, rows: Any, **options: Any) -> Any:
        return minimize(risk, rows, **options, max_iter=1)

    monkeypatch.setattr(objective, "minimize", hasty)
    model = LogisticRegression(0.25, ledger=ledger, dataset="people")
    with pytest.raises(NotConverged):
        model.fit(x, y)
    assert not hasattr(model, "coef_")
    assert ledger.remaining("people") == 0.75
    assert len(ledger.orphans("people")) == 1


def test_9_every_fit_charges(ledger: Ledger) -> None:
    x, y = two_classes()
    model = LogisticRegression(0.125, ledger=ledger, dataset="people")
    model.fit(x, y)
    model.fit(x, y)
    clone(model).fit(x, y)
    assert ledger.remaining("people") == 1.0 - 3 * 0.125
    cross_val_score(model, x, y, cv=3)
    assert ledger.remaining("people") == 1.0 - 6 * 0.125
    search = GridSearchCV(model, {"norm_bound": [1.0, 2.0]}, cv=2, error_score="raise")
    with pytest.raises(BudgetExceeded, match="does not fit"):
        search.fit(x, y)
    assert ledger.remaining("people") == 0.0
    ledger.verify()


def test_9_a_loaded_model_still_names_its_account(ledger: Ledger, tmp_path: Path) -> None:
    x, y = two_classes()
    LogisticRegression(0.1, ledger=ledger, dataset="people").fit(x, y).save(tmp_path / "m")
    assert "'people'" in load(tmp_path / "m").statement()


def test_9_a_ledger_wants_a_data_set_and_no_seed(ledger: Ledger) -> None:
    x, y = two_classes()
    refused(LogisticRegression(0.1, ledger=ledger), x, y, DeclarationError, "dataset=")
    seeded = LogisticRegression(0.1, ledger=ledger, dataset="people", insecure_seed=1)
    refused(seeded, x, y, DeclarationError, "seeded")
    refused(LogisticRegression(0.1, dataset="people"), x, y, DeclarationError, "no ledger")
    unknown = LogisticRegression(0.1, ledger=ledger, dataset="others")
    refused(unknown, x, y, LedgerError, "not open")


def fitted_coefficients(_: int) -> bytes:
    x, y = two_classes()
    return LogisticRegression(1.0).fit(x, y).coef_.tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_10_processes_never_share_noise(method: str) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        found = list(pool.map(fitted_coefficients, range(6)))
    assert len(set(found)) == 6


def test_10_threads_loky_copies_and_pickles_never_share_noise() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fitted_coefficients, range(8)))
    found += Parallel(n_jobs=2)(delayed(fitted_coefficients)(i) for i in range(4))
    x, y = two_classes()
    model = LogisticRegression(1.0)
    for twin in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model)):
        found.append(twin.fit(x, y).coef_.tobytes())
    assert len(set(found)) == 16


def test_11_a_refused_fit_forgets_the_model_before_it() -> None:
    x, y = two_classes()
    model = LogisticRegression().fit(x, y)
    x[0, 0] = np.nan
    refused(model, x, y, DataError)
    assert not hasattr(model, "guarantee_")


def test_22_canaries_do_not_surface(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Values planted in the rows appear in no error, file, statement or representation."""
    x, y = two_classes()
    canary = 0.123456789123
    x[5] = [canary, -canary, canary]
    model = LogisticRegression(1.0).fit(x, y)
    model.save(tmp_path / "model.privet")
    shown = repr(model) + model.statement() + model._repr_html_() + str(capfd.readouterr())
    raw = (tmp_path / "model.privet").read_bytes()
    assert "123456789" not in shown
    assert np.float64(canary).tobytes() not in raw
    assert b"123456789" not in raw


def test_classes_of_two_kinds_are_refused_uncharged(tmp_path: Path) -> None:
    """As text they would be compared with labels that are not, after the charge."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(1.0))
    labels = np.array(["a", 1] * 20, dtype=object)
    model = LogisticRegression(1.0, classes=["a", 1], ledger=ledger, dataset="people")
    with pytest.raises(DeclarationError, match="one kind"):
        model.fit(np.zeros((40, 2)), labels)
    assert ledger.remaining("people") == 1.0


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_mapped_file_that_changes_under_a_fit_changes_nothing(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be read in every pass, and a row could grow after it was clipped."""
    x, y = two_classes()
    np.save(tmp_path / "x.npy", x)

    def then_changed(*given: Any, **named: Any) -> Any:
        found = in_ball(*given, **named)
        np.load(tmp_path / "x.npy", mmap_mode="r+")[0] = 1e6
        return found

    expected = kind(budget=4.0, insecure_seed=1).fit(x, y).coef_
    monkeypatch.setattr(arrays, "in_ball", then_changed)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    seen = kind(budget=4.0, insecure_seed=1).fit(mapped, y).coef_
    assert mapped[0, 0] == 1e6
    np.testing.assert_array_equal(seen, expected)


def test_numbers_in_memory_are_not_copied() -> None:
    x = np.zeros((6, 2))
    for mine in (x, x[1:], x.T, sp.csr_array(x + 1.0), sp.csr_array(x + 1.0)[2:]):
        assert held(mine) is mine
    for shared in (np.frombuffer(bytes(48)), np.ndarray(6, buffer=bytearray(48))):
        assert held(shared) is not shared
        assert held(shared).base is None
