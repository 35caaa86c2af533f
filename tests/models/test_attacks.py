"""Attacks that once worked. Each must fail for ever."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privet import ZCDP, ApproxDP, Ledger, LinearSVC, LogisticRegression, PureDP, load
from privet.errors import BudgetExceeded, DataError, DeclarationError, InfeasibleBudget, LedgerError
from privet.losses import JointHuber, Logistic
from privet.mechanisms import ObjectivePerturbation
from privet.privacy.curves import GaussianCurve
from reproduce.chaudhuri2008 import ChaudhuriMonteleoni2008
from tests.models.tables import two_classes
from tests.test_store import rewritten, saved


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", PureDP(1.0))
    return ledger


def test_one_row_cannot_stop_the_minimizer() -> None:
    """Nearly separable tables with long Newton steps and a narrow knee, and their neighbors."""
    for n, lam, h in (
        (1_000, 1e-8, 0.5),
        (10_000, 1e-6, 0.5),
        (10_000, 1e-6, 0.05),
        (10, 1e-6, 0.5),
    ):
        ones = np.ones((n, 1))
        turned = ones.copy()
        turned[0] = -1.0
        labels, other = np.ones(n, dtype=int), np.ones(n, dtype=int)
        other[0] = 0
        for x, y in ((ones, labels), (ones, other), (turned, labels)):
            for intercept in (True, False):
                model = LinearSVC(
                    1.0, mechanism="output", regularization=lam, h=h, fit_intercept=intercept
                )
                assert np.isfinite(model.set_params(classes=[0, 1]).fit(x, y).coef_).all()
    y = np.ones(20_000, dtype=int)
    y[0] = 0
    for _ in range(5):
        LinearSVC(100.0, classes=[0, 1]).fit(np.ones((20_000, 1)), y)


def test_sparse_entries_stored_twice_are_seen_after_a_change_in_place() -> None:
    """scipy remembers that a table had no duplicates; hashing its columns in place makes some."""
    x = sp.csr_matrix(np.full((50, 100), 0.1))
    assert x.has_canonical_format
    x.indices %= 1
    y = np.arange(50) % 2
    rows = LogisticRegression(1.0).prepare(x, y).rows
    weights = np.zeros((1, rows.m))
    weights[0, 0] = 1.0
    scores = np.concatenate([block.scores(weights)[:, 0] for block, _ in rows.blocks()])
    assert scores.max() <= 1.0
    model = LogisticRegression(1.0, insecure_seed=1).fit(x, y)
    plain = np.zeros((50, 100))
    plain[:, 0] = 10.0
    assert np.allclose(model.decision_function(x), model.decision_function(plain))


@pytest.mark.parametrize("index", [-9, 100, 2**31 - 1])
def test_sparse_indices_outside_the_table_are_refused(index: int) -> None:
    x = sp.csr_matrix(np.full((50, 100), 0.1))
    x.indices[0] = index
    with pytest.raises(DataError, match="malformed"):
        LogisticRegression(1.0).fit(x, np.arange(50) % 2)


def test_a_ledger_refuses_what_is_not_private(ledger: Ledger) -> None:
    x, y = two_classes()
    leaking = ChaudhuriMonteleoni2008(Logistic(), PureDP(0.1), regularization=1e-6)
    with pytest.raises(LedgerError, match=r"not private.*Jacobian"):
        ledger.reserve("people", leaking.event(400, 4))
    model = LogisticRegression(0.1, insecure_seed=1, ledger=ledger, dataset="people")
    with pytest.raises(DeclarationError, match="seeded"):
        model.fit(x, y)
    assert not hasattr(model, "coef_")
    seeded = LogisticRegression(0.1, insecure_seed=1)._mechanism(2, None).event(400, 4)
    with pytest.raises(LedgerError, match="seeded"):
        ledger.reserve("people", seeded)
    assert ledger.remaining("people") == 1.0


def test_a_key_stands_for_one_release_only(ledger: Ledger) -> None:
    small, large = (LogisticRegression(e)._mechanism(2, None).event(400, 4) for e in (0.001, 0.5))
    first = ledger.reserve("people", small, "job")
    assert ledger.reserve("people", small, "job") == first
    with pytest.raises(LedgerError, match="another release"):
        ledger.reserve("people", large, "job")
    ledger.settle(first)
    with pytest.raises(LedgerError, match="made already"):
        ledger.reserve("people", small, "job")
    with pytest.raises(LedgerError, match="settled already"):
        ledger.settle(first)
    assert ledger.remaining("people") == 0.999


def test_an_exhausted_ledger_answers_no_question_about_the_rows(ledger: Ledger) -> None:
    x, _ = two_classes(5)
    for labels in ([1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, -1], [1, 1, 1, 1, 9]):
        for declared in (None, [0, 1]):
            model = LogisticRegression(2.0, classes=declared, ledger=ledger, dataset="people")
            with pytest.raises(BudgetExceeded):
                model.fit(x, labels)
    broken = x.copy()
    broken[0, 0] = np.nan
    with pytest.raises(BudgetExceeded):
        LogisticRegression(2.0, ledger=ledger, dataset="people").fit(broken, [1, 1, 1, 1, 0])


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.array([0.123, 0.456, 0.789]), [0, 1, 0]),
        (np.array([[0.123 + 1j], [0.456], [0.789]]), [0, 1, 0]),
        (np.array([[0.123], [0.456], [0.789]]), np.array([0.123 + 1j, 1, 0])),
        ([["0.123x"], ["b"], ["c"]], [0, 1, 0]),
    ],
)
def test_messages_do_not_quote_cells(x: Any, y: Any) -> None:
    with pytest.raises(ValueError) as caught:
        LogisticRegression(classes=[0, 1]).fit(x, y)
    error: BaseException | None = caught.value
    while error is not None:
        assert "123" not in str(error)
        error = error.__cause__ or error.__context__


def test_a_relative_ledger_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("sqlite:///budget.db")
    ledger.open("people", PureDP(1.0))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ledger.remaining("people") == 1.0
    with pytest.raises(LedgerError, match="already open"):
        ledger.open("people", PureDP(9.0))


@pytest.mark.parametrize(
    "url", ["sqlite:///:memory:", "sqlite:///file:x?mode=memory", "sqlite:///"]
)
def test_a_ledger_in_memory_is_refused(url: str) -> None:
    with pytest.raises(DeclarationError, match="file"):
        Ledger(url)


def test_an_edited_total_is_noticed_at_the_next_charge(ledger: Ledger) -> None:
    import sqlite3

    x, y = two_classes()
    LogisticRegression(1.0, ledger=ledger, dataset="people").fit(x, y)
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("UPDATE entries SET totals = ?", (json.dumps([0] * 12),))
    with pytest.raises(LedgerError, match="changed"):
        LogisticRegression(1.0, ledger=ledger, dataset="people").fit(x, y)
    with pytest.raises(LedgerError, match="changed"):
        ledger.verify()


def test_a_model_file_cannot_ask_for_memory_or_smuggle_settings(tmp_path: Path) -> None:
    def wide(header: dict[str, Any], raw: bytes) -> bytes:
        header["classes"] = {"dtype": "<U500000000", "values": ["a", "b"]}
        return raw

    def deep(header: dict[str, Any], raw: bytes) -> bytes:
        header["feature_names"] = [[["x"]]] * 3
        return raw

    def no_bound(header: dict[str, Any], raw: bytes) -> bytes:
        header["parameters"]["norm_bound"] = float("nan")
        return raw

    def odd_scale(header: dict[str, Any], raw: bytes) -> bytes:
        header["guarantee"]["event"]["scale"] = {"x": 1}
        return raw

    def with_ledger(header: dict[str, Any], raw: bytes) -> bytes:
        header["parameters"]["ledger"] = "sqlite:////somewhere.db"
        return raw

    for change in (deep, no_bound, odd_scale):
        _, path = saved(tmp_path)
        rewritten(path, change)
        with pytest.raises(DataError):
            load(path)
    _, path = saved(tmp_path)
    rewritten(path, wide)
    assert load(path).classes_.dtype.itemsize < 100
    _, path = saved(tmp_path)
    rewritten(path, with_ledger)
    assert load(path).ledger is None


def test_a_header_of_brackets_is_damage_not_a_crash(tmp_path: Path) -> None:
    import hashlib

    from privet.models.model_file import MAGIC

    text = b"[" * 200_000
    body = MAGIC + len(text).to_bytes(8, "little") + text
    (tmp_path / "deep").write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(DataError):
        load(tmp_path / "deep")


def test_budgets_too_small_for_a_loss_are_refused_with_a_sentence() -> None:
    x, y = two_classes()
    tiny = LinearSVC(ApproxDP(1e-8, 1e-6), noise="gaussian", classes=[0, 1, 2])
    with pytest.raises(InfeasibleBudget, match="too small"):
        tiny.fit(x, y)


def test_a_declared_property_of_the_features_is_named() -> None:
    event = ObjectivePerturbation(JointHuber(3, lifted=True), ZCDP(0.5)).event(1_000, 4)
    assert "non-negative inner products" in event.theorem


def test_a_release_that_is_not_private_promises_nothing() -> None:
    x, y = two_classes()
    text = " ".join(LogisticRegression(insecure_seed=1).fit(x, y).statement().split())
    assert "Guarantee none" in text
    assert "odds" not in text


def test_a_discrete_gaussian_keeps_its_slack_at_every_delta() -> None:
    model = LogisticRegression(ApproxDP(1.0, 1e-6), mechanism="output", noise="gaussian")
    event = model._mechanism(2, None).event(1_000, 1_000)
    assert event.epsilon(1.0000001e-6) >= 1.0 - 2e-7
    assert isinstance(event.curves[0], GaussianCurve)
