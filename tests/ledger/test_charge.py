"""What is charged and not released says so, and what cannot be drawn is found before the charge."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from privet import ZCDP, Ledger, LogisticRegression, PureDP
from privet._process import _Mark
from privet.answers.ledger_answers import open_answers
from privet.errors import BudgetExceeded, DeclarationError, LedgerError, PrivetWarning
from privet.kernels import InteractivePredictor
from privet.ledger.answer_turns import Turn
from privet.ledger.charge import Charge, notes
from privet.schema import Label, Numeric, Schema
from tests.strategies import gaussian_event, pure_event


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.open("people", PureDP(1.0))
    return made


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, OSError, ValueError])
def test_whatever_ends_a_release_the_exception_says_what_was_spent(
    ledger: Ledger, kind: type[BaseException]
) -> None:
    with pytest.raises(kind) as caught, Charge(ledger, "people", pure_event(0.25)):
        raise kind
    assert ledger.remaining("people") == 0.75
    (told,) = notes(caught.value)
    assert (
        told == "epsilon = 0.25 was charged to 'people' and nothing was released; the charge stays."
    )


def test_the_note_says_what_a_person_paid_where_the_account_counts_for_persons(
    ledger: Ledger,
) -> None:
    ledger.open("visits", ZCDP(3.0), group=3)
    event = gaussian_event(0.1)
    with pytest.raises(MemoryError) as caught, Charge(ledger, "visits", event):
        raise MemoryError
    (told,) = notes(caught.value)
    assert told.startswith("rho = 0.1 (zero-concentrated) for each row (rho = 0.9 (zero-")
    assert ledger.remaining("visits") == pytest.approx(2.1)  # what the person's number says


def test_a_refusal_and_a_release_without_a_ledger_have_no_note(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded) as caught, Charge(ledger, "people", pure_event(2.0)):
        raise AssertionError("not reached")
    assert notes(caught.value) == []
    with pytest.raises(MemoryError) as stopped, Charge(None, None, pure_event(0.5)):
        raise MemoryError
    assert notes(stopped.value) == []


def test_notes_of_others_are_not_shown() -> None:
    error = ValueError("x")
    error.add_note("row 17 holds 'secret'")
    assert notes(error) == []


class Stopped(LogisticRegression):
    """Ctrl-C comes while it is being fitted."""

    def _publish(self, release: Any, fit: Any) -> None:
        super()._publish(release, fit)
        raise KeyboardInterrupt


def test_a_fit_that_is_stopped_says_what_it_cost(ledger: Ledger) -> None:
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 2))
    with pytest.raises(KeyboardInterrupt) as caught:
        Stopped(0.5, ledger=ledger, dataset="people").fit(x, x[:, 0] > 0)
    assert "epsilon = 0.5 was charged" in notes(caught.value)[0]


def test_a_fit_that_is_stopped_leaves_no_half_of_a_model(ledger: Ledger) -> None:
    """It is stopped after the weights were set, or while the settlement is written."""
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 2))
    stopped = Stopped(0.25, ledger=ledger, dataset="people")
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(x, x[:, 0] > 0)
    unsettled = LogisticRegression(0.25, ledger=Unsettling(ledger.url), dataset="people")
    with pytest.raises(KeyboardInterrupt) as caught:
        unsettled.fit(x, x[:, 0] > 0)
    assert notes(caught.value)[-1].endswith("it is forgotten, and reservation 3 stays open.")
    for model in (stopped, unsettled):
        left = [name for name in vars(model) if name.endswith("_")]
        assert set(left) <= {"n_features_in_", "feature_names_in_"}, left
    assert len(ledger.orphans("people")) == 2


class Unsettling(Ledger):
    """Ctrl-C comes while a settlement is written."""

    def settle(self, *_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt


class Twinned(Ledger):
    """A copy of this process, made between charge and settlement, settles first."""

    def settle(self, reservation: int, *more: Any, **named: Any) -> Any:
        Ledger(self.url).settle(reservation, ["ab" * 32])
        return super().settle(reservation, *more, **named)


def test_a_charge_pays_for_one_release_also_where_the_process_was_copied(ledger: Ledger) -> None:
    """By a fork within a fit, or by a machine that is restored from its image in the middle."""
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 2))
    model = LogisticRegression(0.25, ledger=Twinned(ledger.url), dataset="people")
    with pytest.raises(LedgerError, match="settled already") as caught:
        model.fit(x, x[:, 0] > 0)
    assert "epsilon = 0.25 was charged to 'people' once" in notes(caught.value)[0]
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "guarantee_")
    with pytest.raises(LedgerError), Charge(Twinned(ledger.url), "people", pure_event(0.25)):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("settles", [True, False])
def test_a_fork_within_a_release_keeps_nothing(
    ledger: Ledger, tmp_path: Path, *, settles: bool
) -> None:
    """Where one of the two could not settle, both would keep what they drew for one charge."""
    heard, says = os.pipe()
    forgotten: list[int] = []
    charge = Charge(ledger, "people", pure_event(0.25), forget=lambda: forgotten.append(1))
    charge.__enter__()
    if not settles:
        (tmp_path / "budget.db").rename(tmp_path / "away.db")
    child = os.fork()
    if child == 0:
        try:
            charge.__exit__(None, None, None)
            os.write(says, b"kept")
        except LedgerError as error:
            os.write(says, f"{error} {notes(error)} {forgotten}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(says)
    told = os.read(heard, 1000).decode()
    os.close(heard)
    assert "a fork of the one that was charged" in told
    assert "charged to 'people' once: the release that was made here is forgotten." in told
    assert told.endswith("[1]")
    if settles:
        charge.__exit__(None, None, None)
        assert charge.receipt is not None
    else:
        with pytest.warns(PrivetWarning, match="no receipt"):
            charge.__exit__(None, None, None)
    assert not forgotten


def test_threads_that_begin_at_once_are_one_process() -> None:
    """Else one finds that it is a fork of the other, and loses what it has paid for."""
    mark, together = _Mark(), Barrier(4)

    def ask(_: int) -> str:
        together.wait()
        return mark()

    with ThreadPoolExecutor(4) as threads:
        for _ in range(200):
            mark.clear()
            assert len(set(threads.map(ask, range(4)))) == 1


class ForkedBeforeItAnswers(InteractivePredictor):
    """It is forked when its charge is settled and nobody holds the release yet."""

    def _open(self) -> None:
        self.__dict__["child"] = os.fork()
        super()._open()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_does_not_open_a_release_a_second_time() -> None:
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(50, 2))
    model = ForkedBeforeItAnswers(ZCDP(0.5))
    here, heard = os.getpid(), os.pipe()
    try:
        model.fit(x, x[:, 0] > 0).answer([[0.1, 0.2]])
        said = b"answered"
    except DeclarationError as error:
        said = str(error).encode()
    if os.getpid() != here:
        os.write(heard[1], said + str("_curator" in model.__dict__).encode())
        os._exit(0)
    os.waitpid(model.__dict__["child"], 0)
    os.close(heard[1])
    told = os.read(heard[0], 1000)
    os.close(heard[0])
    assert said == b"answered"
    assert told.endswith(b"Fit and answer in one process.False")


def test_a_settlement_that_fails_does_not_lose_the_release(ledger: Ledger, tmp_path: Path) -> None:
    """The charge is durable by then: only the note and the receipt are missing."""
    charge = Charge(ledger, "people", pure_event(0.25))
    with pytest.warns(PrivetWarning, match=r"epsilon = 0.25 was charged .* no receipt"), charge:
        (tmp_path / "budget.db").rename(tmp_path / "away.db")
    assert charge.receipt is None
    (tmp_path / "away.db").rename(tmp_path / "budget.db")
    assert len(Ledger(ledger.url).orphans("people")) == 1


@pytest.mark.parametrize("end", ["-head", "-wal"])
def test_a_settlement_that_fails_does_not_say_that_nothing_was_released(
    ledger: Ledger, tmp_path: Path, end: str
) -> None:
    charge = Charge(ledger, "people", pure_event(0.25))
    charge.__enter__()
    (tmp_path / f"budget.db{end}").unlink(missing_ok=True)
    (tmp_path / f"budget.db{end}").mkdir()
    with pytest.warns(PrivetWarning, match="no receipt") as caught:
        charge.__exit__(None, None, None)
    assert "the release was made" in str(caught[0].message)
    assert "Nothing was" not in str(caught[0].message)


def test_a_journal_that_cannot_be_written_is_refused_uncharged(
    ledger: Ledger, tmp_path: Path
) -> None:
    x = np.random.default_rng().uniform(-0.5, 0.5, size=(300, 2))
    model = InteractivePredictor(
        0.5,
        mechanism="sparse_vector",
        queries=10,
        ledger=ledger,
        dataset="people",
        journal=tmp_path / "none" / "journal",
    )
    with pytest.raises(DeclarationError, match="journal cannot be written"):
        model.fit(x, (x[:, 0] > 0).astype(int))
    assert ledger.remaining("people") == 1.0


@pytest.mark.parametrize("kind", [OSError, LedgerError, KeyboardInterrupt])
def test_a_release_whose_transcript_cannot_be_begun_is_told_as_lost(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    """The charge is seen by all who asked, not by the innermost alone."""

    def full(*_: Any) -> None:
        raise kind

    monkeypatch.setattr(Turn, "append", full)
    ledger.open("patients", ZCDP(0.5))
    schema = Schema({"age": Numeric(0, 1)}, Label("ill", ("no", "yes")))
    table = {"age": np.linspace(0, 1, 20), "ill": ["no", "yes"] * 10}
    with pytest.raises(kind) as caught:
        open_answers("ward", schema, table, budget=ZCDP(0.5), ledger=ledger, dataset="patients")
    (told,) = notes(caught.value)
    assert "charged to 'patients' and the release was made, but lost" in told
