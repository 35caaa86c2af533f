"""Files in several hands: copies that look like the original, and users with different rights."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from privet import Ledger, PureDP
from privet.errors import LedgerError
from privet.ledger.beside import Beside
from privet.ledger.memory import FOLDER
from privet.ledger.statx import birth
from tests.strategies import pure_event

ROOT = Path(__file__).parents[2]
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)


@pytest.fixture
def people(tmp_path: Path) -> Ledger:
    """Half of the cap is spent."""
    (tmp_path / "folder").mkdir()
    ledger = Ledger(f"sqlite:///{tmp_path}/folder/budget.db")
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.5)))
    return ledger


# -- copies with the number of the original ------------------------------------------------------


def test_a_copy_with_the_number_of_the_original_is_refused(
    people: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the first file of a new disk has it: every new disk counts from the same number on."""
    if birth(people.path) is None:
        pytest.skip("this file system does not tell when a file was born")
    copy = Ledger(f"sqlite:///{shutil.copytree(people.path.parent, tmp_path / 'b')}/budget.db")
    heads = Path(f"{copy.path}-head")
    lead, _, rest = heads.read_text().partition("\n")
    name, _, *others = lead.split(" ")
    lead = " ".join([name, str(os.stat(copy.path).st_ino), *others])
    heads.write_text(f"{lead}\n{rest}")
    monkeypatch.setenv(FOLDER, str(tmp_path / "another machine"))
    with pytest.raises(LedgerError, match="is a copy"):
        copy.reserve("people", pure_event(0.5))
    people.reserve("people", pure_event(0.5))


