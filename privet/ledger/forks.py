"""A fork while SQLite is at work: the child would believe that it holds locks which it lacks.

SQLite keeps in memory which locks its process holds, and a child inherits that memory without the
locks. Where another thread's connection is open at a fork, the child's charges would be written
over others', and others' over its. So a fork waits until no thread has a connection open; a child
of a fork that waited in vain, or was made within an operation, charges no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, get_ident

from privet._process import around_fork
from privet.errors import LedgerError

#: Seconds that a fork waits for threads that are at the ledger.
PATIENCE = 10.0


class _Connections:
    """How many connections each thread has open, and whether this process inherited one."""

    def __init__(self) -> None:
        self._inherited = False
        self._begin()
        around_fork(self._before, self._in_parent, self._in_child)

    def _begin(self) -> None:
        self._open: Counter[int] = Counter()
        self._waiting = 0
        self._turn = Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """A connection is open within; nested ones belong to the first."""
        if self._inherited:
            raise LedgerError(
                "This process was forked while its parent was at a ledger, and SQLite's locks do "
                "not work in it. Nothing was charged. Start workers before threads use a ledger, "
                'or with the start method "spawn".'
            )
        me = get_ident()
        with self._turn:
            if not self._open[me]:
                self._turn.wait_for(lambda: not self._waiting, PATIENCE)
            self._open[me] += 1
        try:
            yield
        finally:
            with self._turn:
                self._open[me] -= 1
                self._open += Counter()  # who has none is not kept
                self._turn.notify_all()

    def _before(self) -> None:
        me = get_ident()
        self._turn.acquire()
        self._waiting += 1
        self._turn.wait_for(lambda: not self._open.keys() - {me}, PATIENCE)

    def _in_parent(self) -> None:
        self._waiting -= 1
        self._turn.notify_all()
        self._turn.release()

    def _in_child(self) -> None:
        self._inherited = self._inherited or bool(self._open)
        self._begin()


#: Those of this process.
connections = _Connections()
