"""Connections of this process that wait for their next transaction.

Making a connection takes far longer than a charge, so each is kept for the next one. None is shared
by two threads: whoever takes one out of the list has it alone. None is used on both sides of a
fork: they are closed before it, and one that a thread put back just then is never touched by the
child, in which closing it could still write to the file.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from typing import Generic, Protocol, TypeVar


class Line(Protocol):
    """A connection that can be kept."""

    @property
    def place(self) -> str:
        """Where it goes."""

    def close(self) -> None:
        """End it; never fails."""


Kept = TypeVar("Kept", bound=Line)


class Idle(Generic[Kept]):
    """At most ``most`` connections, the latest last."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.waiting: list[Kept] = []
        self._carried: list[Kept] = []
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.close, after_in_child=self._abandon)

    def take(self, place: str) -> Kept | None:
        """The latest that goes to ``place``, out of the list."""
        for line in reversed(self.waiting):
            if line.place == place:
                try:
                    self.waiting.remove(line)
                except ValueError:  # another thread took it
                    continue
                return line
        return None

    def keep(self, line: Kept) -> None:
        """Put a connection back; the one that waited longest goes when there are too many."""
        self.waiting.append(line)
        if len(self.waiting) > self.most:
            with contextlib.suppress(IndexError):  # another thread was faster
                self.waiting.pop(0).close()

    def close(self) -> None:
        """Close those that wait."""
        with contextlib.suppress(IndexError):
            while True:
                self.waiting.pop().close()

    def _abandon(self) -> None:
        self._carried += self.waiting
        self.waiting = []
