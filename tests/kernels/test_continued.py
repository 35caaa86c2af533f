"""One release, one continuation: no second noise for a query, however the predictor is copied."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import ZCDP
from privet.answers import records
from privet.answers.journal import _TURNS
from privet.errors import DataError, DeclarationError, PrivetError
from privet.kernels import Gaussian, InteractivePredictor, Linear, load_transcript
from tests.kernels.people import queries, table

X, Y = table(60)
Z = queries(6)


def predictor(journal: Path | None = None, **changed: Any) -> InteractivePredictor:
    told: dict[str, Any] = {"kernel": Gaussian(0.5), "budget": ZCDP(5.0), "regularization": 0.05}
    return InteractivePredictor(**{**told, "classes": [0, 1], "journal": journal, **changed})


def forget_process() -> None:
    """What another process knows of the releases of this one: nothing."""
    _TURNS.clear()


MECHANISMS = [{}, {"mechanism": "sparse_vector", "budget": ZCDP(50.0), "queries": 100}]


@pytest.mark.parametrize("changed", MECHANISMS, ids=["function", "sparse_vector"])
def test_a_journalled_release_goes_on_with_its_journal_only(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    path, saved = tmp_path / "journal", tmp_path / "saved"
    model = predictor(path, **changed).fit(X, Y)
    model.answer(Z[:3])
    model.save(saved)
    forget_process()
    for source in (path, saved, load_transcript(path), load_transcript(saved)):
        with pytest.raises(DeclarationError, match="keeps a journal"):
            predictor(**changed).resume(X, Y, source)
    other = tmp_path / "other"
    predictor(other, **changed).fit(X, Y)
    with pytest.raises(DeclarationError, match="another release"):
        predictor(other, **changed).resume(X, Y, saved)
    with pytest.raises(DataError, match="missing"):
        predictor(tmp_path / "nowhere", **changed).resume(X, Y, saved)
    shutil.copy(path, tmp_path / "copy")
    shutil.copy(f"{path}.end", tmp_path / "copy.end")
    with pytest.raises(DeclarationError, match="copy of a journal"):
        predictor(tmp_path / "copy", **changed).resume(X, Y, tmp_path / "copy")
    (tmp_path / "alias").symlink_to(tmp_path, target_is_directory=True)
    again = predictor(tmp_path / "alias" / "journal", **changed).resume(X, Y, saved)
    assert (again.answer(Z[:3]) == model.answer(Z[:3])).all()


def test_five_resumptions_give_one_answer(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    predictor(path).fit(X, Y)
    said = set()
    for _ in range(5):
        forget_process()
        said.add(float(predictor(path).resume(X, Y, path).answer(Z[:1])[0]))
    assert len(said) == 1
    assert load_transcript(path).resumed == 5


def test_a_journal_that_was_put_back_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    model = predictor(path).fit(X, Y)
    shutil.copy(path, tmp_path / "kept")
    model.answer(Z[:1])
    model.save(tmp_path / "saved")
    newest = path.read_bytes()
    for write in (lambda: shutil.copy(tmp_path / "kept", path), lambda: path.unlink()):
        write()
        forget_process()
        with pytest.raises(DataError, match=r"older than what was answered|missing"):
            predictor(path).resume(X, Y, tmp_path / "saved")
    shutil.copy(tmp_path / "kept", path)
    with pytest.raises(DataError, match="older than what was answered"):
        predictor(path).resume(X, Y, path)
    path.write_bytes(newest)
    end = Path(f"{path}.end")
    end.unlink()
    with pytest.raises(DataError, match="missing"):
        predictor(path).resume(X, Y, path)
    with pytest.raises(DeclarationError, match="exists already"):
        predictor(path).fit(X, Y)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(1.0)], ids=["session", "vector"])
def test_a_crash_while_the_journal_is_opened_loses_nothing(kernel: Any, tmp_path: Path) -> None:
    """The file .end is written first and holds the opening, until something was answered."""
    path = tmp_path / "journal"
    model = predictor(path, kernel=kernel).fit(X, Y)
    opening, end = path.read_bytes(), Path(f"{path}.end")
    path.unlink()  # the state after a crash between the two files: nobody has asked yet
    known, lines = records.read(end)[0]
    records.write(end, [{key: known[key] for key in known if key != "written"}, lines])
    forget_process()
    again = predictor(path, kernel=kernel).resume(X, Y, path)
    assert path.read_bytes().startswith(opening)
    assert again.transcript_.identity == model.transcript_.identity
    assert again.guarantee_ == model.guarantee_
    said = again.answer(Z[:2])
    assert np.isfinite(said).all()
    if again.publishes_queries:  # once answered, a missing journal is missing
        path.unlink()
        forget_process()
        with pytest.raises((DataError, FileNotFoundError)):
            predictor(path, kernel=kernel).resume(X, Y, path)
        with pytest.raises(DataError, match="missing"):
            predictor(path, kernel=kernel).resume(X, Y, again.transcript_)


def test_a_transcript_goes_on_from_its_end_within_a_process(tmp_path: Path) -> None:
    model = predictor().fit(X, Y)
    model.answer(Z[:2])
    model.save(tmp_path / "t")
    first = predictor().resume(X, Y, tmp_path / "t")
    first.answer(Z[2:3])
    with pytest.raises(DataError, match="not the newest"):
        predictor().resume(X, Y, tmp_path / "t")
    with pytest.raises(DataError, match="Another predictor has continued"):
        model.answer(Z[2:3])
    assert (model.answer(Z[:2]) == first.answer(Z[:2])).all()  # what was said is repeated
    second = predictor().resume(X, Y, first.transcript_)
    assert second.answer(Z[2:3]) == first.answer(Z[2:3])
    with pytest.raises(DataError, match="Another predictor has continued"):
        first.answer(Z[3:4])
    with pytest.raises(DeclarationError, match="drop journal="):
        predictor(tmp_path / "new").resume(X, Y, second.transcript_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("journalled", [False, True])
def test_a_fork_does_not_answer(journalled: bool, tmp_path: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from tests.kernels.test_continued import X, Y, Z, predictor
from privet.errors import DeclarationError
model = predictor(Path({str(tmp_path / "journal")!r}) if {journalled} else None).fit(X, Y)
known = model.answer(Z[:1])
if os.fork() == 0:
    assert model.answer(Z[:1]) == known  # what was said is repeated
    try:
        model.answer(Z[1:2])
    except DeclarationError as error:
        os._exit(0 if "another process" in str(error) else 3)
    os._exit(4)
status = os.waitstatus_to_exitcode(os.wait()[1])
model.answer(Z[1:2])
sys.exit(status)
"""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    found = subprocess.run([sys.executable, "-c", script], env=env, cwd=root, check=False)
    assert found.returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("journalled", [False, True])
