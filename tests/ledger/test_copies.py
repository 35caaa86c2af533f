"""One file, one ledger: second names, copies, roll-backs and lost logs are not charged in silence.

Each attack asks for the last unit a second time. It is refused, or, where no program on the machine
can know, found by ``verify`` with any receipt.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from privet import Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger import place as places
from privet.ledger.beside import Beside
from privet.ledger.entry import Entry
from privet.ledger.memory import FOLDER, own_heads
from privet.ledger.sqlite import SqliteStore
from privet.ledger.statx import birth, is_mounted
from privet.privacy.guarantee import Receipt
from tests.strategies import pure_event

ROOT = Path(__file__).parents[2]


@pytest.fixture
def people(tmp_path: Path) -> Ledger:
    """Half of the cap is spent."""
    (tmp_path / "folder").mkdir()
    ledger = Ledger(f"sqlite:///{tmp_path}/folder/budget.db")
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.5)))
    return ledger


def at(path: Path) -> Ledger:
    return Ledger(f"sqlite:///{path}")


def last_unit(ledger: Ledger) -> Receipt:
    return ledger.settle(ledger.reserve("people", pure_event(0.5)))


# -- second names ------------------------------------------------------------------------------


def test_a_hard_link_is_refused_by_both_names(people: Ledger) -> None:
    os.link(people.path, people.path.with_name("second.db"))
    for ledger in (people, at(people.path.with_name("second.db"))):
        with pytest.raises(LedgerError, match="2 names"):
            last_unit(ledger)
    people.path.with_name("second.db").unlink()
    last_unit(people)
    people.verify()


def test_a_symbolic_link_is_the_same_ledger(people: Ledger, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(people.path)
    last_unit(at(tmp_path / "link.db"))
    with pytest.raises(BudgetExceeded):
        last_unit(people)


@pytest.mark.parametrize(
    ("kind", "options", "refused"),
    [
        ("ext4", "rw", False),
        ("nfs4", "rw,hard", False),
        ("nfs", "rw,nolock", True),
        ("cifs", "rw,nobrl", True),
        ("fuse.sshfs", "rw", True),
        ("virtiofs", "rw", True),
        ("9p", "rw,trans=virtio", True),
    ],
)
def test_a_file_system_that_keeps_its_locks_to_one_machine_is_refused(
    people: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    options: str,
    refused: bool,
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"36 35 0:1 / {people.path.parent} {options} - {kind} there {options}\n")
    monkeypatch.setattr(places, "MOUNTS", mounts)
    if not refused:
        last_unit(people)
        return
    with pytest.raises(LedgerError, match="whose locks other machines do not see"):
        last_unit(people)


MOUNTED = """
import sys
from privet import Ledger
from privet.errors import LedgerError
from tests.strategies import pure_event
try:
    Ledger(sys.argv[1]).reserve("people", pure_event(0.5))
    print("granted")
except LedgerError as error:
    print(error)
"""


def mounted(source: Path, target: Path, asked: Path, state: Path, and_then: str = "true") -> str:
    """What a process finds that sees ``source`` mounted at ``target``, with a memory of its own."""
    mount = f"mount --bind '{source}' '{target}' 2>/dev/null || exit 77"
    run = f"{sys.executable} -c '{MOUNTED}' sqlite:///{asked}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount}; {and_then}; {run}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, FOLDER: str(state)},
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("mounts are not permitted here")
    assert done.returncode == 0, done.stderr
    return done.stdout


needs_mounts = pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")


@needs_mounts
def test_a_mount_of_the_file_alone_is_refused(people: Ledger, tmp_path: Path) -> None:
    (tmp_path / "container").mkdir()
    target = tmp_path / "container" / "budget.db"
    target.touch()
    told = mounted(people.path, target, target, tmp_path / "other")
    assert "mounted as a single file" in told
    assert people.remaining("people") == 0.5


@needs_mounts
@pytest.mark.parametrize("end", ["-wal", "-shm", "-head"])
def test_a_mount_of_a_file_beside_is_refused(people: Ledger, tmp_path: Path, end: str) -> None:
    """With a log or an index of its own a process meets nobody else's locks."""
    beside, own = Path(f"{people.path}{end}"), tmp_path / "own"
    beside.touch()
    shutil.copy(beside, own)
    told = mounted(own, beside, people.path, tmp_path / "other")
    assert "mounted as a single file" in told
    assert people.remaining("people") == 0.5


