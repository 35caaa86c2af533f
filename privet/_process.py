"""Which process this is, so that a copy of it knows that it is one.

The number of a process does not tell: in two containers both are number 1. So a mark is drawn for
each process and kept in a page of memory that the system clears in every child (Linux, from 4.14);
elsewhere Python clears it after a fork. Copies of a whole machine have equal marks; see
``docs/operations.md``.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
from collections.abc import Callable
from threading import RLock

#: Linux's name for "clear these pages in a child"; Python has none for it.
WIPE_ON_FORK = 18
SIZE = 16


class _Mark:
    """A random mark of this process; a child finds an empty page and draws its own."""

    def __init__(self) -> None:
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}
        self._page = mmap.mmap(-1, mmap.PAGESIZE, **private)
        with contextlib.suppress(AttributeError, OSError, ValueError):  # not this system's
            self._page.madvise(WIPE_ON_FORK)
        after_fork(self.clear)
        self.clear()

    def clear(self) -> None:
        self._one = RLock()  # that of before a fork may be held by a thread that is not here
        self._page[:SIZE] = bytes(SIZE)

    def __call__(self) -> str:
        with self._one:  # threads that begin at once have one mark: with two, one were a fork
            if self._page[:SIZE] == bytes(SIZE):
                self._page[:SIZE] = secrets.token_bytes(SIZE)
        # also the number, for a fork past Python on a system that clears no page
        return f"{os.getpid()}:{self._page[:SIZE].hex()}"


def after_fork(what: Callable[[], None]) -> None:
    """Do this in every child that Python forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=what)


def around_fork(
    before: Callable[[], None], in_parent: Callable[[], None], in_child: Callable[[], None]
) -> None:
    """Do these before every fork of Python's, and after it in the parent and in the child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)


#: The mark of the process that asks.
this_process = _Mark()