def test_a_fork_resumes_with_the_journal_only(journalled: bool, tmp_path: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from tests.kernels.test_continued import X, Y, Z, predictor
from privet.errors import DataError, DeclarationError
path = Path({str(tmp_path / "journal")!r}) if {journalled} else None
model = predictor(path).fit(X, Y)
model.answer(Z[:1])
if os.fork() == 0:
    try:
        predictor(path).resume(X, Y, model.transcript_).answer(Z[1:2])
    except DeclarationError as error:
        os._exit(0 if "forked" in str(error) and not {journalled} else 3)
    os._exit(0 if {journalled} else 4)
status = os.waitstatus_to_exitcode(os.wait()[1])
try:
    model.answer(Z[1:2])  # of the two only one goes on
except DataError:
    status = status or (0 if {journalled} else 5)
else:
    status = status or (6 if {journalled} else 0)
sys.exit(status)
"""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    found = subprocess.run([sys.executable, "-c", script], env=env, cwd=root, check=False)
    assert found.returncode == 0


def test_threads_that_ask_the_same_get_one_answer() -> None:
    model = predictor().fit(X, Y)
    said: list[bytes] = []
    refused: list[PrivetError] = []

    def ask() -> None:
        try:
            said.append(model.answer(Z).tobytes())
        except PrivetError as error:  # while another is answered
            refused.append(error)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) + len(refused) == 16
    assert len(set(said)) == 1
    assert sum(len(batch.answers) for batch in model.transcript_.batches) == len(Z)


@pytest.mark.parametrize("journalled", [False, True])
def test_whoever_is_overtaken_while_it_answers_gives_nothing(
    journalled: bool, tmp_path: Path
) -> None:
    """Another predictor takes the release up after the first was asked and before it answers."""
    path = tmp_path / "journal" if journalled else None
    taken: list[InteractivePredictor] = []

    model = predictor(path).fit(X, Y)
    model.answer(Z[:1])
    session = model._curator.session
    assert session is not None
    answer = session.answer

    def slowly(*asked: Any) -> Any:
        found = answer(*asked)
        taken.append(predictor(path).resume(X, Y, model.transcript_))
        return found

    session.answer = slowly  # type: ignore[method-assign]
    with pytest.raises(DataError, match=r"[Aa]nother p"):
        model.answer(Z[1:2])
    assert len(model.transcript_) == 1
    taken[0].answer(Z[1:2])


def test_a_release_without_a_name_repeats_but_does_not_go_on(tmp_path: Path) -> None:
    """Transcripts written before releases had an identity."""
    model = predictor().fit(X, Y)
    said = model.answer(Z)
    old = model.transcript_
    old.identity = ""
    old.save(tmp_path / "t")
    assert (InteractivePredictor.load(tmp_path / "t").answer(Z) == said).all()
    with pytest.raises(DeclarationError, match="older Privet"):
        predictor().resume(X, Y, tmp_path / "t")


def test_rows_are_taken_again_as_often_as_the_sensitivity_covers(tmp_path: Path) -> None:
    model = predictor().fit(X, Y)
    model.transcript_.resumed = 63
    with pytest.raises(DeclarationError, match="resumed 63 times"):
        predictor().resume(X, Y, model.transcript_)
    model.transcript_.resumed = 62
    again = predictor().resume(X, Y, model.transcript_)
    known = again._opening(3).design(len(Y)).minimizer
    for each in (model, again):
        found = each._curator.session._predict  # type: ignore[union-attr]
        assert found.gradient <= known.tolerance
    again.save(tmp_path / "t")
    assert load_transcript(tmp_path / "t").resumed == 63


def test_a_released_vector_needs_no_journal_to_go_on(tmp_path: Path) -> None:
    model = predictor(tmp_path / "j", kernel=Linear(2.0)).fit(X, Y)
    again = predictor(kernel=Linear(2.0)).resume(X, Y, tmp_path / "j")
    assert (again.answer(Z) == model.answer(Z)).all()
    assert (pickle.loads(pickle.dumps(model)).answer(Z) == model.answer(Z)).all()
    assert np.isfinite(again.answer(Z + 1.0)).all()