LAYERS = """
set -e
mount -t tmpfs tmpfs "$1" 2>/dev/null || exit 77
cd "$1"; mkdir image up1 up2 work1 work2 one two
charge() { PRIVET_STATE="$1/state$3" "$2" -c "$CODE" "$4"; }
charge "$1" "$2" 0 image/budget.db
mount -t overlay overlay -o lowerdir=image,upperdir=up1,workdir=work1 one 2>/dev/null || exit 77
mount -t overlay overlay -o lowerdir=image,upperdir=up2,workdir=work2 two 2>/dev/null || exit 77
charge "$1" "$2" 1 one/budget.db
charge "$1" "$2" 2 two/budget.db
charge "$1" "$2" 3 one/own.db
charge "$1" "$2" 3 one/own.db
"""
LAST_UNIT = """
import sys, os
from privet import Ledger, PureDP
from privet.errors import LedgerError
from tests.strategies import pure_event
ledger = Ledger("sqlite:///" + sys.argv[1])
try:
    if not os.path.exists(sys.argv[1]):
        ledger.open("people", PureDP(1.0))
    ledger.reserve("people", pure_event(0.5))
    print("granted")
except LedgerError as error:
    print("copy" if "is a copy" in str(error) else error)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_two_containers_of_one_image_are_granted_nothing(tmp_path: Path) -> None:
    """A layered file system shows both the number of the file in the image."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", LAYERS, "sh", str(tmp_path), sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "CODE": LAST_UNIT, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("mounts are not permitted here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["granted", "copy", "copy", "granted", "granted"]


def test_heads_from_before_births_were_noted_are_believed(people: Ledger) -> None:
    heads = Path(f"{people.path}-head")
    first, _, rest = heads.read_text().partition("\n")
    heads.write_text(" ".join(first.split(" ")[:2]) + "\n" + rest)
    people.settle(people.reserve("people", pure_event(0.25)))
    people.verify()


# -- several users -------------------------------------------------------------------------------


def as_user(number: int, work: Callable[[], object], state: Path, group: int = 2000) -> str:
    """What happens to a user without root's rights, in the group 2000 and one of their own."""
    import_module("privet.ledger.sqlite")  # by root: others may not read where Python lies
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ[FOLDER] = str(state / str(number))
            os.setgroups([2000])
            os.setgid(group)
            os.setuid(number)
            work()
            told = "granted"
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder of a group, in which every user can get to."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, 1001, 2000)
    folder.chmod(0o2775)
    yield folder
    shutil.rmtree(folder)


@needs_root
def test_who_may_not_write_the_heads_is_charged_nothing(shared: Path, tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{shared}/budget.db")
    tmp_path.chmod(0o777)

    def charge() -> None:
        ledger.settle(ledger.reserve("people", pure_event(0.25)))

    assert as_user(1001, lambda: ledger.open("people", PureDP(1.0)), tmp_path) == "granted"
    ledger.path.chmod(0o664)  # and the heads were forgotten
    assert "Nothing was charged" in as_user(1002, charge, tmp_path)
    assert ledger.remaining("people") == 1.0
    Path(f"{ledger.path}-head").chmod(0o600)  # nor may they read them
    assert "Nothing was charged" in as_user(1002, charge, tmp_path)
    Path(f"{ledger.path}-head").chmod(0o664)
    assert as_user(1002, charge, tmp_path) == "granted"
    assert as_user(1001, charge, tmp_path) == "granted"


@needs_root
def test_heads_that_are_written_anew_keep_the_rights_of_the_ledger(
    shared: Path, tmp_path: Path
) -> None:
    ledger = Ledger(f"sqlite:///{shared}/budget.db")
    assert as_user(1001, lambda: ledger.open("people", PureDP(1.0)), tmp_path) == "granted"
    ledger.path.chmod(0o660)
    Beside(ledger.path).begin(ledger.entries()[-1])  # by root
    found = os.stat(f"{ledger.path}-head")
    assert (found.st_uid, found.st_gid) == (1001, 2000)
    assert stat.S_IMODE(found.st_mode) == 0o660


@needs_root
def test_heads_that_another_writes_anew_keep_the_group_of_the_ledger(
    shared: Path, tmp_path: Path
) -> None:
    """Who does not own them cannot give them away, and the others must go on."""
    ledger, heads = Ledger(f"sqlite:///{shared}/budget.db"), Path(f"{shared}/budget.db-head")
    shared.chmod(0o770)  # new files get the group of whoever makes them
    tmp_path.chmod(0o777)

    def charge() -> None:
        ledger.settle(ledger.reserve("people", pure_event(0.25)))

    assert as_user(1001, lambda: ledger.open("people", PureDP(1.0)), tmp_path) == "granted"
    for file in (ledger.path, heads):
        os.chown(file, 1001, 2000)
        file.chmod(0o660)
    with heads.open("a") as file:
        file.write("9 half of a line, which is tidied at the next charge")
    for user in (1002, 1001, 1002):
        assert as_user(user, charge, tmp_path, group=user) == "granted"
    assert (heads.stat().st_uid, heads.stat().st_gid) == (1002, 2000)


@needs_root
def test_who_may_only_read_does_not_shut_the_owner_out(shared: Path, tmp_path: Path) -> None:
    """SQLite begins a log with the rights of whoever opens it first."""
    ledger = Ledger(f"sqlite:///{shared}/budget.db")

    def charge() -> None:
        ledger.settle(ledger.reserve("people", pure_event(0.25)))

    assert as_user(1001, lambda: ledger.open("people", PureDP(1.0)), tmp_path) == "granted"
    assert "may not write" in as_user(1002, charge, tmp_path)
    assert as_user(1001, charge, tmp_path) == "granted"


@pytest.mark.skipif(os.name != "posix", reason="locks are asked for on POSIX alone")
def test_a_probe_of_locks_that_is_killed_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second process is asked about a file without a name."""
    from privet.ledger import place

    seen: list[list[str]] = []
    run = subprocess.run

    def looking(*arguments: Any, **options: Any) -> Any:
        seen.append(os.listdir(tmp_path))
        return run(*arguments, **options)

    monkeypatch.setattr(place, "_KNOWN", {})
    monkeypatch.setattr(subprocess, "run", looking)
    Ledger(f"sqlite:///{tmp_path}/budget.db").open("people", PureDP(1.0))
    assert [set(names) - {f"budget.db{end}" for end in ("", "-wal", "-shm")} for names in seen] == [
        set()
    ]
    assert list(place._KNOWN.values()) == [True]
    monkeypatch.setattr(place, "_ASK", "")  # as where locks do nothing
    monkeypatch.setattr(place, "_KNOWN", {})
    with pytest.raises(LedgerError, match="locks do nothing"):
        Ledger(f"sqlite:///{tmp_path}/budget.db").reserve("people", pure_event(0.5))


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_a_new_ledger_is_for_its_owner_alone(sqlite_url: str) -> None:
    """Whoever may read it can hold a lock, for which all charges wait in vain."""
    before = os.umask(0)
    try:
        ledger = Ledger(sqlite_url)
        ledger.open("people", PureDP(1.0))
        ledger.reserve("people", pure_event(0.5))
        kept = sqlite3.connect(ledger.path)  # so that the log and its index stay
        kept.execute("SELECT count(*) FROM entries").fetchall()
        for end in ("", "-wal", "-shm", "-head"):
            assert os.stat(f"{ledger.path}{end}").st_mode & 0o777 == 0o600, end
        kept.close()
    finally:
        os.umask(before)


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="no /proc here")
def test_a_file_of_the_system_is_no_ledger() -> None:
    """It is called regular, and reading some of them never ends."""
    with pytest.raises(LedgerError, match="needs a file of its own"):
        Ledger("sqlite:////proc/version").entries()
