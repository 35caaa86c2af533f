"""Draws of every registered release in processes that share memory up to a point.

``python -m tests.laws.forked HOW`` draws once of everything, so that whatever generator there is
has its state, then splits and prints a digest for each release and process as one line of JSON.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tests.laws.registered import CASES

#: Times that a choice is made: one of a few candidates says less than a word of noise.
TIMES = 40
CHOICES = ("selection", "disjoint parts", "stopping")
WORKERS = 4
NEW_PROCESS_NAMESPACE = 0x20000000
Digests = dict[str, str]

#: Releases that draw something themselves.
DRAWING = [name for name in CASES if name != "public rows"]


def digests(_: Any = None) -> Digests:
    """One digest of fresh draws for each release and kind of budget."""
    found = {}
    for name in DRAWING:
        for budget in CASES[name].budgets:
            seen = hashlib.sha256()
            for _ in range(TIMES if name.startswith(CHOICES) else 1):
                values, _ = CASES[name].released(budget, seed=None)
                for numbers, _ in values.values():
                    seen.update(np.asarray(numbers, dtype=np.float64).tobytes() + b"|")
            found[f"{name} {budget.kind}"] = seen.hexdigest()
    return found


def in_a_child(what: Callable[[], Any]) -> Any:
    """The answer of a forked process, and its number as it sees it itself."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            json.dump(what(), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = json.load(pipe)
    assert os.waitpid(child, 0)[1] == 0
    return answer


def forked() -> list[Digests]:
    """Children of one process, one after the other, and the process itself."""
    return [*(in_a_child(digests) for _ in range(WORKERS)), digests()]


def forked_twice() -> list[Digests]:
    """Children, and children of theirs."""

    def both() -> list[Digests]:
        return [in_a_child(digests), digests()]

    return [*in_a_child(both), *in_a_child(both)]


def preforked() -> list[Digests]:
    """Workers of a server that draws before it splits."""
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        return pool.map(digests, range(WORKERS), chunksize=1)


def threads() -> list[Digests]:
    """Threads of one process."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(digests, range(WORKERS)))


def containers() -> list[Digests]:
    """Children that are process 1 of a namespace of their own, as their parent is of its."""
    assert os.getpid() == 1, "start this as the first process of a namespace"

    def first_of_its_own() -> Any:
        system = ctypes.CDLL(None, use_errno=True)
        assert system.unshare(NEW_PROCESS_NAMESPACE) == 0, os.strerror(ctypes.get_errno())

        def numbered() -> Digests:
            assert os.getpid() == 1
            return digests()

        return in_a_child(numbered)

    return [*(in_a_child(first_of_its_own) for _ in range(WORKERS)), digests()]


WAYS = {way.__name__: way for way in (forked, forked_twice, preforked, threads, containers)}

if __name__ == "__main__":
    before = digests()
    print(json.dumps([before, *WAYS[sys.argv[1]]()]))
