"""Attacks on one release, one continuation: containers, copies, files put back, races."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from privet import ZCDP, Ledger, PureDP
from privet.errors import DataError
from privet.kernels import InteractivePredictor
from privet.ledger.charge import notes
from privet.ledger.memory import FOLDER
from tests.kernels.test_continued import X, Y, Z, forget_process, predictor
from tests.laws.test_forked_noise import UNSHARE, namespaces

ROOT = Path(__file__).parents[2]
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
BEGIN = """
import json, os, sys, threading, time
from pathlib import Path
from tests.kernels.test_continued import X, Y, Z, predictor
from tests.laws.forked import in_a_child
from privet.errors import DataError, DeclarationError, PrivetError
path = Path(sys.argv[1])
"""


def start(script: str, path: Path, *before: str) -> subprocess.Popen[str]:
    """Python in a process of its own."""
    return subprocess.Popen(
        [*before, sys.executable, "-W", "ignore", "-c", BEGIN + script, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(script: str, path: Path, *before: str) -> Any:
    """What a script prints, as JSON."""
    process = start(script, path, *before)
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors[-2000:]
    return json.loads(out)


# -- processes that share memory -------------------------------------------------------------------


@forks
def test_workers_that_are_all_process_one_refuse(tmp_path: Path) -> None:
    """Four containers started from one process 1: its number is theirs, its answers are not."""
    if not namespaces():
        pytest.skip("process namespaces are not permitted here")
    said = run(
        """
import ctypes
assert os.getpid() == 1
models = [predictor().fit(X, Y), predictor(path).fit(X, Y)]
for model in models:
    model.answer(Z[:1])

def tried():
    assert os.getpid() == 1
    found = []
    for model in models:
        for ask in (
            lambda: model.answer(Z[1:2]),
            lambda: predictor().resume(X, Y, model.transcript_, newest=True).answer(Z[1:2]),
        ):
            try:
                found.append(float(ask()[0]))
            except PrivetError as error:
                found.append(type(error).__name__)
    return found

def container():
    assert ctypes.CDLL(None).unshare(0x20000000) == 0
    return in_a_child(tried)

print(json.dumps([in_a_child(container) for _ in range(4)]))
for model in models:
    assert len(model.answer(Z[1:2])) == 1  # the first process goes on
""",
        tmp_path / "journal",
        *UNSHARE,
    )
    assert said == [["DeclarationError"] * 4] * 4


@forks
def test_a_fork_from_a_thread_refuses_while_another_thread_answers(tmp_path: Path) -> None:
    said = run(
        """
model = predictor(path).fit(X, Y)
model.answer(Z[:1])
stop = threading.Event()

def ask():
    for z in range(1, 10_000):
        if stop.is_set():
            return
        model.answer(Z[:1] + z)

threading.Thread(target=ask).start()

def tried():
    try:
        return float(model.answer(Z[:1] - 1.0)[0])
    except DeclarationError:
        return "refused"

