"""Processes that charge a ledger and are killed, or that all want the same last unit.

Run by ``test_processes.py`` as a process of its own without threads, so that it can fork:
200 new interpreters would take minutes. Prints what it found as JSON.

    python -m tests.ledger.children kill URL COUNT
    python -m tests.ledger.children last URL COUNT
    python -m tests.ledger.children open URL COUNT
    python -m tests.ledger.children hard_link URL COUNT     (or symbolic_link, copy, mount)
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from privet import Ledger, PureDP
from privet.errors import BudgetExceeded, LedgerError
from privet.ledger.stores import store_at
from privet.randomness import source
from tests.strategies import pure_event

EACH = 0.001
CAP = 1000.0
#: A child is killed after it told up to so many things, and up to so many seconds later.
MOST_TOLD = 6
LONGEST = 0.004


def main() -> None:
    """Do what the arguments say."""
    what, url, count = sys.argv[1:]
    store_at(url)  # imports what the children will need
    works = {"kill": kill, "last": last, "open": opening}
    found = works[what](url, int(count)) if what in works else second(url, int(count), what)
    print(json.dumps(found))


def fork(work: Callable[[int], None]) -> tuple[int, int]:
    """A child that is given the writing end of a pipe; its number and the reading end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(writing)
        finally:
            os._exit(0)
    os.close(writing)
    return child, reading


def heard(reading: int, count: int) -> str:
    """The first lines that a child tells, at least so many."""
    told = ""
    while told.count("\n") < count:
        more = os.read(reading, 4096).decode()
        assert more, f"the child ended by itself after {told!r}"
        told += more
    return told


def drained(reading: int) -> str:
    """All that is still in a pipe."""
    with os.fdopen(reading) as pipe:
        return pipe.read()


def lines(told: str) -> list[str]:
    """Whole lines; a last one that was cut short was not told."""
    return told.split("\n")[:-1]


# -- kill -9 at random moments -------------------------------------------------------------------


def kill(url: str, count: int) -> dict[str, int]:
    """Kill one charging child after another and compare the ledger with what they told."""
    ledger = Ledger(url)
    ledger.open("people", PureDP(CAP))
    moments = random.SystemRandom()
    found = {"kills": 0, "reserved": 0, "settled": 0, "orphans": 0, "untold": 0}
    seen = len(ledger.entries())
    for _ in range(count):
        child, reading = fork(lambda pipe: charge_for_ever(ledger, pipe))
        told = heard(reading, moments.randint(0, MOST_TOLD))
        time.sleep(moments.uniform(0.0, LONGEST))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        told += drained(reading)
        wait_for_server(url)
        seen = compare(ledger, seen, lines(told), found)
        found["kills"] += 1
    ledger.verify()
    found["orphans"] = len(ledger.orphans("people"))
    assert found["orphans"] == found["reserved"] - found["settled"]
    spent = round(found["reserved"] * EACH * 1e9)
    assert round(ledger.remaining("people") * 1e9) == round(CAP * 1e9) - spent
    return found


def wait_for_server(url: str) -> None:
    """A server may still be committing what a killed client had asked for."""
    if not url.startswith("postgresql"):
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as server:
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid "
            "<> pg_backend_pid()"
        )
        while server.execute(others).fetchone() != (0,):
            time.sleep(0.001)


def charge_for_ever(ledger: Ledger, pipe: int) -> None:
    """Reserve, release, settle, and tell each when it is done."""
    while True:
        number = ledger.reserve("people", pure_event(EACH))
        os.write(pipe, b"reserve %d\n" % number)
        os.write(pipe, b"release %d\n" % number)
        receipt = ledger.settle(number)
        os.write(pipe, b"settle %d\n" % receipt.sequence)


def compare(ledger: Ledger, seen: int, told: list[str], found: dict[str, int]) -> int:
    """What was told is there, in order; at most one entry more is; a release was charged."""
    entries = ledger.entries()
    fresh = [f"{entry.kind} {entry.sequence}" for entry in entries[seen:]]
    done = [line for line in told if not line.startswith("release")]
    assert fresh[: len(done)] == done, f"lost: {told} but {fresh}"
    assert len(fresh) - len(done) in (0, 1), f"gained: {told} but {fresh}"
    released = [int(line.split()[1]) for line in told if line.startswith("release")]
    reserved = [entry.sequence for entry in entries[seen:] if entry.kind == "reserve"]
    assert released == reserved[: len(released)], "a release without a charge"
    assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
    for before, entry in zip(entries[seen - 1 :], entries[seen:], strict=False):
        assert entry.previous == before.hash
        assert entry.digest() == entry.hash
    found["reserved"] += len(reserved)
    found["settled"] += len(fresh) - len(reserved)
    found["untold"] += len(fresh) - len(done)
    return len(entries)