@needs_mounts
def test_a_mount_of_the_file_alone_is_refused_where_nobody_lists_mounts(
    people: Ledger, tmp_path: Path
) -> None:
    """A container without /proc, and with a copy of the heads beside the file."""
    (tmp_path / "container").mkdir()
    target = tmp_path / "container" / "budget.db"
    target.touch()
    shutil.copy(f"{people.path}-head", f"{target}-head")
    if not is_mounted(Path("/proc")):
        pytest.skip("this kernel does not tell where something is mounted")
    told = mounted(people.path, target, target, tmp_path / "other", and_then="umount -l /proc")
    assert "mounted as a single file" in told
    assert people.remaining("people") == 0.5


@needs_mounts
def test_a_mount_of_the_folder_is_the_same_ledger(people: Ledger, tmp_path: Path) -> None:
    (tmp_path / "container").mkdir()
    target = tmp_path / "container"
    told = mounted(people.path.parent, target, target / "budget.db", tmp_path / "other")
    assert told == "granted\n"
    with pytest.raises(BudgetExceeded):
        last_unit(people)


# -- copies ------------------------------------------------------------------------------------


def copy_of_the_file(people: Ledger, to: Path) -> Ledger:
    shutil.copy(people.path, to / "budget.db")
    return at(to / "budget.db")


def copy_of_the_folder(people: Ledger, to: Path) -> Ledger:
    shutil.copytree(people.path.parent, to, dirs_exist_ok=True)
    return at(to / "budget.db")


def backup(people: Ledger, to: Path) -> Ledger:
    source, target = sqlite3.connect(people.path), sqlite3.connect(to / "budget.db")
    source.backup(target)
    source.close()
    target.close()
    return at(to / "budget.db")


COPIES = [copy_of_the_file, copy_of_the_folder, backup]


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_is_read_and_not_charged(
    people: Ledger, tmp_path: Path, copied: Callable[[Ledger, Path], Ledger]
) -> None:
    (tmp_path / "copy").mkdir()
    copy = copied(people, tmp_path / "copy")
    copy.verify()
    assert copy.remaining("people") == 0.5
    with pytest.raises(LedgerError, match=r"copy|copied"):
        last_unit(copy)
    kept = last_unit(people)
    people.verify(kept)
    with pytest.raises(LedgerError, match=r"rolled back|cut off"):
        copy.verify(kept)


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_that_was_taken_over_is_another_ledger(
    people: Ledger, tmp_path: Path, copied: Callable[[Ledger, Path], Ledger]
) -> None:
    (tmp_path / "copy").mkdir()
    copy, before = copied(people, tmp_path / "copy"), people.entries()
    identity = copy.adopt("the disk was replaced", people.head())
    theirs, ours = last_unit(copy), last_unit(people)
    noted: Entry = copy.entries()[len(before)]
    assert noted.kind == "adopt"
    assert noted.body == {"from": before[0].ledger, "reason": "the disk was replaced"}
    assert {entry.ledger for entry in copy.entries()[len(before) :]} == {identity}
    copy.verify(theirs)
    people.verify(ours)
    for ledger, foreign in ((copy, ours), (people, theirs)):
        with pytest.raises(LedgerError, match="receipt"):
            ledger.verify(foreign)


