"""Journals that were put back in ways that the two files alone do not show."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from privet.answers import journal, records
from privet.errors import DataError
from privet.ledger.memory import FOLDER
from tests.kernels.test_continued import X, Y, Z, forget_process, predictor

ROOT = Path(__file__).parents[2]


def copied(path: Path, to: Path) -> None:
    """Both files of a journal, as a backup or its restoration copies them."""
    to.mkdir(exist_ok=True)
    for name in (path.name, f"{path.name}.end"):
        shutil.copy2(path.with_name(name), to / name)


def test_who_still_runs_notices_a_journal_that_was_put_back(tmp_path: Path) -> None:
    """Another process has answered, and the files of before are put back under the first one."""
    path = tmp_path / "journal"
    model = predictor(path).fit(X, Y)
    model.answer(Z[:1])
    copied(path, tmp_path / "backup")
    script = f"""
from pathlib import Path
from tests.kernels.test_continued import X, Y, Z, predictor
path = Path({str(path)!r})
predictor(path).resume(X, Y, path).answer(Z[1:2])
"""
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    copied(tmp_path / "backup" / "journal", tmp_path)
    with pytest.raises(DataError, match="not as it was left"):
        model.answer(Z[1:2])
    assert len(model.transcript_) == 1


class Killed(BaseException):
    """In the place of the end of a process."""


def crashed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left where a process ends after a line was written and before it was told."""
    model = predictor(path).fit(X, Y)
    model.answer(Z[:1])

    def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(journal, "_remember", killed)
        with pytest.raises(Killed):
            model.answer(Z[1:2])
    forget_process()


def test_a_backup_of_what_a_crash_left_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks like a crash again: only who remembers more can tell."""
    path = tmp_path / "journal"
    crashed(path, monkeypatch)
    copied(path, tmp_path / "backup")
    predictor(path).resume(X, Y, path).answer(Z[2:3])
    forget_process()
    copied(tmp_path / "backup" / "journal", tmp_path)
    for sure in (False, True):  # nobody's word is taken against what is remembered
        with pytest.raises(DataError, match="older than what was answered"):
            predictor(path).resume(X, Y, path, newest=sure)


@pytest.mark.parametrize("damage", ["privet-heads-1 -\nno head\n", "another file\n"])
def test_a_damaged_memory_of_a_journal_is_refused_in_words(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    model = predictor(path).fit(X, Y)
    model.answer(Z[:1])
    memory = Path(os.environ[FOLDER]) / f"{model.transcript_.identity}-journal"
    memory.write_text(damage)
    forget_process()
    with pytest.raises(DataError, match="remembers the newest line"):
        predictor(path).resume(X, Y, path)
    memory.unlink()
    predictor(path).resume(X, Y, path).answer(Z[1:2])
    assert memory.read_text().count("\n") == 3  # the file's first line, a resumption, an answer


def test_a_memory_that_cannot_be_written_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(FOLDER, str(tmp_path / "file" / "folder"))
    path = tmp_path / "journal"
    predictor(path).fit(X, Y).answer(Z[:1])
    forget_process()
    predictor(path).resume(X, Y, path).answer(Z[1:2])


def test_the_end_from_before_the_first_answer_begins_no_journal_anew(tmp_path: Path) -> None:
    path, end = tmp_path / "journal", tmp_path / "journal.end"
    model = predictor(path).fit(X, Y)
    shutil.copy2(end, tmp_path / "kept")
    model.answer(Z[:1])
    path.unlink()
    shutil.copy2(tmp_path / "kept", end)
    forget_process()
    for source in (path, model.transcript_):
        with pytest.raises((DataError, FileNotFoundError)):
            predictor(path).resume(X, Y, source)
    assert not path.exists()


LAYERS = """
set -e
mount -t tmpfs tmpfs "$1" 2>/dev/null || exit 77
cd "$1"; mkdir image up1 up2 work1 work2 here
mount --bind image here; PRIVET_STATE="$1/state" "$2" -c "$CODE" "$1/here/journal"; umount here
for i in 1 2; do
  mount -t overlay overlay -o "lowerdir=image,upperdir=up$i,workdir=work$i" here || exit 77
  PRIVET_STATE="$1/state$i" "$2" -c "$CODE" "$1/here/journal"; umount here
done
"""
ANSWERS = """
import os, sys
from pathlib import Path
from privet.errors import DataError
from tests.kernels.test_continued import X, Y, Z, predictor
path = Path(sys.argv[1])
try:
    if path.exists():
        predictor(path).resume(X, Y, path).answer(Z[1:2])
    else:
        predictor(path).fit(X, Y).answer(Z[:1])
    print("answered")
except DataError as error:
    print("refused" if "not as it was left" in str(error) else error)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_two_containers_of_one_image_do_not_go_on_with_its_journal(tmp_path: Path) -> None:
    """Each layer shows the file with the time of its last change until it is written."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", LAYERS, "sh", str(tmp_path), sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "CODE": ANSWERS, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("mounts are not permitted here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["answered", "refused", "refused"]


def test_a_journal_says_nothing_of_when_it_was_left(tmp_path: Path) -> None:
    """The time is for the process that holds it; a transcript is public."""
    path = tmp_path / "journal"
    model = predictor(path).fit(X, Y)
    model.answer(Z[:1])
    left = str(model.transcript_.left).encode()
    assert left not in path.read_bytes()
    assert left in records.read_whole(f"{path}.end", records.LARGEST)