found = []
threads = [threading.Thread(target=lambda: found.append(in_a_child(tried))) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
stop.set()
print(json.dumps(found))
""",
        tmp_path / "journal",
    )
    assert said == ["refused"] * 8


@forks
def test_a_lock_that_was_held_at_the_fork_stops_no_child(tmp_path: Path) -> None:
    said = run(
        """
from privet.answers import journal
model = predictor(path).fit(X, Y)
model.answer(Z[:1])
with journal._ONE_AT_A_TIME:  # as another thread may hold it
    print(json.dumps(in_a_child(
        lambda: predictor(path).resume(X, Y, path).answer(Z[:2]).tolist()
    )))
""",
        tmp_path / "journal",
    )
    assert len(said) == 2


@pytest.mark.parametrize("journaled", [False, True])
def test_no_copy_of_a_predictor_is_made(journaled: bool, tmp_path: Path) -> None:
    model = predictor(tmp_path / "journal" if journaled else None).fit(X, Y)
    model.answer(Z[:1])
    ways: list[Any] = [
        copy.copy,
        copy.deepcopy,
        *(lambda m, p=p: pickle.dumps(m, protocol=p) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
        lambda m: joblib.dump(m, io.BytesIO()),
        lambda m: copy.deepcopy(m._curator),
        lambda m: copy.copy(m._curator.session),
    ]
    for way in ways:
        with pytest.raises(TypeError, match="training rows"):
            way(model)
    assert len(ways) == 11


# -- files that were put back ----------------------------------------------------------------------


def keep(path: Path, archive: Path) -> None:
    """A backup of the journal and its end."""
    with tarfile.open(archive, "w") as tar:
        for file in (path, Path(f"{path}.end")):
            tar.add(file, arcname=file.name)


def put_back(path: Path, archive: Path) -> None:
    """As a backup program does, with the times of the files."""
    with tarfile.open(archive) as tar:
        tar.extractall(path.parent, filter="data")


@pytest.mark.parametrize("answered", [0, 1, 3])
def test_a_journal_put_back_together_with_its_end_is_noticed(
    answered: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backup is whole and looks like the newest state: both files agree."""
    path, archive = tmp_path / "journal", tmp_path / "backup.tar"
    model = predictor(path).fit(X, Y)
    for i in range(answered):
        model.answer(Z[i : i + 1])
    keep(path, archive)
    model.answer(Z[4:5])
    put_back(path, archive)
    forget_process()
    monkeypatch.setenv(FOLDER, str(tmp_path / "another user"))  # who does not remember more
    with pytest.raises(DataError, match="put back from a copy, moved"):
        predictor(path).resume(X, Y, path)
    # where nobody knows of an answer since, the curator may say that there was none
    again = predictor(path).resume(X, Y, path, newest=True)
    assert len(again.transcript_) == answered


def test_a_folder_that_was_copied_over_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "now"
    folder.mkdir()
    predictor(folder / "journal").fit(X, Y).answer(Z[:1])
    shutil.copytree(folder, tmp_path / "then")
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "then", folder)  # with times as far as a program can set them
    forget_process()
    with pytest.raises(DataError, match="newest=True"):
        predictor(folder / "journal").resume(X, Y, folder / "journal")


