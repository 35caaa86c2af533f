"""One release, several processes: one answer to each query, noted before it is seen."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import PureDP
from privet.answers import ledger_answers
from privet.answers.ledger_answers import LedgerAnswers, open_answers, resumed_answers
from privet.errors import BudgetExceeded, DataError, DeclarationError, LedgerError
from privet.ledger import Ledger, memory
from privet.ledger.answer_turns import glance, turn
from privet.mechanisms.function import MOST_RESUMED
from privet.privacy.budget import ZCDP
from privet.schema import Categorical, Label, Numeric, Person, Schema

SCHEMA = Schema(
    {"age": Numeric(0, 100), "dose": Numeric(0, 10), "sex": Categorical(("f", "m"))},
    Label("ill", ("no", "yes")),
)


def patients(n: int = 300) -> dict[str, Any]:
    random = np.random.default_rng(5)
    age, dose = random.uniform(0, 100, n), random.uniform(0, 10, n)
    ill = np.where(age / 100 + dose / 10 + random.normal(0, 0.3, n) > 1, "yes", "no")
    return {"age": age, "dose": dose, "sex": random.choice(["f", "m"], n), "ill": ill}


def queries(n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    return np.asarray(random.uniform(-0.5, 0.5, (n, SCHEMA.width)))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    found = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    found.open("patients", cap=ZCDP(2.0))
    return found


def opened(ledger: Ledger, name: str = "ward", rho: float = 0.5, **more: Any) -> LedgerAnswers:
    options = {"budget": ZCDP(rho), "ledger": ledger, "dataset": "patients", **more}
    return open_answers(name, SCHEMA, patients(), **options)


def test_two_processes_answer_one_query_with_one_noise(ledger: Ledger) -> None:
    first = opened(ledger)
    second = resumed_answers("ward", patients(), ledger=ledger)
    third = resumed_answers("ward", patients(), ledger=ledger)
    z = queries(9)
    told = [first.answer(z[:3]), second.answer(z[:6]), first.answer(z[3:]), third.answer(z)]
    np.testing.assert_array_equal(told[0], told[1][:3])
    np.testing.assert_array_equal(told[1][3:6], told[2][:3])
    np.testing.assert_array_equal(np.concatenate([told[1], told[2][3:]]), told[3])
    assert first.counted() == second.counted() == third.counted() == 9
    assert ledger.remaining("patients") == 1.5  # charged once, whoever answers
    ledger.verify()


def test_a_second_process_continues_the_path_of_the_first(ledger: Ledger) -> None:
    """A query beside one that another process answered has nearly its noise: no fresh one."""
    first = opened(ledger, rho=0.001)
    second = resumed_answers("ward", patients(), ledger=ledger)
    z = queries(1)
    a, b = first.answer(z)[0], second.answer(z + 1e-4)[0]
    noise = first.kept.row_guarantee.event.scale
    assert abs(a - b) < 0.05 * noise  # two paths would differ by about 1.4 of it
    assert abs(a - second.answer(-z)[0]) > 0.0


def watched_turns(monkeypatch: pytest.MonkeyPatch, release: LedgerAnswers) -> list[int]:
    """Rows that are answered or taken up while the ledger is locked: one number for each turn."""
    real, session, locked = ledger_answers.turn, type(release._first), [False]
    answer, restore = session.answer, session.restore
    found: list[int] = []

    @contextmanager
    def noting(*given: Any) -> Iterator[Any]:
        with real(*given) as mine:
            found.append(0)
            locked[0] = True
            yield mine
        locked[0] = False

    def counted(rows: int) -> None:
        if locked[0]:
            found[-1] += rows

    def answered(self: Any, asked: Any, *given: Any) -> Any:
        counted(len(asked))
        return answer(self, asked, *given)

    def restored(self: Any, batch: Any) -> None:
        counted(len(batch.answers))
        restore(self, batch)

    monkeypatch.setattr(ledger_answers, "turn", noting)
    monkeypatch.setattr(session, "answer", answered)
    monkeypatch.setattr(session, "restore", restored)
    return found


def test_no_request_locks_the_ledger_for_long(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who charges waits for a few rows and not for ten thousand, asked or taken up."""
    monkeypatch.setattr(ledger_answers, "TURN_ROWS", 4)
    first = opened(ledger, queries=30)
    second = resumed_answers("ward", patients(), ledger=ledger)
    turns = watched_turns(monkeypatch, first)
    told = first.answer(queries(10), "key", "asked")
    assert turns == [4, 4, 2]
    np.testing.assert_array_equal(second.answer(queries(11))[:10], told)  # one is new
    assert turns[3:] == [0, 1]  # the others were taken up between two turns
    again = resumed_answers("ward", patients(), ledger=ledger)
    assert len(again) == 11  # before anybody asks
    np.testing.assert_array_equal(again.answer(queries(10), "key", "asked"), told)
    with pytest.raises(ledger_answers.KeyUsed):
        again.answer(queries(10), "key", "something else")
    with pytest.raises(BudgetExceeded, match="19 are left"):
        again.answer(queries(20, seed=1))
    assert again.counted() == 11  # none of them was answered
    assert max(turns) == 4


