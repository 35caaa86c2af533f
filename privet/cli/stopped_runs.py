"""Runs that were killed after a charge and before their result was kept: what they had paid.

A note is on disk from the charge until the result is. Its process holds a lock on it, so a note
that nobody locks is of a process that was killed: what it paid for is lost, and `privet recover`
says so. A kill before the note leaves an entry in the ledger that is not settled: nothing was
drawn.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from privet._files import canonical, write_whole
from privet._untrusted import parsed_json, read_whole, refuse_special

ENDING = ".charged"
FORMAT = "privet-charged-1"
LARGEST = 1 << 20


class ChargedNote:
    """What a running command was charged, for as long as its result is not on disk."""

    def __init__(self, file: Path, out: Path | None) -> None:
        self.file, self.out = file, out
        self._charges: list[dict[str, Any]] = []
        self._locked: IO[bytes] | None = None

    def add(self, charge: dict[str, Any]) -> None:
        """One more charge; without room for it the run goes on, since it is paid for."""
        self._charges.append(charge)
        out = "" if self.out is None else str(self.out.absolute())
        told = {"format": FORMAT, "out": out, "charges": self._charges}
        with contextlib.suppress(OSError):
            write_whole(self.file, canonical(told) + "\n")
            self._unlock()
            self._locked = open(self.file, "rb")  # noqa: SIM115  held until the end
            _lock(self._locked)

    def end(self) -> None:
        """The result is on disk, or its loss is being said: an error here must not hide that."""
        self._unlock()
        with contextlib.suppress(OSError):
            self.file.unlink(missing_ok=True)

    def _unlock(self) -> None:
        if self._locked is not None:
            self._locked.close()
            self._locked = None


@dataclass(frozen=True)
class Stopped:
    """A run that was killed, and its charges."""

    file: Path
    out: str
    charges: tuple[dict[str, Any], ...]

    def told(self) -> str:
        """The entries of the ledger, in words."""
        each = [
            f"{charge['price']}, entry {charge['entry']} of {charge['dataset']}"
            for charge in self.charges
        ]
        return "lost: " + "; ".join(each)


def stopped(folders: list[Path]) -> list[Stopped]:
    """Runs that were killed, by the names of their notes."""
    found = []
    for file in sorted(file for folder in folders for file in folder.glob(f"*{ENDING}")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            refuse_special(file)
            if _running(file):
                continue
            told = parsed_json(read_whole(file, LARGEST))
            if told["format"] == FORMAT:
                run = Stopped(file, str(told["out"]), tuple(told["charges"]))
                run.told()
                found.append(run)
    return found


def _running(file: Path) -> bool:
    with file.open("rb") as opened:
        try:
            _lock(opened)
        except BlockingIOError:
            return True
    return False


def _lock(file: IO[bytes]) -> None:
    """Not while another has it; where the system has no locks every run counts as killed."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