@pytest.mark.parametrize("torn", ["the end is older", "half a line"])
def test_a_backup_of_two_times_is_no_crash(
    torn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program copies one file, then the other, while answers are given in between."""
    path = tmp_path / "journal"
    end = Path(f"{path}.end")
    model = predictor(path).fit(X, Y)
    older = end.read_bytes()
    model.answer(Z[:1])
    journal, newer = path.read_bytes(), end.read_bytes()
    model.answer(Z[1:2])  # which would be answered again, with another noise
    path.write_bytes(journal + (b"{" if torn == "half a line" else b""))
    end.write_bytes(newer if torn == "half a line" else older)
    forget_process()
    monkeypatch.setenv(FOLDER, str(tmp_path / "another user"))  # who does not remember more
    with pytest.raises(DataError, match="put back from a copy, moved"):
        predictor(path).resume(X, Y, path)


@pytest.mark.parametrize("lost", [0, 1, 90], ids=["a line", "its end", "a part of it"])
def test_what_a_crash_leaves_needs_no_word(lost: int, tmp_path: Path) -> None:
    """A line that the end does not know, or a part of one, which nobody has seen."""
    path = tmp_path / "journal"
    known = predictor(path).fit(X, Y).answer(Z[:1])
    died = start(
        """
from privet.answers import journal
model = predictor(path).resume(X, Y, path)
journal.written = lambda _: os._exit(9)  # between the two files
model.answer(Z[1:2])
""",
        path,
    )
    died.communicate(timeout=240)
    assert died.returncode == 9
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - lost)
    forget_process()
    again = predictor(path).resume(X, Y, path)
    assert again.answer(Z[:1]) == known
    assert len(again.transcript_) == (2 if lost == 0 else 1)


# -- several processes -----------------------------------------------------------------------------


def test_without_a_journal_another_process_goes_on_with_the_curators_word_only(
    tmp_path: Path,
) -> None:
    model = predictor().fit(X, Y)
    known = model.answer(Z[:1])
    model.save(tmp_path / "said")
    said = run(
        """
found = []
for word in (False, True):
    try:
        found.append(predictor().resume(X, Y, path, newest=word).answer(Z[:2]).tolist())
    except DeclarationError as error:
        found.append(str(error))
print(json.dumps(found))
""",
        tmp_path / "said",
    )
    assert "newest=True" in said[0]
    assert said[1][0] == known[0]


def test_of_eight_processes_with_one_journal_one_draws(tmp_path: Path) -> None:
    """All resume at once and ask the same: whoever gets an answer gets the same one."""
    path = tmp_path / "journal"
    predictor(path).fit(X, Y).answer(Z[:1])
    race = """
while not Path(f"{path}.go").exists():
    time.sleep(0.001)
found = []
for _ in range(20):
    try:
        model = predictor(path).resume(X, Y, path)
        found.append(model.answer(Z[3:4]).tolist())
    except (DataError, DeclarationError):
        continue
print(json.dumps(found))
"""
    racers = [start(race, path) for _ in range(8)]
    Path(f"{path}.go").touch()
    answers, refusals = set(), 0
    for racer in racers:
        out, errors = racer.communicate(timeout=240)
        assert racer.returncode == 0, errors[-2000:]
        found = [tuple(answer) for answer in json.loads(out)]
        answers |= set(found)
        refusals += 20 - len(found)
    assert len(answers) == 1
    assert refusals > 0


def test_of_four_releases_with_one_journal_one_is_charged(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("people", ZCDP(100.0))
    race = """
from privet import Ledger
ledger = Ledger(f"sqlite:///{path.with_name('budget.db')}")
model = predictor(path, ledger=ledger, dataset="people")
while not Path(f"{path}.go").exists():
    time.sleep(0.001)
try:
    model.fit(X, Y)
    print(json.dumps("opened"))
except DeclarationError as error:
    print(json.dumps(str(error)))
"""
    racers = [start(race, tmp_path / "journal") for _ in range(4)]
    (tmp_path / "journal.go").touch()
    said = sorted(json.loads(racer.communicate(timeout=240)[0]) for racer in racers)
    assert [word == "opened" for word in said] == [False, False, False, True]
    assert ledger.remaining("people") == 95.0


def test_a_journal_that_fails_after_the_charge_says_what_was_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.open("people", PureDP(3.0))
    path = tmp_path / "journal"
    told: dict[str, Any] = {"mechanism": "sparse_vector", "budget": 1.0, "queries": 10}
    model = predictor(path, ledger=ledger, dataset="people", **told)
    run_it = InteractivePredictor._run

    def meanwhile(self: InteractivePredictor, data: Any, targets: Any) -> str:
        path.mkdir()  # somebody else's, after the name was claimed
        return run_it(self, data, targets)

    monkeypatch.setattr(InteractivePredictor, "_run", meanwhile)
    with pytest.raises(OSError) as caught:
        model.fit(X, Y)
    (note,) = notes(caught.value)
    assert "epsilon = 1" in note
    assert "charged to 'people'" in note
    assert not hasattr(model, "guarantee_")
    assert not hasattr(model, "transcript_")


def test_a_refused_fit_gives_the_name_of_its_journal_back(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with pytest.raises(DataError):
        predictor(path).fit(np.full_like(X, np.nan), Y)
    assert list(tmp_path.iterdir()) == []
    predictor(path).fit(X, Y)


def test_resumptions_use_up_the_sparse_vector(tmp_path: Path) -> None:
    """Each begins an epoch anew; the last one leaves guesses only, and the model says so."""
    told: dict[str, Any] = {"mechanism": "sparse_vector", "budget": ZCDP(50.0), "queries": 100}
    model = predictor(**told).fit(X, Y)
    allowed = model.updates_allowed_
    for turn in range(allowed + 1):
        assert model.exhausted_ == (model.transcript_.state["epochs"] >= allowed and turn > 0)
        if model.exhausted_:
            break
        model.answer(Z[:1] + float(turn))
        model = predictor(**told).resume(X, Y, model.transcript_)
    assert model.exhausted_
    assert model.updates_ <= allowed
    model.save(tmp_path / "said")
    assert InteractivePredictor.load(tmp_path / "said").exhausted_