def test_who_charges_while_a_ledger_is_taken_over_is_remembered(
    people: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the entry and the new file of heads, by somebody whose own folder is elsewhere."""
    real, charged = SqliteStore._exclusive, list[int]()

    @contextmanager
    def then_charged(store: SqliteStore, connection: sqlite3.Connection) -> Iterator[None]:
        with real(store, connection):
            yield
        if not charged:
            charged.append(0)
            charged.append(people.reserve("people", pure_event(0.5)))

    monkeypatch.setattr(SqliteStore, "_exclusive", then_charged)
    people.adopt("to be sure")
    newest = Beside(people.path).heads.newest()
    assert newest is not None
    assert newest[0] == charged[1]


def test_a_ledger_is_renamed_with_its_heads(people: Ledger) -> None:
    moved = people.path.with_name("moved.db")
    people.path.rename(moved)
    with pytest.raises(LedgerError, match=r"without the file moved\.db-head"):
        last_unit(at(moved))
    Path(f"{people.path}-head").rename(f"{moved}-head")
    last_unit(at(moved))
    at(moved).verify()


def test_an_unverified_copy_is_not_taken_over(people: Ledger, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    copy = copy_of_the_file(people, tmp_path / "copy")
    kept = last_unit(people)
    with pytest.raises(LedgerError, match="cut off"):
        copy.adopt("", kept)
    connection = sqlite3.connect(copy.path, isolation_level=None)
    connection.execute("UPDATE entries SET totals = replace(totals, '0.5', '0.4')")
    connection.close()
    with pytest.raises(LedgerError, match="was changed"):
        copy.adopt()


# -- roll-backs --------------------------------------------------------------------------------


def in_place(people: Ledger, before: dict[str, bytes]) -> None:
    """The old bytes into the same file; its heads stay."""
    people.path.write_bytes(before["budget.db"])


def with_its_heads(people: Ledger, before: dict[str, bytes]) -> None:
    """The whole folder as it was, in the same files: only the user's own folder remembers."""
    for name, content in before.items():
        people.path.with_name(name).write_bytes(content)


def replaced(people: Ledger, before: dict[str, bytes]) -> None:
    people.path.with_name("old").write_bytes(before["budget.db"])
    people.path.with_name("old").replace(people.path)


@pytest.mark.parametrize("roll_back", [in_place, with_its_heads, replaced])
def test_a_roll_back_with_the_clock_set_back_is_refused(
    people: Ledger,
    roll_back: Callable[[Ledger, dict[str, bytes]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import time

    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    before = {path.name: path.read_bytes() for path in people.path.parent.iterdir()}
    kept = last_unit(people)
    roll_back(people, before)
    assert people.remaining("people") == 0.5
    for attempt in (lambda: last_unit(people), people.verify, lambda: people.verify(kept)):
        with pytest.raises(LedgerError, match="rolled back"):
            attempt()


def test_a_roll_back_to_before_a_ledger_was_taken_over_is_refused(people: Ledger) -> None:
    """Whoever remembers the new identity must not forget it with the old one."""
    if birth(people.path) is None:
        pytest.skip("this file system does not say when a file was made")
    before = {path.name: path.read_bytes() for path in people.path.parent.iterdir()}
    people.adopt("to be sure")
    kept = last_unit(people)
    with_its_heads(people, before)
    assert people.remaining("people") == 0.5
    for attempt in (lambda: last_unit(people), people.verify, lambda: people.verify(kept)):
        with pytest.raises(LedgerError, match="rolled back"):
            attempt()
    # taken over once more, it is not what it was after the first time either
    first = {path.name: path.read_bytes() for path in people.path.parent.iterdir()}
    people.adopt("it was put back on purpose")
    last_unit(people)
    with_its_heads(people, first)
    with pytest.raises(LedgerError, match="rolled back"):
        last_unit(people)


def test_what_no_program_can_know_is_found_by_a_receipt(
    people: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole machine is set back: the ledger, its heads and the user's own folder."""
    before = {path.name: path.read_bytes() for path in people.path.parent.iterdir()}
    kept = last_unit(people)
    with_its_heads(people, before)
    monkeypatch.setenv(FOLDER, str(tmp_path / "state"))
    again = last_unit(people)
    people.verify(again)
    assert again.sequence == kept.sequence
    with pytest.raises(LedgerError, match="is not the one on the receipt"):
        people.verify(kept)


def test_a_ledger_that_was_removed_is_not_begun_anew(people: Ledger) -> None:
    people.path.unlink()
    with pytest.raises(LedgerError, match="remembers the entries of a ledger whose file is gone"):
        people.open("people", PureDP(1.0))
    people.path.write_bytes(b"")
    with pytest.raises(LedgerError, match="gone or empty"):
        people.open("people", PureDP(1.0))


def test_a_ledger_that_is_renamed_while_it_is_charged(people: Ledger) -> None:
    """It is said in words: whether this is the file that was noted cannot be asked any more."""
    away = people.path.with_name("away.db")
    with people._store.reading() as entries:
        people.path.rename(away)
        with pytest.raises(LedgerError, match="was removed while it was opened"):
            Beside(people.path).check(entries)
    away.rename(people.path)
    people.verify()


def test_a_ledger_on_a_server_that_lost_entries_is_refused(postgres_url: str) -> None:
    """As a stale replica would: this user has seen what it does not have."""
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1.0))
    kept = last_unit(ledger)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("DELETE FROM privet_entries WHERE sequence > 1")
    assert ledger.remaining("people") == 1.0
    for attempt in (lambda: last_unit(ledger), ledger.verify, lambda: ledger.verify(kept)):
        with pytest.raises(LedgerError, match="rolled back"):
            attempt()
    ledger.adopt("the primary is gone")
    last_unit(ledger)
    ledger.verify()


# -- the log -----------------------------------------------------------------------------------


def crashed(people: Ledger) -> bytes:
    """The log that a process leaves which is killed after a charge was granted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the runner's threads stay behind
        child = os.fork()
    if child == 0:
        keeps = sqlite3.connect(people.path)
        keeps.execute("SELECT count(*) FROM entries").fetchall()  # so that the log stays
        last_unit(people)
        os._exit(0)
    os.waitpid(child, 0)
    log = Path(f"{people.path}-wal").read_bytes()
    assert log
    return log


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_flipped_bit_in_the_log_returns_nothing(people: Ledger, tmp_path: Path) -> None:
    """SQLite drops a frame that does not add up, and all after it, without a word."""
    log, main = crashed(people), people.path.read_bytes()
    head = Path(f"{people.path}-head").read_bytes()
    returned = 0
    for place in range(0, len(log), len(log) // 60):
        people.path.write_bytes(main)
        Path(f"{people.path}-shm").unlink(missing_ok=True)
        bad = bytearray(log)
        bad[place] ^= 1 << (place % 8)
        Path(f"{people.path}-wal").write_bytes(bad)
        Path(f"{people.path}-head").write_bytes(head)
        with pytest.raises(LedgerError):  # BudgetExceeded is one, where nothing was lost
            last_unit(people)
        with sqlite3.connect(people.path) as looked:
            returned += looked.execute("SELECT max(sequence) FROM entries").fetchone() != (5,)
        looked.close()
    assert returned > 10  # the attack is one: SQLite did lose entries


def test_a_damaged_memory_is_refused(people: Ledger) -> None:
    heads = Path(f"{people.path}-head")
    whole = heads.read_bytes()
    first, last = whole.index(b"\n"), whole.rindex(b"\n", 0, -1)
    for place in (*range(first), *range(last + 1, len(whole) - 1)):  # older heads do not count
        bad = bytearray(whole)
        bad[place] ^= 1
        heads.write_bytes(bad)
        with pytest.raises(LedgerError):
            people.reserve("people", pure_event(0.001))
    heads.write_bytes(whole)
    own = own_heads(people.entries()[0].ledger)
    assert own is not None
    own.path.write_bytes(b"\x00" * 100)
    with pytest.raises(LedgerError, match="damaged"):
        last_unit(people)


def test_half_a_line_was_not_granted(people: Ledger) -> None:
    """A crash while the head is written: the next charge tidies up."""
    heads = Path(f"{people.path}-head")
    with heads.open("ab") as file:
        file.write(b"4 0123")
    last_unit(people)
    people.verify()
    assert b"4 0123\n" not in heads.read_bytes()


def test_heads_do_not_grow_for_ever(people: Ledger) -> None:
    heads, newest = Path(f"{people.path}-head"), people.entries()[-1]
    with heads.open("ab") as file:
        file.write(f"{newest.sequence} {newest.hash}\n".encode() * 2000)
    last_unit(people)
    assert heads.stat().st_size < 1000
    people.verify()


# -- locks ---------------------------------------------------------------------------------------

LYING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
static int ask(const char *name, int fd, int what, va_list more) {
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
  if (what == F_SETLK || what == F_SETLKW) return 0;
  return real(fd, what, va_arg(more, void *));
}
int fcntl(int fd, int what, ...) { va_list m; va_start(m, what); return ask("fcntl", fd, what, m); }
int fcntl64(int fd, int what, ...) {
  va_list m; va_start(m, what); return ask("fcntl64", fd, what, m);
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
def test_a_file_system_whose_locks_do_nothing_is_refused(people: Ledger, tmp_path: Path) -> None:
    """Every lock is granted to everybody, as some network file systems do."""
    (tmp_path / "lying.c").write_text(LYING)
    library = tmp_path / "lying.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "lying.c", "-ldl"], check=True
    )
    done = subprocess.run(
        [sys.executable, "-c", MOUNTED, people.url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(library)},
    )
    assert "whose locks do nothing" in done.stdout, done.stderr
    assert people.remaining("people") == 0.5