# -- all at once -----------------------------------------------------------------------------------


def last(url: str, count: int) -> dict[str, Any]:
    """Many processes ask for the last unit at the same time, and each draws noise."""
    ledger = Ledger(url)
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.5)))

    def ask() -> str:
        noise = source(None).normals((4,)).tobytes().hex()
        try:
            ledger.reserve("people", pure_event(0.5))
        except BudgetExceeded:
            return f"refused {noise}"
        return f"granted {noise}"

    told = at_once(ask, count, ready=lambda: ledger.remaining("people"))
    ledger.verify()
    return {"told": told, "remaining": ledger.remaining("people")}


def hard_link(here: Path, there: Path) -> None:
    """Two names of one file."""
    os.link(here, there)


def symbolic_link(here: Path, there: Path) -> None:
    """Another path to the same name."""
    there.symlink_to(here)


def copy(here: Path, there: Path) -> None:
    """The bytes in another file."""
    shutil.copy(here, there)


def mount(here: Path, there: Path) -> None:
    """The file alone, at another place; for a process in a mount namespace of its own."""
    there.touch()
    subprocess.run(["mount", "--bind", here, there], check=True, capture_output=True)


NAMES = {each.__name__: each for each in (hard_link, symbolic_link, copy, mount)}


def second(url: str, count: int, how: str) -> dict[str, Any]:
    """Half of the processes ask for the last unit by another name of the ledger."""
    ledger = Ledger(url)
    ledger.open("people", PureDP(1.0))
    ledger.settle(ledger.reserve("people", pure_event(0.5)))
    (ledger.path.parent / "second").mkdir()
    other = Ledger(f"sqlite:///{ledger.path.parent}/second/budget.db")
    NAMES[how](ledger.path, other.path)
    asked = [asking(ledger, "first"), asking(other, "second")]
    told = at_once_each([asked[i % 2] for i in range(count)], ready=lambda: None)
    ledger.verify()
    return {"told": told, "remaining": ledger.remaining("people")}


def asking(ledger: Ledger, name: str) -> Callable[[], str]:
    """Who asks for the last unit, and tells under this name what came of it."""

    def ask() -> str:
        try:
            ledger.reserve("people", pure_event(0.5))
        except BudgetExceeded:
            return f"{name} spent"
        except LedgerError:
            return f"{name} refused"
        return f"{name} granted"

    return ask


def opening(url: str, count: int) -> dict[str, Any]:
    """Many processes create the ledger at the same time."""
    ledger = Ledger(url)

    def create() -> str:
        try:
            ledger.open("people", PureDP(1.0))
        except LedgerError as error:
            return f"refused {'already open' in str(error)}"
        return "granted"

    told = at_once(create, count, ready=lambda: None)
    ledger.verify()
    return {"told": told, "entries": len(ledger.entries())}


def at_once(work: Callable[[], str], count: int, *, ready: Callable[[], Any]) -> list[str]:
    """What the children tell who get ready and all begin when the gate opens."""
    return at_once_each([work] * count, ready=ready)


def at_once_each(works: Sequence[Callable[[], str]], *, ready: Callable[[], Any]) -> list[str]:
    """As ``at_once``, each child with a work of its own."""
    gate, opened = os.pipe()

    def wait_and_work(pipe: int, work: Callable[[], str]) -> None:
        os.close(opened)
        ready()  # connected, so that all are equally fast
        os.write(pipe, b"ready\n")
        os.read(gate, 1)  # returns when the parent closes the other end
        try:
            told = work()
        except BaseException as error:
            told = f"failed {type(error).__name__}: {error}"
        os.write(pipe, told.encode() + b"\n")

    children = [fork(lambda pipe, work=work: wait_and_work(pipe, work)) for work in works]
    for _, reading in children:
        heard(reading, 1)
    os.close(gate)
    os.close(opened)
    told = [line for _, reading in children for line in lines(drained(reading))]
    for child, _ in children:
        os.waitpid(child, 0)
    return told


if __name__ == "__main__":
    main()