def test_what_was_drawn_and_not_noted_is_drawn_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that fails leaves nothing: neither in the table nor in the session."""
    release = opened(ledger)
    before = release.answer(queries(4))

    def failing(*_: Any) -> Any:
        raise OSError("the disk is full")

    drawn: list[float] = []
    session = type(release._first)
    answer = session.answer

    def watched(self: Any, *given: Any) -> Any:
        found = answer(self, *given)
        drawn.extend(found.answers.tolist())
        return found

    monkeypatch.setattr(session, "answer", watched)
    with monkeypatch.context() as broken:
        broken.setattr(ledger_answers.Turn, "append", failing)
        with pytest.raises(OSError, match="disk"):
            release.answer(queries(1, seed=1))
    assert release.counted() == 4
    told = release.answer(queries(1, seed=1))
    assert told[0] == drawn[1] != drawn[0]
    # a session that remembered the first draw would find the query known, and not keep it
    assert release.transcript.batches[-1].marked.tolist() == [True]
    np.testing.assert_array_equal(release.answer(queries(4)), before)
    # the session that was made anew is the one that a new process would have
    again = resumed_answers("ward", patients(), ledger=ledger)
    np.testing.assert_array_equal(again.answer(queries(1, seed=1)), told)
    assert again.answer(queries(5, seed=2)).tolist() == release.answer(queries(5, seed=2)).tolist()


def test_a_commit_whose_confirmation_is_lost_is_believed_only_after_a_look(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = opened(ledger)
    real, lost = ledger_answers.turn, [True]

    def unsure(*given: Any) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def wrapped() -> Any:
            with real(*given) as mine:
                yield mine
            if lost.pop() if lost else False:
                raise LedgerError("did not confirm")

        return wrapped()

    monkeypatch.setattr(ledger_answers, "turn", unsure)
    with pytest.raises(LedgerError, match="confirm"):
        release.answer(queries(2))
    told = release.answer(queries(2))
    other = resumed_answers("ward", patients(), ledger=ledger)
    np.testing.assert_array_equal(other.answer(queries(2)), told)
    assert other.counted() == 2  # the first draw was noted: it is the answer


def test_the_declared_number_of_answers_is_the_end(ledger: Ledger) -> None:
    release = opened(ledger, queries=5)
    told = release.answer(np.repeat(queries(5), 3, axis=0))  # 15 rows, 5 of them different
    with pytest.raises(BudgetExceeded, match="5 different rows, and 0 are left"):
        release.answer(queries(1, seed=1))
    np.testing.assert_array_equal(release.answer(queries(5)), told[::3])


def test_the_ledger_refuses_what_it_cannot_pay(ledger: Ledger) -> None:
    opened(ledger, rho=1.8)
    with pytest.raises(BudgetExceeded):
        opened(ledger, "second")
    with pytest.raises(DeclarationError, match="called 'ward' already"):
        opened(ledger, rho=0.01)
    assert ledger.remaining("patients") == pytest.approx(0.2)


def test_a_key_is_for_one_request(ledger: Ledger) -> None:
    release = opened(ledger)
    z = queries(3)
    told = release.answer(z, "b/1", "digest")
    other = resumed_answers("ward", patients(), ledger=ledger)
    np.testing.assert_array_equal(other.answer(z, "b/1", "digest"), told)
    with glance(ledger, "ward") as look:
        before = len(look.since(0))
    for i in range(5):
        other.answer(z, f"b/{i + 2}", "digest")  # brings nothing new: no key is noted
    with glance(ledger, "ward") as look:
        assert len(look.since(0)) == before
    with pytest.raises(ledger_answers.KeyUsed, match="another request"):
        release.answer(queries(1, seed=3), "b/1", "another digest")
    assert release.counted() == 3


def test_a_sparse_vector_is_answered_by_whoever_took_it_up_last(ledger: Ledger) -> None:
    first = opened(ledger, mechanism="sparse_vector", queries=50)
    assert not first.shared
    told = first.answer(queries(3))
    second = resumed_answers("ward", patients(), ledger=ledger)
    np.testing.assert_array_equal(second.answer(queries(3)), told)
    with pytest.raises(LedgerError, match="Another process has taken up"):
        first.answer(queries(1, seed=1))
    second.answer(queries(1, seed=1))
    child = os.fork()
    if child == 0:
        try:
            second.answer(queries(1, seed=2))
        except LedgerError:
            os._exit(3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_a_release_is_resumed_as_often_as_its_sensitivity_covers(ledger: Ledger) -> None:
    release = opened(ledger)
    with turn(ledger, "ward") as mine:
        newest = mine.since(0)[-1]
        for _ in range(MOST_RESUMED):
            newest = mine.append(newest, {"holder": "x"})
    with pytest.raises(DeclarationError, match="63 times"):
        resumed_answers("ward", patients(), ledger=ledger)
    assert len(release.answer(queries(1))) == 1


def test_other_rows_or_another_ledger_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    release = opened(ledger)
    with pytest.raises(DataError, match="is of 300 rows, these are 200"):
        resumed_answers("ward", patients(200), ledger=ledger)
    with pytest.raises(DataError, match="No release is called 'other'"):
        resumed_answers("other", patients(), ledger=ledger)
    ledger.adopt("a backup was put back")
    with pytest.raises(LedgerError, match="restored or moved"):
        release.answer(queries(1))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("DELETE FROM answers WHERE number = 3", "rolled back"),
        ("UPDATE answers SET record = replace(record, '0.', '1.') WHERE number = 3", "changed"),
    ],
)
def test_a_transcript_that_was_rolled_back_or_changed_does_not_go_on(
    ledger: Ledger, edit: str, words: str
) -> None:
    release = opened(ledger)
    other = resumed_answers("ward", patients(), ledger=ledger)  # record 2
    release.answer(queries(1))  # record 3
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(edit)
    with pytest.raises(LedgerError, match=words):
        (
            release if "rolled" in words else resumed_answers("ward", patients(), ledger=ledger)
        ).answer(queries(1, seed=1))
    assert other.kept.name == "ward"


@pytest.mark.parametrize("together", [False, True], ids=["the file", "all beside it"])
def test_a_transcript_that_was_put_back_in_place_does_not_go_on(
    ledger: Ledger, together: bool
) -> None:
    """No entry is missing then, and the file has its number: what was answered is remembered."""
    release = opened(ledger)
    release.answer(queries(1))
    folder = ledger.path.parent
    kept = {each: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    release.answer(queries(1, seed=1))  # which would be answered again, with another noise
    for file, content in kept.items():
        if together or file == ledger.path:
            file.write_bytes(content)
    ledger.verify()
    with pytest.raises(LedgerError, match="rolled back"):
        resumed_answers("ward", patients(), ledger=ledger)


def test_what_is_remembered_of_answers_does_not_grow_for_ever(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_LARGEST", 300)
    release = opened(ledger)
    for seed in range(9):
        release.answer(queries(1, seed))
    sizes = [each.stat().st_size for each in ledger.path.parent.glob("*-answers-*")]
    assert len(sizes) == 1
    assert max(sizes) < 500


def test_persons_with_several_rows_have_the_promise_of_the_schema(tmp_path: Path) -> None:
    table = {**patients(), "who": np.arange(300) // 2}
    schema = Schema(SCHEMA.columns, SCHEMA.label, person=Person("who", 2))
    ledger = Ledger(f"sqlite:///{tmp_path / 'persons.db'}")
    ledger.open("patients", cap=ZCDP(2.0), group=2)
    made = open_answers("ward", schema, table, budget=ZCDP(0.5), ledger=ledger, dataset="patients")
    assert made.kept.guarantee.group == 2
    assert str(made.kept.guarantee.budget) == str(ZCDP(0.5))
    assert made.kept.row_guarantee.budget.amount == pytest.approx(0.125)
    assert ledger.remaining("patients") == pytest.approx(1.5)
    again = resumed_answers("ward", table, ledger=ledger)
    assert made.answer(queries(1)) == again.answer(queries(1))


def test_a_pure_budget_gives_a_sparse_vector(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'pure.db'}")
    ledger.open("patients", cap=PureDP(1.0))
    made = open_answers(
        "ward", SCHEMA, patients(), budget=PureDP(1.0), ledger=ledger, dataset="patients"
    )
    assert not made.shared
    assert np.isfinite(made.answer(queries(2))).all()
