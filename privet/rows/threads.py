"""Where the parts of a table are read: the engines' common contract, and threads of this process.

Dask and Spark have files of their own. Every engine passes the same tests.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from privet.rows.chunks import Job, Unit, UnitAnswer, answer

# -- progress ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """Where a fit stands; private, for the curator's eyes only.

    Attributes
    ----------
    passes : int
        Passes over the whole table that have begun.
    rows : int
        Rows read in this pass.
    n : int
        Rows of the table.
    seconds : float
        Time that this pass has taken.
    gradient_norm, tolerance : float or None
        The latest gradient norm, and the one to reach.
    """

    passes: int
    rows: int
    n: int
    seconds: float
    gradient_norm: float | None
    tolerance: float | None

    def __str__(self) -> str:
        speed = self.rows / max(self.seconds, 1e-9)
        told = f"pass {self.passes}: {self.rows:,} of {self.n:,} rows, {speed:,.0f} a second"
        if self.gradient_norm is None or self.tolerance is None:
            return told
        return f"{told}; gradient norm {self.gradient_norm:.1e}, to reach {self.tolerance:.1e}"


_WATCHER: ContextVar[Callable[[Progress], None] | None] = ContextVar("privet-watch", default=None)


def watcher() -> Callable[[Progress], None] | None:
    """Whoever watches this thread's fits."""
    return _WATCHER.get()


@contextmanager
def watched(tell: Callable[[Progress], None]) -> Iterator[None]:
    """Tell of every part of every pass inside, in this thread. What is told is private."""
    token = _WATCHER.set(tell)
    try:
        yield
    finally:
        _WATCHER.reset(token)


# -- engines -------------------------------------------------------------------------------------


class Engine(ABC):
    """Where units are read. The list of engines is closed: a wrong sum breaks privacy silently.

    An engine's *handles* stand for units: the units themselves, or where they are on a cluster.
    """

    #: as a statement names it
    name: str
    #: whether a sample of the rows may be kept in the driver's memory: its process reads them
    reads_here = False

    def placed(self, units: Sequence[Unit], d: int) -> Sequence[Any]:
        """Handles for the units of a table of ``d`` encoded columns."""
        del d
        return units

    @abstractmethod
    def run(self, handles: Sequence[Any], job: Job) -> Iterator[UnitAnswer]:
        """Answers for all units in their order, each for one or several consecutive ones."""

    @abstractmethod
    def derived(
        self, handles: Sequence[Any], functions: Sequence[Callable[[Unit], Unit]], *, keep: bool
    ) -> Sequence[Any]:
        """A function of each unit; ``keep``: with its rows in the memory of whoever reads them."""


class Threads(Engine):
    """This process: a thread for each core, and reading ahead of whoever adds up."""

    reads_here = True

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or usable_cores()
        self.name = "one machine, read in parts"

    def run(self, handles: Sequence[Unit], job: Job) -> Iterator[UnitAnswer]:
        """Units side by side; at most one waits for each thread that works."""
        waiting: deque[Future[UnitAnswer]] = deque()
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                for unit in handles:
                    waiting.append(pool.submit(answer, unit, job))
                    if len(waiting) > 2 * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def derived(
        self, handles: Sequence[Unit], functions: Sequence[Callable[[Unit], Unit]], *, keep: bool
    ) -> Sequence[Unit]:
        """Nothing is kept here: memory is what this engine saves, see ``StreamedRows``."""
        del keep
        return [function(unit) for function, unit in zip(functions, handles, strict=True)]


def usable_cores() -> int:
    """How many cores this process may use."""
    asked = getattr(os, "sched_getaffinity", None)
    return len(asked(0)) if asked is not None else os.cpu_count() or 1
